import ArgumentParser
import Foundation
import KoineSampleSupport

/// `koine check`: runs the program `koine-tools`, which the package in `Tools` builds.
///
/// It is a program of its own because it links the toolchain's SwiftSyntax, which the programs of this package need not.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Reads an app's Swift sources and reports which of their symbols work here.",
    discussion:
      "Build it once, in the checkout of Koine: swift build --package-path Tools. `koine check --help` then lists its options."
  )

  @Argument(parsing: .captureForPassthrough, help: "Its arguments.")
  var arguments: [String] = []

  func run() throws { throw try ExternalTools.replaceProcess(with: ["check"] + arguments) }
}

/// `koine linux`: as `koine check`, in the same program.
struct Linux: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copies an app's Swift sources in the form that compiles on Linux.",
    discussion:
      "Build it once, in the checkout of Koine: swift build --package-path Tools. `koine linux --help` then lists its options."
  )

  @Argument(parsing: .captureForPassthrough, help: "Its arguments.")
  var arguments: [String] = []

  func run() throws { throw try ExternalTools.replaceProcess(with: ["linux"] + arguments) }
}

/// `koine port`: as `koine check`, in the same program.
struct Port: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prepares an app's calls for another style.",
    discussion:
      "Build it once, in the checkout of Koine: swift build --package-path Tools. `koine port --help` then lists its commands."
  )

  @Argument(parsing: .captureForPassthrough, help: "Its arguments.")
  var arguments: [String] = []

  func run() throws { throw try ExternalTools.replaceProcess(with: ["port"] + arguments) }
}

/// The programs of the package in `Tools`, which replace this process.
enum ExternalTools {
  private static let name = "koine-tools"
  private static let commands = ["check", "linux", "port"]

  /// `koine help port layer` is answered by the program that has the command, if it is built.
  static func replaceProcessForHelp(_ arguments: some Collection<String>) {
    guard arguments.first == "help", let command = arguments.dropFirst().first, commands.contains(command),
      let program = path()
    else { return }
    var words = ([name] + arguments).map { strdup($0) } + [nil]
    execv(program, &words)
  }

  /// - Parameter arguments: with the subcommand as the first.
  /// - Returns: only if there is no such program, or it cannot be started: the exit code.
  static func replaceProcess(with arguments: [String]) throws -> ExitCode {
    let command = "koine " + (arguments.first ?? "")
    guard let program = path() else {
      KoineSampleSupport.print(
        "\(command): needs the program \(name); build it with `swift build --package-path Tools` in the checkout of Koine",
        to: .standardError)
      return ExitCode(69)
    }
    var words = ([name] + arguments).map { strdup($0) } + [nil]
    execv(program, &words)
    KoineSampleSupport.print("\(command): \(program): \(String(cString: strerror(errno)))", to: .standardError)
    return ExitCode(69)
  }

  /// Looks beside this program, then in `Tools` of the checkout of Koine that this program was built in or for (of a debug and a release
  /// build, the later one), then in `PATH`.
  private static func path() -> String? {
    let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    var places = [own.appendingPathComponent(name).path]
    var folder = own
    while folder.path != "/" {
      for checkout in ["", "/checkouts/koine"] {
        let builds = ["release", "debug"].map { "\(folder.path)\(checkout)/Tools/.build/\($0)/\(name)" }
        places += builds.sorted { date(of: $0) > date(of: $1) }
      }
      folder.deleteLastPathComponent()
    }
    let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
    places += search.split(separator: ":").map { "\($0)/\(name)" }
    return places.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  private static func date(of path: String) -> Date {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return attributes?[.modificationDate] as? Date ?? .distantPast
  }
}
