package import KoineBase
package import KoineSignaling
package import KoineTransport

/// A participant's or an endpoint's own end of the room protocol, as a `ClientLoop` runs it. Used on the loop only.
///
/// It has a `SignalingClient`, handles its events, and adds what it needs besides: a participant its media, an endpoint its rings.
package protocol RoomClient: AnyObject {
  var signaling: SignalingClient { get }
  func handle(_ event: SignalingClient.Event, at now: Tick)

  /// Carries out what the session has asked for since the last time.
  func executeCommands(at now: Tick)
  /// A datagram that is no signalling.
  func handleMedia(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick)
  /// One of the client's sockets has another address.
  func addressChanged(from old: TransportAddress, to new: TransportAddress, at now: Tick)
  func handleOwnTimeout(at now: Tick)
  /// When `handleOwnTimeout` next has work to do.
  var ownDeadline: Tick? { get }
  var ownDeadlineReason: String { get }
  /// Writes the next datagram into `out` (at least 1,500 bytes), until nothing is due.
  func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit?
}

extension RoomClient {
  package var isOver: Bool { signaling.isOver }

  /// After each change of `signaling`.
  package func handleEvents(at now: Tick) { while let event = signaling.pollEvent() { handle(event, at: now) } }

  // MARK: For the loop

  package func handleMessage(_ json: [UInt8], at now: Tick) {
    signaling.receive(json, at: now)
    handleEvents(at: now)
  }

  package func handle(
    _ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick
  ) {
    handleMedia(datagram, from: source, to: destination, at: now)
    handleEvents(at: now)
  }

  package func connectionMade(at now: Tick) {
    signaling.connectionMade(at: now)
    handleEvents(at: now)
  }

  package func connectionLost(at now: Tick, because loss: SignalingClient.Loss = .broken) {
    signaling.connectionLost(at: now, because: loss)
    handleEvents(at: now)
  }

  package func finish(_ reason: EndReason, at now: Tick) {
    signaling.finish(reason)
    handleEvents(at: now)
  }

  package func handleTimeout(at now: Tick) {
    handleOwnTimeout(at: now)
    signaling.handleTimeout(at: now)
    handleEvents(at: now)
  }

  /// When `handleTimeout` next has work to do; nil once it is over.
  package var deadline: Tick? { isOver ? nil : ownDeadline.sooner(signaling.deadline) }

  /// What `deadline` waits for.
  package var deadlineReason: String { deadline == ownDeadline ? ownDeadlineReason : signaling.deadlineReason }
}
