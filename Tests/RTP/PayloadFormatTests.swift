import KoineBase
import KoineRTP
import Testing

/// Requirements of every payload format.
@Suite struct PayloadFormatTests {
  /// A payload whose codec bytes begin with a byte that VP8 takes for the kind of frame; VP9 says it in the descriptor.
  private func payload(_ codec: Codec, _ frame: OutgoingFrame, isFirst: Bool = true, isLast: Bool = true) -> [UInt8] {
    written {
      codec.writeDescriptor(of: frame, isFirst: isFirst, isLast: isLast, to: &$0)
      $0.write(UInt8(frame.isKey ? 0x80 : 0x81))
    } ?? []
  }

  private func frame(isKey: Bool = false, layer: UInt8 = 0, of layers: UInt8 = 1) -> OutgoingFrame {
    var frame = OutgoingFrame()
    (frame.isKey, frame.temporalLayer, frame.temporalLayers) = (isKey, layer, layers)
    (frame.pictureID, frame.tl0PictureIndex) = (0x7FFE, 0xFD)
    return frame
  }

  private func info(_ codec: Codec, _ payload: [UInt8]) throws -> VideoPacketInfo {
    try #require(withBlock(payload) { codec.videoPacketInfo(of: $0) })
  }

  @Test(arguments: Codec.videoCodecs) func writtenDescriptorIsReadBack(_ codec: Codec) throws {
    for isKey in [true, false] {
      let written = payload(codec, frame(isKey: isKey), isLast: false)
      let info = try info(codec, written)
      #expect(info.startsFrame)
      #expect(info.startsKeyFrame == isKey)
      #expect(info.pictureID == 0x7FFE)
      #expect(info.tl0PictureIndex == 0xFD)
      #expect(info.baseLayerIndex == 0xFD)
      #expect(Int(info.descriptorLength) == written.count - 1)
    }
  }

  @Test(arguments: Codec.videoCodecs) func laterPacketOfAFrameStartsNoFrameAndNoLayer(_ codec: Codec) throws {
    let info = try info(codec, payload(codec, frame(isKey: true), isFirst: false))
    #expect(!info.startsFrame)
    #expect(!info.startsKeyFrame)
    #expect(!info.startsSpatialLayer)
  }

  @Test(arguments: Codec.videoCodecs) func temporalLayersAreReadBackAndMarked(_ codec: Codec) throws {
    for layer: UInt8 in 0..<3 {
      let info = try info(codec, payload(codec, frame(layer: layer, of: 3)))
      #expect(info.temporalLayer == layer)
      // A router must find a place where it may let upper layers through again.
      if layer > 0 { #expect(info.syncsTemporalLayer || info.opensTemporalLayers) }
    }
  }

  @Test(arguments: Codec.videoCodecs) func descriptorIsNoLongerThanAnnounced(_ codec: Codec) {
    for layers: UInt8 in 1...3 {
      #expect(payload(codec, frame(isKey: true, of: layers)).count - 1 <= codec.longestDescriptor)
    }
    #expect(payload(codec, frame(isKey: true, of: 3)).count - 1 == codec.longestDescriptor)
  }

  @Test(arguments: Codec.videoCodecs) func rewritingADescriptorChangesOnlyItsFrameNumbers(_ codec: Codec) throws {
    var bytes = payload(codec, frame(layer: 1, of: 3))
    var expected = try info(codec, bytes)
    bytes.withUnsafeMutableBytes { codec.rewrite($0, FrameNumbers(pictureID: 3, tl0PictureIndex: 4)) }
    (expected.pictureID, expected.tl0PictureIndex) = (3, 4)
    #expect(try info(codec, bytes) == expected)
  }

  @Test(arguments: Codec.videoCodecs) func descriptorWithoutPayloadIsRefused(_ codec: Codec) {
    let whole = payload(codec, frame(isKey: true, of: 3))
    for count in 0..<whole.count { withBlock(whole.prefix(count)) { #expect(codec.videoPacketInfo(of: $0) == nil) } }
  }

  @Test(arguments: Codec.allCases) func codecIsFoundByItsSDPName(_ codec: Codec) {
    let name = codec.rawValue.lowercased()
    #expect(Codec(sdpName: name, rate: "\(codec.clockRate)") == codec)
    #expect(Codec(sdpName: name, rate: "8000") == nil)
    #expect(codec.accepts([:]))
  }

  @Test func sdpNamesOfCodecsAreThoseOfTheirRFCs() {
    #expect(Codec.opus.rtpmap == "opus/48000/2")
    #expect(Codec.vp8.rtpmap == "VP8/90000")
    #expect(Codec.vp9.rtpmap == "VP9/90000")
    #expect(Codec.vp9.accepts(["profile-id": "0"]))
    #expect(!Codec.vp9.accepts(["profile-id": "2"]))
  }

  /// RFC 3551, 6: dynamic types are 96...127.
  @Test func payloadTypesAreDynamicAndDifferent() {
    let types = Codec.allCases.flatMap { [$0.payloadType, $0.rtxPayloadType] }
    #expect(Set(types).count == types.count)
    #expect(types.allSatisfy { (96...127).contains($0) })
  }

  @Test func audioHasNoDescriptor() {
    withBlock([0xFC, 0xFF]) { #expect(Codec.opus.videoPacketInfo(of: $0) == nil) }
    #expect(payload(.opus, frame()).count == 1)
    #expect(Codec.opus.longestDescriptor == 0)
  }

  /// A router keeps one with each packet that it forwards.
  @Test func packetInfoIsSmall() { #expect(MemoryLayout<VideoPacketInfo>.size <= 32) }
}
