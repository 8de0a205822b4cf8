import KoineBase
import KoineRTP

/// A received packet of pictures, with what its payload descriptor says (RFC 7741, 4.2; RFC 9628, 4.2).
struct VideoPacket {
  let datagram: Bytes
  private let start: UInt16
  private let count: UInt16
  let sequence: Int64
  let timestamp: UInt32
  let arrived: Tick
  let extensions: StoredExtensions
  var picture = Picture()
  var startsFrame = false
  /// The frame of one spatial layer begins here (VP9: B), of which a picture may have several.
  var startsLayer = false
  var endsFrame = false
  /// Holds no picture: only keeps the sequence numbers together.
  var isFiller = false

  /// What a picture says of itself and of those it needs.
  struct Picture: Equatable {
    var isKey = false
    var isDiscardable = false
    var temporalLayer: UInt8 = 0
    /// Needs only the lowest layer's picture before it (VP8: Y).
    var syncsLayer = false
    /// One of the lowest layer, behind which no picture needs one of an upper layer from before it (VP9: U).
    var opensLayers = false
    var id: UInt16?
    var tl0Index: UInt8?
    /// VP9 in flexible mode: how many pictures back those are that it needs; zeros are none.
    var references: (UInt8, UInt8, UInt8)?

    static func == (a: Picture, b: Picture) -> Bool {
      a.isKey == b.isKey && a.isDiscardable == b.isDiscardable && a.temporalLayer == b.temporalLayer
        && a.syncsLayer == b.syncsLayer && a.opensLayers == b.opensLayers && a.id == b.id && a.tl0Index == b.tl0Index
        && (a.references ?? (0, 0, 0)) == (b.references ?? (0, 0, 0))
    }
  }

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

  /// Of the codec's own bytes.
  var bytes: UnsafeRawBufferPointer { datagram.readable.part(Int(start)..<Int(start) + Int(count)) }
  var size: Int { Int(count) }

  /// - Returns: nil if the payload makes no sense.
  init?(_ shared: SharedPacket, codec: Codec, at now: Tick) {
    let payload = shared.datagram.readable.part(shared.payloadRange)
    var range = shared.payloadRange
    var picture = Picture()
    var (starts, startsLayer) = (false, false)
    switch codec {
    case .opus: return nil
    case .vp8 where !payload.isEmpty:
      guard let (descriptor, length) = try? VP8Descriptor.parse(payload), length < payload.count else { return nil }
      starts = descriptor.startsPartition && descriptor.partition == 0
      range = (range.lowerBound + length)..<range.upperBound
      picture.isKey = starts && VP8Descriptor.isKey(payload.part(length..<payload.count))
      picture.isDiscardable = !descriptor.isReference
      picture.temporalLayer = descriptor.temporalLayer ?? 0
      picture.syncsLayer = descriptor.layerSync
      picture.id = descriptor.pictureID
      picture.tl0Index = descriptor.temporalLayer == nil ? nil : descriptor.tl0PictureIndex
    case .vp9 where !payload.isEmpty:
      guard let (descriptor, length) = try? VP9Descriptor.parse(payload), length < payload.count else { return nil }
      startsLayer = descriptor.startsFrame
      starts = startsLayer && descriptor.spatialLayer == 0
      range = (range.lowerBound + length)..<range.upperBound
      picture.isKey = starts && !descriptor.isInterPicturePredicted
      picture.temporalLayer = descriptor.temporalLayer ?? 0
      picture.opensLayers = descriptor.switchingUp && descriptor.temporalLayer == 0
      picture.id = descriptor.pictureID
      if descriptor.isFlexible {
        let far = descriptor.references
        picture.references = (
          far.count > 0 ? far[0] : 0, far.count > 1 ? far[1] : 0, far.count > 2 ? far[2] : 0
        )
      } else {
        picture.tl0Index = descriptor.temporalLayer == nil ? nil : descriptor.tl0PictureIndex
      }
    case .vp8, .vp9: break
    }
    self.init(
      datagram: shared.datagram, range: range, sequence: shared.sequence, timestamp: shared.packet.timestamp,
      extensions: StoredExtensions(shared.extensions), at: now)
    self.picture = picture
    startsFrame = starts
    self.startsLayer = startsLayer
    endsFrame = shared.packet.marker
    isFiller = payload.isEmpty
  }
}
