import AzureCommunicationCalling
import Foundation
import Koine
@testable import KoineEmbeddedBackend
import Testing

/// Sequential and concurrent calls. For 1,000 calls, and the memory of the process after each hundred:
/// `KOINE_ROUNDS=1000 swift test --filter ManyCallsTests`.
@Suite(.serialized) struct ManyCallsTests {
  private static let asked = ProcessInfo.processInfo.environment["KOINE_ROUNDS"].flatMap { Int($0) }

  /// Answers each incoming call at once, and counts the calls.
  private final class User: NSObject, CallAgentDelegate, CallDelegate, @unchecked Sendable {  // constant but for locks
    struct Counts: Equatable { var added = 0, rung = 0, connected = 0, ended = 0, removed = 0, failed = 0 }
    let agent: CallAgent
    private let state = Lock((counts: Counts(), call: nil as Call?, codes: [] as [Int32]))

    init(_ agent: CallAgent) {
      self.agent = agent
      super.init()
      agent.delegate = self
    }

    var counts: Counts { state.withLock { $0.counts } }
    var call: Call? { state.withLock { $0.call } }
    /// Why calls ended.
    var codes: Set<Int32> { state.withLock { Set($0.codes) } }

    func ring(_ user: String) {
      agent.startCall(participants: [identity(user)], options: nil) { [self] in take($0, $1) }
    }

    func hangUp() { call?.hangUp(options: nil) { [self] in if $0 != nil { count(\.failed) } } }

    private func count(_ what: WritableKeyPath<Counts, Int>) { state.withLock { $0.counts[keyPath: what] += 1 } }

    private func take(_ call: Call?, _ error: (any Error)?) {
      call?.delegate = self
      state.withLock { $0.call = call }
      if error != nil { count(\.failed) }
    }

    func callAgent(_ callAgent: CallAgent, didRecieveIncomingCall incomingCall: IncomingCall) {
      count(\.rung)
      incomingCall.accept(options: AcceptCallOptions()) { [self] in take($0, $1) }
    }

    func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) {
      state.withLock { state in
        state.counts.added += args.addedCalls.count
        state.counts.removed += args.removedCalls.count
        state.codes += args.removedCalls.map(\.callEndReason.code)
        if !args.removedCalls.isEmpty { state.call = nil }
      }
    }

    func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {
      switch call.state {
      case .connected: count(\.connected)
      case .disconnected: count(\.ended)
      default: break
      }
    }
  }

  private let world = World(
    backend: EmbeddedBackend(virtual: 11), delivery: Delivery(queue: DispatchQueue(label: "delivery")),
    devices: DefaultDevices(camera: "stamp:Cam,160x90@5", microphone: "tone"), stamps: StampedMedia())

  private func user(_ name: String) async throws -> User {
    let agent = try await Telephone(in: world).agent(name).agent
    return User(agent)
  }

  /// Of the process, in MiB.
  private var resident: Double {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return Double(text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 256
  }

  @Test func sequentialCallsReleaseAllState() async throws {
    let rounds = Self.asked ?? 30
    let (ana, ben) = (try await user("ana"), try await user("ben"))
    let host = try #require(world.backend as? EmbeddedBackend).host
    await world.run(for: .seconds(1))
    let before = host.holdings
    let began = ContinuousClock.now
    var memory: [Double] = []
    for round in 1...rounds {
      weak var (call, session): (Call?, Session?) = (nil, nil)
      ana.ring("ben")
      let isUp = await world.run(
        until: { ana.call?.state == .connected && ben.call?.state == .connected }, limit: .seconds(2))
      #expect(isUp, "call \(round) is stuck")
      (call, session) = (ben.call, ben.call?.session)
      (round.isMultiple(of: 2) ? ana : ben).hangUp()
      let isOver = await world.run(until: { ana.call == nil && ben.call == nil }, limit: .seconds(2))
      #expect(isOver, "call \(round) does not end")
      await world.run(for: .milliseconds(100))
      #expect(call == nil && session == nil && ana.agent.calls.isEmpty, "call \(round) is kept")
      guard isUp, isOver else { return }
      if round == rounds / 10 || (round.isMultiple(of: 100) && Self.asked != nil) { memory.append(resident) }
    }
    let all = User.Counts(added: rounds, connected: rounds, ended: rounds, removed: rounds)
    var rung = all
    rung.rung = rounds
    #expect(ana.counts == all && ben.counts == rung && ana.codes == [0] && ben.codes == [0])
    await world.run(for: .seconds(60))
    #expect(host.holdings == before, "the router is as it was")
    guard Self.asked != nil else { return }
    print("\(rounds) calls in \(ContinuousClock.now - began); MiB: \(memory.map { String(format: "%.1f", $0) })")
    #expect(resident - (memory.first ?? 0) < 16)
  }

  @Test func fiftyConcurrentCallsConnectAndEnd() async throws {
    let count = 50
    let host = try #require(world.backend as? EmbeddedBackend).host
    var pairs: [(caller: User, callee: User)] = []
    for number in 0..<count { pairs.append((try await user("a\(number)"), try await user("b\(number)"))) }
    await world.run(for: .seconds(1))
    let before = host.holdings
    for (number, pair) in pairs.enumerated() { pair.caller.ring("b\(number)") }
    let users = pairs.flatMap { [$0.caller, $0.callee] }
    let areUp = await world.run(until: { users.allSatisfy { $0.call?.state == .connected } }, limit: .seconds(5))
    #expect(areUp, "stuck: \(users.count { $0.call?.state != .connected })")
    await world.run(for: .milliseconds(500))
    #expect(users.allSatisfy { $0.call?.remoteParticipants.count == 1 })
    for pair in pairs { pair.callee.hangUp() }
    let areOver = await world.run(until: { users.allSatisfy { $0.call == nil } }, limit: .seconds(5))
    #expect(areOver)
    for pair in pairs {
      #expect(pair.caller.counts == User.Counts(added: 1, connected: 1, ended: 1, removed: 1))
      #expect(pair.callee.counts == User.Counts(added: 1, rung: 1, connected: 1, ended: 1, removed: 1))
    }
    await world.run(for: .seconds(60))
    #expect(host.holdings == before)
    for user in users { user.agent.dispose() }
    await world.run(for: .seconds(1))
  }
}
