import Glibc
import KoineJSONCodec
package import KoineRouter

/// Sends commands to a server of this machine (`koine serve --control PATH`). Waits for the answer on the calling thread.
package struct ControlClient: Sendable {
  package let path: String
  /// For the connection, and for each part of an answer.
  private let patience: Int

  /// - Parameter patience: in seconds.
  package init(path: String, patience: Int = 10) { (self.path, self.patience) = (path, patience) }

  /// - Throws: where no server answers. What the server does not do is in the reply.
  package func send(_ request: ControlRequest) throws(ServerError) -> RoomReply {
    do {
      var line = try JSONCodec.encode(request, limits: ControlRequest.limits)
      line.append(UInt8(ascii: "\n"))
      return try JSONCodec.decode(RoomReply.self, from: try exchange(line), limits: ControlRequest.replyLimits)
    } catch let error as ServerError {
      throw error
    } catch {
      throw ServerError(description: "no answer that can be read comes from '\(path)': \(error)")
    }
  }

  /// Sends bytes as they are.
  /// - Returns: the first line that comes back.
  package func exchange(_ bytes: [UInt8]) throws(ServerError) -> [UInt8] {
    let descriptor = try UnixAddress.makeSocket()
    defer { close(descriptor) }
    var time = timeval(tv_sec: patience, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
    guard try UnixAddress(path).call({ connect(descriptor, $0, $1) }) == 0 else {
      throw failure("no server takes commands at '\(path)'")
    }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      // The server may have answered, and closed, before it has read everything.
      guard count > 0 else { break }
      rest = rest.dropFirst(count)
    }
    var answer: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = part.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      guard count > 0 else { throw failure("no answer comes from '\(path)'", isError: count < 0) }
      if let end = part[..<count].firstIndex(of: UInt8(ascii: "\n")) { return answer + part[..<end] }
      answer += part[..<count]
      guard answer.count <= ControlRequest.replyLimits.size else {
        throw failure("the answer is too long", isError: false)
      }
    }
  }

  private func failure(_ text: String, isError: Bool = true) -> ServerError {
    ServerError(description: isError ? "\(text): \(String(cString: strerror(errno)))" : text)
  }
}
