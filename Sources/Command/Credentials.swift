import ArgumentParser
import Foundation
import KoineServer

/// Makes a file of credentials for apps' back ends.
struct CredentialsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credentials", abstract: "Makes a file of credentials by which back ends sign their requests.",
    discussion: """
      `koine serve --api-credentials FILE` answers requests to the HTTP APIs of Amazon Chime, Amazon IVS, Azure \
      Communication Services and VideoSDK that a credential of the file has signed. The file has one credential for each \
      vendor, and one that links rooms. More can be added by hand, and a running server reads the file again on SIGHUP.
      """)

  @Argument(help: "The file to make. Only its owner may read it.")
  var file: String

  @Flag(help: "Prints what a back end's environment needs.")
  var environment = false

  func run() throws {
    if environment { return try printEnvironment() }
    guard !FileManager.default.fileExists(atPath: file) else {
      throw ValidationError("'\(file)' exists already; --environment prints what is in it")
    }
    try KeyFile.write(BackEndAPIs.makeCredentials(), to: file, mode: 0o600)
    print("Made \(file). `koine credentials \(file) --environment` prints what a back end needs.")
  }

  private func printEnvironment() throws {
    guard let data = FileManager.default.contents(atPath: file) else {
      throw ValidationError("there is no file of credentials at '\(file)'")
    }
    for (name, value) in try BackEndAPIs.environment(credentials: [UInt8](data)) { print("\(name)=\(value)") }
  }
}
