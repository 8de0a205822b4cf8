import CallModel
import KoinePorting

/// Writes a call layer in the words of the common layer.
final class KoineWriter: LayerWriter {
  override class var style: Style { .koine }
  override class var sources: [Style] { [.callAgent, .eventListener, .meetingSession, .stageStrategy] }
  override class var modules: Set<String> { ["Koine"] }
  override class func modules(of text: String) -> Set<String> { text.contains("VideoView") ? ["UIKit"] : [] }
  override class func helpers(for reader: any StyleReader.Type) -> [LayerHelper] { reader.helpers }

  // MARK: Words

  /// Types of the helper, by the words of `RoomModel` and `Koine` that they stand for.
  private static let helperTypes = ["Session": "RoomCall", "Participant": "RoomParticipant", "Track": "RoomTrack"]
  private static let helperMembers = [
    "Session.participants": "participants", "Session.localParticipant": "localParticipant",
    "Participant.tracks": "sentTracks",
  ]
  /// Codes that the helper adds to those of `Failure`.
  private static let helperCodes: Set<String> = [
    "camera", "microphone", "screen", "duplicate", "cameraDenied", "microphoneDenied",
  ]
  private static let types: Set<String> = [
    "Failure.Code", "Track.Kind", "Machine.Device", "Machine.Attachment", "UIView.ContentMode", "Tile.Pause",
    "RoomVolume.Level",
  ]

  override func name(of word: String) -> (text: String, share: Share) {
    if word.hasPrefix("(") || word.hasPrefix("[") {
      let names = word.split { !$0.isLetter }.map(String.init)
      return (word, names.contains(where: helperWords.contains) ? .inHelper : .written)
    }
    if helperWords.contains(String(word.prefix { $0 != "." })) {
      return (String(word.split(separator: ".").last ?? ""), .inHelper)
    }
    if let helper = Self.helperTypes[word] ?? Self.helperMembers[word] { return (helper, .inHelper) }
    let share = share(of: word)
    let dot = Self.types.contains(word) || word.hasSuffix("?") ? nil : word.lastIndex(of: ".")
    let last = dot.map { String(word[word.index(after: $0)...]) } ?? word
    if let (name, code) = Self.payload(of: last) {
      let failure = "Failure(.\(code), \"\")"
      return (name == "Failure" ? failure : "\(name)(\(failure))", Self.helperCodes.contains(code) ? .inHelper : share)
    }
    return (
      last,
      ["Failure.Code.", "AgentFailure."].contains(where: word.hasPrefix) && Self.helperCodes.contains(last)
        ? .inHelper : share
    )
  }

  /// `refused(roomFull)`: a value with a failure of this code in it. `Failure(roomFull)`: the failure itself.
  private static func payload(of name: String) -> (name: String, code: String)? {
    guard name.hasSuffix(")"), let open = name.firstIndex(of: "(") else { return nil }
    return (String(name[..<open]), String(name[name.index(after: open)...].dropLast()))
  }

  override func isMade(_ word: String) -> Bool { Self.payload(of: word)?.name == "Failure" }

  /// The words that a word stands for: a value of the vendor's may be several of the common layer.
  private static func words(in word: String) -> [String] {
    // A tuple is one value.
    word.hasPrefix("(") ? [word] : word.split(separator: ",").map { String($0.drop { $0 == " " }) }
  }

  override func value(of word: String) -> (text: String, share: Share) { name(of: Self.words(in: word)[0]) }

  override func patterns(of word: String) -> [String] {
    Self.words(in: word).map { word in
      let last = word.lastIndex(of: ".").map { String(word[word.index(after: $0)...]) } ?? word
      if let (name, code) = Self.payload(of: last) {
        return name == "Failure" ? "Failure.Code.\(code)" : ".\(name)(Failure.Code.\(code))"
      }
      return "." + name(of: word).text
    }
  }

  /// Types of helpers begin with `Room`.
  override func share(of word: String) -> Share { word.hasPrefix("Room") ? .inHelper : .written }
  override var valueTypes: Set<String> { ["VideoPublishOptions", "VideoFormat", "[VideoFormat]"] }

  override func expression(of word: String) -> Form? {
    switch word {
    case "Participant.userID":
      Form(usesHelper: false) { base, _ in "(\(base).externalUserID ?? \(base).name)" }
    case "Track.ID.description":
      Form(usesHelper: false) { base, _ in "\(base).id.description" }
    case "ReceivedMessage.text":
      Form(usesHelper: false) { base, _ in "String(decoding: \(base).payload, as: UTF8.self)" }
    case "ReceivedMessage.time":
      Form(usesHelper: false) { base, _ in
        "Date(timeIntervalSinceNow: -(\(base).age / .seconds(1))).formatted(.iso8601)"
      }
    case "ReceivedMessage.senderName":
      Form(usesHelper: true) { base, call in
        call.map { "(\($0).name(of: \(base).sender) ?? \"\")" }
      }
    case "Machine.cameras": Form(usesHelper: false) { base, _ in "\(base).devices(.camera)" }
    default: nil
    }
  }

  override func hasPayload(_ word: String) -> Bool {
    ["SessionState.ended", "EndReason.refused", "EndReason.removedByService", "RoomTrack.isSent"].contains(word)
  }

  override func madeValue(of word: String) -> String? { word == "SessionState.ended" ? "ended(.left)" : nil }

  override func isNoValue(_ word: String) -> Bool {
    hasPayload(word) || Self.words(in: word).count > 1 || Self.payload(of: word) != nil
  }
  override func predicate(_ word: String) -> String? {
    ["SessionState.ended": "isEnded", "RoomTrack.isSent": "isSent"][word]
  }

  override func rawValue(of type: String) -> String? {
    switch type.split(separator: ".").last {
    case "LeaveReason", "MeetingSessionStatusCode": "description"
    case "VideoSDKError", "IVSBroadcastError": "rawValue"
    default: nil
    }
  }

  override func isValue(_ word: String) -> Bool {
    ["Participant", "Track", "ReceivedMessage", "RoomParticipant", "RoomTrack"].contains(word)
  }
  override func equality(_ sign: String) -> String? { ["===": "==", "!==": "!="][sign] }
  override func arguments(ofInitializer word: String) -> String? {
    switch word {
    case "VideoView.init()": "(frame: .zero)"
    case "VideoPublishOptions.init()":
      // As a stage publishes by default.
      "(maximumBitrate: 900_000, maximumFramesPerSecond: 15, maximumWidth: 360, maximumHeight: 640, lowerLayers: [.small])"
    default: nil
    }
  }

  // MARK: Actions

  /// A side of the machine can be a variable.
  override func slot(_ name: String, _ text: String) throws(Unportable) -> String { text }
  override func isHelper(_ type: Substring) -> Bool { type.hasPrefix("Room") }
  override func receiver(_ base: String, for type: Substring) -> String {
    base + (type == "Session" ? ".session?" : "")
  }

  // MARK: Facts

  override func dispatch(_ model: CallModel, _ reader: any StyleReader.Type, of type: String) -> String {
    reader.dispatch(model, of: type, self) ?? dispatch(model, of: type)
  }

  /// The function that gets the session's events. The order is that of the app's old callbacks.
  private func dispatch(_ model: CallModel, of type: String) -> String {
    let participant = "RoomParticipant(call: call, last: participant)"
    var lines = [
      "extension \(type) {", "  /// Calls the functions above for what the session reports.",
      "  private func \(handleName)(_ event: SessionEvent, in call: RoomCall) {", "    switch event {",
    ]
    let add = { (indent: Int, found: [String]) in lines += found.map { String(repeating: " ", count: indent) + $0 } }
    let failures = [
      ("refused(let failure)) where failure.code != .denied", calls(.failure, model, "failure.code")),
      ("duplicate)", calls(.failure, model, ".duplicate")), ("expired)", calls(.failure, model, ".unauthorized")),
      ("lost)", calls(.connectionLost, model, "\"the connection to the room was lost\"")),
    ].filter { !$0.1.isEmpty }
    var changes: [String] = []
    if !failures.isEmpty {
      changes.append("switch state {")
      for (pattern, calls) in failures { changes.append("case .ended(.\(pattern): \(calls.joined(separator: "; "))") }
      changes += ["default: break", "}"]
    }
    changes += calls(.state, model, "state")
    changes += calls(.joined, model).map { "if state == .connected, !call.hasEntered { \($0) }" }
    changes += calls(.left, model, "reason").map { left in
      let pattern = left.contains("reason") ? ".ended(let reason)" : ".ended"
      return "if case \(pattern) = state, call.hasEntered { \(left) }"
    }
    if !changes.isEmpty { add(4, ["case .stateChanged(let state):"]) }
    add(6, changes)
    let join = calls(.participantJoined, model, participant)
    if !join.isEmpty { add(4, ["case .participantJoined(let participant):"]) }
    add(6, join)
    let leave = calls(.participantLeft, model, participant)
    if !leave.isEmpty { add(4, ["case .participantLeft(let participant, _):"]) }
    add(6, leave)
    let (added, removed) = streamCalls(model)
    let presenter = calls(.presenter, model, "\(free("presenters")).last")
    if !added.isEmpty || !removed.isEmpty || !presenter.isEmpty {
      add(
        4,
        [
          "case .streamAdded(let track, let owner) where !track.isMuted, .streamMuted(let track, let owner) where !track.isMuted:",
          "  \(free("streamChanged"))(track, of: owner, isSent: true, in: call)",
          "case .streamRemoved(let track, let owner) where !track.isMuted, .streamMuted(let track, let owner):",
          "  \(free("streamChanged"))(track, of: owner, isSent: false, in: call)",
        ])
    }
    let messages = calls(.message, model, "message")
    if !messages.isEmpty {
      add(
        4, ["case .messageReceived(let message) where !message.isHistory && \(name(.topics)).contains(message.topic):"])
    }
    add(6, messages)
    let speaker = calls(.speaker, model, "speaker")
    if !speaker.isEmpty { add(4, ["case .dominantSpeakerChanged(let speaker):"]) }
    add(6, speaker)
    if let failed = calls(.failure, model, "failure.code").first {
      let ofStream = calls(
        .failure, model, "failure.code == .device ? Failure.Code(rawValue: track.kind.rawValue) : failure.code")
      add(4, ["case .publishFailed(let track, let failure):"])
      add(6, ofStream)
      add(4, ["case .failed(let failure):"])
      add(6, [failed.replacing("failure.code", with: "failure.code == .device ? .microphone : failure.code")])
    }
    add(4, ["default: break", "}"])
    lines.append("  }")
    if !added.isEmpty || !removed.isEmpty || !presenter.isEmpty {
      lines += streamChanged(added, removed, presenter)
    }
    return (lines + ["}", ""]).joined(separator: "\n")
  }

  private func streamCalls(_ model: CallModel) -> (added: [String], removed: [String]) {
    let (track, owner) = ("RoomTrack(call: call, track: track)", "RoomParticipant(call: call, last: owner)")
    return (calls(.streamAdded, model, track, owner), calls(.streamRemoved, model, track, owner))
  }

  private func streamChanged(_ added: [String], _ removed: [String], _ presenter: [String]) -> [String] {
    var lines = [
      "",
      "  private func \(free("streamChanged"))(_ track: Track, of owner: Participant, isSent: Bool, in call: RoomCall) {",
    ]
    if let call = presenter.first {
      let presenters = name(.presenters)
      lines += [
        "    if track.kind == .screen {", "      let before = \(presenters).last",
        "      \(presenters).removeAll { $0 == owner.id }", "      if isSent { \(presenters).append(owner.id) }",
        "      if \(presenters).last != before { \(call) }", "    }",
      ]
    }
    lines += [
      "    guard \(name(.followed)).contains(owner.id) else { return }",
      "    if isSent {",
    ]
    lines += added.map { "      " + $0 } + ["    } else {"] + removed.map { "      " + $0 } + ["    }", "  }"]
    return lines
  }
}
