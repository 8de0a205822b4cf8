import CallModel
import CompilerFacts
import KoinePorting
import SwiftSyntax

/// The outcome of one call site.
struct SiteOutcome {
  let site: VendorSites.Site
  var share: Share
  /// For a site that is not ported: the symbol because of which its statement is not, which may be another site's.
  let cause: String?
  /// Whether code can take the place of the code that is left out: it is no case of a switch, and no function that handles a callback.
  var takesCode = false
  /// Whether a comment of its own stands for it. A pattern of a case that has others is left out without one.
  var hasComment = true
}

/// A function of the app that handles a callback that the target does not have: a comment stands for it.
struct LostCallback {
  let symbol, instead: String
  let place: CodeLocation
}

/// Finds the reasons for the outcomes of an app's call sites.
///
/// A statement is left out as a whole: its other sites have the reason of the one that could not be ported.
struct SiteOutcomes {
  private let context: LayerContext
  /// Patterns that do not stay because another case means the same.
  private let decided: Set<CodeLocation>
  private(set) var all: [SiteOutcome] = []
  private(set) var callbacks: [LostCallback] = []

  init(
    _ context: LayerContext, _ sites: [VendorSites.Site], _ shares: [CodeLocation: Share], decided: Set<CodeLocation>,
    answers: PortAnswers
  ) {
    (self.context, self.decided) = (context, decided)
    let byPlace = Dictionary(sites.map { ($0.location, $0) }, uniquingKeysWith: { one, _ in one })
    var seen: Set<CodeLocation> = []
    for item in context.layer.items {
      for token in item.syntax.tokens(viewMode: .sourceAccurate) {
        let place = item.source.location(of: token)
        if token.tokenKind == .keyword(.func), let member = token.parent?.parent?.as(MemberBlockItemSyntax.self),
          let (symbol, instead) = context.lostRequirement(Syntax(member), in: item.source)
        {
          callbacks.append(LostCallback(symbol: symbol, instead: instead, place: place))
        }
        guard let site = byPlace[place], seen.insert(place).inserted else { continue }
        let share = shares[place] ?? .warned
        let isPorted = share == .written || share == .inHelper
        if !isPorted, isDecided(token, in: item.source) {
          all.append(SiteOutcome(site: site, share: .asked, cause: nil))
          continue
        }
        let cause = isPorted ? nil : cause(of: token, in: item.source) ?? (site.symbol, true)
        all.append(
          SiteOutcome(
            site: site, share: share, cause: cause?.symbol, takesCode: cause?.takesCode ?? false,
            hasComment: !isBesidePorted(token, in: item.source, shares)))
      }
    }
    for site in sites where !seen.contains(site.location) {
      all.append(SiteOutcome(site: site, share: .warned, cause: site.symbol))
    }
    all.sort { $0.site.location < $1.site.location }
    for index in all.indices {
      guard all[index].hasComment else { continue }
      switch all[index].cause.flatMap(answers.fate) {
      case .drop?: all[index].share = .dropped
      case .warn?: all[index].share = .warned
      case .write? where all[index].takesCode: all[index].share = .asked
      case .write?, nil: break
      }
    }
  }

  /// The answers by the symbols that they are about.
  func fates(by answers: PortAnswers) -> [String: PortAnswers.Fate] {
    let symbols = Set(all.compactMap(\.cause)).union(callbacks.map(\.symbol))
    return symbols.reduce(into: [:]) { fates, symbol in fates[symbol] = answers.fate(of: symbol) }
  }

  /// Whether a token is a pattern of a case that stays for another pattern.
  private func isBesidePorted(
    _ token: TokenSyntax, in source: CompiledSource, _ shares: [CodeLocation: Share]
  ) -> Bool {
    var node = token.parent
    while let current = node, !current.is(CodeBlockItemSyntax.self) {
      if let label = current.as(SwitchCaseLabelSyntax.self) {
        return label.caseItems.contains { item in
          let shares = item.tokens(viewMode: .sourceAccurate).compactMap { shares[source.location(of: $0)] }
          return shares.allSatisfy { $0 == .written || $0 == .inHelper }
        }
      }
      node = current.parent
    }
    return false
  }

  /// Whether a token is in a case that another one with the same meaning replaces.
  private func isDecided(_ token: TokenSyntax, in source: CompiledSource) -> Bool {
    if decided.contains(source.location(of: token)) { return true }
    var node = token.parent
    while let current = node {
      if let one = current.as(SwitchCaseSyntax.self), let label = one.label.as(SwitchCaseLabelSyntax.self) {
        let patterns = label.tokens(viewMode: .sourceAccurate).map(source.location(of:))
        if patterns.contains(where: decided.contains) { return true }
      }
      node = current.parent
    }
    return false
  }

  /// The symbol of the smallest statement, case or declaration around a token that the target has no word for.
  private func cause(of token: TokenSyntax, in source: CompiledSource) -> (symbol: String, takesCode: Bool)? {
    if let found = unported(at: token, in: source) { return found }
    var node = token.parent
    while let current = node {
      if current.is(CodeBlockItemSyntax.self) || current.is(SwitchCaseSyntax.self)
        || current.is(MemberBlockItemSyntax.self)
      {
        if let requirement = context.lostRequirement(current, in: source) { return (requirement.symbol, false) }
        if let handler = context.foreignHandler(current, in: source) { return (context.reason(for: handler), false) }
        for token in current.tokens(viewMode: .sourceAccurate) {
          if let found = unported(at: token, in: source) { return found }
        }
        // What another member lacks is not the reason.
        if current.is(MemberBlockItemSyntax.self) { return nil }
      }
      node = current.parent
    }
    return nil
  }

  private func unported(at token: TokenSyntax, in source: CompiledSource) -> (symbol: String, takesCode: Bool)? {
    switch context.model.readings[source.location(of: token)] {
    case .lost(let symbol, _)?: (symbol, !token.isInCase)
    case .unknown(let symbol)?: (symbol, true)
    default: nil
    }
  }
}

extension TokenSyntax {
  fileprivate var isInCase: Bool {
    var node = parent
    while let current = node {
      if current.is(SwitchCaseItemSyntax.self) { return true }
      if current.is(CodeBlockItemSyntax.self) { return false }
      node = current.parent
    }
    return false
  }
}
