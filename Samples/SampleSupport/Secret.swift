public import ArgumentParser
public import Foundation

/// A secret that a command is given: in an option, which every user of the machine can read in the list of processes, in a
/// file, or in the environment.
public enum Secret {
  /// - Parameters:
  ///   - option: the secret itself; counts first.
  ///   - file: that holds it, white space around it left out.
  ///   - variable: of the environment, where neither is said.
  /// - Returns: nil where there is none.
  public static func text(
    option: String?, file: String?, variable: String,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(SampleExit) -> String? {
    if let option { return option }
    if let file {
      guard let data = FileManager.default.contents(atPath: file) else {
        throw SampleExit(code: 66, "'\(file)' cannot be read")
      }
      let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
      guard !text.isEmpty else { throw SampleExit(code: 66, "'\(file)' is empty") }
      return text
    }
    return environment[variable].flatMap { $0.isEmpty ? nil : $0 }
  }
}

/// The token that a sample joins with.
public struct TokenSource: ParsableArguments {
  @Option(
    help:
      "Join with this token, as koine token makes it. Every user of this machine can read it in the list of processes.")
  public var token: String?

  @Option(help: "Join with the token in this file. Without either option KOINE_TOKEN counts.")
  public var tokenFile: String?

  public init() {}

  public func validate() throws {
    guard token == nil || tokenFile == nil else { throw ValidationError("either --token or --token-file") }
  }

  /// Whether an option says it.
  public var isGiven: Bool { token != nil || tokenFile != nil }

  public func text() throws(SampleExit) -> String? {
    try Secret.text(option: token, file: tokenFile, variable: "KOINE_TOKEN")
  }
}
