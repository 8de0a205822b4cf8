import AppPort
import CompilerFacts
import Foundation
import KoinePorting
import TestSupport
import Testing

/// Layers of small apps in the common layer. The new text is compared; Scripts/check-layers compiles a whole app's.
@Suite struct LayerTests {
  private let small: SmallListenerApp

  init() throws { small = try SmallListenerApp() }

  @Test func privateDeclarationThatTwoFilesHaveIsWrittenOnce() throws {
    let own = "extension Participant { fileprivate var shown: String { displayName } }\n"
    let view = "struct View { var participant: Participant; var text: String { participant.shown } }\n"
    let layer = try small.layer(
      own + """
        final class Model {
          var meeting: Meeting?
          func names() -> [String] { meeting?.participants.values.map(\\.shown) ?? [] }
        }

        """,
      "import VideoSDKRTC\n" + own + view)
    #expect(layer.source.components(separatedBy: "fileprivate var shown: String").count == 2, "\(layer.source)")
    #expect(layer.count("warned") == 0)
  }

  @Test func statementsOfTheAppStayAndSymbolsAreRewritten() throws {
    let layer = try small.layer(
      """
      final class Model {
        private var meeting: Meeting?
        var count = 0
        func join(_ token: String, room: String) {
          VideoSDK.config(token: token)
          meeting = VideoSDK.initMeeting(meetingId: room, micEnabled: count > 0)  // the room
          count   +=  1
        }
        func leave() { meeting?.leave() }
        func mute() { meeting?.muteMic() }
        func silence(_ id: String) { meeting?.participants[id]?.disableMic() }
        func send(_ text: String) { meeting?.pubsub.publish(topic: "chat", message: text, options: ["persist": true]) }
        var names: [String] { meeting?.participants.values.map(\\.displayName) ?? [] }
      }
      """)
    #expect(layer.typeName == "KoineModel")
    let source = layer.source
    #expect(source.contains("private var meeting: RoomCall?"))
    #expect(source.contains("    credential = token\n"))
    #expect(
      source.contains(
        "meeting = RoomCall(room: room, credential: credential, isMicrophoneOn: count > 0)  // the room\n    count   +=  1\n"
      ))
    #expect(source.contains("func leave() { meeting?.session?.leave {} }"))
    #expect(source.contains("func mute() { meeting?.setStream(kind: .microphone, isOn: false) }"))
    #expect(source.contains("{ meeting?.participants[id]?.mute(kind: .microphone) }"))
    #expect(source.contains("{ meeting?.send(text: text, topic: \"chat\", isPersistent: true) }"))
    #expect(source.contains("meeting?.participants.values.map(\\.name) ?? []"))
    #expect(!source.contains("import VideoSDKRTC"))
    #expect(layer.warnings == [])
  }

  @Test func changesOfStateAreNoCaseOfTheirOwnIfTheAppHandlesNone() throws {
    let layer = try small.layer(
      """
      final class Model: MeetingEventListener {
        var meeting: Meeting?
        var names: [String] = []
        func onParticipantJoined(_ participant: Participant) { names.append(participant.displayName) }
        func observe() { meeting?.addEventListener(self) }
      }
      """)
    #expect(layer.source.contains("case .participantJoined(let participant):"))
    #expect(!layer.source.contains("case .stateChanged"))
  }

  private static let model = "final class Model { var meeting: Meeting?; func leave() { meeting?.leave() } }"

  @Test func filesOfAnEarlierPortAreNotReadAndGiveWay() throws {
    let earlier = """
      // Written by `koine port` from Model: the app's calls in the words of the common layer.
      final class KoineModel { let model = Model() }
      final class RoomCall {}
      """
    let layer = try small.layer(Self.model, earlier)
    #expect(layer.typeName == "KoineModel")
    #expect(!layer.source.contains("let model"))
    #expect(throws: FactsFailure.self) { try small.layer(Self.model, "final class KoineModel {}") }
    let helper = "// What layers need: the same file for every app.\nfinal class RoomCall {}"
    #expect(try small.layer(Self.model, helper).typeName == "KoineModel")
    let note = "// Replaced by `koine port` one day.\nfinal class RoomCall {}"
    #expect(throws: FactsFailure.self) { try small.layer(Self.model, note) }
  }

  @Test func styleIsThatOfTheCallClassNotOfMostFiles() throws {
    let other = "import OtherSDK\nfinal class Other { let a = Call(), b = Call(), c = Call(), d = Call() }"
    try #require(
      try small.compilation.compile(
        "AzureCommunicationCalling", ["Other.swift": "public class Call { public init() {} }"]))
    let layer = try small.layer(Self.model, other.replacing("OtherSDK", with: "AzureCommunicationCalling"))
    #expect(layer.source.contains("meeting?.session?.leave {}"))
  }

  @Test func reportNamesWhatOtherCodeHasToSet() throws {
    let layer = try small.layer(
      """
      final class Model {
        var meeting: Meeting?
        func join(_ room: String) { meeting = VideoSDK.initMeeting(meetingId: room) }
      }
      """)
    #expect(layer.report.contains("To be set before the app makes the call: credential: String?"))
  }

  @Test func localNamesLikeTheVendorsAreNotTouched() throws {
    let layer = try small.layer(
      """
      struct Radio { func leave() {}; func muteMic() {}; let displayName = "radio" }
      final class Model {
        var meeting: Meeting?
        let radio = Radio()
        func stop() { radio.leave(); radio.muteMic(); print(radio.displayName); meeting?.leave() }
      }
      """)
    #expect(
      layer.source.contains(
        "{ radio.leave(); radio.muteMic(); print(radio.displayName); meeting?.session?.leave {} }"))
    #expect(!layer.source.contains("struct"))
  }

  @Test func callbacksBecomeFunctionsThatTheSessionsEventsCall() throws {
    let layer = try small.layer(
      """
      final class Model: MeetingEventListener, ParticipantEventListener {
        var meeting: Meeting?
        var people = 0
        func start() { meeting?.addEventListener(self); meeting?.localParticipant.addEventListener(self) }
        func onMeetingJoined() { people = 1 }
        func onParticipantJoined(_ participant: Participant) { people += 1; participant.addEventListener(self) }
        func onMeetingLeft(reason: LeaveReason) {
          switch reason {
          case .manualLeaveCalled: people = 0
          case .removePeer, .removeAll: people = -1
          case .switchRoom: people = -2
          }
        }
      }
      """)
    let source = layer.source
    #expect(source.contains("final class KoineModel {"))
    #expect(source.contains("meeting?.handler = { [weak self] event, call in self?.handle(event, in: call) }"))
    #expect(source.contains("_ = (meeting?.localParticipant.id).map { followed.insert($0) }"))
    #expect(
      source.contains(
        "func participantJoined(_ participant: RoomParticipant) { people += 1; followed.insert(participant.id) }"))
    #expect(source.contains("case .removed: people = -1"))
    #expect(source.contains("// case .switchRoom: people = -2"))
    #expect(source.contains("if state == .connected, !call.hasEntered { joined() }"))
    #expect(source.contains("participantJoined(RoomParticipant(call: call, last: participant))"))
    #expect(layer.count("dropped") == 1)
    #expect(layer.count("warned") == 0)
  }

  @Test func castsAndComparisonsHaveTheCommonLayersForm() throws {
    let layer = try small.layer(
      """
      final class Model {
        var state = MeetingState.CONNECTED
        func video(_ stream: MediaStream) -> RTCVideoTrack? { stream.track as? RTCVideoTrack }
        func isVideo(_ stream: MediaStream) -> Bool { stream.track is RTCVideoTrack }
        func isSame(_ one: RTCVideoTrack, _ other: RTCVideoTrack) -> Bool { one === other }
        func isOver(_ state: MeetingState) -> Bool { state == .CLOSED }
        func isTwice(_ state: MeetingState) -> Bool { state == .CLOSED || state == .CLOSED }
        func isMixed(_ state: MeetingState) -> Bool { state == .CLOSED || state == .CLOSED && state == .CONNECTED }
        func goesOn(_ state: MeetingState) -> Bool { state != .CLOSED && state == .CONNECTED }
        func isShare(_ kind: MediaType) -> Bool { kind == .state(value: .video) || kind == .share }
      }
      """)
    let source = layer.source
    #expect(source.contains("(_ stream: RoomTrack) -> RoomTrack? { stream.video }"))
    #expect(source.contains("-> Bool { stream.video != nil }"))
    #expect(source.contains("{ one == other }"))
    #expect(source.contains("(_ state: SessionState) -> Bool { state.isEnded }"))
    #expect(source.contains("isTwice(_ state: SessionState) -> Bool { state.isEnded }"))
    #expect(source.contains("{ state.isEnded || state.isEnded && state == .connected }"))
    #expect(source.contains("{ !state.isEnded && state == .connected }"))
    #expect(source.contains("{ kind == .camera || kind == .screen }"))
    #expect(source.contains("var state = SessionState.connected"))
    #expect(layer.warnings == [])
  }

  @Test func endedStateIsAValueOnlyWhereItIsKept() throws {
    let layer = try small.layer(
      """
      final class Model {
        var state = MeetingState.CLOSED
        func end() { state = .CLOSED }
        func isOver(_ state: MeetingState) -> Bool { [.CLOSED].contains(state) }
        func isClosed(_ state: MeetingState) -> Bool { MeetingState.CLOSED == state }
      }
      """)
    #expect(layer.source.contains("  var state = SessionState.ended(.left)\n"))
    #expect(layer.source.contains("  func end() { state = .ended(.left) }\n"))
    // It would be equal to one of several ends.
    #expect(layer.warnings.count == 2)
  }

  @Test func propertiesOnOneLineWithTheEndOfTheirTypeStayApart() throws {
    let layer = try small.layer(
      """
      final class Model {
        var meeting: Meeting?
        struct Row { var count = 0, poll: Poll? }
      }
      """)
    #expect(layer.source.contains("var count = 0"))
    let lines = layer.source.split(separator: "\n").map { $0.drop { $0 == " " } }
    #expect(!lines.contains { $0.hasPrefix("//") && $0.contains("}") })
  }

  @Test func typesWithTheVendorsModuleBeforeThemLoseIt() throws {
    let layer = try small.layer(
      """
      final class Model {
        var meeting: VideoSDKRTC.Meeting?
        var people: [VideoSDKRTC.Participant] = []
        func isCamera(_ kind: VideoSDKRTC.MediaType) -> Bool { kind == VideoSDKRTC.MediaType.share }
      }
      """)
    #expect(!layer.source.contains("VideoSDKRTC"))
    #expect(layer.source.contains("  var people: [RoomParticipant] = []\n"))
    #expect(layer.source.contains("{ kind == Track.Kind.screen }"))
    #expect(layer.warnings == [])
  }

  @Test func switchThatTheTargetsTypeHasMoreValuesForGetsADefault() throws {
    let (app, facts) = try small.compiled(
      """
      final class Model {
        var meeting: Meeting?
        var hasCamera = false
        func show(_ kind: MediaType) {
          switch kind {
          case .state(value: .audio): hasCamera = false
          case .state(value: .video): hasCamera = true
          case .share: meeting?.leave()
          }
        }
        func hide(_ kind: MediaType) {
          switch kind {
          case .share: meeting?.leave()
          default: break
          }
        }
      }
      """)
    let first = try CallLayer(of: "Model", in: app, to: .koine) { _ throws(FactsFailure) in facts }
    #expect(first.source.contains("    case .screen: meeting?.session?.leave {}\n    }\n"))
    let second = try first.refused("switch kind", "switch must be exhaustive", app, facts)
    #expect(
      second.layer.source.contains("    case .screen: meeting?.session?.leave {}\n    default: break\n    }\n"))
    #expect(second.layer.warnings == [])
    // If that is not it, the function's statements are a comment.
    let third = try second.layer.refused("switch kind", "switch must be exhaustive", after: second.refusals, app, facts)
    #expect(third.layer.source.contains("  func show(_ kind: Track.Kind) {"))
    #expect(third.layer.source.contains("    // switch kind {\n"))
  }

  @Test func argumentsThatAreNilSidesAndTimesAreWritten() throws {
    let app = """
      final class Model: MeetingEventListener {
        var meeting: Meeting?
        private var position = CameraPosition.front
        func join(room: String) {
          meeting = VideoSDK.initMeeting(meetingId: room, customCameraVideoStream: nil)
          meeting?.join(cameraPosition: .front)
        }
        func flip() { position.toggle() }
        func time(_ message: PubSubMessage) -> String {
          message.timestamp
        }
        func onRecordingStarted() { print("records") }
        func onRecordingStoppped() { print("stops") }
      }
      """
    let layer = try small.layer(app)
    #expect(layer.warnings == [])
    #expect(layer.source.contains("    meeting = RoomCall(room: room, credential: credential)\n"))
    #expect(layer.source.contains("    meeting?.join(side: .front)\n"))
    #expect(layer.source.contains("private var position = Machine.Attachment.front\n"))
    #expect(layer.source.contains("{ position = position == .back ? .front : .back }\n"))
    #expect(layer.source.contains("Date(timeIntervalSinceNow: -(message.age / .seconds(1))).formatted(.iso8601)\n"))
    #expect(layer.source.contains("  // func onRecordingStarted() { print(\"records\") }\n"))
    #expect(layer.source.contains("  // func onRecordingStoppped() { print(\"stops\") }\n"))
    let other = try small.layer(app, to: .meetingSession)
    #expect(other.source.contains("    meeting?.join(side: .front)\n"))
    #expect(other.source.contains("{ position = position == .videoBackCamera ? .videoFrontCamera : .videoBackCamera }"))
    #expect(other.source.contains("  // func time(_ message: PubSubMessage) -> String {\n"))
    #expect(other.warnings == [])
  }

  @Test func referencesToValuesAreNotWeak() throws {
    let app = """
      final class Model {
        weak var meeting: Meeting?
        weak var track: RTCVideoTrack?  // of a tile
        private weak var participant: Participant?
      }
      """
    let layer = try small.layer(app)
    #expect(layer.source.contains("  weak var meeting: RoomCall?\n  var track: RoomTrack?  // of a tile\n"))
    #expect(layer.source.contains("  private var participant: RoomParticipant?\n"))
    #expect(try small.layer(app, to: .meetingSession).source.contains("  weak var track: MeetingStream?"))
  }

  @Test func declarationsThatSeeTheVendorsTypesComeAlongAndNoOthers() throws {
    let layer = try small.layer(
      """
      struct Row { let title: String }
      struct Tile { let owner: Participant }
      final class Model { var meeting: Meeting?; var tiles: [Tile] = []; var rows: [Row] = [] }
      """,
      """
      final class Screen { var model = Model(); func draw() { for tile in model.tiles { print(tile) } } }
      final class List { var rows: [Row] = [] }
      """)
    #expect(layer.source.contains("struct KoineTile { let owner: RoomParticipant }"))
    #expect(layer.source.contains("var tiles: [KoineTile] = []; var rows: [Row] = []"))
    #expect(layer.source.contains("final class KoineScreen { var model = KoineModel()"))
    #expect(!layer.source.contains("struct KoineRow"))
    #expect(!layer.source.contains("KoineList"))
  }

  @Test func seamWithoutVendorTypesKeepsTheRestOfTheAppOut() throws {
    let layer = try small.layer(
      """
      protocol Calls: AnyObject { func leave() }
      final class Model: Calls { private var meeting: Meeting?; func leave() { meeting?.leave() } }
      """,
      "final class Screen { var calls: any Calls = Model(); func close() { calls.leave() } }")
    #expect(layer.source.contains("final class KoineModel: Calls {"))
    #expect(!layer.source.contains("Screen"))
    #expect(layer.report.contains("Both layers are behind the protocol Calls."))
  }

  @Test func sharesAddUpTo100() throws {
    let layer = try small.layer(
      "final class Model { var a: Meeting?; func f() { a?.leave(); _ = a?.startHLS(); a?.localParticipant.enableMic() } }"
    )
    #expect(layer.counts.map(\.count).reduce(0, +) == 5)
    let line = try #require(layer.report.split(separator: "\n").dropFirst().first)
    let shares = line.split(separator: " ").enumerated().filter { $1 == "%" }.count
    #expect(shares == 5)
    let numbers = line.split(separator: ",").compactMap { part in
      part.split(separator: " ").compactMap { Int($0) }.first
    }
    #expect(numbers.reduce(0, +) == 100)
  }

  @Test func targetThatIsTheAppsOwnStyleIsAnError() throws {
    let (app, facts) = try small.compiled("final class Model { var meeting: Meeting? }")
    let target = #expect(throws: FactsFailure.self) {
      _ = try CallLayer(of: "Model", in: app, to: .eventListener) { _ throws(FactsFailure) in facts }
    }
    #expect(target?.description == "the app is in the style event-listener already")
    #expect(throws: FactsFailure.self) { try small.layer("final class Model {}") }
  }

  @Test func appThatDoesNotCompileIsRefused() throws {
    try #require(
      try !small.compilation.compile(
        "App", ["Model.swift": "import VideoSDKRTC\nfinal class Model { let meeting: Meeting = 1 }"]))
    let store = try IndexStore(path: small.compilation.store, toolchain: small.compilation.toolchain)
    let app = try CompiledApp(store, files: [small.compilation.path("Model.swift")], modules: ["VideoSDKRTC"])
    let failure = #expect(throws: FactsFailure.self) {
      _ = try CallLayer(of: "Model", in: app, to: .koine) { module throws(FactsFailure) in
        throw FactsFailure("not asked for")
      }
    }
    #expect(failure?.description.contains("does not compile") == true)
  }
}
