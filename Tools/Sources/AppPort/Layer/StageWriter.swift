import CallModel
import KoinePorting

/// Writes a call layer in the stage strategy style. A stage asks for a strategy, and reports streams of participants: `StageCall` is the
/// strategy, and has what the app has turned on. There are no messages.
final class StageWriter: VendorWriter {
  override class var style: Style { .stageStrategy }
  override class var prefix: String { "Stage" }
  override class var sources: [Style] { [.callAgent, .eventListener, .meetingSession] }
  override class var modules: Set<String> { ["AmazonIVSBroadcast"] }
  override class var callHelpers: [LayerHelper] { StageStrategyHelper.files }
  override class var agentHelpers: [LayerHelper] { StageStrategyHelper.ofAgent }
  override class var meetingHelpers: [LayerHelper] { [StageMeetingHelper.media] }

  // MARK: Words

  override class var words: [String: [String]] { ["UIView.contentMode": ["contentMode"]] }
  override class var ownNames: [String: String] { names }
  private static let names = [
    "VideoView": "StageStreamView", "EndReason": "StageEnd", "EndReason.left": "left", "EndReason.lost": "lost",
    "EndReason.removed": "removed", "EndReason.removedByService": "removed", "EndReason.roomClosed": "closed",
    "EndReason.roomClosedByService": "closed", "EndReason.duplicate": "replaced", "EndReason.refused": "refused",
    "Failure.Code.camera": "camera", "Failure.Code.invalidRoom": "closed",
    // Only code of this package sees the session behind a call.
    "AgentCall.session": "session.stage?.session", "Machine.Attachment": "StageCall.Side",
    "Machine.Attachment.front": "front", "Machine.Attachment.back": "back",
  ]
  override class var missing: Set<String> { ["ConnectionQuality", "ReceivedMessage", "RoomChannel", "RoomInbox"] }

  override func meaning(of word: String) -> String {
    word.hasPrefix("EndReason.") ? Self.names[word].map { "StageEnd." + $0 } ?? word : word
  }

  override func rawValue(of type: String) -> String? {
    switch type.split(separator: ".").last {
    case "LeaveReason", "MeetingSessionStatusCode", "VideoSDKError": "rawValue"
    default: nil
    }
  }
}
