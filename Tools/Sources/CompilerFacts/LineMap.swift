/// Which lines of an app's file the lines of its compiled copy (`koine linux`) are, by the copy's `#sourceLocation` directives.
public struct LineMap: Sendable {
  /// From a line of the copy on: what to add to get the app's line. In the order of the lines.
  private var parts: [(first: Int, offset: Int)]

  /// Lines of the copy that the app's file does not have are beyond all that it has.
  private static let generated = 1_000_000
  /// The beginning of the directives that name a file.
  static let directive = #"#sourceLocation(file: ""#

  /// Of a file that is compiled itself.
  static let same = LineMap(parts: [(1, 0)])

  private init(parts: [(first: Int, offset: Int)]) { self.parts = parts }

  /// - Parameter copy: the copy's text. Its first line, and what comes before the first directive, is not of the app's.
  init(copy: String) {
    parts = [(1, Self.generated)]
    for (index, line) in copy.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let line = line.drop { $0 == " " || $0 == "\t" }
      guard line.hasPrefix("#sourceLocation(") else { continue }
      let next = index + 2
      if line.hasPrefix("#sourceLocation()") {
        parts.append((next, Self.generated))
      } else if line.hasPrefix(Self.directive), let comma = line.firstRange(of: "\", line: "),
        let original = Int(line[comma.upperBound...].prefix { $0.isNumber })
      {
        parts.append((next, original - next))
      }
    }
  }

  /// Whether there is a copy.
  public var isOfCopy: Bool { parts.count > 1 }

  /// The app's line of a line of the copy.
  public func original(_ line: Int) -> Int { line + (parts.last { $0.first <= line }?.offset ?? 0) }

  /// The copy's line of an app's line: the first, if generated code divides it.
  public func compiled(_ line: Int) -> Int {
    let found = parts.indices.first { index in
      let next = index + 1 < parts.count ? parts[index + 1].first : Int.max
      return (parts[index].first..<next).contains(line - parts[index].offset)
    }
    return line - (found.map { parts[$0].offset } ?? 0)
  }
}
