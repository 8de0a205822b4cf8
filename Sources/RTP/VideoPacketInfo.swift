/// The content of a video packet's payload descriptor and of its frame's first bytes, the same for every codec.
///
/// Small, because a router keeps one with every packet that it forwards.
package struct VideoPacketInfo: Hashable, Sendable {
  /// The bytes of the payload descriptor; the codec's own bytes follow.
  package var descriptorLength: UInt16 = 0
  package var startsFrame = false
  package var startsKeyFrame = false
  /// The frame of one spatial layer begins here (VP9: B), of which a frame may have several.
  package var startsSpatialLayer = false
  /// No later frame refers to this one.
  package var isDiscardable = false
  package var hasTemporalLayer = false
  package var temporalLayer: UInt8 = 0
  /// The frame refers to the lower temporal layers only (VP8: Y): from here on a receiver may get this layer.
  package var syncsTemporalLayer = false
  /// No later frame refers to a frame of an upper temporal layer before this one (VP9: U): from here on a receiver may get
  /// more temporal layers.
  package var opensTemporalLayers = false
  /// 7 or 15 bits.
  package var pictureID: UInt16?
  /// The running index of frames of the lowest temporal layer.
  package var tl0PictureIndex: UInt8?
  /// The frames that this one refers to, where the packet names them (VP9 in flexible mode).
  package var references: References?
  /// Rows of the frame, where the packet says so: VP8 key frames, VP9 scalability structures.
  package var height: UInt16?

  /// Up to three distances in pictures, back from the frame itself; 0 is none.
  package struct References: Hashable, Sendable {
    package var first, second, third: UInt8

    package init(_ first: UInt8 = 0, _ second: UInt8 = 0, _ third: UInt8 = 0) {
      (self.first, self.second, self.third) = (first, second, third)
    }
  }

  package init() {}

  /// `tl0PictureIndex` of a packet that says which temporal layer it belongs to; without the layer the index proves nothing.
  package var baseLayerIndex: UInt8? { hasTemporalLayer ? tl0PictureIndex : nil }
}

/// The numbers of a frame in its payload descriptors that a router keeps continuous; nil where the descriptor has none.
package struct FrameNumbers: Hashable, Sendable {
  package var pictureID: UInt16?
  package var tl0PictureIndex: UInt8?

  package init(pictureID: UInt16? = nil, tl0PictureIndex: UInt8? = nil) {
    self.pictureID = pictureID
    self.tl0PictureIndex = tl0PictureIndex
  }
}

/// A frame of this end's own encoder, as the payload descriptors of its packets describe it.
package struct OutgoingFrame: Hashable, Sendable {
  package var isKey = false
  package var isDiscardable = false
  package var temporalLayer: UInt8 = 0
  /// How many temporal layers the stream has.
  package var temporalLayers: UInt8 = 1
  /// Of the frame before it.
  package var previousTemporalLayer: UInt8 = 0
  package var pictureID: UInt16 = 0
  package var tl0PictureIndex: UInt8 = 0

  package init() {}
}
