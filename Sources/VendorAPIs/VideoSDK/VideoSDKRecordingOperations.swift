import KoineRouter

extension VideoSDKAPI {
  /// Asks the recorder of the room. What it makes of it comes with its reports (`VideoSDKHistory`).
  func startRecording(_ body: VideoSDKRequest, for caller: VideoSDKCaller) async throws(VideoSDKError) -> String {
    guard body.templateUrl == nil else { throw VideoSDKError(400, "templateUrl is not served here") }
    try VideoSDKChecks.text(body.webhookUrl, "webhookUrl")
    try VideoSDKChecks.text(body.awsDirPath, "awsDirPath")
    let order = try VideoSDKChecks.order(.file, VideoSDKOutput(config: body.config, transcription: body.transcription))
    guard body.roomId != nil else { throw VideoSDKError(400, "roomId is missing") }
    let (roomID, _) = try await ongoing(body, caller, missing: 400)
    let isFirst = live.withRecording(roomID) { live in
      guard live == nil else { return false }
      live = VideoSDKLiveRooms.Recording(webhookURL: body.webhookUrl, awsDirPath: body.awsDirPath)
      return true
    }
    guard isFirst else { throw VideoSDKError(400, "The room is being recorded already") }
    let result = await context.execute(
      .startRecording(order, room: roomID), for: caller.apiKey, reason: "start recording")
    if case .failure(let error) = result {
      live.withRecording(roomID) { if $0?.key == nil { $0 = nil } }
      throw VideoSDKError(400, error.message)
    }
    return "Recording started successfully"
  }

  func stopRecording(_ body: VideoSDKRequest, for caller: VideoSDKCaller) async throws(VideoSDKError) -> String {
    guard body.roomId != nil else { throw VideoSDKError(400, "roomId is missing") }
    let (roomID, _) = try await ongoing(body, caller, missing: 400)
    let result = await context.execute(
      .stopRecording(.file, room: roomID), for: caller.apiKey, reason: "stop recording")
    if case .failure(let error) = result { throw VideoSDKError(400, error.message) }
    return "Recording stopped successfully"
  }

  func listRecordings(_ request: APIRequest, for caller: VideoSDKCaller) async throws(VideoSDKError)
    -> VideoSDKPage<VideoSDKRecordingAnswer>
  {
    let roomID = request.parameter("roomId").map { live.roomID(of: $0, for: caller.apiKey) ?? $0 }
    let sessionID = request.parameter("sessionId")
    let prefix = VideoSDKRecording.prefix(apiKey: caller.apiKey, roomID: roomID)
    let found = try await all(VideoSDKRecording.self, prefix: prefix).filter { recording in
      sessionID.map { $0 == recording.sessionID } ?? true
    }
    let (info, shown) = try page(found.sorted { $0.id > $1.id }, request)
    var answers: [VideoSDKRecordingAnswer] = []
    for recording in shown { answers.append(try await answer(recording, request)) }
    return VideoSDKPage(pageInfo: info, data: answers)
  }

  func recording(_ id: String, _ request: APIRequest, for caller: VideoSDKCaller) async throws(VideoSDKError)
    -> VideoSDKRecordingAnswer
  {
    let all = try await all(VideoSDKRecording.self, prefix: VideoSDKRecording.prefix(apiKey: caller.apiKey))
    guard let recording = all.first(where: { $0.id == id }) else { throw VideoSDKError(404, "Recording not found") }
    return try await answer(recording, request)
  }
}
