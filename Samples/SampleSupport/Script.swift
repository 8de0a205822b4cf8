import Foundation
import Koine

/// What a person may tell a sample: by key on a terminal, by line in a script.
public enum Command: String, Sendable, CaseIterable {
  case mute, camera, people, leave

  /// The key on a terminal.
  public init?(key: Character) {
    switch key {
    case "m": self = .mute
    case "v": self = .camera
    case "p": self = .people
    case "q": self = .leave
    default: return nil
    }
  }
}

/// Commands with their times, from lines like `at 5s mute`; empty lines and lines that begin with `#` are skipped.
public struct Script: Sendable, Equatable {
  public struct Step: Sendable, Equatable {
    public let time: Duration
    public let command: Command
  }

  public let steps: [Step]

  public init(_ text: String) throws(SampleExit) {
    var steps: [Step] = []
    for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let words = line.split(whereSeparator: \.isWhitespace)
      if words.isEmpty || words[0].hasPrefix("#") { continue }
      guard words.count == 3, words[0] == "at", words[1].hasSuffix("s"), let seconds = Double(words[1].dropLast()),
        seconds >= 0, seconds < 1e6, let command = Command(rawValue: String(words[2]))
      else {
        let known = Command.allCases.map(\.rawValue).joined(separator: ", ")
        throw SampleExit(code: 64, "script line \(number + 1): expected 'at SECONDSs COMMAND' with one of \(known)")
      }
      steps.append(Step(time: .seconds(seconds), command: command))
    }
    self.steps = steps.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(
      \.element)
  }

  public init(contentsOf path: String) throws(SampleExit) {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw SampleExit(code: 66, "cannot read the script '\(path)'")
    }
    try self.init(String(decoding: data, as: UTF8.self))
  }
}
