import ArgumentParser
import KoineBase
import KoineSampleSupport

#if KOINE_CHECK
  import KoineAppCheck
#endif

/// What of an app's call code works here.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Reads an app's Swift sources and says what of them works here.",
    discussion: """
      Every symbol of a vendor's as working, kept without effect, or not to be had, with its places; lines that cannot be \
      compiled on Linux, and what to write instead; callbacks that nobody would call. It reads syntax, not types: \
      the compiler has the last word.

      It is built when asked for (KOINE_CHECK=1 swift build), because it brings swift-syntax.

      Exit code: 0; 1 if something cannot work; 66 if there are no sources; 69 if this koine was built without it.
      """)

  @Argument(help: "A Swift file, or a folder of them.")
  var path: String

  @Option(
    help: ArgumentHelp("A file or folder of it that is not built on Linux; as often as needed.", valueName: "file"))
  var exclude: [String] = []

  @Option(
    help: ArgumentHelp(
      "Prints only the rows of the porting table that the app needs, to this style.", valueName: "style"))
  var to: Style?

  @Flag(help: "Prints JSON.")
  var json = false

  func run() throws {
    #if KOINE_CHECK
      let sources: AppSources
      do { sources = try AppSources(path: path, excluding: exclude) } catch {
        KoineSampleSupport.print("koine check: \(error)", to: .standardError)
        throw ExitCode(66)
      }
      let check = AppCheck(sources, path: path)
      let report = CheckReport(check, to: to)
      Swift.print(json ? try report.json : report.text)
      if !check.canWork { throw ExitCode(1) }
    #else
      KoineSampleSupport.print(
        "koine check: this koine cannot read Swift; build it with KOINE_CHECK=1 swift build", to: .standardError)
      throw ExitCode(69)
    #endif
  }
}
