import KoineRTP
import Testing

struct HeaderExtensionTests {
  private static let header = RTPHeader(payloadType: 96, sequence: 1, timestamp: 2, ssrc: 3)

  private func elements(_ text: String, profile: String = "BEDE") throws -> [UInt8: [UInt8]] {
    var content = hex(text)
    while content.count % 4 != 0 { content.append(0) }
    let bytes =
      hex("90 60 0001 00000000 00000001" + profile) + [0, UInt8(content.count / 4)] + content + hex("AABBCCDD")
    let packet = try packet(bytes)
    return withBlock(bytes) { bytes in
      var found: [UInt8: [UInt8]] = [:]
      packet.forEachExtension(in: bytes) { id, value in
        found[id] = Array(value)
        return true
      }
      for (id, value) in found {
        #expect(packet.extensionRange(id: id, in: bytes).map { Array(bytes[$0]) } == value)
      }
      #expect(packet.extensionRange(id: 200, in: bytes) == nil)
      return found
    }
  }

  /// The layouts shown in RFC 8285, sections 4.2 and 4.3.
  @Test func exampleLayoutsOfRFC8285AreRead() throws {
    let oneByte = try elements("10 AA 21 BBBB 00 00 33 CCCCCCCC")
    #expect(oneByte == [1: hex("AA"), 2: hex("BBBB"), 3: hex("CCCCCCCC")])
    let twoByte = try elements("01 00 02 01 AA 00 03 04 BBBBBBBB", profile: "1000")
    #expect(twoByte == [1: [], 2: hex("AA"), 3: hex("BBBBBBBB")])
  }

  @Test func applicationBitsOfTheTwoByteProfileAreIgnored() throws {
    #expect(try elements("05 01 AA", profile: "100F") == [5: hex("AA")])
    #expect(try elements("05 01 AA", profile: "1010").isEmpty)
  }

  @Test func id15EndsOneByteElements() throws {
    #expect(try elements("10 AA F0 BB 20 CC") == [1: hex("AA")])
    #expect(try elements("0F 01 AA", profile: "1000") == [15: hex("AA")])
  }

  /// RFC 8285, section 4.2: an element of number 0 with a length ends the processing.
  @Test func id0WithALengthEndsOneByteElements() throws {
    #expect(try elements("10 AA 01 BBBB 20 CC") == [1: hex("AA")])
  }

  @Test func elementLongerThanTheBlockEndsTheParsing() throws {
    #expect(try elements("10 AA 2F BB") == [1: hex("AA")])
    #expect(try elements("01 01 AA 02 09 BB", profile: "1000") == [1: hex("AA")])
    #expect(try elements("01 01 AA 02", profile: "1000") == [1: hex("AA")])
    #expect(try elements("03 04 AABBCCDD 00 02", profile: "1000") == [3: hex("AABBCCDD")])
  }

  private static func full() -> HeaderExtensions {
    var values = HeaderExtensions()
    values.audioLevel = -127
    values.voiceActivity = true
    values.mid = "0"
    values.rid = "high"
    values.repairedRID = "abcdefghijklmnop"
    values.absoluteSendTime = 0xABCDEF
    values.absoluteCaptureTime = 0x0123_4567_89AB_CDEF
    values.captureClockOffset = -1
    values.quarterTurns = 3
    values.transportSequence = 65_535
    return values
  }

  private func roundTrip(_ values: HeaderExtensions, _ map: HeaderExtensionMap) throws -> HeaderExtensions {
    var out = [UInt8](repeating: 0xEE, count: 700)
    let length = try #require(out.withUnsafeMutableBytes { Self.header.write(into: $0, extensions: values, map: map) })
    #expect(length % 4 == 0)
    let packet = try packet(Array(out[..<length]))
    #expect(packet.payloadRange.isEmpty)
    return withBlock(out[..<length]) { HeaderExtensions(packet, in: $0, map: map, names: true) }
  }

  @Test func allExtensionsTogetherAreReadBack() throws { #expect(try roundTrip(Self.full(), .koine) == Self.full()) }

  /// Bytes after the description of the extension: two numbers of 12 bits, in units of 10 ms.
  @Test func playoutDelayHasTheMinimumInItsUpperTwelveBits() throws {
    let map = HeaderExtensionMap([.playoutDelay: 5])
    var values = HeaderExtensions()
    for delay in [UInt16(0), 16, 0xFFF] {
      values.minimumPlayoutDelay = delay
      #expect(try roundTrip(values, map) == values)
    }
    values.minimumPlayoutDelay = 16
    var out = [UInt8](repeating: 0xEE, count: 40)
    let length = try #require(out.withUnsafeMutableBytes { Self.header.write(into: $0, extensions: values, map: map) })
    #expect(Array(out[12..<length]) == [0xBE, 0xDE, 0, 1, 0x52, 0x01, 0x0F, 0xFF])
    #expect(HeaderExtensionMap.koine.id(of: .playoutDelay) == nil)
  }

  @Test func eachExtensionAloneIsReadBack() throws {
    let changes: [(inout HeaderExtensions) -> Void] = [
      { $0.audioLevel = 0 }, { $0.audioLevel = -1 }, { $0.mid = "video" }, { $0.rid = "q" }, { $0.repairedRID = "h" },
      { $0.absoluteSendTime = 0 }, { $0.absoluteCaptureTime = .max }, { $0.quarterTurns = 1 },
      { $0.transportSequence = 0 },
      {
        $0.absoluteCaptureTime = 0
        $0.captureClockOffset = .min
      },
    ]
    for change in changes {
      var values = HeaderExtensions()
      change(&values)
      #expect(try roundTrip(values, .koine) == values)
    }
  }

  @Test func headerWithoutExtensionValuesOrIDsHasNoExtensionBlock() throws {
    for (values, map) in [(HeaderExtensions(), .koine), (Self.full(), HeaderExtensionMap([:]))] {
      var out = [UInt8](repeating: 0xEE, count: 100)
      let length = out.withUnsafeMutableBytes { Self.header.write(into: $0, extensions: values, map: map) }
      #expect(length == 12 && out[0] == 0x80)
    }
  }

  @Test func extensionIDsAbove14UseTheTwoByteForm() throws {
    let map = HeaderExtensionMap([.mid: 15, .audioLevel: 1, .transportSequence: 255])
    var values = HeaderExtensions()
    values.mid = "m"
    values.audioLevel = -30
    values.transportSequence = 77
    #expect(try roundTrip(values, map) == values)
  }

  @Test func longMIDsAndRIDsUseTheTwoByteForm() throws {
    var values = Self.full()
    values.mid = String(repeating: "m", count: 17)
    #expect(try roundTrip(values, .koine) == values)
    values.rid = String(repeating: "r", count: 255)
    #expect(try roundTrip(values, .koine) == values)
    values.rid = String(repeating: "r", count: 256)
    var shorter = values
    shorter.rid = nil
    #expect(try roundTrip(values, .koine) == shorter)
  }

  @Test func midsAndRIDsAreReadOnlyOnRequest() throws {
    var out = [UInt8](repeating: 0, count: 100)
    let length = try #require(out.withUnsafeMutableBytes { Self.header.write(into: $0, extensions: Self.full()) })
    let packet = try packet(Array(out[..<length]))
    let values = withBlock(out[..<length]) { HeaderExtensions(packet, in: $0, map: .koine) }
    #expect(values.mid == nil)
    #expect(values.rid == nil)
    #expect(values.repairedRID == nil)
    #expect(values.transportSequence == 65_535)
  }

  /// RFC 6464, section 3: levels go down to −127 dBov.
  @Test func audioLevelsOutsideTheRangeAreClamped() throws {
    var values = HeaderExtensions()
    values.audioLevel = -128
    #expect(try roundTrip(values, .koine).audioLevel == -127)
    values.audioLevel = 5
    #expect(try roundTrip(values, .koine).audioLevel == 0)
  }

  @Test func extensionMapFindsIDsAndKinds() {
    let map = HeaderExtensionMap([.mid: 3, .rid: 200])
    #expect(map.id(of: .mid) == 3)
    #expect(map.id(of: .rid) == 200)
    #expect(map.id(of: .audioLevel) == nil)
    #expect(map.kind(of: 3) == .mid)
    #expect(map.kind(of: 200) == .rid)
    #expect(map.kind(of: 0) == nil)
    #expect(map.kind(of: 255) == nil)
    for kind in HeaderExtensionMap.Kind.allCases where kind != .playoutDelay {
      #expect(HeaderExtensionMap.koine.id(of: kind).flatMap { HeaderExtensionMap.koine.kind(of: $0) } == kind)
    }
  }

  @Test func extensionValuesThatAreTooShortAreIgnored() throws {
    let map = HeaderExtensionMap.koine
    let bytes = hex("90 60 0001 00000000 00000001 1000 0004 0100 0502 AABB 0601 AA 0801 AA 0700 0000")
    let packet = try packet(bytes)
    let values = withBlock(bytes) { HeaderExtensions(packet, in: $0, map: map) }
    #expect(values == HeaderExtensions())
  }
}
