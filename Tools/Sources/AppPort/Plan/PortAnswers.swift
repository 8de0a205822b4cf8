public import CompilerFacts
import Foundation
public import KoinePorting

/// Answers of an app's team to what `koine port` asks: a JSON file, which `--plan` writes and `--answers` reads.
///
/// An entry answers for the symbols that it names, not for places, so that the file stays valid when the app changes.
public struct PortAnswers: Sendable, Equatable, Codable {
  public struct Entry: Sendable, Equatable, Codable {
    public let id: String
    /// The question, for people that edit the file. The command does not read it.
    public var question: String?
    /// The vendor's symbols that the answer is about.
    public var symbols: [String]?
    /// Each answer that there is, with its meaning, for people that edit the file. The command does not read it.
    public var choices: [String: String]?
    public var answer: String

    public init(
      id: String, question: String? = nil, symbols: [String]? = nil, choices: [String: String]? = nil, answer: String
    ) {
      (self.id, self.question, self.symbols, self.choices, self.answer) = (id, question, symbols, choices, answer)
    }
  }

  /// What becomes of a statement of which the target has no word, or the table no row.
  public enum Fate: Sendable, Equatable {
    /// It stays as a comment.
    case drop
    /// It stays as a comment under `#warning`.
    case warn
    /// The team's own Swift code takes its place. The old statement stays as a comment.
    case write(String)

    init?(_ answer: String) {
      switch answer {
      case "drop": self = .drop
      case "warn": self = .warn
      default:
        guard answer.hasPrefix("write:") else { return nil }
        let code = answer.dropFirst("write:".count).trimmingCharacters(in: .whitespaces)
        if code.isEmpty { return nil }
        self = .write(code)
      }
    }
  }

  /// The call class and the style of the new layer that the answers are for.
  public var type, to: String
  public var questions: [Entry]

  public init(type: String, to target: Style, questions: [Entry] = []) {
    (self.type, self.to, self.questions) = (type, target.rawValue, questions)
  }

  /// - Throws: `FactsFailure` if the file cannot be read, is no file of answers, or is for another class or style.
  public init(file: String, type: String, to target: Style) throws(FactsFailure) {
    guard let data = FileManager.default.contents(atPath: file) else {
      throw FactsFailure("the answers '\(file)' cannot be read; koine port … --plan --answers \(file) writes them")
    }
    do { self = try JSONDecoder().decode(PortAnswers.self, from: data) } catch {
      throw FactsFailure("'\(file)' is no file of answers as koine port … --plan --answers writes it: \(error)")
    }
    guard self.type == type, to == target.rawValue else {
      throw FactsFailure("the answers '\(file)' are for \(self.type) to \(to), not for \(type) to \(target.rawValue)")
    }
    var ids: Set<String> = []
    for entry in questions where !ids.insert(entry.id).inserted {
      throw FactsFailure("'\(file)' answers the question '\(entry.id)' twice")
    }
    for entry in questions where entry.symbols != nil && Fate(entry.answer) == nil {
      throw FactsFailure(
        "'\(file)': '\(entry.answer)' is no answer to '\(entry.id)'; the answers are drop, warn and write: CODE")
    }
    _ = try prefix()
  }

  /// The file's text.
  public var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    // Encoding strings and arrays cannot fail.
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) + "\n" } ?? ""
  }

  // MARK: Reading

  static let namesID = "names"

  /// What new names begin with if no answer says so.
  var defaultPrefix: String { Style(rawValue: to).map(LayerWriters.prefix) ?? KoineWriter.prefix }

  subscript(id: String) -> Entry? { questions.first { $0.id == id } }

  /// What the new types' names begin with.
  /// - Throws: `FactsFailure` if the answer cannot begin a type's name.
  func prefix() throws(FactsFailure) -> String {
    guard let answer = self[Self.namesID]?.answer else { return defaultPrefix }
    guard let first = answer.first, first.isUppercase, answer.allSatisfy({ $0.isLetter || $0.isNumber }) else {
      throw FactsFailure("'\(answer)' cannot begin the names of types: use letters and digits, the first a capital")
    }
    return answer
  }

  func fate(of symbol: String) -> Fate? {
    questions.first { $0.symbols?.contains(symbol) == true }.flatMap { Fate($0.answer) }
  }
}
