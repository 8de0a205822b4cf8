import CallModel
import KoinePorting

/// Writes a call layer in the event listener style: with the SDK's meeting, participants, states and errors, and `ListenerCall`, which has
/// one handler for what the SDK's listeners are told.
final class ListenerWriter: VendorWriter {
  /// A meeting uses the front and the back camera: an external one only if there is neither.
  override class var missing: Set<String> { ["Device.external"] }
  override class var style: Style { .eventListener }
  override class var prefix: String { "Listener" }
  override class var sources: [Style] { [.callAgent, .meetingSession, .stageStrategy] }
  override class var modules: Set<String> { ["AVFoundation", "VideoSDKRTC", "WebRTC"] }
  override class var callHelpers: [LayerHelper] { ListenerCallHelper.files }
  override class var stageHelpers: [LayerHelper] { ListenerCallHelper.ofStage }
  override class var agentHelpers: [LayerHelper] { ListenerCallHelper.ofAgent }
  override class var meetingHelpers: [LayerHelper] { [ListenerMeetingHelper.media] }

  // MARK: Words

  override class var words: [String: [String]] { table }
  private static let table: [String: [String]] = [
    // The app may have a type of its own with this name, or import another module that has one.
    "Participant": ["VideoSDKRTC.Participant"], "Participant.id": ["id"], "Participant.isLocal": ["isLocal"],
    "Participant.name": ["displayName"], "Participant.userID": ["displayName"],
    "SessionState": ["MeetingState"], "SessionState.connecting": ["CONNECTING"],
    "SessionState.connected": ["CONNECTED"], "SessionState.reconnecting": ["RECONNECTING"],
    "SessionState.ended": ["CLOSED"],
    "Machine.Attachment": ["AVCaptureDevice.Position"], "Machine.Attachment.front": ["front"],
    "Machine.Attachment.back": ["back"],
    "VideoView": ["RTCMTLVideoView"], "UIView.contentMode": ["videoContentMode"],
    "Track": ["MediaStream"],
    "ReceivedMessage": ["PubSubMessage"], "ReceivedMessage.id": ["id"], "ReceivedMessage.topic": ["topic"],
    "ReceivedMessage.sender": ["senderId"], "ReceivedMessage.senderName": ["senderName"],
    "ReceivedMessage.text": ["message"],
  ]

  override class var ownNames: [String: String] {
    [
      "Track.Kind": "‹Prefix›Kind", "Track.kind": "streamKind", "Machine.Device.attachment": "position",
      // Only code of this package sees the session behind a call.
      "AgentCall.session": "session.meeting.session",
    ]
  }

  override func rawValue(of type: String) -> String? {
    switch type.split(separator: ".").last {
    case "IVSBroadcastError", "MeetingSessionStatusCode": "rawValue"
    default: nil
    }
  }
}
