import KoineBase
import KoineRTP
package import KoineTransport

/// A peer's place in the router.
final class Seat {
  let peer: Peer
  let number: Int
  /// Who it belongs to; nil once that participant has left.
  var member: Member?
  /// Whether media flows.
  var isConnected = false
  /// What is not sent to it, because it does not answer.
  var hold = MediaHold.none
  /// The addresses whose datagrams go to this peer without further questions, the latest last.
  fileprivate var boundTo: [TransportAddress] = []
  /// What tracks pass on to it, in order; decided and written when it is polled.
  fileprivate var owed: [(forwarder: Forwarder, passing: Int)] = []
  /// Media that has come and has not been looked at.
  fileprivate var arrived: [Arrival] = []
  /// Of what is owed, how many went out.
  fileprivate var forwarded = 0
  fileprivate var isDirty = false
  /// The peer's deadline, as it was polled.
  fileprivate var due: Tick?
  fileprivate var alarm = HeapAlarm()

  fileprivate init(peer: Peer, number: Int) { (self.peer, self.number) = (peer, number) }

  /// Touches nothing but the peer.
  fileprivate func takeIn(at now: Tick) {
    for arrival in arrived { peer.handle(arrival.datagram, from: arrival.source, to: arrival.destination, at: now) }
  }
}

/// All peers of a router: who gets a datagram, who has something to send, who wants to wake when.
///
/// The cost of an event is that of the peers it touches: only touched peers are polled, and a peer's deadline reaches the
/// heap only when it becomes sooner.
final class PeerTable {
  private var seats: [Seat?] = []
  private var free: [Int] = []
  private var byAddress: [TransportAddress: Seat] = [:] { didSet { changes += 1 } }
  /// How often it has changed from where anything is expected.
  private(set) var changes = 0
  /// Checks that peers sent to addresses of another seat, to find out whether their other end receives there: the seat that
  /// gets the answer, and the time until which the check is remembered.
  private var questions: [STUNMessage.TransactionID: (seat: Seat, until: Tick)] = [:]
  private var byFragment: [String: Seat] = [:]
  private var dirty: [Seat] = []
  private var dirtyHead = 0
  private var timers = TimerHeap()
  /// Seats whose `arrived` is not empty.
  private var visited: [Seat] = []
  private var arrivals = 0
  private static let worthSharing = 16
  private var due: [Seat] = []
  /// What seats are owed, once for all.
  private var passing: [Passing] = []
  /// Peers that have only their goodbyes to say.
  private var leaving: [Peer] = []

  var count: Int { seats.count - free.count }
  /// What is owed holds its forwarder, which holds the seat that it is owed to.
  deinit { for seat in dirty { seat.owed.removeAll() } }

  var holdings: [String: Int] {
    ["peers": count, "addresses": byAddress.count, "fragments": byFragment.count, "goodbyes": leaving.count]
  }
  var deadline: Tick? { timers.soonest }
  /// What the soonest deadline of all peers waits for.
  var deadlineReason: String {
    let peers = seats.compactMap { $0?.peer }.filter { $0.deadline != nil }
    return peers.min { $0.deadline ?? .zero < $1.deadline ?? .zero }?.deadlineReason ?? "none"
  }
  /// Where peers are reached: but for STUN, nothing that comes from elsewhere is anybody's.
  var sources: some Sequence<TransportAddress> { byAddress.keys }

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
    forgetQuestions(of: seat)
    seat.peer.close()
    leaving.append(seat.peer)
  }

  // MARK: Datagrams in

  /// A STUN request names its peer (RFC 8445 section 7.3: our fragment comes first in its user name), and so does the answer to
  /// a check from an address that is another peer's; everything else goes by where it comes from.
  func find(_ datagram: UnsafeRawBufferPointer, from source: TransportAddress) -> Seat? {
    if let first = datagram.first, first < 4 {
      if let fragment = STUNMessage.localFragment(ofRequest: datagram) { return byFragment[fragment] }
      if !questions.isEmpty, let transaction = STUNMessage.transaction(ofResponse: datagram),
        let (seat, _) = questions[transaction]
      {
        return seat
      }
    }
    return byAddress[source]
  }

  private static let addressLimit = 8
  private static let questionLimit = 1_024
  /// Longer than any answer takes. A check that is repeated is remembered from its last time.
  private static let questionLifetime = Duration.seconds(10)

  /// Once the peer itself has found, by a check with the right password, that its other end is at `source`, what comes
  /// from there is its own.
  func bind(_ seat: Seat, to source: TransportAddress, at now: Tick) {
    guard byAddress[source] !== seat, seat.peer.isReached(from: source) else { return }
    // An address that is another peer's changes hands only once it is validated: a check can bear a forged source.
    if byAddress[source] != nil, !seat.peer.isValidated(source) {
      return remember(seat.peer.questions(to: source), of: seat, at: now)
    }
    if !questions.isEmpty { forgetQuestions(of: seat) }
    // Another peer may have had the address meanwhile: it is the latest again.
    seat.boundTo.removeAll { $0 == source }
    if seat.boundTo.count == Self.addressLimit {
      let old = seat.boundTo.removeFirst()
      if byAddress[old] === seat { byAddress[old] = nil }
    }
    seat.boundTo.append(source)
    byAddress[source] = seat
  }

  private func remember(_ transactions: [STUNMessage.TransactionID], of seat: Seat, at now: Tick) {
    if questions.count >= Self.questionLimit { questions = questions.filter { $0.value.until > now } }
    guard questions.count < Self.questionLimit else { return }
    for transaction in transactions { questions[transaction] = (seat, now + Self.questionLifetime) }
  }

  private func forgetQuestions(of seat: Seat) { questions = questions.filter { $0.value.seat !== seat } }

  /// Keeps a datagram of media for `handleArrivals`.
  func keep(_ datagram: Bytes, for seat: Seat, from source: TransportAddress, to destination: TransportAddress) {
    if seat.arrived.isEmpty { visited.append(seat) }
    arrivals += 1
    seat.arrived.append(Arrival(datagram: datagram, source: source, destination: destination))
  }

  /// Lets each peer have what has been kept for it, all hands at once, as what comes to one is no other's business; then
  /// `afterwards` follows, on the caller's own, for one seat after the other.
  func handleArrivals(by crew: Crew?, at now: Tick, afterwards: (Seat) -> Void) {
    guard !visited.isEmpty else { return }
    let seats = visited
    visited.removeAll(keepingCapacity: true)
    share(seats, by: crew, ofUse: arrivals) { $0.takeIn(at: now) }
    arrivals = 0
    for seat in seats {
      seat.arrived.removeAll(keepingCapacity: true)
      touch(seat)
      afterwards(seat)
    }
  }

  /// Wakes all peers whose deadline has come, in the same way.
  func handleTimeouts(by crew: Crew?, at now: Tick, afterwards: (Seat) -> Void) {
    while let seat = popDue(at: now) { due.append(seat) }
    guard !due.isEmpty else { return }
    let seats = due
    due.removeAll(keepingCapacity: true)
    share(seats, by: crew, ofUse: seats.count) { $0.peer.handleTimeout(at: now) }
    for seat in seats {
      touch(seat)
      afterwards(seat)
    }
  }

  /// - Parameter count: of what is to be done; each takes a microsecond or a few, and so does waking somebody.
  private func share(_ seats: [Seat], by crew: Crew?, ofUse count: Int, _ work: (Seat) -> Void) {
    guard let crew, count >= Self.worthSharing else { return seats.forEach(work) }
    crew.share(seats.count) { index, _ in work(seats[index]) }
  }

  // MARK: Datagrams out

  /// Notes that the peer may have something to send or another deadline.
  func touch(_ seat: Seat) {
    guard !seat.isDirty else { return }
    seat.isDirty = true
    dirty.append(seat)
  }

  /// Notes a packet that a track passes on, until everything has been polled.
  func note(_ passing: Passing) -> Int {
    self.passing.append(passing)
    return self.passing.count - 1
  }

  func owe(_ passing: Int, to seat: Seat, by forwarder: Forwarder) {
    seat.owed.append((forwarder, passing))
    touch(seat)
  }

  /// Touches nothing but the seat, its peer and its forwarders, and reads what these stand on.
  private func settleDebts(of seat: Seat, _ passing: [Passing], at now: Tick) {
    for (forwarder, index) in seat.owed where forwarder.forward(passing[index], at: now) { seat.forwarded += 1 }
    seat.owed.removeAll(keepingCapacity: true)
  }

  /// It has been polled until nothing was due.
  private func putAway(_ seat: Seat) {
    if isSeated(seat) {
      seat.member?.room.forwardedPackets += seat.forwarded
      seat.alarm.arm(seat.due, .peer(seat.number), in: &timers)
    }
    seat.owed.removeAll(keepingCapacity: true)
    seat.forwarded = 0
    seat.isDirty = false
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
        if !seat.owed.isEmpty { settleDebts(of: seat, passing, at: now) }
        if let transmit = seat.peer.poll(into: out, at: now) { return transmit }
        seat.due = seat.peer.deadline
      }
      putAway(seat)
      dirtyHead += 1
    }
    passing.removeAll(keepingCapacity: true)
    dirty.removeAll(keepingCapacity: true)
    dirtyHead = 0
    return nil
  }

  /// As `poll`, until nothing is due, by all hands at once: what one peer has to send is no other's business, so each is
  /// one piece of work.
  func poll(by crew: Crew, at now: Tick, _ send: (_ departure: Departure, _ hand: Int) -> Void) {
    for peer in leaving { send(Departure(peer: peer, now: now), 0) }
    leaving.removeAll()
    let (touched, passing) = (dirty, passing)
    crew.share(touched.count) { index, hand in
      let seat = touched[index]
      guard isSeated(seat) else { return }
      settleDebts(of: seat, passing, at: now)
      send(Departure(peer: seat.peer, now: now), hand)
      seat.due = seat.peer.deadline
    }
    for seat in touched { putAway(seat) }
    self.passing.removeAll(keepingCapacity: true)
    dirty.removeAll(keepingCapacity: true)
  }

  // MARK: Time

  /// The next peer whose deadline has come.
  private func popDue(at now: Tick) -> Seat? {
    while let entry = timers.popDue(at: now) {
      guard case .peer(let number) = entry.owner, let seat = seats[number], seat.alarm.fired(entry) else { continue }
      guard let deadline = seat.isDirty ? seat.peer.deadline : seat.due else { continue }
      if deadline <= now { return seat }
      seat.alarm.arm(deadline, .peer(number), in: &timers)
    }
    return nil
  }

  private func isSeated(_ seat: Seat) -> Bool { seats[seat.number] === seat }
}

private struct Arrival {
  let datagram: Bytes
  let source: TransportAddress
  let destination: TransportAddress
}

/// A packet on its way from a track to those who get it, read once for all of them.
struct Passing {
  let packet: SharedPacket
  let numbers: SourceNumbers
  /// Empty for audio.
  let info: VideoPacketInfo
  /// The track's, when it came.
  let stretch: UInt64
}

/// What one peer has to send now.
package struct Departure {
  fileprivate let peer: Peer
  fileprivate let now: Tick

  /// Writes the next datagram into `out` (at least 1,500 bytes), until nothing is due.
  package func poll(into out: UnsafeMutableRawBufferPointer) -> Transmit? { peer.poll(into: out, at: now) }
}
