import Dispatch
import Foundation
import Koine
import KoineServer
import KoineServerBackend
import Logging

/// Measures the time from `join` to the first video frame of a participant already in the room, through a server's sockets on
/// this machine.
struct JoinBenchmark: Sendable {
  let joins: Int

  func run() throws -> Report {
    let result = Lock<Result<[Double], any Error>>(.failure(BenchmarkError("has not run")))
    let done = DispatchSemaphore(value: 0)
    Task {
      let times = await Result { try await measure() }
      result.withLock { $0 = times }
      done.signal()
    }
    done.wait()
    let times = try result.withLock { try $0.get() }.sorted()
    return Report(
      benchmark: "join-server: \(joins) joins over ws://, 640x360@30 VP8",
      rows: [
        Row("join to first remote picture, median", median(times), "ms", aim: 300),
        Row("join to first remote picture, longest", times.last ?? .nan, "ms", aim: 300),
      ])
  }

  private func measure() async throws -> [Double] {
    let server = try await Server.start(
      ServerConfiguration(port: 0, access: .open, logger: Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }))
    guard let address = ServerAddress("ws://127.0.0.1:\(server.port)") else { throw BenchmarkError("no address") }
    let world = World(backend: ServerBackend(address), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    let host = Session(JoinRequest(room: "tea", name: "Host"), in: world)
    try host.publish(camera: Devices.camera("pattern:640x360@30"))
    try await host.join()
    var times: [Double] = []
    for number in 0..<joins {
      let guest = Session(JoinRequest(room: "tea", name: "Guest \(number)"), in: world)
      let picture = FirstPicture()
      picture.follow(guest)
      let start = ContinuousClock().now
      try await guest.join()
      for await _ in picture.news.stream { break }
      times.append((ContinuousClock().now - start).inMilliseconds)
      await guest.leave()
      // The router limits how often it asks a publisher for a key frame. A guest that joins sooner measures that interval.
      try await Task.sleep(for: .milliseconds(700))
    }
    await host.leave()
    await server.stop()
    return times
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
