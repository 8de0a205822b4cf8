import CallModel
import KoinePorting
import SwiftSyntax

/// What of the event listener style porting.json cannot say: listeners, and kinds of streams with an associated value.
enum EventListenerReader: StyleReader {
  static let style = Style.eventListener
  static let roles: [String: KeptProperty.Role] = [
    "Meeting": .call, "Participant": .participant, "MediaStream": .track, "RTCVideoTrack": .track,
    "PubSubMessage": .message,
  ]

  /// Cameras and microphones are sent with the settings of the new layer's helper.
  static let droppedArguments: Set<String> = [
    "customCameraVideoStream", "customVideoStream", "customAudioTrack", "customAudioStream", "multiStream",
    "preferredProtocol", "signalingBaseUrl",
  ]

  static func reading(of symbol: String) -> Reading? {
    switch symbol {
    case let track where track.hasPrefix("VideoSDK.createCameraVideoTrack("):
      .lost(symbol: track, instead: "the camera on the side that `join` names is sent, in the new layer's own size")
    case "VideoSDK.createAudioTrack(noiseConfig:)":
      .lost(symbol: symbol, instead: "the microphone is sent with the new layer's own processing")
    case "Meeting.addEventListener(_:)": .registration(of: .ofCall, isOn: true)
    case "Meeting.removeEventListener(_:)": .registration(of: .ofCall, isOn: false)
    case "Participant.addEventListener(_:)": .registration(of: .ofParticipant, isOn: true)
    case "Participant.removeEventListener(_:)": .registration(of: .ofParticipant, isOn: false)
    case "Meeting.session": .word("RoomCall.session")
    case "VideoSDKError.message": .word("Failure.Code.rawValue")
    case "RTCMTLVideoView.init()": .word("VideoView.init()")
    case "RTCMTLVideoView.init(frame:)": .word("VideoView.init(frame:)")
    case "PubSub.subscribe(topic:forListener:)": .registration(of: .ofTopic, isOn: true)
    case "PubSub.unsubscribe(topic:forListener:)": .registration(of: .ofTopic, isOn: false)
    default: nil
    }
  }

  /// `position.toggle()`: the other side of the machine.
  static func text(
    of call: FunctionCallExprSyntax, _ symbol: String, _ renderer: LayerRenderer
  ) throws(Unportable) -> (text: String, share: Share)? {
    guard symbol == "CameraPosition.toggle()", let member = call.calledExpression.as(MemberAccessExprSyntax.self),
      let base = member.base
    else { return nil }
    let (position, writer) = (try renderer.trimmed(base), renderer.context.writer)
    let (front, back) = (writer.value(of: "Machine.Attachment.front"), writer.value(of: "Machine.Attachment.back"))
    guard !position.contains("?"), type(of: writer).hasWord("Machine.Attachment.front") else { throw .unknown(symbol) }
    return ("\(position) = \(position) == .\(back.text) ? .\(front.text) : .\(back.text)", front.share)
  }

  static func value(of symbols: [String]) -> String? {
    switch symbols {
    case ["MediaType.state(value:)", "MediaKind.audio"]: "Track.Kind.microphone"
    case ["MediaType.state(value:)", "MediaKind.video"]: "Track.Kind.camera"
    default: nil
    }
  }
}
