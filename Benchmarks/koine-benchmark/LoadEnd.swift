import CKoineBenchmark
import Glibc
import KoineBase
import KoineRTP
import KoineTransport

/// When each packet of a published stream left, and when it came to the receivers: by the publisher's numbers. One for each room.
final class Ledger {
  let receivers: Int
  private var first: Int64?
  /// In ns since 1970, by how many packets came before.
  private var sent: [Int64] = []
  private var latest: [Int64] = []
  private var copies: [UInt16] = []
  /// Of the last packet of each frame.
  private var ends: [Int64] = []
  private var highest: Int64 = 0
  private(set) var arrived = 0

  init(receivers: Int) { self.receivers = receivers }

  var count: Int { sent.count }

  func left(_ sequence: UInt16, isLast: Bool, at time: Int64) {
    let number: Int64
    if first == nil {
      number = Int64(sequence)
      first = number
    } else {
      number = highest + Int64(Int16(bitPattern: sequence &- UInt16(truncatingIfNeeded: highest)))
    }
    highest = max(highest, number)
    guard let first, number - first == Int64(sent.count) else { return }  // goes a second time
    sent.append(time)
    latest.append(0)
    copies.append(0)
    if isLast { ends.append(number) }
  }

  /// The number of the last packet of a frame.
  func end(of frame: Int) -> Int64? { ends.indices.contains(frame) ? ends[frame] : nil }

  func came(_ number: Int64, at time: Int64) {
    guard let first else { return }
    let index = Int(number - first)
    guard sent.indices.contains(index) else { return }
    latest[index] = max(latest[index], time)
    copies[index] += 1
    arrived += 1
  }

  /// In microseconds, of the packets since `from` that came to all: until the last receiver had them.
  func delays(from: Int, to: Int) -> [Double] {
    (from..<min(to, sent.count)).compactMap { index in
      copies[index] >= receivers ? Double(latest[index] - sent[index]) / 1_000 : nil
    }
  }
}

/// A publisher or a receiver in real time: a peer on a socket of its own.
final class LoadEnd {
  let peer: Peer
  let ledger: Ledger
  let address: TransportAddress
  private let socket: Int32
  private var camera: SenderID?
  private var source: UInt32 = 0
  private var frames = 0
  /// The latest time that the peer has been given. Time never goes backwards.
  private var latest: Tick
  /// The difference between the publisher's sequence numbers and those of the received stream.
  private var shift: Int64?
  private(set) var packets = 0
  /// Between two packets since `resetGap`, as the kernel received them, in nanoseconds.
  private(set) var longestGap: Int64 = 0
  private var lastPacket: Int64?

  /// - Parameter ledger: of the end's room.
  init(at host: String, number: Int, _ ledger: Ledger, extensions: HeaderExtensionMap? = nil, now: Tick) throws {
    self.ledger = ledger
    var port: UInt16 = 0
    socket = bare_stamped_socket(host, 4 << 20, &port)
    guard socket >= 0, let address = SocketAddress(host, port: port) else {
      throw BenchmarkError("no UDP socket on \(host)")
    }
    (self.address, latest) = (TransportAddress(udp: address), now)
    var configuration = PeerConfiguration(role: .client, certificate: try Certificate.shared())
    if let extensions { configuration.extensions = extensions }
    // The bitrate never falls below 20 Mbit/s, so that the published stream does not depend on the server's reports.
    (configuration.startBitrate, configuration.minimumBitrate) = (20_000_000, 20_000_000)
    configuration.maximumBitrate = 40_000_000
    peer = try Peer(configuration: configuration, random: SeededRandom(seed: UInt64(1_000 + number)), now: now)
    peer.addLocalAddress(self.address)
  }

  deinit { close(socket) }

  func resetGap() { (longestGap, lastPacket) = (0, nil) }

  func publish(_ parameters: StreamParameters) {
    camera = peer.addSender(parameters)
    source = parameters.encodings[0].ssrc
  }

  func receive(_ parameters: StreamParameters) { _ = peer.addReceiver(parameters, mode: .packets) }

  /// Sends a frame of `packets` packets. The last eight bytes of the frame are its number.
  func send(packets: Int, of size: Int, at now: Tick) {
    guard let camera, peer.isConnected else { return }
    let count = packets * (size - 43)  // header, its extensions, descriptor, tag
    let data = Bytes(capacity: count)
    data.count = count
    data.writable.initializeMemory(as: UInt8.self, repeating: 0x5A)
    let isKey = frames % 500 == 0
    // RFC 6386, 9.1: the lowest bit of the first byte is 0 in a key frame, which then says its start code and size.
    let head: [UInt8] = isKey ? [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0x68, 0x01] : [0x11]
    data.writable.copyBytes(from: head)
    data.writable.storeBytes(of: UInt64(frames), toByteOffset: count - 8, as: UInt64.self)
    peer.send(
      EncodedFrame(
        codec: .vp8, data: data, captured: now, rtpTimestamp: UInt32(truncatingIfNeeded: frames * 1_800), isKey: isKey),
      on: camera, at: now)
    frames += 1
  }

  /// Receives the datagrams that have arrived, and sends the datagrams that are due.
  func turn(_ tools: LoadTools, at now: Tick) {
    let wall = bare_now()
    var isTouched = false
    while true {
      let count = tools.receive(socket)
      guard count > 0 else { break }
      isTouched = true
      for index in 0..<count {
        let arrival = tools.arrivals[index]
        let source = TransportAddress(udp: SocketAddress(ipv4: arrival.address, port: arrival.port))
        // When the kernel had it: that these turns are late is no property of the path.
        latest = min(max(latest, now - .nanoseconds(wall - arrival.stamp)), now)
        peer.handle(tools.take(index), from: source, to: address, at: latest)
        while let event = peer.pollEvent() {
          if case .packet(_, let packet) = event { note(packet, arrival.stamp) }
        }
      }
      if count < Int(bare_batch) { break }
    }
    if peer.deadline.map({ $0 <= now }) ?? false {
      isTouched = true
      latest = now
      peer.handleTimeout(at: now)
    }
    guard isTouched || camera != nil || peer.path == nil else { return }
    latest = now
    while let transmit = peer.poll(into: tools.out.writable, at: now) { send(transmit, tools) }
    while peer.pollEvent() != nil {}
  }

  private func send(_ transmit: Transmit, _ tools: LoadTools) {
    let bytes = UnsafeRawBufferPointer(rebasing: tools.out.readableTo(transmit.count))
    let to = transmit.destination.socketAddress
    let time = bare_send_stamped(
      socket, UInt32(truncatingIfNeeded: to.low), to.port, bytes.baseAddress, bytes.count)
    guard camera != nil, bytes.count > 12, bytes[0] >> 6 == 2, bytes[1] & 0x7F < 64 || bytes[1] & 0x7F >= 96 else {
      return
    }
    let source = bytes[8..<12].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    guard source == self.source else { return }
    ledger.left(UInt16(bytes[2]) << 8 | UInt16(bytes[3]), isLast: bytes[1] & 0x80 != 0, at: time)
  }

  private func note(_ packet: SharedPacket, _ stamp: Int64) {
    packets += 1
    if let lastPacket { longestGap = max(longestGap, stamp - lastPacket) }
    lastPacket = stamp
    let range = packet.payloadRange
    if packet.packet.marker, range.count > 16 {
      let frame = packet.datagram.readable.loadUnaligned(fromByteOffset: range.upperBound - 8, as: UInt64.self)
      if let end = Int(exactly: frame).flatMap({ ledger.end(of: $0) }) { shift = end - packet.sequence }
    }
    if let shift { ledger.came(packet.sequence + shift, at: stamp) }
  }
}

/// Buffers that all ends of a load generator use in turn.
final class LoadTools {
  let out = Bytes(capacity: 1_600)
  private(set) var arrivals = [bare_arrival](repeating: bare_arrival(), count: Int(bare_batch))
  private var ring = DatagramRing(count: 4_096)
  private var blocks: [Bytes] = []
  private var pointers: [UnsafeMutableRawPointer?] = []

  func receive(_ socket: Int32) -> Int {
    // Blocks that an earlier batch did not fill are used again.
    while blocks.count < Int(bare_batch) { blocks.append(ring.take()) }
    pointers.removeAll(keepingCapacity: true)
    for block in blocks { pointers.append(block.base) }
    return Int(
      pointers.withUnsafeBufferPointer {
        bare_receive_stamped(socket, $0.baseAddress, 1_600, &arrivals)
      })
  }

  func take(_ index: Int) -> Bytes {
    let block = blocks[index]
    block.count = Int(arrivals[index].length)
    blocks[index] = ring.take()
    return block
  }
}

extension Bytes {
  fileprivate func readableTo(_ count: Int) -> Slice<UnsafeRawBufferPointer> {
    UnsafeRawBufferPointer(start: base, count: count)[..<count]
  }
}
