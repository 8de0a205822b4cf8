import CallModel
import KoinePorting

/// Writes a call layer in a vendor's style: with the vendor's words where it has them, and with those of a helper for the rest. The helper
/// is a call that has the same members in each style: `MeetingCall` in the meeting session style. What a source needs in addition, such as
/// the stage of `StageCallHelper`, the users of `AgentCallHelper` and the tiles of `MeetingSourceHelper`, is written once over these members.
class VendorWriter: LayerWriter {
  /// The vendor's names, by the words of the common layer: those that a value can be, the first of them first.
  class var words: [String: [String]] { [:] }
  /// Names that differ from those that the helpers of all styles have.
  class var ownNames: [String: String] { [:] }
  /// Types of the common layer that the style has nothing for.
  class var missing: Set<String> { [] }
  /// The files of the call: the same for all sources.
  class var callHelpers: [LayerHelper] { [] }
  /// What the call has in addition for layers read from a stage.
  class var stageHelpers: [LayerHelper] { [] }
  /// What the call has in addition for layers read from a call agent's app.
  class var agentHelpers: [LayerHelper] { [] }
  /// What the call has in addition for layers read from a meeting session's app.
  class var meetingHelpers: [LayerHelper] { [] }

  final override class func helpers(for reader: any StyleReader.Type) -> [LayerHelper] {
    switch reader.style {
    case .stageStrategy: callHelpers + StageCallHelper.files(for: self) + stageHelpers
    case .callAgent: callHelpers + AgentCallHelper.files(for: self) + agentHelpers
    case .meetingSession: callHelpers + MeetingSourceHelper.files(for: self) + meetingHelpers
    default: callHelpers
    }
  }

  /// What the objects of `AgentCallHelper` report, though the style may have no word for it: the app's own server tells of rings. A
  /// meeting's tiles and shares follow from streams.
  final override class func reports(_ fact: Fact, from source: Style) -> Bool {
    source == .callAgent && [.ring, .ringEnded, .callsChanged, .shareChanged, .viewFailed, .firstFrame].contains(fact)
      || source == .meetingSession && MeetingSourceDispatch.facts.contains(fact)
  }

  // MARK: Words

  /// The helper's names, by the words of the common layer. `‹Prefix›` is the style's.
  private static let names = [
    "Session": "‹Prefix›Call", "Session.participants": "participants", "Session.localParticipant": "localParticipant",
    "Participant": "‹Prefix›Person", "Participant.id": "id", "Participant.name": "name",
    "Participant.isLocal": "isLocal", "Participant.tracks": "streams", "Participant.userID": "name",
    "Participant.attributes": "attributes", "Track.isMuted": "isMuted",
    "Machine.Device.attachment": "type", "Machine.Device.name": "name",
    "RoomStage": "‹Prefix›Stage", "RoomStream": "‹Prefix›Stage.Stream", "VideoPublishOptions": "‹Prefix›Stage.Video",
    "ParticipantPermission.camera": "publish", "ParticipantPermission.subscribe": "subscribe",
    "Track": "‹Prefix›Stream", "Track.kind": "kind", "Track.Kind": "‹Prefix›Stream.Kind",
    "Track.Kind.microphone": "microphone", "Track.Kind.camera": "camera", "Track.Kind.screen": "screen",
    "SessionState": "‹Prefix›Phase", "SessionState.connecting": "connecting", "SessionState.connected": "connected",
    "SessionState.reconnecting": "reconnecting", "SessionState.ended": "ended",
    "Failure.Code": "‹Prefix›Failure", "Failure.Code.unauthorized": "rejected", "Failure.Code.roomFull": "full",
    "Failure.Code.duplicate": "joinedElsewhere", "Failure.Code.microphone": "microphone",
    "Failure.Code.screen": "screen", "Failure.Code.cameraDenied": "cameraDenied",
    "Failure.Code.microphoneDenied": "microphoneDenied",
    "ReceivedMessage": "‹Prefix›Message", "ReceivedMessage.id": "id", "ReceivedMessage.topic": "topic",
    "ReceivedMessage.sender": "senderID", "ReceivedMessage.senderName": "senderName", "ReceivedMessage.text": "text",
  ].merging(agentNames) { $1 }.merging(meetingNames) { $1 }

  /// The names of `MeetingSourceHelper`.
  private static let meetingNames = [
    "RoomMeeting": "", "JoinRequest": ".Request", "RoomMeeting.Attendee": ".Attendee", "RoomMeeting.End": ".End",
    "RoomMeeting.Failure": ".Failure", "RoomMeeting.Failure?": ".Failure?", "RoomMeeting.Camera": ".Camera",
    "RoomTile": ".Tile", "RoomTile.Pause?": ".Tile.Pause?", "RoomSource": ".Source", "RoomScreen": ".Screen",
    "RoomShare": ".Share", "LayerPreference": ".Preference", "RoomVolume": ".Volume",
    "RoomVolume.Level": ".Volume.Level",
  ].mapValues { "‹Prefix›Meeting" + $0 }

  /// The names of `AgentCallHelper`.
  private static let agentNames = [
    "RoomAgent": "", "CallSetup": ".Setup", "AgentCall": ".Call", "AgentCallState": ".State", "IncomingRing": ".Ring",
    "RoomParticipant": ".Person", "RoomTrack": ".Stream", "RoomVideo": ".Video", "RoomFrame": ".Frame",
    "RoomRenderer": ".Renderer", "RoomChannel": ".Channel", "RoomInbox": ".Inbox", "RoomCredential": ".Credential",
    "AgentFailure": ".Failure", "Machine": ".Machine", "Machine.Device": ".Device", "VideoFormat": ".Format",
  ].mapValues { "‹Prefix›Agent" + $0 }.merging(
    [
      "Machine.cameras": "cameras", "Machine.Device.id": "id", "VideoFormat.framesPerSecond": "framesPerSecond",
      "Ring.caller": "caller", "Ring.callerName": "callerName",
    ]
  ) { $1 }

  /// Code that the readers write over the common layer, with common words in quotes: `‹Participant›`.
  private static let codes = [
    "RoomStage": "‹RoomStage›", "RoomStream": "‹RoomStream›", "Participant": "‹Participant›",
    "SessionState": "‹SessionState›", "Track.Kind?": "‹Track.Kind›?", "VideoView": "‹VideoView›",
    "Set<ParticipantPermission>": "Set<‹RoomStage›.Capability>",
    "Set<Track.Kind>": "Set<‹Track.Kind›>", "[.microphone, .screenSound]": "[.microphone]",
    "Set(Track.Kind.allCases)": "Set(‹Track.Kind›.allCases)",
    "Machine.Device": "‹RoomStage›.Device", "Machine.Device.Type": "‹RoomStage›.Device.Type",
    "Machine.Device.self": "‹RoomStage›.Device.self",
    "Machine.Attachment": "‹Machine.Attachment›", "VideoFeed": "‹RoomStage›.Feed",
    "VideoFeed(repeatingAfter: .milliseconds(100))": "‹RoomStage›.Feed()",
    "VideoPublishOptions": "‹VideoPublishOptions›",
    "RoomFault": "‹RoomStage›.Fault", "RoomFault.domain": "‹RoomStage›.Fault.domain",
    "RoomFault.isFatalKey": "‹RoomStage›.Fault.isFatalKey",
    "Ring.State": "‹IncomingRing›.State", "SessionEvent": "‹RoomAgent›.Event", "ReceivedMessage": "‹ReceivedMessage›",
    "RoomVideo": "‹RoomVideo›", "RoomTrack": "‹RoomTrack›",
  ].merging(failures) { $1 }

  /// Failures that a test for one of a meeting's types of errors means.
  private static let failures = Dictionary(
    uniqueKeysWithValues: [
      "microphoneDenied", "cameraDenied", "device", "alreadyJoined", "tooLarge", "tooMany", "notConnected", "forbidden",
      "screen",
    ].map { ("Failure.Code." + $0, "‹RoomMeeting.Failure›." + $0) })

  /// A text in which words of the common layer, in quotes, are the style's names. A line that ends with `‹with WORD›` is there unless the
  /// style has nothing for the word (`missing`), and one that ends with `‹without WORD›` only then.
  final class func filled(_ text: String) -> String {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).compactMap(line)
    let pieces = lines.joined(separator: "\n").split(separator: "‹", omittingEmptySubsequences: false).map {
      piece -> Substring in
      guard let end = piece.firstIndex(of: "›") else { return piece }
      return filling(String(piece[..<end])) + piece[piece.index(after: end)...]
    }
    return pieces.joined()
  }
  private class func line(_ text: Substring) -> Substring? {
    for (mark, isThere) in [("  ‹with ", true), ("  ‹without ", false)] {
      guard let start = text.firstRange(of: mark), text.hasSuffix("›") else { continue }
      let word = String(text[start.upperBound...].dropLast())
      return missing.contains(word) != isThere ? text[..<start.lowerBound] : nil
    }
    return text
  }
  private class func filling(_ word: String) -> Substring {
    switch word {
    case "Prefix": Substring(prefix)
    case _ where word.hasPrefix("import "):
      // The vendor's module, and others.
      Substring(
        modules.union(word.split(separator: " ").dropFirst().map(String.init)).sorted().map { "import " + $0 }
          .joined(separator: "\n"))
    case "style": Substring(style.rawValue)
    default: Substring(type(of: word).text)
    }
  }

  /// A type's whole name.
  private class func type(of word: String) -> (text: String, share: Share) {
    if let names = words[word] { return (names[0], .written) }
    if let name = ownNames[word] ?? names[word] { return (filled(name), .inHelper) }
    if word.hasPrefix("(") || word.hasPrefix("[") { return type(of: words(in: word)) }
    // A member that is called as in the common layer: `RoomStream.setMuted`.
    let isHelpers = word.hasPrefix("Room") || names[word.split(separator: ".").first.map(String.init) ?? ""] != nil
    return (word.split(separator: ".").last.map(String.init) ?? word, isHelpers ? .inHelper : .written)
  }

  /// `(added: [RoomTrack], removed: [RoomTrack])`: the words in a list or a tuple, and what is between them.
  private static func words(in word: String) -> [(text: String, isWord: Bool)] {
    word.reduce(into: []) { pieces, character in
      let isWord = character.isLetter || character == "."
      if pieces.last?.isWord == isWord {
        pieces[pieces.count - 1].text.append(character)
      } else {
        pieces.append((String(character), isWord))
      }
    }
  }
  private class func type(of pieces: [(text: String, isWord: Bool)]) -> (text: String, share: Share) {
    let isKnown = { (piece: (text: String, isWord: Bool)) in piece.isWord && hasWord(piece.text) }
    let text = pieces.map { isKnown($0) ? type(of: $0.text).text : $0.text }.joined()
    return (text, pieces.contains(where: isKnown) ? .inHelper : .written)
  }

  final override class func hasWord(_ word: String) -> Bool {
    if missing.contains(String(word.prefix { $0 != "." })) { return false }
    return word == "self" || word == "String" || word.hasPrefix("UIView.") || words[word] != nil
      || ownNames[word] != nil || names[word] != nil || word.hasPrefix("(") || word == "added" || word == "removed"
      || word.hasPrefix("RoomMeeting.") || word.hasPrefix("RoomTile.")
      || word.hasPrefix("RoomVolume.")
  }

  override func name(of word: String) -> (text: String, share: Share) { Self.type(of: word) }

  override func code(_ text: String) -> (text: String, share: Share) {
    guard let code = Self.codes[text] else { return (text, .written) }
    return (Self.filled(code), Self.words[text] == nil ? .inHelper : .written)
  }

  override func patterns(of word: String) -> [String] { (Self.words[word] ?? [name(of: word).text]).map { "." + $0 } }
  override func meaning(of word: String) -> String {
    guard word.hasPrefix("EndReason."), let codes = Self.words[word] else { return word }
    return "\(name(of: "EndReason").text).\(codes.joined(separator: ", "))"
  }
  override var valueTypes: Set<String> { ["VideoPublishOptions", "VideoFormat", "[VideoFormat]"] }
  override func failure(of error: String) -> String { "(\(error) as? \(name(of: "AgentFailure").text))" }
  override func expression(of word: String) -> Form? {
    word == "Track.ID.description" ? Form(usesHelper: true) { base, _ in "\(base).id" } : nil
  }
  override func hasPayload(_ word: String) -> Bool { word == "RoomTrack.isSent" || patterns(of: word).count > 1 }
  override func predicate(_ word: String) -> String? { word == "RoomTrack.isSent" ? "isSent" : nil }
  override func isNoValue(_ word: String) -> Bool { hasPayload(word) }

  override func isHelper(_ type: Substring) -> Bool { type.hasPrefix(Self.prefix) }

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
    if reader.style == .callAgent { return agentDispatch(model, of: type) }
    if reader.style == .meetingSession { return MeetingSourceDispatch(model, self).text(of: type) }
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
      "extension \(type) {", "  /// Calls the functions above for what the call reports.",
      Self.filled("  private func \(handleName)(_ event: ‹Prefix›Report, in call: ‹Session›) {"), "    switch event {",
    ]
    for (pattern, values, condition, fact) in events {
      lines += when(pattern, values, condition, calls(fact, model, values))
    }
    let text = "\"the connection was lost\""
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
        calls(.state, ["stage", "phase", "error"]) + [
          "if phase == .\(name(of: "SessionState.connected").text) { \(decide)(in: stage) }"
        ]
      ),
      (
        "personJoined", ["person"],
        calls(.participantJoined, ["stage", "person"])
          + (calls(.publishing, ["stage", "person", "true"]) + ["\(decide)(about: person, in: stage)"])
          .map { "if !person.isLocal { \($0) }" }
      ),
      (
        "personLeft", ["person"],
        calls(.publishing, ["stage", "person", "false"]) + calls(.participantLeft, ["stage", "person"])
      ),
      ("publishingChanged", ["person"], calls(.publishing, ["stage", "person", "true"])),
      ("streamAdded", ["stream", "person"], calls(.streamAdded, ["stage", "person", "[stream]"])),
      ("streamRemoved", ["stream", "person"], calls(.streamRemoved, ["stage", "person", "[stream]"])),
      ("streamMuted", ["stream", "person"], calls(.muted, ["stage", "person", "[stream]"])),
      ("failed", ["kind", "error"], calls(.failure, ["kind", "error"])),
    ]
    var lines = [
      "extension \(type) {", "  /// Calls the functions above for what the stage reports.",
      Self.filled("  private func \(handleName)(_ report: ‹RoomStage›.Report, in stage: ‹RoomStage›) {"),
      "    switch report {",
    ]
    for (pattern, values, calls) in events { lines += when(pattern, values, "", calls) }
    // With a case for each report there is no other.
    if events.contains(where: \.calls.isEmpty) { lines.append("    default: break") }
    lines += ["    }", "  }"]
    lines += StageReader.decisions(model, self, when: "stage.isConnected", local: "stage.call.localParticipant")
    return (lines + ["}", ""]).joined(separator: "\n")
  }

  /// The functions of a layer read from a call agent's app: for what the call reports, and for cameras that come and go.
  private func agentDispatch(_ model: CallModel, of type: String) -> String {
    let calls = { (fact: Fact, values: [String]) in self.calls(fact, model, values) }
    let streams = { (tuple: String) in
      calls(.streamsChanged, ["person", tuple]) + calls(.streamChanged, ["person", "stream"])
    }
    let (muted, added, removed) = (
      calls(.muted, ["person", "event"]), streams("(added: [stream], removed: [])"),
      streams("(added: [], removed: [stream])")
    )
    let speaker = calls(.speaker, ["call", "event"])
    let isFollowed = muted.isEmpty && added.isEmpty ? "" : " where \(followed).contains(person.id)"
    let events: [(pattern: String, values: [String], condition: String, calls: [String])] = [
      ("stateChanged", [], "", calls(.state, ["call", "event"])),
      ("microphoneMuted", [], "", calls(.microphoneMuted, ["call", "event"])),
      ("personJoined", ["person"], "", calls(.participantsChanged, ["call", "(added: [person], removed: [])"])),
      ("personLeft", ["person"], "", calls(.participantsChanged, ["call", "(added: [], removed: [person])"])),
      ("muted", ["person"], isFollowed, muted), ("streamAdded", ["stream", "person"], isFollowed, added),
      ("streamRemoved", ["stream", "person"], isFollowed, removed),
      ("speakerChanged", [], speaker.isEmpty ? "" : " where \(features).contains(\"dominantSpeakers\")", speaker),
    ]
    var lines = [
      "extension \(type) {", "  /// Calls the functions above for what the call reports.",
      Self.filled("  private func \(handleName)(_ event: ‹RoomAgent›.Event, in call: ‹AgentCall›) {"),
      "    switch event {",
    ]
    for (pattern, values, condition, calls) in events { lines += when(pattern, values, condition, calls) }
    lines += ["    default: break", "    }", "  }"]
    let cameras = calls(.camerasChanged, ["machine", "change"])
    if !cameras.isEmpty {
      let change = "(added: [‹Machine.Device›], removed: [‹Machine.Device›])"
      lines += ["", Self.filled("  private func \(handleName)(_ change: \(change), of machine: ‹Machine›) {")]
      lines += cameras.map { "    " + $0 } + ["  }"]
    }
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
