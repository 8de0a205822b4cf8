import KoineMedia
import KoineSignaling
import KoineTokens

/// What this process knows of rooms without asking the registry.
final class VideoSDKLiveRooms: Sendable {
  /// A session that is on.
  struct Live: Sendable {
    var session: String
    var apiKey: String
    var start: APITime
    /// Whether its history is written: that of rooms that no back end has made is bounded.
    var isRecorded = true
    /// Participants that have been in the session.
    var order = 0
    var participants: Set<Participant.ID> = []
  }

  /// A recording that the recorder has been asked for, or makes.
  struct Recording: Sendable {
    /// The key of its entity; nil: the recorder has not begun.
    var key: String?
    var webhookURL: String?
    var awsDirPath: String?
  }

  /// Two API keys may have the same custom id.
  private struct Custom: Hashable {
    var apiKey: String
    var id: String
  }

  private struct State {
    var rooms: [String: VideoSDKRoom] = [:]
    var customs: [Custom: String] = [:]
    var live: [String: Live] = [:]
    var recordings: [String: Recording] = [:]
    var keys: [(apiKey: String, key: VerificationKey)] = []
    /// By API keys: when the log last said that no more history is kept.
    var reportedLacks: [String: APITime] = [:]
  }

  private let state = Lock(State())

  func set(_ room: VideoSDKRoom) {
    state.withLock { state in
      state.rooms[room.roomID] = room
      if let custom = room.customRoomID { state.customs[Custom(apiKey: room.apiKey, id: custom)] = room.roomID }
    }
  }

  /// The room of an API key by its id or by its custom id.
  func roomID(of name: String, for apiKey: String) -> String? {
    state.withLock { state in
      state.rooms[name]?.apiKey == apiKey ? name : state.customs[Custom(apiKey: apiKey, id: name)]
    }
  }

  func customID(of roomID: String, for apiKey: String) -> String? {
    state.withLock { state in state.rooms[roomID].flatMap { $0.apiKey == apiKey ? $0.customRoomID : nil } }
  }

  func apiKey(ofRoom roomID: String) -> String? { state.withLock { $0.rooms[roomID]?.apiKey } }
  func autoStart(of roomID: String) -> VideoSDKRoom.AutoStart? { state.withLock { $0.rooms[roomID]?.autoStart } }

  // MARK: Sessions

  func live(_ roomID: String) -> Live? { state.withLock { $0.live[roomID] } }

  func withLive<Value>(_ roomID: String, _ body: (inout Live?) -> Value) -> Value {
    state.withLock { body(&$0.live[roomID]) }
  }

  /// The room of an API key in which a session is on.
  func roomID(ofSession id: String, _ apiKey: String) -> String? {
    state.withLock { state in state.live.first { $0.value.session == id && $0.value.apiKey == apiKey }?.key }
  }

  /// Rooms with a session that has reached the room's limit, their API keys, and whether the room is disabled then.
  func dueToClose(at now: APITime) -> [(roomID: String, apiKey: String, disables: Bool)] {
    state.withLock { state in
      state.live.compactMap { roomID, live in
        guard let room = state.rooms[roomID], let close = room.autoClose, let type = close.type,
          live.start.adding(seconds: Int64(close.duration ?? 480) * 60) <= now
        else { return nil }
        return (roomID, room.apiKey, type == "session-end-and-deactivate")
      }
      .sorted { $0.0 < $1.0 }
    }
  }

  /// Whether the log says that no more history is kept of rooms of an API key: once an hour, because apps name rooms as they like.
  func mayReportLack(of apiKey: String, at now: APITime) -> Bool {
    state.withLock { state in
      guard state.reportedLacks[apiKey].map({ $0.adding(seconds: 60 * 60) <= now }) ?? true else { return false }
      state.reportedLacks[apiKey] = now
      return true
    }
  }

  // MARK: Recordings

  func withRecording<Value>(_ roomID: String, _ body: (inout Recording?) -> Value) -> Value {
    state.withLock { body(&$0.recordings[roomID]) }
  }

  // MARK: Credentials

  func setCredentials(_ credentials: [APICredentials.VideoSDKKey]) {
    state.withLock { state in
      state.keys = credentials.compactMap { entry in
        guard var key = try? VerificationKey(secret: Array(entry.secret.utf8)) else { return nil }
        key.binding = KeyBinding(kinds: [.eventListener])
        return (entry.apiKey, key)
      }
    }
  }

  func key(of apiKey: String) -> VerificationKey? { state.withLock { $0.keys.first { $0.apiKey == apiKey }?.key } }
}
