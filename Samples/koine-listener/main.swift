print("koine-listener")
