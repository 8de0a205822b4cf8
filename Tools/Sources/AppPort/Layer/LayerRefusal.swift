import CompilerFacts

/// A declaration that the compiler has refused in a new layer: it stays as a comment.
public struct LayerRefusal: Hashable, Sendable {
  /// Where the app declares it.
  let place: CodeLocation
  /// The compiler's error.
  let reason: String
  /// Whether a `switch` lacks values that only the target's type has.
  var needsDefault: Bool { reason == "switch must be exhaustive" }
  /// Whether a class has lost all initializers, and its properties have no values without one.
  var needsInitializer: Bool { reason.hasSuffix("has no initializers") }
}

/// Finds declarations again in a text: characters that no source has stand around each while the text is put together.
struct DeclarationMarks {
  private(set) var places: [CodeLocation] = []

  mutating func number(of place: CodeLocation) -> Int {
    places.append(place)
    return places.count - 1
  }

  static func begin(_ number: Int) -> String { "\u{2}\(number)\u{4}" }
  static let end = "\u{3}"

  /// The text without the marks, and the lines of each declaration, an inner one after the one around it.
  static func removed(from text: String) -> (text: String, lines: [(number: Int, lines: ClosedRange<Int>)]) {
    var (plain, line) = ("", 1)
    var (open, found): ([(number: Int, line: Int, hasBegun: Bool)], [(Int, ClosedRange<Int>)]) = ([], [])
    var number: Int?
    for character in text {
      switch character {
      case "\u{2}": number = 0
      case "\u{4}":
        open.append((number ?? 0, line, false))
        number = nil
      case "\u{3}": if let (number, first, _) = open.popLast() { found.append((number, first...line)) }
      default:
        if let digit = number.flatMap({ _ in character.wholeNumberValue }) {
          number = number.map { $0 * 10 + digit }
        } else {
          plain.append(character)
          if character.isNewline { line += 1 }
          // A declaration begins behind the empty lines and the margin before it.
          if character.isWhitespace { break }
          for index in open.indices.reversed() {
            guard !open[index].hasBegun else { break }
            open[index] = (open[index].number, line, true)
          }
        }
      }
    }
    return (plain, found.sorted { ($0.1.count, $1.0) > ($1.1.count, $0.0) })
  }
}
