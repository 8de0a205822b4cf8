import CKoineSockets
import Glibc
package import KoineBase

/// Hears of datagrams and of time, on the loop's thread.
package protocol UDPLoopClient: AnyObject, Sendable {
  /// The block belongs to the receiver, which may decrypt in it and keep it.
  func handle(_ datagram: Bytes, from source: SocketAddress, to destination: SocketAddress, at now: Tick)
  func handleTimeout(at now: Tick)
  /// All datagrams at hand have been handled.
  func endTurn(at now: Tick)
  /// What the deadline that it gave last waits for; asked for only when the loop spins.
  var deadlineReason: String { get }
  /// The loop has turned more than `UDPLoop.spinLimit` times in a second for deadlines alone. Called once in the loop's life.
  /// - Parameter description: how often, and for which deadline of this client.
  func loopSpins(_ description: String)
}

extension UDPLoopClient {
  package func loopSpins(_ description: String) {
    let line = Array("koine: \(description)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
  }
}

/// The one thread on which all sockets of a process are served: epoll, batches in, batches out, one deadline per client.
///
/// Its life: made with the first client, ended with the last; then no thread and no descriptor of it is left.
/// `@unchecked Sendable`: `inbox` is a lock; everything else is touched on the loop's thread only. There no access to a variable
/// lasts while another one to it begins, so the run-time check of that, which every turn would pay many times, is left out.
package final class UDPLoop: @unchecked Sendable {
  package typealias ClientID = Int

  private struct Inbox {
    var jobs: [@Sendable () -> Void] = []
    var isStopping = false
    /// Nothing more is taken, and the descriptors are or will be closed.
    var isEnded = false
  }

  private final class Client {
    let id: ClientID
    weak var client: (any UDPLoopClient)?
    @exclusivity(unchecked) var deadline: Tick?
    @exclusivity(unchecked) var alarm = HeapAlarm()
    /// Whether the client has been given datagrams in this turn.
    @exclusivity(unchecked) var isTouched = false

    init(_ id: ClientID, _ client: (any UDPLoopClient)?) { (self.id, self.client) = (id, client) }
  }

  let epoll: Int32
  let event: Int32
  private let inbox = Lock(Inbox())
  @exclusivity(unchecked) private var sockets: [Int32: (socket: UDPSocket, client: Client)] = [:]
  @exclusivity(unchecked) private var descriptors: [SocketAddress: Int32] = [:]
  @exclusivity(unchecked) private var clients: [ClientID: Client] = [:]
  /// Of clients. A turn looks at the soonest deadline, and not at all clients.
  @exclusivity(unchecked) private var timers = TimerHeap()
  @exclusivity(unchecked) private var pool = BytesPool(capacity: UDPSocket.datagramCapacity)
  @exclusivity(unchecked) private var unflushed: Set<Int32> = []
  @exclusivity(unchecked) private var touched: [Client] = []
  @exclusivity(unchecked) private var due: [Client] = []
  /// Jobs out of the inbox that wait for their turn, from `nextJob` on.
  @exclusivity(unchecked) private var jobs: [@Sendable () -> Void] = []
  @exclusivity(unchecked) private var nextJob = 0
  @exclusivity(unchecked) private var spinDetector = SpinDetector()
  /// How often the loop has woken since it began. On the loop's thread.
  @exclusivity(unchecked) private(set) var turns = 0

  /// Turns a second without a datagram or a job that are too many: with deadlines in whole milliseconds a loop that waits
  /// turns at most 1,000 times.
  package static let spinLimit = 2_000

  /// For so long jobs run at a stretch; then the sockets and the deadlines have their turn before the jobs go on.
  package static let jobTime = Duration.milliseconds(2)

  private init() {
    epoll = epoll_create1(0o2000000)
    event = eventfd(0, 0o2000000 | 0o4000)
    var interest = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(fd: event))
    epoll_ctl(epoll, EPOLL_CTL_ADD, event, &interest)
  }

  // MARK: The process's loop

  /// Keeps one loop running for as long as it has clients.
  final class Keeper: Sendable {
    fileprivate struct State {
      var loop: UDPLoop?
      var thread: pthread_t?
      var users = 0
      var nextClient = 1
    }

    fileprivate let state = Lock(State())
    static let process = Keeper()
  }

  /// Joins the process's loop, which starts if it does not run.
  package static func join(_ client: any UDPLoopClient) -> (UDPLoop, ClientID) { join(client, in: .process) }

  /// Leaves the loop, once for each `join`; with the last one it ends. May be called on the loop's own thread.
  package static func leave(_ id: ClientID) { leave(id, in: .process) }

  static func join(_ client: any UDPLoopClient, in keeper: Keeper) -> (UDPLoop, ClientID) {
    keeper.state.withLock { state in
      let loop: UDPLoop
      if let running = state.loop {
        loop = running
      } else {
        loop = UDPLoop()
        state.loop = loop
        state.thread = loop.startThread()
      }
      state.users += 1
      state.nextClient += 1
      let id = state.nextClient
      loop.post { [weak client] in loop.clients[id] = Client(id, client) }
      return (loop, id)
    }
  }

  static func leave(_ id: ClientID, in keeper: Keeper) {
    let ending = keeper.state.withLock { state -> (UDPLoop, pthread_t)? in
      guard let loop = state.loop, let thread = state.thread else { return nil }
      loop.post { loop.remove(id) }
      state.users -= 1
      guard state.users == 0 else { return nil }
      state.loop = nil
      state.thread = nil
      return (loop, thread)
    }
    guard let (loop, thread) = ending else { return }
    loop.stop()
    if pthread_equal(thread, pthread_self()) != 0 { pthread_detach(thread) } else { pthread_join(thread, nil) }
  }

  private func startThread() -> pthread_t {
    var thread = pthread_t()
    let this = Unmanaged.passRetained(self)  // released by the thread when it ends
    pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<UDPLoop>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, this.toOpaque())
    return thread
  }

  private func stop() {
    inbox.withLock { inbox in
      inbox.isStopping = true
      if !inbox.isEnded { wakeUp() }
    }
  }

  // MARK: From any thread

  /// Runs `job` on the loop's thread; nothing happens once the loop has ended.
  package func post(_ job: @escaping @Sendable () -> Void) {
    inbox.withLock { inbox in
      guard !inbox.isEnded else { return }
      inbox.jobs.append(job)
      if inbox.jobs.count == 1 { wakeUp() }
    }
  }

  /// With the inbox locked, so that the descriptor is still the loop's: its number may soon be another's.
  private func wakeUp() {
    var one: UInt64 = 1
    _ = write(event, &one, 8)
  }

  // MARK: On the loop's thread

  package func open(_ address: SocketAddress, for client: ClientID) throws(SocketError) -> SocketAddress {
    guard let client = clients[client] else { throw SocketError(call: "open for a client that has left", code: EBADF) }
    let socket = try UDPSocket(bindingTo: address)
    var interest = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(fd: socket.descriptor))
    guard epoll_ctl(epoll, EPOLL_CTL_ADD, socket.descriptor, &interest) == 0 else {
      throw SocketError(call: "epoll_ctl", code: errno)
    }
    sockets[socket.descriptor] = (socket, client)
    descriptors[socket.localAddress] = socket.descriptor
    return socket.localAddress
  }

  package func close(_ address: SocketAddress) {
    guard let descriptor = descriptors.removeValue(forKey: address) else { return }
    sockets[descriptor]?.socket.flush()
    sockets[descriptor] = nil  // closes, and so leaves the epoll set
    unflushed.remove(descriptor)
  }

  package func send(_ datagram: UnsafeRawBufferPointer, from source: SocketAddress, to destination: SocketAddress) {
    guard let descriptor = descriptors[source], let socket = sockets[descriptor]?.socket else { return }
    socket.send(datagram, to: destination)
    unflushed.insert(descriptor)
  }

  /// For another thread to send by, until the socket at that address is closed.
  package func makeSender(from source: SocketAddress) -> UDPSender? {
    descriptors[source].flatMap { sockets[$0]?.socket.makeSender() }
  }

  /// As `UDPSocket.expect`.
  package func expect(from sources: some Sequence<SocketAddress>, at address: SocketAddress) {
    descriptors[address].flatMap { sockets[$0] }?.socket.expect(from: sources)
  }

  package func flush() {
    for descriptor in unflushed { sockets[descriptor]?.socket.flush() }
    unflushed.removeAll(keepingCapacity: true)
  }

  /// Of the sockets, on the loop's thread.
  var openDescriptors: [Int32] { Array(sockets.keys) }

  package func wake(_ client: ClientID, at deadline: Tick?) {
    guard let client = clients[client] else { return }
    client.deadline = deadline
    client.alarm.arm(deadline, client.id, in: &timers)
  }

  private func remove(_ client: ClientID) {
    clients[client] = nil
    for (_, entry) in sockets where entry.client.id == client { close(entry.socket.localAddress) }
  }

  private func run() {
    // What waits for the network waits for this thread, and what it does is short: where the system lets us, it goes first. A
    // delay of its own would look like a path that is full.
    setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, -10)  // of this thread, see setpriority(2)
    var events = [epoll_event](repeating: epoll_event(), count: 64)
    while true {
      let count = epoll_wait(epoll, &events, Int32(events.count), timeout())
      turns += 1
      for index in 0..<max(0, Int(count)) { read(events[index].data.fd) }
      let now = Scheduler.real.now
      for index in touched.indices {
        touched[index].isTouched = false
        touched[index].client?.endTurn(at: now)
      }
      touched.removeAll(keepingCapacity: true)
      let (isEnded, hasRunJobs) = runJobs()
      if isEnded { break }
      fireDeadlines()
      if count == 0, !hasRunJobs, let rate = spinDetector.turnedForDeadline(at: now) { reportSpin(rate) }
    }
    sockets.removeAll()
    Glibc.close(event)
    Glibc.close(epoll)
  }

  /// In whole milliseconds, as epoll counts; rounded up, so that no turn comes too early and spins.
  private func timeout() -> Int32 {
    guard jobs.isEmpty else { return 0 }
    guard let soonest = soonestDeadline() else { return -1 }
    let wait = soonest.nanoseconds - Scheduler.real.now.nanoseconds
    return wait <= 0 ? 0 : Int32(clamping: (wait + 999_999) / 1_000_000)
  }

  /// Brings an entry of a client that wants to wake later than it wanted before to its new place.
  private func soonestDeadline() -> Tick? {
    while let entry = timers.first {
      let client = clients[entry.owner]
      if let deadline = client?.deadline, deadline <= entry.at { return deadline }
      _ = timers.popFirst()
      if let client, client.alarm.fired(entry) { client.alarm.arm(client.deadline, client.id, in: &timers) }
    }
    return nil
  }

  private func read(_ descriptor: Int32) {
    if descriptor == event {
      var count: UInt64 = 0
      _ = Glibc.read(event, &count, 8)
      return
    }
    guard let (socket, entry) = sockets[descriptor], let client = entry.client else { return }
    let now = Scheduler.real.now
    var rounds = 0
    while socket.receive(pool: &pool, { client.handle($0, from: $1, to: socket.localAddress, at: now) }), rounds < 8 {
      rounds += 1
    }
    guard !entry.isTouched else { return }
    entry.isTouched = true
    touched.append(entry)
  }

  /// Runs jobs, for `jobTime` at most unless the loop is stopping. Each turn runs one at least, so the loop does not spin.
  private func runJobs() -> (isEnded: Bool, hasRun: Bool) {
    let begun = Scheduler.real.now
    var hasRun = false
    while true {
      let isStopping = takeJobs()
      // No turn in between: the wake-up that announced the end may be the one that has just been read.
      guard nextJob < jobs.count else { return (isStopping, hasRun) }
      while nextJob < jobs.count {
        let job = jobs[nextJob]
        nextJob += 1
        job()
        hasRun = true
        if nextJob == jobs.count { (jobs, nextJob) = ([], 0) }  // lets go of what the jobs hold
        if !isStopping, Scheduler.real.now - begun >= Self.jobTime { return (false, true) }
      }
      guard isStopping else { return (false, hasRun) }
    }
  }

  /// Takes the jobs in the inbox, as the wake-up for them has been read.
  /// - Returns: whether the loop must end.
  private func takeJobs() -> Bool {
    if nextJob > 1_024, nextJob > jobs.count / 2 {
      jobs.removeFirst(nextJob)
      nextJob = 0
    }
    return inbox.withLock { inbox in
      jobs += inbox.jobs
      inbox.jobs = []
      inbox.isEnded = inbox.isStopping && jobs.isEmpty
      return inbox.isStopping
    }
  }

  private func reportSpin(_ turns: Int) {
    let soonest = clients.values.filter { $0.deadline != nil }.min { $0.deadline ?? .zero < $1.deadline ?? .zero }
    guard let client = soonest?.client else { return }
    client.loopSpins(
      "the network loop turned \(turns) times within a second without a datagram; it was woken for: "
        + client.deadlineReason)
  }

  private func fireDeadlines() {
    let now = Scheduler.real.now
    while let entry = timers.popDue(at: now) {
      guard let client = clients[entry.owner], client.alarm.fired(entry), let deadline = client.deadline else {
        continue
      }
      guard deadline <= now else {
        client.alarm.arm(deadline, client.id, in: &timers)
        continue
      }
      client.deadline = nil  // other alarms of it that are past have nothing left to wake
      due.append(client)
    }
    // Only now: a client that asks to be woken at once gets another turn.
    for index in due.indices { due[index].client?.handleTimeout(at: now) }
    due.removeAll(keepingCapacity: true)
  }
}
