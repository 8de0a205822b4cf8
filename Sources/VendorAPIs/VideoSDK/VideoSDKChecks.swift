import KoineRouter

/// Limits of the members of requests, and what the members mean here.
enum VideoSDKChecks {
  /// Members that are kept as texts have at most so many bytes of UTF-8.
  private static let textLimit = 512

  static func room(_ request: VideoSDKRequest) throws(VideoSDKError) {
    if let custom = request.customRoomId {
      guard (1...128).contains(custom.utf8.count) else {
        throw VideoSDKError(400, "customRoomId has 1 to 128 characters")
      }
    }
    try text(request.geoFence ?? request.region, "geoFence")
    if let close = request.autoCloseConfig {
      guard ["session-ends", "session-end-and-deactivate"].contains(close.type ?? ""),
        (1...43_200).contains(close.duration ?? 480)
      else { throw VideoSDKError(400, "autoCloseConfig is invalid") }
    }
    if let start = request.autoStartConfig {
      if let recording = start.recording { _ = try order(.file, recording) }
      if let playlist = start.hls { _ = try order(.playlist, playlist) }
    }
    if let fault = request.webhook?.fault { throw VideoSDKError(400, fault) }
    guard (request.allowedParticipantIds?.count ?? 0) <= 1_000 else {
      throw VideoSDKError(400, "allowedParticipantIds has over 1000 members")
    }
    for id in request.allowedParticipantIds ?? [] { try text(id, "allowedParticipantIds") }
  }

  static func text(_ text: String?, _ name: String) throws(VideoSDKError) {
    guard let text else { return }
    guard (1...textLimit).contains(text.utf8.count) else {
      throw VideoSDKError(400, "\(name) has 1 to \(textLimit) characters")
    }
  }

  private static func choice<Value>(
    _ text: String?, _ name: String, _ values: [String: Value], default value: String
  ) throws(VideoSDKError) -> Value {
    guard let chosen = values[(text ?? value).uppercased()] else {
      throw VideoSDKError(400, "\(name) must be one of \(values.keys.sorted().joined(separator: ", "))")
    }
    return chosen
  }

  /// What the recorder is asked to make. The look is the same as that of a recording that an app starts with these settings.
  static func order(_ kind: RecordingOrder.Kind, _ output: VideoSDKOutput) throws(VideoSDKError) -> RecordingOrder {
    guard output.transcription?.enabled != true else {
      throw VideoSDKError(400, "transcription of recordings is not served here")
    }
    guard let config = output.config else { return RecordingOrder(kind, people: kind == .file ? 4 : 25) }
    let people = config.layout?.gridSize ?? (kind == .file ? 4 : 25)
    guard (1...25).contains(people) else { throw VideoSDKError(400, "layout.gridSize is 1 to 25") }
    let layout = try choice(
      config.layout?.type, "layout.type", ["GRID": "grid", "SPOTLIGHT": "spotlight", "SIDEBAR": "sidebar"],
      default: "GRID")
    let priority = try choice(
      config.layout?.priority, "layout.priority", ["SPEAKER": "speaker", "PIN": "pinned"], default: "SPEAKER")
    let background = try choice(
      config.theme, "theme", ["DEFAULT": "0", "LIGHT": "ffffff", "DARK": "202124"], default: "DEFAULT")
    let hasVideo = try choice(
      config.mode, "mode", ["VIDEO-AND-AUDIO": true, "AUDIO": false], default: "video-and-audio")
    let (long, short) = try choice(
      config.quality, "quality", ["HIGH": (1_920, 1_080), "MED": (1_280, 720), "LOW": (640, 360)], default: "med")
    let isPortrait = try choice(
      config.orientation, "orientation", ["LANDSCAPE": false, "PORTRAIT": true], default: "landscape")
    var look = ["layout=\(layout)", "priority=\(priority)", "background=\(background)"]
    look.append("size=" + (isPortrait ? "\(short)x\(long)" : "\(long)x\(short)"))
    if !hasVideo { look.append("audio") }
    return RecordingOrder(kind, people: people, look: look)
  }
}
