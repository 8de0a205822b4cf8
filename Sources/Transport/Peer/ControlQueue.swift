import KoineBase
import KoineRTP

/// The RTCP of a peer: packets that wait for the next datagram, when the next report is due, and the round trip time that reports
/// measure.
final class ControlQueue {
  private static let reportInterval = Duration.seconds(1)
  /// Until the first round trip has been measured.
  private static let firstReportInterval = Duration.milliseconds(200)
  private static let blockLimit = 31

  let localSSRC: UInt32
  /// RFC 7022: the same for all sources of this end, and random.
  private let canonicalName: String
  @exclusivity(unchecked) private var packets: [RTCP] = []
  /// nil until there are keys, and while there is no stream to report on.
  @exclusivity(unchecked) private(set) var reportDue: Tick?
  @exclusivity(unchecked) private var hasKeys = false
  @exclusivity(unchecked) private(set) var roundTrip: Duration?
  @exclusivity(unchecked) private(set) var dropped = 0

  init(random: inout SeededRandom) {
    localSSRC = UInt32.random(in: 1 ... .max, using: &random)
    canonicalName = String(random.next(), radix: 36)
  }

  func append(_ packet: RTCP) { packets.append(packet) }

  /// There are keys: reports begin.
  func start(at now: Tick) {
    hasKeys = true
    reportDue = now + .milliseconds(50)
  }

  /// A packet of a stream has been sent or received: if reports have paused, they go on.
  func streamIsActive(at now: Tick) {
    if reportDue == nil, hasKeys { reportDue = now + .milliseconds(50) }
  }

  /// Lets the next report go out earlier.
  func hastenReport(at now: Tick) {
    if hasKeys { reportDue = reportDue.sooner(now + .milliseconds(20)) }
  }

  func measured(roundTrip sample: Duration) { roundTrip = roundTrip.map { ($0 * 7 + sample) / 8 } ?? sample }

  /// RFC 3550, 6.1: the reports of this second, each in its place in a compound packet. Without a stream there is nothing to report,
  /// and reports pause until there is one: a participant without camera and microphone costs no packets.
  /// - Parameters:
  ///   - senders: of the streams that are sent.
  ///   - blocks: on the streams that are received.
  func addReports(_ senders: [SenderReport], _ blocks: [ReportBlock], at now: Tick) {
    guard !senders.isEmpty || !blocks.isEmpty else { return reportDue = nil }
    var rest = blocks[...]
    var speaker: UInt32?
    for var report in senders {
      report.blocks = Array(rest.prefix(Self.blockLimit))
      rest = rest.dropFirst(report.blocks.count)
      speaker = speaker ?? report.sender
      packets.append(.senderReport(report))
    }
    while !rest.isEmpty || speaker == nil {
      packets.append(.receiverReport(sender: localSSRC, Array(rest.prefix(Self.blockLimit))))
      rest = rest.dropFirst(Self.blockLimit)
      speaker = speaker ?? localSSRC
    }
    packets.append(.sourceDescription([SourceDescription(source: speaker ?? localSSRC, canonicalName: canonicalName)]))
    reportDue = now + (roundTrip == nil ? Self.firstReportInterval : Self.reportInterval)
  }

  /// Nothing is sent any more but the end of these sources.
  func sendGoodbye(_ sources: [UInt32]) {
    packets = sources.isEmpty ? [] : [.goodbye(Array(sources.prefix(Self.blockLimit)))]
  }

  /// Writes as many packets as a datagram takes, encrypted.
  func poll(into out: UnsafeMutableRawBufferPointer, _ srtp: SRTPSession, _ trace: PlaintextTrace) -> Int? {
    guard !packets.isEmpty else { return nil }
    var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: out[..<min(out.count, 1_150)]))
    var taken = 0
    for index in packets.indices {
      let before = writer
      packets[index].write(to: &writer)
      if writer.overflowed {
        writer = before
        if taken == 0 { (taken, dropped) = (1, dropped + 1) }  // larger than a datagram: it cannot be sent at all
        break
      }
      taken += 1
    }
    if taken == packets.count { packets.removeAll(keepingCapacity: true) } else { packets.removeFirst(taken) }
    guard writer.count > 0 else { return nil }
    trace(UnsafeRawBufferPointer(rebasing: out[..<writer.count]))
    return try? srtp.protectRTCP(out, count: writer.count)
  }
}

/// Shows every packet before its encryption and after its decryption, where `PeerConfiguration.tracesPlaintext` is set.
struct PlaintextTrace {
  private let body: (@Sendable (UnsafeRawBufferPointer) -> Void)?

  init(_ body: (@Sendable (UnsafeRawBufferPointer) -> Void)?) { self.body = body }

  func callAsFunction(_ packet: UnsafeRawBufferPointer) { body?(packet) }

  func callAsFunction(_ header: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) {
    guard let body else { return }
    let whole = Bytes(capacity: header.count + payload.count)
    whole.append(header)
    whole.append(payload)
    body(whole.readable)
  }
}

/// Events that wait to be polled; keeps its memory.
final class EventQueue {
  /// Those from `head` to `end` wait; the others are nil.
  @exclusivity(unchecked) private var items: [PeerEvent?] = []
  @exclusivity(unchecked) private var head = 0
  @exclusivity(unchecked) private var end = 0

  var isEmpty: Bool { head == end }

  func append(_ event: PeerEvent) {
    if end < items.count { items[end] = event } else { items.append(event) }
    end += 1
  }

  func popFirst() -> PeerEvent? {
    guard head < end else { return nil }
    let event = items[head].take()
    head += 1
    if head == end { (head, end) = (0, 0) }
    return event
  }
}
