/// The sessions of a room, oldest first.
struct RoomSessions: Codable, Sendable, Equatable {
  struct Session: Codable, Sendable, Equatable {
    var id: String
    var start: APITime
    /// nil: it is on.
    var end: APITime?
  }

  var sessions: [Session] = []
}

/// The session of a room that is on.
enum LiveSession: Sendable {
  case none
  case known(String)
  /// The room is at another node of the cluster: the newest one, if it is open.
  case newest

  init(_ session: String?) { self = session.map(Self.known) ?? .none }
}

/// A participant of one session in the registry, with what it has done there.
protocol SessionVisit: Codable, Sendable {
  /// When the participant last did something; nil: nothing is known.
  var lastTime: APITime? { get }
}

/// The history of rooms in the registry: the sessions of each room, and the participants of each session. A session lasts from the
/// first join of an empty room until the last participant has left.
///
/// The history is bounded: a room keeps its last `APISettings.sessionsPerRoom` sessions, and each of them for
/// `APISettings.historySeconds`, or less of either. A server that ends without an end of its sessions leaves them open in the registry. They have ended
/// with the last thing that is known of their participants.
struct SessionHistory<Visit: SessionVisit>: Sendable {
  let context: APIContext
  /// Begins the keys of the entities, as `ivs`.
  let prefix: String
  /// Sessions that are kept for each room.
  let sessionsPerRoom: Int
  private let seconds: Int64

  /// - Parameters:
  ///   - sessionsPerRoom: at most so many, and at most those of the settings; nil: those of the settings.
  ///   - seconds: for which history is kept at most, as well.
  init(context: APIContext, prefix: String, sessionsPerRoom: Int? = nil, seconds: Int64? = nil) {
    (self.context, self.prefix) = (context, prefix)
    let settings = context.settings
    self.sessionsPerRoom = min(sessionsPerRoom ?? .max, settings.sessionsPerRoom)
    self.seconds = min(seconds ?? .max, settings.historySeconds)
  }

  // MARK: Keys. A place is the part of a key that names a room: percent-encoded names between slashes.

  func sessionsKey(_ place: String) -> String { "\(prefix)/sessions/\(place)" }

  /// Begins the keys of all participants of rooms whose places begin with a text.
  func visitPrefix(ofPlaces beginning: String) -> String { "\(prefix)/visit/\(beginning)" }

  func visitPrefix(_ place: String, session: String) -> String {
    "\(prefix)/visit/\(place)/\(PercentEncoding.encode(session))/"
  }

  func visitKey(_ place: String, session: String, participant: String) -> String {
    visitPrefix(place, session: session) + PercentEncoding.encode(participant)
  }

  func expiry(at now: APITime) -> APITime { now.adding(seconds: seconds) }

  // MARK: Writing

  /// How often a write is tried that the store may have executed although it failed.
  private static var attempts: Int { 8 }

  /// Carries out writes that change nothing when they are repeated. What fails all the time is logged and left out.
  func record(_ write: () async throws(RegistryError) -> Void) async {
    var failure = RegistryError.conflict
    for _ in 0..<Self.attempts {
      do throws(RegistryError) { return try await write() } catch { failure = error }
    }
    context.log("an event of a room is not recorded: \(failure)")
  }

  /// Begins a session. One that a former process has left open ended with its last event.
  /// - Returns: the sessions that are not kept any longer, without their participants, which are deleted.
  @discardableResult
  func begin(_ session: String, of place: String, at now: APITime) async -> [String] {
    let key = sessionsKey(place)
    let limit = sessionsPerRoom
    let oldest = now.adding(seconds: -seconds)
    var dropped: [String] = []
    await record { () throws(RegistryError) in
      _ = try await context.registry.create(key, RoomSessions(), expiry: expiry(at: now))
      var ends: [String: APITime] = [:]
      for open in try await context.registry.read(RoomSessions.self, key)?.value.sessions ?? []
      where open.end == nil && open.id != session {
        ends[open.id] = try await lastTime(of: open, in: place)
      }
      try await context.registry.update(
        RoomSessions.self, key, expiry: { _ in expiry(at: now) }, refusing: { $0 }
      ) { (list: inout RoomSessions) throws(RegistryError) in
        guard !list.sessions.contains(where: { $0.id == session }) else { return false }
        for index in list.sessions.indices where list.sessions[index].end == nil {
          list.sessions[index].end = ends[list.sessions[index].id] ?? now
        }
        let known = list.sessions
        list.sessions.removeAll { $0.end.map { $0 <= oldest } ?? false }
        list.sessions.append(.init(id: session, start: now))
        list.sessions.removeFirst(max(list.sessions.count - limit, 0))
        dropped = known.map(\.id).filter { id in !list.sessions.contains { $0.id == id } }
        return true
      }
    }
    for session in dropped { await forget(session, of: place) }
    return dropped
  }

  /// Deletes the participants of a session that is in no list any more. Those that are left over expire.
  private func forget(_ session: String, of place: String) async {
    let prefix = visitPrefix(place, session: session)
    await record { () throws(RegistryError) in
      while case let page = try await context.registry.store.list(prefix: prefix, after: nil, limit: 200), !page.isEmpty
      {
        for entry in page { try await context.registry.delete(entry.key) }
      }
    }
  }

  /// Ends a session, unless it has ended.
  func end(_ session: String, of place: String, at now: APITime) async {
    await record { () throws(RegistryError) in
      try await context.registry.update(
        RoomSessions.self, sessionsKey(place), expiry: { _ in expiry(at: now) }, refusing: { $0 }
      ) { (list: inout RoomSessions) throws(RegistryError) in
        guard let index = list.sessions.firstIndex(where: { $0.id == session && $0.end == nil }) else { return false }
        list.sessions[index].end = now
        return true
      }
    }
  }

  /// Changes what is known of a participant.
  /// - Parameters:
  ///   - new: of a participant that is not known yet; nil: nothing is written of such a one.
  ///   - change: returns false if nothing is to be written, as when a write is repeated that the store has executed.
  func change(
    _ participant: String, in session: String, of place: String, at now: APITime, new: Visit? = nil,
    _ change: (inout Visit) -> Bool
  ) async {
    let key = visitKey(place, session: session, participant: participant)
    await record { () throws(RegistryError) in
      if let new { _ = try await context.registry.create(key, new, expiry: expiry(at: now)) }
      try await context.registry.update(Visit.self, key, expiry: { _ in expiry(at: now) }, refusing: { $0 }) {
        (visit: inout Visit) throws(RegistryError) in change(&visit)
      }
    }
  }

  // MARK: Reading

  /// The sessions of a room that are kept, oldest first, all but the one that is on with an end.
  func sessions(of place: String, live: LiveSession) async throws(RegistryError) -> [RoomSessions.Session] {
    let list = try await context.registry.read(RoomSessions.self, sessionsKey(place))?.value
    return try await complete(list?.sessions ?? [], of: place, live: live)
  }

  private func complete(
    _ list: [RoomSessions.Session], of place: String, live: LiveSession
  ) async throws(RegistryError) -> [RoomSessions.Session] {
    let oldest = context.clock().adding(seconds: -seconds)
    var sessions = list.filter { $0.end.map { $0 > oldest } ?? true }
    for index in sessions.indices where sessions[index].end == nil {
      switch live {
      case .known(sessions[index].id): continue
      case .newest where index == sessions.indices.last: continue
      case .known, .newest, .none: break
      }
      // A former process has left it open.
      sessions[index].end = try await lastTime(of: sessions[index], in: place)
    }
    return sessions
  }

  /// The sessions of all rooms whose places begin with a text, oldest first for each room.
  /// - Parameters:
  ///   - live: which session is on in a room, by the room's place.
  ///   - history: gives the history of a room that keeps less than this one, by the room's place.
  func sessions(
    ofPlaces beginning: String, live: (_ place: String) async -> LiveSession,
    history: (_ place: String) -> Self? = { _ in nil }
  ) async throws(RegistryError) -> [(place: String, session: RoomSessions.Session)] {
    var found: [(place: String, session: RoomSessions.Session)] = []
    var last: String?
    repeat {
      let page = try await context.registry.list(
        RoomSessions.self, prefix: sessionsKey(beginning), after: last, limit: 200)
      for (key, list) in page {
        let place = String(key.dropFirst(sessionsKey("").count))
        let own = history(place) ?? self
        found += try await own.complete(
          list.sessions, of: place, live: list.sessions.last?.end == nil ? await live(place) : .none
        ).map { (place, $0) }
      }
      last = page.count == 200 ? page.last?.key : nil
    } while last != nil
    return found
  }

  /// All participants of a session, in the order of their keys.
  func visits(of place: String, in session: String) async throws(RegistryError) -> [Visit] {
    var visits: [Visit] = []
    var last: String?
    repeat {
      let page = try await context.registry.list(
        Visit.self, prefix: visitPrefix(place, session: session), after: last, limit: 200)
      visits += page.map(\.value)
      last = page.count == 200 ? page.last?.key : nil
    } while last != nil
    return visits
  }

  func visit(_ participant: String, in session: String, of place: String) async throws(RegistryError) -> Visit? {
    try await context.registry.read(Visit.self, visitKey(place, session: session, participant: participant))?.value
  }

  /// When the last thing in a session happened. A session without participants has only begun.
  private func lastTime(of session: RoomSessions.Session, in place: String) async throws(RegistryError) -> APITime {
    try await visits(of: place, in: session.id).compactMap(\.lastTime).max() ?? session.start
  }
}
