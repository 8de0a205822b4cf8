/// The page `/metrics` of a `koine serve` on this machine.
enum ServerMetrics {
  static func value(of name: String, at port: UInt16) throws -> Int {
    let lines = try HTTPProbe.answer(port: port, path: "/metrics").split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix(name + " ") }), let value = Int(line.dropFirst(name.count + 1))
    else { throw BenchmarkError("koine serve has no metric \(name)") }
    return value
  }
}

/// Asks a server of this machine for a page.
enum HTTPProbe {
  /// - Returns: nil if there is no answer.
  static func status(port: UInt16, path: String) -> Int? {
    let words = (try? answer(port: port, path: path))?.split(separator: " ") ?? []
    return words.count > 1 ? Int(words[1]) : nil
  }

  /// The whole answer, head and all.
  static func answer(port: UInt16, path: String) throws -> String {
    let socket = try LocalSocket(port: port)
    socket.write(Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n".utf8))
    var answer: [UInt8] = []
    while true {
      let bytes = socket.read(limit: 16_384)
      guard !bytes.isEmpty else { return String(decoding: answer, as: UTF8.self) }
      answer += bytes
    }
  }
}
