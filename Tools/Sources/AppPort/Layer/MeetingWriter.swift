import CallModel
import KoinePorting

/// Writes a call layer in the meeting session style: calls of the session where it has a word, and `MeetingCall` for what the SDK
/// leaves to the app, such as participants by id and what they send.
final class MeetingWriter: VendorWriter {
  override class var style: Style { .meetingSession }
  override class var prefix: String { "Meeting" }
  override class var sources: [Style] { [.callAgent, .eventListener, .stageStrategy] }
  override class var modules: Set<String> { ["AmazonChimeSDK"] }
  override class var callHelpers: [LayerHelper] { MeetingCallHelper.files }
  override class var stageHelpers: [LayerHelper] { MeetingCallHelper.ofStage }
  override class var agentHelpers: [LayerHelper] { MeetingCallHelper.ofAgent }

  // MARK: Words

  /// The SDK's names, by the words of the common layer: those that a value can be, the first of them first.
  override class var words: [String: [String]] { table }
  private static let table: [String: [String]] = [
    "Machine.Attachment.front": ["videoFrontCamera"], "Machine.Attachment.back": ["videoBackCamera"],
    "Machine.Attachment": ["MediaDeviceType"], "VideoView": ["DefaultVideoRenderView"],
    "UIView.contentMode": ["contentMode"],
    "EndReason": ["MeetingSessionStatusCode"],
    "EndReason.left": ["ok"], "EndReason.lost": ["audioDisconnected"], "EndReason.removed": ["audioServerHungup"],
    "EndReason.removedByService": ["audioServerHungup"], "EndReason.roomClosed": ["audioServerHungup"],
    "EndReason.roomClosedByService": ["audioServerHungup"], "EndReason.duplicate": ["audioJoinedFromAnotherDevice"],
    "EndReason.refused": [
      "audioInternalServerError", "audioAuthenticationRejected", "audioCallAtCapacity", "audioServiceUnavailable",
      "audioCallEnded",
    ],
  ]

  /// Only code of this package sees the session behind a call.
  override class var ownNames: [String: String] { ["AgentCall.session": "session.session.session"] }

  override func rawValue(of type: String) -> String? {
    switch type.split(separator: ".").last {
    case "LeaveReason": "description"
    case "VideoSDKError", "IVSBroadcastError": "rawValue"
    default: nil
    }
  }

  // MARK: Actions

  override func statement(
    _ intent: Intent, _ slots: [String: String], _ base: String?, _ table: StyleTable, _ callType: String?
  ) throws(Unportable) -> Written {
    if let base, let call = Self.call(intent.row, slots) {
      return Written(text: call.result + "\(base).session.audioVideo.\(call.function)()", usesHelper: false)
    }
    return try super.statement(intent, slots, base, table, callType)
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
}
