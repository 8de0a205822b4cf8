import KoineBase
import KoineRTP

/// A received video packet, with the content of its payload descriptor.
struct VideoPacket {
  let datagram: Bytes
  private let start: UInt16
  private let count: UInt16
  let sequence: Int64
  let timestamp: UInt32
  let arrived: Tick
  let extensions: StoredExtensions
  var info = VideoPacketInfo()
  var endsFrame = false
  /// Holds no video: only keeps the sequence numbers together.
  var isFiller = false

  init(
    datagram: Bytes, range: Range<Int>, sequence: Int64, timestamp: UInt32, extensions: StoredExtensions, at now: Tick
  ) {
    self.datagram = datagram
    start = UInt16(clamping: range.lowerBound)
    count = UInt16(clamping: range.count)
    self.sequence = sequence
    self.timestamp = timestamp
    self.extensions = extensions
    arrived = now
  }

  /// The codec's own bytes, without the descriptor.
  var bytes: UnsafeRawBufferPointer { datagram.readable.part(Int(start)..<Int(start) + Int(count)) }
  var size: Int { Int(count) }

  /// - Returns: nil if the payload is malformed.
  init?(_ shared: SharedPacket, codec: Codec, at now: Tick) {
    let payload = shared.datagram.readable.part(shared.payloadRange)
    var range = shared.payloadRange
    var info = VideoPacketInfo()
    if !payload.isEmpty {
      guard let found = codec.videoPacketInfo(of: payload) else { return nil }
      info = found
      range = (range.lowerBound + Int(info.descriptorLength))..<range.upperBound
    } else if codec.isAudio {
      return nil
    }
    self.init(
      datagram: shared.datagram, range: range, sequence: shared.sequence, timestamp: shared.packet.timestamp,
      extensions: StoredExtensions(shared.extensions), at: now)
    self.info = info
    endsFrame = shared.packet.marker
    isFiller = payload.isEmpty
  }
}
