import ArgumentParser
import Foundation
import Koine
import KoineBase
import KoineRouter
import KoineSampleSupport
import KoineServer

/// Looks at the rooms of a running server, and changes them.
struct Rooms: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists and changes the rooms of a running server on this machine.",
    discussion: """
      The server was started with `koine serve --control PATH`; the same PATH is given here by --control or by \
      KOINE_SERVE_CONTROL. The server logs every change with the user who asked, and --reason.

      Exit codes: 0 done, 64 the command line is wrong, 65 the server does not understand the command, 66 there is no such \
      room, participant or track, 69 no server answers, the server is stopping or overloaded, or `record` got no result \
      within --wait, 1 the server cannot do it.
      """,
    subcommands: [
      ListRooms.self, ShowRoom.self, RemoveParticipant.self, CloseRoom.self, GrantPermissions.self, MuteTrack.self,
      LinkRooms.self, UnlinkRooms.self, RecordRoom.self,
    ])
}

/// Where the server is, and how its answer is printed.
struct ControlOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The server's control socket, as `koine serve --control` has made it. (default: KOINE_SERVE_CONTROL)",
      valueName: "path"))
  var control: String?

  @Flag(help: "Prints the server's answer as one line of JSON, failures too.")
  var json = false

  @Option(help: "For the server's log, at most \(ControlRequest.reasonLimit) bytes.")
  var reason: String?

  func validate() throws {
    if control?.isEmpty == true { throw ValidationError("--control is empty") }
    guard let reason else { return }
    guard (1...ControlRequest.reasonLimit).contains(reason.utf8.count) else {
      throw ValidationError("--reason has 1 to \(ControlRequest.reasonLimit) bytes")
    }
  }

  private func client() throws -> ControlClient {
    guard let path = control ?? ProcessInfo.processInfo.environment["KOINE_SERVE_CONTROL"], !path.isEmpty else {
      throw SampleExit(code: 64, "say where the server takes commands: --control PATH, or KOINE_SERVE_CONTROL")
    }
    return ControlClient(path: path)
  }

  func send(_ command: RoomCommand) throws -> RoomReply {
    let client = try client()
    do throws(ServerError) {
      return try client.send(ControlRequest(command, by: Self.user, reason: reason))
    } catch {
      throw SampleExit(code: 69, error.description)
    }
  }

  private static var user: String {
    let name = NSUserName()
    return name.isEmpty ? "\(getuid())" : name
  }
}

/// One command to a server. An error in its answer is printed without the usage text, because the command line was correct.
protocol RoomsCommand: ParsableCommand {
  var options: ControlOptions { get }
  var command: RoomCommand { get throws }
  func describe(_ reply: RoomReply) -> String?
}

extension RoomsCommand {
  func describe(_ reply: RoomReply) -> String? { nil }

  func run() throws {
    do {
      try print(try options.send(try command))
    } catch let error as SampleExit {
      error.leave(command: "koine rooms")
    }
  }

  func print(_ reply: RoomReply) throws {
    if options.json {
      Swift.print(try reply.jsonText)
    } else if let text = describe(reply), reply.error == nil {
      Swift.print(text)
    }
    guard let error = reply.error else { return }
    if options.json { Foundation.exit(error.code.exitCode) }
    throw SampleExit(code: error.code.exitCode, error.message)
  }
}

extension RoomControlError.Code {
  var exitCode: Int32 {
    switch self {
    case .noSuchRoom, .noSuchParticipant, .noSuchTrack: 66
    case .malformed: 65
    case .unavailable: 69
    case .notPossible: 1
    }
  }
}

struct ListRooms: RoomsCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the rooms.")

  @OptionGroup var options: ControlOptions

  var command: RoomCommand { .listRooms }

  func describe(_ reply: RoomReply) -> String? { RoomText.list(reply.rooms ?? []) }
}

struct ShowRoom: RoomsCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows a room: its participants, their tracks and permissions, and its recordings.")

  @Argument(help: "The room.") var room: String
  @OptionGroup var options: ControlOptions

  var command: RoomCommand { .describe(room: room) }

  func describe(_ reply: RoomReply) -> String? { reply.room.map(RoomText.details) }
}

struct RemoveParticipant: RoomsCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Removes a participant from a room.",
    discussion: "It may join again, unless its credential does not let it.")

  @Argument(help: "The room.") var room: String
  @Argument(help: "The participant's id.") var participant: String
  @Flag(help: "Tells the participant that its credential has expired.") var expired = false
  @OptionGroup var options: ControlOptions

  var command: RoomCommand { .remove(participant, room: room, ending: expired ? .expired : .removed) }
}

struct CloseRoom: RoomsCommand {
  static let configuration = CommandConfiguration(commandName: "close", abstract: "Ends a room for all participants.")

  @Argument(help: "The room.") var room: String
  @OptionGroup var options: ControlOptions

  var command: RoomCommand { .close(room: room) }
}

private func permission(named name: String) throws -> ParticipantPermission {
  guard let permission = ParticipantPermission(rawValue: name) else {
    let known = ParticipantPermission.allCases.map(\.rawValue).joined(separator: ", ")
    throw ValidationError("there is no permission “\(name)”; the permissions are \(known)")
  }
  return permission
}

struct GrantPermissions: RoomsCommand {
  static let configuration = CommandConfiguration(
    commandName: "grant", abstract: "Changes what a participant may do while it is in the room.",
    discussion: """
      Permissions: \(ParticipantPermission.allCases.map(\.rawValue).joined(separator: ", ")). All others stay as \
      they are. Tracks that the participant may not publish any more are withdrawn; its app publishes them again once it \
      may. Without “subscribe” the participant receives no media; with it again, the media return. The participant's \
      app is notified of its permissions. A renewed credential replaces all of them.
      """)

  @Argument(help: "The room.") var room: String
  @Argument(help: "The participant's id.") var participant: String
  @Option(
    help: ArgumentHelp("Grants the permission. May be given several times.", valueName: "permission"),
    transform: permission(named:))
  var allow: [ParticipantPermission] = []
  @Option(
    help: ArgumentHelp("Withdraws the permission. May be given several times.", valueName: "permission"),
    transform: permission(named:))
  var deny: [ParticipantPermission] = []
  @OptionGroup var options: ControlOptions

  func validate() throws {
    guard !allow.isEmpty || !deny.isEmpty else { throw ValidationError("--allow or --deny is needed") }
    guard Set(allow).isDisjoint(with: deny) else {
      throw ValidationError("a permission is allowed or denied, not both")
    }
  }

  var command: RoomCommand {
    .grant(PermissionChange(allowing: Set(allow), denying: Set(deny)), participant, room: room)
  }
}

struct MuteTrack: RoomsCommand {
  enum Kind: String, CaseIterable, ExpressibleByArgument { case microphone, camera, screen, screenSound }

  static let configuration = CommandConfiguration(
    commandName: "mute", abstract: "Mutes tracks of a participant, which may unmute them itself.")

  @Argument(help: "The room.") var room: String
  @Argument(help: "The participant's id.") var participant: String
  @Option(help: "All tracks of this kind. (default: microphone)") var kind: Kind?
  @Option(help: ArgumentHelp("The track of this id, as `koine rooms show` names it.", valueName: "id")) var track:
    String?
  @OptionGroup var options: ControlOptions

  func validate() throws {
    guard kind == nil || track == nil else { throw ValidationError("either --kind or --track") }
  }

  var command: RoomCommand {
    let selection: TrackSelection
    if let track {
      selection = .track(track)
    } else {
      switch kind ?? .microphone {
      case .microphone: selection = .kind(.microphone)
      case .camera: selection = .kind(.camera)
      case .screen: selection = .kind(.screen)
      case .screenSound: selection = .kind(.screenSound)
      }
    }
    return .mute(selection, participant, room: room)
  }
}

struct LinkRooms: RoomsCommand {
  static let configuration = CommandConfiguration(
    commandName: "link", abstract: "Has the participants of several names of rooms meet in one room.",
    discussion: """
      All meet in the room of the first name, such as a meeting of Chime, a stage and an app's own room. A token stays good \
      for its own name only. Names are linked before anyone joins. Links last until `koine rooms unlink`, until a name's room \
      ends by a vendor's API, or until a name has not been used for 180 days; over restarts with `koine serve --registry FILE`.
      """)

  @Argument(help: "Names of rooms, at least two.") var names: [String]
  @OptionGroup var options: ControlOptions

  func validate() throws {
    guard (2...RoomCommand.Limits.links).contains(names.count) else {
      throw ValidationError("2 to \(RoomCommand.Limits.links) names are needed")
    }
  }

  var command: RoomCommand { .link(names) }
}

struct UnlinkRooms: RoomsCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlink", abstract: "Has names of rooms that are linked to others mean rooms of their own again.",
    discussion: """
      A name to whose room others lead is unlinked with all of them. Fails while participants that came by one of these names \
      are in the room; participants that came by other names do not matter.
      """)

  @Argument(help: "Names of rooms.") var names: [String]
  @OptionGroup var options: ControlOptions

  func validate() throws {
    guard (1...RoomCommand.Limits.links).contains(names.count) else {
      throw ValidationError("1 to \(RoomCommand.Limits.links) names are needed")
    }
  }

  var command: RoomCommand { .unlink(names) }
}

struct RecordRoom: RoomsCommand {
  enum Kind: String, CaseIterable, ExpressibleByArgument {
    case file, playlist, livestream

    var recording: RecordingOrder.Kind {
      switch self {
      case .file: .file
      case .playlist: .playlist
      case .livestream: .livestream
      }
    }
  }

  static let configuration = CommandConfiguration(
    commandName: "record", abstract: "Begins a recording of a room on the server, or stops it.",
    discussion: """
      The server was started with --recordings DIR, and for live streams with --livestreams. Waits until the recorder has \
      begun or stopped, and prints the name of the recording in DIR.
      """)

  @Argument(help: "The room.") var room: String
  @Option(help: "What is made: \(Kind.allCases.map(\.rawValue).joined(separator: ", ")).") var kind = Kind.file
  @Option(help: "How many participants are shown at a time, 1 to \(RoomCommand.Limits.people).") var people = 4
  @Option(
    name: .customLong("to"),
    help: ArgumentHelp("Where a live stream goes: rtmp://… Several times for several.", valueName: "url"))
  var places: [String] = []
  @Flag(help: "Stops the recording.") var stop = false
  @Option(help: "Waits this many seconds at most for the recorder, 0 to 600; 0: not at all.") var wait = 15.0
  @OptionGroup var options: ControlOptions

  func validate() throws {
    guard (1...RoomCommand.Limits.people).contains(people) else {
      throw ValidationError("--people takes 1 to \(RoomCommand.Limits.people)")
    }
    guard (0...600).contains(wait) else { throw ValidationError("--wait takes 0 to 600") }
    guard (kind == .livestream) == !places.isEmpty || stop else {
      throw ValidationError("a live stream needs --to, and nothing else takes it")
    }
  }

  var command: RoomCommand {
    stop
      ? .stopRecording(kind.recording, room: room)
      : .startRecording(RecordingOrder(kind.recording, people: people, places: places), room: room)
  }

  func run() throws {
    do {
      let reply = try options.send(command)
      guard reply.error == nil, wait > 0 else { return try print(reply) }
      try follow()
    } catch let error as SampleExit {
      error.leave(command: "koine rooms")
    }
  }

  /// Until the recorder has said what becomes of it.
  private func follow() throws {
    let end = Date() + wait
    while true {
      let reply = try options.send(.describe(room: room))
      // A room that is over has no recording any more.
      if stop, reply.error?.code == .noSuchRoom { return try print(RoomReply(.success(.done))) }
      guard let details = reply.room else { return try print(reply) }
      let state = details.services.first { $0.name == kind.recording.rawValue }
      if let answer = state?.answer {
        return try print(RoomReply(.failure(RoomControlError(.notPossible, "the recorder answers “\(answer)”"))))
      }
      let words = (state?.status ?? "").split(separator: " ", maxSplits: 1).map(String.init)
      if stop ? words.isEmpty : ["started", "playable"].contains(words.first) {
        if options.json { return try print(reply) }
        if words.count > 1 { Swift.print(LogText.line(words[1])) }
        return
      }
      guard Date() < end else { throw SampleExit(code: 69, "the recorder has not answered within \(wait) s") }
      Thread.sleep(forTimeInterval: 0.2)
    }
  }
}
