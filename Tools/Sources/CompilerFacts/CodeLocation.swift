/// A place in a source file.
public struct CodeLocation: Hashable, Sendable, Comparable, CustomStringConvertible {
  public let file: String
  /// From 1. Columns count UTF-8 bytes.
  public let line, column: Int

  public init(file: String, line: Int, column: Int) { (self.file, self.line, self.column) = (file, line, column) }

  public var description: String { "\(file):\(line):\(column)" }
  public static func < (one: CodeLocation, other: CodeLocation) -> Bool {
    (one.file, one.line, one.column) < (other.file, other.line, other.column)
  }
}
