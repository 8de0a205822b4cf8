import KoineSignaling

// Commands and answers as JSON. A command is one flat object; its field `command` names it:
//
//     {"command": "list"}
//     {"command": "show", "room": "tea"}
//     {"command": "remove", "room": "tea", "participant": "ana", "ending": "expired"}
//     {"command": "close", "room": "tea"}                                                   {"command": "closeAll"}
//     {"command": "grant", "room": "tea", "participant": "ana", "allow": ["camera"], "deny": ["screen", "data"]}
//                                                                                           and "receive": ["microphone"], "role": TEXT
//     {"command": "mute", "room": "tea", "participant": "ana", "kind": "microphone"}        or "track": ID
//     {"command": "record", "room": "tea", "recording": "file", "people": 4, "places": [], "look": []}
//     {"command": "stopRecording", "room": "tea", "recording": "file"}
//     {"command": "link", "rooms": ["tea", "coffee"]}                                       {"command": "unlink", "rooms": ["coffee"]}

extension RoomCommand: Codable {
  /// What a command may hold at most; names are bounded by `SignalingLimits.name`.
  package enum Limits {
    package static let places = 8
    /// Names of rooms that one command links or unlinks.
    package static let links = 100
    /// In UTF-8 bytes.
    package static let place = 2_048
    package static let people = 100
    /// Words of a recording's look.
    package static let look = 16
  }

  private enum Name: String {
    case list, show, remove, close, closeAll, grant, mute, record, stopRecording, link, unlink
  }

  fileprivate enum CodingKeys: String, CodingKey {
    case command, room, participant, ending, allow, deny, receive, role, track, kind, recording, people, places, look,
      rooms
  }

  /// - Throws: `RoomControlError` of the code `malformed`, or `DecodingError`.
  package init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    switch try fields.choice(.command, of: Name.self) {
    case .list: self = .listRooms
    case .closeAll: self = .closeAllRooms
    case .show: self = .describe(room: try fields.name(.room))
    case .close: self = .close(room: try fields.name(.room))
    case .remove:
      self = .remove(
        try fields.name(.participant), room: try fields.name(.room),
        ending: try fields.choiceIfPresent(.ending, of: RemovalReason.self) ?? .removed)
    case .grant:
      var change = PermissionChange(
        allowing: try fields.permissions(.allow), denying: try fields.permissions(.deny))
      change.receive = try fields.kindsIfPresent(.receive)
      if fields.contains(.role), try !fields.decodeNil(forKey: .role) { change.role = try fields.name(.role) }
      self = .grant(change, try fields.name(.participant), room: try fields.name(.room))
    case .mute:
      let selection: TrackSelection
      switch (fields.contains(.track), try fields.choiceIfPresent(.kind, of: Track.Kind.self)) {
      case (true, nil): selection = .track(try fields.name(.track))
      case (false, let kind?): selection = .kind(kind)
      case (true, .some), (false, nil): throw RoomControlError(.malformed, "either “track” or “kind” is needed")
      }
      self = .mute(selection, try fields.name(.participant), room: try fields.name(.room))
    case .link: self = .link(try fields.roomNames(RoomCommand.checkLink))
    case .unlink: self = .unlink(try fields.roomNames(RoomCommand.checkUnlink))
    case .record:
      self = .startRecording(try fields.recording(), room: try fields.name(.room))
    case .stopRecording:
      self = .stopRecording(try fields.recordingKind(.recording), room: try fields.name(.room))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(name.rawValue, forKey: .command)
    switch self {
    case .link, .unlink: break
    default: try fields.encodeIfPresent(room, forKey: .room)
    }
    try fields.encodeIfPresent(participant, forKey: .participant)
    switch self {
    case .listRooms, .describe, .close, .closeAllRooms: break
    case .link(let names), .unlink(let names): try fields.encode(names, forKey: .rooms)
    case .remove(_, _, let ending): try fields.encode(ending.rawValue, forKey: .ending)
    case .grant(let change, _, _):
      try fields.encode(change.allowed.map(\.rawValue).sorted(), forKey: .allow)
      try fields.encode(change.denied.map(\.rawValue).sorted(), forKey: .deny)
      try fields.encodeIfPresent(change.receive.map { $0.map(\.rawValue).sorted() }, forKey: .receive)
      try fields.encodeIfPresent(change.role, forKey: .role)
    case .mute(.track(let track), _, _): try fields.encode(track, forKey: .track)
    case .mute(.kind(let kind), _, _): try fields.encode(kind, forKey: .kind)
    case .startRecording(let order, _):
      try fields.encode(order.kind.name, forKey: .recording)
      try fields.encode(order.people, forKey: .people)
      try fields.encode(order.places, forKey: .places)
      if !order.look.isEmpty { try fields.encode(order.look, forKey: .look) }
    case .stopRecording(let kind, _): try fields.encode(kind.name, forKey: .recording)
    }
  }

  private var name: Name {
    switch self {
    case .listRooms: .list
    case .describe: .show
    case .remove: .remove
    case .close: .close
    case .closeAllRooms: .closeAll
    case .grant: .grant
    case .mute: .mute
    case .startRecording: .record
    case .stopRecording: .stopRecording
    case .link: .link
    case .unlink: .unlink
    }
  }

  /// For logs.
  package var word: String { name.rawValue }
}

extension KeyedDecodingContainer {
  /// A text that is neither empty nor too long.
  package func name(_ key: Key, limit: Int = SignalingLimits.name) throws -> String {
    let text = try decode(String.self, forKey: key)
    guard !text.isEmpty else { throw RoomControlError(.malformed, "“\(key.stringValue)” is empty") }
    guard text.utf8.count <= limit else {
      throw RoomControlError(.malformed, "“\(key.stringValue)” is longer than \(limit) bytes")
    }
    return text
  }

  fileprivate func choice<Value: RawRepresentable<String>>(_ key: Key, of type: Value.Type) throws -> Value {
    let text = try name(key)
    guard let value = Value(rawValue: text) else {
      throw RoomControlError(.malformed, "“\(key.stringValue)” cannot be “\(text)”")
    }
    return value
  }

  fileprivate func choiceIfPresent<Value: RawRepresentable<String>>(_ key: Key, of type: Value.Type) throws -> Value? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    return try choice(key, of: type)
  }

  /// Calls `body` with each text of a list that may be missing.
  fileprivate func texts(_ key: Key, limit: Int, _ body: (String) throws -> Void) throws {
    guard contains(key), try !decodeNil(forKey: key) else { return }
    var items = try nestedUnkeyedContainer(forKey: key)
    var count = 0
    while !items.isAtEnd {
      count += 1
      guard count <= limit else {
        throw RoomControlError(.malformed, "“\(key.stringValue)” has more than \(limit) entries")
      }
      try body(try items.decode(String.self))
    }
  }

  fileprivate func permissions(_ key: Key) throws -> Set<ParticipantPermission> {
    var permissions: Set<ParticipantPermission> = []
    try texts(key, limit: ParticipantPermission.allCases.count) { text in
      guard let permission = ParticipantPermission(rawValue: text) else {
        let known = ParticipantPermission.allCases.map(\.rawValue).joined(separator: ", ")
        throw RoomControlError(.malformed, "“\(key.stringValue)” has an entry that is none of \(known)")
      }
      permissions.insert(permission)
    }
    return permissions
  }

  fileprivate func kindsIfPresent(_ key: Key) throws -> Set<Track.Kind>? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    var kinds: Set<Track.Kind> = []
    try texts(key, limit: Track.Kind.allCases.count) { text in
      guard let kind = Track.Kind(rawValue: text) else {
        let known = Track.Kind.allCases.map(\.rawValue).joined(separator: ", ")
        throw RoomControlError(.malformed, "“\(key.stringValue)” has an entry that is none of \(known)")
      }
      kinds.insert(kind)
    }
    return kinds
  }

  fileprivate func recordingKind(_ key: Key) throws -> RecordingOrder.Kind {
    guard contains(key), try !decodeNil(forKey: key) else { return .file }
    let text = try name(key)
    guard let kind = RecordingOrder.Kind.allCases.first(where: { $0.name == text }) else {
      throw RoomControlError(.malformed, "“\(key.stringValue)” cannot be “\(text)”")
    }
    return kind
  }
}

extension KeyedDecodingContainer<RoomCommand.CodingKeys> {
  fileprivate func roomNames(_ check: ([String]) throws(RoomControlError) -> Void) throws -> [String] {
    let names = try decode([String].self, forKey: .rooms)
    try check(names)
    return names
  }

  fileprivate func recording() throws -> RecordingOrder {
    var order = RecordingOrder(try recordingKind(.recording))
    if let people = try decodeIfPresent(Int.self, forKey: .people) {
      guard (1...RoomCommand.Limits.people).contains(people) else {
        throw RoomControlError(.malformed, "“people” is 1 to \(RoomCommand.Limits.people)")
      }
      order.people = people
    }
    try texts(.places, limit: RoomCommand.Limits.places) { place in
      // A place is a line of what the recorder reads.
      guard !place.isEmpty, place.utf8.count <= RoomCommand.Limits.place, !place.contains(where: \.isNewline) else {
        throw RoomControlError(.malformed, "“places” has an entry that is empty, too long, or of several lines")
      }
      order.places.append(place)
    }
    try texts(.look, limit: RoomCommand.Limits.look) { word in
      guard !word.isEmpty, word.utf8.count <= 64, !word.contains(where: \.isWhitespace) else {
        throw RoomControlError(.malformed, "“look” has an entry that is empty, too long, or of several words")
      }
      order.look.append(word)
    }
    return order
  }
}

extension RoomCommand {
  /// - Throws: `RoomControlError` of the code `malformed` for names that cannot be linked.
  package static func checkLink(_ names: [String]) throws(RoomControlError) { try check(names, atLeast: 2) }

  /// - Throws: `RoomControlError` of the code `malformed` for names that cannot be unlinked.
  package static func checkUnlink(_ names: [String]) throws(RoomControlError) { try check(names, atLeast: 1) }

  private static func check(_ names: [String], atLeast least: Int) throws(RoomControlError) {
    guard (least...Limits.links).contains(names.count) else {
      throw RoomControlError(.malformed, "“rooms” has \(least) to \(Limits.links) names")
    }
    guard names.allSatisfy({ !$0.isEmpty && $0.utf8.count <= SignalingLimits.name }) else {
      throw RoomControlError(.malformed, "a name in “rooms” is empty or longer than \(SignalingLimits.name) bytes")
    }
  }
}

/// The answer to a command as JSON: `{"ok": true}`, with `rooms` or `room` where the command asks for them, or
/// `{"ok": false, "error": {"code": "noSuchRoom", "message": "…"}}`.
package struct RoomReply: Hashable, Sendable, Codable {
  package let ok: Bool
  package var rooms: [RoomSummary]?
  package var room: RoomDetails?
  package var error: RoomControlError?

  package init(_ result: Result<RoomAnswer, RoomControlError>) {
    switch result {
    case .success(.done): ok = true
    case .success(.rooms(let rooms)): (ok, self.rooms) = (true, rooms)
    case .success(.room(let room)): (ok, self.room) = (true, room)
    case .failure(let error): (ok, self.error) = (false, error)
    }
  }
}
