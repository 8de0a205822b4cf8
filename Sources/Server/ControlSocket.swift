import Glibc
import KoineBase
import KoineJSONCodec
import KoineRouter
import NIOCore
import NIOPosix

/// The Unix domain socket on which a server takes commands of its machine's command line: JSON, one command and one answer a
/// line, in order. Its file is its owner's alone (0600) from the moment it exists, and is removed when the socket closes.
final class ControlSocket: Sendable {
  /// Connections at a time; further ones are closed.
  static let connectionLimit = 16

  typealias Execution = @Sendable (RoomRequest) async -> Result<RoomAnswer, RoomControlError>
  private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

  private let file: UnixSocketFile
  private let serving: Task<Void, Never>

  private init(file: UnixSocketFile, serving: Task<Void, Never>) { (self.file, self.serving) = (file, serving) }

  /// - Throws: `ServerError` where another server listens there, or something else than a socket is there.
  static func open(
    at path: String, on group: MultiThreadedEventLoopGroup, execute: @escaping Execution
  ) async throws -> ControlSocket {
    let (file, descriptor) = try UnixSocketFile.listen(at: path)
    let listener: NIOAsyncChannel<Connection, Never>
    do {
      listener = try await ServerBootstrap(group: group)
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .bind(descriptor) { channel in
          channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
        }
    } catch {
      file.remove()
      throw ServerError(description: "cannot listen at '\(path)': \(error)")
    }
    return ControlSocket(file: file, serving: Task { await serve(listener, execute) })
  }

  /// Removes the file, and ends the connections.
  func close() async {
    file.remove()
    serving.cancel()
    await serving.value
  }

  private static func serve(_ listener: NIOAsyncChannel<Connection, Never>, _ execute: @escaping Execution) async {
    let open = Lock(0)
    await withDiscardingTaskGroup { tasks in
      try? await listener.executeThenClose { connections in
        for try await connection in connections {
          let mayEnter = open.withLock { count in
            guard count < connectionLimit else { return false }
            count += 1
            return true
          }
          tasks.addTask {
            // A client that does not read its answers must not keep the server from stopping.
            await withTaskCancellationHandler {
              try? await connection.executeThenClose { inbound, _ in
                if mayEnter { try await answer(inbound, on: connection.channel, execute) }
              }
            } onCancel: {
              connection.channel.close(promise: nil)
            }
            if mayEnter { open.withLock { $0 -= 1 } }
          }
        }
      }
      tasks.cancelAll()
    }
  }

  /// Executes one command after the other. While a command is executed, or its answer is written, nothing more is read. Returns once
  /// the last answer has been written, because the connection closes then.
  private static func answer(
    _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, on channel: any Channel, _ execute: Execution
  ) async throws {
    var lines = ControlLines()
    for try await buffer in inbound {
      lines.append(buffer.readableBytesView)
      while let next = lines.next() {
        switch next {
        case .line(let line):
          let result: Result<RoomAnswer, RoomControlError>
          do throws(RoomControlError) {
            result = await execute(try ControlRequest.read(line).request)
          } catch {
            result = .failure(error)
          }
          try await channel.writeAndFlush(reply(result))
        case .tooLong:
          let error = RoomControlError(.malformed, "a command has at most \(ControlRequest.lineLimit) bytes")
          try await channel.writeAndFlush(reply(.failure(error)))
          return
        }
      }
    }
  }

  private static func reply(_ result: Result<RoomAnswer, RoomControlError>) -> ByteBuffer {
    var bytes: [UInt8]
    do {
      bytes = try JSONCodec.encode(RoomReply(result), limits: ControlRequest.replyLimits)
    } catch {
      let error = RoomControlError(.unavailable, "the answer cannot be written: \(error)")
      bytes = (try? JSONCodec.encode(RoomReply(.failure(error)))) ?? Array(#"{"ok":false}"#.utf8)
    }
    bytes.append(UInt8(ascii: "\n"))
    return ByteBuffer(bytes: bytes)
  }
}

/// The file of a Unix domain socket.
struct UnixSocketFile: Sendable {
  let path: String
  private let device: dev_t
  private let inode: ino_t

  /// Makes the file. Replaces a file that a server has left behind.
  /// - Returns: the file, and a descriptor that listens.
  /// - Throws: `ServerError` if a server listens there already, if the file is no socket, or if it cannot be made.
  static func listen(at path: String) throws(ServerError) -> (UnixSocketFile, Int32) {
    let address = try UnixAddress(path)
    // Between the check of the old file and `listen`, another server must not make its own.
    let lock = try DirectoryLock(of: path)
    defer { lock.release() }
    try clear(path, address)
    let descriptor = try UnixAddress.makeSocket()
    // The socket's permissions are set before `bind`. The file is created with them, so no other user can ever open it.
    guard fchmod(descriptor, 0o600) == 0, address.call({ bind(descriptor, $0, $1) }) == 0 else {
      throw failure(at: path, closing: descriptor)
    }
    var status = stat()
    guard chmod(path, 0o600) == 0, Glibc.listen(descriptor, 16) == 0, lstat(path, &status) == 0 else {
      let error = failure(at: path, closing: descriptor)
      unlink(path)
      throw error
    }
    return (UnixSocketFile(path: path, device: status.st_dev, inode: status.st_ino), descriptor)
  }

  private static func failure(at path: String, closing descriptor: Int32) -> ServerError {
    let reason = String(cString: strerror(errno))
    Glibc.close(descriptor)
    return ServerError(description: "cannot listen at '\(path)': \(reason)")
  }

  private static func clear(_ path: String, _ address: UnixAddress) throws(ServerError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw ServerError(description: "cannot listen at '\(path)': there is something that is no socket")
    }
    let descriptor = try UnixAddress.makeSocket(isBlocking: false)
    defer { Glibc.close(descriptor) }
    // A busy server accepts later (EAGAIN). Only a socket that no server listens at refuses the connection.
    guard address.call({ connect(descriptor, $0, $1) }) != 0, errno == ECONNREFUSED else {
      throw ServerError(description: "cannot listen at '\(path)': another server does")
    }
    unlink(path)
  }

  /// Unless another socket has taken its place.
  func remove() {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return }
    unlink(path)
  }
}

/// An exclusive lock on the directory of a file (`flock`). It leaves no file behind.
private struct DirectoryLock {
  private let descriptor: Int32

  /// Waits at most two seconds for another holder.
  init(of path: String) throws(ServerError) {
    let end = path.lastIndex(of: "/")
    let directory = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ServerError(description: "cannot open '\(directory)': \(String(cString: strerror(errno)))")
    }
    var attempts = 200
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      attempts -= 1
      guard attempts > 0, errno == EWOULDBLOCK || errno == EINTR else {
        Glibc.close(descriptor)
        throw ServerError(description: "cannot listen at '\(path)': another program has locked '\(directory)'")
      }
      usleep(10_000)
    }
    self.descriptor = descriptor
  }

  func release() { Glibc.close(descriptor) }
}

struct UnixAddress {
  private var address = sockaddr_un()

  init(_ path: String) throws(ServerError) {
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let limit = MemoryLayout.size(ofValue: address.sun_path) - 1
    guard (1...limit).contains(bytes.count), !bytes.contains(0) else {
      throw ServerError(description: "'\(path)': the path of a socket has 1 to \(limit) bytes")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
  }

  func call(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }

  static func makeSocket(isBlocking: Bool = true) throws(ServerError) -> Int32 {
    let flags = Int32(SOCK_CLOEXEC.rawValue) | (isBlocking ? 0 : Int32(SOCK_NONBLOCK.rawValue))
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | flags, 0)
    guard descriptor >= 0 else { throw ServerError(description: "no socket: \(String(cString: strerror(errno)))") }
    return descriptor
  }
}
