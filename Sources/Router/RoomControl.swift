package import KoineBase
package import KoineSignaling

/// Commands to a room server that come from outside its rooms: from a vendor's HTTP API, the command line, other servers of a
/// cluster, tests, and the server itself.
///
/// `Router` carries them out. This is the only way to change a room from outside: a control plane may keep meetings,
/// tokens and tags, but it changes rooms by these commands, and joins by an `AdmissionPolicy`.
package protocol RoomControl: AnyObject {
  /// Carries out one command at once, without waiting for anything. Called by the owner of the rooms only; for a server from any
  /// thread: `Server.execute(_:)`.
  @discardableResult
  func execute(_ request: RoomRequest, at now: Tick) -> Result<RoomAnswer, RoomControlError>
}

/// A command, where it comes from, and why.
package struct RoomRequest: Hashable, Sendable {
  package var command: RoomCommand
  package var origin: CommandOrigin
  /// For the log.
  package var reason: String?

  package init(_ command: RoomCommand, by origin: CommandOrigin, reason: String? = nil) {
    (self.command, self.origin, self.reason) = (command, origin, reason)
  }
}

/// Where a command comes from.
package struct CommandOrigin: Hashable, Sendable {
  package enum Kind: String, Sendable, CaseIterable {
    case vendorAPI, commandLine, cluster, test
    /// A participant that may moderate its room.
    case participant
    /// The server itself, when it stops.
    case server
  }

  package var kind: Kind
  /// The user, access key, node or participant, as `kind` names it.
  package var subject: String

  package init(_ kind: Kind, _ subject: String) { (self.kind, self.subject) = (kind, subject) }
}

package enum RoomCommand: Hashable, Sendable {
  /// Answered with the rooms in the order of their names, including rooms that participants only wait to enter.
  case listRooms
  /// Answered with the room.
  case describe(room: String)
  /// Removes a participant from a room or its lobby. The other participants are notified that it was removed.
  case remove(Participant.ID, room: String, ending: RemovalReason = .removed)
  /// Ends a room for all participants, and for the participants that wait to be admitted. A moderator's `close` message does the
  /// same.
  case close(room: String)
  /// Ends all rooms.
  case closeAllRooms
  /// Changes what a participant may do, until its credential is renewed. Tracks that it may not publish any more are withdrawn,
  /// and its subscriptions end where it may not subscribe any more. The participant is notified of the permissions that it has now.
  case grant(PermissionChange, Participant.ID, room: String)
  /// Stops forwarding tracks of a participant until it unmutes them, and notifies all participants that they are muted.
  case mute(TrackSelection, Participant.ID, room: String)
  /// Asks the co-located recorder to begin. The answer says only that the recorder has been asked; what becomes of it is
  /// in the room's `ServiceState`.
  case startRecording(RecordingOrder, room: String)
  case stopRecording(RecordingOrder.Kind, room: String)
  /// Has the participants of several names of rooms meet in the room of the first name. A token stays good for its own name only.
  case link([String])
  /// Has each of these names mean a room of its own again. A name to whose room others lead is unlinked with all of them. Fails
  /// while participants that came by one of the names concerned are in the room, or wait to enter it.
  case unlink([String])

  /// The room that the command names.
  package var room: String? {
    switch self {
    case .listRooms, .closeAllRooms: nil
    case .link(let names), .unlink(let names): names.first
    case .describe(let room), .remove(_, let room, _), .close(let room), .grant(_, _, let room), .mute(_, _, let room),
      .startRecording(_, let room), .stopRecording(_, let room):
      room
    }
  }

  /// The participant that the command names.
  package var participant: Participant.ID? {
    switch self {
    case .remove(let id, _, _), .grant(_, let id, _), .mute(_, let id, _): id
    case .listRooms, .closeAllRooms, .describe, .close, .startRecording, .stopRecording, .link, .unlink: nil
    }
  }

  /// Whether the command only asks.
  package var isQuery: Bool {
    switch self {
    case .listRooms, .describe: true
    case .remove, .close, .closeAllRooms, .grant, .mute, .startRecording, .stopRecording, .link, .unlink: false
    }
  }
}

/// The reason for a removal that the removed participant gets.
package enum RemovalReason: String, Hashable, Sendable, CaseIterable {
  case removed
  /// What admitted it does not hold any more.
  case expired

  /// - Parameter note: the reason in words, which only a vendor's HTTP API has the participant's app see.
  func endReason(by origin: CommandOrigin, note: String?) -> EndReason {
    switch self {
    case .removed: origin.kind == .vendorAPI ? .removedByService(note: note) : .removed
    case .expired: .expired
    }
  }
}

/// Permissions that a participant gets and loses; all others stay as they are.
package struct PermissionChange: Hashable, Sendable {
  package var allowed: Set<ParticipantPermission>
  package var denied: Set<ParticipantPermission>
  /// The kinds of tracks that it receives from now on; nil: as before, or all if it may subscribe again.
  package var receive: Set<Track.Kind>?
  /// The role that the others see from now on; nil: as before.
  package var role: String?

  /// - Parameter denied: counts where a permission is in both.
  package init(allowing allowed: Set<ParticipantPermission> = [], denying denied: Set<ParticipantPermission> = []) {
    (self.allowed, self.denied) = (allowed.subtracting(denied), denied)
  }

  /// Publishing and receiving of these kinds and no others; all other permissions stay.
  package init(publishing publish: Set<Track.Kind>, receiving receive: Set<Track.Kind>) {
    var allowed = Set(publish.map(\.permission))
    if !receive.isEmpty { allowed.insert(.subscribe) }
    self.init(
      allowing: allowed, denying: Set(Track.Kind.allCases.map(\.permission) + [.subscribe]).subtracting(allowed))
    self.receive = receive
  }

  /// These permissions and no others.
  /// - Parameter receive: the kinds of tracks that it receives; nil: all, if it may subscribe.
  package init(exactly permissions: Set<ParticipantPermission>, receive: Set<Track.Kind>? = nil) {
    self.init(allowing: permissions, denying: Set(ParticipantPermission.allCases).subtracting(permissions))
    self.receive = receive
  }
}

package enum TrackSelection: Hashable, Sendable {
  case track(String)
  case kind(Track.Kind)
}

/// The recording of a room that a co-located recorder is asked to make.
package struct RecordingOrder: Hashable, Sendable {
  /// The raw value is the recorder's name in rooms.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case file = "koine.recording"
    case playlist = "koine.playlist"
    case livestream = "koine.livestream"

    /// As commands name it.
    package var name: String {
      switch self {
      case .file: "file"
      case .playlist: "playlist"
      case .livestream: "livestream"
      }
    }
  }

  package var kind: Kind
  /// Shown at a time, 1 to 100.
  package var people: Int
  /// URLs. A recorder with a folder of its own does not look at places of files.
  package var places: [String]
  /// How the recording looks, in the recorder's words, as `layout=sidebar`; none: as the recorder usually does.
  package var look: [String]

  package init(_ kind: Kind = .file, people: Int = 4, places: [String] = [], look: [String] = []) {
    (self.kind, self.people, self.places, self.look) = (kind, people, places, look)
  }

  /// As the recorder reads it: the number of people with the words of the look, then the places, in lines.
  package var payload: [UInt8] {
    let head = ([String(people)] + look).joined(separator: " ")
    return Array(([head] + places).joined(separator: "\n").utf8)
  }
}

package enum RoomAnswer: Hashable, Sendable {
  case done
  case rooms([RoomSummary])
  case room(RoomDetails)
}

package struct RoomSummary: Hashable, Sendable, Codable {
  package var name: String
  /// Identifies the room among rooms of the same name before and after it. Empty if no participant is in the room and participants
  /// wait to enter it.
  package var epoch: String
  package var participants: Int
  /// Participants that the others do not see, as recorders.
  package var hidden: Int
  /// Participants that wait to be admitted.
  package var waiting: Int
  /// Age of the room, in seconds; for a room without participants, how long the first one has waited to enter it.
  package var seconds: Double
}

/// A room as it is when it is asked for.
package struct RoomDetails: Hashable, Sendable, Codable {
  package struct Member: Hashable, Sendable, Codable {
    package var id: Participant.ID
    package var name: String
    package var externalID: String?
    /// What the app says about itself.
    package var client: String?
    package var attributes: [String: String]
    /// Names of `ParticipantPermission`s, in the order of the alphabet.
    package var permissions: [String]
    /// Whether the others do not see it.
    package var isHidden: Bool
    package var tracks: [PublishedTrack]
    /// Whether its media path stands.
    package var isConnected: Bool
    /// Whether its signalling connection stands. One that is lost may return.
    package var isReachable: Bool
    /// Since it joined, in seconds.
    package var seconds: Double
  }

  package struct PublishedTrack: Hashable, Sendable, Codable {
    package var id: String
    package var kind: String
    package var isMuted: Bool
  }

  package struct WaitingParticipant: Hashable, Sendable, Codable {
    package var id: Participant.ID
    package var name: String
    package var externalID: String?
    /// Since it began to wait, in seconds.
    package var seconds: Double
  }

  package var summary: RoomSummary
  /// In order of joining.
  package var participants: [Member]
  package var waiting: [WaitingParticipant]
  package var services: [ServiceState]
}

/// The state of a co-located service, such as a recorder, in a room.
package struct ServiceState: Hashable, Sendable, Codable {
  package var name: String
  /// Its last message to all participants; nil while it does nothing.
  package var status: String?
  /// Its answer to the last command, where it has given one: why it does not do it.
  package var answer: String?
}

/// Why a command was not carried out.
package struct RoomControlError: Error, Hashable, Sendable, Codable, CustomStringConvertible {
  package enum Code: String, Sendable, Codable, CaseIterable {
    case noSuchRoom, noSuchParticipant, noSuchTrack
    /// The server, or the room as it is, cannot.
    case notPossible
    /// Not a command.
    case malformed
    /// The server stops, or has more to do than it can.
    case unavailable
  }

  package var code: Code
  /// For people.
  package var message: String

  package init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

  package var description: String { "\(message) (\(code.rawValue))" }
}

extension Grants {
  package var permissions: Set<ParticipantPermission> {
    get {
      var permissions = Set(publish.map(\.permission))
      if canSubscribe { permissions.insert(.subscribe) }
      if canSendData { permissions.insert(.data) }
      if canModerate { permissions.insert(.moderate) }
      if canAdmit { permissions.insert(.admit) }
      if canRecord { permissions.insert(.record) }
      return permissions
    }
    set {
      publish = Set(Track.Kind.allCases.filter { newValue.contains($0.permission) })
      (canSubscribe, canSendData) = (newValue.contains(.subscribe), newValue.contains(.data))
      (canModerate, canAdmit) = (newValue.contains(.moderate), newValue.contains(.admit))
      canRecord = newValue.contains(.record)
    }
  }
}

extension Track.Kind {
  /// To publish a track of this kind.
  package var permission: ParticipantPermission {
    switch self {
    case .microphone: .microphone
    case .camera: .camera
    case .screen: .screen
    case .screenSound: .screenSound
    }
  }
}

extension RoomService {
  /// The sender of what commands ask services for. No participant has this name.
  package static let controlName = namePrefix + "control"
}
