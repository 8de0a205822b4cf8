import KoineRTP
import Testing

struct OpusPayloadTests {
  private func opus(_ bytes: [UInt8]) throws -> OpusPayload { try withBlock(bytes) { try OpusPayload(parsing: $0) } }

  /// RFC 6716, table 2.
  @Test func configurationsHaveTheBandwidthAndDurationOfTheRFC() throws {
    var shapes: [(OpusPayload.Bandwidth, Int)] = []
    for bandwidth: OpusPayload.Bandwidth in [.narrow, .medium, .wide] {
      shapes += [480, 960, 1_920, 2_880].map { (bandwidth, $0) }
    }
    for bandwidth: OpusPayload.Bandwidth in [.superWide, .full] { shapes += [480, 960].map { (bandwidth, $0) } }
    for bandwidth: OpusPayload.Bandwidth in [.narrow, .wide, .superWide, .full] {
      shapes += [120, 240, 480, 960].map { (bandwidth, $0) }
    }
    for (configuration, shape) in shapes.enumerated() {
      for stereo in [false, true] {
        let payload = try opus([UInt8(configuration << 3) | (stereo ? 4 : 0), 1, 2, 3])
        #expect(payload.bandwidth == shape.0)
        #expect(payload.frameDuration == shape.1)
        #expect(payload.isStereo == stereo)
        #expect(payload.frameCount == 1)
        #expect(payload.duration == shape.1)
      }
    }
  }

  private static let wide20 = UInt8(9 << 3)

  @Test func frameCountsOfAllPacketCodesAreRead() throws {
    #expect(try opus([Self.wide20]).frameCount == 1)
    #expect(try opus([Self.wide20 | 1, 1, 2, 3, 4]).frameCount == 2)
    #expect(try opus([Self.wide20 | 2, 1, 9, 8, 7]).frameCount == 2)
    #expect(try opus([Self.wide20 | 3, 3, 1, 2, 3]).duration == 2_880)
    #expect(try opus([Self.wide20 | 3, 0x80 | 3, 1, 2, 0xA, 0xB, 0xB, 0xC]).frameCount == 3)
    #expect(try opus([Self.wide20 | 3, 0x40 | 1, 2, 0xA, 0, 0]).frameCount == 1)
  }

  /// RFC 6716, section 3.4: R1 to R7.
  @Test(arguments: [
    [],  // R1
    [UInt8](repeating: wide20, count: 1_277),  // R2
    [wide20 | 1, 1],  // R3
    [wide20 | 2], [wide20 | 2, 252], [wide20 | 2, 3, 1, 2],  // R4
    [wide20 | 3], [wide20 | 3, 0], [wide20 | 3, 7, 1, 1, 1, 1, 1, 1, 1],  // R5
    [wide20 | 3, 2, 1], [wide20 | 3, 0x41, 2, 0], [wide20 | 3, 0x41, 255, 0],  // R6
    [wide20 | 3, 0x82], [wide20 | 3, 0x82, 252], [wide20 | 3, 0x82, 2, 1], [wide20 | 3, 0xC2, 1, 1, 1],  // R7
  ]) func payloadThatViolatesARequirementIsRefused(_ bytes: [UInt8]) {
    #expect(throws: RTPError.self) { try opus(bytes) }
  }

  @Test func longestFramesAreAcceptedAndLongerOnesRefused() throws {
    #expect(try opus([Self.wide20] + [UInt8](repeating: 0, count: 1_275)).frameCount == 1)
    #expect(try opus([Self.wide20 | 2, 255, 255] + [UInt8](repeating: 0, count: 1_275)).frameCount == 2)
    #expect(throws: RTPError.malformed) {
      try opus([Self.wide20 | 2, 255, 255] + [UInt8](repeating: 0, count: 1_275 + 1_276))
    }
  }

  @Test func paddingLongerThan254BytesIsRead() throws {
    let padded = [Self.wide20 | 3, 0x41, 255, 1, 0xAA, 0xBB] + [UInt8](repeating: 0, count: 255)
    #expect(try opus(padded).frameCount == 1)
    #expect(throws: RTPError.self) { try opus(Array(padded.dropLast(3))) }
  }

  @Test func silentPayloadIsDiscontinuous() throws {
    #expect(try opus([Self.wide20]).isDiscontinuous)
    #expect(try opus([Self.wide20, 0]).isDiscontinuous)
    #expect(try !opus([Self.wide20, 1, 2]).isDiscontinuous)
    #expect(try opus([Self.wide20 | 1]).isDiscontinuous)
  }
}
