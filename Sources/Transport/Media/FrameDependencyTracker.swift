import KoineRTP

/// Decides whether a video frame can be decoded although packets before it are missing.
///
/// The content of lost packets is unknown. So a frame is passed on only if its own descriptor proves that it needs nothing of the
/// gap: a key frame needs nothing; in flexible mode a frame names the frames it needs; a frame of the lowest temporal layer needs
/// only the last frame of that layer, and so does a frame that syncs its layer. After a gap an upper layer's frames wait for the
/// next frame of the lowest layer. Where the sender marks syncs, they wait for a sync.
struct FrameDependencyTracker {
  /// Of the pictures decoded so far, the newest id and which of the 64 before it were decoded, itself being bit 0.
  private var newestID: UInt16?
  private var decoded: UInt64 = 0
  /// Of the last picture of the lowest layer.
  private var tl0Index: UInt8?
  private var marksSyncs = false
  /// Where an upper layer's picture may refer to something lost.
  private var broken = Broken.nothing

  private enum Broken { case nothing, untilBase, untilSync }

  /// Across a gap; without one, see `canFollow`.
  func canCrossGap(to picture: VideoPacketInfo) -> Bool {
    if picture.startsKeyFrame { return true }
    if let references = picture.references { return hasAll(references, before: picture.pictureID) }
    guard let index = picture.baseLayerIndex, let tl0Index else { return false }
    if picture.temporalLayer == 0 { return index == tl0Index &+ 1 }
    return picture.syncsTemporalLayer && index == tl0Index
  }

  /// Behind a picture or packet with the sequence number before its own.
  func canFollow(_ picture: VideoPacketInfo) -> Bool {
    if picture.startsKeyFrame { return true }
    if let references = picture.references { return hasAll(references, before: picture.pictureID) }
    switch broken {
    case .nothing: return true
    case .untilBase, .untilSync: return picture.temporalLayer == 0 || picture.syncsTemporalLayer
    }
  }

  mutating func crossedGap() { broken = marksSyncs ? .untilSync : .untilBase }

  mutating func decode(_ picture: VideoPacketInfo) {
    if picture.startsKeyFrame { self = FrameDependencyTracker(marksSyncs: marksSyncs) }
    let opensLayers = picture.opensTemporalLayers && picture.temporalLayer == 0
    if picture.syncsTemporalLayer || opensLayers { marksSyncs = true }
    if picture.temporalLayer == 0 {
      tl0Index = picture.baseLayerIndex
      if broken == .untilBase || opensLayers { broken = .nothing }
    } else if picture.syncsTemporalLayer {
      broken = .nothing
    }
    if let id = picture.pictureID { addFrame(id) }
  }

  init() {}
  private init(marksSyncs: Bool) { self.marksSyncs = marksSyncs }

  private mutating func addFrame(_ id: UInt16) {
    guard let newestID else {
      (self.newestID, decoded) = (id, 1)
      return
    }
    let ahead = id &- newestID & 0x7FFF
    guard ahead < 0x4000 else { return }
    decoded = (ahead < 64 ? decoded << UInt64(ahead) : 0) | 1
    self.newestID = id
  }

  private func hasAll(_ references: VideoPacketInfo.References, before id: UInt16?) -> Bool {
    guard let id, let newestID else { return false }
    func has(_ distance: UInt8) -> Bool {
      guard distance > 0 else { return true }
      let behind = newestID &- (id &- UInt16(distance)) & 0x7FFF
      return behind < 64 && decoded & (1 << UInt64(behind)) != 0
    }
    return has(references.first) && has(references.second) && has(references.third)
  }
}
