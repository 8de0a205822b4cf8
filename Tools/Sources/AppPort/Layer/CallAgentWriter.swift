import CallModel
import KoinePorting

/// Writes a call layer in the call agent style. A user signs in and joins a room or a group call; the SDK tells that something has changed,
/// and `AzureCall` what: which participant came, what is sent, why the call is over.
final class CallAgentWriter: VendorWriter {
  override class var style: Style { .callAgent }
  override class var prefix: String { "Azure" }
  override class var sources: [Style] { [.eventListener, .meetingSession, .stageStrategy] }
  override class var modules: Set<String> { ["AzureCommunicationCalling"] }
  override class var callHelpers: [LayerHelper] { AzureCallHelper.files }
  override class var stageHelpers: [LayerHelper] { [AzureCallHelper.stageMedia] }
  override class var meetingHelpers: [LayerHelper] { [AzureMeetingHelper.media] }

  // MARK: Words

  override class var words: [String: [String]] { table }
  private static let table = [
    "Machine.Attachment": ["CameraFacing"], "Machine.Attachment.front": ["front"], "Machine.Attachment.back": ["back"],
    "UIView.contentMode": ["contentMode"],
  ]
  override class var ownNames: [String: String] { names }
  private static let names = [
    "VideoView": "AzureVideoView", "Machine.Device.attachment": "facing",
    "EndReason": "AzureEnd", "EndReason.left": "left", "EndReason.lost": "lost",
    "EndReason.removed": "removed", "EndReason.removedByService": "removed", "EndReason.roomClosed": "closed",
    "EndReason.roomClosedByService": "closed", "EndReason.refused": "refused",
    "Failure.Code.camera": "camera", "Failure.Code.invalidRoom": "closed", "Failure.Code.forbidden": "forbidden",
    // A call ends with the same number for both.
    "Failure.Code.roomFull": "forbidden",
  ]

  override func meaning(of word: String) -> String {
    word.hasPrefix("EndReason.") || word.hasPrefix("Failure.Code.") ? name(of: word).text : word
  }

  override func rawValue(of type: String) -> String? {
    switch type.split(separator: ".").last {
    case "LeaveReason", "MeetingSessionStatusCode", "VideoSDKError", "IVSBroadcastError": "rawValue"
    default: nil
    }
  }

  // MARK: Actions

  override func call(
    _ intent: Intent, _ slots: [String: String], _ base: String?, _ table: StyleTable, _ callType: String?
  ) throws(Unportable) -> Written {
    if intent.row == "mute-other", slots["kind"] == ".camera" {
      throw .lost(symbol: intent.symbol, instead: "a participant cannot turn off the camera of another one")
    }
    return try super.call(intent, slots, base, table, callType)
  }
}
