import KoineBase
package import KoineMedia

/// Ids in the vendors' forms.
enum Identifiers {
  static let capitals = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
  static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
  static let hexDigits = Array("0123456789abcdef")
  private static let base36 = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)

  static func random(_ count: Int, of characters: [Character]) -> String {
    String((0..<count).map { _ in characters[Int.random(in: 0..<characters.count)] })
  }

  static func randomGUID() -> String { guid(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)) }

  static func guid(high: UInt64, low: UInt64) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for (index, digit) in (bytes(high, 16, 16) + bytes(low, 16, 16)).enumerated() {
      if [8, 12, 16, 20].contains(index) { text.append(UInt8(ascii: "-")) }
      text.append(digit)
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// - Returns: `count` digits of a base up to 36, with zeros in front; the lowest ones if the number has more.
  static func digits(_ number: UInt64, _ count: Int, _ base: UInt64) -> String {
    String(decoding: bytes(number, count, base), as: UTF8.self)
  }

  private static func bytes(_ number: UInt64, _ count: Int, _ base: UInt64) -> [UInt8] {
    var number = number
    var text = [UInt8](repeating: 0, count: count)
    for index in text.indices.reversed() {
      text[index] = base36[Int(number % base)]
      number /= base
    }
    return text
  }

  /// Whether a text has the form of a GUID, in any case of letters.
  static func isGUID(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
      && parts.allSatisfy { $0.allSatisfy(\.isHexDigit) && $0.utf8.count == $0.count }
  }
}

/// Makes ids that sort in the order in which they were made, so that a registry's lists have the order of creation. An id begins
/// with the time in milliseconds and ends with random digits.
package struct IdentifierMaker: Sendable {
  private struct State: Sendable {
    var random: SeededRandom
    var last: UInt64 = 0
  }

  private let state: Lock<State>

  package init(random: SeededRandom) { state = Lock(State(random: random)) }

  /// - Returns: a stamp that is larger than all earlier ones of this maker, and random bits.
  private func next(at now: APITime) -> (stamp: UInt64, random: UInt64) {
    state.withLock { state in
      let time = UInt64(max(now.milliseconds, 0))
      state.last = max(time, state.last + 1)
      return (state.last, state.random.next())
    }
  }

  /// A GUID in lower case: 48 bits of time and 74 random bits (RFC 9562 section 5.7).
  package func guid(at now: APITime) -> String {
    let (stamp, low) = next(at: now)
    let middle = state.withLock { $0.random.next() } & 0xFFF
    return Identifiers.guid(high: stamp << 16 | 0x7000 | middle, low: low >> 2 | 1 << 63)
  }

  /// `count` digits and lower-case letters, at least 12: nine of time (enough until the year 5188), the others random.
  package func alphanumeric(_ count: Int, at now: APITime) -> String {
    let (stamp, random) = next(at: now)
    return Identifiers.digits(stamp, 9, 36) + Identifiers.digits(random, count - 9, 36)
  }

  /// `count` digits, at least 16: 13 of time, the others random.
  package func decimal(_ count: Int, at now: APITime) -> String {
    let (stamp, random) = next(at: now)
    return Identifiers.digits(stamp, 13, 10) + Identifiers.digits(random, count - 13, 10)
  }

  /// A random GUID in lower case, in no order.
  package func requestID() -> String {
    state.withLock { Identifiers.guid(high: $0.random.next(), low: $0.random.next()) }
  }
}
