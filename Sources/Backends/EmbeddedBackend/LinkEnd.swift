import KoineBase
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
