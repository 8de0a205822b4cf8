import ArgumentParser
import Foundation
import KoineSampleSupport
import KoineTokens

/// What people are let in with.
struct Token: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Makes keys, and the tokens that each style's app is let in with.",
    discussion: "A server that is started with the same keys admits clients with these tokens.",
    subcommands: [
      KeysCommand.self, CallAgentToken.self, StageTokenCommand.self, MeetingToken.self, ListenerToken.self,
      KoineTokenCommand.self,
    ])
}

/// - Throws: what names the option.
private func refuseEmpty(_ option: String, _ value: String?) throws {
  if value?.isEmpty == true { throw ValidationError("--\(option) is empty") }
}

/// A command that uses keys. An error in the keys is printed without the usage text, because the command line was correct.
protocol TokenCommand: ParsableCommand {
  func execute() throws
}

extension TokenCommand {
  func run() throws {
    do { try execute() } catch let error as SampleExit {
      error.leave(command: "koine token")
    } catch let error as TokenError {
      SampleExit(code: 64, "no token can say that: \(error)").leave(command: "koine token")
    }
  }
}

/// Where the keys are, and how long what they sign lasts.
struct TokenOptions: ParsableArguments {
  @Option(help: "The file of keys, as `koine token keys` makes it.")
  var keys: String

  @Option(help: "The token holds for this many minutes.")
  var minutes = 720.0

  func validate() throws {
    guard minutes > 0, minutes <= 20_160 else { throw ValidationError("--minutes takes 1 to 20160") }
  }

  var issued: NumericDate { NumericDate.ofSystemClock() }
  var expires: NumericDate { issued + minutes * 60 }

  /// The first key of the file that may sign it.
  func key(for kind: TokenKind, room: String? = nil) throws -> SigningKey {
    try KeyFile.read(keys).signingKey(for: kind, room: room)
  }
}

enum KeyFile {
  static func read(_ path: String) throws(SampleExit) -> KeySet {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw SampleExit(code: 66, "there is no file of keys at '\(path)': `koine token keys` makes one")
    }
    do { return try KeySet(json: String(decoding: data, as: UTF8.self)) } catch {
      throw SampleExit(code: 65, "'\(path)': \(error)")
    }
  }

  /// Either the old file stays or the new one is whole.
  /// - Parameter mode: the file's permissions from its first byte on.
  static func write(_ text: String, to path: String, mode: mode_t) throws {
    let part = path + ".new"
    unlink(part)
    let file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard file >= 0 else { throw SampleExit(code: 73, "'\(path)' cannot be written") }
    let bytes = Array((text + "\n").utf8)
    let written = bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Foundation.write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return fsync(file) == 0
    }
    guard close(file) == 0, written, rename(part, path) == 0 else {
      unlink(part)
      throw SampleExit(code: 73, "'\(path)' cannot be written")
    }
  }
}

struct KeysCommand: TokenCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys", abstract: "Makes a file of keys; or puts a new key first in it, or drops one.",
    discussion: """
      The first key signs and all of them check. A running server reads its file again on SIGHUP. It needs public keys \
      only (--public), so that the machine that faces the internet can sign nothing.

      A key's member "koine" limits what it is accepted for: {"kinds": ["room"], "rooms": "team-*", "audience": "NAME"}. \
      Kinds are \(TokenKind.allCases.map(\.rawValue).joined(separator: ", ")).
      """)

  @Argument(help: "A JSON Web Key Set.")
  var file: String

  @Option(help: "Drops the key of this name instead.")
  var drop: String?

  @Option(
    name: .customLong("public"),
    help: ArgumentHelp("Writes the public halves of the keys to this file instead.", valueName: "file"))
  var publicFile: String?

  func validate() throws {
    guard drop == nil || publicFile == nil else { throw ValidationError("either --drop or --public") }
  }

  func execute() throws {
    var keys: KeySet
    if let publicFile {
      keys = try KeyFile.read(file)
      try KeyFile.write(keys.publicJSON, to: publicFile, mode: 0o644)
    } else {
      keys = try changed()
      try KeyFile.write(keys.json, to: file, mode: 0o600)
    }
    KoineSampleSupport.print(
      "wrote '\(publicFile ?? file)': " + (publicFile == nil ? "keys " : "public keys ")
        + keys.keys.map { "\($0.id ?? "") (\($0.algorithm.rawValue))" }.joined(separator: ", ")
        + (publicFile == nil ? "; the first signs" : ""),
      to: .standardError)
  }

  private func changed() throws -> KeySet {
    let id = String(UInt32.random(in: .min ... .max), radix: 36)
    guard drop != nil || FileManager.default.fileExists(atPath: file) else { return try KeySet(newKey: id) }
    var keys = try KeyFile.read(file)
    if let drop {
      guard keys.drop(drop) else { throw SampleExit(code: 64, "no key '\(drop)' can be dropped") }
    } else {
      try keys.rotate(to: id)
    }
    return keys
  }
}

struct CallAgentToken: TokenCommand {
  static let configuration = CommandConfiguration(
    commandName: "call-agent", abstract: "A user access token, for the call-agent style.")

  @OptionGroup var options: TokenOptions

  @Option(help: "Who it is: 8:acs:…")
  var identity: String

  func validate() throws { try refuseEmpty("identity", identity) }

  func execute() throws {
    let token = AzureUserToken(
      identity: identity, scopes: [.voip], issued: options.issued, expires: options.expires)
    Swift.print(try token.signed(with: try options.key(for: .callAgent)))
  }
}

struct StageTokenCommand: TokenCommand {
  static let configuration = CommandConfiguration(
    commandName: "stage-strategy", abstract: "A participant token, for the stage-strategy style.",
    aliases: ["stage"])

  @OptionGroup var options: TokenOptions

  @Option(help: "The stage's id.")
  var room: String

  @Option(help: "The participant's id; a new one if it is left out.")
  var participant: String?

  @Option(help: "The user's id in the app.")
  var user: String?

  @Option(name: .customLong("attribute"), help: "NAME=VALUE, shown to all participants of the stage.")
  var attributes: [String] = []

  @Flag(help: "Does not let its bearer publish.")
  var noPublish = false

  @Flag(help: "Does not let its bearer subscribe.")
  var noSubscribe = false

  func validate() throws {
    try refuseEmpty("room", room)
    try refuseEmpty("participant", participant)
    _ = try pairs()
  }

  private func pairs() throws -> [String: String] {
    var pairs: [String: String] = [:]
    for text in attributes {
      guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
        throw ValidationError("--attribute takes NAME=VALUE, not '\(text)'")
      }
      let (name, value) = (String(text[..<equals]), String(text[text.index(after: equals)...]))
      guard pairs[name] == nil || pairs[name] == value else {
        throw ValidationError("--attribute says '\(name)' twice, and not the same")
      }
      pairs[name] = value
    }
    return pairs
  }

  func execute() throws {
    let token = IVSStageToken(
      participantID: participant ?? UUID().uuidString.lowercased(), stage: room, userID: user,
      attributes: try pairs(),
      capabilities: .init(canPublish: !noPublish, canSubscribe: !noSubscribe), issued: options.issued,
      expires: options.expires)
    Swift.print(try token.signed(with: try options.key(for: .stageStrategy, room: room)))
  }
}

struct MeetingToken: TokenCommand {
  static let configuration = CommandConfiguration(
    commandName: "meeting-session", abstract: "A meeting and an attendee, for the meeting-session style.",
    discussion: "Prints the two in one JSON document (JoinInfo), as the vendor's demo server answers.",
    aliases: ["meeting"])

  @OptionGroup var options: TokenOptions

  @Option(help: "The meeting's id.")
  var room: String

  @Option(help: "The attendee's id; a new one if it is left out.")
  var attendee: String?

  @Option(help: "The attendee's external user id: 2 to 64 characters, often ID#NAME.")
  var user: String

  @Option(help: "What the URLs of the meeting say: the address of the backend.")
  var backend = "embedded:"

  func validate() throws {
    try refuseEmpty("room", room)
    try refuseEmpty("attendee", attendee)
    guard (2...64).contains(user.count) else { throw ValidationError("--user takes 2 to 64 characters") }
    if backend != "embedded:" { try MediaOptions.check(backend: backend) }
  }

  func execute() throws {
    let meeting = ChimeJoinInfo.Meeting(meetingID: room, mediaPlacement: .at(backend))
    let pass = try ChimeJoinInfo.create(
      meeting, attendeeID: attendee ?? UUID().uuidString.lowercased(), externalUserID: user, issued: options.issued,
      expires: options.expires, with: try options.key(for: .meetingSession, room: room))
    Swift.print(try pass.joinInfoJSON)
  }
}

struct ListenerToken: TokenCommand {
  static let configuration = CommandConfiguration(
    commandName: "event-listener", abstract: "A meeting's token, for the event-listener style.",
    aliases: ["listener"])

  @OptionGroup var options: TokenOptions

  @Option(help: "The only room it opens; all of them if it is left out.")
  var room: String?

  @Option(help: "The id its bearer must take.")
  var participant: String?

  @Flag(help: "Lets its bearer control others' media.")
  var moderate = false

  func validate() throws {
    try refuseEmpty("room", room)
    try refuseEmpty("participant", participant)
  }

  func execute() throws {
    let token = VideoSDKToken(
      apiKey: "koine", permissions: moderate ? [.join, .moderate] : [.join], roomID: room, participantID: participant,
      roles: [.rtc], issued: options.issued, expires: options.expires)
    Swift.print(try token.signed(with: try options.key(for: .eventListener, room: room)))
  }
}

struct KoineTokenCommand: TokenCommand {
  static let configuration = CommandConfiguration(
    commandName: "room", abstract: "A pass for apps of the common layer and for browsers.")

  @OptionGroup var options: TokenOptions

  @Option(help: "The only room it opens; all of them if it is left out.")
  var room: String?

  @Option(help: "The id its bearer must take.")
  var participant: String?

  @Option(help: "The name that the others see.")
  var name: String?

  @Flag(help: "Does not let its bearer publish.")
  var noPublish = false

  @Flag(help: "Does not let its bearer subscribe.")
  var noSubscribe = false

  @Flag(help: "Does not let its bearer send data messages.")
  var noSend = false

  @Flag(help: "Permits to remove participants, to close the room, and to admit waiting participants.")
  var moderate = false

  @Flag(help: "The participant waits until a participant with that permission admits it.")
  var ask = false

  @Flag(help: "The other participants do not see the participant, which publishes nothing.")
  var hidden = false

  func validate() throws {
    try refuseEmpty("room", room)
    try refuseEmpty("participant", participant)
  }

  func execute() throws {
    var rights = Set<KoineToken.Right>()
    if !noPublish { rights.insert(.publish) }
    if !noSubscribe { rights.insert(.subscribe) }
    if !noSend { rights.insert(.send) }
    if ask { rights.insert(.ask) }
    if hidden { rights.insert(.hidden) }
    if moderate { rights.insert(.moderate) }
    let pass = KoineToken(
      room: room, participantID: participant, name: name, rights: rights, issued: options.issued,
      expires: options.expires)
    Swift.print(try pass.signed(with: try options.key(for: .room, room: room)))
  }
}
