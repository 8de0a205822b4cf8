/// VP8 over RTP (RFC 7741).
enum VP8PayloadFormat: VideoPayloadFormat {
  static let payloadType: UInt8 = 96
  static let rtxPayloadType: UInt8 = 97
  /// Two flag bytes, a picture id of 15 bits, TL0PICIDX, the temporal layer.
  static let longestDescriptor = 6

  static func parse(_ payload: UnsafeRawBufferPointer) -> VideoPacketInfo? {
    guard let (descriptor, length) = try? VP8Descriptor.parse(payload), length < payload.count else { return nil }
    var info = VideoPacketInfo()
    info.descriptorLength = UInt16(truncatingIfNeeded: length)  // six bytes at most
    info.startsFrame = descriptor.startsPartition && descriptor.partition == 0
    if info.startsFrame {
      let frame = payload.part(length..<payload.count)
      info.startsKeyFrame = VP8Descriptor.isKey(frame)
      if info.startsKeyFrame { info.height = VP8Descriptor.size(ofKeyFrame: frame).map { UInt16($0.height) } }
    }
    info.isDiscardable = !descriptor.isReference
    info.hasTemporalLayer = descriptor.temporalLayer != nil
    info.temporalLayer = descriptor.temporalLayer ?? 0
    info.syncsTemporalLayer = descriptor.layerSync
    info.pictureID = descriptor.pictureID
    info.tl0PictureIndex = descriptor.tl0PictureIndex
    return info
  }

  static func rewrite(_ payload: UnsafeMutableRawBufferPointer, _ numbers: FrameNumbers) {
    VP8Descriptor.rewrite(payload, pictureID: numbers.pictureID, tl0PictureIndex: numbers.tl0PictureIndex)
  }

  static func writeDescriptor(of frame: OutgoingFrame, isFirst: Bool, isLast: Bool, to writer: inout ByteWriter) {
    var descriptor = VP8Descriptor()
    descriptor.isReference = !frame.isDiscardable
    descriptor.startsPartition = isFirst
    descriptor.pictureID = frame.pictureID
    descriptor.tl0PictureIndex = frame.tl0PictureIndex
    descriptor.temporalLayer = frame.temporalLayer
    // The encoder's patterns let a frame of the middle layer refer to the lowest one only. A frame of the upper layer does so
    // too if it comes right behind a frame of the lowest.
    descriptor.layerSync =
      frame.temporalLayer == 1 || frame.temporalLayer > 1 && frame.previousTemporalLayer == 0
    descriptor.write(to: &writer)
  }
}

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
    let fields = try Fields(bytes)
    let first = bytes[0]
    var result = VP8Descriptor()
    result.isReference = first & 0x20 == 0
    result.startsPartition = first & 0x10 != 0
    result.partition = first & 0x07
    if let offset = fields.pictureID {
      result.pictureID =
        fields.hasLongPictureID ? bytes.uint16(at: offset).map { $0 & 0x7FFF } : UInt16(bytes[offset] & 0x7F)
    }
    result.tl0PictureIndex = fields.tl0PictureIndex.map { bytes[$0] }
    if let offset = fields.layers {
      if fields.hasTemporalLayer {
        result.temporalLayer = bytes[offset] >> 6
        result.layerSync = bytes[offset] & 0x20 != 0
      }
      if fields.hasKeyIndex { result.keyIndex = bytes[offset] & 0x1F }
    }
    return (result, fields.length)
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

  /// Gives the packet other numbers, in place: the descriptor keeps its length, so a picture id of 7 bits stays one, and
  /// what the descriptor does not hold is not added. For routers that join the layers of a simulcast into one stream.
  /// - Returns: false, with nothing changed, if these bytes have no whole descriptor.
  @discardableResult
  package static func rewrite(
    _ bytes: UnsafeMutableRawBufferPointer, pictureID: UInt16? = nil, tl0PictureIndex: UInt8? = nil,
    keyIndex: UInt8? = nil
  ) -> Bool {
    guard let fields = try? Fields(UnsafeRawBufferPointer(bytes)) else { return false }
    if let pictureID, let offset = fields.pictureID {
      if fields.hasLongPictureID {
        bytes.storeBytes(of: (0x8000 | pictureID).bigEndian, toByteOffset: offset, as: UInt16.self)
      } else {
        bytes[offset] = UInt8(pictureID & 0x7F)
      }
    }
    if let tl0PictureIndex, let offset = fields.tl0PictureIndex { bytes[offset] = tl0PictureIndex }
    if let keyIndex, let offset = fields.layers, fields.hasKeyIndex {
      bytes[offset] = bytes[offset] & 0xE0 | keyIndex & 0x1F
    }
    return true
  }

  /// Whether a frame that begins with these bytes is a key frame (RFC 7741, 4.3: P = 0).
  package static func isKey(_ payload: UnsafeRawBufferPointer) -> Bool {
    payload.byte(at: 0).map { $0 & 1 == 0 } ?? false
  }

  /// The frame size in a key frame's header (RFC 6386, 9.1); nil for other frames.
  package static func size(ofKeyFrame payload: UnsafeRawBufferPointer) -> (width: Int, height: Int)? {
    guard isKey(payload), payload.byte(at: 3) == 0x9D, payload.byte(at: 4) == 0x01, payload.byte(at: 5) == 0x2A,
      let width = payload.byte(at: 6), let widthHigh = payload.byte(at: 7), let height = payload.byte(at: 8),
      let heightHigh = payload.byte(at: 9)
    else { return nil }
    return (Int(width) | Int(widthHigh & 0x3F) << 8, Int(height) | Int(heightHigh & 0x3F) << 8)
  }
}

extension VP8Descriptor {
  /// Where a descriptor's fields stand; all of them are within the bytes.
  ///
  ///     |X|R|N|S|R| PID |   required
  ///     |I|L|T|K|  RSV  |   if X
  ///     |M| PictureID   |   if I; 16 bits if M
  ///     |   TL0PICIDX   |   if L
  ///     |TID|Y| KEYIDX  |   if T or K
  private struct Fields {
    var pictureID: Int?
    var hasLongPictureID = false
    var tl0PictureIndex: Int?
    var layers: Int?
    var hasTemporalLayer = false
    var hasKeyIndex = false
    var length = 1

    init(_ bytes: UnsafeRawBufferPointer) throws(RTPError) {
      guard let first = bytes.byte(at: 0) else { throw .truncated }
      guard first & 0x80 != 0 else { return }
      guard let flags = bytes.byte(at: 1) else { throw .truncated }
      length = 2
      if flags & 0x80 != 0 {
        guard let id = bytes.byte(at: length) else { throw .truncated }
        pictureID = length
        hasLongPictureID = id & 0x80 != 0
        length += hasLongPictureID ? 2 : 1
      }
      if flags & 0x40 != 0 {
        tl0PictureIndex = length
        length += 1
      }
      hasTemporalLayer = flags & 0x20 != 0
      hasKeyIndex = flags & 0x10 != 0
      if hasTemporalLayer || hasKeyIndex {
        layers = length
        length += 1
      }
      guard length <= bytes.count else { throw .truncated }
    }
  }
}
