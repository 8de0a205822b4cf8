print("koine")
