import CallModel
import CompilerFacts
import SwiftSyntax

/// Cases of one `switch` of the app's that mean the same in the target, with different statements: only one of them can stay.
struct CaseMeaning {
  struct Choice {
    /// As the app writes it: `.removePeer`.
    let name: String
    /// The places of its patterns with that meaning, and their symbols.
    let places: [CodeLocation: String]
  }

  let id: String
  /// The word of the target: `EndReason.removed`.
  let word: String
  /// The function or property around the `switch`.
  let owner: String
  /// In the order of the source. The first one's statements stay if there is no answer.
  let choices: [Choice]

  /// The choice that an answer names; the first one without an answer.
  func chosen(by answers: PortAnswers) -> Choice {
    answers[id].flatMap { entry in choices.first { $0.name == entry.answer } } ?? choices[0]
  }

  /// The patterns that do not stay, with their symbols.
  func left(by answers: PortAnswers) -> [CodeLocation: String] {
    let chosen = chosen(by: answers).name
    return choices.filter { $0.name != chosen }.reduce(into: [:]) { left, choice in
      left.merge(choice.places) { one, _ in one }
    }
  }
}

/// Finds cases that mean the same in the target.
enum CaseMeanings {
  private struct Key: Hashable {
    let owner: SyntaxIdentifier
    let word: String
  }

  static func all(in context: LayerContext) -> [CaseMeaning] {
    var found: [CaseMeaning] = []
    var ids: [String: Int] = [:]
    for item in context.layer.items {
      var (order, cases): ([Key], [Key: [(SwitchCaseSyntax, TokenSyntax)]]) = ([], [:])
      for token in item.syntax.tokens(viewMode: .sourceAccurate) {
        guard case .word(let word)? = context.model.readings[item.source.location(of: token)],
          let one = switchCase(of: token), let list = one.parent
        else { continue }
        let key = Key(owner: list.id, word: context.writer.meaning(of: word))
        if cases[key] == nil { order.append(key) }
        cases[key, default: []].append((one, token))
      }
      for key in order {
        guard let choices = choices(cases[key] ?? [], in: item.source, context), let first = cases[key]?.first else {
          continue
        }
        let owner = nameOfOwner(Syntax(first.0))
        let id = "case:\(owner):\(key.word)"
        ids[id, default: 0] += 1
        let number = ids[id] == 1 ? "" : ":\(ids[id, default: 1])"
        found.append(CaseMeaning(id: id + number, word: key.word, owner: owner, choices: choices))
      }
    }
    return found
  }

  /// - Returns: nil if all statements are the same, so that it does not matter which stay.
  private static func choices(
    _ patterns: [(SwitchCaseSyntax, TokenSyntax)], in source: CompiledSource, _ context: LayerContext
  ) -> [CaseMeaning.Choice]? {
    var order: [SyntaxIdentifier] = []
    var tokens: [SyntaxIdentifier: [TokenSyntax]] = [:]
    for (one, token) in patterns {
      if tokens[one.id] == nil { order.append(one.id) }
      tokens[one.id, default: []].append(token)
    }
    guard Set(patterns.map { $0.0.statements.trimmedDescription }).count > 1 else { return nil }
    return order.compactMap { id in
      guard let tokens = tokens[id], let first = tokens.first else { return nil }
      let places = tokens.map { (source.location(of: $0), symbol(at: $0, in: source, context) ?? $0.text) }
      return CaseMeaning.Choice(
        name: "." + first.text, places: Dictionary(places, uniquingKeysWith: { one, _ in one }))
    }
  }

  private static func symbol(at token: TokenSyntax, in source: CompiledSource, _ context: LayerContext) -> String? {
    source.occurrences(at: token).lazy.compactMap(context.reader.vendorSymbol).first
  }

  /// The case whose whole pattern is the token's member access.
  private static func switchCase(of token: TokenSyntax) -> SwitchCaseSyntax? {
    guard let member = token.parent?.parent?.as(MemberAccessExprSyntax.self), member.declName.baseName == token,
      let item = member.parent?.parent?.as(SwitchCaseItemSyntax.self), item.whereClause == nil,
      let label = item.parent?.parent?.as(SwitchCaseLabelSyntax.self)
    else { return nil }
    return label.parent?.as(SwitchCaseSyntax.self)
  }

  private static func nameOfOwner(_ node: Syntax) -> String {
    var next = node.parent
    while let current = next {
      if let function = current.as(FunctionDeclSyntax.self) {
        let labels = function.signature.parameterClause.parameters.map { $0.firstName.text + ":" }.joined()
        return "\(function.name.text)(\(labels))"
      }
      if let binding = current.as(PatternBindingSyntax.self) { return binding.pattern.trimmedDescription }
      next = current.parent
    }
    return "switch"
  }
}
