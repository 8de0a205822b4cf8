extension VideoSDKAPI {
  private func base(_ request: APIRequest) -> String {
    "\(request.isEncrypted ? "https" : "http")://\(context.settings.publicAuthority ?? request.header("Host") ?? "localhost")"
  }

  private func links(_ roomID: String, session: String?, _ request: APIRequest) -> VideoSDKLinks {
    let room = PercentEncoding.encode(roomID)
    return VideoSDKLinks(
      get_room: "\(base(request))/v2/rooms/\(room)",
      get_session: "\(base(request))/v2/sessions/" + (session ?? "?roomId=\(room)"))
  }

  func answer(_ room: VideoSDKRoom, _ request: APIRequest) -> VideoSDKRoomAnswer {
    VideoSDKRoomAnswer(
      id: room.id, roomId: room.roomID, meetingId: room.roomID, customRoomId: room.customRoomID, userId: room.apiKey,
      disabled: room.isDisabled, createdAt: room.created.iso8601, updatedAt: room.updated.iso8601,
      geoFence: room.geoFence, webhook: room.webhook, autoCloseConfig: room.autoClose, autoStartConfig: room.autoStart,
      multiComposition: room.multiComposition, allowedParticipantIds: room.allowedParticipantIDs,
      links: links(room.roomID, session: nil, request))
  }

  func answer(
    _ session: RoomSessions.Session, in place: VideoSDKSessionPlace, _ visits: some Sequence<VideoSDKVisit>,
    _ request: APIRequest
  ) -> VideoSDKSessionAnswer {
    VideoSDKSessionAnswer(
      id: session.id, roomId: place.roomID, customRoomId: live.customID(of: place.roomID, for: place.apiKey),
      stay: .init(start: session.start.iso8601, end: session.end?.iso8601),
      status: session.end == nil ? "ongoing" : "ended",
      participants: visits.map { visit in
        .init(
          _id: visit.id, participantId: visit.id, name: visit.name,
          timelog: visit.stays.map { stay in
            // No stay outlasts its session.
            .init(start: stay.start.iso8601, end: (stay.end ?? session.end)?.iso8601)
          })
      },
      links: links(place.roomID, session: session.id, request))
  }

  func answer(
    _ recording: VideoSDKRecording, _ request: APIRequest
  ) async throws(VideoSDKError) -> VideoSDKRecordingAnswer {
    var recording = recording
    var isOn = recording.end == nil
    // A recording that a former process has left without an end is not made any more.
    if isOn, live.withRecording(recording.roomID, { $0?.key }) != recording.key {
      isOn = await context.homes?.isElsewhere(recording.roomID) == true
      // It may have ended since it was read.
      if !isOn {
        let key = recording.key
        recording =
          try await stored { () throws(RegistryError) in
            try await context.registry.read(VideoSDKRecording.self, key)?.value
          } ?? recording
      }
    }
    return VideoSDKRecordingAnswer(
      id: recording.id, roomId: recording.roomID, sessionId: recording.sessionID,
      status: isOn ? "recording-started" : "recording-stopped", createdAt: recording.created.iso8601,
      endedAt: recording.end?.iso8601,
      file: recording.file.map { file in
        let resolution = file.width.flatMap { width in
          file.height.map { VideoSDKRecordingAnswer.File.Meta.Resolution(w: width, h: $0) }
        }
        return .init(
          id: recording.id, type: resolution == nil ? "audio" : "video", size: file.bytes, fileUrl: file.url,
          createdAt: recording.created.iso8601,
          meta: .init(
            format: file.url.split(separator: ".").last.map(String.init) ?? "", resolution: resolution,
            duration: file.seconds))
      },
      webhookUrl: recording.webhookURL, awsDirPath: recording.awsDirPath,
      links: links(recording.roomID, session: recording.sessionID, request))
  }

  // MARK: Pages

  /// The page that a request asks for.
  func page<Item>(
    _ items: [Item], _ request: APIRequest
  ) throws(VideoSDKError) -> (info: VideoSDKPageInfo, items: ArraySlice<Item>) {
    func number(_ name: String, _ range: ClosedRange<Int>, default value: Int) throws(VideoSDKError) -> Int {
      guard let text = request.parameter(name) else { return value }
      guard let number = Int(text), range.contains(number) else { throw VideoSDKError(400, "\(name) is invalid") }
      return number
    }
    let page = try number("page", 1...1_000_000, default: 1)
    let perPage = try number("perPage", 1...100, default: 20)
    let info = VideoSDKPageInfo(
      currentPage: page, perPage: perPage, lastPage: max(1, (items.count + perPage - 1) / perPage),
      total: items.count)
    return (info, items.dropFirst((page - 1) * perPage).prefix(perPage))
  }

  /// All entities with a prefix, newest first where their ids sort by time.
  func all<Value: Decodable>(_ type: Value.Type, prefix: String) async throws(VideoSDKError) -> [Value] {
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

  /// 24 hexadecimal digits that sort by time.
  func makeID() -> String {
    String(context.identifiers.guid(at: context.clock()).filter { $0 != "-" }.prefix(24))
  }
}
