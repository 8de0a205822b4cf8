public import CompilerFacts
import KoinePorting

/// What `koine port` asks an app's team: each answer leads to another new file.
public struct PortQuestion: Sendable, Equatable {
  public struct Option: Sendable, Equatable {
    /// As it stands in the file of answers.
    public let answer: String
    public let meaning: String
    /// Its cost: so many call sites of the app are not ported, or to be written by hand.
    public let sites: Int
  }

  public let id, text: String
  /// The vendor's symbols that it is about; empty for questions that are about none.
  public let symbols: [String]
  public let options: [Option]
  public let defaultAnswer: String
  /// The answer that the layer was made with.
  public let answer: String
  /// Whether the answer is the team's own.
  public let isAnswered: Bool
  public let places: [CodeLocation]

  var entry: PortAnswers.Entry {
    PortAnswers.Entry(
      id: id, question: text, symbols: symbols.isEmpty ? nil : symbols,
      choices: Dictionary(
        options.map { ($0.answer, "\($0.meaning) (\(PortPlan.count($0.sites, "site")))") },
        uniquingKeysWith: { one, _ in one }), answer: answer)
  }
}

/// Makes the questions of an app.
struct PortQuestions {
  /// More than these would be read by nobody.
  static let limit = 10

  private let answers: PortAnswers
  private let target: String

  init(_ answers: PortAnswers, target: String) { (self.answers, self.target) = (answers, target) }

  func all(
    renamed: [String], prefix: String, meanings: [CaseMeaning], found: SiteOutcomes,
    isLost: @escaping (String) -> Bool, topic: @escaping (String) -> Topic
  ) -> [PortQuestion] {
    let byCase = meanings.map(question).sorted { ($0.places.count, $1.id) > ($1.places.count, $0.id) }
    let left = Self.limit - 1
    var groups = groups(of: found, isLost: isLost, topic: topic)
    while groups.count > 1, groups.count + min(byCase.count, left / 2) > left { Self.joinSmallest(&groups) }
    let others = groups.map(question)
    return [names(renamed, prefix)] + others + byCase.prefix(left - others.count)
  }

  // MARK: Names

  private func names(_ renamed: [String], _ prefix: String) -> PortQuestion {
    let examples = renamed.prefix(3).map { prefix + $0 }.joined(separator: ", ")
    let suffix = renamed.count > 3 ? " …" : ""
    return PortQuestion(
      id: PortAnswers.namesID, text: "What do the names of the new declarations begin with? (\(examples)\(suffix))",
      symbols: [],
      options: [
        .init(
          answer: prefix,
          meaning: "\(PortPlan.count(renamed.count, "declaration")) of the app's get a second form under such a name",
          sites: 0),
        .init(answer: "NAME", meaning: "any other word, with a capital at its beginning", sites: 0),
      ], defaultAnswer: answers.defaultPrefix, answer: prefix, isAnswered: answers[PortAnswers.namesID] != nil,
      places: [])
  }

  // MARK: Cases

  private func question(_ meaning: CaseMeaning) -> PortQuestion {
    let places = meaning.choices.flatMap(\.places.keys)
    return PortQuestion(
      id: meaning.id,
      text: "\(meaning.choices.map(\.name).joined(separator: " and ")) are both \(meaning.word) in \(target). Whose "
        + "statements stay in \(meaning.owner)?",
      symbols: [],
      options: meaning.choices.map { choice in
        .init(
          answer: choice.name, meaning: "the statements of \(choice.name) stay; the others are comments",
          sites: places.count - choice.places.count)
      }, defaultAnswer: meaning.choices[0].name, answer: meaning.chosen(by: answers).name,
      isAnswered: meaning.choices.contains { $0.name == answers[meaning.id]?.answer }, places: places.sorted())
  }

  // MARK: Symbols without a counterpart

  private struct Group {
    let isLost: Bool
    var topics: [Topic]
    var outcomes: [SiteOutcome] = []
    var callbacks: [LostCallback] = []
    var symbols: [String] { Set(outcomes.compactMap(\.cause) + callbacks.map(\.symbol)).sorted() }
    var places: [CodeLocation] { (outcomes.map(\.site.location) + callbacks.map(\.place)).sorted() }
  }

  private func groups(
    of found: SiteOutcomes, isLost: @escaping (String) -> Bool, topic: @escaping (String) -> Topic
  ) -> [Group] {
    struct Key: Hashable {
      let isLost: Bool
      let topic: Topic
    }
    var groups: [Key: Group] = [:]
    let key = { (symbol: String) in Key(isLost: isLost(symbol), topic: topic(symbol)) }
    let group = { (key: Key) in Group(isLost: key.isLost, topics: [key.topic]) }
    for outcome in found.all where outcome.hasComment {
      guard let key = outcome.cause.map(key) else { continue }
      groups[key, default: group(key)].outcomes.append(outcome)
    }
    for callback in found.callbacks {
      let key = key(callback.symbol)
      groups[key, default: group(key)].callbacks.append(callback)
    }
    return groups.values.sorted { ($0.places.count, $1.topics[0].id) > ($1.places.count, $0.topics[0].id) }
  }

  /// Joins the two smallest groups of one kind.
  private static func joinSmallest(_ groups: inout [Group]) {
    guard let last = groups.indices.last,
      let other = groups.indices.dropLast().last(where: { groups[$0].isLost == groups[last].isLost })
        ?? groups.indices.dropLast().last
    else { return }
    guard groups[other].isLost == groups[last].isLost else {
      // The last one of its kind: join two of the other kind.
      let moved = groups.remove(at: last)
      joinSmallest(&groups)
      groups.append(moved)
      return
    }
    groups[other].topics += groups[last].topics
    groups[other].outcomes += groups[last].outcomes
    groups[other].callbacks += groups[last].callbacks
    groups.remove(at: last)
  }

  private func question(_ group: Group) -> PortQuestion {
    let callbacks = group.callbacks.isEmpty ? "" : " and \(PortPlan.count(group.callbacks.count, "callback"))"
    let sites = PortPlan.count(group.outcomes.count, "site") + callbacks
    let topics =
      group.topics.prefix(3).map { "“\($0.title)”" }.joined(separator: ", ")
      + (group.topics.count > 3 ? " …" : "")
    let symbols = PortPlan.count(group.symbols.count, "symbol")
    let count = group.outcomes.count
    let drop = PortQuestion.Option(
      answer: "drop", meaning: "the new layer does nothing there; the old code stays as a comment", sites: count)
    let warn = PortQuestion.Option(
      answer: "warn", meaning: "each is to be written by hand, and stays as a comment under #warning", sites: count)
    let write = PortQuestion.Option(
      answer: "write: CODE", meaning: "this Swift code takes the place of each statement", sites: 0)
    let given = group.symbols.lazy.compactMap { symbol in
      answers.questions.first { $0.symbols?.contains(symbol) == true }?.answer
    }.first
    let defaultAnswer = group.isLost ? "drop" : "warn"
    return PortQuestion(
      id: (group.isLost ? "lost:" : "unknown:") + (group.topics.count > 1 ? "others" : group.topics[0].id),
      text: group.isLost
        ? "\(symbols) of \(topics) without a counterpart in \(target): what becomes of \(sites)?"
        : "\(symbols) of \(topics) that the command cannot write: what becomes of \(sites)?",
      symbols: group.symbols,
      options: (group.isLost ? [drop, warn] : [warn, drop])
        + (group.outcomes.contains(where: \.takesCode) ? [write] : []),
      defaultAnswer: defaultAnswer, answer: given ?? defaultAnswer,
      isAnswered: group.symbols.allSatisfy { answers.fate(of: $0) != nil },
      places: group.places)
  }
}
