import Glibc

func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
