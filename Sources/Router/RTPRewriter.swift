import KoineBase
import KoineRTP
import KoineTransport

/// The numbers of a received packet that forwarding rewrites.
struct SourceNumbers: Hashable {
  /// Extended over wraps.
  var sequence: Int64
  var timestamp: UInt32
  /// Nil where the payload descriptor has none.
  var pictureID: UInt16?
  /// Nil where the payload descriptor has none.
  var tl0PictureIndex: UInt8?
}

extension SourceNumbers {
  init(_ packet: SharedPacket, _ info: VideoPacketInfo) {
    self.init(
      sequence: packet.sequence, timestamp: packet.packet.timestamp, pictureID: info.pictureID,
      tl0PictureIndex: info.tl0PictureIndex)
  }
}

/// The sequence numbers, timestamps and picture ids under which one receiver gets a track. They are continuous across layer
/// switches and interruptions of the track.
///
/// While the source stays the same, forwarding adds constants. A new *segment* begins right behind the last packet sent:
/// with the next sequence number, picture id and TL0PICIDX (RFC 7741 section 4.2), and a timestamp that is as far ahead as
/// time has passed. A *dropped* packet leaves no gap in the numbers, so that a receiver takes only lost packets for missing.
struct RTPRewriter {
  /// How far numbers are moved, from a sequence number of the source on.
  private struct Shift {
    var from: Int64
    var sequence: Int64
    var picture: UInt16
  }

  private static let memory = 64
  private let clockRate: UInt32
  private var isOpen = false
  /// First sequence number of the current segment; earlier packets of the source are not sent.
  private var first: Int64 = 0
  /// Newest sequence number of the source within the segment.
  private var newest: Int64 = 0
  private var shift: Shift
  /// The shifts before, for packets that come late: a ring, made with the first dropped packet.
  private var earlier: [Shift] = []
  private var nextEarlier = 0
  private var droppedPicture: UInt16?
  private var timestampShift: UInt32
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
    shift = Shift(from: 0, sequence: 0, picture: 0)
    timestampShift = 0
  }

  /// Begins a new segment with this packet.
  /// - Parameter aligned: its timestamp as the source of the last segment would have given it, where that is known.
  mutating func startSegment(at source: SourceNumbers, aligned: UInt32? = nil, now: Tick) {
    first = source.sequence
    newest = source.sequence - 1
    let picture = source.pictureID.map { pictureID &+ 1 &- $0 } ?? shift.picture
    shift = Shift(from: source.sequence, sequence: sequence &+ 1 &- source.sequence, picture: picture)
    earlier.removeAll(keepingCapacity: true)
    nextEarlier = 0
    droppedPicture = nil
    timestampShift = timestamp &+ advance(to: aligned, now) &- source.timestamp
    if let index = source.tl0PictureIndex { tl0Shift = tl0PictureIndex &+ 1 &- index }
    isOpen = true
  }

  /// - Returns: nil where the packet comes before the current segment.
  mutating func rewritten(_ source: SourceNumbers, now: Tick) -> SourceNumbers? {
    guard isOpen, source.sequence >= first else { return nil }
    newest = max(newest, source.sequence)
    let shift = shift(of: source.sequence)
    let result = SourceNumbers(
      sequence: source.sequence &+ shift.sequence, timestamp: source.timestamp &+ timestampShift,
      pictureID: source.pictureID.map { ($0 &+ shift.picture) & 0x7FFF },
      tl0PictureIndex: source.tl0PictureIndex.map { $0 &+ tl0Shift })
    guard result.sequence > sequence else { return result }
    sequence = result.sequence
    timestamp = result.timestamp
    sentAt = now
    if let id = result.pictureID { pictureID = id }
    if let index = result.tl0PictureIndex { tl0PictureIndex = index }
    return result
  }

  /// Leaves a packet out and closes the gap in the numbers.
  /// - Returns: false if its number has been kept for it, because later ones went out before: something must be sent.
  mutating func drop(_ source: SourceNumbers) -> Bool {
    guard isOpen, source.sequence >= first else { return true }
    guard source.sequence > newest else { return false }
    newest = source.sequence
    remember(shift)
    let isNewPicture = source.pictureID == nil || source.pictureID != droppedPicture
    droppedPicture = source.pictureID
    shift = Shift(
      from: source.sequence + 1, sequence: shift.sequence &- 1, picture: shift.picture &- (isNewPicture ? 1 : 0))
    return true
  }

  private mutating func remember(_ shift: Shift) {
    if earlier.count < Self.memory {
      earlier.append(shift)
    } else {
      earlier[nextEarlier] = shift
      nextEarlier = (nextEarlier + 1) % Self.memory
    }
  }

  private func shift(of sequence: Int64) -> Shift {
    guard sequence < shift.from else { return shift }
    var best: Shift?
    for candidate in earlier where candidate.from <= sequence && candidate.from >= best?.from ?? .min {
      best = candidate
    }
    return best ?? earlier.min { $0.from < $1.from } ?? shift
  }

  /// A timestamp of the current segment's source as the receiver knows it.
  func shifted(_ timestamp: UInt32) -> UInt32 { timestamp &+ timestampShift }

  /// By how much the next timestamp is ahead of the last: by what the sources' own clocks say, unless that cannot be.
  private func advance(to aligned: UInt32?, _ now: Tick) -> UInt32 {
    guard let aligned else { return elapsed(until: now) }
    let ahead = Int32(bitPattern: aligned &+ timestampShift &- timestamp)
    if ahead <= 0, ahead > -Int32(clockRate) { return 1 }  // of a picture that has been shown in another layer
    return ahead > 0 && ahead < Int32(clockRate) * 2 ? UInt32(ahead) : elapsed(until: now)
  }

  /// In units of the RTP clock, at least one, so that two frames never share a timestamp.
  private func elapsed(until now: Tick) -> UInt32 {
    guard let sentAt else { return 1 }
    let nanoseconds = max((now - sentAt).nanoseconds, 0)
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let ticks = seconds &* Int64(clockRate) &+ rest &* Int64(clockRate) / 1_000_000_000
    return max(UInt32(truncatingIfNeeded: ticks), 1)
  }
}
