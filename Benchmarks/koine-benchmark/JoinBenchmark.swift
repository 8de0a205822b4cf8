import CKoineBenchmark
import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineMediaEngine
import KoineServer
import KoineServerBackend
import Logging

/// Measures the time from `join` to the first video frame of a participant already in the room: in this process, and through a server's
/// sockets. In turns with the exchange that no join can do without, in C: a binding request, a DTLS handshake and a key frame.
struct JoinBenchmark: Sendable {
  let joins: Int

  private struct Times {
    var bare: [Double] = []
    var embedded: [Double] = []
    var server: [Double] = []
  }

  func run() throws -> Report {
    let result = Lock<Result<Times, any Error>>(.failure(BenchmarkError("has not run")))
    let done = DispatchSemaphore(value: 0)
    Task {
      let times = await Result { try await measure() }
      result.withLock { $0 = times }
      done.signal()
    }
    done.wait()
    let times = try result.withLock { try $0.get() }
    let (bare, embedded, server) = (median(times.bare), median(times.embedded), median(times.server))
    return Report(
      benchmark: "join-server: \(joins) joins each, 640x360@30 VP8",
      rows: [
        Row("binding request, DTLS and key frame in C, median", bare, "ms"),
        Row("embedded, join to first remote picture, median", embedded, "ms", aim: 25),
        Row("ws://, join to first remote picture, median", server, "ms", aim: 30),
        Row("embedded, longest", times.embedded.max() ?? .nan, "ms", aim: 300),
        Row("ws://, longest", times.server.max() ?? .nan, "ms", aim: 300),
        Row("embedded / bare", embedded / bare, "×", aim: 1.5), Row("ws:// / bare", server / bare, "×", aim: 1.5),
      ])
  }

  private func measure() async throws -> Times {
    let server = try await Server.start(
      ServerConfiguration(port: 0, access: .open, logger: Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }))
    guard let address = ServerAddress("ws://127.0.0.1:\(server.port)") else { throw BenchmarkError("no address") }
    let embedded = try await JoinRoom(of: EmbeddedBackend())
    let remote = try await JoinRoom(of: ServerBackend(address))
    let bare = try await BareJoin()
    var times = Times()
    for number in 0..<joins {
      times.bare.append(try bare.pass())
      times.embedded.append(try await embedded.join("Guest \(number)"))
      times.server.append(try await remote.join("Guest \(number)"))
      // The router limits how often it asks a publisher for a key frame. A guest that joins sooner measures that interval.
      try await Task.sleep(for: .milliseconds(700))
    }
    await embedded.close()
    await remote.close()
    await server.stop()
    return times
  }
}

/// A room with one participant who publishes.
private struct JoinRoom {
  let world: World
  let host: Session

  init(of backend: any Backend) async throws {
    world = World(backend: backend, delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    host = Session(JoinRequest(room: "tea", name: "Host"), in: world)
    try host.publish(camera: Devices.camera("pattern:640x360@30"))
    try await host.join()
  }

  /// In milliseconds.
  func join(_ name: String) async throws -> Double {
    let guest = Session(JoinRequest(room: "tea", name: name), in: world)
    let picture = FirstPicture()
    picture.follow(guest)
    let start = ContinuousClock().now
    try await guest.join()
    for await _ in picture.news.stream { break }
    let time = (ContinuousClock().now - start).inMilliseconds
    await guest.leave()
    return time
  }

  func close() async { await host.leave() }
}

/// The exchange in C, with a picture of the same camera.
private final class BareJoin {
  private let join: OpaquePointer
  private let picture: VideoFrame

  init() async throws {
    let frames = AsyncStream<VideoFrame>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let camera = try Devices.camera("pattern:640x360@30")
    try camera.start(on: Scheduler.real.lane("camera")) { frames.continuation.yield($0) }
    var first: VideoFrame?
    for await frame in frames.stream {
      first = frame
      break
    }
    camera.stop()
    var settings = bare_video_settings(
      width: 640, height: 360, frames_per_second: 30, kilobits: Int32(VideoSendSettings().maxBitrate / 1_000), speed: -6
    )
    guard let first, let join = bare_join_open(&settings) else {
      throw BenchmarkError("the exchange in C cannot begin")
    }
    (picture, self.join) = (first, join)
  }

  deinit { bare_join_close(join) }

  /// In milliseconds.
  func pass() throws -> Double {
    let start = ContinuousClock().now
    let size = picture.withPlanes {
      bare_join_once(join, $0.y, $0.u, $0.v, Int32($0.lumaStride), Int32($0.chromaStride))
    }
    guard size > 0 else { throw BenchmarkError("the exchange in C failed") }
    return (ContinuousClock().now - start).inMilliseconds
  }
}

private final class FirstPicture: VideoSink, Sendable {
  let news = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  func render(_ frame: VideoFrame) { news.continuation.yield() }

  func follow(_ session: Session) {
    session.observe { [weak self, weak session] event in
      guard let self, let session, case .streamAdded(let stream, let owner) = event, !owner.isLocal else { return }
      session.attach(self as any VideoSink, to: stream.id)
    }
  }
}
