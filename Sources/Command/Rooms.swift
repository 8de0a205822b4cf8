import ArgumentParser
import Foundation
import Koine
import KoineRouter
import KoineServer

/// Commands to a running `koine serve`.
struct Rooms: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the rooms of a running koine serve, and gives it commands about them.",
    discussion: """
      The server needs a control socket: koine serve --control PATH. Only the user that runs the server may connect. Each command is \
      logged by the server with its reason. Exit codes: 69 where no server listens on the socket, 1 where the server refuses the command.
      """,
    subcommands: [List.self, Remove.self, Close.self, Grant.self, Mute.self, Record.self], defaultSubcommand: List.self)

  struct Connection: ParsableArguments {
    @Option(help: "The server's control socket. (default: KOINE_SERVE_CONTROL)")
    var control: String?

    @Option(help: "Is logged with the command.")
    var reason: String?

    func perform(_ request: ControlRequest) throws -> ControlAnswer {
      guard let path = control ?? ProcessInfo.processInfo.environment["KOINE_SERVE_CONTROL"], !path.isEmpty else {
        throw ValidationError("no control socket is given: --control PATH")
      }
      var request = request
      request.reason = reason
      let answer: ControlAnswer
      do { answer = try ControlClient(path).perform(request) } catch {
        FileHandle.standardError.write(Data("koine rooms: \(error)\n".utf8))
        throw ExitCode(69)
      }
      guard let failure = answer.failure else { return answer }
      FileHandle.standardError.write(Data("koine rooms: \(failure.message) (\(failure.code.rawValue))\n".utf8))
      throw ExitCode.failure
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists rooms, participants and tracks.")

    @OptionGroup var connection: Connection
    @Flag(help: "Writes JSON.")
    var json = false

    func run() throws {
      let rooms = try connection.perform(ControlRequest(.list)).rooms ?? []
      guard json else { return print(rooms.map(Self.text).joined(separator: "\n")) }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      print(String(decoding: try encoder.encode(rooms), as: UTF8.self))
    }

    static func text(_ room: RoomReport) -> String {
      let members = room.members.map { member in
        let tracks = member.participant.tracks.map { "\($0.id.track)\($0.isMuted ? " (muted)" : "")" }
        let notes = [member.isHidden ? "hidden" : nil, member.isConnected ? nil : "not connected"].compactMap(\.self)
        return "  \(member.participant.id)  “\(member.participant.name)”  \(tracks.joined(separator: ", "))"
          + (notes.isEmpty ? "" : "  [\(notes.joined(separator: ", "))]")
      }
      let waiting = room.waiting.map { "  \($0.id)  “\($0.name)”  [waiting]" }
      return (["\(room.name): \(room.members.count)"] + members + waiting).joined(separator: "\n")
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Removes a participant from a room.")

    @Argument var room: String
    @Argument(help: "The participant's id.") var participant: String
    @OptionGroup var connection: Connection

    func run() throws {
      var request = ControlRequest(.remove)
      (request.room, request.participant) = (room, participant)
      _ = try connection.perform(request)
    }
  }

  struct Close: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Ends a room for all its participants.")

    @Argument var room: String
    @OptionGroup var connection: Connection

    func run() throws {
      var request = ControlRequest(.close)
      request.room = room
      _ = try connection.perform(request)
    }
  }

  struct Grant: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Changes what a participant in a room may do.",
      discussion:
        "Tracks and subscriptions that are not granted any more end. An option that is not given leaves a grant as it is."
    )

    @Argument var room: String
    @Argument(help: "The participant's id.") var participant: String
    @Option(help: "Kinds of tracks with commas between: microphone, camera, screen, screenSound; or none.")
    var publish: String?
    @Option(help: "true or false.") var subscribe: Bool?
    @Option(help: "true or false.") var data: Bool?
    @Option(help: "true or false.") var moderate: Bool?
    @Option(help: "true or false.") var admit: Bool?
    @Option(help: "true or false.") var record: Bool?
    @OptionGroup var connection: Connection

    func run() throws {
      var changes = GrantChanges()
      if let publish {
        let names = publish == "none" ? [] : publish.split(separator: ",").map(String.init)
        changes.publish = Set(
          try names.map { name in
            guard let kind = Track.Kind(rawValue: name) else { throw ValidationError("'\(name)' is no kind of track") }
            return kind
          })
      }
      (changes.canSubscribe, changes.canSendData, changes.canModerate) = (subscribe, data, moderate)
      (changes.canAdmit, changes.canRecord) = (admit, record)
      var request = ControlRequest(.grant)
      (request.room, request.participant, request.grants) = (room, participant, changes)
      _ = try connection.perform(request)
    }
  }

  struct Mute: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Mutes a track until its owner unmutes it.")

    @Argument var room: String
    @Argument(help: "The participant's id.") var participant: String
    @Argument(help: "The track's id, as koine rooms list has it.") var track: String
    @OptionGroup var connection: Connection

    func run() throws {
      var request = ControlRequest(.mute)
      (request.room, request.participant, request.track) = (room, participant, track)
      _ = try connection.perform(request)
    }
  }

  struct Record: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Has the server record a room, or stop.", discussion: "The server needs --recordings.")

    @Argument var room: String
    @Flag(help: "Stops the recording.") var stop = false
    @OptionGroup var connection: Connection

    func run() throws {
      var request = ControlRequest(stop ? .stopRecording : .record)
      request.room = room
      _ = try connection.perform(request)
    }
  }
}
