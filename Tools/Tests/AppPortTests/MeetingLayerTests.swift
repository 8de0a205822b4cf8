import AppPort
import CompilerFacts
import KoinePorting
import TestSupport
import Testing

/// Layers of small apps in the meeting session style. The new text is compared; Scripts/check-layers compiles a whole app's.
@Suite struct MeetingLayerTests {
  private let compilation: Compilation
  private static let vendor = """
    public protocol Logger {}
    public class ConsoleLogger: Logger { public init(name: String) {}; public func info(msg: String) {} }
    public class AudioVideoConfiguration { public init() {} }
    public class MediaPlacement { public init(audioHostUrl: String) {} }
    public class Meeting {
      public init(externalMeetingId: String?, mediaPlacement: MediaPlacement, mediaRegion: String, meetingId: String) {}
    }
    public class Attendee { public init(attendeeId: String, externalUserId: String, joinToken: String) {} }
    public class CreateMeetingResponse { public init(meeting: Meeting) {} }
    public class CreateAttendeeResponse { public init(attendee: Attendee) {} }
    public class MeetingSessionConfiguration {
      public init(createMeetingResponse: CreateMeetingResponse, createAttendeeResponse: CreateAttendeeResponse) {}
    }
    public class AttendeeInfo {
      public let attendeeId, externalUserId: String
      public init(attendeeId: String, externalUserId: String) {
        (self.attendeeId, self.externalUserId) = (attendeeId, externalUserId)
      }
    }
    public class SignalUpdate {}
    public enum VolumeLevel: Int { case muted = -1, notSpeaking, low, medium, high }
    public class VolumeUpdate {
      public let attendeeInfo: AttendeeInfo, volumeLevel: VolumeLevel
      init(_ info: AttendeeInfo) { (attendeeInfo, volumeLevel) = (info, .low) }
    }
    public enum ModalityType { case content }
    public class DefaultModality {
      public let id: String, base: String
      public init(id: String) { (self.id, base) = (id, id) }
      public func isOfType(type: ModalityType) -> Bool { false }
    }
    public enum MeetingSessionStatusCode: UInt32 {
      case ok, audioDisconnected, audioServerHungup, audioCallAtCapacity, audioAuthenticationRejected, unknown
    }
    public class MeetingSessionStatus { public let statusCode = MeetingSessionStatusCode.ok }
    public enum PermissionError: Error { case audioPermissionError, videoPermissionError }
    public enum SendDataMessageError: Error { case invalidDataLength, invalidTopic }
    public protocol VideoRenderView: AnyObject {}
    public enum VideoPauseState { case unpaused, pausedForPoorConnection }
    public class VideoTileState {
      public let tileId = 0, attendeeId = "", isLocalTile = false, isContent = false
      public var pauseState = VideoPauseState.unpaused
    }
    public class DataMessage { public let senderAttendeeId = "", throttled = false; public func text() -> String? { nil } }
    public class RemoteVideoSource: Hashable {
      public var attendeeId = ""
      public static func == (a: RemoteVideoSource, b: RemoteVideoSource) -> Bool { a === b }
      public func hash(into hasher: inout Hasher) {}
    }
    public class VideoSubscriptionConfiguration { public init() {} }
    public protocol AudioVideoObserver: AnyObject {
      func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource])
      func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource])
      func audioSessionDidStart(reconnecting: Bool)
      func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus)
    }
    extension AudioVideoObserver {
      public func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) {}
      public func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) {}
      public func audioSessionDidStart(reconnecting: Bool) {}
      public func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {}
    }
    public protocol RealtimeObserver: AnyObject {
      func attendeesDidJoin(attendeeInfo: [AttendeeInfo]); func attendeesDidDrop(attendeeInfo: [AttendeeInfo])
      func signalStrengthDidChange(signalUpdates: [SignalUpdate]); func volumeDidChange(volumeUpdates: [VolumeUpdate])
    }
    extension RealtimeObserver { public func volumeDidChange(volumeUpdates: [VolumeUpdate]) {} }
    public protocol VideoTileObserver: AnyObject {
      func videoTileDidAdd(tileState: VideoTileState); func videoTileDidPause(tileState: VideoTileState)
    }
    public protocol DataMessageObserver: AnyObject { func dataMessageDidReceived(dataMessage: DataMessage) }
    public protocol CaptureSourceObserver: AnyObject { func captureDidStart() }
    public class InAppScreenCaptureSource {
      public init(logger: any Logger) {}
      public func start() {}
      public func addCaptureSourceObserver(observer: any CaptureSourceObserver) {}
    }
    public class ContentShareSource { public init() {}; public var videoSource: InAppScreenCaptureSource? }
    public protocol AudioVideoControllerFacade {
      func start() throws; func start(audioVideoConfiguration: AudioVideoConfiguration) throws; func stop(); func startRemoteVideo(); func startLocalVideo() throws; func stopLocalVideo()
      func updateVideoSourceSubscriptions(
        addedOrUpdated: [RemoteVideoSource: VideoSubscriptionConfiguration], removed: [RemoteVideoSource])
      func addAudioVideoObserver(observer: any AudioVideoObserver)
      func removeAudioVideoObserver(observer: any AudioVideoObserver)
    }
    public protocol RealtimeControllerFacade {
      func addRealtimeObserver(observer: any RealtimeObserver); func realtimeLocalMute() -> Bool
      func realtimeSendDataMessage(topic: String, data: Any, lifetimeMs: Int32) throws
      func addRealtimeDataMessageObserver(topic: String, observer: any DataMessageObserver)
      func removeRealtimeDataMessageObserverFromTopic(topic: String)
    }
    public protocol VideoTileControllerFacade {
      func addVideoTileObserver(observer: any VideoTileObserver)
      func bindVideoView(videoView: any VideoRenderView, tileId: Int); func unbindVideoView(tileId: Int)
      func pauseRemoteVideoTile(tileId: Int)
    }
    public protocol ContentShareController { func startContentShare(source: ContentShareSource) }
    public protocol AudioVideoFacade: AudioVideoControllerFacade, RealtimeControllerFacade, VideoTileControllerFacade,
      ContentShareController {}
    public protocol MeetingSession { var audioVideo: any AudioVideoFacade { get } }
    public class DefaultMeetingSession: MeetingSession {
      public var audioVideo: any AudioVideoFacade { fatalError() }
      public init(configuration: MeetingSessionConfiguration, logger: any Logger) {}
    }

    """

  init() throws {
    compilation = try Compilation(importing: "AmazonChimeSDK", Self.vendor)
  }

  private func layer(_ model: String, to target: Style = .koine, isInPlace: Bool = false) throws -> CallLayer {
    try #require(try compilation.compile("App", ["Model.swift": "import AmazonChimeSDK\n" + model]))
    let files = [compilation.path("Model.swift")]
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    let command = CompileCommand(
      module: "App", files: files, options: ["-parse-as-library", "-I", compilation.folder],
      toolchain: compilation.toolchain)
    let app = try CompiledApp(store, files: files, modules: ["AmazonChimeSDK"])
    let facts = try TreeDump(command, toolchain: compilation.toolchain)
    return try CallLayer(of: "Model", in: app, to: target, isInPlace: isInPlace) { _ throws(FactsFailure) in facts }
  }

  @Test func appInTheTargetsStyleIsRefused() throws {
    let failure = #expect(throws: FactsFailure.self) {
      try layer("final class Model { var session: MeetingSession? }", to: .meetingSession)
    }
    #expect(failure?.description == "the app is in the style meeting-session already")
  }

  @Test func answersOfTheServerBecomeOneRequest() throws {
    let layer = try layer(
      """
      final class Model {
        private let logger = ConsoleLogger(name: "app")
        private let session: MeetingSession
        init(_ room: String, _ id: String, _ token: String) {
          let host = "https://example.org"
          let whole = MeetingSessionConfiguration(
            createMeetingResponse: CreateMeetingResponse(
              meeting: Meeting(
                externalMeetingId: nil, mediaPlacement: MediaPlacement(audioHostUrl: host), mediaRegion: "", meetingId: room)),
            createAttendeeResponse: CreateAttendeeResponse(
              attendee: Attendee(attendeeId: id, externalUserId: "Ana", joinToken: token)))
          session = DefaultMeetingSession(configuration: whole, logger: logger)
        }
        func split(_ meeting: Meeting, _ attendee: CreateAttendeeResponse) -> MeetingSessionConfiguration {
          MeetingSessionConfiguration(
            createMeetingResponse: CreateMeetingResponse(meeting: meeting), createAttendeeResponse: attendee)
        }
      }
      """)
    let source = layer.source
    #expect(
      source.contains(
        "let whole = JoinRequest(room: room, credential: token, participantID: id, name: \"Ana\")\n"))
    #expect(source.contains("session = RoomMeeting(whole)\n"))
    #expect(source.contains("private let session: RoomMeeting\n"))
    #expect(source.contains("func split(_ meeting: String, _ attendee: JoinRequest) -> JoinRequest {"))
    #expect(source.contains("{ var request = attendee; request.room = meeting; return request }()"))
    #expect(source.contains("  // private let logger = ConsoleLogger(name: \"app\")\n"))
    #expect(source.contains("    // let host = \"https://example.org\"\n"))
    #expect(layer.warnings == [])
    #expect(
      layer.helpers.map(\.fileName) == [
        "RoomCall.swift", "RoomMeeting.swift", "RoomSources.swift", "RoomVolumes.swift",
      ])
  }

  @Test func observersGetOneFactOfOneAttendeeWhileTheyAreRegistered() throws {
    let layer = try layer(
      """
      final class Model: AudioVideoObserver, RealtimeObserver {
        let audioVideo: AudioVideoFacade
        var names: [String] = []
        init(_ audioVideo: AudioVideoFacade) { self.audioVideo = audioVideo }
        func start() throws {
          audioVideo.addAudioVideoObserver(observer: self)
          audioVideo.addRealtimeObserver(observer: self)
          try audioVideo.start()
          audioVideo.startRemoteVideo()
        }
        func end() { audioVideo.removeAudioVideoObserver(observer: self); audioVideo.stop() }
        func audioSessionDidStart(reconnecting: Bool) { names = reconnecting ? names : [] }
        func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) { names += attendeeInfo.map(\\.externalUserId) }
        func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) { names.removeAll() }
        func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
      }
      """)
    let source = layer.source
    #expect(source.contains("final class KoineModel {"))
    #expect(source.contains("    observe(.call, in: audioVideo)\n    observe(.attendees, in: audioVideo)\n"))
    #expect(source.contains("    try audioVideo.start()\n"))
    #expect(source.contains("    // audioVideo.startRemoteVideo()\n"))
    #expect(source.contains("func end() { observed.remove(.call); audioVideo.session?.leave {} }"))
    #expect(source.contains("func joined(reconnecting: Bool) { names = reconnecting ? names : [] }"))
    #expect(
      source.contains("func participantJoined(attendeeInfo: [Participant]) { names += attendeeInfo.map(\\.name) }"))
    #expect(source.contains("  // func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}\n"))
    #expect(source.contains("      joined(reconnecting: meeting.hasEntered)\n"))
    #expect(
      source.contains(
        "case .left(let attendee, .dropped) where observed.contains(.attendees):\n      participantDropped(attendeeInfo: [attendee])"
      ))
    #expect(source.contains("private var observed: Set<Observed> = []"))
    #expect(layer.warnings == [])
  }

  @Test func volumesKeepTheirStepsAndNumbers() throws {
    let app = """
      final class Model: RealtimeObserver {
        let audioVideo: AudioVideoFacade
        var volumes: [String: Int] = [:]
        init(_ audioVideo: AudioVideoFacade) { self.audioVideo = audioVideo }
        func start() { audioVideo.addRealtimeObserver(observer: self) }
        func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) {}
        func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) {}
        func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
        func volumeDidChange(volumeUpdates: [VolumeUpdate]) {
          for one in volumeUpdates where one.volumeLevel != .muted {
            volumes[one.attendeeInfo.attendeeId] = one.volumeLevel.rawValue
          }
        }
      }
      """
    for (target, type) in [(Style.koine, "RoomVolume"), (.stageStrategy, "StageMeeting.Volume")] {
      let layer = try layer(app, to: target)
      #expect(layer.source.contains("(volumeUpdates: [\(type)])"), "\(layer.source)")
      #expect(layer.source.contains("for one in volumeUpdates where one.level != .muted {"))
      #expect(layer.source.contains("volumes[one.attendee.id] = one.level.rawValue"))
      #expect(layer.warnings == [])
    }
  }

  /// The vendor's module has its view class; that of the common layer's is another module's.
  @Test func layerThatShowsVideoImportsTheModuleOfItsView() throws {
    let app = """
      final class Model {
        let audioVideo: AudioVideoFacade
        init(_ audioVideo: AudioVideoFacade) { self.audioVideo = audioVideo }
        func show(_ view: any VideoRenderView) { audioVideo.bindVideoView(videoView: view, tileId: 1) }
      }
      """
    #expect(try layer(app).source.contains("import UIKit\n"))
    #expect(try layer(app, isInPlace: true).changedFiles.first?.text.contains("import UIKit\n") == true)
    #expect(try !layer(app, to: .eventListener).source.contains("import UIKit\n"))
  }

  @Test func whatBelongsToTheVendorsSDKAloneIsLeftOut() throws {
    let layer = try layer(
      """
      final class Model {
        let audioVideo: AudioVideoFacade
        let logger = ConsoleLogger(name: "model")
        init(_ audioVideo: AudioVideoFacade) { self.audioVideo = audioVideo }
        func begin() throws {
          let configuration = AudioVideoConfiguration()
          try audioVideo.start(audioVideoConfiguration: configuration)
          logger.info(msg: "started")
        }
        func isLoud(_ level: VolumeLevel) -> Bool { level == .high }
      }
      """)
    let source = layer.source
    #expect(source.contains("    try audioVideo.start()\n"))
    #expect(source.contains("    // logger.info(msg: \"started\")\n"))
    #expect(source.contains("func isLoud(_ level: RoomVolume.Level) -> Bool"))
    #expect(layer.warnings == [])
    #expect(layer.report.contains("the meeting starts with the defaults"))
  }

  @Test func tilesKeepTheirNumbersAndTellWhyTheyPause() throws {
    let layer = try layer(
      """
      final class Model: VideoTileObserver {
        let audioVideo: AudioVideoFacade
        var views: [Int: any VideoRenderView] = [:]
        init(_ audioVideo: AudioVideoFacade) { self.audioVideo = audioVideo }
        func show(_ view: any VideoRenderView, _ tile: VideoTileState) {
          views[tile.tileId] = view
          audioVideo.bindVideoView(videoView: view, tileId: tile.tileId)
        }
        func hide(_ id: Int) { audioVideo.unbindVideoView(tileId: id) }
        func owner(_ tile: VideoTileState) -> String { DefaultModality(id: tile.attendeeId).base }
        func isShare(_ id: String) -> Bool { DefaultModality(id: id).isOfType(type: .content) }
        func isPoor(_ tile: VideoTileState) -> Bool { tile.pauseState == .pausedForPoorConnection && !tile.isLocalTile }
        func isMoving(_ tile: VideoTileState) -> Bool { tile.pauseState == .unpaused }
        func videoTileDidAdd(tileState: VideoTileState) {}
        func videoTileDidPause(tileState: VideoTileState) { hide(tileState.tileId) }
        func pause(_ id: Int) { audioVideo.pauseRemoteVideoTile(tileId: id) }
      }
      """)
    let source = layer.source
    #expect(source.contains("func show(_ view: VideoView, _ tile: RoomTile) {"))
    #expect(source.contains("var views: [Int: VideoView] = [:]\n"))
    #expect(source.contains("    views[tile.id] = view\n    audioVideo.bind(view: view, tile: tile.id)\n"))
    #expect(source.contains("func hide(_ id: Int) { audioVideo.unbind(tile: id) }"))
    #expect(source.contains("-> String { String(tile.attendeeID.prefix { $0 != \"#\" }) }"))
    #expect(source.contains("-> Bool { id.hasSuffix(\"#content\") }"))
    #expect(source.contains("{ tile.pause == .poorPath && !tile.isLocal }"))
    #expect(source.contains("{ tile.pause == .none }"))
    #expect(
      source.contains(
        "case .tilePaused(let tile, true) where observed.contains(.tiles):\n      tilePaused(tileState: tile)"))
    #expect(source.contains("func pause(_ id: Int) { audioVideo.setPaused(true, tile: id) }"))
    #expect(layer.warnings == [])
  }

  @Test func statusesBecomeReasonsAndErrorsFailures() throws {
    let layer = try layer(
      """
      final class Model: AudioVideoObserver {
        let session: MeetingSession
        init(_ session: MeetingSession) { self.session = session }
        func text(_ code: MeetingSessionStatusCode) -> String {
          switch code {
          case .ok: return "left"
          case .audioServerHungup: return "removed"
          case .audioCallAtCapacity, .audioAuthenticationRejected: return "refused"
          case .unknown: return "?"
          @unknown default: return "code \\(code.rawValue)"
          }
        }
        func text(of error: Error) -> String {
          switch error {
          case PermissionError.videoPermissionError: return "camera"
          case SendDataMessageError.invalidDataLength: return "long"
          case is SendDataMessageError: return "message"
          default: return "error"
          }
        }
        func camera(_ isAllowed: Bool) throws { if !isAllowed { throw PermissionError.videoPermissionError } }
        func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
          if sessionStatus.statusCode != .ok { print(text(sessionStatus.statusCode)) }
          if sessionStatus.statusCode == .audioServerHungup { print("removed or closed") }
          print(text(.audioCallAtCapacity))
        }
      }
      """)
    let source = layer.source
    #expect(source.contains("func text(_ code: EndReason) -> String {"))
    #expect(
      source.contains(
        "case .removed, .removedByService, .roomClosed, .roomClosedByService, .expired: return \"removed\"\n"))
    #expect(
      source.contains(
        "case .refused(Failure.Code.roomFull), .refused(Failure.Code.unauthorized), .refused(Failure.Code.forbidden): return"
      ))
    #expect(source.contains("    // case .unknown: return \"?\"\n"))
    #expect(source.contains("    default: return \"code \\(code.description)\"\n"))
    #expect(source.contains("case Failure.Code.cameraDenied: return \"camera\"\n"))
    #expect(source.contains("case Failure.Code.tooLarge: return \"long\"\n"))
    #expect(
      source.contains(
        "case Failure.Code.tooMany, Failure.Code.notConnected, Failure.Code.forbidden: return \"message\"\n"))
    #expect(source.contains("throw Failure(.cameraDenied, \"\")"))
    #expect(
      source.contains(
        "func left(sessionStatus: EndReason) {\n    if sessionStatus != .left { print(text(sessionStatus)) }\n"))
    // A value that is one of several cannot be compared.
    #expect(
      source.contains("    // if sessionStatus.statusCode == .audioServerHungup { print(\"removed or closed\") }\n"))
    #expect(source.contains("print(text(.refused(Failure(.roomFull, \"\"))))"))
    #expect(layer.warnings.count == 1)
  }

  @Test func messagesOfKnownTypesAreSent() throws {
    let layer = try layer(
      """
      final class Model: DataMessageObserver {
        let audioVideo: AudioVideoFacade
        var texts: [String] = []
        init(_ audioVideo: AudioVideoFacade) { self.audioVideo = audioVideo }
        func start() { audioVideo.addRealtimeDataMessageObserver(topic: "chat", observer: self) }
        func stop() { audioVideo.removeRealtimeDataMessageObserverFromTopic(topic: "chat") }
        func send(_ text: String) throws { try audioVideo.realtimeSendDataMessage(topic: "chat", data: text, lifetimeMs: 1_000) }
        func send(any: Any) throws { try audioVideo.realtimeSendDataMessage(topic: "chat", data: any, lifetimeMs: 0) }
        func dataMessageDidReceived(dataMessage: DataMessage) {
          guard !dataMessage.throttled else {
            texts = []
            return
          }
          guard let text = dataMessage.text(), dataMessage.senderAttendeeId != "me" else { return }
          texts.append(text)
        }
      }
      """)
    let source = layer.source
    #expect(source.contains("{ topics.insert(\"chat\") }"))
    #expect(source.contains("{ topics.remove(\"chat\") }"))
    #expect(
      source.contains(
        "try audioVideo.session?.send(DataMessage(topic: \"chat\", payload: Array(text.utf8), lifetime: .milliseconds(1_000)))"
      ))
    #expect(source.contains("    // guard !dataMessage.throttled else {\n    //   texts = []\n"))
    #expect(
      source.contains(
        "guard let text = String(bytes: dataMessage.payload, encoding: .utf8), dataMessage.sender != \"me\" else"))
    #expect(
      source.contains(
        "case .messageReceived(let message) where topics.contains(message.topic):\n      messageReceived(dataMessage: message)"
      ))
    #expect(layer.warnings.count == 1)
  }

  @Test func shareIsAStreamOfTheScreen() throws {
    let layer = try layer(
      """
      final class Model: CaptureSourceObserver {
        let audioVideo: AudioVideoFacade
        let logger = ConsoleLogger(name: "app")
        var screen: InAppScreenCaptureSource?
        init(_ audioVideo: AudioVideoFacade) { self.audioVideo = audioVideo }
        func share() {
          let source = InAppScreenCaptureSource(logger: logger)
          screen = source
          source.addCaptureSourceObserver(observer: self)
          source.start()
        }
        func captureDidStart() {
          let content = ContentShareSource()
          content.videoSource = screen
          audioVideo.startContentShare(source: content)
        }
        func mute() -> Bool { audioVideo.realtimeLocalMute() }
      }
      """)
    let source = layer.source
    #expect(
      source.contains(
        "let source = RoomScreen(call: audioVideo)\n    screen = source\n    observe(source)\n    source.start()\n"))
    #expect(source.contains("audioVideo.setStream(kind: .screen, isOn: true)\n"))
    #expect(source.contains("screen.observer = { [weak self] event in self?.handle(event) }"))
    #expect(source.contains("    case .captureStarted:\n      captureStarted()\n"))
    #expect(source.contains("func mute() -> Bool { audioVideo.setMicrophone(isOn: false) }"))
    #expect(layer.warnings == [])
  }

  @Test func sourcesOfVideosAreChosenByTheirAttendees() throws {
    let layer = try layer(
      """
      final class Model: AudioVideoObserver {
        let audioVideo: AudioVideoFacade
        private var sources: [RemoteVideoSource] = []
        init(_ audioVideo: AudioVideoFacade) { self.audioVideo = audioVideo }
        func start() { audioVideo.addAudioVideoObserver(observer: self) }
        func show(only id: String) {
          var wanted: [RemoteVideoSource: VideoSubscriptionConfiguration] = [:]
          for source in sources where source.attendeeId == id { wanted[source] = VideoSubscriptionConfiguration() }
          audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: wanted, removed: sources.filter { $0.attendeeId != id })
        }
        func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) { self.sources += sources }
        func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) { self.sources.removeAll(where: sources.contains) }
      }
      """)
    #expect(layer.source.contains("private var sources: [RoomSource] = []"))
    #expect(layer.source.contains("var wanted: [RoomSource: LayerPreference] = [:]"))
    #expect(layer.source.contains("where source.attendeeID == id { wanted[source] = LayerPreference() }"))
    #expect(layer.source.contains("audioVideo.choose(wanted, without: sources.filter { $0.attendeeID != id })"))
    #expect(layer.source.contains("sourcesAvailable(sources: [meeting.source(track)])"))
    #expect(layer.source.contains("sourcesUnavailable(sources: [RoomSource(track)])"))
    #expect(layer.warnings == [])
  }

  @Test func meetingInTheEventListenerStyleHasAttendeesTilesAndNumbersOfEnds() throws {
    let layer = try layer(
      """
      final class Model: AudioVideoObserver, RealtimeObserver, VideoTileObserver, DataMessageObserver {
        let session: MeetingSession
        var audioVideo: AudioVideoFacade { session.audioVideo }
        var names: [String] = []
        init(_ configuration: MeetingSessionConfiguration) {
          session = DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: "app"))
        }
        func start() throws {
          audioVideo.addAudioVideoObserver(observer: self)
          audioVideo.addRealtimeObserver(observer: self)
          audioVideo.addRealtimeDataMessageObserver(topic: "chat", observer: self)
          try audioVideo.start()
        }
        func setMuted() -> Bool { audioVideo.realtimeLocalMute() }
        func show(_ view: any VideoRenderView, _ tile: VideoTileState) {
          audioVideo.bindVideoView(videoView: view, tileId: tile.tileId)
        }
        func isMoving(_ tile: VideoTileState) -> Bool { tile.pauseState == .unpaused }
        func send(_ text: String) throws {
          try audioVideo.realtimeSendDataMessage(topic: "chat", data: text, lifetimeMs: 1_000)
        }
        func text(of error: Error) -> String {
          switch error {
          case PermissionError.videoPermissionError: return "camera"
          case is SendDataMessageError: return "message"
          default: return "error"
          }
        }
        func stop() { audioVideo.stopLocalVideo(); audioVideo.stop() }
        func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
          if sessionStatus.statusCode == .audioServerHungup { print("removed or closed") }
        }
        func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) { names += attendeeInfo.map(\\.externalUserId) }
        func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) { names = [] }
        func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
        func videoTileDidAdd(tileState: VideoTileState) {}
        func videoTileDidPause(tileState: VideoTileState) {}
        func dataMessageDidReceived(dataMessage: DataMessage) {
          guard let text = dataMessage.text(), dataMessage.senderAttendeeId != "me" else { return }
          names.append(text)
        }
      }
      """, to: .eventListener)
    let source = layer.source
    #expect(source.contains("  let session: ListenerMeeting\n  var audioVideo: ListenerMeeting { session }\n"))
    #expect(source.contains("init(_ configuration: ListenerMeeting.Request) {\n"))
    #expect(source.contains("    observe(.attendees, in: audioVideo)\n    audioVideo.observe(topic: \"chat\")\n"))
    #expect(source.contains("-> Bool { audioVideo.setMicrophone(isOn: false) }"))
    #expect(source.contains("func show(_ view: RTCMTLVideoView, _ tile: ListenerMeeting.Tile) {\n"))
    #expect(source.contains("{ tile.pause == .none }"))
    #expect(source.contains("try audioVideo.send(text: text, topic: \"chat\", lifetime: 1_000)"))
    #expect(source.contains("case ListenerMeeting.Failure.cameraDenied: return \"camera\"\n"))
    #expect(
      source.contains(
        "case ListenerMeeting.Failure.tooLarge, ListenerMeeting.Failure.tooMany, ListenerMeeting.Failure.notConnected, "
      ))
    #expect(source.contains("audioVideo.setStream(kind: .camera, isOn: false); audioVideo.leave()"))
    // Both have one value for a removal and a closed room.
    #expect(source.contains("if sessionStatus == .removed { print(\"removed or closed\") }"))
    #expect(source.contains("{ names += attendeeInfo.map(\\.name) }"))
    #expect(source.contains("guard let text = Optional(dataMessage.message), dataMessage.senderId != \"me\" else"))
    #expect(
      source.contains(
        "case .attendeeDropped(let attendee) where observed.contains(.attendees):\n      participantDropped(attendeeInfo: [attendee])"
      ))
    #expect(
      source.contains(
        "// koine port: nothing has to call it: it does nothing\n  // func videoTileDidAdd(tileState: VideoTileState) {}"
      ))
    #expect(!source.contains("case .tileAdded"))
    #expect(layer.warnings == [])
    #expect(layer.helpers.map(\.fileName).last == "ListenerMeetingMedia.swift")
  }
}
