import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend

/// From ringing to both sides connected, the callee answering at once; endpoints and sessions of the common layer, with camera
/// and microphone, over loopback UDP.
struct CallBenchmark: Sendable {
  let calls: Int

  func run() throws -> Report {
    let result = Lock<Result<[Double], any Error>>(.failure(BenchmarkError("has not run")))
    let done = DispatchSemaphore(value: 0)
    Task {
      do {
        let times = try await measure()
        result.withLock { $0 = .success(times) }
      } catch {
        result.withLock { $0 = .failure(error) }
      }
      done.signal()
    }
    done.wait()
    let times = try result.withLock { try $0.get() }.sorted()
    return Report(
      benchmark: "call-connect: \(calls) calls of two over loopback, 640x360@30 VP8",
      rows: [
        Row("invite to both connected, median", median(times), "ms", aim: 150),
        Row("invite to both connected, longest", times.last ?? .nan, "ms", aim: 150),
      ])
  }

  private func measure() async throws -> [Double] {
    let world = World(
      backend: EmbeddedBackend(), delivery: Delivery(queue: DispatchQueue(label: "delivery")),
      devices: DefaultDevices(camera: "pattern:640x360@30", microphone: "tone"))
    let (ana, ben) = (User("ana", in: world), User("ben", in: world))
    for user in [ana, ben] { try await user.endpoint.register() }
    var times: [Double] = []
    for _ in 0..<calls {
      let start = ContinuousClock().now
      try ana.ring("ben")
      guard let first = await ana.nextConnected(), let second = await ben.nextConnected() else {
        throw BenchmarkError("a call did not connect")
      }
      times.append((max(first, second) - start).inMilliseconds)
      for user in [ana, ben] { await user.leave() }
    }
    for user in [ana, ben] { await user.endpoint.unregister() }
    return times
  }
}

/// Answers every invitation at once.
private final class User: Sendable {
  let endpoint: Endpoint
  private let call = Lock<Session?>(nil)
  private let connected = AsyncStream<ContinuousClock.Instant?>.makeStream()

  init(_ name: String, in world: World) {
    endpoint = Endpoint(identity: name, name: name, in: world)
    endpoint.observe { [weak self] event in
      guard let self, case .invited(let invitation) = event else { return }
      endpoint.reply(.accept, to: invitation.id)
      do { try join(invitation.room) } catch { connected.continuation.yield(nil) }
    }
  }

  func nextConnected() async -> ContinuousClock.Instant? {
    for await time in connected.stream { return time }
    return nil
  }

  func ring(_ callee: String) throws { try join(endpoint.invite([callee], hasVideo: true).room) }

  func leave() async {
    let session = call.withLock { $0 }
    await session?.leave()
  }

  private func join(_ room: String) throws {
    let session = Session(
      JoinRequest(room: room, participantID: endpoint.identity, name: endpoint.name), in: endpoint.world)
    call.withLock { $0 = session }
    session.observe { [connected] event in
      switch event {
      case .participantJoined: connected.continuation.yield(ContinuousClock().now)  // told after one's own `connected`
      case .stateChanged(.ended(.refused)), .stateChanged(.ended(.lost)): connected.continuation.yield(nil)
      default: break
      }
    }
    try session.publish(microphone: endpoint.world.machine.makeMicrophone())
    try session.publish(camera: endpoint.world.machine.makeCamera())
    session.join { _ in }
  }
}
