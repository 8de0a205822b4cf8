import AzureCommunicationCalling
import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

/// Before its app can have subscribed, a call makes no callback except `connecting`. Its end is reported even if the
/// app has released it.
@Suite(.timeLimit(.minutes(5))) struct SubscriptionTests {
  private static let group = GroupCallLocator(groupId: UUID())

  private final class Listener: NSObject, CallDelegate, @unchecked Sendable {
    let told = Lock<[(state: CallState, code: Int32, at: Tick)]>([])
    private let scheduler: Scheduler
    init(_ world: World) { scheduler = world.backend.scheduler }

    func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {
      let line = (call.state, Int32(call.callEndReason.code), scheduler.now)
      told.withLock { $0.append(line) }
      changes.continuation.yield()
    }
    private let changes = AsyncStream<Void>.makeStream()
    /// The suite's time limit ends a test that waits in vain.
    func nextState() async { for await _ in changes.stream { return } }
    var states: [CallState] { told.withLock { $0.map(\.state) } }
    func time(of state: CallState) -> Tick? { told.withLock { $0.first { $0.state == state }?.at } }
  }

  /// Ana in a group call with Ben, whose delegate is set `pause` after the handler has returned.
  private func joined(
    _ telephone: Telephone, settingDelegateAfter pause: Duration
  ) async throws -> (listener: Listener, returned: Tick, set: Tick, call: Call, agents: [CallAgent]) {
    let (ben, benHears) = try await telephone.agent("ben")
    ben.join(with: Self.group, joinCallOptions: nil) { benHears.take($0, $1) }
    await telephone.run(.seconds(1))
    let (ana, _) = try await telephone.agent("ana")
    let scheduler = telephone.world.backend.scheduler
    let given = Lock<(call: Call, at: Tick)?>(nil)
    ana.join(with: Self.group, joinCallOptions: nil) { call, _ in
      if let call { given.withLock { $0 = (call, scheduler.now) } }
    }
    await telephone.run(.milliseconds(1))
    let (call, returned) = try #require(given.withLock { $0 })
    await telephone.run(pause)
    let listener = Listener(telephone.world)
    call.delegate = listener
    let set = scheduler.now
    await telephone.run(.seconds(1))
    withExtendedLifetime(benHears) {}
    return (listener, returned, set, call, [ana, ben])
  }

  @Test func connectedIsReported30MillisecondsAfterTheDelegateIsSet() async throws {
    for pause in [0, 50, 250, 285] {
      let result = try await joined(try Telephone(), settingDelegateAfter: .milliseconds(pause))
      let connected = try #require(result.listener.time(of: .connected), "\(pause) ms")
      #expect(connected >= result.set + .milliseconds(30) && connected < result.set + .milliseconds(130), "\(pause) ms")
      #expect(result.listener.states == [.connected])
      #expect(result.call.remoteParticipants.count == 1)
    }
  }

  @Test func connectedWithoutDelegateIsReportedAfter300Milliseconds() async throws {
    let telephone = try Telephone()
    let (ana, _) = try await telephone.agent("ana")
    let scheduler = telephone.world.backend.scheduler
    let times = Lock<[(state: CallState?, at: Tick)]>([])
    ana.join(with: Self.group, joinCallOptions: nil) { call, _ in
      times.withLock { $0.append((nil, scheduler.now)) }
      call?.events.onStateChanged = { [weak call] _ in
        times.withLock { $0.append((call?.state, scheduler.now)) }
      }
    }
    await telephone.run(.seconds(1))
    let told = times.withLock { $0 }
    try #require(told.map(\.state) == [nil, .connecting, .connected])
    #expect(told[2].at - told[0].at >= .milliseconds(300) && told[2].at - told[0].at < .milliseconds(400))
  }

  @Test func callReadsAsConnectingUntilConnectedIsReported() async throws {
    let telephone = try Telephone()
    let (ben, benHears) = try await telephone.agent("ben")
    ben.join(with: Self.group, joinCallOptions: nil) { benHears.take($0, $1) }
    await telephone.run(.seconds(1))
    let (ana, _) = try await telephone.agent("ana")
    let given = Lock<Call?>(nil)
    ana.join(with: Self.group, joinCallOptions: nil) { call, _ in given.withLock { $0 = call } }
    await telephone.run(.milliseconds(250))
    let call = try #require(given.withLock { $0 })
    #expect(call.state == .connecting)
    #expect(call.remoteParticipants.isEmpty)
    #expect(call.totalParticipantCount == 1)
    await telephone.run(.milliseconds(250))
    #expect(call.state == .connected)
    #expect(call.remoteParticipants.count == 1)
    #expect(call.totalParticipantCount == 2)
    withExtendedLifetime(benHears) {}
  }

  /// As in the vendor's quickstart: the delegate is set by the code that continues after the call has been started.
  @Test @MainActor func delegateSetAfterAwaitOnMainActorReceivesConnected() async throws {
    let world = World(
      backend: EmbeddedBackend(), devices: DefaultDevices(camera: "stamp:Cam,160x90@5", microphone: "silence"))
    let client = World.$current.withValue(world) { CallClient() }
    let agent = try await client.createCallAgent(
      userCredential: try CommunicationTokenCredential(token: accessToken(for: "ana")))
    for _ in 0..<20 {
      let call = try await agent.join(with: GroupCallLocator(groupId: UUID()))
      let listener = Listener(world)
      call.delegate = listener
      await listener.nextState()
      #expect(listener.states.last == .connected)
      try await call.hangUp(options: nil)
    }
  }

  @Test func endReasonIsSetWhenDisconnectingIsReported() async throws {
    let telephone = try Telephone()
    let (ben, benHears) = try await telephone.agent("ben")
    ben.join(with: Self.group, joinCallOptions: nil) { benHears.take($0, $1) }
    await telephone.run(.seconds(1))
    try #require(telephone.world.backend as? EmbeddedBackend).limitParticipants(to: 1)
    let (ana, _) = try await telephone.agent("ana")
    let listener = Listener(telephone.world)
    ana.join(with: Self.group, joinCallOptions: nil) { call, _ in call?.delegate = listener }
    await telephone.run(.seconds(1))
    let told = listener.told.withLock { $0 }
    #expect(told.map(\.state) == [.connecting, .disconnecting, .disconnected])
    #expect(told.map(\.code) == [0, 403, 403])
    withExtendedLifetime(benHears) {}
  }

  @Test func callReleasedAfterHangUpReportsItsEnd() async throws {
    let telephone = try Telephone()
    var result: (listener: Listener, returned: Tick, set: Tick, call: Call, agents: [CallAgent])? =
      try await joined(telephone, settingDelegateAfter: .zero)
    let listener = try #require(result?.listener)
    weak let call = result?.call
    call?.hangUp(options: nil) { _ in }
    result = nil
    await telephone.run(.seconds(1))
    #expect(listener.states == [.connected, .disconnecting, .disconnected])
    #expect(call == nil, "and nothing keeps it then")
  }

  @Test func callReleasedWithoutHangUpIsLeftWithoutCallbacks() async throws {
    let telephone = try Telephone()
    let (ben, benHears) = try await telephone.agent("ben")
    ben.join(with: Self.group, joinCallOptions: nil) { benHears.take($0, $1) }
    await telephone.run(.seconds(1))
    let listener = Listener(telephone.world)
    do {
      let (ana, _) = try await telephone.agent("ana")
      ana.join(with: Self.group, joinCallOptions: nil) { call, _ in call?.delegate = listener }
      await telephone.run(.seconds(1))
      #expect(benHears.call?.remoteParticipants.count == 1)
    }
    await telephone.run(.seconds(1))
    #expect(listener.states == [.connecting, .connected])
    #expect(benHears.call?.remoteParticipants.isEmpty == true)
  }
}
