import ArgumentParser

/// The tools for people that bring an app to Koine. The `koine` command runs them under its own name (`koine check`).
@main
struct KoineTools: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "koine", abstract: "Tools for people that bring an app to Koine.",
    subcommands: [Check.self, Linux.self, Port.self])
}
