import KoineBase
import KoineRTP
import KoineTransport

/// What a packet of pictures says of itself, read once for all receivers.
struct PictureFacts {
  var startsKeyFrame = false
  var startsPicture = false
  var temporalLayer = 0
  /// Needs only lower layers from here on: a receiver may be given this layer from this picture.
  var syncsLayer = false
  /// Later pictures need none of an upper layer from before it: a receiver may be given more layers from here on.
  var opensLayers = false
  /// Rows, where the packet says so: VP8 key frames, VP9 scalability structures.
  var height: Int?

  /// - Parameter numbers: gets those that the payload holds.
  init(_ packet: SharedPacket, of codec: Codec, numbers: inout SourceNumbers) {
    let payload = UnsafeRawBufferPointer(rebasing: packet.datagram.readable[packet.payloadRange])
    switch codec {
    case .opus: break
    case .vp8:
      guard let (descriptor, length) = try? VP8Descriptor.parse(payload), length < payload.count else { return }
      numbers.pictureID = descriptor.pictureID
      numbers.tl0PictureIndex = descriptor.tl0PictureIndex
      startsPicture = descriptor.startsPartition && descriptor.partition == 0
      let frame = UnsafeRawBufferPointer(rebasing: payload[length...])
      startsKeyFrame = startsPicture && VP8Descriptor.isKey(frame)
      if startsKeyFrame { height = VP8Descriptor.size(ofKeyFrame: frame)?.height }
      temporalLayer = Int(descriptor.temporalLayer ?? 0)
      syncsLayer = descriptor.layerSync
    case .vp9:
      guard let (descriptor, length) = try? VP9Descriptor.parse(payload), length < payload.count else { return }
      numbers.pictureID = descriptor.pictureID
      if !descriptor.isFlexible, descriptor.temporalLayer != nil {
        numbers.tl0PictureIndex = descriptor.tl0PictureIndex
      }
      startsPicture = descriptor.startsFrame && descriptor.spatialLayer == 0
      startsKeyFrame = startsPicture && !descriptor.isInterPicturePredicted
      if startsKeyFrame { height = descriptor.scalability?.sizes.last.map { Int($0.height) } }
      temporalLayer = Int(descriptor.temporalLayer ?? 0)
      opensLayers = descriptor.switchingUp
    }
  }

  /// Of sound.
  init() {}
}

/// Which temporal layers a receiver gets of the source that is forwarded to it: fewer from the next picture on, more from
/// the next picture that can do with those it has.
struct TemporalFilter {
  static let all = 7
  static let none = -1
  /// What it should become.
  var wanted = all
  private var limit = all
  /// The limit before, which holds for packets that come late.
  private var earlier = (limit: all, until: Int64.min)
  private var picture: UInt16?
  private var admitsPicture = true

  /// Pictures have been left out that all later ones build upon: nothing passes before a key frame.
  var isBroken: Bool { limit == Self.none && wanted != Self.none }

  /// A key frame begins a new source.
  mutating func begin() { self = TemporalFilter(wanted: wanted, limit: wanted) }

  init(wanted: Int = TemporalFilter.all) { self.init(wanted: wanted, limit: TemporalFilter.all) }
  private init(wanted: Int, limit: Int) { (self.wanted, self.limit) = (wanted, limit) }

  mutating func admits(_ facts: PictureFacts, _ numbers: SourceNumbers) -> Bool {
    if numbers.sequence < earlier.until { return facts.temporalLayer <= earlier.limit }
    if facts.startsPicture {
      if wanted < limit || facts.startsKeyFrame, wanted != limit { change(to: wanted, from: numbers.sequence) }
      if facts.temporalLayer > limit, facts.temporalLayer <= wanted, facts.syncsLayer {
        change(to: facts.temporalLayer, from: numbers.sequence)
      }
      if facts.opensLayers, facts.temporalLayer <= limit, wanted > limit { change(to: wanted, from: numbers.sequence) }
      picture = numbers.pictureID
      admitsPicture = facts.temporalLayer <= limit
      return admitsPicture
    }
    if let picture, numbers.pictureID == picture { return admitsPicture }
    return facts.temporalLayer <= limit
  }

  private mutating func change(to limit: Int, from sequence: Int64) {
    earlier = (self.limit, sequence)
    self.limit = limit
  }
}
