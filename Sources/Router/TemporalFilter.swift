import KoineRTP

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
  mutating func reset() { self = TemporalFilter(wanted: wanted, limit: wanted) }

  init(wanted: Int = TemporalFilter.all) { self.init(wanted: wanted, limit: TemporalFilter.all) }
  private init(wanted: Int, limit: Int) { (self.wanted, self.limit) = (wanted, limit) }

  mutating func admits(_ info: VideoPacketInfo, _ numbers: SourceNumbers) -> Bool {
    let layer = Int(info.temporalLayer)
    if numbers.sequence < earlier.until { return layer <= earlier.limit }
    if info.startsFrame {
      if wanted < limit || info.startsKeyFrame, wanted != limit { change(to: wanted, from: numbers.sequence) }
      if layer > limit, layer <= wanted, info.syncsTemporalLayer {
        change(to: layer, from: numbers.sequence)
      }
      if info.opensTemporalLayers, layer <= limit, wanted > limit { change(to: wanted, from: numbers.sequence) }
      picture = numbers.pictureID
      admitsPicture = layer <= limit
      return admitsPicture
    }
    if let picture, numbers.pictureID == picture { return admitsPicture }
    return layer <= limit
  }

  private mutating func change(to limit: Int, from sequence: Int64) {
    earlier = (self.limit, sequence)
    self.limit = limit
  }
}
