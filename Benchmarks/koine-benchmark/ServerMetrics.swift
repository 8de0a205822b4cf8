import Glibc

/// The page `/metrics` of a `koine serve` on this machine.
enum ServerMetrics {
  static func value(of name: String, at port: UInt16) throws -> Int {
    let lines = try page(at: port).split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix(name + " ") }), let value = Int(line.dropFirst(name.count + 1))
    else { throw BenchmarkError("koine serve has no metric \(name)") }
    return value
  }

  private static func page(at port: UInt16) throws -> String {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw BenchmarkError("no server listens on port \(port)") }
    let request = Array("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n".utf8)
    guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
      throw BenchmarkError("the server has closed the connection")
    }
    var page: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = recv(descriptor, &block, block.count, 0)
      guard count > 0 else { break }
      page += block[..<count]
    }
    return String(decoding: page, as: UTF8.self)
  }
}
