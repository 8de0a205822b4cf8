import CallModel
import KoinePorting

/// What of the meeting session style porting.json cannot say: observers, tiles by number, attendees that are shares, and the parts of
/// which an app puts the answers of its server together.
enum MeetingReader: StyleReader {
  static let style = Style.meetingSession
  static let roles: [String: KeptProperty.Role] = [
    "MeetingSession": .call, "DefaultMeetingSession": .call, "AudioVideoFacade": .call,
    "DefaultAudioVideoFacade": .call, "AttendeeInfo": .participant, "VideoTileState": .track, "DataMessage": .message,
  ]

  private static let words = [
    "MeetingSession": "RoomMeeting", "DefaultMeetingSession": "RoomMeeting", "AudioVideoFacade": "RoomMeeting",
    "ContentShareController": "RoomMeeting", "VideoTileControllerFacade": "RoomMeeting",
    "RealtimeControllerFacade": "RoomMeeting", "AudioVideoControllerFacade": "RoomMeeting",
    "ActiveSpeakerDetectorFacade": "RoomMeeting",
    "MeetingSession.audioVideo": "self", "DefaultMeetingSession.audioVideo": "self",
    "DefaultMeetingSession.configuration": "self", "DefaultMeetingSession.session": "RoomMeeting.session",
    "CreateMeetingResponse.meeting": "self", "Meeting.meetingId": "self",
    // What the app makes of its server's answers: the attendee's part is a request without the room.
    "MeetingSessionConfiguration": "JoinRequest", "CreateAttendeeResponse": "JoinRequest", "Attendee": "JoinRequest",
    "CreateMeetingResponse": "String", "Meeting": "String",
    // With `Koine.` it is the common layer's own type, and none of a helper.
    "AttendeeInfo": "Koine.Participant",
    "AttendeeInfo.init(attendeeId:externalUserId:)": "Koine.Participant.init(id:name:)",
    "DefaultModality": "String",
    "DefaultModality.id": "self",
    "VideoTileState": "RoomTile", "VideoTileState.isContent": "RoomTile.isContent",
    "VideoTileState.attendeeId": "RoomTile.attendeeID",
    "RemoteVideoSource": "RoomSource", "RemoteVideoSource.attendeeId": "RoomSource.attendeeID",
    "VolumeUpdate": "RoomVolume", "VolumeUpdate.attendeeInfo": "RoomVolume.attendee",
    "VolumeUpdate.volumeLevel": "RoomVolume.level", "VolumeLevel": "RoomVolume.Level",
    "VideoSubscriptionConfiguration": "LayerPreference",
    "VideoSubscriptionConfiguration.init()": "LayerPreference.init()",
    "InAppScreenCaptureSource": "RoomScreen", "ContentShareSource": "RoomShare",
    "ContentShareSource.videoSource": "RoomShare.videoSource",
    "DefaultVideoRenderView.init()": "VideoView.init()",
    "DefaultVideoRenderView.init(frame:)": "VideoView.init(frame:)",
  ]

  /// What layers in a vendor's style have for words of the common layer: names of `MeetingSourceHelper`. All other words stay.
  private static let vendorWords = [
    "Koine.Participant": "RoomMeeting.Attendee",
    "Koine.Participant.init(id:name:)": "RoomMeeting.Attendee.init(id:name:)",
    "Participant.id": "RoomMeeting.Attendee.id", "Participant.name": "RoomMeeting.Attendee.name",
    "Machine.Device": "RoomMeeting.Camera", "Machine.Device.attachment": "RoomMeeting.Camera.side",
    "Machine.Device.name": "RoomMeeting.Camera.name",
    "Tile.id": "RoomTile.id", "Tile.isLocal": "RoomTile.isLocal", "Tile.pause": "RoomTile.pause",
    "Tile.Pause?": "RoomTile.Pause?", "Tile.Pause.none": "RoomTile.Pause.none",
    "Tile.Pause.requested": "RoomTile.Pause.requested", "Tile.Pause.poorPath": "RoomTile.Pause.poorPath",
    "Failure": "RoomMeeting.Failure", "Failure?": "RoomMeeting.Failure?", "Failure.none": "RoomMeeting.Failure.none",
    "EndReason": "RoomMeeting.End", "EndReason.left": "RoomMeeting.End.left", "EndReason.lost": "RoomMeeting.End.lost",
    "EndReason.duplicate": "RoomMeeting.End.replaced",
  ]
  private static let refusals = [
    "unauthorized": "rejected", "roomFull": "full", "unreachable": "unreachable", "ended": "ended",
    "internal": "failed",
    "camera": "cameraRefused",
  ]

  static func vendorWord(_ word: String) -> String {
    if let known = vendorWords[word] { return known }
    // Of a list of words, the first one says what is meant.
    let first = String(word.prefix { $0 != "," })
    if first == "EndReason.removed" { return "RoomMeeting.End.removed" }
    guard let open = first.firstIndex(of: "("), first.hasSuffix(")") else { return word }
    let code = String(first[first.index(after: open)...].dropLast())
    switch first[..<open] {
    case "Failure": return "RoomMeeting.Failure." + code
    case "EndReason.refused": return "RoomMeeting.End." + (refusals[code] ?? code)
    default: return word
    }
  }

  /// What belongs to the vendor's SDK alone, by the beginnings of its symbols.
  private static let others = [
    "ConsoleLogger": "the session takes no logger", "Logger": "the session takes no logger",
    "LogLevel": "the session takes no logger", "EventAnalytics": analytics,
    "DefaultMeetingSession.eventAnalyticsController": analytics, "MeetingSession.eventAnalyticsController": analytics,
    "AudioVideoConfiguration": "the meeting starts with the defaults",
  ]
  private static let analytics = "events for analytics are the SDK's own"

  static func reading(of symbol: String) -> Reading? {
    if let word = words[symbol] { return .word(word) }
    if symbol.hasPrefix("VolumeLevel.") { return .word("RoomVolume.Level" + symbol.dropFirst("VolumeLevel".count)) }
    switch symbol {
    case "RealtimeControllerFacade.addRealtimeDataMessageObserver(topic:observer:)":
      return .registration(of: .ofTopic, isOn: true)
    default: return others.first { symbol.hasPrefix($0.key) }.map { .lost(symbol: symbol, instead: $0.value) }
    }
  }

  static let typesWithSameRawValues: Set<String> = ["VolumeLevel"]

  static func values(ofType symbol: String) -> [String]? {
    switch symbol {
    case "PermissionError": ["Failure.Code.microphoneDenied", "Failure.Code.cameraDenied"]
    case "MediaError": ["Failure.Code.device", "Failure.Code.alreadyJoined"]
    case "SendDataMessageError":
      ["Failure.Code.tooLarge", "Failure.Code.tooMany", "Failure.Code.notConnected", "Failure.Code.forbidden"]
    case "CaptureSourceError": ["Failure.Code.screen"]
    default: nil
    }
  }

  static func difference(of symbol: String, in target: Style) -> String? {
    if symbol.hasPrefix("AudioVideoControllerFacade.start("), symbol.hasSuffix(":)") {
      return "the meeting starts with the defaults, whatever the configuration says"
    }
    guard symbol == "VolumeUpdate.volumeLevel" else { return nil }
    return switch target {
    case .eventListener: "`high` for the one active speaker, and `notSpeaking` for all others"
    case .callAgent: "`high` for other attendees that speak, and `notSpeaking` for all others"
    default: nil
    }
  }

  /// The groups of facts that an app observes, by the functions with which it begins.
  private static let groups = [
    "AudioVideoControllerFacade.addAudioVideoObserver(observer:)": "call",
    "RealtimeControllerFacade.addRealtimeObserver(observer:)": "attendees",
    "VideoTileControllerFacade.addVideoTileObserver(observer:)": "tiles",
    "ContentShareController.addContentShareObserver(observer:)": "share",
    "ActiveSpeakerDetectorFacade.addActiveSpeakerObserver(policy:observer:)": "speakers",
    "AudioVideoControllerFacade.removeAudioVideoObserver(observer:)": "call",
    "RealtimeControllerFacade.removeRealtimeObserver(observer:)": "attendees",
    "VideoTileControllerFacade.removeVideoTileObserver(observer:)": "tiles",
    "ContentShareController.removeContentShareObserver(observer:)": "share",
    "ActiveSpeakerDetectorFacade.removeActiveSpeakerObserver(observer:)": "speakers",
  ]

  static func structure(of symbol: String) -> Structure? {
    if let group = groups[symbol] { return observation(of: group, isOn: symbol.contains(".add")) }
    return structures[symbol]
  }

  private static func observation(of group: String, isOn: Bool) -> Structure {
    Structure(.written, dropping: ["policy"]) { use in
      guard use.isInCallClass, use.arguments["observer"] == "self", let base = use.base else { return nil }
      let observed = use.writer.name(.observed)
      return isOn ? "\(use.writer.free("observe"))(.\(group), in: \(base))" : "\(observed).remove(.\(group))"
    }
  }

  /// A call of a function of the helper's.
  private static func helper(_ function: String, _ labels: [(new: String, old: String)] = []) -> Structure {
    Structure(.inHelper) { use in
      guard let base = use.base else { return nil }
      let arguments = labels.compactMap { label in
        use.arguments[label.old].map { label.new == "_" ? $0 : "\(label.new): \($0)" }
      }
      return arguments.count == labels.count ? "\(base).\(function)(\(arguments.joined(separator: ", ")))" : nil
    }
  }

  private static func startWithDefaults(_ label: String) -> Structure {
    Structure(.inHelper, dropping: [label]) { use in use.base.map { "\($0).start()" } }
  }

  /// A call of a vendor's receives all that is shown.
  private static func setPaused(_ isPaused: Bool) -> Structure {
    Structure(.inHelper) { use in
      guard !use.isOfVendor, let base = use.base, let tile = use.arguments["tileId"] else { return nil }
      return "\(base).setPaused(\(isPaused), tile: \(tile))"
    }
  }

  /// A part of the configuration that is one of its own parts.
  private static func part(_ label: String, dropping dropped: Set<String> = []) -> Structure {
    Structure(.written, dropping: dropped) { $0.arguments[label] }
  }

  /// The attendee's part of a request: its room follows.
  private static func withoutRoom(_ writer: LayerWriter) -> String { "\(name("JoinRequest", writer))(room: \"\", " }

  private static func name(_ word: String, _ writer: LayerWriter) -> String { writer.name(of: word).text }

  private static func text(of message: String, _ use: Structure.Use) -> String {
    "\(message).\(name("ReceivedMessage.text", use.writer))"
  }

  /// Sending stays without messages, too: it throws an error, which the app handles.
  static func neededWord(of symbol: String) -> String? {
    symbol.contains("DataMessage") && !symbol.contains("SendDataMessage") ? "ReceivedMessage" : nil
  }

  nonisolated(unsafe) private static let structures: [String: Structure] = [  // closures without state
    "CreateMeetingResponse.init(meeting:)": part("meeting"),
    "CreateAttendeeResponse.init(attendee:)": part("attendee"),
    "Meeting.init(externalMeetingId:mediaPlacement:mediaRegion:meetingId:)": part(
      "meetingId", dropping: ["externalMeetingId", "mediaPlacement", "mediaRegion"]),
    "Attendee.init(attendeeId:externalUserId:joinToken:)": Structure(.written) { use in
      guard let id = use.arguments["attendeeId"], let name = use.arguments["externalUserId"],
        let token = use.arguments["joinToken"]
      else { return nil }
      return withoutRoom(use.writer) + "credential: \(token), participantID: \(id), name: \(name))"
    },
    "MeetingSessionConfiguration.init(createMeetingResponse:createAttendeeResponse:)": Structure(.written) { use in
      guard let room = use.arguments["createMeetingResponse"], let attendee = use.arguments["createAttendeeResponse"]
      else { return nil }
      let withoutRoom = withoutRoom(use.writer)
      if attendee.hasPrefix(withoutRoom) {
        return "\(name("JoinRequest", use.writer))(room: \(room), " + attendee.dropFirst(withoutRoom.count)
      }
      return "{ var request = \(attendee); request.room = \(room); return request }()"
    },
    "DefaultMeetingSession.init(configuration:logger:)": Structure(.inHelper, dropping: ["logger"]) { use in
      use.arguments["configuration"].map { "\(name("RoomMeeting", use.writer))(\($0))" }
    },
    "AudioVideoControllerFacade.start()": helper("start"),
    "AudioVideoControllerFacade.start(callKitEnabled:)": startWithDefaults("callKitEnabled"),
    "AudioVideoControllerFacade.start(audioVideoConfiguration:)": startWithDefaults("audioVideoConfiguration"),
    "VideoTileControllerFacade.pauseRemoteVideoTile(tileId:)": setPaused(true),
    "VideoTileControllerFacade.resumeRemoteVideoTile(tileId:)": setPaused(false),
    "AudioVideoControllerFacade.startLocalVideo()": helper("startCamera"),
    "RealtimeControllerFacade.realtimeLocalMute()": Structure(.inHelper) { use in
      use.base.map { "\($0).setMicrophone(isOn: false)" }
    },
    "RealtimeControllerFacade.realtimeLocalUnmute()": Structure(.inHelper) { use in
      use.base.map { "\($0).setMicrophone(isOn: true)" }
    },
    "DeviceController.getActiveCamera()": Structure(.written, inVendors: .inHelper) { use in
      use.base.map { $0 + (use.isOfVendor ? ".activeCamera" : ".session?.world.machine.current(.camera)") }
    },
    "VideoTileControllerFacade.bindVideoView(videoView:tileId:)": helper(
      "bind", [("view", "videoView"), ("tile", "tileId")]),
    "AudioVideoControllerFacade.updateVideoSourceSubscriptions(addedOrUpdated:removed:)": helper(
      "choose", [("_", "addedOrUpdated"), ("without", "removed")]),
    "VideoTileControllerFacade.unbindVideoView(tileId:)": helper("unbind", [("tile", "tileId")]),
    // An id is a text, and its modality the end of the text.
    "DefaultModality.init(id:)": part("id"),
    "DefaultModality.base": Structure(.written) { use in use.base.map { "String(\($0).prefix { $0 != \"#\" })" } },
    "DefaultModality.isOfType(type:)": Structure(.written, dropping: ["type"]) { use in
      use.base.map { "\($0).hasSuffix(\"#content\")" }
    },
    "InAppScreenCaptureSource.init(logger:)": Structure(.inHelper, dropping: ["logger"]) { use in
      use.call.map { "\(name("RoomScreen", use.writer))(call: \($0.filter { $0 != "?" }))" }
    },
    "InAppScreenCaptureSource.start()": helper("start"),
    "InAppScreenCaptureSource.stop()": helper("stop"),
    "InAppScreenCaptureSource.addCaptureSourceObserver(observer:)": Structure(.written) { use in
      guard use.isInCallClass, use.arguments["observer"] == "self" else { return nil }
      return use.base.map { "\(use.writer.free("observe"))(\($0))" }
    },
    "InAppScreenCaptureSource.removeCaptureSourceObserver(observer:)": Structure(.inHelper, dropping: ["observer"]) {
      use in use.base.map { "\($0).observer = nil" }
    },
    "ContentShareSource.init()": Structure(.inHelper) { use in "\(name("RoomShare", use.writer))()" },
    "ContentShareController.startContentShare(source:)": Structure(.inHelper, dropping: ["source"]) { use in
      use.base.map { "\($0).setStream(kind: .screen, isOn: true)" }
    },
    "RealtimeControllerFacade.removeRealtimeDataMessageObserverFromTopic(topic:)": Structure(
      .written, inVendors: .inHelper
    ) { use in
      guard use.isInCallClass, let topic = use.arguments["topic"], let base = use.base else { return nil }
      if use.isOfVendor { return "\(base).stopObserving(topic: \(topic))" }
      return "\(use.writer.name(.topics)).remove(\(topic))"
    },
    "RealtimeControllerFacade.realtimeSendDataMessage(topic:data:lifetimeMs:)": Structure(
      .written, inVendors: .inHelper
    ) { use in
      guard let base = use.base, let topic = use.arguments["topic"], let lifetime = use.arguments["lifetimeMs"],
        let data = use.arguments["data"]
      else { return nil }
      if use.isOfVendor {
        // The vendor's messages are texts.
        guard use.types["data"] == "Swift.String" else { return nil }
        return "\(base).send(text: \(data), topic: \(topic), lifetime: \(lifetime))"
      }
      let payload: String
      switch use.types["data"] {
      case "Swift.String": payload = "Array(\(data).utf8)"
      case "Foundation.Data": payload = "Array(\(data))"
      case "[Swift.UInt8]": payload = data
      default: return nil
      }
      let message = "DataMessage(topic: \(topic), payload: \(payload), lifetime: .milliseconds(\(lifetime)))"
      return "\(base).session?.send(\(message))"
    },
    "DataMessage.text()": Structure(.written) { use in
      use.base.map {
        use.isOfVendor ? "Optional(\(text(of: $0, use)))" : "String(bytes: \($0).payload, encoding: .utf8)"
      }
    },
    "DataMessage.data": Structure(.written) { use in
      use.base.map { use.isOfVendor ? "Data(\(text(of: $0, use)).utf8)" : "Data(\($0).payload)" }
    },
    "DataMessage.timestampMs": Structure(.written, inVendors: .inHelper) { use in
      if use.isOfVendor { return use.base.map { $0 + ".timestampMs" } }
      return use.base.map { "Int64((Date().timeIntervalSince1970 - \($0).age / .seconds(1)) * 1_000)" }
    },
  ]

  static var helpers: [LayerHelper] {
    [KoineHelper.file, MeetingHelper.file, MeetingHelper.sources, MeetingHelper.volumes]
  }

  static func dispatch(_ model: CallModel, of type: String, _ writer: LayerWriter) -> String? {
    MeetingDispatch(model, writer).text(of: type)
  }
}
