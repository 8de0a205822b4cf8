import KoineRouter
import KoineSignaling

extension VideoSDKAPI {
  // MARK: Answers

  private func base(_ request: APIRequest) -> String {
    "\(request.isEncrypted ? "https" : "http")://\(context.settings.publicAuthority ?? request.header("Host") ?? "localhost")"
  }

  private func links(_ roomID: String, session: String?, _ request: APIRequest) -> VideoSDKLinks {
    VideoSDKLinks(
      get_room: "\(base(request))/v2/rooms/\(roomID)",
      get_session: "\(base(request))/v2/sessions/" + (session ?? "?roomId=\(roomID)"))
  }

  func answer(_ room: VideoSDKRoom, _ request: APIRequest) -> VideoSDKRoomAnswer {
    VideoSDKRoomAnswer(
      id: room.id, roomId: room.roomID, meetingId: room.roomID, customRoomId: room.customRoomID, userId: room.apiKey,
      disabled: room.isDisabled, createdAt: room.created.iso8601, updatedAt: room.updated.iso8601,
      autoCloseConfig: room.autoClose, webhook: room.webhook, links: links(room.roomID, session: nil, request))
  }

  func answer(_ session: VideoSDKSession, _ request: APIRequest) -> VideoSDKSessionAnswer {
    VideoSDKSessionAnswer(
      id: session.id, roomId: session.roomID, stay: .init(start: session.start.iso8601, end: session.end?.iso8601),
      status: session.end == nil ? "ongoing" : "ended",
      participants: session.visitors.map { visitor in
        .init(
          _id: visitor.id, participantId: visitor.id, name: visitor.name,
          timelog: visitor.stays.map { .init(start: $0.start.iso8601, end: $0.end?.iso8601) })
      },
      links: links(session.roomID, session: session.id, request))
  }

  private func page<Item: Encodable>(_ items: [Item], _ request: APIRequest) throws(VideoSDKError) -> VideoSDKPage<Item>
  {
    func number(_ name: String, _ range: ClosedRange<Int>, default value: Int) throws(VideoSDKError) -> Int {
      guard let text = request.parameter(name) else { return value }
      guard let number = Int(text), range.contains(number) else { throw VideoSDKError(400, "\(name) is invalid") }
      return number
    }
    let page = try number("page", 1...1_000_000, default: 1)
    let perPage = try number("perPage", 1...100, default: 20)
    let shown = items.dropFirst((page - 1) * perPage).prefix(perPage)
    return VideoSDKPage(
      pageInfo: .init(
        currentPage: page, perPage: perPage, lastPage: max(1, (items.count + perPage - 1) / perPage),
        total: items.count),
      data: Array(shown))
  }

  /// All entities with a prefix, newest first.
  private func all<Value: Decodable>(_ type: Value.Type, prefix: String) async throws(VideoSDKError) -> [Value] {
    var values: [Value] = []
    var last: String?
    repeat {
      let page = try await stored { () throws(RegistryError) in
        try await context.registry.list(type, prefix: prefix, after: last, limit: 500)
      }
      values += page.map(\.value)
      last = page.count == 500 ? page.last?.key : nil
    } while last != nil
    return values.reversed()
  }

  // MARK: Rooms

  private func makeRoomID() -> String {
    let text = Array(context.identifiers.alphanumeric(12, at: context.clock()))
    return [text[0..<4], text[4..<8], text[8..<12]].map { String($0) }.joined(separator: "-")
  }

  private func makeID() -> String {
    String(context.identifiers.guid(at: context.clock()).filter { $0 != "-" }.prefix(24))
  }

  func createRoom(_ request: VideoSDKRequest, for caller: VideoSDKCaller) async throws(VideoSDKError) -> VideoSDKRoom {
    if let custom = request.customRoomId {
      guard (1...128).contains(custom.count) else { throw VideoSDKError(400, "customRoomId has 1 to 128 characters") }
    }
    if let close = request.autoCloseConfig {
      guard ["session-ends", "session-end-and-deactivate"].contains(close.type ?? ""),
        (1...43_200).contains(close.duration ?? 480)
      else { throw VideoSDKError(400, "autoCloseConfig is invalid") }
    }
    guard (request.allowedParticipantIds?.count ?? 0) <= 1_000 else {
      throw VideoSDKError(400, "allowedParticipantIds has over 1000 members")
    }
    if let fault = request.webhook?.fault { throw VideoSDKError(400, fault) }
    let now = context.clock()
    var room = VideoSDKRoom(
      id: makeID(), roomID: makeRoomID(), apiKey: caller.apiKey, customRoomID: request.customRoomId, created: now,
      updated: now, autoClose: request.autoCloseConfig, allowedParticipantIDs: request.allowedParticipantIds)
    room.webhook = request.webhook
    if let custom = request.customRoomId {
      let claim = ChimeClaim(id: room.roomID)
      let known = try await stored { () throws(RegistryError) in
        try await context.registry.create(VideoSDKRoom.customKey(custom, apiKey: caller.apiKey), claim)
      }
      // The room's second entity is written by whichever request comes first.
      if let known { room.roomID = known.id }
    }
    return try await stored { [room] () throws(RegistryError) in
      try await context.registry.create(room.key, room)
    } ?? room
  }

  /// - Parameters:
  ///   - name: a room id, or a custom one.
  ///   - status: of the answer if there is no such room.
  func room(_ name: String, of caller: VideoSDKCaller, missing status: Int) async throws(VideoSDKError) -> VideoSDKRoom
  {
    func read(_ id: String) async throws(VideoSDKError) -> VideoSDKRoom? {
      let room = try await stored { () throws(RegistryError) in
        try await context.registry.read(VideoSDKRoom.self, VideoSDKRoom.key(id))?.value
      }
      return room?.apiKey == caller.apiKey ? room : nil
    }
    // As at the room's door: an id of the key's own room comes before a custom id of the same text.
    if let room = try await read(name) { return room }
    let claim = try await stored { () throws(RegistryError) in
      try await context.registry.read(ChimeClaim.self, VideoSDKRoom.customKey(name, apiKey: caller.apiKey))?.value
    }
    guard let claim, let room = try await read(claim.id) else { throw VideoSDKError(status, "Room not found") }
    return room
  }

  func listRooms(_ request: APIRequest, for caller: VideoSDKCaller) async throws(VideoSDKError)
    -> VideoSDKPage<VideoSDKRoomAnswer>
  {
    let rooms = try await all(VideoSDKRoom.self, prefix: VideoSDKRoom.prefix).filter { $0.apiKey == caller.apiKey }
    return try page(rooms.map { answer($0, request) }, request)
  }

  func deactivate(_ roomID: String?, for caller: VideoSDKCaller) async throws(VideoSDKError) -> VideoSDKRoom {
    guard let roomID else { throw VideoSDKError(400, "roomId is missing") }
    let room = try await room(roomID, of: caller, missing: 402)
    guard room.roomID == roomID else { throw VideoSDKError(402, "Room not found") }
    return try await disable(room, subject: caller.apiKey)
  }

  /// Nobody enters the room any more, and its session ends.
  @discardableResult
  func disable(_ room: VideoSDKRoom, subject: String) async throws(VideoSDKError) -> VideoSDKRoom {
    let now = context.clock()
    let changed = try await context.registry.update(VideoSDKRoom.self, room.key, refusing: Self.unavailable) {
      (room: inout VideoSDKRoom) throws(VideoSDKError) in
      guard !room.isDisabled else { return false }
      (room.isDisabled, room.updated) = (true, now)
      return true
    }
    await context.execute(.close(room: room.roomID), for: subject, reason: "deactivate")
    return changed ?? room
  }

  // MARK: Sessions

  func session(_ id: String, of caller: VideoSDKCaller) async throws(VideoSDKError) -> VideoSDKSession {
    let session = try await stored { () throws(RegistryError) in
      try await context.registry.read(VideoSDKSession.self, VideoSDKSession.key(id))?.value
    }
    guard let session, session.apiKey == caller.apiKey else { throw VideoSDKError(404, "Session not found") }
    return session
  }

  func listSessions(_ request: APIRequest, for caller: VideoSDKCaller) async throws(VideoSDKError)
    -> VideoSDKPage<VideoSDKSessionAnswer>
  {
    var roomID = request.parameter("roomId")
    if let custom = request.parameter("customRoomId") {
      roomID = try await room(custom, of: caller, missing: 404).roomID
    }
    let isOngoing = request.parameter("status").map { $0 == "ongoing" }
    let sessions = try await all(VideoSDKSession.self, prefix: VideoSDKSession.prefix).filter { session in
      session.apiKey == caller.apiKey && (roomID.map { $0 == session.roomID } ?? true)
        && (isOngoing.map { $0 == (session.end == nil) } ?? true)
    }
    return try page(sessions.map { answer($0, request) }, request)
  }

  func visitors(
    _ id: String, _ request: APIRequest, for caller: VideoSDKCaller, onlyActive: Bool
  ) async throws(VideoSDKError) -> VideoSDKPage<VideoSDKSessionAnswer> {
    var session = try await session(id, of: caller)
    if onlyActive { session.visitors.removeAll { $0.stays.last?.end != nil } }
    return try page([answer(session, request)], request)
  }

  /// The room that a request means, and its session that is on.
  private func ongoing(
    _ request: VideoSDKRequest, _ caller: VideoSDKCaller
  ) async throws(VideoSDKError) -> (roomID: String, session: String) {
    if let id = request.sessionId, request.roomId == nil {
      let session = try await session(id, of: caller)
      guard session.end == nil else { throw VideoSDKError(404, "Session has ended") }
      return (session.roomID, session.id)
    }
    guard let name = request.roomId else { throw VideoSDKError(400, "roomId is missing") }
    let room = try await room(name, of: caller, missing: 404)
    guard let live = live.live(room.roomID) else { throw VideoSDKError(404, "No active session in the room") }
    return (room.roomID, live.session)
  }

  func endSession(
    _ body: VideoSDKRequest, _ request: APIRequest, for caller: VideoSDKCaller
  ) async throws(VideoSDKError) -> VideoSDKSessionAnswer {
    let (roomID, id) = try await ongoing(body, caller)
    var session = try await session(id, of: caller)
    await context.execute(.close(room: roomID), for: caller.apiKey, reason: "end session")
    // The rooms report the end a moment later.
    session.end = session.end ?? context.clock()
    return answer(session, request)
  }

  func removeParticipant(
    _ body: VideoSDKRequest, for caller: VideoSDKCaller
  ) async throws(VideoSDKError) -> VideoSDKMessage {
    guard let id = body.participantId, !id.isEmpty else { throw VideoSDKError(400, "participantId is missing") }
    let (roomID, _) = try await ongoing(body, caller)
    let result = await context.execute(
      .remove(id, room: roomID), for: caller.apiKey, reason: "remove participant")
    if case .failure(let error) = result { throw VideoSDKError(404, error.message) }
    return VideoSDKMessage(message: "Participant removed successfully")
  }

  // MARK: Recordings

  func startRecording(_ body: VideoSDKRequest, for caller: VideoSDKCaller) async throws(VideoSDKError) -> String {
    guard let name = body.roomId else { throw VideoSDKError(400, "roomId is missing") }
    let room = try await room(name, of: caller, missing: 404)
    guard let live = live.live(room.roomID) else { throw VideoSDKError(400, "No active session in the room") }
    let result = await context.execute(
      .startRecording(RecordingOrder(.file), room: room.roomID), for: caller.apiKey, reason: "start recording")
    if case .failure(let error) = result { throw VideoSDKError(400, error.message) }
    let recording = VideoSDKRecording(
      id: makeID(), roomID: room.roomID, sessionID: live.session, apiKey: caller.apiKey, created: context.clock())
    _ = try await stored { () throws(RegistryError) in
      try await context.registry.create(recording.key, recording)
    }
    return "Recording started successfully"
  }

  func stopRecording(_ body: VideoSDKRequest, for caller: VideoSDKCaller) async throws(VideoSDKError) -> String {
    guard let name = body.roomId else { throw VideoSDKError(400, "roomId is missing") }
    let room = try await room(name, of: caller, missing: 404)
    let result = await context.execute(
      .stopRecording(.file, room: room.roomID), for: caller.apiKey, reason: "stop recording")
    if case .failure(let error) = result { throw VideoSDKError(400, error.message) }
    let now = context.clock()
    for recording in try await all(VideoSDKRecording.self, prefix: VideoSDKRecording.prefix)
    where recording.roomID == room.roomID && recording.end == nil {
      try await context.registry.update(VideoSDKRecording.self, recording.key, refusing: Self.unavailable) {
        (recording: inout VideoSDKRecording) throws(VideoSDKError) in
        recording.end = recording.end ?? now
        return true
      }
    }
    return "Recording stopped successfully"
  }

  func listRecordings(_ request: APIRequest, for caller: VideoSDKCaller) async throws(VideoSDKError)
    -> VideoSDKPage<VideoSDKRecordingAnswer>
  {
    let (roomID, sessionID) = (request.parameter("roomId"), request.parameter("sessionId"))
    let recordings = try await all(VideoSDKRecording.self, prefix: VideoSDKRecording.prefix).filter { recording in
      recording.apiKey == caller.apiKey && (roomID.map { $0 == recording.roomID } ?? true)
        && (sessionID.map { $0 == recording.sessionID } ?? true)
    }
    return try page(
      recordings.map {
        VideoSDKRecordingAnswer(
          id: $0.id, roomId: $0.roomID, sessionId: $0.sessionID, createdAt: $0.created.iso8601,
          endedAt: $0.end?.iso8601, links: links($0.roomID, session: $0.sessionID, request))
      }, request)
  }

  // MARK: What the rooms report

  func observe(_ event: RoomEvent, at now: APITime) async {
    guard let apiKey = live.apiKey(ofRoom: event.room) else { return }
    switch event.change {
    case .joined(let participant): await joined(participant.id, participant.name, event.room, apiKey, at: now)
    case .left: await left(event, at: now)
    case .published, .subscribed, .refused, .renewed, .recorder: break
    }
  }

  private func joined(_ id: String, _ name: String, _ roomID: String, _ apiKey: String, at now: APITime) async {
    let new = makeID()
    let (session, isNew) = live.withLive(roomID) { live in
      var current = live ?? VideoSDKLiveRooms.Live(session: new, start: now)
      current.participants.insert(id)
      defer { live = current }
      return (current.session, live == nil)
    }
    if isNew {
      let made = VideoSDKSession(id: session, roomID: roomID, apiKey: apiKey, start: now)
      _ = try? await context.registry.create(made.key, made)
      await keep(session, of: roomID)
    }
    await change(session) { session in
      if let index = session.visitors.firstIndex(where: { $0.id == id }) {
        session.visitors[index].stays.append(.init(start: now))
      } else {
        session.visitors.append(.init(id: id, name: name, stays: [.init(start: now)]))
      }
    }
  }

  /// Forgets the oldest sessions of a room beyond the limit.
  private func keep(_ session: String, of roomID: String) async {
    let key = VideoSDKSessionList.key(roomID)
    _ = try? await context.registry.create(key, VideoSDKSessionList())
    let limit = context.settings.sessionsPerRoom
    var forgotten: [String] = []
    _ = try? await context.registry.update(VideoSDKSessionList.self, key, refusing: { $0 }) {
      (list: inout VideoSDKSessionList) throws(RegistryError) in
      list.ids.append(session)
      forgotten = Array(list.ids.prefix(max(list.ids.count - limit, 0)))
      list.ids.removeFirst(forgotten.count)
      return true
    }
    for id in forgotten { try? await context.registry.delete(VideoSDKSession.key(id)) }
  }

  private func left(_ event: RoomEvent, at now: APITime) async {
    let ended: (session: String, isLast: Bool)? = live.withLive(event.room) { live in
      guard var current = live else { return nil }
      current.participants.remove(event.participant)
      let isLast = current.participants.isEmpty
      live = isLast ? nil : current
      return (current.session, isLast)
    }
    guard let ended else { return }
    await change(ended.session) { session in
      if let index = session.visitors.firstIndex(where: { $0.id == event.participant }),
        let last = session.visitors[index].stays.indices.last
      {
        session.visitors[index].stays[last].end = now
      }
      if ended.isLast { session.end = now }
    }
  }

  private func change(_ id: String, _ body: (inout VideoSDKSession) -> Void) async {
    let limit = context.settings.eventsPerParticipant
    do throws(RegistryError) {
      try await context.registry.update(VideoSDKSession.self, VideoSDKSession.key(id), refusing: { $0 }) {
        (session: inout VideoSDKSession) throws(RegistryError) in
        body(&session)
        session.visitors.removeFirst(max(session.visitors.count - limit, 0))
        return true
      }
    } catch { context.log("a session is not recorded: \(error)") }
  }

  /// Ends sessions that have reached the limit of their rooms.
  func handleTimeout() async {
    for (roomID, disables) in live.dueToClose(at: context.clock()) {
      let room = try? await context.registry.read(VideoSDKRoom.self, VideoSDKRoom.key(roomID))?.value
      if disables, let room {
        _ = try? await disable(room, subject: "koine")
      } else {
        await context.execute(.close(room: roomID), for: "koine", reason: "autoCloseConfig")
      }
    }
  }
}
