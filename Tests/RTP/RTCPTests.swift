import KoineRTP
import Testing

struct RTCPTests {
  private static func block(_ source: UInt32, lost: Int32 = 0) -> ReportBlock {
    ReportBlock(
      source: source, fractionLost: 255, cumulativeLost: lost, highestSequence: .max, jitter: 7,
      lastSenderReport: 0x1122_3344, delaySinceLastReport: 65_536)
  }

  /// Packets of every kind, with edge cases.
  static let everyKind: [RTCP] = [
    .senderReport(SenderReport(sender: 1, ntp: .max, rtpTimestamp: 3, packets: 4, octets: 5)),
    .senderReport(
      SenderReport(sender: 1, ntp: 2, rtpTimestamp: 3, packets: 4, octets: 5, blocks: [block(8, lost: -1), block(9)])),
    .receiverReport(sender: 1, []),
    .receiverReport(sender: 1, [block(2, lost: 0x7F_FFFF), block(3, lost: -0x80_0000)]),
    .receiverReport(sender: 1, (0..<31).map { block($0) }),
    .sourceDescription([]),
    .sourceDescription([SourceDescription(source: 1, canonicalName: "")]),
    .sourceDescription([
      SourceDescription(source: 1, canonicalName: "a"), SourceDescription(source: 2, canonicalName: "ab"),
      SourceDescription(source: 3, canonicalName: "abc"), SourceDescription(source: 4, canonicalName: "ünï"),
      SourceDescription(source: 5, canonicalName: String(repeating: "x", count: 255)),
    ]),
    .goodbye([]), .goodbye([1, .max]),
    .nack(GenericNACK(sender: 1, media: 2, sequences: [])),
    .nack(GenericNACK(sender: 1, media: 2, sequences: [65_534, 65_535, 0, 14, 15, 40])),
    .pictureLoss(sender: 1, media: 2),
    .fullIntraRequest(sender: 1, []),
    .fullIntraRequest(sender: 1, [FullIntraEntry(media: 2, number: 255), FullIntraEntry(media: 3, number: 0)]),
    .estimate(ReceiverEstimate(sender: 1, bitrate: 0, sources: [])),
    .estimate(ReceiverEstimate(sender: 1, bitrate: 0x3FFFF << 45, sources: [2, 3, 4])),
    .transportFeedback(
      TransportFeedback(sender: 1, media: 2, base: 65_535, referenceTime: 0xFF_FFFF, number: 9, deltas: [4, nil, -1])),
  ]

  @Test(arguments: everyKind) func packetOfEveryKindIsReadBack(_ packet: RTCP) throws {
    let bytes = try #require(encoded(packet))
    #expect(bytes.count % 4 == 0)
    #expect(try rtcp(bytes) == [packet])
  }

  @Test func compoundPacketIsReadBack() throws {
    let bytes = try #require(written(capacity: 10_000) { for packet in Self.everyKind { packet.write(to: &$0) } })
    #expect(try rtcp(bytes) == Self.everyKind)
  }

  /// Cut after any byte, a compound gives the packets before the cut and an error, unless the cut is between two.
  @Test func cutCompoundPacketGivesThePacketsBeforeTheCut() throws {
    let bytes = try #require(written(capacity: 10_000) { for packet in Self.everyKind { packet.write(to: &$0) } })
    var ends: [Int] = [0]
    for packet in Self.everyKind { ends.append((ends.last ?? 0) + (encoded(packet)?.count ?? 0)) }
    for cut in 0..<bytes.count {
      var found: [RTCP] = []
      let isWhole = withBlock(bytes.prefix(cut)) { bytes in
        do throws(RTPError) {
          try RTCP.forEach(in: bytes) { found.append($0) }
          return true
        } catch {
          #expect(error == .truncated)
          return false
        }
      }
      #expect(isWhole == ends.contains(cut))
      #expect(found == Array(Self.everyKind.prefix(ends.lastIndex { $0 <= cut } ?? 0)))
    }
  }

  /// A packet shortened together with its length field is malformed or read as a smaller packet, and never traps.
  @Test(arguments: everyKind) func packetShortenedByWordsIsMalformedOrSmaller(_ packet: RTCP) throws {
    var bytes = try #require(encoded(packet))
    while bytes.count > 4 {
      bytes.removeLast(4)
      bytes[3] = UInt8(truncatingIfNeeded: bytes.count / 4 - 1)
      bytes[2] = UInt8(truncatingIfNeeded: (bytes.count / 4 - 1) >> 8)
      #expect((try? rtcp(bytes)) != [packet])
    }
  }

  @Test(arguments: everyKind) func packetThatDoesNotFitIsNotWritten(_ packet: RTCP) throws {
    let count = try #require(encoded(packet)).count
    for capacity in 0..<count { #expect(written(capacity: capacity) { packet.write(to: &$0) } == nil) }
    #expect(written(capacity: count) { packet.write(to: &$0) } != nil)
  }

  /// RFC 3550, 6.4.1 and 6.4.2: the order of the fields.
  @Test func reportsAreEncodedAsInRFC3550() throws {
    let report = SenderReport(sender: 0x0102_0304, ntp: 5 << 32 | 6, rtpTimestamp: 7, packets: 8, octets: 9)
    #expect(
      encoded(.senderReport(report))
        == hex("80 C8 0006 01020304 00000005 00000006 00000007 00000008 00000009"))
    let block = ReportBlock(
      source: 2, fractionLost: 0x80, cumulativeLost: -2, highestSequence: 0x0001_0002, jitter: 3, lastSenderReport: 4,
      delaySinceLastReport: 5)
    #expect(
      encoded(.receiverReport(sender: 1, [block]))
        == hex("81 C9 0007 00000001 00000002 80FFFFFE 00010002 00000003 00000004 00000005"))
  }

  @Test func cumulativeLossIsClampedToItsField() throws {
    for (given, kept) in [(Int32.max, Int32(0x7F_FFFF)), (.min, -0x80_0000)] {
      let bytes = try #require(encoded(.receiverReport(sender: 1, [Self.block(1, lost: given)])))
      #expect(try rtcp(bytes) == [.receiverReport(sender: 1, [Self.block(1, lost: kept)])])
    }
  }

  @Test func blocksBeyondTheCountFieldAreOmitted() throws {
    let blocks = (0..<40).map { Self.block($0) }
    let packets: [RTCP] = [.receiverReport(sender: 1, blocks), .goodbye(Array(0..<40))]
    let bytes = try #require(written { for packet in packets { packet.write(to: &$0) } })
    #expect(try rtcp(bytes) == [.receiverReport(sender: 1, Array(blocks.prefix(31))), .goodbye(Array(0..<31))])
  }

  @Test func sourceDescriptionItemsOtherThanCNAMEAreSkipped() throws {
    let bytes = hex("82 CA 0006  00000001 02 02 4141 01 01 42 00  00000002 08 03 01 62 63 00 0000")
    let expected = [
      SourceDescription(source: 1, canonicalName: "B"), SourceDescription(source: 2, canonicalName: ""),
    ]
    #expect(try rtcp(bytes) == [.sourceDescription(expected)])
  }

  @Test func canonicalNameIsTruncatedBetweenCharacters() throws {
    let long = SourceDescription(source: 1, canonicalName: String(repeating: "ü", count: 200))
    #expect(long.canonicalName == String(repeating: "ü", count: 127))
    #expect(try rtcp(#require(encoded(.sourceDescription([long])))) == [.sourceDescription([long])])
    let notText = [UInt8](hex("81 CA 0042 00000001 01 FF")) + [UInt8](repeating: 0xFF, count: 255) + [0, 0, 0]
    #expect(
      try rtcp(notText) == [
        .sourceDescription([SourceDescription(source: 1, canonicalName: String(repeating: "\u{FFFD}", count: 85))])
      ])
  }

  @Test(arguments: [
    "81 CA 0001 00000001", "81 CA 0002 00000001 01 02 4142", "81 CA 0002 00000001 01 FF 4142", "81 CA 0000",
  ]) func sourceDescriptionWithoutTerminatorIsMalformed(_ text: String) {
    #expect(throws: RTPError.malformed) { try rtcp(hex(text)) }
  }

  @Test func reasonOfAGoodbyeIsSkipped() throws {
    #expect(try rtcp(hex("81 CB 0003 00000001 05 68656C6C6F 0000")) == [.goodbye([1])])
    #expect(throws: RTPError.malformed) { try rtcp(hex("82 CB 0001 00000001")) }
  }

  @Test func paddingIsNoPartOfThePacket() throws {
    let bye = hex("A1 CB 0002 00000001 00000004")
    #expect(try rtcp(bye) == [.goodbye([1])])
    #expect(throws: RTPError.malformed) { try rtcp(hex("A1 CB 0002 00000001 00000000")) }
    #expect(throws: RTPError.malformed) { try rtcp(hex("A1 CB 0002 00000001 00000009")) }
    #expect(throws: RTPError.malformed) { try rtcp(hex("A0 CB 0000")) }
    // Nothing is left for the source.
    #expect(throws: RTPError.malformed) { try rtcp(hex("A1 CB 0002 00000001 00000008")) }
  }

  @Test func packetOfAnUnknownTypeIsReadWithItsType() throws {
    #expect(try rtcp(hex("80 CF 0001 00000001")) == [.unknown(type: 207)])
    #expect(try rtcp(hex("80 CC 0000")) == [.unknown(type: 204)])
    #expect(try rtcp(hex("82 CD 0002 00000001 00000002")) == [.unknown(type: 205)])
    #expect(try rtcp(hex("8F CE 0002 00000001 00000002")) == [.unknown(type: 206)])
    #expect(encoded(.unknown(type: 207)) == [])
  }

  @Test func packetOfAnotherVersionIsRefused() {
    #expect(throws: RTPError.version) { try rtcp(hex("40 CB 0000")) }
    #expect(throws: RTPError.truncated) { try rtcp(hex("80 CB 00")) }
  }
}
