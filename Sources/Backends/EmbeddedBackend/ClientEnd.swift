import Koine
import KoineBase
import KoineSignaling
import KoineSimulatedNetwork
import KoineTransport

/// A client's own end of its link to the router: what participants and endpoints have in common. Touched on the loop only.
class ClientEnd: LinkEnd {
  let address: SocketAddress
  let routerAddress: SocketAddress
  private let stream: SignalStream
  /// Set once the end has been told.
  private(set) var isOver = false
  /// Goes by itself at this time, whether the router has answered or not.
  private var leaveLimit: Tick?

  struct Place {
    let address, routerAddress: SocketAddress
    let key: [UInt8]
    let conditioner: LinkConditioner<Way>?
  }

  init(_ place: Place, now: Tick) throws {
    address = place.address
    routerAddress = place.routerAddress
    stream = try SignalStream(key: place.key, end: .participant, now: now)
    super.init(conditioner: place.conditioner)
  }

  // MARK: For the kinds of clients

  /// A message of the router.
  func hear(_ message: ServerMessage, at now: Tick) {}
  /// A datagram that is no signalling.
  func handle(_ datagram: Bytes, from source: SocketAddress, at now: Tick) {}
  func carryOutOrders(at now: Tick) {}
  /// Tells whoever this end belongs to; called once.
  func tellEnd(_ reason: Koine.EndReason) {}
  func tell(_ failure: SessionError) {}
  func handleMediaTimeout(at now: Tick) {}
  func pollMedia(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? { nil }
  var mediaDeadline: Tick? { nil }

  // MARK: Signalling

  func send(_ message: ClientMessage) {
    do { stream.send(try message.json()) } catch {
      tell(SessionError(.tooLarge, "cannot be said to the room: \(error)"))
    }
  }

  func handleSignalling(_ datagram: UnsafeRawBufferPointer, at now: Tick) {
    stream.handle(datagram, at: now)
    while let bytes = stream.pollMessage() {
      guard !isOver, let message = bytes.withUnsafeBytes({ try? ServerMessage(json: $0) }) else { continue }
      hear(message, at: now)
    }
  }

  /// Waits for the router's goodbye, but not for long.
  func expectEnd(at now: Tick) { if leaveLimit == nil { leaveLimit = now + .seconds(2) } }

  /// Tells the end once; nothing follows.
  func end(_ reason: Koine.EndReason) {
    guard !isOver else { return }
    isOver = true
    tellEnd(reason)
  }

  // MARK: Time and datagrams

  func handleTimeout(at now: Tick) {
    handleMediaTimeout(at: now)
    stream.handleTimeout(at: now)
    if stream.isBroken { end(.lost) }
    if let leaveLimit, now >= leaveLimit { end(.left) }  // nobody answers: gone all the same
  }

  var deadline: Tick? { mediaDeadline.sooner(stream.deadline).sooner(conditionerDeadline).sooner(leaveLimit) }

  func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    if let count = stream.poll(into: out, at: now) {
      return Transmit(count: count, source: address, destination: routerAddress)
    }
    return pollMedia(into: out, at: now)
  }
}
