import KoineBase
import Testing

@testable import KoineTransport

@Suite("RFC 5769 test vectors") struct STUNTests {
  private static let password = "VOkJxbRl1RmTxUk/WvJxBt"
  private static let request = """
    0001005821 12a442b7e7a701bc34d686fa87dfae 802200105354554e207465737420636c69656e74 002400046e0001ff
    80290008932ff9b151263b36 000600096576746a3a68367659202020 000800149aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a2
    80280004e57a3bcf
    """
  private static let ipv4Response = """
    0101003c2112a442b7e7a701bc34d686fa87dfae 8022000b7465737420766563746f7220 002000080001a147e112a643
    000800142b91f599fd9e90c38c7489f92af9ba53f06be7d7 80280004c07d4c96
    """

  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  @Test func theSampleRequestIsReadAndVerified() throws {
    let bytes = Self.bytes(Self.request)
    try bytes.withUnsafeBytes { bytes in
      let message = try STUNMessage(parsing: bytes)
      #expect(message.kind == .request && message.username == "evtj:h6vY" && message.priority == 0x6E00_01FF)
      #expect(message.controlled == 0x932F_F9B1_5126_3B36)
      #expect(message.verify(bytes, key: Self.password))
      #expect(!message.verify(bytes, key: "wrong"))
      #expect(STUNMessage.localFragment(ofRequest: bytes) == "evtj")
    }
  }

  @Test func theSampleResponseTellsTheAddress() throws {
    let bytes = Self.bytes(Self.ipv4Response)
    try bytes.withUnsafeBytes { bytes in
      let message = try STUNMessage(parsing: bytes)
      #expect(message.mappedAddress == SocketAddress("192.0.2.1", port: 32_853))
      #expect(message.verify(bytes, key: Self.password))
    }
  }

  @Test func aCutOrChangedMessageIsRefusedAndHarmless() {
    let whole = Self.bytes(Self.request)
    for length in 0..<whole.count {
      let isRead = whole[..<length].withUnsafeBytes { (try? STUNMessage(parsing: $0)) != nil }
      #expect(!isRead)
    }
    // But for the two bytes that make the last attribute a fingerprint: without one a message is whole, too.
    for index in whole.indices where index != whole.count - 8 && index != whole.count - 7 {
      var changed = whole
      changed[index] ^= 1
      let isAccepted = changed.withUnsafeBytes { bytes in
        (try? STUNMessage(parsing: bytes)).map { $0.verify(bytes, key: Self.password) } ?? false
      }
      #expect(!isAccepted, "byte \(index)")
    }
  }
}
