public import KoineBase
import KoineJSONCodec

/// The answer of `koine map`.
public struct MapReport: Sendable {
  /// Why `koine map` has no answer, in one line.
  public struct Failure: Error, Hashable, CustomStringConvertible {
    public let description: String
  }

  public let rows: [PortingTable.Row]
  /// The columns that are shown.
  public let styles: [Style]
  /// What the coverage files say of the symbol itself.
  public let entries: [Style: VendorAPI.Entry]
  /// The faults that an error's code or name stands for.
  public let faults: [FaultTable.Row]

  /// What the others call a symbol.
  public init(symbol: String, to target: Style? = nil) throws(Failure) {
    guard !symbol.isEmpty else { throw Failure(description: "which symbol?") }
    let rows = PortingTable.current.rows(naming: symbol)
    let own = Style.allCases.filter { style in
      rows.contains {
        $0.symbols[style]?.contains { SymbolName($0).isMeant(by: symbol) || SymbolName($0).hasLabel(symbol) } == true
      }
    }
    var entries: [Style: VendorAPI.Entry] = [:]
    for (style, api) in VendorAPI.all {
      entries[style] =
        api.entries[symbol]
        ?? api.entries.values.filter { SymbolName($0.symbol).isMeant(by: symbol) && !symbol.contains("(") }
        .min { $0.symbol < $1.symbol }
    }
    self.entries = entries
    faults = FaultTable.current.rows(naming: symbol)
    guard !rows.isEmpty || !entries.isEmpty || !faults.isEmpty else {
      let near = Spelling.nearest(to: symbol, among: Self.known)
      throw Failure(
        description: "no style has '\(symbol)'" + (near.isEmpty ? "" : "; there is \(near.joined(separator: ", "))"))
    }
    self.rows = rows
    styles = target.map { own.filter { style in style != target } + [$0] } ?? Style.allCases
  }

  /// All that an app does, in two styles.
  public init(from source: Style, to target: Style) {
    rows = PortingTable.current.rows
    styles = [source, target]
    (entries, faults) = ([:], [])
  }

  /// All rows, in all styles or in one.
  public init(to target: Style? = nil) {
    rows = PortingTable.current.rows
    styles = target.map { [$0] } ?? Style.allCases
    (entries, faults) = ([:], [])
  }

  public init(rows: [PortingTable.Row], styles: [Style]) {
    (self.rows, self.styles, entries, faults) = (rows, styles, [:], [])
  }

  private static var known: Set<String> {
    var known = Set(PortingTable.current.rows.flatMap { $0.symbols.values.flatMap { $0 } })
    for api in VendorAPI.all.values { known.formUnion(api.entries.keys) }
    return known
  }

  // MARK: As text

  public var text: String {
    var blocks: [String] = []
    for row in rows { blocks.append(block(of: row)) }
    for (style, entry) in entries.sorted(by: { $0.key.rawValue < $1.key.rawValue })
    where rows.isEmpty || entry.status != .works || entry.why != nil {
      blocks.append(
        "\(entry.symbol) (\(style.title)): \(entry.status.rawValue)" + (entry.why.map { ": " + $0 } ?? "")
          + (rows.isEmpty ? "; no row of the table names it" : ""))
    }
    for fault in faults { blocks.append(block(of: fault)) }
    return blocks.joined(separator: "\n\n")
  }

  private func block(of row: PortingTable.Row) -> String {
    let width = (styles.map(\.title.count).max() ?? 0) + 2
    var lines = [row.does]
    for style in styles {
      var cells = row.symbols[style] ?? []
      if let instead = row.instead[style] { cells.append(instead) }
      for (number, cell) in cells.enumerated() {
        let title = number == 0 ? style.title : ""
        lines += Self.wrapped(
          cell, first: "  " + title.padded(to: width), rest: String(repeating: " ", count: width + 2))
      }
    }
    if let differs = row.differs { lines += Self.wrapped(differs, first: "  differs: ", rest: "    ") }
    return lines.joined(separator: "\n")
  }

  private func block(of fault: FaultTable.Row) -> String {
    let shown = styles.filter { fault.told[$0] != nil }
    let width = (shown.map(\.title.count).max() ?? 0) + 2
    let plain = { (text: String) in text.filter { $0 != "`" } }
    var lines = ["told after \(plain(fault.what)) of a test room"]
    for style in shown {
      lines += Self.wrapped(
        plain(fault.told[style] ?? ""), first: "  " + style.title.padded(to: width),
        rest: String(repeating: " ", count: width + 2))
    }
    return lines.joined(separator: "\n")
  }

  static func wrapped(_ text: String, first: String, rest: String, columns: Int = 110) -> [String] {
    var lines: [String] = []
    var line = first
    var isEmpty = true
    for word in text.split(separator: " ") {
      if !isEmpty, line.count + word.count + 1 > columns {
        lines.append(line)
        line = rest
        isEmpty = true
      }
      line += isEmpty ? String(word) : " " + word
      isEmpty = false
    }
    return lines + [line]
  }

  // MARK: As JSON

  public var json: String {
    get throws {
      let file = File(
        rows: rows.map { JSONRow($0, styles) }, symbols: entries.values.map(JSONEntry.init),
        faults: faults.isEmpty ? nil : faults)
      return String(decoding: try JSONCodec.encode(file, limits: .init(size: 4 << 20)), as: UTF8.self)
    }
  }

  private struct File: Encodable {
    let rows: [JSONRow]
    let symbols: [JSONEntry]
    let faults: [FaultTable.Row]?
  }

  private struct JSONEntry: Encodable {
    let symbol, status: String
    let why: String?
    init(_ entry: VendorAPI.Entry) { (symbol, status, why) = (entry.symbol, entry.status.rawValue, entry.why) }
  }
}

/// A row, as the command's JSON has it.
public struct JSONRow: Encodable, Sendable {
  let id, does: String
  let symbols: [String: [String]]
  let instead: [String: String]
  let differs: String?

  public init(_ row: PortingTable.Row, _ styles: [Style]) {
    (id, does, differs) = (row.id, row.does, row.differs)
    let named = { (style: Style) in styles.contains(style) }
    symbols = Dictionary(
      row.symbols.filter { named($0.key) }.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: { $1 })
    instead = Dictionary(
      row.instead.filter { named($0.key) }.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: { $1 })
  }
}

extension String {
  func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
