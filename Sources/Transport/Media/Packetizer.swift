import KoineBase
import KoineRTP

/// Cuts encoded frames into RTP payloads (RFC 7587, 7741, 9628), each in a block of its own.
struct Packetizer {
  /// Room for header, extensions, authentication tag and the retransmission prefix within 1,200 bytes.
  static let payloadLimit = 1_100
  private let codec: Codec
  private var pictureID: UInt16
  private var tl0PictureIndex: UInt8 = 0

  init(codec: Codec, random: inout SeededRandom) {
    self.codec = codec
    pictureID = UInt16.random(in: 0...0x7FFF, using: &random)
  }

  /// Appends the payloads of one frame, in order.
  mutating func packetize(_ frame: EncodedFrame, pool: inout BytesPool, into payloads: inout [Bytes]) {
    let data = frame.data.readable
    switch codec {
    case .opus:
      let payload = pool.take()
      payload.append(data)
      payloads.append(payload)
    case .vp8:
      if frame.temporalLayer == 0 { tl0PictureIndex &+= 1 }
      var descriptor = VP8Descriptor()
      descriptor.isReference = !frame.isDiscardable
      descriptor.pictureID = pictureID
      descriptor.tl0PictureIndex = tl0PictureIndex
      descriptor.temporalLayer = frame.temporalLayer
      cut(data) { part, isFirst, _ in
        descriptor.startsPartition = isFirst
        payloads.append(payload(part, pool: &pool) { descriptor.write(to: &$0) })
      }
    case .vp9:
      if frame.temporalLayer == 0 { tl0PictureIndex &+= 1 }
      var descriptor = VP9Descriptor()
      descriptor.pictureID = pictureID
      descriptor.isInterPicturePredicted = !frame.isKey
      descriptor.temporalLayer = frame.temporalLayer
      descriptor.tl0PictureIndex = tl0PictureIndex
      cut(data) { part, isFirst, isLast in
        descriptor.startsFrame = isFirst
        descriptor.endsFrame = isLast
        payloads.append(payload(part, pool: &pool) { descriptor.write(to: &$0) })
      }
    }
    pictureID = (pictureID &+ 1) & 0x7FFF
  }

  /// Parts of nearly equal size, so that a batch of them can leave in one system call.
  private func cut(
    _ data: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, _ isFirst: Bool, _ isLast: Bool) -> Void
  ) {
    let count = max(1, (data.count + Self.payloadLimit - 1) / Self.payloadLimit)
    let size = (data.count + count - 1) / count
    for index in 0..<count {
      body(data.part((index * size)..<min((index + 1) * size, data.count)), index == 0, index == count - 1)
    }
  }

  private func payload(
    _ part: UnsafeRawBufferPointer, pool: inout BytesPool, descriptor: (inout ByteWriter) -> Void
  ) -> Bytes {
    let payload = pool.take()
    var writer = ByteWriter(payload.writable)
    descriptor(&writer)
    payload.count = writer.count
    payload.append(part)
    return payload
  }
}
