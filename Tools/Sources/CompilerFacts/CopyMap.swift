/// Which places of an app's file the places of its compiled copy (`koine linux`) are.
///
/// Lines are found by the copy's `#sourceLocation` directives; in lines that the copy has changed, words that both have stand for each
/// other. All lines and columns count from 1, columns in bytes of UTF-8, as in the compiler's index.
public struct CopyMap: Sendable {
  public struct Place: Hashable, Sendable {
    public let line, column: Int
    public init(line: Int, column: Int) { (self.line, self.column) = (line, column) }
  }

  /// From a line of the copy on: the number to add to get the app's line. In the order of the lines.
  private var parts: [(first: Int, offset: Int)]
  /// By the copy's and by the app's lines that differ: the words that both have.
  private var words: (ofCopy: [Int: [Word]], ofApp: [Int: [Word]]) = ([:], [:])
  /// Where the copy's lines begin, in bytes.
  private var lineStarts: [Int] = []

  private struct Word {
    let copy: Place
    let app: Place
    let length: Int
  }

  /// Places of the copy that the app's file does not have are in lines beyond all that it has.
  private static let generated = 1_000_000
  /// The beginning of the directives that name a file.
  static let directive = #"#sourceLocation(file: ""#

  /// Of a file that is compiled itself.
  static let same = CopyMap(parts: [(1, 0)])

  private init(parts: [(first: Int, offset: Int)]) { self.parts = parts }

  /// - Parameters:
  ///   - copy: the copy's text. Its first line, and all before the first directive, is not of the app's.
  ///   - app: the text of the app's file.
  init(copy: String, of app: String) {
    parts = [(1, Self.generated)]
    let (copied, own) = (Self.lines(of: copy), Self.lines(of: app))
    lineStarts = copied.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.utf8.count + 1) }
    // The app's text may have directives of its own, in a string, say: the copy's name the file that the first one names.
    let first = copied.first { $0.hasPrefix(Self.directive) }
    let named = first.flatMap { line in line.firstRange(of: "\", line: ").map { line[..<$0.upperBound] } }
    for (index, line) in copied.enumerated() {
      let next = index + 2
      if line == "#sourceLocation()" {
        parts.append((next, Self.generated))
      } else if let named, line.hasPrefix(named), let original = Int(line.dropFirst(named.count).dropLast()),
        (1...own.count).contains(original)
      {
        parts.append((next, original - next))
      }
    }
    compare(copied, own)
  }

  /// A line ends with a line feed, which a carriage return may precede.
  private static func lines(of text: String) -> [Substring] {
    text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Substring.init)
  }

  private mutating func compare(_ copied: [Substring], _ own: [Substring]) {
    var pieces: [Int: [Int]] = [:]  // by the app's line: the copy's
    for line in 1...copied.count {
      let original = line + offset(of: line)
      if original <= own.count { pieces[original, default: []].append(line) }
    }
    for (line, lines) in pieces where lines.count > 1 || copied[lines[0] - 1] != own[line - 1] {
      let there = lines.flatMap { Self.words(of: copied[$0 - 1], line: $0) }
      let here = Self.words(of: own[line - 1], line: line)
      for (copy, app) in Self.common(there, here) {
        let word = Word(copy: copy.place, app: app.place, length: app.text.utf8.count)
        words.ofCopy[copy.place.line, default: []].append(word)
        words.ofApp[line, default: []].append(word)
      }
      for piece in lines where words.ofCopy[piece] == nil { words.ofCopy[piece] = [] }
      if words.ofApp[line] == nil { words.ofApp[line] = [] }
    }
  }

  private typealias Found = (text: Substring, place: Place)

  /// Names and numbers, and each other character.
  private static func words(of line: Substring, line number: Int) -> [Found] {
    let bytes = line.utf8
    var (found, index): ([Found], Substring.Index) = ([], bytes.startIndex)
    let isOfName = { (byte: UInt8) in
      byte >= 0x80 || byte == UInt8(ascii: "_") || UnicodeScalar(byte).properties.isAlphabetic
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
    while index < bytes.endIndex {
      var end = bytes.index(after: index)
      if isOfName(bytes[index]) { while end < bytes.endIndex, isOfName(bytes[end]) { end = bytes.index(after: end) } }
      if bytes[index] > UInt8(ascii: " ") {
        let column = bytes.distance(from: bytes.startIndex, to: index) + 1
        found.append((line[index..<end], Place(line: number, column: column)))
      }
      index = end
    }
    return found
  }

  /// A line longer than any that people write is compared at its ends only: the time grows by the square.
  private static let longest = 2_000

  private static func common(_ copy: [Found], _ app: [Found]) -> [(copy: Found, app: Found)] {
    let head = zip(copy, app).prefix { $0.text == $1.text }.count
    let (copy, app, start) = (copy.dropFirst(head), app.dropFirst(head), zip(copy, app).prefix(head))
    let tail = zip(copy.reversed(), app.reversed()).prefix { $0.text == $1.text }.count
    let end = zip(copy.suffix(tail), app.suffix(tail))
    let (left, right) = (Array(copy.dropLast(tail)), Array(app.dropLast(tail)))
    let inner = max(left.count, right.count) > longest ? [] : commonWithin(left, right)
    return start.map { ($0, $1) } + inner + end.map { ($0, $1) }
  }

  private static func commonWithin(_ copy: [Found], _ app: [Found]) -> [(copy: Found, app: Found)] {
    let difference = app.map(\.text).difference(from: copy.map(\.text))
    var (gone, new): (Set<Int>, Set<Int>) = ([], [])
    for change in difference {
      switch change {
      case .remove(let offset, _, _): gone.insert(offset)
      case .insert(let offset, _, _): new.insert(offset)
      }
    }
    let kept = copy.indices.filter { !gone.contains($0) }.map { copy[$0] }
    return Array(zip(kept, app.indices.filter { !new.contains($0) }.map { app[$0] }))
  }

  private func offset(of line: Int) -> Int { parts.last { $0.first <= line }?.offset ?? 0 }

  /// Whether there is a copy.
  public var isOfCopy: Bool { parts.count > 1 }

  /// The app's place of a place in the copy.
  public func original(_ place: Place) -> Place {
    guard let words = words.ofCopy[place.line] else {
      return Place(line: place.line + offset(of: place.line), column: place.column)
    }
    guard let word = words.first(where: { Self.contains($0.copy, $0.length, place) }) else {
      return Place(line: place.line + Self.generated, column: place.column)
    }
    return Place(line: word.app.line, column: word.app.column + place.column - word.copy.column)
  }

  /// The copy's place of a place in the app's file; nil if the copy has not that word.
  public func compiled(_ place: Place) -> Place? {
    if let words = words.ofApp[place.line] {
      let word = words.first { Self.contains($0.app, $0.length, place) }
      return word.map { Place(line: $0.copy.line, column: $0.copy.column + place.column - $0.app.column) }
    }
    let found = parts.indices.first { index in
      let next = index + 1 < parts.count ? parts[index + 1].first : Int.max
      return (parts[index].first..<next).contains(place.line - parts[index].offset)
    }
    return found.map { Place(line: place.line - parts[$0].offset, column: place.column) }
  }

  private static func contains(_ start: Place, _ length: Int, _ place: Place) -> Bool {
    start.line == place.line && (start.column..<start.column + length).contains(place.column)
  }

  /// The byte of the copy's text at a place in the app's file; nil if the copy has not that word.
  public func compiledOffset(_ place: Place) -> Int? {
    compiled(place).flatMap { place in
      lineStarts.indices.contains(place.line - 1) ? lineStarts[place.line - 1] + place.column - 1 : nil
    }
  }
}
