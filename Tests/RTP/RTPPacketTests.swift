import KoineRTP
import Testing

struct RTPPacketTests {
  @Test func fixedHeaderIsRead() throws {
    let packet = try packet(hex("80 E0 FFFE 01020304 A1A2A3A4 DEAD"))
    #expect(packet.marker)
    #expect(packet.payloadType == 96)
    #expect(packet.sequence == 0xFFFE)
    #expect(packet.timestamp == 0x0102_0304)
    #expect(packet.ssrc == 0xA1A2_A3A4)
    #expect(packet.headerLength == 12)
    #expect(packet.payloadRange == 12..<14)
  }

  @Test func payloadComesAfterContributingSourcesAndExtensionAndBeforePadding() throws {
    let bytes = hex("B2 60 0001 00000000 00000001  00000002 00000003  ABCD 0001 11223344  AABB 000003")
    let packet = try packet(bytes)
    #expect(packet.headerLength == 28)
    #expect(packet.payloadRange == 28..<30)
    withBlock(bytes) { #expect(Array(packet.payload(in: $0)) == hex("AABB")) }
  }

  @Test func packetOfPaddingOnlyHasAnEmptyPayload() throws {
    #expect(try packet(hex("A0 60 0001 00000000 00000001 00 02")).payloadRange.isEmpty)
  }

  @Test(arguments: [
    "A0 60 0001 00000000 00000001 00", "A0 60 0001 00000000 00000001 03 03", "A0 60 0001 00000000 00000001",
  ])
  func paddingBeyondThePayloadIsMalformed(_ text: String) {
    #expect(throws: RTPError.malformed) { try packet(hex(text)) }
  }

  @Test(arguments: ["00", "40", "C0"]) func packetsOfOtherVersionsAreRefused(_ first: String) {
    #expect(throws: RTPError.version) { try packet(hex(first + "60 0001 00000000 00000001")) }
  }

  @Test func headerCutAtAnyByteIsTruncated() throws {
    let whole = hex("92 60 0001 00000000 00000001  00000002 00000003  BEDE 0001 10112200")
    _ = try packet(whole)
    for count in 0..<whole.count {
      #expect(throws: RTPError.truncated) { try packet(Array(whole.prefix(count))) }
    }
  }

  @Test func writtenHeaderIsReadBack() throws {
    let header = RTPHeader(marker: true, payloadType: 111, sequence: 65_535, timestamp: .max, ssrc: 0x8000_0001)
    var out = [UInt8](repeating: 0xEE, count: 12)
    let length = out.withUnsafeMutableBytes { header.write(into: $0) }
    #expect(length == 12)
    let read = try packet(out)
    #expect(read.marker)
    #expect(read.payloadType == 111)
    #expect(read.sequence == 65_535)
    #expect(read.timestamp == .max)
    #expect(read.ssrc == 0x8000_0001)
  }

  @Test func headerThatDoesNotFitIsNotWritten() {
    var extensions = HeaderExtensions()
    extensions.transportSequence = 1
    let header = RTPHeader(payloadType: 96, sequence: 1, timestamp: 2, ssrc: 3)
    for count in 0..<20 {
      let out = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
      defer { out.deallocate() }
      #expect(header.write(into: out, extensions: extensions) == nil)
    }
    let out = UnsafeMutableRawBufferPointer.allocate(byteCount: 20, alignment: 1)
    defer { out.deallocate() }
    #expect(header.write(into: out, extensions: extensions) == 20)
  }

  /// RFC 5761, section 4.
  @Test func controlPacketsAreRecognisedByTheirType() {
    withBlock(hex("80 C8")) { #expect(RTPPacket.isRTCP($0)) }
    withBlock(hex("81 CE")) { #expect(RTPPacket.isRTCP($0)) }
    withBlock(hex("80 E0")) { #expect(!RTPPacket.isRTCP($0)) }
    withBlock(hex("80 60")) { #expect(!RTPPacket.isRTCP($0)) }
    withBlock(hex("80")) { #expect(!RTPPacket.isRTCP($0)) }
  }
}

struct RTXTests {
  @Test func wrappedPayloadIsUnwrappedUnchanged() throws {
    let payload = hex("0102030405")
    let wrapped = try #require(
      written { writer in
        withBlock(payload) { source in
          let out = UnsafeMutableRawBufferPointer.allocate(byteCount: 7, alignment: 1)
          defer { out.deallocate() }
          #expect(RTX.wrap(source, sequence: 0xFFFF, into: out) == 7)
          writer.write(UnsafeRawBufferPointer(out))
        }
      })
    #expect(wrapped == hex("FFFF 0102030405"))
    withBlock(wrapped) { bytes in
      let original = RTX.unwrap(0..<7, in: bytes)
      #expect(original?.sequence == 0xFFFF)
      #expect(original?.payload == 2..<7)
    }
  }

  @Test func payloadWithoutASequenceNumberIsNotUnwrapped() {
    withBlock(hex("0102030405")) { bytes in
      #expect(RTX.unwrap(0..<0, in: bytes) == nil)
      #expect(RTX.unwrap(4..<5, in: bytes) == nil)
      #expect(RTX.unwrap(4..<9, in: bytes) == nil)
      #expect(RTX.unwrap(3..<5, in: bytes)?.payload == 5..<5)
    }
  }

  @Test func payloadThatDoesNotFitIsNotWrapped() {
    withBlock(hex("0102030405")) { bytes in
      for count in 0..<7 {
        let out = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { out.deallocate() }
        #expect(RTX.wrap(bytes, sequence: 1, into: out) == nil)
      }
    }
  }
}
