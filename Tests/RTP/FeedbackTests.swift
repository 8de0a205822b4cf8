import KoineBase
import KoineRTP
import Testing

struct FeedbackTests {
  /// RFC 4585, 6.2.1: a number and a mask of the 16 that follow it.
  @Test func nackIsEncodedAsInRFC4585() {
    let nack = GenericNACK(sender: 1, media: 2, sequences: [100, 101, 116, 117])
    #expect(encoded(.nack(nack)) == hex("81 CD 0004 00000001 00000002 0064 8001 0075 0000"))
  }

  @Test func nackKeepsTheOrderOfLostSequenceNumbers() throws {
    for sequences: [UInt16] in [[5, 7, 6], [5, 5], [9, 3], [65_535, 0, 65_534]] {
      let nack = RTCP.nack(GenericNACK(sender: 1, media: 2, sequences: sequences))
      #expect(try rtcp(#require(encoded(nack))) == [nack])
    }
  }

  /// RFC 5104, 4.3.1.1, and RFC 4585, 6.3.1.
  @Test func keyFrameRequestsAreEncodedAsInTheirRFCs() {
    #expect(encoded(.pictureLoss(sender: 1, media: 2)) == hex("81 CE 0002 00000001 00000002"))
    #expect(
      encoded(.fullIntraRequest(sender: 1, [FullIntraEntry(media: 2, number: 3)]))
        == hex("84 CE 0004 00000001 00000000 00000002 03000000"))
  }

  /// draft-alvestrand-rmcat-remb-03, 2.2.
  @Test func receiverEstimateIsEncodedAsInTheREMBDraft() {
    let estimate = ReceiverEstimate(sender: 1, bitrate: 1_000_000, sources: [0x0A0B_0C0D])
    #expect(
      encoded(.estimate(estimate)) == hex("8F CE 0005 00000001 00000000 52454D42 01 0BD090 0A0B0C0D"))
  }

  @Test func estimateBeyondTheMantissaIsRoundedDown() throws {
    for bitrate: UInt64 in [0x40001, 123_456_789, .max] {
      let bytes = try #require(encoded(.estimate(ReceiverEstimate(sender: 1, bitrate: bitrate, sources: []))))
      guard case .estimate(let read) = try #require(rtcp(bytes).first) else {
        Issue.record("not an estimate")
        continue
      }
      #expect(read.bitrate <= bitrate)
      #expect(Double(read.bitrate) >= Double(bitrate) * (1 - 1.0 / 131_072))
    }
  }

  @Test func malformedEstimateIsReadAsUnknownPacket() throws {
    let tooLarge = hex("8F CE 0004 00000001 00000000 52454D42 00 FFFFFF")
    #expect(try rtcp(tooLarge) == [.unknown(type: 206)])
    let sourceMissing = hex("8F CE 0004 00000001 00000000 52454D42 01 000001")
    #expect(try rtcp(sourceMissing) == [.unknown(type: 206)])
  }
}

struct TransportFeedbackTests {
  private func feedback(_ deltas: [Int16?]) -> TransportFeedback {
    TransportFeedback(sender: 1, media: 2, base: 3, referenceTime: 4, number: 5, deltas: deltas)
  }

  private func deltas(count: Int, chunks: String, _ deltas: String) throws -> [Int16?] {
    var content = hex("00000001 00000002 0003") + [UInt8(count >> 8), UInt8(count & 0xFF)] + hex("000004 05")
    content += hex(chunks) + hex(deltas)
    while content.count % 4 != 0 { content.append(0) }
    guard case .transportFeedback(let read) = try rtcp(hex("8F CD 00") + [UInt8(content.count / 4)] + content)[0] else {
      throw RTPError.malformed
    }
    #expect(read == feedback(read.deltas))
    return read.deltas
  }

  /// The chunks shown in draft-holmer-rmcat-transport-wide-cc-extensions-01, sections 3.1.3 and 3.1.4.
  @Test func exampleChunksOfTheDraftAreDecoded() throws {
    #expect(try deltas(count: 221, chunks: "00DD", "") == Array(repeating: nil, count: 221))
    let oneBit = try deltas(count: 14, chunks: "9F1C", "01 02 03 04 05 06 07 08")
    #expect(oneBit == [nil, 1, 2, 3, 4, 5, nil, nil, nil, 6, 7, 8, nil, nil])
    let twoBits = try deltas(count: 7, chunks: "C950", "0100 02 03 04")
    #expect(twoBits == [nil, 256, 2, 3, 4, nil, nil])
  }

  /// Thirty-one reports that claim 65,535 packets each fit a datagram.
  @Test func feedbackDatagramReportsNoMorePacketsThanTheLimit() throws {
    func report(runs: Int) -> [UInt8] {
      var bytes = hex("8F CD 0000 00000001 00000002 0003") + [UInt8(runs * 2_048 >> 8), 0] + hex("000004 05")
      for _ in 0..<runs { bytes += hex("0800") }
      while bytes.count % 4 != 0 { bytes.append(0) }
      bytes[3] = UInt8(bytes.count / 4 - 1)
      return bytes
    }
    #expect(try rtcp(report(runs: 4)).count == 1)
    #expect(throws: RTPError.malformed) { try rtcp(report(runs: 5)) }
    var named = 0
    let many = Array(repeatElement(report(runs: 1), count: 31).joined())
    var failure: RTPError?
    many.withUnsafeBytes { bytes in
      do throws(RTPError) {
        try RTCP.forEach(in: bytes) { if case .transportFeedback(let report) = $0 { named += report.deltas.count } }
      } catch {
        failure = error
      }
    }
    #expect(failure == .malformed)
    #expect(named == TransportFeedback.limit)
  }

  /// The draft's examples use symbol 3, "received without delta", which its table reserves. Like other implementations, we
  /// refuse it.
  @Test func reservedSymbolIsMalformed() {
    #expect(throws: RTPError.malformed) { try deltas(count: 24, chunks: "6018", "") }
    #expect(throws: RTPError.malformed) { try deltas(count: 7, chunks: "CD50", "01 02 03") }
    #expect(throws: RTPError.malformed) { try deltas(count: 1, chunks: "F000", "") }
  }

  @Test func runLengthChunkBeyondThePacketCountIsAccepted() throws {
    #expect(try deltas(count: 2, chunks: "3FFF", "07 08") == [7, 8])
    #expect(try deltas(count: 2, chunks: "4FFF", "FFFF 7FFF") == [-1, 32_767])
  }

  @Test func missingChunkOrDeltaIsMalformed() {
    #expect(throws: RTPError.malformed) { try deltas(count: 15, chunks: "8000", "") }
    #expect(throws: RTPError.malformed) { try deltas(count: 9, chunks: "2009", "01 02") }
    #expect(throws: RTPError.malformed) { try deltas(count: 1, chunks: "0000 2001", "01") }
  }

  @Test func smallAndLargeDeltasAreReadBack() throws {
    for delta: Int16 in [.min, -1, 0, 255, 256, .max] {
      let packet = RTCP.transportFeedback(feedback([delta]))
      let bytes = try #require(encoded(packet))
      #expect(bytes.count == 24)
      #expect(try rtcp(bytes) == [packet])
    }
  }

  @Test func encoderChoosesTheShortestChunks() throws {
    let alternating: [Int16?] = (0..<14).map { $0 % 2 == 0 ? 1 : nil }
    #expect(encoded(.transportFeedback(feedback(alternating)))?[20...21] == [0xAA, 0xAA])
    let run = [Int16?](repeating: 1, count: 1_000)
    #expect(encoded(.transportFeedback(feedback(run)))?[20...21] == [0x23, 0xE8])
    let lost = [Int16?](repeating: nil, count: TransportFeedback.limit - 1) + [1]
    #expect(encoded(.transportFeedback(feedback(lost)))?.count == 28)  // two runs, one delta
    let large: [Int16?] = [1, -1, nil, 1, -1, nil, 1]
    #expect(encoded(.transportFeedback(feedback(large)))?[20...21] == [0xD8, 0x61])
  }

  @Test func randomPatternOfDeltasIsReadBack() throws {
    var random = SeededRandom(seed: 7)
    for _ in 0..<2_000 {
      let count = Int.random(in: 1...200, using: &random)
      let shape = Int.random(in: 0...4, using: &random)
      let deltas: [Int16?] = (0..<count).map { index in
        switch shape {
        case 0: Bool.random(using: &random) ? nil : 1
        case 1: [nil, 1, -1][Int.random(in: 0...2, using: &random)]
        case 2: index / 20 % 2 == 0 ? 300 : nil
        case 3: index / 9 % 2 == 0 ? 3 : -3
        default: Int16.random(in: -300...300, using: &random)
        }
      }
      let packet = RTCP.transportFeedback(feedback(deltas))
      #expect(try rtcp(#require(encoded(packet))) == [packet])
    }
  }

  @Test func largestFeedbackIsReadBackAndLongerOneIsCut() throws {
    let all = RTCP.transportFeedback(feedback((0..<TransportFeedback.limit).map { Int16(truncatingIfNeeded: $0) }))
    let bytes = try #require(written(capacity: 300_000) { all.write(to: &$0) })
    #expect(try rtcp(bytes) == [all])
    let more = RTCP.transportFeedback(feedback([Int16?](repeating: nil, count: 70_000)))
    let cut = try #require(written(capacity: 1_000) { more.write(to: &$0) })
    #expect(try rtcp(cut) == [.transportFeedback(feedback([Int16?](repeating: nil, count: TransportFeedback.limit)))])
  }
}
