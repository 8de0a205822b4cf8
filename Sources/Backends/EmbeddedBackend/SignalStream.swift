package import KoineBase
import KoineTransport

/// A reliable, ordered, sealed stream of messages over datagrams that may be lost, late or twice: how a participant of the
/// embedded backend and its router talk, over the same link as their media.
///
/// Sans-IO, one per end. Each datagram begins with a byte that RFC 7983 leaves free (192), a counter, and an AES-128-GCM
/// sealed segment; both ends got the key in memory when the link was made, so nothing readable crosses the wire.
/// Segments are numbered, acknowledged one by one and cumulatively, and sent again after an adaptive time
/// (RFC 6298, with a shorter floor); 15 s of silence break the stream.
package final class SignalStream {
  package enum End: UInt32, Sendable {
    case participant = 1
    case router = 2
  }

  package static let firstByte: UInt8 = 192
  /// The stream breaks after so much silence. Never less than two times `keepalive` of the other end.
  var silenceLimit = Duration.seconds(15)
  var keepalive = Duration.seconds(4)
  private static let segmentSize = 1_100
  private static let window = 32
  private static let headerSize = 9
  private static let segmentHeaderSize = 13

  private struct Segment {
    let number: UInt32
    let isLast: Bool
    let payload: [UInt8]
    var sentAt: Tick?
    var isRepeated = false
    var dueAt: Tick
  }

  private let aead: AEAD
  private let end: End
  private var counter: UInt64 = 0
  /// On their way and not acknowledged; at most a window of them.
  private var flying: [Segment] = []
  /// Waiting for their place among those.
  private var waiting: [Segment] = []
  private var waitingHead = 0
  private var nextNumber: UInt32 = 0
  private var incoming: [UInt32: (isLast: Bool, payload: [UInt8])] = [:]
  private var expected: UInt32 = 0
  private var partial: [UInt8] = []
  private var messages: [[UInt8]] = []
  private var owesAcknowledgement = false
  private var lastHeard: Tick
  private var lastSent: Tick
  private var smoothedRTT: Duration?
  private var rttVariation = Duration.zero
  private var backoff = 1
  package private(set) var isBroken = false
  private var now: Tick

  package init(key: [UInt8], end: End, now: Tick) throws {
    aead = try AEAD(key: key)
    self.end = end
    self.now = now
    lastHeard = now
    lastSent = now
  }

  package func send(_ message: [UInt8]) {
    var start = 0
    repeat {
      let stop = min(start + Self.segmentSize, message.count)
      waiting.append(
        Segment(
          number: nextNumber, isLast: stop == message.count, payload: Array(message[start..<stop]), dueAt: now))
      nextNumber &+= 1
      start = stop
    } while start < message.count
  }

  /// Whole messages, in order.
  package func pollMessage() -> [UInt8]? { messages.isEmpty ? nil : messages.removeFirst() }

  /// Everything sent has been acknowledged.
  package var isIdle: Bool { flying.isEmpty && waitingHead == waiting.count }

  // MARK: Datagrams in

  /// Receives a datagram. Datagrams of other streams, damaged datagrams and duplicates are dropped.
  package func handle(_ datagram: UnsafeRawBufferPointer, at now: Tick) {
    self.now = now
    guard let segment = open(datagram) else { return }
    lastHeard = now
    acknowledge(through: segment.acknowledged, mask: segment.mask)
    guard segment.carriesData else { return }
    owesAcknowledgement = true
    let distance = segment.number &- expected
    guard distance < UInt32(Self.window * 2) else { return }  // seen before, or beyond what may be under way
    incoming[segment.number] = (segment.isLast, segment.payload)
    while let next = incoming.removeValue(forKey: expected) {
      expected &+= 1
      partial += next.payload
      guard next.isLast else { continue }
      messages.append(partial)
      partial = []
    }
  }

  private func acknowledge(through next: UInt32, mask: UInt32) {
    func isAcknowledged(_ number: UInt32) -> Bool {
      let ahead = number &- next
      if ahead > UInt32.max / 2 { return true }
      return ahead >= 1 && ahead <= 32 && mask & (1 << (ahead - 1)) != 0
    }
    for segment in flying where isAcknowledged(segment.number) {
      if let sentAt = segment.sentAt, !segment.isRepeated { measure(now - sentAt) }
      backoff = 1
    }
    flying.removeAll { isAcknowledged($0.number) }
  }

  /// RFC 6298, section 2.
  private func measure(_ sample: Duration) {
    if let smoothed = smoothedRTT {
      let deviation = sample > smoothed ? sample - smoothed : smoothed - sample
      rttVariation = (rttVariation * 3 + deviation) / 4
      smoothedRTT = (smoothed * 7 + sample) / 8
    } else {
      smoothedRTT = sample
      rttVariation = sample / 2
    }
  }

  private var retransmissionTime: Duration {
    guard let smoothedRTT else { return .milliseconds(150) * backoff }
    return min(max(smoothedRTT + rttVariation * 4, .milliseconds(20)) * backoff, .seconds(2))
  }

  // MARK: Datagrams out

  package var deadline: Tick? {
    if isBroken { return nil }
    if owesAcknowledgement { return now }
    if hasRoom { return now }
    let due = flying.map(\.dueAt).min()
    return Optional(lastHeard + silenceLimit).sooner(lastSent + keepalive).sooner(due)
  }

  package func handleTimeout(at now: Tick) {
    self.now = now
    if now - lastHeard >= silenceLimit { isBroken = true }
  }

  /// Writes the next datagram and returns its length, until nothing is due.
  package func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Int? {
    self.now = now
    guard !isBroken else { return nil }
    while hasRoom { takeOff() }
    if let index = flying.firstIndex(where: { $0.dueAt <= now }) {
      flying[index].isRepeated = flying[index].sentAt != nil
      if flying[index].isRepeated { backoff = min(backoff * 2, 8) }
      flying[index].sentAt = now
      flying[index].dueAt = now + retransmissionTime
      return seal(flying[index], into: out)
    }
    guard owesAcknowledgement || now - lastSent >= keepalive else { return nil }
    return seal(nil, into: out)
  }

  private var hasRoom: Bool {
    guard waitingHead < waiting.count else { return false }
    guard let oldest = flying.first else { return true }
    return waiting[waitingHead].number &- oldest.number < UInt32(Self.window)
  }

  private func takeOff() {
    flying.append(waiting[waitingHead])
    waitingHead += 1
    guard waitingHead == waiting.count || waitingHead >= 256 else { return }
    waiting.removeFirst(waitingHead)
    waitingHead = 0
  }

  // MARK: The segment: flags, number, next number expected, mask of the 32 after it, payload

  private func seal(_ segment: Segment?, into out: UnsafeMutableRawBufferPointer) -> Int? {
    var plain: [UInt8] = []
    plain.reserveCapacity(Self.segmentHeaderSize + (segment?.payload.count ?? 0))
    plain.append((segment == nil ? 0 : 1) | (segment?.isLast == true ? 2 : 0))
    for number in [segment?.number ?? 0, expected, receivedMask] { plain.append(bigEndian: number) }
    if let segment { plain += segment.payload }
    counter += 1
    var header = [Self.firstByte]
    header.append(bigEndian: UInt32(truncatingIfNeeded: counter >> 32))
    header.append(bigEndian: UInt32(truncatingIfNeeded: counter))
    guard out.count >= Self.headerSize + plain.count + AEAD.tagLength else { return nil }
    out.copyBytes(from: header)
    let room = UnsafeMutableRawBufferPointer(rebasing: out[header.count...])
    let count = plain.withUnsafeBytes { plain in
      header.withUnsafeBytes { header in
        try? aead.seal(plain, nonce: nonce(from: end, counter), additionalData: header, into: room)
      }
    }
    guard let count else { return nil }
    owesAcknowledgement = false
    lastSent = now
    return header.count + count
  }

  private var receivedMask: UInt32 {
    incoming.keys.reduce(0) { mask, number in
      let ahead = number &- expected
      return ahead >= 1 && ahead <= 32 ? mask | (1 << (ahead - 1)) : mask
    }
  }

  private struct Opened {
    let carriesData, isLast: Bool
    let number, acknowledged, mask: UInt32
    let payload: [UInt8]
  }

  private func open(_ datagram: UnsafeRawBufferPointer) -> Opened? {
    guard datagram.count > Self.headerSize + AEAD.tagLength, datagram.first == Self.firstByte else { return nil }
    let header = Array(datagram.prefix(Self.headerSize))
    guard let high = header.bigEndian(at: 1), let low = header.bigEndian(at: 5) else { return nil }
    let other: End = end == .router ? .participant : .router
    let nonce = nonce(from: other, UInt64(high) << 32 | UInt64(low))
    var plain = Array(datagram.dropFirst(Self.headerSize))
    let count = plain.withUnsafeMutableBytes { message in
      header.withUnsafeBytes { try? aead.open(message, nonce: nonce, additionalData: $0) }
    }
    guard let count else { return nil }
    plain.removeSubrange(count...)
    guard let flags = plain.first, let number = plain.bigEndian(at: 1), let acknowledged = plain.bigEndian(at: 5),
      let mask = plain.bigEndian(at: 9)
    else { return nil }
    return Opened(
      carriesData: flags & 1 != 0, isLast: flags & 2 != 0, number: number, acknowledged: acknowledged, mask: mask,
      payload: Array(plain.dropFirst(Self.segmentHeaderSize)))
  }

  /// The two ends never use the same nonce.
  private func nonce(from end: End, _ counter: UInt64) -> AEAD.Nonce { AEAD.Nonce(high: counter, low: end.rawValue) }
}

extension [UInt8] {
  fileprivate mutating func append(bigEndian value: UInt32) {
    for shift in [24, 16, 8, 0] as [UInt32] { append(UInt8(truncatingIfNeeded: value >> shift)) }
  }

  fileprivate func bigEndian(at offset: Int) -> UInt32? {
    guard offset + 4 <= count else { return nil }
    return self[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
