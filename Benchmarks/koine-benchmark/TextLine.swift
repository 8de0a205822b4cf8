import Foundation
import Glibc

/// A TCP connection to this machine.
final class LocalSocket {
  private let descriptor: Int32

  init(port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else {
      close(descriptor)
      throw BenchmarkError("nobody listens on port \(port)")
    }
  }

  deinit { close(descriptor) }

  func write(_ bytes: [UInt8]) {
    var offset = 0
    while offset < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress.map { $0 + offset }, bytes.count - offset, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      offset += count
    }
  }

  /// Waits until something comes, or the other end closes.
  func read(limit: Int) -> ArraySlice<UInt8> {
    var block = [UInt8](repeating: 0, count: limit)
    return block[..<max(0, recv(descriptor, &block, limit, 0))]
  }

  /// Passes on all that has come. Not by a block of zeros: a load generator polls many lines, and few of them have received anything.
  func readAll(_ take: (UnsafeMutableRawBufferPointer.SubSequence) -> Void) {
    withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { block in
      while true {
        let count = recv(descriptor, block.baseAddress, block.count, Int32(MSG_DONTWAIT))
        guard count > 0 else { break }
        take(block[..<count])
      }
    }
  }
}

/// A WebSocket (RFC 6455) as a load generator needs it: to this machine, text both ways, nothing that waits.
final class TextLine {
  private let socket: LocalSocket
  private var received: [UInt8] = []
  private var isOpen = false

  /// Connects and asks; `poll` tells the answers.
  /// - Parameter subprotocol: what the server wants to be spoken.
  init(port: UInt16, path: String, subprotocol: String? = nil) throws {
    socket = try LocalSocket(port: port)
    var lines = [
      "GET \(path) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Upgrade: websocket", "Connection: Upgrade",
      "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    if let subprotocol { lines.append("Sec-WebSocket-Protocol: \(subprotocol)") }
    socket.write(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
  }

  func send(_ text: [UInt8]) { sendFrame(0x81, text) }

  /// Masked with nothing (section 5.3).
  private func sendFrame(_ first: UInt8, _ payload: [UInt8]) {
    let count = payload.count
    let length: [UInt8] =
      count < 126
      ? [0x80 | UInt8(count)]
      : count < 65_536
        ? [0xFE, UInt8(count >> 8), UInt8(count & 255)]
        : [0xFF] + (0..<8).map { UInt8(count >> (56 - 8 * $0) & 255) }
    socket.write([first] + length + [0, 0, 0, 0] + payload)
  }

  /// The messages that have come whole.
  func poll() -> [[UInt8]] {
    socket.readAll { received += $0 }
    if !isOpen {
      guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return [] }
      received.removeSubrange(..<end.upperBound)
      isOpen = true
    }
    var messages: [[UInt8]] = []
    while let (kind, payload, length) = nextFrame() {
      received.removeFirst(length)
      switch kind {
      case 0x9: sendFrame(0x8A, payload)
      case 0x1: messages.append(payload)
      default: break
      }
    }
    return messages
  }

  private func nextFrame() -> (kind: UInt8, payload: [UInt8], length: Int)? {
    guard received.count >= 2 else { return nil }
    var (start, count) = (2, Int(received[1] & 0x7F))
    if count >= 126 {
      let size = count == 126 ? 2 : 8
      guard received.count >= 2 + size else { return nil }
      count = received[2..<2 + size].reduce(0) { $0 << 8 | Int($1) }
      start += size
    }
    guard received.count >= start + count else { return nil }
    return (received[0] & 0x0F, Array(received[start..<start + count]), start + count)
  }
}
