import Koine
import KoineBase
import KoinePeer
import KoineRoomClient
import KoineSignalingHost
import KoineSimulatedNetwork

/// One end of a participant's link to the router: whatever it sends suffers what the network does in its direction.
class LinkEnd {
  typealias Way = (source: TransportAddress, destination: TransportAddress)

  private var conditioner: LinkConditioner<Way>?
  /// Until then nothing gets out.
  var cutUntil: Tick?

  init(conditioner: LinkConditioner<Way>?) { self.conditioner = conditioner }

  /// The link becomes another.
  func setNetwork(_ spec: NetworkSpec, seed: UInt64, at now: Tick) {
    if conditioner == nil {
      conditioner = LinkConditioner(spec: spec, seed: seed, start: now)
    } else {
      conditioner?.change(to: spec, at: now)
    }
  }

  /// Sends at once, or holds the datagram for its time.
  func emit(_ datagram: UnsafeRawBufferPointer, _ way: Way, over loop: any NetworkLoop, at now: Tick) {
    if let cutUntil, now < cutUntil { return }
    guard conditioner != nil else { return loop.send(datagram, from: way.source, to: way.destination) }
    let copy = Bytes(capacity: datagram.count)
    copy.append(datagram)
    conditioner?.push(copy, tag: way, at: now)
  }

  /// Lets go of what has arrived.
  func release(over loop: any NetworkLoop, at now: Tick) {
    while let (datagram, way) = conditioner?.pop(at: now) {
      loop.send(datagram.readable, from: way.source, to: way.destination)
    }
  }

  var conditionerDeadline: Tick? { conditioner?.deadline }
}

/// The router's end of one client's signalling: the connections that the client has made, the newest last. An older one
/// stays until it has been silent for too long: the router cannot know better.
final class RouterDoor: LinkEnd {
  struct Line {
    let id: ConnectionID
    let address: TransportAddress
    let stream: SignalStream
  }

  var lines: [Line] = []
  /// The connection that the client has made last, whether the router still knows it or not.
  var newest: ConnectionID?

  /// Tells the client that the router does not know its connection, as the router's machine would close a TCP connection of a
  /// process that is gone.
  func reset(_ way: Way, over loop: any NetworkLoop, at now: Tick) {
    guard let newest else { return }
    ConnectionReset.datagram(of: newest).withUnsafeBytes { emit($0, way, over: loop, at: now) }
  }

  var deadline: Tick? { lines.reduce(conditionerDeadline) { $0.sooner($1.stream.deadline) } }
}

/// A datagram of its own beside those of `SignalStream`, which are longer: the first byte is theirs, then comes the connection.
enum ConnectionReset {
  private static let size = 9

  static func datagram(of connection: ConnectionID) -> [UInt8] {
    [SignalStream.firstByte] + (0..<8).map { UInt8(truncatingIfNeeded: connection.value >> (56 - 8 * $0)) }
  }

  /// - Returns: nil for a datagram that is none.
  static func connection(_ datagram: UnsafeRawBufferPointer) -> ConnectionID? {
    guard datagram.count == size else { return nil }
    return ConnectionID(datagram.dropFirst().reduce(0) { $0 << 8 | Int($1) })
  }
}

/// The client's end of its signalling, with whom it belongs to.
final class ClientDoor: LinkEnd {
  let end: ClientEnd
  /// What it is known by: its participant's id and name, or its identity.
  let names: Set<String>
  private(set) var address: TransportAddress
  /// nil while there is no connection.
  private(set) var stream: SignalStream?
  private var connection: ConnectionID?

  init(_ end: ClientEnd, names: Set<String>, address: TransportAddress, conditioner: LinkConditioner<Way>?) {
    (self.end, self.names, self.address) = (end, names, address)
    super.init(conditioner: conditioner)
  }

  func connect(_ connection: ConnectionID, key: [UInt8], at now: Tick) throws {
    self.connection = connection
    stream = try SignalStream(key: key, end: .participant, now: now)
    end.connectionMade(at: now)
  }

  func move(to new: TransportAddress, at now: Tick) {
    end.addressChanged(from: address, to: new, at: now)
    address = new
    disconnect(at: now)
  }

  private func disconnect(at now: Tick) {
    stream = nil
    end.connectionLost(at: now)
  }

  func handleSignalling(_ datagram: UnsafeRawBufferPointer, at now: Tick) {
    guard let stream else { return }
    if let reset = ConnectionReset.connection(datagram) {
      if reset == connection { disconnect(at: now) }
      return
    }
    stream.handle(datagram, at: now)
    while let message = stream.pollMessage() { end.handleMessage(message, at: now) }
  }

  /// Puts on its way what the end has to say.
  func takeMessages() {
    guard let stream else { return }
    while let message = end.pollMessage() { stream.send(message) }
  }

  func handleTimeout(at now: Tick) {
    end.handleTimeout(at: now)
    if !end.hasConnection { stream = nil }
    guard let stream else { return }
    stream.handleTimeout(at: now)
    if stream.isBroken { disconnect(at: now) }
  }

  var deadline: Tick? { end.deadline.sooner(stream?.deadline).sooner(conditionerDeadline) }
}
