import CKoineBenchmark
import KoineBase
import KoineRouter
import KoineSignaling
import KoineSockets
import KoineTransport

/// Few publishers, many receivers: what the router spends on a packet it passes on, beside the bare cost of encrypting
/// the same packet and sending it to the same sockets.
///
/// Time is virtual, so that pacing and reports are those of a real stream while the CPU runs at full speed. Datagrams from
/// the router cross real sockets; the receivers' own work is done between the measured stretches.
final class ForwardBenchmark {
  struct Settings {
    var publishers = 1
    var receivers = 40
    /// Of how many publishers each receiver gets the pictures.
    var tiles = 1
    /// Packets to a picture, 30 pictures a second.
    var packets = 8
    /// Publishers and receivers are divided among them in turn.
    var rooms = 1
    /// On how many threads the router's datagrams leave; nil: by the router's one-thread interface, on the caller's.
    var workers: Int?
    /// Whether the bare cost is measured in turns with the router's.
    var measuresFloor = true
    /// Of the datagram that leaves, header extensions and tag included.
    var packetSize = 1_112
    /// Virtual.
    var seconds = 20
    var warmUp = 8
  }

  private let settings: Settings
  private let router: Router
  private let routerAddress: TransportAddress
  private let routerSocket: UDPSocket
  /// The floor sends from a socket of its own.
  private let floorSocket: Int32
  private var clients: [ForwardClient] = []
  private var now = Tick(nanoseconds: 1_000_000_000)
  /// One for each hand.
  private var readers: [ForwardReader] = []
  private let out = Bytes(capacity: 1_600)
  private var media = Meter()
  private var control = Meter()
  private var floor = Meter()
  private var floorInRuns = Meter()
  /// Of taking a packet in and of writing it for a receiver.
  private var packetAllocations: Int64 = 0
  private var sentPackets = 0
  private var sentBytes = 0
  /// Stretches of packets to one receiver: what the socket sends in one call.
  private var runs = 0
  private var floorPackets = 0
  private var floorPacketsInRuns = 0
  private var floorRuns = 0
  private var owedRun = 0.0
  private var turnsCPU = 0.0
  private var isMeasuring = false
  private var pool: ForkJoinPool?
  private var ways: [BatchSender] = []
  private var bare: OpaquePointer?
  private var publisherDatagrams: [(from: TransportAddress, datagram: Bytes)] = []

  init(_ settings: Settings) throws {
    self.settings = settings
    routerSocket = try UDPSocket(bindingTo: .loopback())
    routerAddress = TransportAddress(udp: routerSocket.localAddress)
    var port: UInt16 = 0
    floorSocket = bare_socket(2 << 20, &port)
    guard floorSocket >= 0 else { throw BenchmarkError("no UDP socket on 127.0.0.1") }
    let certificate = try Certificate.shared()
    var configuration = RouterConfiguration(certificate: certificate, addresses: [routerAddress])
    configuration.limits.participants = settings.receivers + settings.publishers
    router = Router(configuration: configuration, random: SeededRandom(seed: 7), now: now)
    for index in 0..<settings.publishers + settings.receivers { try join(index, certificate) }
    if let workers = settings.workers {
      pool = ForkJoinPool(workers: workers)
      ways = (0..<workers).map { _ in BatchSender(routerSocket.makeSender()) }
    }
    readers = (0..<(settings.workers ?? 1)).map { _ in ForwardReader() }
    bare = bare_forwarder_open(
      Int32(settings.receivers), clients.dropFirst(settings.publishers).map(\.address.port), floorSocket)
    guard bare != nil else { throw BenchmarkError("no AES-128-GCM in libcrypto") }
  }

  deinit { if let bare { bare_forwarder_close(bare) } }

  func run() throws -> Report {
    try measure()
    return try report(meanSize: Double(sentBytes) / Double(max(sentPackets, 1)))
  }

  /// All of the router's CPU in seconds, its receivers' reports included, and what it has passed on for it.
  func routerCost() throws -> (seconds: Double, packets: Int) {
    try measure()
    return (media.seconds + control.seconds, sentPackets)
  }

  /// Connects all clients, publishes, and runs the warm-up until paths and send rates have settled.
  func prepare() throws {
    try connect()
    try publish()
    for _ in 0..<settings.warmUp * 1_000 { step() }
  }

  /// Runs the given number of virtual milliseconds.
  /// - Returns: the number of forwarded packets, the wall time that the router took, and the CPU time that the process took
  ///   during the router's turns, both in seconds. The receivers' own work counts for neither.
  func turns(milliseconds: Int) -> (packets: Int, elapsed: Double, cpu: Double) {
    isMeasuring = true
    defer { isMeasuring = false }
    let before = (sentPackets, media.elapsed, turnsCPU)
    for _ in 0..<milliseconds { step() }
    return (sentPackets - before.0, media.elapsed - before.1, turnsCPU - before.2)
  }

  private func measure() throws {
    try prepare()
    isMeasuring = true
    for _ in 0..<settings.seconds * 1_000 { step() }
    let expected = settings.seconds * 30 * settings.packets * settings.receivers * settings.tiles
    guard sentPackets > expected * 95 / 100 else {
      throw BenchmarkError("only \(sentPackets) packets of about \(expected) were forwarded")
    }
  }

  private func report(meanSize: Double) throws -> Report {
    func micro(_ meter: Meter, _ count: Int) -> Double { meter.seconds / Double(max(count, 1)) * 1e6 }
    let payload = [UInt8](repeating: 0x5A, count: 1_500)
    func part(run: Int, encrypts: Int32, sends: Int32) -> Double {
      var meter = Meter()
      var count = 0
      for _ in 0..<1_000 {
        meter.begin()
        _ = bare_forward(bare, payload, floorPayload, headerLength, Int32(run), encrypts, sends)
        meter.end()
        count += settings.receivers * run
        drainAll()
      }
      return micro(meter, count)
    }
    let forwarded = micro(media, sentPackets)
    let single = micro(floor, floorPackets)
    let inRuns = micro(floorInRuns, floorPacketsInRuns)
    return Report(
      benchmark: "forward 1 → \(settings.receivers)",
      rows: [
        Row("packets forwarded", Double(sentPackets), ""), Row("mean datagram", meanSize, "bytes"),
        Row("packets per system call", Double(sentPackets) / Double(max(runs, 1)), ""),
        Row("router, CPU per forwarded packet", forwarded, "µs"),
        Row("router, receivers' reports, per forwarded packet", micro(control, sentPackets), "µs"),
        Row("floor, a system call per packet (EVP GCM + sendmsg)", single, "µs"),
        Row("floor, as many system calls as the router", inRuns, "µs"),
        Row("  its packets per system call", Double(floorPacketsInRuns) / Double(max(floorRuns, 1)), ""),
        Row("  encrypt alone", part(run: 1, encrypts: 1, sends: 0), "µs"),
        Row("  send alone, a system call per packet", part(run: 1, encrypts: 0, sends: 1), "µs"),
        Row("router / floor, a system call per packet", forwarded / single, "×"),
        Row("router / floor, as many system calls", forwarded / inRuns, "×", aim: 2),
        Row("allocations per forwarded packet", Double(packetAllocations) / Double(max(sentPackets, 1)), "", aim: 0),
        Row(
          "allocations for reports and consent, per receiver and second",
          Double(media.allocations - packetAllocations + control.allocations)
            / Double(settings.receivers * settings.seconds), ""),
      ])
  }

  // MARK: Joining

  private func join(_ index: Int, _ certificate: Certificate) throws {
    var port: UInt16 = 0
    let socket = bare_socket(1 << 20, &port)
    guard socket >= 0 else { throw BenchmarkError("no UDP socket on 127.0.0.1") }
    var configuration = PeerConfiguration(role: .client, certificate: certificate)
    configuration.startBitrate = 4_000_000
    let peer = try Peer(configuration: configuration, random: SeededRandom(seed: UInt64(100 + index)), now: now)
    let address = TransportAddress.loopback(port: port)
    peer.addLocalAddress(address)
    clients.append(ForwardClient(peer: peer, connection: ClientID(index), address: address, socket: socket))
    router.open(ClientID(index), at: now)
    router.handle(
      .join(
        Join(
          room: "room \(index % settings.rooms)", participantID: String(index), name: "\(index)",
          description: peer.localDescription)),
      from: ClientID(index), at: now)
    takeMessages()
  }

  private func takeMessages() {
    while let item = router.pollMessage() {
      let (connection, message) = (item.client, item.message)
      let client = clients[connection.value]
      switch message {
      case .joined(let joined): client.peer.setRemote(joined.description, at: now)
      case .published(let participant, let tracks) where isWatching(connection.value, participant):
        router.handle(.subscribe(Subscribe(request: 1, tracks: tracks.map(\.id))), from: connection, at: now)
      case .subscribed(let subscribed):
        for track in subscribed.tracks {
          guard let parameters = track.media else { continue }
          _ = client.peer.addReceiver(parameters, mode: .packets)
        }
      default: break
      }
    }
  }

  /// Receivers divide the publishers among them, evenly.
  private func isWatching(_ client: Int, _ publisher: String) -> Bool {
    guard client >= settings.publishers, let publisher = Int(publisher) else { return false }
    let first = (client - settings.publishers) * settings.tiles
    return (publisher - first % settings.publishers + settings.publishers) % settings.publishers < settings.tiles
  }

  private func connect() throws {
    for _ in 0..<5_000 where !clients.allSatisfy(\.peer.isConnected) { step() }
    guard clients.allSatisfy(\.peer.isConnected) else { throw BenchmarkError("the peers did not connect") }
  }

  private func publish() throws {
    let parameters = StreamParameters(
      mid: "camera", codec: .vp8, payloadType: 96, rtxPayloadType: 97, encodings: [.init(ssrc: 1_111, rtxSSRC: 2_222)])
    let track = TrackOffer(id: "camera", kind: .camera, media: parameters)
    for index in 0..<settings.publishers {
      router.handle(.publish(Publish(request: 1, tracks: [track])), from: clients[index].connection, at: now)
      clients[index].camera = clients[index].peer.addSender(parameters)
    }
    for _ in 0..<100 { step() }
  }

  // MARK: One millisecond

  /// Bytes of header that the floor writes to each packet. It encrypts the rest of the packet, and adds a tag of 16 bytes.
  private var headerLength: Int { 24 }
  private var floorPayload: Int { settings.packetSize - headerLength - 16 }

  private func step() {
    now += .milliseconds(1)
    takeMessages()
    for index in 0..<settings.publishers { sendFrame(of: index) }
    runClients()
    measureMedia()
    if isMeasuring, settings.measuresFloor { measureFloor() }
  }

  /// Every 33 ms, each publisher in another of them; eight packets are 2.1 Mbit/s.
  private func sendFrame(of index: Int) {
    guard let camera = clients[index].camera, now.nanoseconds / 1_000_000 % 33 == Int64(index % 33) else { return }
    let frames = clients[index].frames
    let size = settings.packets * (settings.packetSize - 43)
    let data = Bytes(capacity: size)
    data.count = size
    data.writable.initializeMemory(as: UInt8.self, repeating: 0x5A)
    let isKey = frames % 300 == 0
    // RFC 6386, 9.1: the lowest bit of the first byte is 0 in a key frame, which then says its start code and size.
    let head: [UInt8] = isKey ? [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0x68, 0x01] : [0x11]
    for (index, byte) in head.enumerated() { data.writable[index] = byte }
    clients[index].frames += 1
    clients[index].peer.send(
      EncodedFrame(
        codec: .vp8, data: data, captured: now, rtpTimestamp: UInt32(truncatingIfNeeded: frames * 2_970), isKey: isKey),
      on: camera, at: now)
  }

  /// The clients' own time and what they have to say; not measured. All hands help, so that none has been asleep when the
  /// router's turn comes: in a server that has as much to do as it can, none is.
  private func runClients() {
    let (clients, readers, now, source) = (clients, readers, now, routerAddress)
    let read = { (index: Int, worker: Int) in readers[worker].run(clients[index], index, from: source, at: now) }
    if let pool { pool.concurrentPerform(clients.count, read) } else { clients.indices.forEach { read($0, 0) } }
    for reader in readers {
      for (index, datagram) in reader.said {
        if index < settings.publishers || pool != nil {
          publisherDatagrams.append((clients[index].address, datagram))
        } else {
          if isMeasuring { control.begin() }
          router.handle(datagram, from: clients[index].address, to: routerAddress, at: now)
          if isMeasuring { control.end() }
        }
      }
      reader.said.removeAll(keepingCapacity: true)
    }
  }

  /// All the CPU the router spends counts; heap blocks are told apart by what they are for.
  private func measureMedia() {
    let before = pool == nil || !isMeasuring ? 0 : CPU.process
    defer { if pool != nil, isMeasuring { turnsCPU += CPU.process - before } }
    if isMeasuring { media.begin() }
    for (address, datagram) in publisherDatagrams {
      guard pool == nil else {
        router.store(datagram, from: address, to: routerAddress, at: now)
        continue
      }
      let isMedia = datagram.count > 1_000
      let before = bare_allocations()
      router.handle(datagram, from: address, to: routerAddress, at: now)
      if isMedia { note(before) }
    }
    publisherDatagrams.removeAll(keepingCapacity: true)
    router.handleArrivals(by: pool, at: now)
    if let deadline = router.deadline, deadline <= now { router.handleTimeout(by: pool, at: now) }
    sendAll()
    if isMeasuring { media.end() }
  }

  private func sendAll() {
    guard let pool else { return sendAlone() }
    let ways = ways
    router.poll(by: pool, at: now) { departure, worker in ways[worker].send(departure) }
    for way in ways {
      if isMeasuring { sentPackets += way.packets }
      way.packets = 0
    }
  }

  private func sendAlone() {
    var last: TransportAddress?
    var before = bare_allocations()
    while let transmit = router.poll(into: out.writable, at: now) {
      routerSocket.send(
        UnsafeRawBufferPointer(start: out.base, count: transmit.count), to: transmit.destination.socketAddress)
      if transmit.count > 1_000 {
        note(before)
        if isMeasuring {
          sentPackets += 1
          sentBytes += transmit.count
          if transmit.destination != last { runs += 1 }
        }
        last = transmit.destination
      }
      before = bare_allocations()
    }
    routerSocket.flush()
    note(before)
  }

  private func note(_ before: Int64) {
    if isMeasuring { packetAllocations += bare_allocations() - before }
  }

  /// In turns with the router, so that both see the same machine.
  private func measureFloor() {
    guard now.nanoseconds / 1_000_000 % 33 == 20 else { return }
    runClients()
    let payload = [UInt8](repeating: 0x5A, count: 1_500)
    for _ in 0..<8 {
      floor.begin()
      floorPackets += bare_forward(bare, payload, floorPayload, headerLength, 1, 1, 1)
      floor.end()
      drainAll()
    }
    var left = 8
    while left > 0 {
      let run = nextRun()
      floorInRuns.begin()
      floorPacketsInRuns += bare_forward(bare, payload, floorPayload, headerLength, Int32(run), 1, 1)
      floorInRuns.end()
      floorRuns += settings.receivers
      left -= run
      drainAll()
    }
  }

  /// Whole numbers around the router's own packets per system call, so that in the mean the floor makes as many calls.
  private func nextRun() -> Int {
    let wanted = Double(sentPackets) / Double(max(runs, 1))
    owedRun += wanted
    let run = min(max(Int(owedRun.rounded()), 1), 16)
    owedRun -= Double(run)
    return run
  }

  private func drainAll() {
    for client in clients { while bare_receive(client.socket, out.base, out.capacity) > 0 {} }
  }
}
