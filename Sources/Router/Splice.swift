import KoineBase
import KoineRTP

/// The numbers of a received packet that forwarding rewrites.
struct SourceNumbers: Hashable {
  /// Extended over wraps.
  var sequence: Int64
  var timestamp: UInt32
  /// VP8 and VP9 with picture ids.
  var pictureID: UInt16?
  /// VP8.
  var tl0PictureIndex: UInt8?
}

/// The numbers under which one receiver gets a track: continuous, whatever layer they come from and however often the
/// flow was interrupted.
///
/// While the source stays the same, forwarding adds constants. A *cut* begins a new stretch right behind what was sent:
/// with the next sequence number, picture id and TL0PICIDX (RFC 7741 section 4.2), and a timestamp that is as far ahead as
/// time has passed.
struct Splice {
  private let clockRate: UInt32
  private var isOpen = false
  /// Of the current stretch; packets of the source before it are not sent.
  private var first: Int64 = 0
  private var sequenceShift: Int64
  private var timestampShift: UInt32
  private var pictureShift: UInt16
  private var tl0Shift: UInt8 = 0
  /// The highest numbers sent.
  private var sequence: Int64
  private var timestamp: UInt32
  private var pictureID: UInt16
  private var tl0PictureIndex: UInt8 = 0
  private var sentAt: Tick?

  init(clockRate: UInt32, random: inout SeededRandom) {
    self.clockRate = clockRate
    // RFC 3550 section 5.1 wants a random start; the lower half keeps the first packets away from SRTP's first wrap.
    sequence = Int64.random(in: 1...0x7FFF, using: &random)
    timestamp = UInt32.random(in: 0 ... .max, using: &random)
    pictureID = UInt16.random(in: 0...0x7FFF, using: &random)
    sequenceShift = 0
    timestampShift = 0
    pictureShift = 0
  }

  /// Begins a new stretch with this packet.
  mutating func cut(at source: SourceNumbers, now: Tick) {
    first = source.sequence
    sequenceShift = sequence &+ 1 &- source.sequence
    timestampShift = timestamp &+ elapsed(until: now) &- source.timestamp
    if let id = source.pictureID { pictureShift = pictureID &+ 1 &- id }
    if let index = source.tl0PictureIndex { tl0Shift = tl0PictureIndex &+ 1 &- index }
    isOpen = true
  }

  /// - Returns: nil where the packet comes before the current stretch.
  mutating func rewritten(_ source: SourceNumbers, now: Tick) -> SourceNumbers? {
    guard isOpen, source.sequence >= first else { return nil }
    let result = SourceNumbers(
      sequence: source.sequence &+ sequenceShift, timestamp: source.timestamp &+ timestampShift,
      pictureID: source.pictureID.map { ($0 &+ pictureShift) & 0x7FFF },
      tl0PictureIndex: source.tl0PictureIndex.map { $0 &+ tl0Shift })
    guard result.sequence > sequence else { return result }
    sequence = result.sequence
    timestamp = result.timestamp
    sentAt = now
    if let id = result.pictureID { pictureID = id }
    if let index = result.tl0PictureIndex { tl0PictureIndex = index }
    return result
  }

  /// A timestamp of the current stretch's source as the receiver knows it.
  func shifted(_ timestamp: UInt32) -> UInt32 { timestamp &+ timestampShift }

  /// In units of the RTP clock, at least one, so that two frames never share a timestamp.
  private func elapsed(until now: Tick) -> UInt32 {
    guard let sentAt else { return 1 }
    let nanoseconds = max((now - sentAt).nanoseconds, 0)
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let ticks = seconds &* Int64(clockRate) &+ rest &* Int64(clockRate) / 1_000_000_000
    return max(UInt32(truncatingIfNeeded: ticks), 1)
  }
}
