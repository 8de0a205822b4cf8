import KoineRouter

extension VideoSDKAPI {
  var history: SessionHistory<VideoSDKVisit> { SessionHistory(context: context, prefix: "videosdk") }

  /// Of rooms that no back end has made, less is kept, as apps name them as they like.
  func history(of place: VideoSDKSessionPlace) -> SessionHistory<VideoSDKVisit> {
    guard place.isUnmade else { return history }
    return SessionHistory(context: context, prefix: "videosdk", sessionsPerRoom: 10, seconds: 7 * 24 * 60 * 60)
  }

  func place(of roomID: String, _ apiKey: String) -> VideoSDKSessionPlace {
    VideoSDKSessionPlace(roomID: roomID, apiKey: apiKey, unmade: live.apiKey(ofRoom: roomID) == nil ? true : nil)
  }

  /// The session that is on in a room, of an API key.
  private func liveSession(_ roomID: String, _ apiKey: String) -> String? {
    live.live(roomID).flatMap { $0.apiKey == apiKey ? $0.session : nil }
  }

  func storedPlace(ofSession id: String) async throws(VideoSDKError) -> VideoSDKSessionPlace? {
    try await stored { () throws(RegistryError) in
      try await context.registry.read(VideoSDKSessionPlace.self, VideoSDKSessionPlace.key(session: id))?.value
    }
  }

  private func find(
    _ id: String, of caller: VideoSDKCaller
  ) async throws(VideoSDKError) -> (session: RoomSessions.Session, place: VideoSDKSessionPlace) {
    let place = try await storedPlace(ofSession: id)
    guard let place, place.apiKey == caller.apiKey else { throw VideoSDKError(404, "Session not found") }
    let sessions = try await stored { () throws(RegistryError) in
      try await history(of: place).sessions(of: place.place, live: .init(liveSession(place.roomID, place.apiKey)))
    }
    guard let session = sessions.first(where: { $0.id == id }) else { throw VideoSDKError(404, "Session not found") }
    return (session, place)
  }

  /// The participants of a session, in the order of their first joins.
  private func visits(_ session: String, in place: VideoSDKSessionPlace) async throws(VideoSDKError) -> [VideoSDKVisit]
  {
    try await stored { () throws(RegistryError) in
      try await history.visits(of: place.place, in: session).sorted { $0.order < $1.order }
    }
  }

  func session(_ id: String, _ request: APIRequest, for caller: VideoSDKCaller) async throws(VideoSDKError)
    -> VideoSDKSessionAnswer
  {
    let (session, place) = try await find(id, of: caller)
    return answer(session, in: place, try await visits(id, in: place), request)
  }

  func listSessions(_ request: APIRequest, for caller: VideoSDKCaller) async throws(VideoSDKError)
    -> VideoSDKPage<VideoSDKSessionAnswer>
  {
    func time(_ name: String) throws(VideoSDKError) -> APITime? {
      guard let text = request.parameter(name) else { return nil }
      guard let number = Int64(text) else { throw VideoSDKError(400, "\(name) is a time in milliseconds since 1970") }
      return APITime(milliseconds: number)
    }
    var roomID = request.parameter("roomId")
    if let custom = request.parameter("customRoomId") {
      roomID = try await room(custom, of: caller, missing: 404).roomID
    } else if let name = roomID {
      roomID = live.roomID(of: name, for: caller.apiKey) ?? name
    }
    let (first, last) = (try time("startDate"), try time("endDate"))
    let status = request.parameter("status")
    guard status.map({ ["ongoing", "ended"].contains($0) }) ?? true else {
      throw VideoSDKError(400, "status must be ongoing or ended")
    }
    // The user of an API key is the key itself.
    let isOwn = request.parameter("userId").map { $0 == caller.apiKey } ?? true
    typealias Kept = (place: String, session: RoomSessions.Session)
    let kept = try await stored { [roomID] () throws(RegistryError) -> [Kept] in
      if let roomID {
        let place = place(of: roomID, caller.apiKey)
        let sessions = try await history(of: place).sessions(
          of: place.place, live: .init(liveSession(roomID, caller.apiKey)))
        return sessions.map { (place.place, $0) }
      }
      return try await history.sessions(ofPlaces: VideoSDKSessionPlace.beginning(apiKey: caller.apiKey)) { place in
        guard let place = VideoSDKSessionPlace(place) else { return .none }
        if let session = liveSession(place.roomID, caller.apiKey) { return .known(session) }
        return await context.homes?.isElsewhere(place.roomID) == true ? .newest : .none
      } history: { place in
        VideoSDKSessionPlace(place).map { history(of: $0) }
      }
    }
    let found = kept.filter { entry in
      isOwn && (status.map { $0 == (entry.session.end == nil ? "ongoing" : "ended") } ?? true)
        && (first.map { $0 <= entry.session.start } ?? true) && (last.map { entry.session.start <= $0 } ?? true)
    }
    let newestFirst = found.sorted { ($0.session.start, $0.session.id) > ($1.session.start, $1.session.id) }
    let (info, shown) = try page(newestFirst, request)
    var answers: [VideoSDKSessionAnswer] = []
    for (path, session) in shown {
      guard let place = VideoSDKSessionPlace(path) else { continue }
      answers.append(answer(session, in: place, try await visits(session.id, in: place), request))
    }
    return VideoSDKPage(pageInfo: info, data: answers)
  }

  /// The session with a page of its participants.
  func visitors(
    _ id: String, _ request: APIRequest, for caller: VideoSDKCaller, onlyActive: Bool
  ) async throws(VideoSDKError) -> VideoSDKPage<VideoSDKSessionAnswer> {
    let (session, place) = try await find(id, of: caller)
    var visits = try await visits(id, in: place)
    if onlyActive { visits.removeAll { session.end != nil || $0.stays.last?.end != nil } }
    let (info, shown) = try page(visits, request)
    return VideoSDKPage(pageInfo: info, data: [answer(session, in: place, shown, request)])
  }

  func visitor(
    _ id: String, _ participant: String, _ request: APIRequest, for caller: VideoSDKCaller
  ) async throws(VideoSDKError) -> VideoSDKSessionAnswer {
    let (session, place) = try await find(id, of: caller)
    let visit = try await stored { () throws(RegistryError) in
      try await history.visit(participant, in: id, of: place.place)
    }
    guard let visit else { throw VideoSDKError(404, "Participant not found") }
    return answer(session, in: place, [visit], request)
  }

  // MARK: Changes

  /// The room that a request means, and its session that is on. A room that no back end has made is known while it has a session.
  func ongoing(
    _ request: VideoSDKRequest, _ caller: VideoSDKCaller, missing status: Int = 404
  ) async throws(VideoSDKError) -> (roomID: String, session: String) {
    if let id = request.sessionId, request.roomId == nil {
      // What is kept of a session that is on may have expired.
      if let roomID = live.roomID(ofSession: id, caller.apiKey) { return (roomID, id) }
      let (session, place) = try await find(id, of: caller)
      guard session.end == nil else { throw VideoSDKError(status, "Session has ended") }
      return (place.roomID, session.id)
    }
    guard let name = request.roomId else { throw VideoSDKError(400, "roomId is missing") }
    if live.apiKey(ofRoom: name) == nil, let session = liveSession(name, caller.apiKey) { return (name, session) }
    let room = try await room(name, of: caller, missing: 404)
    guard let session = liveSession(room.roomID, caller.apiKey) else {
      throw VideoSDKError(status, "No active session in the room")
    }
    guard request.sessionId.map({ $0 == session }) ?? true else {
      throw VideoSDKError(status, "The session is not the room's active one")
    }
    return (room.roomID, session)
  }

  func endSession(
    _ body: VideoSDKRequest, _ request: APIRequest, for caller: VideoSDKCaller
  ) async throws(VideoSDKError) -> VideoSDKSessionAnswer {
    let (roomID, id) = try await ongoing(body, caller)
    let ongoing = live.live(roomID).flatMap { $0.session == id ? $0 : nil }
    var (session, place): (RoomSessions.Session, VideoSDKSessionPlace)
    if let ongoing {
      session = RoomSessions.Session(id: id, start: ongoing.start)
      // The registry must not prevent the end.
      place = (try? await storedPlace(ofSession: id)) ?? self.place(of: roomID, caller.apiKey)
    } else {
      (session, place) = try await find(id, of: caller)
    }
    let result = await context.execute(.close(room: roomID), for: caller.apiKey, reason: "end session")
    if case .failure(let error) = result { throw VideoSDKError(404, error.message) }
    // The rooms report the end a moment later.
    session.end = session.end ?? context.clock()
    return answer(session, in: place, try await visits(id, in: place), request)
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
}
