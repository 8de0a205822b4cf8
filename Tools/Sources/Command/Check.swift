import AppCheck
public import ArgumentParser
import Foundation
public import KoinePorting

/// Reports which of an app's call code works here.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Reads an app's Swift sources and reports which of their symbols work here.",
    discussion: """
      The report lists every symbol of a vendor as working, without effect or unavailable, with its places; lines that do not \
      compile on Linux, and what to write instead; and callbacks that are never called.

      If the app was built (swift build), the command reads from the compiler's index which declaration each name means. Files \
      that were not built, were edited after the build or do not compile are read by their syntax: there the command decides by \
      names where the sources do not show the type of a value. The second line of the report says which was done.

      Exit code: 0; 1 if something cannot work; 66 if there are no sources, or the build or index store that was named cannot be \
      read.
      """)

  @Argument(help: "A Swift file, or a folder of Swift files.")
  var path: String

  @Option(
    help: ArgumentHelp(
      "A file or folder inside it that is not built on Linux. Repeat the option for several.", valueName: "file"))
  var exclude: [String] = []

  @OptionGroup var build: BuildOptions

  @Option(
    help: ArgumentHelp(
      "Prints only the rows of the porting table that the app needs, to this style.", valueName: "style"))
  var to: Style?

  @Flag(help: "Prints JSON.")
  var json = false

  func run() throws {
    let sources: AppSources
    let build: AppBuild
    do {
      sources = try AppSources(path: path, excluding: exclude)
      build = try self.build.find(around: path, sources.paths)
    } catch {
      try FileHandle.standardError.write(contentsOf: Data("koine check: \(error)\n".utf8))
      throw ExitCode(66)
    }
    let check = AppCheck(sources, path: path, build: build)
    let report = CheckReport(check, to: to)
    print(json ? try report.json : report.text)
    if !check.canWork { throw ExitCode(1) }
  }
}

extension Style: @retroactive ExpressibleByArgument {
  public init?(argument: String) { self.init(named: argument) }
}
