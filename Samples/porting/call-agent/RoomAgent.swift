// What layers that `koine port` writes of the call agent style need for users: the same file for every app.
import Foundation
import Koine
import KoineBackends
import KoineTokens

typealias RoomDone = ((any Error)?) -> Void

extension World {
  func tell(_ completion: @escaping RoomDone, _ error: (any Error)? = nil) {
    nonisolated(unsafe) let done = completion
    delivery.deliver { done(error) }
  }
}

/// A user who signs in, is rung and makes calls. All of this file is used on the main queue only, where events arrive.
final class RoomAgent: @unchecked Sendable {
  private(set) var endpoint: Endpoint!
  var handler: ((IncomingRing, RoomAgent) -> Void)?
  var callsHandler: (((added: [AgentCall], removed: [AgentCall]), RoomAgent) -> Void)?
  private var token = "", ringing: [Ring.ID: IncomingRing] = [:]

  func register(
    credential: RoomCredential, setup: CallSetup?, completion: @escaping (RoomAgent?, (any Error)?) -> Void
  ) {
    nonisolated(unsafe) let done = completion
    credential.read { [self] result in
      do {
        let (token, identity) = try result.get(), world = try World.holding(identity: identity) ?? Backends.world()
        self.token = token
        endpoint = Endpoint(identity: identity, name: setup?.name ?? "", credential: token, in: world)
        endpoint.observe { [weak self] in self?.receive($0) }
        endpoint.register { outcome in do { done(try outcome.map { self }.get(), nil) } catch { done(nil, error) } }
      } catch { done(nil, error) }
    }
  }
  func machine(completion: @escaping (Machine?, (any Error)?) -> Void) {
    nonisolated(unsafe) let done = completion
    do {
      let world = try Backends.world()
      world.delivery.deliver { done(world.machine, nil) }
    } catch { done(nil, error) }
  }

  private func receive(_ event: EndpointEvent) {
    if case .invited(let ring) = event {
      let incoming = IncomingRing(ring, self)
      ringing[ring.id] = incoming
      handler?(incoming, self)
    } else if case .answered(let ring, _, let answer) = event, answer.isOver {
      let incoming = ringing.removeValue(forKey: ring.id)
      if let incoming, answer != .accepted { incoming.handler?(answer, incoming) }
    }
  }

  /// Gives the app a call, and then begins it: the app's handler misses no event.
  func start(
    room: String? = nil, callees: [String] = [], answering ring: Ring? = nil, setup: CallSetup?,
    completion: @escaping (AgentCall?, (any Error)?) -> Void
  ) {
    nonisolated(unsafe) let (done, setup) = (completion, setup ?? CallSetup())
    let machine = endpoint.world.machine
    endpoint.world.delivery.deliver { [self] in
      let isBlind = setup.videos.contains { $0.isCamera } && machine.permission(.camera) == .denied
      guard !isBlind, machine.permission(.microphone) != .denied else {
        return done(nil, Failure(isBlind ? .cameraDenied : .microphoneDenied, "the user has denied it"))
      }
      if let ring { endpoint.reply(.accept, to: ring.id) }
      let room = room ?? ring?.room ?? "call-" + UUID().uuidString.lowercased()
      let call = AgentCall(room, endpoint, token, isMuted: setup.isMuted)
      done(call, nil)
      callsHandler?((added: [call], removed: []), self)
      call.didEnd = { [self] call in callsHandler?((added: [], removed: [call]), self) }
      call.begin(callees, isOneToOne: callees.count == 1 || ring?.callees.count == 1, setup.videos)
    }
  }
}

/// A call that rings here.
@dynamicMemberLookup final class IncomingRing {
  private let ring: Ring
  private weak var agent: RoomAgent?
  var handler: ((Ring.State, IncomingRing) -> Void)?
  init(_ ring: Ring, _ agent: RoomAgent) { (self.ring, self.agent) = (ring, agent) }
  subscript<Value>(dynamicMember path: KeyPath<Ring, Value>) -> Value { ring[keyPath: path] }
  func accept(setup: CallSetup?, completion: @escaping (AgentCall?, (any Error)?) -> Void) {
    agent?.start(answering: ring, setup: setup, completion: completion)
  }
  func decline(completion: @escaping RoomDone) {
    agent?.endpoint.reply(.decline, to: ring.id)
    completion(nil)
  }
}
