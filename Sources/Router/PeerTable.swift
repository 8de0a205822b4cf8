import KoineBase
import KoineRTP
package import KoineTransport

/// What a router keeps of one peer. A final class: on the packet path it is reached without a look-up, and nothing is copied.
final class PeerSlot {
  let peer: Peer
  let number: Int
  /// The participant that this slot belongs to; nil once it has left.
  @exclusivity(unchecked) var member: Member?
  /// Whether media flows.
  @exclusivity(unchecked) var isConnected = false
  /// Media that the router holds back from this peer because the peer does not answer.
  @exclusivity(unchecked) var hold = MediaHold.none
  /// The addresses bound to this peer, the latest last. All datagrams from them go to this peer.
  @exclusivity(unchecked) fileprivate var boundTo: [TransportAddress] = []
  /// What tracks pass on to it, in order; decided and written when it is polled.
  @exclusivity(unchecked) fileprivate var queue: [(forwarder: Forwarder, item: Int)] = []
  /// Media that has come and has not been looked at.
  @exclusivity(unchecked) fileprivate var arrived: [Arrival] = []
  /// Packets of the queue that went out.
  @exclusivity(unchecked) fileprivate var forwarded = 0
  @exclusivity(unchecked) fileprivate var isDirty = false
  /// Whether it waits in the table's list of slots whose deadline has come.
  @exclusivity(unchecked) fileprivate var isDue = false
  /// The peer's deadline, as it was polled.
  @exclusivity(unchecked) fileprivate var due: Tick?
  @exclusivity(unchecked) fileprivate var alarm = HeapAlarm()

  fileprivate init(peer: Peer, number: Int) { (self.peer, self.number) = (peer, number) }

  /// Touches nothing but the peer.
  fileprivate func takeIn(at now: Tick) {
    for index in arrived.indices {
      peer.handle(arrived[index].datagram, from: arrived[index].source, to: arrived[index].destination, at: now)
    }
  }
}

/// All peers of a router: assigns datagrams to peers, polls peers that may have something to send, and keeps their deadlines.
///
/// The cost of an event is that of the peers it touches: only touched peers are polled, and a peer's deadline reaches the
/// heap only when it becomes sooner.
final class PeerTable {
  @exclusivity(unchecked) private var slots: [PeerSlot?] = []
  @exclusivity(unchecked) private var free: [Int] = []
  private var byAddress: [TransportAddress: PeerSlot] = [:] { didSet { changes += 1 } }
  /// Counts changes of `sources`.
  @exclusivity(unchecked) private(set) var changes = 0
  /// Checks that peers sent to addresses of another slot, to find out whether their other end receives there: the slot that
  /// gets the answer, and the time until which the check is remembered.
  @exclusivity(unchecked) private var questions: [STUNMessage.TransactionID: (slot: PeerSlot, until: Tick)] = [:]
  @exclusivity(unchecked) private var byFragment: [String: PeerSlot] = [:]
  @exclusivity(unchecked) private var dirty: [PeerSlot] = []
  @exclusivity(unchecked) private var dirtyHead = 0
  /// Of peers, by number.
  @exclusivity(unchecked) private var timers = TimerHeap()
  /// Slots with datagrams in `arrived`.
  @exclusivity(unchecked) private var visited: [PeerSlot] = []
  @exclusivity(unchecked) private var arrivals = 0
  private static let worthSharing = 16
  @exclusivity(unchecked) private var due: [PeerSlot] = []
  /// The slots of the turn's datagrams, while these are handled. Swapped with `visited`, so that neither list is copied or allocated again.
  @exclusivity(unchecked) private var atWork: [PeerSlot] = []
  /// Packets in the queues of slots, once for all receivers.
  @exclusivity(unchecked) private var items: [ForwardingItem] = []
  /// Peers that have only their goodbyes to say.
  @exclusivity(unchecked) private var leaving: [Peer] = []

  var count: Int { slots.count - free.count }
  /// A queue holds forwarders, which hold the slot.
  deinit { for slot in dirty { slot.queue.removeAll() } }

  var holdings: [String: Int] {
    ["peers": count, "addresses": byAddress.count, "fragments": byFragment.count, "goodbyes": leaving.count]
  }
  var deadline: Tick? { timers.soonest }
  /// What the soonest deadline of all peers waits for.
  var deadlineReason: String {
    let peers = slots.compactMap { $0?.peer }.filter { $0.deadline != nil }
    return peers.min { $0.deadline ?? .zero < $1.deadline ?? .zero }?.deadlineReason ?? "none"
  }
  /// Addresses bound to a peer. Datagrams from any other address belong to no peer unless they are STUN.
  var sources: some Sequence<TransportAddress> { byAddress.keys }

  func add(_ peer: Peer) -> PeerSlot {
    let number = free.popLast() ?? slots.count
    let slot = PeerSlot(peer: peer, number: number)
    if number == slots.count { slots.append(slot) } else { slots[number] = slot }
    byFragment[peer.localCredentials.ufrag] = slot
    return slot
  }

  func remove(_ slot: PeerSlot) {
    guard slots.indices.contains(slot.number), slots[slot.number] === slot else { return }
    slots[slot.number] = nil
    free.append(slot.number)
    byFragment[slot.peer.localCredentials.ufrag] = nil
    for address in slot.boundTo where byAddress[address] === slot { byAddress[address] = nil }
    forgetQuestions(of: slot)
    slot.peer.close()
    leaving.append(slot.peer)
  }

  // MARK: Datagrams in

  /// A STUN request names its peer (RFC 8445 section 7.3: our fragment comes first in its user name), and so does the answer to
  /// a check from an address that is another peer's; everything else goes by where it comes from.
  func find(_ datagram: UnsafeRawBufferPointer, from source: TransportAddress) -> PeerSlot? {
    if let first = datagram.first, first < 4 {
      if let fragment = STUNMessage.localFragment(ofRequest: datagram) { return byFragment[fragment] }
      if !questions.isEmpty, let transaction = STUNMessage.transaction(ofResponse: datagram),
        let (slot, _) = questions[transaction]
      {
        return slot
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
  func bind(_ slot: PeerSlot, to source: TransportAddress, at now: Tick) {
    guard byAddress[source] !== slot, slot.peer.isReached(from: source) else { return }
    // An address that is bound to another peer is rebound only once it is validated: a check can bear a forged source.
    if byAddress[source] != nil, !slot.peer.isValidated(source) {
      return remember(slot.peer.questions(to: source), of: slot, at: now)
    }
    if !questions.isEmpty { forgetQuestions(of: slot) }
    // The address may have been bound to another peer in between: it becomes the latest again.
    slot.boundTo.removeAll { $0 == source }
    if slot.boundTo.count == Self.addressLimit {
      let old = slot.boundTo.removeFirst()
      if byAddress[old] === slot { byAddress[old] = nil }
    }
    slot.boundTo.append(source)
    byAddress[source] = slot
  }

  private func remember(_ transactions: [STUNMessage.TransactionID], of slot: PeerSlot, at now: Tick) {
    if questions.count >= Self.questionLimit { questions = questions.filter { $0.value.until > now } }
    guard questions.count < Self.questionLimit else { return }
    for transaction in transactions { questions[transaction] = (slot, now + Self.questionLifetime) }
  }

  private func forgetQuestions(of slot: PeerSlot) { questions = questions.filter { $0.value.slot !== slot } }

  /// Keeps a datagram of media for `handleArrivals`.
  func keep(_ datagram: Bytes, for slot: PeerSlot, from source: TransportAddress, to destination: TransportAddress) {
    if slot.arrived.isEmpty { visited.append(slot) }
    arrivals += 1
    slot.arrived.append(Arrival(datagram: datagram, source: source, destination: destination))
  }

  /// Hands each peer the datagrams that `keep` has stored for it. All workers of the pool run at once, because peers share no
  /// state. Afterwards calls `afterwards` on the caller's thread, for one slot after the other.
  func handleArrivals(by pool: ForkJoinPool?, at now: Tick, afterwards: (PeerSlot) -> Void) {
    guard !visited.isEmpty else { return }
    swap(&visited, &atWork)
    share(atWork, by: pool, ofUse: arrivals) { $0.takeIn(at: now) }
    arrivals = 0
    for index in atWork.indices {
      let slot = atWork[index]
      slot.arrived.removeAll(keepingCapacity: true)
      touch(slot)
      afterwards(slot)
    }
    atWork.removeAll(keepingCapacity: true)
  }

  /// Handles the timeouts of all peers with a deadline up to `now`, on all workers of the pool at once. Afterwards calls
  /// `afterwards` on the caller's thread, for one slot after the other.
  func handleTimeouts(by pool: ForkJoinPool?, at now: Tick, afterwards: (PeerSlot) -> Void) {
    // After a standstill several alarms of one slot are past. It is handled once: two workers at one peer would destroy its memory.
    while let slot = popDue(at: now) {
      guard !slot.isDue else { continue }
      slot.isDue = true
      due.append(slot)
    }
    guard !due.isEmpty else { return }
    share(due, by: pool, ofUse: due.count) { $0.peer.handleTimeout(at: now) }
    for index in due.indices {
      due[index].isDue = false
      touch(due[index])
      afterwards(due[index])
    }
    due.removeAll(keepingCapacity: true)
  }

  /// - Parameter count: how many pieces of work there are. Each takes a few microseconds, about as long as waking a worker.
  private func share(_ slots: [PeerSlot], by pool: ForkJoinPool?, ofUse count: Int, _ work: (PeerSlot) -> Void) {
    guard let pool, count >= Self.worthSharing else {
      for index in slots.indices { work(slots[index]) }
      return
    }
    pool.concurrentPerform(slots.count) { index, _ in work(slots[index]) }
  }

  // MARK: Datagrams out

  /// Notes that the peer may have something to send or another deadline.
  func touch(_ slot: PeerSlot) {
    guard !slot.isDirty else { return }
    slot.isDirty = true
    dirty.append(slot)
  }

  /// Notes a packet that a track passes on, until everything has been polled.
  /// - Returns: the item's number, for `enqueue`.
  func add(_ item: ForwardingItem) -> Int {
    items.append(item)
    return items.count - 1
  }

  func enqueue(_ item: Int, to slot: PeerSlot, by forwarder: Forwarder) {
    slot.queue.append((forwarder, item))
    touch(slot)
  }

  /// Touches nothing but the slot, its peer and its forwarders, and reads what these stand on.
  private func flush(_ slot: PeerSlot, _ items: [ForwardingItem], at now: Tick) {
    for place in slot.queue.indices {
      if slot.queue[place].forwarder.forward(items[slot.queue[place].item], at: now) { slot.forwarded += 1 }
    }
    slot.queue.removeAll(keepingCapacity: true)
  }

  /// It has been polled until nothing was due.
  private func putAway(_ slot: PeerSlot) {
    if isInUse(slot) {
      slot.member?.room.forwardedPackets += slot.forwarded
      slot.alarm.arm(slot.due, slot.number, in: &timers)
    }
    if !slot.queue.isEmpty { slot.queue.removeAll(keepingCapacity: true) }
    slot.forwarded = 0
    slot.isDirty = false
  }

  /// The next datagram of any touched peer. One peer is emptied before the next, so that what leaves for one receiver
  /// leaves together.
  func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    while let peer = leaving.last {
      if let transmit = peer.poll(into: out, at: now) { return transmit }
      leaving.removeLast()
    }
    while dirtyHead < dirty.count {
      let slot = dirty[dirtyHead]
      if isInUse(slot) {
        if !slot.queue.isEmpty { flush(slot, items, at: now) }
        if let transmit = slot.peer.poll(into: out, at: now) { return transmit }
        slot.due = slot.peer.deadline
      }
      putAway(slot)
      dirtyHead += 1
    }
    items.removeAll(keepingCapacity: true)
    dirty.removeAll(keepingCapacity: true)
    dirtyHead = 0
    return nil
  }

  /// Polls all touched peers until nothing is due, on all workers of the pool at once. Each peer is one piece of work, because
  /// peers share no state.
  func poll(by pool: ForkJoinPool, at now: Tick, _ send: (_ departure: PeerOutput, _ worker: Int) -> Void) {
    if !leaving.isEmpty {
      for peer in leaving { send(PeerOutput(peer: peer, now: now), 0) }
      leaving.removeAll()
    }
    pool.concurrentPerform(dirty.count) { index, worker in
      let slot = dirty[index]
      guard isInUse(slot) else { return }
      flush(slot, items, at: now)
      send(PeerOutput(peer: slot.peer, now: now), worker)
      slot.due = slot.peer.deadline
    }
    for index in dirty.indices { putAway(dirty[index]) }
    items.removeAll(keepingCapacity: true)
    dirty.removeAll(keepingCapacity: true)
  }

  // MARK: Time

  /// The next peer with a deadline up to `now`.
  private func popDue(at now: Tick) -> PeerSlot? {
    while let entry = timers.popDue(at: now) {
      guard let slot = slots[entry.owner], slot.alarm.fired(entry) else { continue }
      guard let deadline = slot.isDirty ? slot.peer.deadline : slot.due else { continue }
      if deadline <= now { return slot }
      slot.alarm.arm(deadline, slot.number, in: &timers)
    }
    return nil
  }

  private func isInUse(_ slot: PeerSlot) -> Bool { slots[slot.number] === slot }
}

private struct Arrival {
  let datagram: Bytes
  let source: TransportAddress
  let destination: TransportAddress
}

/// A packet on its way from a track to its receivers, parsed once for all of them.
struct ForwardingItem {
  let packet: SharedPacket
  let numbers: SourceNumbers
  /// Empty for audio.
  let info: VideoPacketInfo
  /// The track's `stretch` when the packet arrived.
  let stretch: UInt64
}

/// What one peer has to send now.
package struct PeerOutput {
  fileprivate let peer: Peer
  fileprivate let now: Tick

  /// Writes the next datagram into `out` (at least 1,500 bytes), until nothing is due.
  package func poll(into out: UnsafeMutableRawBufferPointer) -> Transmit? { peer.poll(into: out, at: now) }
}
