import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

/// Invitations with every outcome: none lost, none stuck. A thousand of them: `KOINE_ROUNDS=100 swift test --filter
/// ManyInvitationsTests`.
@Suite struct ManyInvitationsTests {
  private static let calls =
    ProcessInfo.processInfo.environment["KOINE_ROUNDS"].flatMap { Int($0) }.map { $0 * 10 } ?? 160

  private enum Outcome: CaseIterable {
    case accepted, declined, busy, cancelled, unanswered, unreachable, elsewhere, glare, overAGap

    /// The final answers that the caller may receive.
    var answers: Set<Ring.State> {
      switch self {
      case .accepted, .elsewhere, .overAGap: [.accepted]
      case .declined: [.declined]
      case .busy: [.busy]
      case .cancelled: [.cancelled]
      case .unanswered: [.unanswered]
      case .unreachable: [.unreachable]
      case .glare: [.accepted]
      }
    }
  }

  /// One device of a caller or callee.
  private final class Device: Sendable {
    let endpoint: Endpoint
    let rung = Lock<[Ring.ID]>([])
    let over = Lock<[Ring.ID: Ring.State]>([:])

    init(_ identity: String, in world: World) {
      endpoint = Endpoint(identity: identity, name: identity, in: world)
      endpoint.observe { [rung, over] event in
        if case .invited(let invitation) = event { rung.withLock { $0.append(invitation.id) } }
        if case .answered(let invitation, _, let answer) = event, answer.isOver {
          over.withLock { $0[invitation.id] = answer }
        }
      }
      endpoint.register { _ in }
    }

    func isRung(_ id: Ring.ID) -> Bool { rung.withLock { $0.contains(id) } }
  }

  private let world: World
  private let callers: [Device]
  /// Devices by callee. Each callee has two devices under one identity.
  private let callees: [[Device]]

  init() async throws {
    let world = try virtualWorld(seed: 5, network: "loss=1%,delay=15ms,jitter=10ms")
    self.world = world
    callers = (0..<5).map { Device("caller\($0)", in: world) }
    callees = (0..<5).map { number in (0..<2).map { _ in Device("callee\(number)", in: world) } }
    await world.run(for: .seconds(2))
  }

  private func ring(_ outcome: Outcome, _ caller: Device, _ callee: [Device]) -> Ring {
    let identity = outcome == .unreachable ? "nobody" : callee[0].endpoint.identity
    return caller.endpoint.invite([identity], patience: outcome == .unanswered ? .seconds(1) : .seconds(60))
  }

  /// The action of callee or caller once the invitation rings.
  private func act(_ outcome: Outcome, on invitation: Ring, _ caller: Device, _ callee: [Device]) {
    let phone = callee[0].endpoint
    switch outcome {
    case .accepted, .overAGap: phone.reply(.accept, to: invitation.id)
    case .declined: phone.reply(.decline, to: invitation.id)
    case .busy: phone.reply(.busy, to: invitation.id)
    case .cancelled: caller.endpoint.cancel(invitation.id)
    case .elsewhere: callee[1].endpoint.reply(.accept, to: invitation.id)
    case .glare:
      let other = phone.invite([caller.endpoint.identity])
      phone.reply(.accept, to: invitation.id)
      _ = other
    case .unanswered, .unreachable: break
    }
  }

  private func check(_ outcome: Outcome, _ invitation: Ring, _ caller: Device, _ callee: [Device]) {
    let answer = caller.over.withLock { $0[invitation.id] }
    #expect(answer.map(outcome.answers.contains) == true, "\(outcome): \(String(describing: answer))")
    guard outcome != .unreachable else { return }
    for device in callee { #expect(device.isRung(invitation.id), "\(outcome)") }
    let ends = callee.map { device in device.over.withLock { $0[invitation.id] } }
    switch outcome {
    case .elsewhere: #expect(ends == [.handledElsewhere, .accepted])
    case .accepted, .overAGap, .glare: #expect(ends == [.accepted, .handledElsewhere])
    default: #expect(ends.allSatisfy { $0 != nil }, "\(outcome)")
    }
  }

  private func expectNoPendingInvitations() {
    for device in callers + callees.flatMap(\.self) {
      #expect(device.endpoint.state == .registered)
      #expect(device.endpoint.invitations.isEmpty, "\(device.endpoint.identity)")
    }
  }

  @Test func sequentialInvitationsAllEndAsExpected() async throws {
    let backend = try #require(world.backend as? EmbeddedBackend)
    for number in 0..<Self.calls {
      // A gap takes its time: one in forty is enough.
      let some = Outcome.allCases.filter { $0 != .overAGap || number % 40 == 0 }
      let outcome = number % 40 == 0 ? .overAGap : some[number % some.count]
      let (caller, callee) = (callers[number % 5], callees[(number / 5) % 5])
      let invitation = ring(outcome, caller, callee)
      let isRinging = await world.run(
        until: { outcome == .unreachable || callee.allSatisfy { $0.isRung(invitation.id) } }, limit: .seconds(5))
      #expect(isRinging, "\(number) \(outcome)")
      if outcome == .overAGap {
        backend.cutNetwork(of: callee[0].endpoint.identity, for: .seconds(number % 80 == 0 ? 3 : 20))
      }
      act(outcome, on: invitation, caller, callee)
      let isOver = await world.run(
        until: { caller.over.withLock { $0[invitation.id] != nil } }, limit: .seconds(60))
      #expect(isOver, "\(number) \(outcome)")
      await world.run(for: .milliseconds(200))
      check(outcome, invitation, caller, callee)
    }
    await world.run(for: .seconds(2))
    expectNoPendingInvitations()
  }

  @Test func fiftyConcurrentInvitationsAllEndAsExpected() async throws {
    let outcomes = Outcome.allCases.filter { $0 != .overAGap && $0 != .glare }
    for round in 0..<2 {
      let calls = (0..<50).map { number in
        let (outcome, caller, callee) = (
          outcomes[(number + round) % outcomes.count], callers[number % 5], callees[(number / 5) % 5]
        )
        return (outcome, ring(outcome, caller, callee), caller, callee)
      }
      await world.run(for: .milliseconds(600))
      for (outcome, invitation, caller, callee) in calls { act(outcome, on: invitation, caller, callee) }
      await world.run(for: .seconds(4))
      for (outcome, invitation, caller, callee) in calls { check(outcome, invitation, caller, callee) }
      expectNoPendingInvitations()
    }
  }
}
