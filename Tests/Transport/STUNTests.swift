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
  private static let ipv6Response = """
    010100482112a442b7e7a701bc34d686fa87dfae 8022000b7465737420766563746f7220
    002000140002a1470113a9faa5d3f179bc25f4b5bed2b9d9
    00080014a382954e4be67bf11784c97c8292c275bfe3ed41 80280004c8fb0b4c
    """

  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  @Test func sampleRequestIsReadAndVerified() throws {
    let bytes = Self.bytes(Self.request)
    try bytes.withUnsafeBytes { bytes in
      let message = try STUNMessage(parsing: bytes)
      #expect(message.kind == .request)
      #expect(message.username == "evtj:h6vY")
      #expect(message.priority == 0x6E00_01FF)
      #expect(message.controlled == 0x932F_F9B1_5126_3B36)
      #expect(message.verify(bytes, key: Self.password))
      #expect(!message.verify(bytes, key: "wrong"))
      #expect(STUNMessage.localFragment(ofRequest: bytes) == "evtj")
    }
  }

  @Test func sampleResponseContainsTheMappedAddress() throws {
    let bytes = Self.bytes(Self.ipv4Response)
    try bytes.withUnsafeBytes { bytes in
      let message = try STUNMessage(parsing: bytes)
      #expect(message.mappedAddress == SocketAddress("192.0.2.1", port: 32_853))
      #expect(message.verify(bytes, key: Self.password))
    }
  }

  /// Section 2.3.
  @Test func sampleIPv6ResponseContainsTheMappedAddress() throws {
    let bytes = Self.bytes(Self.ipv6Response)
    try bytes.withUnsafeBytes { bytes in
      let message = try STUNMessage(parsing: bytes)
      #expect(message.kind == .success)
      #expect(message.mappedAddress == SocketAddress("2001:db8:1234:5678:11:2233:4455:6677", port: 32_853))
      #expect(message.verify(bytes, key: Self.password))
    }
  }

  /// A message is not written into a buffer that is too small, and no bytes are written behind the buffer.
  @Test func messageThatDoesNotFitIsNotWritten() {
    var message = STUNMessage(.request, .init(high: 1, low: 2))
    (message.username, message.priority, message.controlling) = ("evtj:h6vY", 1, 2)
    let room = Bytes(capacity: 200)
    let length = message.write(into: room.writable, key: "key") ?? 0
    #expect(length > 80)
    for count in 0..<length {
      room.writable.initializeMemory(as: UInt8.self, repeating: 0xEE)
      let written = message.write(into: UnsafeMutableRawBufferPointer(rebasing: room.writable[..<count]), key: "key")
      #expect(written == nil && room.writable[count...].allSatisfy { $0 == 0xEE })
    }
  }

  /// RFC 8489, 14.3: fewer than 514 bytes.
  @Test(arguments: [(513, true), (514, false), (70_000, false)]) func userNameLengthIsLimited(
    _ count: Int, _ fits: Bool
  ) {
    var message = STUNMessage(.request, .init(high: 1, low: 2))
    message.username = String(repeating: "x", count: count)
    let room = Bytes(capacity: 100_000)
    #expect((message.write(into: room.writable, key: "key") != nil) == fits)
  }

  @Test func truncatedOrChangedMessageIsRefused() {
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
