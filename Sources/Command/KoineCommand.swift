import ArgumentParser

/// The `koine` command.
@main
struct KoineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "koine", abstract: "Real-time calls in four vendors' words.", version: "0.1.0",
    subcommands: [
      Demo.self, Conformance.self, Serve.self, Rooms.self, Cluster.self, CredentialsCommand.self, EventsCommand.self,
      Record.self,
      Token.self, Map.self,
      Check.self, Linux.self, Port.self,
    ])

  static func main() async {
    ExternalTools.replaceProcessForHelp(CommandLine.arguments.dropFirst())
    await main(nil)
  }
}
