import KoineBase
import KoineTransport

/// A peer's place in the router.
final class Seat {
  let peer: Peer
  let number: Int
  /// Who it belongs to; nil once that participant has left.
  var member: Member?
  /// The addresses whose datagrams go to this peer without further questions, the latest last.
  fileprivate var boundTo: [SocketAddress] = []
  fileprivate var isDirty = false
  fileprivate var alarm = HeapAlarm()

  fileprivate init(peer: Peer, number: Int) { (self.peer, self.number) = (peer, number) }
}

/// All peers of a router: who gets a datagram, who has something to send, who wants to wake when.
///
/// The cost of an event is that of the peers it touches: only touched peers are polled, and a peer's deadline reaches the
/// heap only when it becomes sooner.
final class PeerTable {
  private var seats: [Seat?] = []
  private var free: [Int] = []
  private var byAddress: [SocketAddress: Seat] = [:]
  private var byFragment: [String: Seat] = [:]
  private var dirty: [Seat] = []
  private var dirtyHead = 0
  private var timers = TimerHeap()
  /// Peers that have only their goodbyes to say.
  private var leaving: [Peer] = []

  var count: Int { seats.count - free.count }
  var holdings: [String: Int] {
    ["peers": count, "addresses": byAddress.count, "fragments": byFragment.count, "goodbyes": leaving.count]
  }
  var deadline: Tick? { timers.soonest }

  func add(_ peer: Peer) -> Seat {
    let number = free.popLast() ?? seats.count
    let seat = Seat(peer: peer, number: number)
    if number == seats.count { seats.append(seat) } else { seats[number] = seat }
    byFragment[peer.localCredentials.ufrag] = seat
    return seat
  }

  func remove(_ seat: Seat) {
    guard seats.indices.contains(seat.number), seats[seat.number] === seat else { return }
    seats[seat.number] = nil
    free.append(seat.number)
    byFragment[seat.peer.localCredentials.ufrag] = nil
    for address in seat.boundTo where byAddress[address] === seat { byAddress[address] = nil }
    seat.peer.close()
    leaving.append(seat.peer)
  }

  // MARK: Datagrams in

  /// A STUN request names its peer (RFC 8445 section 7.3: our fragment comes first in its user name); everything else goes
  /// by where it comes from.
  func find(_ datagram: UnsafeRawBufferPointer, from source: SocketAddress) -> Seat? {
    if let first = datagram.first, first < 4, let fragment = STUNMessage.localFragment(ofRequest: datagram) {
      return byFragment[fragment]
    }
    return byAddress[source]
  }

  private static let addressLimit = 8

  /// Once the peer itself has found, by a check with the right password, that its other end is at `source`, what comes
  /// from there is its own.
  func bind(_ seat: Seat, to source: SocketAddress) {
    guard byAddress[source] !== seat, seat.peer.isReached(from: source) else { return }
    // Another peer may have had the address meanwhile: it is the latest again.
    seat.boundTo.removeAll { $0 == source }
    if seat.boundTo.count == Self.addressLimit {
      let old = seat.boundTo.removeFirst()
      if byAddress[old] === seat { byAddress[old] = nil }
    }
    seat.boundTo.append(source)
    byAddress[source] = seat
  }

  // MARK: Datagrams out

  /// Notes that the peer may have something to send or another deadline.
  func touch(_ seat: Seat) {
    guard !seat.isDirty else { return }
    seat.isDirty = true
    dirty.append(seat)
  }

  /// The next datagram of any touched peer. One peer is emptied before the next, so that what leaves for one receiver
  /// leaves together.
  func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    while let peer = leaving.last {
      if let transmit = peer.poll(into: out, at: now) { return transmit }
      leaving.removeLast()
    }
    while dirtyHead < dirty.count {
      let seat = dirty[dirtyHead]
      if isSeated(seat) {
        if let transmit = seat.peer.poll(into: out, at: now) { return transmit }
        seat.alarm.arm(seat.peer.deadline, .peer(seat.number), in: &timers)
      }
      seat.isDirty = false
      dirtyHead += 1
    }
    dirty.removeAll(keepingCapacity: true)
    dirtyHead = 0
    return nil
  }

  // MARK: Time

  /// The next peer whose deadline has come.
  func popDue(at now: Tick) -> Seat? {
    while let entry = timers.popDue(at: now) {
      guard case .peer(let number) = entry.owner, let seat = seats[number], seat.alarm.fired(entry) else { continue }
      guard let deadline = seat.peer.deadline else { continue }
      if deadline <= now { return seat }
      seat.alarm.arm(deadline, .peer(number), in: &timers)
    }
    return nil
  }

  private func isSeated(_ seat: Seat) -> Bool { seats[seat.number] === seat }
}
