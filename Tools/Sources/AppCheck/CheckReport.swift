import CompilerFacts
import Foundation
public import KoinePorting

/// What `koine check` prints.
public struct CheckReport: Sendable {
  private let check: AppCheck
  private let target: Style?

  /// - Parameter target: only the app's own rows of the porting table, to that style.
  public init(_ check: AppCheck, to target: Style? = nil) { (self.check, self.target) = (check, target) }

  public var text: String { target.map(porting) ?? findings }

  private func porting(to target: Style) -> String {
    let styles = check.styles.filter { $0 != target } + [target]
    let report = MapReport(rows: check.rows, styles: styles).text
    return report.isEmpty ? "\(check.path): nothing of it is in the porting table" : report
  }

  private var findings: String {
    var lines = [headline, basis]
    let part = { (title: String, found: [String]) in
      if !found.isEmpty { lines += ["", title + " (\(found.count))"] + found }
    }
    part(
      "Not compiled, read by their syntax", check.basis.uncompiled.map { "  \($0.file): \($0.state.explanation)" })
    part("Cannot work", check.problems.map(Self.line))
    part("Changed in the copy that `koine linux` writes", Self.lines(ofChanges: check.changes))
    part("Kept without effect", check.symbols.filter { $0.status == .recorded }.map(Self.line))
    part(
      "To be known",
      check.remarks.map { "  \($0.location): \($0.what): \($0.instead)" }
        + check.symbols.filter { $0.status == .works && $0.why != nil }.map(Self.line))
    part("Works", check.symbols.filter { $0.status == .works && $0.why == nil }.map(Self.line))
    return lines.joined(separator: "\n")
  }

  private var headline: String {
    let styles = check.styles.isEmpty ? "no vendor's calls" : check.styles.map(\.title).joined(separator: ", ")
    let files = check.fileCount == 1 ? "1 file" : "\(check.fileCount) files"
    let counts = VendorAPI.Status.allCases.map { status in check.symbols.filter { $0.status == status }.count }
    return "\(check.path): \(styles); \(files); \(counts[0]) symbols work, \(counts[1]) are kept without effect, "
      + "\(counts[2] + counts[3]) are not to be had; \(check.problems.count) "
      + (check.problems.count == 1 ? "line" : "lines") + " cannot work"
  }

  /// What the check rests on.
  private var basis: String {
    guard let index = check.basis.index else {
      return "Read by the sources' syntax: \(check.basis.reason ?? "there is no build")"
    }
    return "Read by the compiler's index (\(index)): \(check.basis.compiledCount) of \(check.fileCount) files"
  }

  /// Like changes in one line, with their first places.
  private static func lines(ofChanges changes: [Problem]) -> [String] {
    let groups = Dictionary(grouping: changes) { $0.what + " -> " + $0.instead }
    return groups.sorted { $0.value[0].location < $1.value[0].location }.map { title, changes in
      "  \(title)  " + places(changes.map(\.location))
    }
  }

  private static func places(_ locations: [CodeLocation]) -> String {
    var lines: [String] = []
    for location in locations where lines.last != "\(location.file):\(location.line)" {
      lines.append("\(location.file):\(location.line)")
    }
    return lines.prefix(3).joined(separator: " ") + (lines.count > 3 ? " and \(lines.count - 3) more" : "")
  }

  private static func line(_ problem: Problem) -> String {
    guard !problem.instead.isEmpty else { return "  \(problem.location): \(problem.what)" }
    let isReason = problem.kind == .unavailable || problem.instead.hasPrefix("there is")
    return "  \(problem.location): \(problem.what); \(isReason ? "" : "instead: ")\(problem.instead)"
  }

  /// A symbol and its first places.
  private static func line(_ symbol: AppCheck.Symbol) -> String {
    let name = symbol.name + (symbol.isCertain ? "" : " (by its name)")
    return "  \(name)  \(places(symbol.places))" + (symbol.why.map { "; " + $0 } ?? "")
  }

  // MARK: As JSON

  public var json: String {
    get throws {
      let file = File(
        path: check.path, files: check.fileCount, basis: Basis(check.basis), styles: check.styles.map(\.rawValue),
        canWork: check.canWork,
        problems: check.problems.map(Line.init), changes: check.changes.map(Line.init),
        remarks: check.remarks.map(Line.init),
        symbols: check.symbols.map(Entry.init),
        rows: target.map { target in check.rows.map { JSONRow($0, check.styles + [target]) } })
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(file), as: UTF8.self)
    }
  }

  private struct File: Encodable {
    let path: String
    let files: Int
    let basis: Basis
    let styles: [String]
    let canWork: Bool
    let problems, changes, remarks: [Line]
    let symbols: [Entry]
    let rows: [JSONRow]?
  }

  private struct Basis: Encodable {
    let index, reason: String?
    let compiled: Int
    let uncompiled: [String: String]
    init(_ basis: AppCheck.Basis) {
      (index, reason, compiled) = (basis.index, basis.reason, basis.compiledCount)
      uncompiled = Dictionary(basis.uncompiled.map { ($0.file, $0.state.explanation) }, uniquingKeysWith: { $1 })
    }
  }

  private struct Line: Encodable {
    let kind, file: String
    let line, column: Int
    let what, instead: String
    let style: String?
    init(_ problem: Problem) {
      (kind, file, what) = (problem.kind.rawValue, problem.location.file, problem.what)
      (line, column, instead) = (problem.location.line, problem.location.column, problem.instead)
      style = problem.style?.rawValue
    }
  }

  private struct Entry: Encodable {
    let symbol, style, status: String
    let why: String?
    let isCertain: Bool
    let places: [String]
    init(_ symbol: AppCheck.Symbol) {
      (self.symbol, style, status) = (symbol.name, symbol.style.rawValue, symbol.status.rawValue)
      (why, isCertain, places) = (symbol.why, symbol.isCertain, symbol.places.map { "\($0)" })
    }
  }
}
