import CallModel

/// The functions of a ported meeting that call the app's handlers: one for the session's events, one for what follows from these.
struct MeetingDispatch {
  private let model: CallModel
  private let writer: LayerWriter

  init(_ model: CallModel, _ writer: LayerWriter) { (self.model, self.writer) = (model, writer) }

  func text(of type: String) -> String {
    let observed = writer.name(.observed)
    let handle = writer.handleName
    let run = { (call: String) in writer.isOnMainActor ? "MainActor.assumeIsolated { \(call) }" : call }
    var lines = [
      "extension \(type) {", "  enum Observed { case call, attendees, speakers, tiles, share }", "",
      "  private func \(writer.free("observe"))(_ group: Observed, in meeting: RoomMeeting) {",
      "    \(observed).insert(group)",
      "    meeting.observer = { [weak self, unowned meeting] event in "
        + run("self?.\(handle)(event, in: meeting)") + " }",
      "    meeting.meetingObserver = { [weak self] event in " + run("self?.\(handle)(event)") + " }", "  }",
    ]
    if has(.captureStarted) || has(.captureEnded) || has(.captureFailed) {
      lines += [
        "", "  private func \(writer.free("observe"))(_ screen: RoomScreen) {",
        "    screen.observer = { [weak self] event in " + run("self?.\(handle)(event)") + " }", "  }",
      ]
    }
    lines += [
      "", "  /// Calls the functions above for what the session reports.",
      "  private func \(handle)(_ event: SessionEvent, in meeting: RoomMeeting) {", "    switch event {",
    ]
    lines += state(observed) + streams(observed)
    lines += [
      "    default: break", "    }", "  }", "",
      "  /// Calls the functions above for what follows from the session's events.",
      "  private func \(handle)(_ event: MeetingEvent) {", "    switch event {",
    ]
    lines += meeting(observed)
    return (lines + ["    default: break", "    }", "  }", "}", ""]).joined(separator: "\n")
  }

  private func has(_ fact: Fact) -> Bool { model.handler(of: fact) != nil }

  /// A case with its calls; nothing if there is no call.
  private func when(_ pattern: String, _ calls: [String]...) -> [String] {
    let calls = Array(calls.joined())
    return calls.isEmpty ? [] : ["    case \(pattern):"] + calls.map { "      " + $0 }
  }

  private func calls(_ fact: Fact, _ value: String = "") -> [String] { writer.calls(fact, model, value) }

  private func state(_ observed: String) -> [String] {
    let call = "where \(observed).contains(.call)"
    return when(
      ".stateChanged(.connecting) \(call)", calls(.connecting, "false"), calls(.videoConnecting))
      + when(
        ".stateChanged(.connected) \(call)", calls(.joined, "meeting.hasEntered"), calls(.videoJoined, ".left"),
        calls(.cameraAllowed, "true").map { "if !meeting.hasEntered { \($0) }" })
      + when(
        ".stateChanged(.reconnecting) \(call)", calls(.interrupted), calls(.connecting, "true"),
        calls(.videoConnecting))
      + when(
        ".stateChanged(.ended(let reason)) \(call)", calls(.left, "reason"),
        // The function above may have ended the observation.
        calls(.videoLeft, "reason").map {
          "if reason == .left || reason == .lost, \(observed).contains(.call) { \($0) }"
        })
      + path(observed)
  }

  private func path(_ observed: String) -> [String] {
    guard has(.pathBecamePoor) || has(.pathRecovered) else { return [] }
    let isPoor = writer.name(.isPathPoor)
    let change = { (fact: Fact, condition: String) in
      calls(fact).map { "      if \(condition) { \($0) }" }
    }
    return [
      "    case .qualityChanged(let levels) where \(observed).contains(.call):",
      "      guard let level = levels[meeting.localParticipant.id], (level != .high) != \(isPoor) else { break }",
      "      \(isPoor).toggle()",
    ] + change(.pathBecamePoor, isPoor) + change(.pathRecovered, "!" + isPoor)
  }

  private func streams(_ observed: String) -> [String] {
    let people = "([meeting.localParticipant.last] + (meeting.session?.participants ?? []))"
    var lines = when(
      ".dominantSpeakerChanged(let id) where \(observed).contains(.speakers)",
      calls(.speakersChanged, people + ".filter { $0.id == id }"))
    if has(.message) {
      lines += when(
        ".messageReceived(let message) where \(writer.name(.topics)).contains(message.topic)",
        calls(.message, "message"))
    }
    lines += when(
      ".publishFailed(let track, let failure) where track.kind == .camera && failure.code == .forbidden "
        + "&& \(observed).contains(.call)", calls(.cameraAllowed, "false"))
    let remote = "track.kind.isVideo && !owner.isLocal && \(observed).contains(.call)"
    let change = { (event: String, isMuted: Bool) in
      ".stream\(event)(let track, let owner) where \(isMuted ? "" : "!")track.isMuted && \(remote)"
    }
    lines += when(
      change("Added", false) + ",\n      " + change("Muted", false),
      calls(.sourcesAvailable, "[meeting.source(track)]"))
    lines += when(
      change("Removed", false) + ",\n      " + change("Muted", true), calls(.sourcesUnavailable, "[RoomSource(track)]"))
    guard has(.shareStarted) || has(.shareEnded) else { return lines }
    let (shared, share) = (writer.name(.sharedTrack), "\(observed).contains(.share)")
    lines += when(
      ".streamPublished(let track) where track.kind == .screen", ["\(shared) = track.id"],
      calls(.shareStarted).map { "if \(share) { \($0) }" })
    lines += when(
      ".streamRemoved(let track, _) where track.id == \(shared)", ["\(shared) = nil"],
      calls(.shareEnded, "nil").map { "if \(share) { \($0) }" })
    return lines
      + when(
        ".publishFailed(let track, \(has(.shareEnded) ? "let failure" : "_")) where track.kind == .screen",
        ["\(shared) = nil"], calls(.shareEnded, "failure").map { "if \(share) { \($0) }" })
  }

  private func meeting(_ observed: String) -> [String] {
    let (people, tiles) = ("where \(observed).contains(.attendees)", "where \(observed).contains(.tiles)")
    return when(".joined(let attendee) \(people)", calls(.participantJoined, "[attendee]"))
      + when(".left(let attendee, .dropped) \(people)", calls(.participantDropped, "[attendee]"))
      + when(".left(let attendee, _) \(people)", calls(.participantLeft, "[attendee]"))
      + when(".muted(let attendee, true) \(people)", calls(.participantMuted, "[attendee]"))
      + when(".muted(let attendee, false) \(people)", calls(.participantUnmuted, "[attendee]"))
      + when(".volumesChanged(let volumes) \(people)", calls(.volumesChanged, "volumes"))
      + when(".tileAdded(let tile) \(tiles)", calls(.tileAdded, "tile"))
      + when(".tileRemoved(let tile) \(tiles)", calls(.tileRemoved, "tile"))
      + when(".tilePaused(let tile, true) \(tiles)", calls(.tilePaused, "tile"))
      + when(".tilePaused(let tile, false) \(tiles)", calls(.tileResumed, "tile"))
      + when(".captureStarted", calls(.captureStarted)) + when(".captureEnded", calls(.captureEnded))
      + when(".captureFailed(let code)", calls(.captureFailed, "code"))
  }
}
