import CallModel
import KoinePorting

/// Writes a call layer in the meeting session style: calls of the session where it has a word, and `MeetingCall` for what the SDK
/// leaves to the app, such as participants by id and what they send. The layer of a stage has a `MeetingStage` besides.
final class MeetingWriter: LayerWriter {
  override class var style: Style { .meetingSession }
  override class var prefix: String { "Meeting" }
  override class var sources: [Style] { [.eventListener, .stageStrategy] }
  override class var modules: Set<String> { ["AmazonChimeSDK"] }
  override class func helpers(for reader: any StyleReader.Type) -> [LayerHelper] {
    MeetingCallHelper.files + (reader.style == .stageStrategy ? MeetingCallHelper.ofStages : [])
  }

  // MARK: Words

  /// The SDK's names, by the words of the common layer: those that a value can be, the first of them first.
  private static let words: [String: [String]] = [
    "Machine.Attachment.front": ["videoFrontCamera"], "Machine.Attachment.back": ["videoBackCamera"],
    "VideoView": ["DefaultVideoRenderView"], "UIView.contentMode": ["contentMode"],
    "EndReason": ["MeetingSessionStatusCode"],
    "EndReason.left": ["ok"], "EndReason.lost": ["audioDisconnected"], "EndReason.removed": ["audioServerHungup"],
    "EndReason.removedByService": ["audioServerHungup"], "EndReason.roomClosed": ["audioServerHungup"],
    "EndReason.roomClosedByService": ["audioServerHungup"], "EndReason.duplicate": ["audioJoinedFromAnotherDevice"],
    "EndReason.refused": [
      "audioInternalServerError", "audioAuthenticationRejected", "audioCallAtCapacity", "audioServiceUnavailable",
      "audioCallEnded",
    ],
  ]

  /// The helper's names, by the words of the common layer.
  private static let helperNames = [
    "Session": "MeetingCall", "Session.participants": "participants", "Session.localParticipant": "localParticipant",
    "Participant": "MeetingPerson", "Participant.id": "id", "Participant.name": "name",
    "Participant.isLocal": "isLocal", "Participant.tracks": "streams", "Participant.userID": "name",
    "Participant.attributes": "attributes", "Track.isMuted": "isMuted",
    "Machine.Device.attachment": "type", "Machine.Device.name": "name",
    "RoomStream": "StageStream", "VideoPublishOptions": "StageVideo",
    "Track": "MeetingStream", "Track.kind": "kind", "Track.Kind": "MeetingStream.Kind",
    "Track.Kind.microphone": "microphone", "Track.Kind.camera": "camera", "Track.Kind.screen": "screen",
    "SessionState": "MeetingPhase", "SessionState.connecting": "connecting", "SessionState.connected": "connected",
    "SessionState.reconnecting": "reconnecting", "SessionState.ended": "ended",
    "Failure.Code": "MeetingFailure", "Failure.Code.unauthorized": "rejected", "Failure.Code.roomFull": "full",
    "Failure.Code.duplicate": "joinedElsewhere", "Failure.Code.microphone": "microphone",
    "Failure.Code.screen": "screen", "Failure.Code.cameraDenied": "cameraDenied",
    "Failure.Code.microphoneDenied": "microphoneDenied",
    "ReceivedMessage": "MeetingMessage", "ReceivedMessage.id": "id", "ReceivedMessage.topic": "topic",
    "ReceivedMessage.sender": "senderID", "ReceivedMessage.senderName": "senderName", "ReceivedMessage.text": "text",
  ]

  /// Code of the readers, by that over the common layer.
  private static let codes = [
    "RoomStage": "MeetingStage", "RoomStream": "StageStream", "Participant": "MeetingPerson",
    "SessionState": "MeetingPhase", "Track.Kind?": "MeetingStream.Kind?", "VideoView": "DefaultVideoRenderView",
    "Set<Track.Kind>": "Set<MeetingStream.Kind>", "[.microphone, .screenSound]": "[.microphone]",
    "Set(Track.Kind.allCases)": "Set(MeetingStream.Kind.allCases)",
    "Machine.Device": "StageDevice", "Machine.Device.Type": "StageDevice.Type",
    "Machine.Device.self": "StageDevice.self",
    "Machine.Attachment": "MediaDeviceType", "VideoFeed": "StageFeed",
    "VideoFeed(repeatingAfter: .milliseconds(100))": "StageFeed()", "VideoPublishOptions": "StageVideo",
    "RoomFault": "StageFault", "RoomFault.domain": "StageFault.domain",
  ]

  override func code(_ text: String) -> (text: String, share: Share) {
    guard let code = Self.codes[text] else { return (text, .written) }
    let isOfVendor = code == "MediaDeviceType" || code == "DefaultVideoRenderView"
    return (code, isOfVendor ? .written : .inHelper)
  }

  override class func hasWord(_ word: String) -> Bool {
    word == "self" || words[word] != nil || helperNames[word] != nil
  }

  override func name(of word: String) -> (text: String, share: Share) {
    if let names = Self.words[word] { return (names[0], .written) }
    if let name = Self.helperNames[word] { return (name, .inHelper) }
    // A member that is called as in the common layer: `RoomStream.setMuted`.
    return (word.split(separator: ".").last.map(String.init) ?? word, word.hasPrefix("Room") ? .inHelper : .written)
  }

  override func patterns(of word: String) -> [String] { (Self.words[word] ?? [name(of: word).text]).map { "." + $0 } }
  override func meaning(of word: String) -> String {
    guard word.hasPrefix("EndReason."), let codes = Self.words[word] else { return word }
    return "MeetingSessionStatusCode." + codes.joined(separator: ", ")
  }
  override var valueTypes: Set<String> { ["VideoPublishOptions"] }
  override func expression(of word: String) -> Form? {
    word == "Track.ID.description" ? Form(usesHelper: true) { base, _ in "\(base).id" } : nil
  }
  override func hasPayload(_ word: String) -> Bool { patterns(of: word).count > 1 }
  override func isNoValue(_ word: String) -> Bool { hasPayload(word) }

  override func rawValue(of type: String) -> String? {
    switch type.split(separator: ".").last {
    case "LeaveReason": "description"
    case "VideoSDKError", "IVSBroadcastError": "rawValue"
    default: nil
    }
  }

  // MARK: Actions

  override func isHelper(_ type: Substring) -> Bool { type.hasPrefix("Meeting") }

  override func call(
    _ intent: Intent, _ slots: [String: String], _ base: String?, _ table: StyleTable, _ callType: String?
  ) throws(Unportable) -> Written {
    if let base, let call = Self.call(intent.row, slots) {
      return Written(text: call.result + "\(base).session.audioVideo.\(call.function)()", usesHelper: false)
    }
    return try super.call(intent, slots, base, table, callType)
  }

  /// What the SDK does with one call of its own that throws nothing.
  private static func call(_ row: String, _ slots: [String: String]) -> (result: String, function: String)? {
    switch (row, slots["isOn"]) {
    case ("mute", "false"): ("_ = ", "realtimeLocalMute")
    case ("mute", "true"): ("_ = ", "realtimeLocalUnmute")
    case ("camera-on", "false"): ("", "stopLocalVideo")
    case ("camera-switch", _): ("", "switchCamera")
    default: nil
    }
  }

  override func registration(
    _ facts: Reading.Facts, _ isOn: Bool, _ base: String, isOptional: Bool, topic: String?, isOnMainActor: Bool
  ) -> Written {
    guard case .ofTopic = facts else {
      return super.registration(
        facts, isOn, base, isOptional: isOptional, topic: topic, isOnMainActor: isOnMainActor)
    }
    return Written(
      text: "\(base).\(isOn ? "observe" : "stopObserving")(topic: \(topic ?? ""))", usesHelper: true)
  }

  // MARK: Facts

  override func dispatch(_ model: CallModel, _ reader: any StyleReader.Type, of type: String) -> String {
    if reader.style == .stageStrategy { return stageDispatch(model, of: type) }
    let followed = " where \(followed).contains(person.id)"
    let events: [(pattern: String, values: [String], condition: String, fact: Fact)] = [
      ("phaseChanged", ["phase"], "", .state), ("joined", [], "", .joined), ("left", ["code"], "", .left),
      ("failed", ["failure"], "", .failure), ("personJoined", ["person"], "", .participantJoined),
      ("personLeft", ["person"], "", .participantLeft),
      ("streamAdded", ["stream", "person"], followed, .streamAdded),
      ("streamRemoved", ["stream", "person"], followed, .streamRemoved),
      ("messageReceived", ["message"], "", .message), ("speakerChanged", ["id"], "", .speaker),
      ("presenterChanged", ["id"], "", .presenter),
    ]
    var lines = [
      "extension \(type) {", "  /// Calls the functions above for what the meeting reports.",
      "  private func \(handleName)(_ event: MeetingReport, in call: MeetingCall) {", "    switch event {",
    ]
    for (pattern, values, condition, fact) in events {
      lines += when(pattern, values, condition, calls(fact, model, values))
    }
    let text = "\"the connection to the meeting was lost\""
    lines += when("connectionLost", [], "", calls(.connectionLost, model, text))
    return (lines + ["    default: break", "    }", "  }", "}", ""]).joined(separator: "\n")
  }

  /// The functions of a layer read from a stage: one for what it reports, and those that ask the app's strategy.
  private func stageDispatch(_ model: CallModel, of type: String) -> String {
    let calls = { (fact: Fact, values: [String]) in self.calls(fact, model, values) }
    let decide = free("decide")
    let events: [(pattern: String, values: [String], calls: [String])] = [
      (
        "phaseChanged", ["phase", "error"],
        calls(.state, ["stage", "phase", "error"]) + ["if phase == .connected { \(decide)() }"]
      ),
      (
        "personJoined", ["person"],
        calls(.participantJoined, ["stage", "person"])
          + (calls(.publishing, ["stage", "person", "true"]) + ["\(decide)(about: person)"])
          .map { "if !person.isLocal { \($0) }" }
      ),
      ("personLeft", ["person"], calls(.participantLeft, ["stage", "person"])),
      ("publishingChanged", ["person"], calls(.publishing, ["stage", "person", "true"])),
      ("streamAdded", ["stream", "person"], calls(.streamAdded, ["stage", "person", "[stream]"])),
      ("streamRemoved", ["stream", "person"], calls(.streamRemoved, ["stage", "person", "[stream]"])),
      ("streamMuted", ["stream", "person"], calls(.muted, ["stage", "person", "[stream]"])),
      ("failed", ["kind", "error"], calls(.failure, ["kind", "error"])),
    ]
    var lines = [
      "extension \(type) {", "  /// Calls the functions above for what the stage reports.",
      "  private func \(handleName)(_ report: StageReport, in stage: MeetingStage) {", "    switch report {",
    ]
    for (pattern, values, calls) in events { lines += when(pattern, values, "", calls) }
    // With a case for each report there is no other.
    if events.contains(where: \.calls.isEmpty) { lines.append("    default: break") }
    lines += ["    }", "  }"]
    lines += StageReader.decisions(model, self, when: "stage.isConnected", local: "stage.call.localParticipant")
    return (lines + ["}", ""]).joined(separator: "\n")
  }

  /// A case with its calls, which binds the values that these use; nothing if there is no call.
  private func when(_ pattern: String, _ values: [String], _ condition: String, _ calls: [String]) -> [String] {
    if calls.isEmpty { return [] }
    let code = calls.joined(separator: "; ") + condition
    let words = Set(code.split { !$0.isLetter && !$0.isNumber }.map(String.init))
    let bound = values.map { words.contains($0) ? "let \($0)" : "_" }.joined(separator: ", ")
    return ["    case .\(pattern)\(values.isEmpty ? "" : "(\(bound))")\(condition):"] + calls.map { "      " + $0 }
  }
}
