import KoineBase
import KoineRTP
import Testing

/// A quick stand-in for the fuzz targets: no bytes make a parser trap or read past the end, and what was read can be
/// written and read again. Half of the inputs are random, half are good packets with a few bytes changed.
struct RandomBytesTests {
  private static let rounds = 100_000

  private func forEachInput(seed: UInt64, seeds: [[UInt8]], _ body: (UnsafeRawBufferPointer) -> Void) {
    var random = SeededRandom(seed: seed)
    for round in 0..<Self.rounds {
      var bytes: [UInt8]
      if round % 2 == 0 {
        bytes = (0..<Int.random(in: 0...64, using: &random)).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
      } else {
        bytes = seeds.randomElement(using: &random) ?? []
        for _ in 0..<Int.random(in: 0...4, using: &random) where !bytes.isEmpty {
          bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0 ... .max, using: &random)
        }
        bytes.removeLast(Int.random(in: 0...bytes.count, using: &random) / 4)
      }
      withBlock(bytes, body)
    }
  }

  @Test func randomRTPPacketsAreHarmless() {
    let seeds = [
      "B2 60 0001 00000000 00000001  00000002 00000003  BEDE 0003 10AA 21BBBB 00 33CCCCCCCC 4044 AABB 000003",
      "90 60 0001 00000000 00000001  1000 0003 01 01 AA 0210 00010203 04050607 AABBCC",
    ].map(hex)
    forEachInput(seed: 1, seeds: seeds) { bytes in
      guard let packet = try? RTPPacket(parsing: bytes) else { return }
      #expect(packet.headerLength <= packet.payloadRange.lowerBound)
      #expect(packet.payloadRange.upperBound <= bytes.count)
      packet.forEachExtension(in: bytes) { id, value in
        if id != 0 { #expect(packet.extensionRange(id: id, in: bytes) != nil) }
        return true
      }
      let values = HeaderExtensions(packet, in: bytes, map: .koine, names: true)
      let header = RTPHeader(
        marker: packet.marker, payloadType: packet.payloadType, sequence: packet.sequence, timestamp: packet.timestamp,
        ssrc: packet.ssrc)
      let out = UnsafeMutableRawBufferPointer.allocate(byteCount: 900, alignment: 1)
      defer { out.deallocate() }
      #expect(header.write(into: out, extensions: values) != nil)
      _ = RTX.unwrap(packet.payloadRange, in: bytes)
    }
  }

  @Test func randomRTCPPacketsAreHarmless() throws {
    let seeds = RTCPTests.everyKind.compactMap { encoded($0) }
    forEachInput(seed: 2, seeds: seeds) { bytes in
      var packets: [RTCP] = []
      try? RTCP.forEach(in: bytes) { packets.append($0) }
      for packet in packets {
        if case .unknown = packet { continue }
        guard let again = written(capacity: 70_000, { packet.write(to: &$0) }) else { continue }
        #expect((try? rtcp(again)) == [packet])
      }
    }
  }

  @Test func randomVP8DescriptorsAreHarmless() {
    forEachInput(seed: 3, seeds: ["B5 F0 FFFF AB FE 10 0000 9D012A 8002 6801"].map(hex)) { bytes in
      guard let (descriptor, length) = try? VP8Descriptor.parse(bytes) else { return }
      #expect((1...6).contains(length))
      #expect(length <= bytes.count)
      let payload = bytes.part(length..<bytes.count)
      _ = (VP8Descriptor.isKey(payload), VP8Descriptor.size(ofKeyFrame: payload))
      #expect((try? vp8(written { descriptor.write(to: &$0) } ?? []))?.0 == descriptor)
      var copy = Array(bytes)
      let isDone = copy.withUnsafeMutableBytes {
        VP8Descriptor.rewrite($0, pictureID: 1, tl0PictureIndex: 2, keyIndex: 3)
      }
      #expect(isDone)
      #expect((try? vp8(copy))?.length == length)
    }
    forEachInput(seed: 4, seeds: VP9DescriptorTests.samples.compactMap { sample in written { sample.write(to: &$0) } })
    {
      bytes in
      guard let (descriptor, length) = try? VP9Descriptor.parse(bytes) else { return }
      #expect(length <= bytes.count)
      _ = VP9Descriptor.isKey(bytes.part(length..<bytes.count))
      #expect((try? vp9(written { descriptor.write(to: &$0) } ?? []))?.0 == descriptor)
      var copy = Array(bytes)
      let isDone = copy.withUnsafeMutableBytes { VP9Descriptor.rewrite($0, pictureID: 1, tl0PictureIndex: 2) }
      #expect(isDone)
      #expect((try? vp9(copy))?.length == length)
    }
  }

  @Test func randomOpusPayloadsAreHarmless() {
    forEachInput(seed: 5, seeds: ["4B 83 01 02 0A 0B 0B 0C", "4B 41 02 0A 00 00"].map(hex)) { bytes in
      guard let payload = try? OpusPayload(parsing: bytes) else { return }
      #expect((120...5_760).contains(payload.duration))
    }
  }
}
