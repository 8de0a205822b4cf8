import Foundation

/// A TCP relay in front of a server: it reads what its one client sends at a limited pace, as a server behind a narrow line takes it. What
/// the server sends is passed on at once.
public final class SlowRelay: @unchecked Sendable {  // `state` is locked; the threads own the sockets
  public struct Failure: Error {}

  private struct State {
    var bytesPerSecond: Int?
    var received = 0
    var isOver = false
    var sockets: [Int32] = []
  }

  /// Of the relay, on 127.0.0.1.
  public let port: Int
  private let server: Int
  private let state: NSLock = NSLock()
  private var value: State

  /// - Parameters:
  ///   - server: the port on 127.0.0.1 to which it relays.
  ///   - bytesPerSecond: the pace; nil: no limit.
  public init(to server: Int, bytesPerSecond: Int?) throws {
    (self.server, port) = (server, try Ports.free())
    value = State(bytesPerSecond: bytesPerSecond)
    let listener = try Self.socket()
    var (yes, size) = (Int32(1), Int32(32 * 1_024))
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, 4)  // else the kernel reads ahead of the pace
    guard Self.with(port, { bind(listener, $0, $1) }) == 0, listen(listener, 1) == 0 else {
      close(listener)
      throw Failure()
    }
    keep(listener)
    Thread.detachNewThread { [self] in serve(listener) }
  }

  /// Bytes that the client has sent so far, as far as they were read.
  public var received: Int { state.withLock { value.received } }

  /// Changes the pace; nil: no limit.
  public func setPace(_ bytesPerSecond: Int?) { state.withLock { value.bytesPerSecond = bytesPerSecond } }

  /// Ends the relay and its connections.
  public func stop() {
    let sockets = state.withLock {
      value.isOver = true
      return value.sockets
    }
    for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
  }

  private var isOver: Bool { state.withLock { value.isOver } }
  private func keep(_ socket: Int32) { state.withLock { value.sockets.append(socket) } }
  private func forget(_ socket: Int32) {
    state.withLock { value.sockets.removeAll { $0 == socket } }
    close(socket)
  }

  private func serve(_ listener: Int32) {
    let client = accept(listener, nil, nil)
    forget(listener)
    guard client >= 0 else { return }
    keep(client)
    guard let upstream = try? Self.socket(), Self.with(server, { connect(upstream, $0, $1) }) == 0 else {
      return forget(client)
    }
    keep(upstream)
    let back = Thread {
      while let bytes = Self.read(upstream, 64 * 1_024), Self.write(bytes, to: client) {}
      shutdown(client, Int32(SHUT_RDWR))
    }
    back.start()
    while !isOver {
      let pace = state.withLock { value.bytesPerSecond }
      guard let bytes = Self.read(client, pace.map { max(1, $0 / 50) } ?? 64 * 1_024) else { break }
      state.withLock { value.received += bytes.count }
      guard Self.write(bytes, to: upstream) else { break }
      if let pace { usleep(UInt32(bytes.count * 1_000_000 / pace)) }  // the pace itself
    }
    shutdown(upstream, Int32(SHUT_RDWR))
    shutdown(client, Int32(SHUT_RDWR))
    while !back.isFinished { usleep(1_000) }  // it uses both sockets
    forget(upstream)
    forget(client)
  }

  private static func socket() throws -> Int32 {
    let end = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard end >= 0 else { throw Failure() }
    return end
  }

  private static func with(_ port: Int, _ work: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        work($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  /// - Returns: nil at the end of the connection.
  private static func read(_ socket: Int32, _ limit: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = recv(socket, &bytes, limit, 0)
    return count > 0 ? Array(bytes.prefix(count)) : nil
  }

  private static func write(_ bytes: [UInt8], to socket: Int32) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { rest in
        send(socket, rest.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }
}
