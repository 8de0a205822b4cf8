import Foundation
import Koine

/// What a person may tell a sample: by key on a terminal, by line in a script.
public struct Command: Sendable, Hashable {
  /// In scripts.
  public let name: String
  /// On a terminal.
  public let key: Character

  public init(_ name: String, key: Character) { (self.name, self.key) = (name, key) }

  public static let mute = Command("mute", key: "m")
  public static let camera = Command("camera", key: "v")
  public static let people = Command("people", key: "p")
  public static let figures = Command("figures", key: "f")
  public static let leave = Command("leave", key: "q")

  /// What every sample knows.
  public static let common = [mute, camera, people, figures, leave]
}

/// Commands with their times, from lines like `at 5s mute`; empty lines and lines that begin with `#` are skipped.
public struct Script: Sendable, Equatable {
  public struct Step: Sendable, Equatable {
    public let time: Duration
    public let command: Command
  }

  public let steps: [Step]

  /// - Parameter commands: those that may be told.
  public init(_ text: String, commands: [Command] = Command.common) throws(SampleExit) {
    var steps: [Step] = []
    for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let words = line.split(whereSeparator: \.isWhitespace)
      if words.isEmpty || words[0].hasPrefix("#") { continue }
      guard words.count == 3, words[0] == "at", words[1].hasSuffix("s"), let seconds = Double(words[1].dropLast()),
        seconds >= 0, seconds < 1e6, let command = commands.first(where: { $0.name == words[2] })
      else {
        let known = commands.map(\.name).joined(separator: ", ")
        throw SampleExit(code: 64, "script line \(number + 1): expected 'at SECONDSs COMMAND' with one of \(known)")
      }
      steps.append(Step(time: .seconds(seconds), command: command))
    }
    self.steps = steps.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(
      \.element)
  }

  public init(contentsOf path: String, commands: [Command] = Command.common) throws(SampleExit) {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw SampleExit(code: 66, "cannot read the script '\(path)'")
    }
    try self.init(String(decoding: data, as: UTF8.self), commands: commands)
  }
}
