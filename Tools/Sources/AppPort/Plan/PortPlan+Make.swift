import CallModel
import CompilerFacts
import KoinePorting

extension PortPlan {
  /// - Parameters:
  ///   - found: what has become of the call sites.
  ///   - files: the new files, by their names.
  init(
    _ context: LayerContext, _ found: SiteOutcomes, meanings: [CaseMeaning], answers: PortAnswers,
    prefix: String, newName: String, to target: Style, files: [(name: String, text: String)]
  ) {
    let outcomes = found.all
    let (callClass, layer) = (context.callClass, context.layer)
    let topics = Topics(of: context.model.style)
    typeName = callClass.name
    self.newName = newName
    style = context.model.style.title
    self.target = target.title
    seam = layer.seam
    seamObstacles = layer.obstacles.map { obstacle in
      "The protocol \(obstacle.protocolName) stands before \(callClass.name), but names types that each layer has of its own: "
        + "\(obstacle.names.joined(separator: ", ")) (\(obstacle.place.file):\(obstacle.place.line)). Move types of the app's that use "
        + "no vendor type to the top level of a file, or delete the protocol and have koine port seam write it again, with values."
    }
    siteCount = outcomes.count
    let counts = Share.allCases.map { share in outcomes.count { $0.share == share } }
    shares = zip(Share.allCases, zip(CallLayer.percentages(counts), counts)).map { ($0.rawValue, $1.0, $1.1) }
    let used = callClass.uses.keys.compactMap { callClass.app.declarations[$0] }.sorted { $0.location < $1.location }
    leaks = LeakFinder.leaks(of: callClass, members: used).map {
      Missing(symbol: $0.type, instead: "by " + $0.chain.joined(separator: ", "), places: $0.places)
    }
    mechanical = Self.mechanical(outcomes, topics)
    // By the table, or by the style's reader.
    let lost = context.model.readings.values.reduce(into: [String: String]()) { found, reading in
      if case .lost(let symbol, let instead) = reading { found[symbol] = instead }
    }
    let declared = layer.renamed.compactMap { callClass.app.declarations[$0] }.sorted { $0.location < $1.location }
    declarations = declared.map { ($0.symbol.name, $0.location) }
    questions = PortQuestions(answers, target: "the " + target.title).all(
      renamed: declared.map(\.symbol.name), prefix: prefix, meanings: meanings, found: found,
      isLost: { lost[$0] != nil || context.table.instead(of: $0) != nil }, topic: topics.topic)
    let missing = { (shares: Set<Share>, reason: (String) -> String) in
      Dictionary(grouping: outcomes.filter { $0.cause != nil && shares.contains($0.share) }) { $0.cause ?? "" }
        .map { Missing(symbol: $0, instead: reason($0), places: $1.map(\.site.location).sorted()) }
        .sorted { ($0.places.count, $1.symbol) > ($1.places.count, $0.symbol) }
    }
    let callbacks = found.callbacks.map { Missing(symbol: $0.symbol, instead: $0.instead, places: [$0.place]) }
    let reason = { (symbol: String) in
      lost[symbol] ?? context.table.instead(of: symbol)
        ?? (answers.fate(of: symbol) == nil ? "it does nothing there" : "left out, as answered")
    }
    noWord = missing([.dropped], reason) + callbacks
    // What stays a comment does nothing else.
    let ported = outcomes.filter { $0.share == .written || $0.share == .inHelper }.map(\.site)
    differences = Dictionary(grouping: ported, by: \.symbol).compactMap { symbol, sites in
      context.reader.reader.difference(of: symbol, in: target).map {
        Missing(symbol: symbol, instead: $0, places: sites.map(\.location).sorted())
      }
    }.sorted { $0.symbol < $1.symbol }
    let warned = missing([.warned]) { _ in "" }
    // A callback without parameters has no call sites.
    byHand =
      warned
      + context.model.foreign.map { (reason: context.reason(for: $0), place: $0.location) }
      .filter { one in !warned.contains { $0.symbol == one.reason } }
      .map { Missing(symbol: $0.reason, instead: "", places: [$0.place]) }
    foreignText = context.foreignText
    self.files = files.map { name, text in (name, text.split(separator: "\n", omittingEmptySubsequences: false).count) }
    let ids = Set(questions.map(\.id))
    let symbols = Set(questions.flatMap(\.symbols))
    unusedAnswers = answers.questions.filter { entry in
      entry.symbols.map { symbols.isDisjoint(with: $0) } ?? !ids.contains(entry.id)
    }.map(\.id)
  }

  private static func mechanical(_ outcomes: [SiteOutcome], _ topics: Topics) -> [Mechanical] {
    let ported = outcomes.filter { $0.share == .written || $0.share == .inHelper }
    return Dictionary(grouping: ported) {
      topics.row($0.site.symbol)?.title ?? "structure of the style, which no row has"
    }.map { topic, found in
      Mechanical(
        topic: topic, written: found.count { $0.share == .written }, inHelper: found.count { $0.share == .inHelper },
        places: found.map(\.site.location).sorted())
    }.sorted { ($0.places.count, $1.topic) > ($1.places.count, $0.topic) }
  }
}

/// What an app does with a symbol: a row of the porting table, or, without one, the symbol's type.
struct Topic: Hashable {
  let id, title: String
}

/// The rows of the porting table by the symbols of a style.
private struct Topics {
  private var topics: [String: Topic] = [:]

  init(of style: Style) {
    for row in PortingTable.current.rows {
      let read = Array(row.read[style, default: [:]].keys)
      for symbol in read + row.lost[style, default: []] { topics[symbol] = Topic(id: row.id, title: row.does) }
    }
    for row in PortingTable.current.rows {
      for symbol in row.symbols[style] ?? [] where topics[symbol] == nil {
        topics[symbol] = Topic(id: row.id, title: row.does)
      }
    }
  }

  func row(_ symbol: String) -> Topic? { topics[symbol] }

  func topic(_ symbol: String) -> Topic {
    let type = String(symbol.prefix { $0 != "." && $0 != "(" })
    return topics[symbol] ?? Topic(id: type, title: type)
  }
}
