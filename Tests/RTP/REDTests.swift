import KoineBase
import KoineRTP
import Testing

struct REDTests {
  private func blocks(_ bytes: [UInt8]) throws -> [RED.Block] {
    try withBlock(bytes) { bytes in
      var blocks: [RED.Block] = []
      try RED.forEachBlock(of: 0..<bytes.count, in: bytes) { blocks.append($0) }
      return blocks
    }
  }

  /// RFC 2198, section 3: F, 7 bits of type, 14 of the offset, 10 of the length.
  @Test func copyAndPrimaryAreRead() throws {
    let found = try blocks(hex("EF 0F0002 6F AABB CCDDEE"))
    #expect(
      found == [
        .init(payloadType: 111, offset: 960, payload: 5..<7, distance: 1),
        .init(payloadType: 111, offset: 0, payload: 7..<10, distance: 0),
      ])
  }

  @Test func writtenHeadersAreReadBack() throws {
    let bytes = try #require(
      written { writer in
        RED.writeCopyHeader(payloadType: 63, offset: 1_920, length: 1_023, to: &writer)
        RED.writeCopyHeader(payloadType: 111, offset: RED.furthestOffset, length: 0, to: &writer)
        RED.writePrimaryHeader(payloadType: 111, to: &writer)
        for index in 0..<1_024 { writer.write(UInt8(truncatingIfNeeded: index)) }
      })
    #expect(
      try blocks(bytes) == [
        .init(payloadType: 63, offset: 1_920, payload: 9..<1_032, distance: 2),
        .init(payloadType: 111, offset: 0x3FFF, payload: 1_032..<1_032, distance: 1),
        .init(payloadType: 111, offset: 0, payload: 1_032..<1_033, distance: 0),
      ])
  }

  @Test func payloadWithoutCopiesHasOnlyThePrimaryBlock() throws {
    #expect(try blocks(hex("6F 01")) == [.init(payloadType: 111, offset: 0, payload: 1..<2, distance: 0)])
    #expect(try blocks(hex("6F")) == [.init(payloadType: 111, offset: 0, payload: 1..<1, distance: 0)])
  }

  @Test(arguments: [
    "",  // no header
    "EF",  // half a copy's header
    "EF 0F00", "EF 0F0002",  // no primary header
    "EF 0F0002 6F AA",  // the copy is longer than the packet
    "EF 0FFFFF 6F AA",
  ]) func malformedBlocksAreRefused(text: String) {
    #expect(throws: RTPError.truncated) { try blocks(hex(text)) }
  }

  @Test func endlessHeadersAreRefused() {
    let headers = Array(repeating: hex("EF 0F0000"), count: RED.copyLimit + 1).joined()
    let bytes = Array(headers) + [0x6F as UInt8]
    #expect(throws: RTPError.malformed) { try blocks(bytes) }
    #expect(throws: Never.self) { try blocks(Array(bytes.dropFirst(4))) }
  }

  @Test func blocksBeyondThePayloadRangeAreTruncated() {
    withBlock(hex("EF 0F0002 6F AABB CC")) { bytes in
      #expect(throws: RTPError.truncated) { try RED.forEachBlock(of: 0..<6, in: bytes) { _ in } }
      #expect(throws: RTPError.truncated) { try RED.forEachBlock(of: 0..<20, in: bytes) { _ in } }
    }
  }
}
