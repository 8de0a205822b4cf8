package import Koine
package import KoineBase
package import KoineSignaling
package import KoineTransport

/// A client's own end of its link to a router: what participants and endpoints have in common. Sans-IO: whoever owns it
/// brings it messages, datagrams and the time, and takes from it what `pollMessage` and `poll` give.
package class ClientEnd {
  private var outgoing: [[UInt8]] = []
  /// Set once the end has been told.
  package private(set) var isOver = false
  /// Goes by itself at this time, whether the router has answered or not.
  private var leaveLimit: Tick?
  private var leaveReason = Koine.EndReason.left

  init() {}

  // MARK: For the kinds of clients

  /// A message of the router.
  func hear(_ message: ServerMessage, at now: Tick) {}
  /// A datagram that is no signalling.
  package func handle(_ datagram: Bytes, from source: SocketAddress, to destination: SocketAddress, at now: Tick) {}
  package func carryOutOrders(at now: Tick) {}
  /// Tells whoever this end belongs to; called once.
  func tellEnd(_ reason: Koine.EndReason) {}
  func tell(_ failure: SessionError) {}
  func handleMediaTimeout(at now: Tick) {}
  func pollMedia(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? { nil }
  var mediaDeadline: Tick? { nil }

  // MARK: Signalling

  package func send(_ message: ClientMessage) {
    do { outgoing.append(try message.json()) } catch {
      tell(SessionError(.tooLarge, "cannot be said to the room: \(error)"))
    }
  }

  /// What is to be said to the router, in order, until nothing is left.
  package func pollMessage() -> [UInt8]? { outgoing.isEmpty ? nil : outgoing.removeFirst() }

  /// A whole message of the router, as JSON.
  package func handleMessage(_ json: [UInt8], at now: Tick) {
    guard !isOver, let message = json.withUnsafeBytes({ try? ServerMessage(json: $0) }) else { return }
    hear(message, at: now)
  }

  /// Waits for the router's goodbye, but not for long.
  /// - Parameter reason: of the end if none comes.
  func expectEnd(_ reason: Koine.EndReason = .left, at now: Tick) {
    guard leaveLimit == nil else { return }
    leaveLimit = now + .seconds(2)
    leaveReason = reason
  }

  /// Tells the end once; nothing follows.
  package func end(_ reason: Koine.EndReason) {
    guard !isOver else { return }
    isOver = true
    tellEnd(reason)
  }

  // MARK: Time and datagrams

  package func handleTimeout(at now: Tick) {
    handleMediaTimeout(at: now)
    if let leaveLimit, now >= leaveLimit { end(leaveReason) }  // nobody answers: gone all the same
  }

  package var deadline: Tick? { mediaDeadline.sooner(leaveLimit) }

  /// Writes the next datagram into `out` (at least 1,500 bytes), until nothing is due.
  package func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    pollMedia(into: out, at: now)
  }
}
