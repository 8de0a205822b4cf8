import Glibc
import KoineBase
import KoineJSONCodec
package import KoineRouter
import KoineSignaling
import Logging
import NIOCore
import NIOPosix

/// A command to a running server: one line of JSON on its control socket.
package struct ControlRequest: Codable, Sendable {
  package enum Command: String, Codable, Sendable { case list, remove, close, grant, mute, record, stopRecording }

  package var command: Command
  package var room: String?
  package var participant: String?
  package var track: String?
  package var grants: GrantChanges?
  /// Of the recording service; nil: `koine.recording`.
  package var output: String?
  package var reason: String?

  package init(_ command: Command) { self.command = command }

  /// At most this many bytes, its line break included.
  package static let limit = 64 * 1024

  /// - Throws: `JSONError` or `DecodingError` for a line that is no request.
  package init(line: UnsafeRawBufferPointer) throws {
    self = try JSONCodec.decode(ControlRequest.self, from: line, limits: JSONCodec.Limits(size: Self.limit))
  }

  /// nil for `list`.
  func roomCommand() throws(Failure) -> RoomCommand? {
    func needed(_ value: String?, _ name: String) throws(Failure) -> String {
      guard let value, !value.isEmpty else { throw Failure(.malformed, "“\(name)” is missing") }
      return value
    }
    if command == .list { return nil }
    let room = try needed(room, "room")
    switch command {
    case .list: return nil
    case .close: return .close(room: room)
    case .remove: return .remove(try needed(participant, "participant"), room: room)
    case .grant: return .grant(grants ?? GrantChanges(), try needed(participant, "participant"), room: room)
    case .mute:
      let id = Track.ID(participant: try needed(participant, "participant"), track: try needed(track, "track"))
      return .mute(id, room: room)
    case .record, .stopRecording:
      return .record(output: output ?? "koine.recording", starts: command == .record, room: room)
    }
  }
}

/// The answer: one line of JSON.
package struct ControlAnswer: Codable, Sendable {
  /// The answer to `list`.
  package var rooms: [RoomReport]?
  package var failure: Failure?
}

/// The Unix domain socket on which a server takes commands. Only the server's user may connect (mode 0600).
final class ControlSocket: Sendable {
  private let path: String
  private let channel: any Channel

  private init(path: String, channel: any Channel) { (self.path, self.channel) = (path, channel) }

  /// - Throws: `ServerError` where another server listens there, or the file is no socket.
  static func open(
    _ path: String, on group: MultiThreadedEventLoopGroup,
    perform: @escaping @Sendable (ControlRequest) async -> ControlAnswer
  ) async throws -> ControlSocket {
    var status = stat()
    if lstat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFSOCK else { throw ServerError(description: "'\(path)' is no socket") }
      if (try? ControlClient(path)) != nil {
        throw ServerError(description: "another server listens on '\(path)'")
      }
      unlink(path)  // of a server that is gone
    }
    let channel = try await ServerBootstrap(group: group)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(ControlHandler(perform: perform))
        }
      }
      .withBoundSocket(try bind(to: path)).get()
    return ControlSocket(path: path, channel: channel)
  }

  /// Linux gives the file the mode of the unbound socket, so the file has it from the moment it exists.
  private static func bind(to path: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let done = try withSocketAddress(path) { address, length in
      fchmod(descriptor, 0o600) == 0 && Glibc.bind(descriptor, address, length) == 0
    }
    guard done else {
      let reason = String(cString: strerror(errno))
      Glibc.close(descriptor)
      throw ServerError(description: "cannot listen on '\(path)': \(reason)")
    }
    return descriptor
  }

  func close() async {
    try? await channel.close()
    unlink(path)
  }
}

/// Reads requests of one connection and answers them in their order.
private final class ControlHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let perform: @Sendable (ControlRequest) async -> ControlAnswer
  private var line = ByteBuffer()
  private var last: EventLoopFuture<Void>?

  init(perform: @escaping @Sendable (ControlRequest) async -> ControlAnswer) { self.perform = perform }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    line.writeBuffer(&bytes)
    while let end = line.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
      guard let text = line.readSlice(length: end - line.readerIndex) else { return }
      line.moveReaderIndex(forwardBy: 1)
      answer(text, context)
    }
    if line.readableBytes > ControlRequest.limit { context.close(promise: nil) }
  }

  private func answer(_ text: ByteBuffer, _ context: ChannelHandlerContext) {
    let (channel, perform) = (context.channel, perform)
    let request = Result { try text.withUnsafeReadableBytes { try ControlRequest(line: $0) } }
    let before = last ?? context.eventLoop.makeSucceededVoidFuture()
    last = before.flatMap {
      channel.eventLoop.makeFutureWithTask {
        let answer: ControlAnswer
        switch request {
        case .success(let request): answer = await perform(request)
        case .failure(let error): answer = ControlAnswer(failure: Failure(.malformed, "\(error)"))
        }
        let json = (try? JSONCodec.encode(answer)) ?? Array(#"{"failure":{"code":"internal","message":""}}"#.utf8)
        try await channel.writeAndFlush(ByteBuffer(bytes: json + [UInt8(ascii: "\n")]))
      }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// The command line's end of a control socket. Blocks.
package final class ControlClient {
  private let descriptor: Int32

  /// - Throws: `ServerError` where no server listens.
  package init(_ path: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let descriptor = descriptor
    let connected = try withSocketAddress(path) { connect(descriptor, $0, $1) == 0 }
    guard connected else {
      let reason = String(cString: strerror(errno))
      Glibc.close(descriptor)
      throw ServerError(description: "no server listens on '\(path)': \(reason)")
    }
  }

  deinit { Glibc.close(descriptor) }

  package func perform(_ request: ControlRequest) throws -> ControlAnswer {
    var line = try JSONCodec.encode(request)
    line.append(UInt8(ascii: "\n"))
    var sent = 0
    while sent < line.count {
      let count = line.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + sent, line.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw ServerError(description: "the server has closed the connection") }
      sent += count
    }
    var answer: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 65_536)
    while answer.last != UInt8(ascii: "\n") {
      let count = recv(descriptor, &block, block.count, 0)
      guard count > 0 else { throw ServerError(description: "the server has closed the connection") }
      answer += block[..<count]
    }
    return try JSONCodec.decode(ControlAnswer.self, from: Array(answer.dropLast()))
  }
}

/// - Throws: `ServerError` for a path that does not fit.
private func withSocketAddress<Result>(
  _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) throws -> Result {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  let bytes = Array(path.utf8)
  guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
    throw ServerError(description: "'\(path)' is too long for the path of a socket")
  }
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
  }
}
