import CallModel
import KoinePorting

/// Writes a call layer in the words of the common layer.
final class KoineWriter {
  struct Written {
    let text: String
    let usesHelper: Bool
  }

  struct Form {
    let usesHelper: Bool
    /// - Parameter call: how the code names the call object; nil if it cannot.
    let text: (_ base: String, _ call: String?) -> String?
  }

  /// Properties that the call class gets in addition.
  enum Property: String, CaseIterable {
    case credential, topics, followed, presenters, features, observed, sharedTrack, isPathPoor

    var type: String {
      switch self {
      case .credential: "String?"
      case .topics, .followed, .features: "Set<String> = []"
      case .presenters: "[String] = []"
      case .observed: "Set<Observed> = []"
      case .sharedTrack: "Track.ID?"
      case .isPathPoor: "Bool = false"
      }
    }
  }

  /// Base names of the call class's members.
  private let taken: Set<String>
  private var used: Set<Property> = []
  private var setsCredential = false

  /// Words of the helpers that belong to the app's style.
  private let helperWords: Set<String>

  /// Whether the call class is isolated to the main actor.
  let isOnMainActor: Bool

  init(taken: Set<String>, isOnMainActor: Bool = false, helperWords: Set<String> = []) {
    (self.helperWords, self.isOnMainActor) = (helperWords, isOnMainActor)
    self.taken = Set(taken.map { String($0.prefix { $0 != "(" }) })
  }

  func forget() { (used, setsCredential) = ([], false) }

  func free(_ name: String) -> String {
    taken.contains(name) ? "room" + name.prefix(1).uppercased() + name.dropFirst() : name
  }

  func name(_ property: Property) -> String {
    used.insert(property)
    return free(property.rawValue)
  }

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
  ]

  /// A type's name, or the last part of a member's.
  func name(of word: String) -> (text: String, share: Share) {
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
    return (last, word.hasPrefix("Failure.Code.") && Self.helperCodes.contains(last) ? .inHelper : share)
  }

  /// `refused(roomFull)`: a value with a failure of this code in it. `Failure(roomFull)`: the failure itself.
  private static func payload(of name: String) -> (name: String, code: String)? {
    guard name.hasSuffix(")"), let open = name.firstIndex(of: "(") else { return nil }
    return (String(name[..<open]), String(name[name.index(after: open)...].dropLast()))
  }

  /// Whether a word is a value that is made anew, and no member of the type before it.
  func isMade(_ word: String) -> Bool { Self.payload(of: word)?.name == "Failure" }

  /// The words that a word stands for: a value of the vendor's may be several of the common layer.
  private static func words(in word: String) -> [String] {
    // A tuple is one value.
    word.hasPrefix("(") ? [word] : word.split(separator: ",").map { String($0.drop { $0 == " " }) }
  }

  /// A word as a value: the first that it stands for.
  func value(of word: String) -> (text: String, share: Share) { name(of: Self.words(in: word)[0]) }

  /// The patterns of a `case` for a word, members of the type with their dot.
  func patterns(of word: String) -> [String] {
    Self.words(in: word).map { word in
      let last = word.lastIndex(of: ".").map { String(word[word.index(after: $0)...]) } ?? word
      if let (name, code) = Self.payload(of: last) {
        return name == "Failure" ? "Failure.Code.\(code)" : ".\(name)(Failure.Code.\(code))"
      }
      return "." + name(of: word).text
    }
  }

  /// Types of helpers begin with `Room`.
  func share(of word: String) -> Share { word.hasPrefix("Room") ? .inHelper : .written }
  /// Types that are values in the common layer, and objects in a vendor's API: constants of them become variables.
  let valueTypes: Set<String> = ["VideoPublishOptions", "VideoFormat", "[VideoFormat]"]

  /// Members that are more than a name.
  func expression(of word: String) -> Form? {
    switch word {
    case "Participant.userID":
      Form(usesHelper: false) { base, _ in "(\(base).externalUserID ?? \(base).name)" }
    case "Track.ID.description":
      Form(usesHelper: false) { base, _ in "\(base).id.description" }
    case "ReceivedMessage.text":
      Form(usesHelper: false) { base, _ in "String(decoding: \(base).payload, as: UTF8.self)" }
    case "ReceivedMessage.senderName":
      Form(usesHelper: true) { base, call in
        call.map { "(\($0).name(of: \(base).sender) ?? \"\")" }
      }
    case "Machine.cameras": Form(usesHelper: false) { base, _ in "\(base).devices(.camera)" }
    default: nil
    }
  }

  /// Values that have more in them than the vendor's: they can be patterns, and no values.
  func hasPayload(_ word: String) -> Bool {
    ["SessionState.ended", "EndReason.refused", "EndReason.removedByService", "RoomTrack.isSent"].contains(word)
  }

  /// Whether a value cannot be compared with the word by `==`.
  func isNoValue(_ word: String) -> Bool {
    hasPayload(word) || Self.words(in: word).count > 1 || Self.payload(of: word) != nil
  }
  /// The property that says whether a value is this one.
  func predicate(_ word: String) -> String? {
    ["SessionState.ended": "isEnded", "RoomTrack.isSent": "isSent"][word]
  }

  func rawValue(of type: String) -> String? {
    switch type.split(separator: ".").last {
    case "LeaveReason", "MeetingSessionStatusCode": "description"
    case "VideoSDKError", "IVSBroadcastError": "rawValue"
    default: nil
    }
  }

  /// What compares values, for an operator that compares objects.
  func equality(_ sign: String) -> String? { ["===": "==", "!==": "!="][sign] }
  let videoOfTrack = "video"

  /// The arguments of an initializer that the common layer has only with some.
  func arguments(ofInitializer word: String) -> String? {
    switch word {
    case "VideoView.init()": "(frame: .zero)"
    case "VideoPublishOptions.init()":
      // As a stage publishes by default.
      "(maximumBitrate: 900_000, maximumFramesPerSecond: 15, maximumWidth: 360, maximumHeight: 640, lowerLayers: [.small])"
    default: nil
    }
  }

  // MARK: Actions

  /// - Throws: if the value is none that the slot takes.
  func slot(_ name: String, _ text: String) throws(Unportable) -> String {
    guard name == "side" else { return text }
    guard text == ".front" || text == ".back" else { throw .unknown("the camera's side '\(text)'") }
    return text
  }

  func call(
    _ intent: Intent, _ slots: [String: String], _ base: String?, _ table: StyleTable, _ callType: String?
  ) throws(Unportable) -> Written {
    if intent.row == "credential" {
      guard callType != nil, let credential = slots["credential"] else { throw .unknown(intent.symbol) }
      setsCredential = true
      return Written(text: "\(name(.credential)) = \(credential)", usesHelper: false)
    }
    guard let signature = table.write(intent.row, in: .koine), let open = signature.firstIndex(of: "("),
      let dot = signature[..<open].lastIndex(of: ".")
    else { throw .unknown(intent.symbol) }
    let (owner, function) = (signature[..<dot], signature[signature.index(after: dot)..<open])
    let labels = signature[signature.index(after: open)...].dropLast().split(separator: ":").map(String.init)
    var slots = slots
    if labels.contains("credential"), slots["credential"] == nil {
      guard callType != nil else { throw .unknown(intent.symbol + " outside the call class") }
      slots["credential"] = name(.credential)
    }
    let arguments = labels.compactMap { label in slots[label].map { "\(label): \($0)" } }.joined(separator: ", ")
    let isInHelper = owner.hasPrefix("Room")
    if function == "init" { return Written(text: "\(owner)(\(arguments))", usesHelper: isInHelper) }
    guard let base else { throw .unknown(intent.symbol) }
    let end = labels.contains("completion") && slots["completion"] == nil ? " {}" : "(\(arguments))"
    return Written(text: base + (owner == "Session" ? ".session?" : "") + ".\(function)\(end)", usesHelper: isInHelper)
  }

  func registration(
    _ facts: Reading.Facts, _ isOn: Bool, _ base: String, isOptional: Bool, topic: String?, isOnMainActor: Bool
  ) -> Written {
    switch facts {
    case .ofCall:
      let handle = "self?.\(handleName)(event, in: call)"
      let body = isOnMainActor ? "MainActor.assumeIsolated { \(handle) }" : handle
      return Written(
        text: "\(base).handler = " + (isOn ? "{ [weak self] event, call in \(body) }" : "nil"), usesHelper: true)
    case .ofParticipant:
      let change = isOn ? "insert" : "remove"
      let text =
        isOptional
        ? "_ = (\(base).id).map { \(name(.followed)).\(change)($0) }" : "\(name(.followed)).\(change)(\(base).id)"
      return Written(text: text, usesHelper: false)
    case .ofTopic:
      return Written(text: "\(name(.topics)).\(isOn ? "insert" : "remove")(\(topic ?? ""))", usesHelper: false)
    }
  }

  // MARK: Facts

  var handleName: String { free("handle") }

  func handlerName(_ handler: Handler) -> String {
    let name =
      switch handler.fact {
      case .joined: "joined"
      case .left: "left"
      case .state: "stateChanged"
      case .participantJoined: "participantJoined"
      case .participantLeft: "participantLeft"
      case .streamAdded: "streamAdded"
      case .streamRemoved: "streamRemoved"
      case .muted: "streamMuted"
      case .message: "messageReceived"
      case .ring: "invited"
      case .failure: "failed"
      case .connectionLost: "connectionLost"
      case .speaker: "dominantSpeakerChanged"
      case .presenter: "presenterChanged"
      case .participantsChanged: "participantsChanged"
      case .streamChanged: "streamChanged"
      case .microphoneMuted: "microphoneMuted"
      case .ringEnded: "ringEnded"
      case .camerasChanged: "camerasChanged"
      case .channelOpened: "channelOpened"
      case .channelMessage: "messageReceived"
      case .shareChanged: "streamChanged"
      case .viewFailed: "viewFailed"
      case .attributes: "attributesChanged"
      case .publishing: "publishingChanged"
      case .shouldPublish: "shouldPublish"
      case .streamsToPublish: "streamsToPublish"
      case .wantedMedia: "wantedMedia"
      default: handler.fact.rawValue
      }
    return free(name)
  }

  /// A call of the app's functions that handle a fact; each parameter gets the next value.
  func calls(_ fact: Fact, _ model: CallModel, _ values: String...) -> [String] { calls(fact, model, values) }

  func calls(_ fact: Fact, _ model: CallModel, _ values: [String]) -> [String] {
    model.handlers.filter { $0.fact == fact }.map { call($0, values) }
  }

  /// A call of the app's function; each parameter gets the next value.
  func call(_ handler: Handler, _ values: [String]) -> String {
    let arguments = zip(handler.labels, values).map { $0 == "_" ? $1 : "\($0): \($1)" }
    return "\(handlerName(handler))(\(arguments.joined(separator: ", ")))"
  }

  var followed: String { name(.followed) }
  var features: String { name(.features) }

  /// The function that gets the session's events, as an extension of the call class. The order is that of the app's old callbacks.
  func dispatch(_ model: CallModel, of type: String) -> String {
    let participant = "RoomParticipant(call: call, last: participant)"
    var lines = [
      "extension \(type) {", "  /// Calls the functions above for what the session reports.",
      "  private func \(handleName)(_ event: SessionEvent, in call: RoomCall) {", "    switch event {",
    ]
    let add = { (indent: Int, found: [String]) in lines += found.map { String(repeating: " ", count: indent) + $0 } }
    add(4, ["case .stateChanged(let state):"])
    let failures = [
      ("refused(let failure)) where failure.code != .denied", calls(.failure, model, "failure.code")),
      ("duplicate)", calls(.failure, model, ".duplicate")), ("expired)", calls(.failure, model, ".unauthorized")),
      ("lost)", calls(.connectionLost, model, "\"the connection to the room was lost\"")),
    ].filter { !$0.1.isEmpty }
    if !failures.isEmpty {
      add(6, ["switch state {"])
      for (pattern, calls) in failures { add(6, ["case .ended(.\(pattern): \(calls.joined(separator: "; "))"]) }
      add(6, ["default: break", "}"])
    }
    add(6, calls(.state, model, "state"))
    add(6, calls(.joined, model).map { "if state == .connected, !call.hasEntered { \($0) }" })
    add(
      6,
      calls(.left, model, "reason").map { left in
        let pattern = left.contains("reason") ? ".ended(let reason)" : ".ended"
        return "if case \(pattern) = state, call.hasEntered { \(left) }"
      })
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

  /// Stands where the properties are to come that the call class gets in addition.
  let placeOfMembers = "\u{1}members\u{1}"

  /// The properties that the call class gets in addition, once all else is rendered.
  var members: String {
    let properties = Property.allCases.filter(used.contains)
    if properties.isEmpty { return "" }
    // If no code of the class sets the credential, other code has to.
    let lines = properties.map { property in
      let access = property == .credential && !setsCredential ? "" : "private "
      return "  \(access)var \(free(property.rawValue)): \(property.type)\n"
    }
    return "\n\n  // MARK: For the session\n\n" + lines.joined().dropLast()
  }
}
