import Foundation

/// Carries out answers in the text of a new layer: the comments under which statements stay that were not ported.
///
/// A rendered layer has three kinds of such comments, each with the vendor's symbol: of a statement or declaration, of a case of a switch,
/// and the one under `#warning`.
enum AnsweredText {
  private static let reason = "// koine port: "
  /// Followed by the target's name, a colon and the symbol.
  private static let warning = #"#warning("PORT 3: not known to "#
  private static let noWordForCases = "no word for "

  /// - Parameter symbols: those with an answer, by their names.
  static func text(_ text: String, _ symbols: [String: PortAnswers.Fate]) -> String {
    guard !symbols.isEmpty else { return text }
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      if let found = line.range(of: reason) {
        answered(lost: line[found.upperBound...], behind: line[..<found.lowerBound], symbols) ?? String(line)
      } else if let found = line.range(of: warning), let colon = line[found.upperBound...].range(of: ": ") {
        answered(unknown: line[colon.upperBound...].dropLast(2), behind: line[..<found.lowerBound], symbols)
          ?? String(line)
      } else {
        String(line)
      }
    }.joined(separator: "\n")
  }

  private static func answered(
    lost reason: Substring, behind margin: Substring, _ symbols: [String: PortAnswers.Fate]
  ) -> String? {
    let found = symbols.filter { symbol, fate in isAbout(symbol, reason, fate) }
    // Of several cases in one comment, the most careful answer counts.
    guard let fate = found.values.first(where: { $0 == .warn }) ?? found.values.first else { return nil }
    switch fate {
    case .drop: return nil
    case .warn: return "\(margin)#warning(\"PORT 3: \(quoted(reason))\")"
    case .write(let code): return written(code, Self.reason + reason, behind: margin)
    }
  }

  private static func answered(
    unknown text: Substring, behind margin: Substring, _ symbols: [String: PortAnswers.Fate]
  ) -> String? {
    guard let fate = symbols.first(where: { quoted(Substring($0.key)) == text })?.value else { return nil }
    switch fate {
    case .warn: return nil
    case .drop: return "\(margin)\(reason)left out, as answered: \(text)"
    case .write(let code): return written(code, "\(reason)replaced, as answered: \(text)", behind: margin)
    }
  }

  /// Code can take the place of a statement only.
  private static func isAbout(_ symbol: String, _ reason: Substring, _ fate: PortAnswers.Fate) -> Bool {
    if reason.contains(" \(symbol); ") { return true }
    if case .write = fate { return false }
    guard reason.hasPrefix(noWordForCases) else { return reason.contains("; \(symbol): ") }
    return reason.dropFirst(noWordForCases.count).split(separator: ", ").contains { symbol.hasSuffix($0) }
  }

  private static func written(_ code: String, _ comment: String, behind margin: Substring) -> String {
    // Marks of declarations may stand before the margin.
    let indent = String(margin.reversed().prefix { $0 == " " || $0 == "\t" })
    let lines = code.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    return String(margin) + (lines + [comment]).joined(separator: "\n" + indent)
  }

  /// As the renderer writes text into a string literal.
  static func quoted(_ text: Substring) -> String {
    String(text).replacing("\\", with: "").replacing("\"", with: "'")
  }
}
