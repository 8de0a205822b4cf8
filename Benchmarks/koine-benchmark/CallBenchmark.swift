import AzureCommunicationCalling
import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineTokens

/// From `startCall` to both sides connected, the callee answering at once: written in the call-agent style, with camera and
/// microphone, over loopback UDP.
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
        Row("startCall to both connected, median", median(times), "ms", aim: 150),
        Row("startCall to both connected, longest", times.last ?? .nan, "ms", aim: 150),
      ])
  }

  private func measure() async throws -> [Double] {
    let world = World(
      backend: EmbeddedBackend(), delivery: Delivery(queue: DispatchQueue(label: "delivery")),
      devices: DefaultDevices(camera: "pattern:640x360@30", microphone: "tone"))
    let (ana, ben) = (try await User("ana", in: world), try await User("ben", in: world))
    var times: [Double] = []
    for _ in 0..<calls {
      let start = ContinuousClock().now
      ana.ring("8:acs:ben")
      let ends = (await ana.next(), await ben.next())
      guard case (.connected(let first), .connected(let second)) = ends else {
        throw BenchmarkError("a call did not connect: \(ends)")
      }
      times.append((max(first, second) - start).inMilliseconds)
      ana.hangUp()
      guard case (.over, .over) = (await ana.next(), await ben.next()) else { throw BenchmarkError("no end") }
    }
    ana.agent.dispose()
    ben.agent.dispose()
    return times
  }
}

/// Answers whoever rings at once, and tells when it is connected and when that is over.
private final class User: NSObject, CallAgentDelegate, CallDelegate, @unchecked Sendable {  // constant but for locks
  enum News: Sendable { case connected(ContinuousClock.Instant), over, failed }

  let agent: CallAgent
  private let camera: LocalVideoStream
  private let call = Lock<Call?>(nil)
  private let news = AsyncStream<News>.makeStream()

  init(_ name: String, in world: World) async throws {
    let now = NumericDate.ofSystemClock()
    let token = try CommunicationUserToken(identity: "8:acs:" + name, issued: now, expires: now + 3_600)
      .signed(with: SigningKey(generating: .p256))
    let client = World.$current.withValue(world) { CallClient() }
    agent = try await client.createCallAgent(userCredential: try CommunicationTokenCredential(token: token))
    guard let device = try await client.getDeviceManager().cameras.first else { throw BenchmarkError("no camera") }
    camera = LocalVideoStream(camera: device)
    super.init()
    agent.delegate = self
  }

  func next() async -> News {
    for await one in news.stream { return one }
    return .failed
  }

  func ring(_ id: String) {
    let options = StartCallOptions()
    options.videoOptions = VideoOptions(localVideoStreams: [camera])
    agent.startCall(participants: [CommunicationUserIdentifier(id)], options: options) { [self] in take($0, $1) }
  }

  func hangUp() { call.withLock { $0 }?.hangUp(options: nil) { _ in } }

  private func take(_ call: Call?, _ error: (any Error)?) {
    call?.delegate = self
    self.call.withLock { $0 = call }
    if error != nil { news.continuation.yield(.failed) }
  }

  func callAgent(_ callAgent: CallAgent, didReceiveIncomingCall incomingCall: IncomingCall) {
    let options = AcceptCallOptions()
    options.videoOptions = VideoOptions(localVideoStreams: [camera])
    incomingCall.accept(options: options) { [self] in take($0, $1) }
  }

  func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) {
    if !args.removedCalls.isEmpty { news.continuation.yield(.over) }
  }

  func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {
    if call.state == .connected { news.continuation.yield(.connected(ContinuousClock().now)) }
  }
}
