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
  /// Flexible mode: distances to the pictures referred to, at most three.
  package var references: [UInt8] = []
  package var scalability: Scalability?

  package struct Scalability: Hashable, Sendable {
    /// Sizes of the spatial layers, or how many there are without their sizes.
    package var layerCount: Int
    package var sizes: [Size]
    package var group: [Picture]

    package struct Size: Hashable, Sendable { package var width, height: UInt16 }
    package struct Picture: Hashable, Sendable {
      package var temporalLayer: UInt8
      package var switchingUp: Bool
      package var references: [UInt8]
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
        guard result.references.count < 3 else { throw .malformed }
        let reference = try reader.byte()
        result.references.append(reference >> 1)
        more = reference & 1 != 0
      }
    }
    if first & 0x02 != 0 { result.scalability = try Scalability(&reader) }
    return (result, reader.offset)
  }

  package func write(to writer: inout ByteWriter) {
    let hasReferences = isFlexible && isInterPicturePredicted && !references.isEmpty
    var first: UInt8 = pictureID == nil ? 0 : 0x80
    if isInterPicturePredicted { first |= 0x40 }
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
    if hasReferences {
      for (index, reference) in references.prefix(3).enumerated() {
        writer.write(reference << 1 | (index + 1 < min(references.count, 3) ? 1 : 0))
      }
    }
    scalability?.write(to: &writer)
  }

  /// Does the frame whose first bytes these are stand alone? (VP9 bitstream, 6.2: frame_type 0)
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
      var references: [UInt8] = []
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
      let references = picture.references.prefix(3)
      writer.write(picture.temporalLayer << 5 | (picture.switchingUp ? 0x10 : 0) | UInt8(references.count) << 2)
      for reference in references { writer.write(reference) }
    }
  }
}
