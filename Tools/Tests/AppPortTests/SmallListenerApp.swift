import AppPort
import CompilerFacts
import KoinePorting
import TestSupport
import Testing

/// A small app of the event listener, compiled against a module under the vendor's name.
struct SmallListenerApp {
  let compilation: Compilation
  private static let vendor = """
    public enum LeaveReason: Int { case manualLeaveCalled, removePeer, removeAll, switchRoom }
    public enum VideoSDKError: Int { case INVALID_TOKEN; public var message: String { "" } }
    public enum MediaKind { case audio, video }
    public enum MediaType: Equatable { case share, state(value: MediaKind) }
    public enum MeetingState { case CONNECTED, CLOSED }
    public enum CameraPosition { case front, back; public mutating func toggle() {} }
    public class PubSubMessage { public let message = "", timestamp = "" }
    public class RTCMediaStreamTrack {}
    public class Poll {}
    public class CustomRTCMediaStream {}
    public enum CustomVideoTrackConfig { case h360p_w640p }
    public class RTCVideoTrack: RTCMediaStreamTrack {}
    public class MediaStream { public let track = RTCMediaStreamTrack() }
    public protocol MeetingEventListener: AnyObject {
      func onMeetingJoined(); func onMeetingLeft(reason: LeaveReason); func onParticipantJoined(_ participant: Participant)
      func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void)
      func onHlsStarted(); func onRecordingStarted(); func onRecordingStoppped()
    }
    extension MeetingEventListener {
      public func onMeetingJoined() {}; public func onMeetingLeft(reason: LeaveReason) {}
      public func onParticipantJoined(_ participant: Participant) {}; public func onHlsStarted() {}
      public func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {}
      public func onRecordingStarted() {}; public func onRecordingStoppped() {}
    }
    public protocol ParticipantEventListener {}
    public protocol PubSubMessageListener { func onMessageReceived(_ message: PubSubMessage) }
    public class PubSub {
      public func publish(topic: String, message: String, options: [String: Any] = [:]) {}
      public func subscribe(topic: String, forListener: any PubSubMessageListener) {}
      public func getMessagesForTopic(_ topic: String) -> [PubSubMessage] { [] }
    }
    public class Participant {
      public let id = "", displayName = ""
      public func addEventListener(_ listener: any ParticipantEventListener) {}
      public func enableMic() {}; public func disableMic() {}
    }
    public class Meeting {
      public let localParticipant = Participant(), pubsub = PubSub()
      public var participants: [String: Participant] { [:] }
      public func addEventListener(_ listener: any MeetingEventListener) {}
      public func leave() {}; public func muteMic() {}; public func unmuteMic() {}; public func startHLS() -> Int { 0 }
      public func join(cameraPosition: CameraPosition) {}
    }
    public class VideoSDK {
      public static func config(token: String) {}
      public static func initMeeting(
        meetingId: String, participantId: String = "", participantName: String = "", micEnabled: Bool = true,
        webcamEnabled: Bool = true, customCameraVideoStream: CustomRTCMediaStream? = nil, mode: Int? = nil
      ) -> Meeting { Meeting() }
      public static func createCameraVideoTrack(
        encoderConfig: CustomVideoTrackConfig? = .h360p_w640p, facingMode: Int? = nil, multiStream: Bool? = true
      ) throws -> CustomRTCMediaStream? { nil }
    }

    """

  init() throws {
    compilation = try Compilation(importing: "VideoSDKRTC", Self.vendor)
  }

  func compiled(_ model: String, _ view: String = "") throws -> (app: CompiledApp, facts: TreeDump) {
    try #require(try compilation.compile("App", ["Model.swift": "import VideoSDKRTC\n" + model, "View.swift": view]))
    let files = ["Model.swift", "View.swift"].map(compilation.path)
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    let command = CompileCommand(
      module: "App", files: files, options: ["-parse-as-library", "-I", compilation.folder],
      toolchain: compilation.toolchain)
    return (
      try CompiledApp(store, files: files, modules: ["VideoSDKRTC"]),
      try TreeDump(command, toolchain: compilation.toolchain)
    )
  }

  /// - Parameter type: the class with the calls.
  func layer(
    _ model: String, _ view: String = "", of type: String = "Model", to target: Style = .koine
  ) throws -> CallLayer {
    let (app, facts) = try compiled(model, view)
    return try CallLayer(of: type, in: app, to: target) { _ throws(FactsFailure) in facts }
  }
}

extension CallLayer {
  /// The number of call sites with this share; nil: the layer has no such share.
  func count(_ share: String) -> Int? { counts.first { $0.share == share }?.count }

  /// The layer after the compiler has refused the line with a text for a reason.
  func refused(
    _ text: String, _ reason: String, after known: [LayerRefusal] = [], _ app: CompiledApp, _ facts: TreeDump
  ) throws -> (layer: CallLayer, refusals: [LayerRefusal]) {
    let line = try #require(
      source.split(separator: "\n", omittingEmptySubsequences: false).firstIndex { $0.contains(text) })
    let error = "/tmp/x/KoineModel.swift:\(line + 1):3: error: \(reason)"
    let refusals = known + self.refusals(of: CompileCommand.Outcome(succeeded: false, output: error))
    let new = try CallLayer(of: "Model", in: app, to: .koine, without: refusals) { _ throws(FactsFailure) in facts }
    return (new, refusals)
  }
}
