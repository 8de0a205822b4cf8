import CallModel
import CompilerFacts
import KoinePorting
import SwiftSyntax

// Patterns of switches, also where several values of the old style are one value in the target's.

extension LayerRenderer {
  func text(of cases: SwitchCaseListSyntax) throws(Unportable) -> String {
    var used: Set<String> = []
    var text = ""
    for element in cases {
      guard let one = element.as(SwitchCaseSyntax.self), let label = one.label.as(SwitchCaseLabelSyntax.self) else {
        if let one = element.as(SwitchCaseSyntax.self), let attribute = one.attribute, !used.isEmpty {
          // `@unknown default`: the target's type may have known values that the vendor's has not.
          text +=
            attribute.leadingTrivia.description + (try render(Syntax(one.label))) + (try render(Syntax(one.statements)))
        } else {
          text += try render(Syntax(element))
        }
        continue
      }
      let patterns: [Pattern]
      do { patterns = try self.patterns(of: label) } catch {
        text += comment(one, error)
        continue
      }
      guard patterns.contains(where: { $0.reading != nil || $0.lost != nil }) else {
        text += try render(Syntax(element))
        continue
      }
      let left = patterns.map { $0.texts.filter { used.insert($0).inserted } }
      if left.joined().isEmpty {
        let lost = patterns.compactMap(\.lost)
        markAll(in: one, .dropped)
        let reason = lost.isEmpty ? "an earlier case has it" : "no word for \(lost.joined(separator: ", "))"
        text += Self.comment(one, "koine port: \(reason)")
        continue
      }
      let written = Set(left.joined())
      for pattern in patterns where pattern.reading != nil {
        mark(pattern.token, written.isDisjoint(with: pattern.texts) ? .dropped : pattern.share)
      }
      text +=
        label.caseKeyword.description + left.joined().joined(separator: ", ")
        + label.colon.description + (try render(Syntax(one.statements)))
    }
    guard needsDefault, !used.isEmpty, let last = cases.last,
      !cases.contains(where: { $0.as(SwitchCaseSyntax.self)?.label.is(SwitchDefaultLabelSyntax.self) == true })
    else { return text }
    return text + (text.hasSuffix("\n") ? "" : "\n") + Self.margin(of: last) + "default: break"
  }

  private struct Pattern {
    let token: TokenSyntax
    let reading: Reading?
    /// Empty if the target has no word for it.
    let texts: [String]
    var share = Share.written
    var lost: String?
  }

  private func patterns(of label: SwitchCaseLabelSyntax) throws(Unportable) -> [Pattern] {
    var patterns: [Pattern] = []
    for item in label.caseItems {
      let member = item.pattern.as(ExpressionPatternSyntax.self)?.expression.as(MemberAccessExprSyntax.self)
      if let member, let reading = reading(at: member.declName.baseName), item.whereClause == nil {
        let token = member.declName.baseName
        switch reading {
        case .word(let word):
          let base: String = if let base = member.base { try trimmed(base) } else { "" }
          if let base = member.base { markAll(in: base, .written) }
          let texts = context.writer.patterns(of: word).map { $0.hasPrefix(".") ? base + $0 : $0 }
          let share = context.writer.value(of: word).share
          patterns.append(Pattern(token: token, reading: reading, texts: texts, share: share))
        case .code(let text):
          let code = context.writer.code(text).text
          patterns.append(Pattern(token: token, reading: reading, texts: [code]))
        case .lost: patterns.append(Pattern(token: token, reading: reading, texts: [], lost: "." + token.text))
        default: throw .unknown(token.text)
        }
      } else if let (token, reading, values) = typeTest(item) {
        patterns.append(Pattern(token: token, reading: reading, texts: values))
      } else {
        let token = item.firstToken(viewMode: .sourceAccurate)!
        do {
          var text = try render(Syntax(item))
          if item.trailingComma != nil {
            text = String(text.reversed().drop { $0 == " " || $0 == "," || $0 == "\n" }.reversed())
          }
          patterns.append(Pattern(token: token, reading: nil, texts: [text]))
        } catch {
          // A case with a value that is lost, such as `.inCall(.localHold)`.
          guard case .lost(let symbol, _) = error else { throw error }
          patterns.append(Pattern(token: token, reading: nil, texts: [], lost: symbol))
        }
      }
    }
    return patterns
  }

  /// `is SomeError`, where the target has several values instead of the type.
  private func typeTest(_ item: SwitchCaseItemSyntax) -> (token: TokenSyntax, reading: Reading, values: [String])? {
    guard let token = item.pattern.as(IsTypePatternSyntax.self)?.type.firstToken(viewMode: .sourceAccurate),
      let reading = reading(at: token)
    else { return nil }
    let symbols = source.occurrences(at: token).compactMap { context.reader.vendorSymbol($0) }
    return symbols.lazy.compactMap { self.context.table.values(ofType: $0) }.first.map { values in
      (token, reading, values.map { context.writer.code($0).text })
    }
  }

  func text(of label: SwitchCaseLabelSyntax) throws(Unportable) -> String { try children(Syntax(label)) }
}
