import Koine
import KoineBase
import KoineRoomClient
import KoineSimulatedNetwork

/// One end of a participant's link to the router: whatever it sends suffers what the network does in its direction.
class LinkEnd {
  typealias Way = (source: SocketAddress, destination: SocketAddress)

  private var conditioner: LinkConditioner<Way>?

  init(conditioner: LinkConditioner<Way>?) { self.conditioner = conditioner }

  /// Sends at once, or holds the datagram for its time.
  func emit(_ datagram: UnsafeRawBufferPointer, _ way: Way, over loop: any NetworkLoop, at now: Tick) {
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

/// The router's end of one participant's signalling.
final class RouterDoor: LinkEnd {
  let address: SocketAddress
  let stream: SignalStream

  init(address: SocketAddress, key: [UInt8], now: Tick, conditioner: LinkConditioner<Way>?) throws {
    self.address = address
    stream = try SignalStream(key: key, end: .router, now: now)
    super.init(conditioner: conditioner)
  }

  var deadline: Tick? { stream.deadline.sooner(conditionerDeadline) }
}

/// The client's end of its signalling, with whom it belongs to.
final class ClientDoor: LinkEnd {
  let end: ClientEnd
  let address: SocketAddress
  let stream: SignalStream

  init(
    _ end: ClientEnd, address: SocketAddress, key: [UInt8], now: Tick, conditioner: LinkConditioner<Way>?
  ) throws {
    self.end = end
    self.address = address
    stream = try SignalStream(key: key, end: .participant, now: now)
    super.init(conditioner: conditioner)
  }

  func handleSignalling(_ datagram: UnsafeRawBufferPointer, at now: Tick) {
    stream.handle(datagram, at: now)
    while let message = stream.pollMessage() { end.handleMessage(message, at: now) }
  }

  /// Puts on its way what the end has to say.
  func takeMessages() {
    while let message = end.pollMessage() { stream.send(message) }
  }

  func handleTimeout(at now: Tick) {
    end.handleTimeout(at: now)
    stream.handleTimeout(at: now)
    if stream.isBroken { end.end(.lost) }
  }

  var deadline: Tick? { end.deadline.sooner(stream.deadline).sooner(conditionerDeadline) }
}
