import KoineBase
import KoineRTP

/// Cuts encoded frames into RTP payloads, each in a block of its own, behind the payload descriptors of their codec.
struct Packetizer {
  /// No datagram is larger, protection included; IP and UDP come on top.
  static let datagramLimit = 1_200
  private let codec: Codec
  /// The codec's bytes in one packet at most.
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
    let tag = 16
    payloadLimit =
      Self.datagramLimit - RTPPacket.fixedHeaderLength - 4 - extensions - 2 - codec.longestDescriptor - tag
  }

  /// Appends the payloads of one frame, in order.
  mutating func packetize(_ frame: EncodedFrame, pool: inout BytesPool, into payloads: inout [Bytes]) {
    let data = frame.data.readable
    guard !codec.isAudio else {
      let payload = pool.take()
      payload.append(data)
      payloads.append(payload)
      return
    }
    let numbered = number(frame)
    // Parts of nearly equal size, so that a batch of them can leave in one system call.
    let count = max(1, (data.count + payloadLimit - 1) / payloadLimit)
    let size = (data.count + count - 1) / count
    for index in 0..<count {
      let start = min(index * size, data.count)
      let payload = pool.take()
      var writer = ByteWriter(payload.writable)
      codec.writeDescriptor(of: numbered, isFirst: index == 0, isLast: index == count - 1, to: &writer)
      payload.count = writer.count
      payload.append(data.part(start..<min(start + size, data.count)))
      payloads.append(payload)
    }
  }

  /// Gives a frame the numbers that follow those of the frame before it.
  private mutating func number(_ frame: EncodedFrame) -> OutgoingFrame {
    if frame.temporalLayer == 0 { tl0PictureIndex &+= 1 }
    var numbered = OutgoingFrame()
    (numbered.isKey, numbered.isDiscardable) = (frame.isKey, frame.isDiscardable)
    (numbered.temporalLayer, numbered.temporalLayers) = (frame.temporalLayer, frame.temporalLayers)
    numbered.previousTemporalLayer = lastTemporalLayer
    (numbered.pictureID, numbered.tl0PictureIndex) = (pictureID, tl0PictureIndex)
    lastTemporalLayer = frame.temporalLayer
    pictureID = (pictureID &+ 1) & 0x7FFF
    return numbered
  }
}
