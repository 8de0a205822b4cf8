import KoineBase
import KoineRTP
import Testing

@testable import KoineTransport

/// A VP9 picture of several spatial layers consists of several frames; the superframe index gives their sizes to the decoder.
@Suite struct VP9LayerTests {
  /// A packet of one picture: its sequence number, whether a layer's frame begins with it, of which layer, and its bytes.
  private func frames(of packets: [(begins: Bool, layer: UInt8, bytes: [UInt8])]) throws -> [[UInt8]] {
    let parameters = StreamParameters(
      mid: "v", codec: .vp9, payloadType: 96, rtxPayloadType: nil, encodings: [.init(ssrc: 1)])
    let stream = RTPReceiveStream(receiver: ReceiverID(value: 1), parameters: parameters, layer: 0, mode: .frames)
    var frames: [[UInt8]] = []
    for (number, packet) in packets.enumerated() {
      let isLast = number == packets.count - 1
      let header: [UInt8] = [
        0x80, (isLast ? 0x80 : 0) | 96, 0, UInt8(number + 1), 0, 0, 0, 9, 0, 0, 0, 1,
      ]
      // A picture id, layers, not predicted from other pictures.
      let descriptor: [UInt8] = [0xA0 | (packet.begins ? 0x08 : 0), 17, packet.layer << 1, 0]
      let datagram = Bytes(header + descriptor + packet.bytes)
      let parsed = try RTPPacket(parsing: datagram.readable)
      let extensions = HeaderExtensions(parsed, in: datagram.readable, map: .koine)
      let shared = stream.receive(
        datagram, parsed, extensions, sequence: parsed.sequence, payloadRange: parsed.payloadRange, isRecovered: false,
        at: .zero)
      stream.assemble(try #require(shared), ClockMap(), at: .zero) { frames.append($0.data.array) }
    }
    return frames
  }

  @Test func frameOfSeveralSpatialLayersGetsASuperframeIndex() throws {
    let frames = try frames(of: [
      (true, 0, [0x82, 1, 2]), (false, 0, [3]), (true, 1, [0x86, 4]), (true, 2, [0x86, 5, 6, 7, 8]),
    ])
    let index: [UInt8] = [0xDA, 4, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 0xDA]
    #expect(frames == [[0x82, 1, 2, 3, 0x86, 4, 0x86, 5, 6, 7, 8] + index])
  }

  @Test func frameOfOneSpatialLayerIsUnchanged() throws {
    #expect(try frames(of: [(true, 0, [0x82, 1, 2]), (false, 0, [3])]) == [[0x82, 1, 2, 3]])
  }

  @Test func existingSuperframeIndexIsKept() throws {
    let packets: [(Bool, UInt8, [UInt8])] = [(true, 0, [0x82, 1]), (true, 1, [0x86, 2, 0xC1, 2, 2, 0xC1])]
    #expect(try frames(of: packets) == [[0x82, 1, 0x86, 2, 0xC1, 2, 2, 0xC1]])
  }
}
