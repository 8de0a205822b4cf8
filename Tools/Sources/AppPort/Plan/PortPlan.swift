public import CompilerFacts
import KoinePorting

/// What `koine port` would do with an app: `koine port … --plan`.
public struct PortPlan: Sendable {
  /// Call sites of one row of the porting table that the command ports without a question.
  public struct Mechanical: Sendable {
    /// What the app does there: “mute the local microphone”.
    public let topic: String
    public let written, inHelper: Int
    public let places: [CodeLocation]
  }

  /// A symbol that is not ported.
  public struct Missing: Sendable {
    public let symbol: String
    /// What to do instead, or why it is not ported.
    public let instead: String
    public let places: [CodeLocation]
  }

  public let typeName, newName, style, target: String
  /// The protocol of the app behind which both layers are.
  public let seam: String?
  /// What makes the app's protocols before the class no seam, as text.
  let seamObstacles: [String]
  public let siteCount: Int
  public let shares: [(share: String, percent: Int, count: Int)]
  public let leaks: [Missing]
  public let mechanical: [Mechanical]
  public internal(set) var questions: [PortQuestion]
  public let noWord, byHand: [Missing]
  /// Symbols that are ported, and do something else in the target.
  public let differences: [Missing]
  /// What to do with callbacks of other classes than the call class; nil if there are none.
  public let foreignText: String?
  /// The new files, with their lines.
  public let files: [(name: String, lines: Int)]
  /// The app's declarations that get a second form.
  public let declarations: [(name: String, place: CodeLocation)]
  /// Entries of the file of answers whose question the app does not have any more.
  public let unusedAnswers: [String]

  // MARK: Answers

  /// The answers with which the plan was made, and the default answers of the other questions.
  public func answers(_ given: PortAnswers) -> PortAnswers {
    var answers = given
    let entries = questions.map(\.entry)
    answers.questions =
      entries
      + given.questions.filter { entry in
        guard let symbols = entry.symbols else { return !entries.contains { $0.id == entry.id } }
        // An answer about symbols that the app does not use now is kept: the next commit may use them.
        return symbols.contains { symbol in !entries.contains { $0.symbols?.contains(symbol) == true } }
          && !entries.contains { $0.id == entry.id }
      }
    return answers
  }

  // MARK: Text

  static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

  public var text: String {
    var lines = [
      "\(typeName) (\(style)) → \(newName) (\(target)): \(Self.count(siteCount, "call site"))",
      shares.map { "\($0.share) \($0.percent) % (\($0.count))" }.joined(separator: ", "),
      "New files: " + files.map { "\($0.name) (\(Self.count($0.lines, "line")))" }.joined(separator: ", "),
      seamText,
    ]
    let part = { (title: String, found: [String]) in
      if !found.isEmpty { lines += ["", "\(title) (\(found.count))"] + found.map { "  " + $0 } }
    }
    part("Vendor types that other code sees", leaks.map { "\($0.symbol) \($0.instead); \(Seam.places($0.places))" })
    part(
      "Ported without a question",
      mechanical.map {
        "\($0.topic): \($0.written) written, \($0.inHelper) in the helper; \(Seam.places($0.places))"
      })
    part("Questions", questions.map(text))
    part("No word in \(target)", noWordLines)
    part("Works otherwise", differenceLines)
    part("To be written by hand", byHand.map { "\($0.symbol); \(Seam.places($0.places))" })
    if let foreignText { lines.append(foreignText) }
    part("Answers to questions that the app does not have any more", unusedAnswers)
    return lines.joined(separator: "\n")
  }

  var noWordLines: [String] { Self.lines(noWord) }
  var differenceLines: [String] { Self.lines(differences) }
  private static func lines(_ found: [Missing]) -> [String] {
    found.map { "\($0.symbol): \($0.instead); \(Seam.places($0.places))" }
  }

  /// Questions without an answer of the team's, and answers without a question, as lines; empty if there are none.
  public var unansweredText: [String] {
    let new = questions.filter { !$0.isAnswered }.map { "  \($0.id): \($0.defaultAnswer), by default" }
    return (new.isEmpty ? [] : ["", "Questions without an answer (\(new.count))"] + new)
      + (unusedAnswers.isEmpty
        ? [] : ["", "Answers without a question (\(unusedAnswers.count))"] + unusedAnswers.map { "  " + $0 })
  }

  var seamText: String {
    if let seam { return "Both layers are behind the protocol \(seam)." }
    let count = Self.count(declarations.count, "declaration")
    guard seamObstacles.isEmpty else {
      return seamObstacles.joined(separator: " ") + " Until then \(count) of the app's get a second form."
    }
    return
      "No protocol that is free of vendor types stands before \(typeName): \(count) of the app's get a second form. "
      + "koine port seam writes one."
  }

  private func text(_ question: PortQuestion) -> String {
    let options = question.options.map { option in
      "\n      \(option.answer == question.answer ? "→" : " ") \(option.answer): \(option.meaning); "
        + Self.count(option.sites, "site")
    }
    let state = question.isAnswered ? "answered: \(question.answer)" : "default: \(question.defaultAnswer)"
    let places = question.places.isEmpty ? "" : "; \(Seam.places(question.places))"
    return "\(question.id): \(question.text) (\(state)\(places))" + options.joined()
  }
}
