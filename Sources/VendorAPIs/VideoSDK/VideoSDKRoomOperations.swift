import KoineRouter

extension VideoSDKAPI {
  private func makeRoomID() -> String {
    let text = Array(context.identifiers.alphanumeric(12, at: context.clock()))
    return [text[0..<4], text[4..<8], text[8..<12]].map { String($0) }.joined(separator: "-")
  }

  func createRoom(_ request: VideoSDKRequest, for caller: VideoSDKCaller) async throws(VideoSDKError) -> VideoSDKRoom {
    try VideoSDKChecks.room(request)
    let now = context.clock()
    var room = VideoSDKRoom(
      id: makeID(), roomID: makeRoomID(), apiKey: caller.apiKey, customRoomID: request.customRoomId, created: now,
      updated: now, autoClose: request.autoCloseConfig, autoStart: request.autoStartConfig, webhook: request.webhook,
      geoFence: request.geoFence ?? request.region, multiComposition: request.multiComposition,
      allowedParticipantIDs: request.allowedParticipantIds)
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
    let (info, shown) = try page(rooms, request)
    return VideoSDKPage(pageInfo: info, data: shown.map { answer($0, request) })
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

  /// Ends sessions that have reached the limit of their rooms.
  func handleTimeout() async {
    // In the name of the room's API key, whose participants may wait to enter it.
    for (roomID, apiKey, disables) in live.dueToClose(at: context.clock()) {
      let room = try? await context.registry.read(VideoSDKRoom.self, VideoSDKRoom.key(roomID))?.value
      if disables, let room {
        _ = try? await disable(room, subject: apiKey)
      } else {
        await context.execute(.close(room: roomID), for: apiKey, reason: "autoCloseConfig")
      }
    }
  }
}
