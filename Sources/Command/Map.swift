import ArgumentParser
import KoineBase
import KoinePorting

/// What one style calls another's.
struct Map: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Says what the other styles call a symbol: the table of Docs/porting.md.",
    discussion: """
      koine map Meeting.muteMic            what the others call it
      koine map participantDidJoin         the same, by a part of its selector
      koine map 1026                       what an error's code stands for, and what the others tell then
      koine map --from event-listener --to stage-strategy
                                           all that an app does, in two styles
      koine map                            the whole table

      Styles: \(Style.catalogue).
      """)

  @Argument(help: "A symbol, so much of it as says which (Meeting.muteMic(), muteMic, IVSStage), or an error's code.")
  var symbol: String?

  @Option(help: ArgumentHelp("The style that is left.", valueName: "style"))
  var from: Style?

  @Option(
    help: ArgumentHelp("The style that the app moves to; with a symbol, the only other one shown.", valueName: "style"))
  var to: Style?

  @Flag(help: "Prints JSON.")
  var json = false

  func validate() throws {
    if from != nil, to == nil { throw ValidationError("--from needs --to") }
    if from != nil, symbol != nil { throw ValidationError("a symbol says itself which style it is from") }
  }

  func run() throws {
    let report =
      if let symbol {
        try MapReport(symbol: symbol, to: to)
      } else if let from, let to {
        MapReport(from: from, to: to)
      } else {
        MapReport(to: to)
      }
    Swift.print(json ? try report.json : report.text)
  }
}
