import KoineBase
import KoineRTP

/// Cuts encoded frames into RTP payloads (RFC 7587, 7741, 9628), each in a block of its own.
struct Packetizer {
  /// No datagram is larger, protection included; IP and UDP come on top.
  static let datagramLimit = 1_200
  private let codec: Codec
  /// Of the codec's bytes in one packet.
  let payloadLimit: Int
  private var pictureID: UInt16
  private var tl0PictureIndex: UInt8 = 0
  private var lastTemporalLayer: UInt8 = 0

  init(parameters: StreamParameters, layer: Int, random: inout SeededRandom) {
    codec = parameters.codec
    pictureID = UInt16.random(in: 0...0x7FFF, using: &random)
    // Names are 16 bytes at most, else the header leaves them out.
    let names = min(parameters.mid.utf8.count, 16) + min(parameters.encodings[layer].rid?.utf8.count ?? 0, 16) + 2
    // Transport-wide number, times of sending and of capture, orientation, names; each with its head.
    let extensions = (3 + 4 + 9 + 2 + names + 3) & ~3
    let descriptor = codec == .vp9 ? 4 + Self.groups[2].byteCount : 6
    let tag = 16
    payloadLimit =
      Self.datagramLimit - RTPPacket.fixedHeaderLength - 4 - extensions - 2 - descriptor - tag
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
      // Our patterns let a picture of the middle layer read the lowest one only, and one of the upper layer too if it
      // comes right behind a picture of the lowest.
      descriptor.layerSync = frame.temporalLayer == 1 || frame.temporalLayer > 1 && lastTemporalLayer == 0
      lastTemporalLayer = frame.temporalLayer
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
      // Later pictures of our patterns need none of an upper layer from before this one.
      descriptor.switchingUp = frame.temporalLayers > 1
      cut(data) { part, isFirst, isLast in
        descriptor.startsFrame = isFirst
        descriptor.scalability =
          frame.isKey && isFirst ? Self.groups[min(max(Int(frame.temporalLayers), 1), 3) - 1].structure : nil
        descriptor.endsFrame = isLast
        payloads.append(payload(part, pool: &pool) { descriptor.write(to: &$0) })
      }
    }
    pictureID = (pictureID &+ 1) & 0x7FFF
  }

  /// Our patterns of one, two and three temporal layers in VP9's words (RFC 9628, 4.2.1), and how many bytes they take.
  private static let groups: [(structure: VP9Descriptor.Scalability, byteCount: Int)] = [
    ([(0, [1])], 4), ([(0, [2]), (1, [1])], 6), ([(0, [4]), (2, [1]), (1, [2]), (2, [1, 3])], 11),
  ].map { (pictures: [(UInt8, VP9Descriptor.References)], byteCount: Int) in
    (
      VP9Descriptor.Scalability(
        layerCount: 1,
        group: pictures.map { .init(temporalLayer: $0.0, switchingUp: pictures.count > 1, references: $0.1) }),
      byteCount
    )
  }

  /// Parts of nearly equal size, so that a batch of them can leave in one system call.
  private func cut(
    _ data: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, _ isFirst: Bool, _ isLast: Bool) -> Void
  ) {
    let count = max(1, (data.count + payloadLimit - 1) / payloadLimit)
    let size = (data.count + count - 1) / count
    for index in 0..<count {
      let start = min(index * size, data.count)
      body(data.part(start..<min(start + size, data.count)), index == 0, index == count - 1)
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
