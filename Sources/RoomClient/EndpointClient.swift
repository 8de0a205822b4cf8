package import Koine
package import KoineBase
package import KoineSignaling
package import KoineTransport

/// An endpoint's side of its registration.
package final class RoomEndpointLink: EndpointLink, Sendable {
  package let number: Int
  private let loop: ClientLoop

  init(number: Int, loop: ClientLoop) { (self.number, self.loop) = (number, loop) }

  package func ring(_ invitation: Ring, patience: Duration) {
    loop.send(
      .ring(
        RingRequest(
          id: invitation.id, room: invitation.room, to: invitation.callees, hasVideo: invitation.hasVideo,
          timeoutSeconds: patience.inSeconds)), from: number)
  }

  package func cancel(_ invitation: Ring.ID) { loop.send(.cancelRing(id: invitation), from: number) }

  package func reply(_ reply: RingReply, to invitation: Ring.ID) {
    let answer: Ring.State =
      switch reply {
      case .accept: .accepted
      case .decline: .declined
      case .busy: .busy
      }
    loop.send(.answerRing(id: invitation, answer), from: number)
  }

  package func unregister() { loop.dismiss(number) }
}

/// A signed-in identity's own end: signalling only. Used on the loop only.
///
/// Calls that ring survive the router: its own are rung again, others' are waited for, with the answer that was on its way.
package final class EndpointClient: RoomClient {
  private struct OwnRing {
    var ring: RingRequest
    let endsAt: Tick
    var open: Set<String>
  }

  /// How long it is waited for callers to come back, too.
  private static let patience = Duration.seconds(60)

  package let signaling: SignalingClient
  private let request: EndpointRequest
  private let receiver: any EndpointReceiver
  private var hasRegistered = false
  private var own: [String: OwnRing] = [:]
  /// Others' calls, with our answer once it is given.
  private var incoming: [String: Ring.State?] = [:]
  /// Those of `incoming` that a new router has not announced again.
  private var awaited: Set<String> = []
  private var awaitedUntil: Tick?

  package init(_ request: EndpointRequest, receiver: any EndpointReceiver, random: SeededRandom) {
    self.request = request
    self.receiver = receiver
    signaling = SignalingClient(random: random)
    register()
  }

  private func register() {
    signaling.send(.register(Register(identity: request.identity, name: request.name, credential: request.credential)))
  }

  package func handle(_ event: SignalingClient.Event, at now: Tick) {
    switch event {
    case .message(let message): handle(message)
    case .failed(let failure): receiver.endpointDidChange(.failed(failure))
    case .interrupted, .resumed: break
    case .forgotten(let unacknowledged): registerAgain(unacknowledged, at: now)
    case .ended(let reason): receiver.endpointDidChange(.ended(reason))
    }
  }

  // MARK: What the endpoint asks for

  /// Sends a message about rings.
  package func send(_ message: ClientMessage, at now: Tick) {
    switch message {
    case .ring(let ring):
      own[ring.id] = OwnRing(ring: ring, endsAt: now + .seconds(min(ring.timeoutSeconds, 86_400)), open: Set(ring.to))
    case .cancelRing(let id): own[id] = nil
    case .answerRing(let id, let answer): if incoming[id] != nil { incoming[id] = .some(answer) }
    default: break
    }
    signaling.send(message)
    handleEvents(at: now)
  }

  // MARK: Coming back

  private func registerAgain(_ unacknowledged: [ClientMessage], at now: Tick) {
    awaited = Set(incoming.keys)
    awaitedUntil = awaited.isEmpty ? nil : now + Self.patience
    register()
    for message in unacknowledged { if case .cancelRing = message { signaling.send(message) } }
    for id in own.keys.sorted() {
      guard var ring = own[id]?.ring, let endsAt = own[id]?.endsAt, let open = own[id]?.open else { continue }
      ring.to = ring.to.filter(open.contains)
      ring.isRepeated = true
      ring.timeoutSeconds = max((endsAt - now).inSeconds, 0)
      signaling.send(.ring(ring))
    }
  }

  package func handleOwnTimeout(at now: Tick) {
    guard let awaitedUntil, now >= awaitedUntil else { return }
    self.awaitedUntil = nil
    for id in awaited.sorted() { over(id, .cancelled) }  // the caller has not returned
  }

  package var ownDeadline: Tick? { awaitedUntil }
  package var ownDeadlineReason: String { "end of the wait for callers to return" }

  // An endpoint has no media and no commands.
  package func executeCommands(at now: Tick) {}
  package func handleMedia(
    _ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick
  ) {}
  package func addressChanged(from old: TransportAddress, to new: TransportAddress, at now: Tick) {}
  package func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? { nil }

  // MARK: What the router says

  private func handle(_ message: ServerMessage) {
    switch message {
    case .registered:
      guard !hasRegistered else { break }
      hasRegistered = true
      receiver.endpointDidChange(.registered)
    case .refused(let failure, _): signaling.finish(.refused(failure))
    case .incomingRing(let ring): rung(by: ring)
    case .ringEnded(let id, let state): over(id, state)
    case .ringProgress(let progress):
      if progress.state.isOver { own[progress.id]?.open.remove(progress.identity) }
      if own[progress.id]?.open.isEmpty == true { own[progress.id] = nil }
      receiver.endpointDidChange(.answered(progress.id, callee: progress.identity, progress.state))
    case .failed(_, let failure): receiver.endpointDidChange(.failed(failure))
    default: break  // of rooms
    }
  }

  private func rung(by ring: Ring) {
    if let known = incoming[ring.id] {
      awaited.remove(ring.id)
      if let answer = known { signaling.send(.answerRing(id: ring.id, answer)) }
      return
    }
    incoming[ring.id] = .some(nil)
    receiver.endpointDidChange(.invited(ring))
  }

  private func over(_ id: String, _ state: Ring.State) {
    incoming[id] = nil
    awaited.remove(id)
    receiver.endpointDidChange(.answered(id, callee: nil, state))
  }
}
