package import Koine
package import KoineBase
package import KoinePeer
import KoineSignaling
import KoineTransport

/// Runs the clients of one backend on a network loop. A turn polls only clients that have received an event, and clients with a
/// deadline that has come.
///
/// `@unchecked Sendable`: used on the loop only, except `connect` and `register`, and the links' calls, which post.
package final class ClientLoop: NetworkLoopClient, @unchecked Sendable {
  private struct Entry {
    let client: any RoomClient
    let transport: any ClientTransport
  }

  private struct WeakLoop { weak var loop: ClientLoop? }

  package let loop: any NetworkLoop
  /// Set once, before the first client.
  package var transports: (any ClientTransports)?
  private let trace: ParticipantClient.Trace?
  private var random: SeededRandom
  private var entries: [Int: Entry] = [:]
  private var numbers: [TransportAddress: Int] = [:]
  private var schedule = PollSchedule()
  private let datagram = Bytes(capacity: 2_048)
  private let lastNumber = Lock(0)

  package init(
    random: SeededRandom, trace: ParticipantClient.Trace? = nil,
    makeLoop: (@escaping @Sendable () -> (any NetworkLoopClient)?) -> any NetworkLoop
  ) {
    (self.random, self.trace) = (random, trace)
    let this = Lock(WeakLoop())
    loop = makeLoop { this.withLock { $0.loop } }
    this.withLock { $0.loop = self }
  }

  // MARK: From sessions, on any thread

  /// - Parameter isInside: whether the client is where the router is, with no network between.
  package func connect(_ request: JoinRequest, receiver: any LinkReceiver, isInside: Bool = false) -> RoomLink {
    let number = takeNumber()
    // The link holds the loop: a session goes on after its backend's object has gone.
    let link = RoomLink(number: number) { [self] in executeCommands(of: number) }
    loop.post { [self] in
      let names: Set = isInside ? [] : [request.participantID ?? request.name, request.name]
      let description = ClientDescription(number: number, names: names, isInside: isInside, hasMedia: true)
      let failure = start(description) { transport, now in
        try ParticipantClient(
          link: link, request: request, receiver: receiver, addresses: transport.addresses, random: random.fork(),
          now: now, trace: trace)
      }
      guard let failure else { return }
      receiver.linkDidChange(.ended(.refused(failure)))
      link.close()
    }
    return link
  }

  package func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> RoomEndpointLink {
    let link = RoomEndpointLink(number: takeNumber(), loop: self)
    loop.post { [self] in
      let failure = start(ClientDescription(number: link.number, names: [request.identity])) { _, _ in
        EndpointClient(request, receiver: receiver, random: random.fork())
      }
      if let failure { receiver.endpointDidChange(.ended(.refused(failure))) }
    }
    return link
  }

  /// A number that no client or connection of this loop has had.
  package func takeNumber() -> Int {
    lastNumber.withLock { number in
      number += 1
      return number
    }
  }

  private func executeCommands(of number: Int) { perform(number) { $0.executeCommands(at: $1) } }

  /// Sends an endpoint's message about rings.
  func send(_ message: ClientMessage, from number: Int) {
    perform(number) { client, now in (client as? EndpointClient)?.send(message, at: now) }
  }

  /// Ends an endpoint; the router finds its connection closed.
  func dismiss(_ number: Int) { perform(number) { $0.finish(.left, at: $1) } }

  /// From any thread: work on a client, unless it has gone.
  package func perform(_ number: Int, _ work: @escaping @Sendable (any RoomClient, Tick) -> Void) {
    loop.post { [self] in
      guard let client = entries[number]?.client else { return }
      let now = loop.now
      work(client, now)
      schedule.touch(number)
      endTurn(at: now)
    }
  }

  /// From any thread: work on a client's transport, unless the client has gone.
  package func performOnTransport(_ number: Int, _ work: @escaping @Sendable (any ClientTransport, Tick) -> Void) {
    loop.post { [self] in
      guard let transport = entries[number]?.transport else { return }
      let now = loop.now
      work(transport, now)
      schedule.touch(number)
      endTurn(at: now)
    }
  }

  // MARK: Coming and going

  /// - Returns: why it could not be done.
  private func start(
    _ description: ClientDescription,
    makeClient: (_ transport: any ClientTransport, _ now: Tick) throws -> any RoomClient
  ) -> Failure? {
    let (number, now) = (description.number, loop.now)
    defer { endTurn(at: now) }
    var made: (any ClientTransport)?
    do {
      guard let transport = try transports?.makeTransport(for: description, at: now) else {
        return Failure(.unreachable, "the backend has been closed")
      }
      made = transport
      let client = try makeClient(transport, now)
      transport.client = client
      entries[number] = Entry(client: client, transport: transport)
      for address in transport.addresses { numbers[address] = number }
      schedule.touch(number)
      client.signaling.firstConnectionBegun(to: transports?.places(of: number) ?? [], at: now)
      do { try transport.connect(to: client.signaling.place, at: now) } catch  where client.signaling.hasOtherPlaces {
        client.connectionLost(at: now, because: .notMade("\(error)"))
      }
      client.handleEvents(at: now)
      return nil
    } catch {
      if entries[number] == nil { made?.close(at: now) } else { remove(number, at: now) }
      return Failure(.unreachable, "no connection can be opened: \(error)")
    }
  }

  private func remove(_ number: Int, at now: Tick) {
    guard let entry = entries.removeValue(forKey: number) else { return }
    schedule.remove(number)
    for address in entry.transport.addresses { numbers[address] = nil }
    entry.transport.close(at: now)
    if entries.isEmpty { transports?.rest() }
  }

  /// Lets go of all clients, which hold the loop by their links, without a report to them.
  package func dissolve() { (entries, numbers, schedule) = ([:], [:], PollSchedule()) }

  // MARK: For transports, on the loop

  /// Something has happened to a client, or to its transport.
  package func touch(_ number: Int) { schedule.touch(number) }

  package func transport(_ number: Int) -> (any ClientTransport)? { entries[number]?.transport }

  package func number(at address: TransportAddress) -> Int? { numbers[address] }

  /// In the order of their numbers.
  package var all: [(number: Int, transport: any ClientTransport)] {
    entries.sorted { $0.key < $1.key }.map { ($0.key, $0.value.transport) }
  }

  /// A client's socket has another address.
  package func move(_ number: Int, from old: TransportAddress, to new: TransportAddress) {
    numbers[old] = nil
    numbers[new] = number
    schedule.touch(number)
  }

  // MARK: Datagrams and time

  package func handle(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick)
  {
    if transports?.receive(datagram, from: source, to: destination, at: now) == true { return }
    guard let number = numbers[destination], let entry = entries[number] else { return }
    schedule.touch(number)
    guard !entry.transport.takeSignaling(datagram.readable, from: source, at: now) else { return }
    entry.client.handle(datagram, from: source, to: destination, at: now)
  }

  package func handleTimeout(at now: Tick) {
    transports?.handleTimeout(at: now)
    for number in schedule.takeDue(at: now) {
      guard let entry = entries[number] else { continue }
      entry.client.handleTimeout(at: now)
      dropUnwantedConnection(of: entry)
      entry.transport.handleTimeout(at: now)
    }
    endTurn(at: now)
    DeadlineLaw.check("ClientLoop", deadline: deadline, at: now, because: deadlineReason)
  }

  private var deadline: Tick? { (transports?.deadline).sooner(schedule.soonest()?.deadline) }

  /// What `deadline` waits for.
  package var deadlineReason: String {
    guard let soonest = schedule.soonest(), deadline == soonest.deadline, let client = entries[soonest.number]?.client
    else { return transports?.deadlineReason ?? "none" }
    return client.deadline == soonest.deadline ? client.deadlineReason : "signalling stream or simulated link"
  }

  /// Sends everything that has become due, and finds out when to wake.
  package func endTurn(at now: Tick) {
    repeat {
      reconnectClients(at: now)
      transports?.poll(at: now)
    } while drain(at: now)
    loop.flush()
    loop.wake(at: deadline)
    if entries.isEmpty { loop.rest() }
  }

  /// A connection that the client counts as lost. An attempt that is under way is not open yet, and stays.
  private func dropUnwantedConnection(of entry: Entry) {
    if entry.transport.isConnected, !entry.client.signaling.hasConnection { entry.transport.disconnect() }
  }

  private func reconnectClients(at now: Tick) {
    for number in schedule.touchedNumbers {
      guard let entry = entries[number] else { continue }
      dropUnwantedConnection(of: entry)
      connect(entry, at: now)
    }
  }

  /// An address that cannot be used makes way for the next one at once. Ends: a round of all addresses is followed by a pause.
  private func connect(_ entry: Entry, at now: Tick) {
    while entry.client.signaling.takeConnectionRequest(at: now) {
      do { return try entry.transport.connect(to: entry.client.signaling.place, at: now) } catch {
        entry.client.connectionLost(at: now, because: .notMade("\(error)"))
      }
    }
  }

  /// - Returns: whether a client has gone, and the other end may have sent others a message about it.
  private func drain(at now: Tick) -> Bool {
    let touched = schedule.takeTouched()
    for number in touched {
      guard let entry = entries[number] else { continue }
      drain(entry, at: now)
      schedule.setDeadline(entry.client.deadline.sooner(entry.transport.deadline), of: number)
    }
    let gone = touched.filter { entries[$0]?.client.isOver == true }
    for number in gone { remove(number, at: now) }
    return !gone.isEmpty
  }

  private func drain(_ entry: Entry, at now: Tick) {
    while entry.transport.isConnected, let message = entry.client.signaling.pollMessage() {
      entry.transport.send(message, at: now)
    }
    while let transmit = entry.client.poll(into: datagram.writable, at: now) {
      entry.transport.send(
        UnsafeRawBufferPointer(rebasing: datagram.writable[..<transmit.count]), from: transmit.source,
        to: transmit.destination, at: now)
    }
    entry.transport.flush(at: now)
  }

  /// For tests: the number of entries in each table; all zero once every client has gone.
  package var holdings: [String: Int] {
    let (parts, touched) = schedule.counts
    return ["clients": entries.count, "client addresses": numbers.count, "deadlines": parts, "touched": touched]
  }
}
