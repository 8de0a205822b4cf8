import KoineBase

/// VP9 over RTP (RFC 9628).
enum VP9PayloadFormat: VideoPayloadFormat {
  static let payloadType: UInt8 = 98
  static let rtxPayloadType: UInt8 = 99
  static let announcedParameters: String? = "profile-id=0"
  static let hasSpatialLayersInBrowsers = true
  /// Flags, a picture id of 15 bits and TL0PICIDX with the layer, then the structure of three temporal layers.
  static let longestDescriptor = 5 + 11

  /// Only the first profile is decoded: eight bits, 4:2:0.
  static func accepts(_ parameters: [String: String]) -> Bool { parameters["profile-id"].map { $0 == "0" } ?? true }

  static func parse(_ payload: UnsafeRawBufferPointer) -> VideoPacketInfo? {
    guard let (descriptor, length) = try? VP9Descriptor.parse(payload), length < payload.count else { return nil }
    var info = VideoPacketInfo()
    info.descriptorLength = UInt16(clamping: length)
    info.startsSpatialLayer = descriptor.startsFrame
    info.startsFrame = descriptor.startsFrame && descriptor.spatialLayer == 0
    info.startsKeyFrame = info.startsFrame && !descriptor.isInterPicturePredicted
    if info.startsKeyFrame { info.height = descriptor.scalability?.sizes.last?.height }
    info.hasTemporalLayer = descriptor.temporalLayer != nil
    info.temporalLayer = descriptor.temporalLayer ?? 0
    info.opensTemporalLayers = descriptor.switchingUp
    info.pictureID = descriptor.pictureID
    if descriptor.isFlexible {
      info.references = VideoPacketInfo.References(descriptor.references)
    } else if info.hasTemporalLayer {
      info.tl0PictureIndex = descriptor.tl0PictureIndex
    }
    return info
  }

  static func rewrite(_ payload: UnsafeMutableRawBufferPointer, _ numbers: FrameNumbers) {
    VP9Descriptor.rewrite(payload, pictureID: numbers.pictureID, tl0PictureIndex: numbers.tl0PictureIndex)
  }

  static func writeDescriptor(of frame: OutgoingFrame, isFirst: Bool, isLast: Bool, to writer: inout ByteWriter) {
    var descriptor = VP9Descriptor()
    descriptor.pictureID = frame.pictureID
    descriptor.isInterPicturePredicted = !frame.isKey
    descriptor.startsFrame = isFirst
    descriptor.endsFrame = isLast
    descriptor.temporalLayer = frame.temporalLayer
    descriptor.tl0PictureIndex = frame.tl0PictureIndex
    // Later frames of the encoder's patterns refer to none of an upper layer from before this one.
    descriptor.switchingUp = frame.temporalLayers > 1
    if frame.isKey, isFirst { descriptor.scalability = structures[min(max(Int(frame.temporalLayers), 1), 3) - 1] }
    descriptor.write(to: &writer)
  }

  /// The encoder's patterns of one, two and three temporal layers as scalability structures (RFC 9628, 4.2.1): 4, 6 and 11
  /// bytes.
  private static let structures: [VP9Descriptor.Scalability] = [
    [(0, [1])], [(0, [2]), (1, [1])], [(0, [4]), (2, [1]), (1, [2]), (2, [1, 3])],
  ].map { (frames: [(UInt8, VP9Descriptor.References)]) in
    VP9Descriptor.Scalability(
      layerCount: 1,
      group: frames.map { .init(temporalLayer: $0.0, switchingUp: frames.count > 1, references: $0.1) })
  }

  // MARK: Spatial layers

  /// Markers around eight sizes of four bytes.
  static let longestLayerIndex = 2 + indexLimit * 4
  private static let indexLimit = 8

  /// Writes an index behind the layers' frames (VP9 bitstream, Annex B). RTP needs none, since its packets say where each layer
  /// begins (RFC 9628, 4.2: B); a decoder does.
  static func appendLayerIndex(to frame: Bytes, sizes: [Int]) {
    // A frame never ends as an index does: the sender has written one.
    guard let last = frame.readable.last, last & 0xE0 != 0xC0 else { return }
    guard (1...indexLimit).contains(sizes.count) else { return }
    let marker = 0xC0 | 3 << 3 | UInt8(sizes.count - 1)
    var index = [marker]
    for size in sizes { for shift in [0, 8, 16, 24] { index.append(UInt8(truncatingIfNeeded: size >> shift)) } }
    index.append(marker)
    index.withUnsafeBytes { _ = frame.append($0) }
  }
}

extension VideoPacketInfo.References {
  init(_ references: VP9Descriptor.References) {
    self.init()
    if references.count > 0 { first = references[0] }
    if references.count > 1 { second = references[1] }
    if references.count > 2 { third = references[2] }
  }
}

/// The VP9 payload descriptor (RFC 9628, section 4.2).
package struct VP9Descriptor: Hashable, Sendable {
  /// 7 or 15 bits; we write 15.
  package var pictureID: UInt16?
  package var isInterPicturePredicted = false
  package var isFlexible = false
  package var startsFrame = false
  package var endsFrame = false
  package var isNotReferenceForUpperLayers = false
  package var temporalLayer: UInt8?
  package var switchingUp = false
  package var spatialLayer: UInt8 = 0
  package var isInterLayerPredicted = false
  /// Non-flexible mode only.
  package var tl0PictureIndex: UInt8 = 0
  /// Flexible mode: distances to the pictures referred to; there are some if it is predicted from other pictures.
  package var references = References()
  package var scalability: Scalability?

  package struct Scalability: Hashable, Sendable {
    /// Sizes of the spatial layers, or how many there are without their sizes.
    package var layerCount: Int
    package var sizes: [Size]
    package var group: [Picture]

    package struct Size: Hashable, Sendable {
      package var width, height: UInt16

      package init(width: UInt16, height: UInt16) { (self.width, self.height) = (width, height) }
    }

    package struct Picture: Hashable, Sendable {
      package var temporalLayer: UInt8
      package var switchingUp: Bool
      package var references: References

      package init(temporalLayer: UInt8, switchingUp: Bool, references: References) {
        (self.temporalLayer, self.switchingUp, self.references) = (temporalLayer, switchingUp, references)
      }
    }

    package init(layerCount: Int, sizes: [Size] = [], group: [Picture] = []) {
      (self.layerCount, self.sizes, self.group) = (layerCount, sizes, group)
    }
  }

  /// Up to three distances back, 1...127 pictures each, held without allocating.
  package struct References: Hashable, Sendable, RandomAccessCollection, ExpressibleByArrayLiteral {
    package static let limit = 3
    private var distances: (UInt8, UInt8, UInt8) = (0, 0, 0)
    package private(set) var endIndex = 0

    package init() {}

    /// References beyond the limit are left out.
    package init(arrayLiteral elements: UInt8...) {
      for element in elements { append(element) }
    }

    package var startIndex: Int { 0 }

    package subscript(index: Int) -> UInt8 {
      precondition(indices.contains(index), "no such reference")
      return index == 0 ? distances.0 : index == 1 ? distances.1 : distances.2
    }

    /// - Returns: false if there are three already.
    @discardableResult
    package mutating func append(_ distance: UInt8) -> Bool {
      switch endIndex {
      case 0: distances.0 = distance
      case 1: distances.1 = distance
      case 2: distances.2 = distance
      default: return false
      }
      endIndex += 1
      return true
    }

    package static func == (left: References, right: References) -> Bool { left.elementsEqual(right) }

    package func hash(into hasher: inout Hasher) {
      hasher.combine(endIndex)
      for distance in self { hasher.combine(distance) }
    }
  }

  package init() {}

  package static func parse(_ bytes: UnsafeRawBufferPointer) throws(RTPError) -> (VP9Descriptor, length: Int) {
    guard let first = bytes.byte(at: 0) else { throw .truncated }
    var result = VP9Descriptor()
    var reader = Reader(bytes: bytes, offset: 1)
    result.isInterPicturePredicted = first & 0x40 != 0
    result.isFlexible = first & 0x10 != 0
    result.startsFrame = first & 0x08 != 0
    result.endsFrame = first & 0x04 != 0
    result.isNotReferenceForUpperLayers = first & 0x01 != 0
    if first & 0x80 != 0 {
      let id = try reader.byte()
      result.pictureID = id & 0x80 != 0 ? UInt16(id & 0x7F) << 8 | UInt16(try reader.byte()) : UInt16(id)
    }
    if first & 0x20 != 0 {
      let layers = try reader.byte()
      result.temporalLayer = layers >> 5
      result.switchingUp = layers & 0x10 != 0
      result.spatialLayer = layers >> 1 & 7
      result.isInterLayerPredicted = layers & 1 != 0
      if !result.isFlexible { result.tl0PictureIndex = try reader.byte() }
    }
    if result.isFlexible && result.isInterPicturePredicted {
      var more = true
      while more {
        let reference = try reader.byte()
        guard result.references.append(reference >> 1) else { throw .malformed }
        more = reference & 1 != 0
      }
    }
    if first & 0x02 != 0 { result.scalability = try Scalability(&reader) }
    return (result, reader.offset)
  }

  /// In flexible mode a frame without references is written as one that is not predicted from other pictures: the
  /// descriptor has no way to say it is.
  package func write(to writer: inout ByteWriter) {
    let isPredicted = isInterPicturePredicted && (!isFlexible || !references.isEmpty)
    var first: UInt8 = pictureID == nil ? 0 : 0x80
    if isPredicted { first |= 0x40 }
    if temporalLayer != nil { first |= 0x20 }
    if isFlexible { first |= 0x10 }
    if startsFrame { first |= 0x08 }
    if endsFrame { first |= 0x04 }
    if scalability != nil { first |= 0x02 }
    if isNotReferenceForUpperLayers { first |= 0x01 }
    writer.write(first)
    if let pictureID { writer.write(0x8000 | pictureID & 0x7FFF) }
    if let temporalLayer {
      writer.write(
        temporalLayer << 5 | (switchingUp ? 0x10 : 0) | (spatialLayer & 7) << 1 | (isInterLayerPredicted ? 1 : 0))
      if !isFlexible { writer.write(tl0PictureIndex) }
    }
    if isFlexible && isPredicted {
      for (index, reference) in references.enumerated() {
        writer.write(reference << 1 | (index + 1 < references.count ? 1 : 0))
      }
    }
    scalability?.write(to: &writer)
  }

  /// Gives the packet other numbers, in place: the descriptor keeps its length, and what it does not hold is not added.
  /// - Returns: false, with nothing changed, if these bytes end before the numbers do.
  @discardableResult
  package static func rewrite(
    _ bytes: UnsafeMutableRawBufferPointer, pictureID: UInt16? = nil, tl0PictureIndex: UInt8? = nil
  ) -> Bool {
    let readable = UnsafeRawBufferPointer(bytes)
    guard let first = readable.byte(at: 0) else { return false }
    let hasID = first & 0x80 != 0
    let hasIndex = first & 0x20 != 0 && first & 0x10 == 0
    let isLong = hasID && (readable.byte(at: 1) ?? 0) & 0x80 != 0
    let layers = 1 + (hasID ? 1 : 0) + (isLong ? 1 : 0)
    guard bytes.count >= layers + (first & 0x20 != 0 ? 1 : 0) + (hasIndex ? 1 : 0) else { return false }
    if let pictureID, hasID {
      if isLong {
        bytes.storeBytes(of: (0x8000 | pictureID).bigEndian, toByteOffset: 1, as: UInt16.self)
      } else {
        bytes[1] = UInt8(pictureID & 0x7F)
      }
    }
    if let tl0PictureIndex, hasIndex { bytes[layers + 1] = tl0PictureIndex }
    return true
  }

  /// Whether a frame that begins with these bytes is a key frame (VP9 bitstream, 6.2: frame_type 0).
  package static func isKey(_ payload: UnsafeRawBufferPointer) -> Bool {
    guard let first = payload.byte(at: 0), first >> 6 == 2 else { return false }
    let profile = (first >> 5 & 1) | (first >> 4 & 1) << 1
    let shift: UInt8 = profile == 3 ? 1 : 0
    let showsExisting = first >> (3 - shift) & 1
    let frameType = first >> (2 - shift) & 1
    return showsExisting == 0 && frameType == 0
  }
}

private struct Reader {
  let bytes: UnsafeRawBufferPointer
  var offset: Int

  mutating func byte() throws(RTPError) -> UInt8 {
    guard let byte = bytes.byte(at: offset) else { throw .truncated }
    offset += 1
    return byte
  }

  mutating func uint16() throws(RTPError) -> UInt16 {
    guard let value = bytes.uint16(at: offset) else { throw .truncated }
    offset += 2
    return value
  }
}

extension VP9Descriptor.Scalability {
  fileprivate init(_ reader: inout Reader) throws(RTPError) {
    let head = try reader.byte()
    layerCount = Int(head >> 5) + 1
    sizes = []
    group = []
    if head & 0x10 != 0 {
      for _ in 0..<layerCount { sizes.append(.init(width: try reader.uint16(), height: try reader.uint16())) }
    }
    guard head & 0x08 != 0 else { return }
    for _ in 0..<Int(try reader.byte()) {
      let picture = try reader.byte()
      var references = VP9Descriptor.References()
      for _ in 0..<Int(picture >> 2 & 3) { references.append(try reader.byte()) }
      group.append(.init(temporalLayer: picture >> 5, switchingUp: picture & 0x10 != 0, references: references))
    }
  }

  fileprivate func write(to writer: inout ByteWriter) {
    let hasSizes = sizes.count == layerCount
    writer.write(UInt8(truncatingIfNeeded: layerCount - 1) << 5 | (hasSizes ? 0x10 : 0) | (group.isEmpty ? 0 : 0x08))
    if hasSizes {
      for size in sizes {
        writer.write(size.width)
        writer.write(size.height)
      }
    }
    guard !group.isEmpty else { return }
    writer.write(UInt8(clamping: group.count))
    for picture in group.prefix(255) {
      writer.write(picture.temporalLayer << 5 | (picture.switchingUp ? 0x10 : 0) | UInt8(picture.references.count) << 2)
      for reference in picture.references { writer.write(reference) }
    }
  }
}
