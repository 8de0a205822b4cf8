public import KoineBase
import KoineTransport

/// Runs peer connections and carries their datagrams: over UDP sockets on the process's network thread, or in memory on a
/// virtual clock. For authors of backends and of room servers.
///
///     let loop = PeerLoop()
///     let connection = loop.connect { media, event, now in … }
///     connection.perform { media, now in offer(media.localDescription) }
///
/// Each peer connection has an address of its own. All work on connections of one loop runs one job at a time, in order.
public final class PeerLoop: Sendable {
  /// Receives events on the loop. May call the media's methods; must return at once.
  public typealias Handler = @Sendable (_ media: PeerMedia, _ event: PeerMedia.Event, _ now: Tick) -> Void

  /// The clock of the loop's time.
  public let scheduler: Scheduler
  private let runner: PeerRunner
  private let nextNumber = Lock(0)

  /// Over UDP sockets, in real time.
  /// - Parameter local: the address that each connection's socket is bound to; loopback by default. Port 0 lets the system choose.
  public init(local: SocketAddress = .loopback()) {
    scheduler = .real
    runner = PeerRunner(random: .system()) { SocketLoop(local: local, client: $0) }
  }

  /// In memory, in virtual time: connections of this loop reach each other at once and without loss. The same seed gives the
  /// same datagrams.
  /// - Parameter scheduler: a virtual clock (`Scheduler.virtual()`), which the app advances.
  public init(virtual scheduler: Scheduler, seed: UInt64) {
    self.scheduler = scheduler
    runner = PeerRunner(random: SeededRandom(seed: seed)) { VirtualLoop(scheduler: scheduler, client: $0) }
  }

  /// Opens a connection with an address of its own.
  /// - Parameter handler: receives the connection's events. Where no socket can be opened, the only event is `failed`.
  public func connect(
    _ configuration: PeerMedia.Configuration = .init(), handler: @escaping Handler
  ) -> PeerConnection {
    let number = nextNumber.withLock { number in
      number += 1
      return number
    }
    runner.open(number, configuration, handler)
    return PeerConnection(number: number, runner: runner)
  }

  /// Runs work on the loop, as events do. From any thread.
  public func post(_ work: @escaping @Sendable (_ now: Tick) -> Void) { runner.post(work) }
}

/// A peer connection that a `PeerLoop` runs. May be used from any thread.
public final class PeerConnection: Sendable {
  private let number: Int
  private let runner: PeerRunner

  fileprivate init(number: Int, runner: PeerRunner) { (self.number, self.runner) = (number, runner) }

  /// Runs work on the loop with the connection's media, unless the connection is closed. The media must not be kept.
  public func perform(_ work: @escaping @Sendable (_ media: PeerMedia, _ now: Tick) -> Void) {
    runner.perform(number, work)
  }

  /// Says goodbye to the other end and closes the socket. No event follows. A connection that is not closed stays open.
  public func close() { runner.close(number) }
}

/// The connections of a `PeerLoop`, on its network loop.
private final class PeerRunner: NetworkLoopClient, @unchecked Sendable {  // touched on the loop, but for `post`
  private final class Connection {
    let media: PeerMedia
    let address: TransportAddress
    let handler: PeerLoop.Handler
    var isClosing = false

    init(_ media: PeerMedia, address: TransportAddress, handler: @escaping PeerLoop.Handler) {
      (self.media, self.address, self.handler) = (media, address, handler)
    }
  }

  private struct WeakRunner { weak var runner: PeerRunner? }

  private let loop: any NetworkLoop
  private var random: SeededRandom
  private var connections: [Int: Connection] = [:]
  private var numbers: [TransportAddress: Int] = [:]
  private var schedule = PollSchedule()
  private let datagram = Bytes(capacity: 2_048)

  init(random: SeededRandom, makeLoop: (@escaping @Sendable () -> (any NetworkLoopClient)?) -> any NetworkLoop) {
    self.random = random
    let this = Lock(WeakRunner())
    loop = makeLoop { this.withLock { $0.runner } }
    this.withLock { $0.runner = self }
  }

  // MARK: From any thread

  func open(_ number: Int, _ configuration: PeerMedia.Configuration, _ handler: @escaping PeerLoop.Handler) {
    loop.post { [self] in start(number, configuration, handler) }
  }

  func post(_ work: @escaping @Sendable (Tick) -> Void) {
    loop.post { [self] in
      let now = loop.now
      work(now)
      endTurn(at: now)
    }
  }

  func perform(_ number: Int, _ work: @escaping @Sendable (PeerMedia, Tick) -> Void) {
    loop.post { [self] in
      guard let connection = connections[number], !connection.isClosing else { return }
      let now = loop.now
      work(connection.media, now)
      schedule.touch(number)
      endTurn(at: now)
    }
  }

  func close(_ number: Int) {
    loop.post { [self] in
      guard let connection = connections[number], !connection.isClosing else { return }
      connection.isClosing = true
      connection.media.close()
      schedule.touch(number)
      endTurn(at: loop.now)
    }
  }

  private func start(_ number: Int, _ configuration: PeerMedia.Configuration, _ handler: @escaping PeerLoop.Handler) {
    let now = loop.now
    do {
      let address = try loop.open()
      let media = try PeerMedia(configuration, addresses: [address], random: random.fork(), now: now)
      connections[number] = Connection(media, address: address, handler: handler)
      numbers[address] = number
      schedule.touch(number)
    } catch {
      if let media = try? PeerMedia(configuration, addresses: [], random: random.fork(), now: now) {
        handler(media, .failed("no socket: \(error)"), now)
      }
    }
    endTurn(at: now)
  }

  // MARK: From the network loop

  func handle(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick) {
    guard let number = numbers[destination], let connection = connections[number] else { return }
    connection.media.handle(datagram, from: source, to: destination, at: now)
    schedule.touch(number)
  }

  func handleTimeout(at now: Tick) {
    for number in schedule.takeDue(at: now) { connections[number]?.media.handleTimeout(at: now) }
    endTurn(at: now)
    DeadlineLaw.check("PeerLoop", deadline: deadline, at: now, because: deadlineReason)
  }

  func endTurn(at now: Tick) {
    while true {
      let numbers = schedule.takeTouched()
      guard !numbers.isEmpty else { break }
      for number in numbers { drain(number, at: now) }
    }
    loop.flush()
    loop.wake(at: deadline)
    if connections.isEmpty { loop.rest() }
  }

  /// Events first: what their handler asks for leaves in the same turn.
  private func drain(_ number: Int, at now: Tick) {
    guard let connection = connections[number] else { return }
    while !connection.isClosing, let event = connection.media.pollEvent() {
      connection.handler(connection.media, event, now)
    }
    while let transmit = connection.media.poll(into: datagram.writable, at: now) {
      loop.send(
        UnsafeRawBufferPointer(rebasing: datagram.writable[..<transmit.count]), from: transmit.source,
        to: transmit.destination)
    }
    guard connection.isClosing else { return schedule.setDeadline(connection.media.deadline, of: number) }
    schedule.remove(number)
    loop.flush()
    loop.close(connection.address)
    numbers[connection.address] = nil
    connections[number] = nil
  }

  private var deadline: Tick? { schedule.soonest()?.deadline }

  var deadlineReason: String {
    schedule.soonest().flatMap { connections[$0.number]?.media.deadlineReason } ?? "none"
  }
}
