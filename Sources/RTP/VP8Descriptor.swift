/// The VP8 payload descriptor (RFC 7741, section 4.2) and what the payload header tells (4.3).
package struct VP8Descriptor: Hashable, Sendable {
  package var isReference = true  // N = 0
  package var startsPartition = false
  package var partition: UInt8 = 0
  /// 7 or 15 bits; we write 15.
  package var pictureID: UInt16?
  package var tl0PictureIndex: UInt8?
  package var temporalLayer: UInt8?
  package var layerSync = false
  package var keyIndex: UInt8?

  package init() {}

  /// - Returns: the descriptor and its length.
  package static func parse(_ bytes: UnsafeRawBufferPointer) throws(RTPError) -> (VP8Descriptor, length: Int) {
    guard let first = bytes.byte(at: 0) else { throw .truncated }
    var result = VP8Descriptor()
    result.isReference = first & 0x20 == 0
    result.startsPartition = first & 0x10 != 0
    result.partition = first & 0x07
    guard first & 0x80 != 0 else { return (result, 1) }
    guard let flags = bytes.byte(at: 1) else { throw .truncated }
    var offset = 2
    if flags & 0x80 != 0 {
      guard let id = bytes.byte(at: offset) else { throw .truncated }
      if id & 0x80 != 0 {
        guard let long = bytes.uint16(at: offset) else { throw .truncated }
        result.pictureID = long & 0x7FFF
        offset += 2
      } else {
        result.pictureID = UInt16(id)
        offset += 1
      }
    }
    if flags & 0x40 != 0 {
      guard let index = bytes.byte(at: offset) else { throw .truncated }
      result.tl0PictureIndex = index
      offset += 1
    }
    if flags & 0x30 != 0 {
      guard let layers = bytes.byte(at: offset) else { throw .truncated }
      if flags & 0x20 != 0 {
        result.temporalLayer = layers >> 6
        result.layerSync = layers & 0x20 != 0
      }
      if flags & 0x10 != 0 { result.keyIndex = layers & 0x1F }
      offset += 1
    }
    return (result, offset)
  }

  package func write(to writer: inout ByteWriter) {
    let hasLayers = temporalLayer != nil || keyIndex != nil
    let isExtended = pictureID != nil || tl0PictureIndex != nil || hasLayers
    writer.write(
      (isExtended ? 0x80 : 0) | (isReference ? 0 : 0x20) | (startsPartition ? 0x10 : 0) | partition & 7)
    guard isExtended else { return }
    writer.write(
      (pictureID == nil ? 0 : 0x80) | (tl0PictureIndex == nil ? 0 : 0x40) | (temporalLayer == nil ? 0 : 0x20)
        | (keyIndex == nil ? 0 : 0x10) as UInt8)
    if let pictureID { writer.write(0x8000 | pictureID & 0x7FFF) }
    if let tl0PictureIndex { writer.write(tl0PictureIndex) }
    if hasLayers {
      writer.write((temporalLayer ?? 0) << 6 | (layerSync ? 0x20 : 0) | (keyIndex ?? 0) & 0x1F)
    }
  }

  /// Does the frame whose first bytes these are stand alone? (RFC 7741, 4.3: P = 0)
  package static func isKey(_ payload: UnsafeRawBufferPointer) -> Bool {
    payload.byte(at: 0).map { $0 & 1 == 0 } ?? false
  }

  /// The size that a key frame tells (RFC 6386, 9.1); nil for others.
  package static func size(ofKeyFrame payload: UnsafeRawBufferPointer) -> (width: Int, height: Int)? {
    guard isKey(payload), payload.byte(at: 3) == 0x9D, payload.byte(at: 4) == 0x01, payload.byte(at: 5) == 0x2A,
      let width = payload.byte(at: 6), let widthHigh = payload.byte(at: 7), let height = payload.byte(at: 8),
      let heightHigh = payload.byte(at: 9)
    else { return nil }
    return (Int(width) | Int(widthHigh & 0x3F) << 8, Int(height) | Int(heightHigh & 0x3F) << 8)
  }
}
