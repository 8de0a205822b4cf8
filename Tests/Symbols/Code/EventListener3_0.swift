import Foundation
import Testing
import VideoSDKRTC

// What came with 3.0, with its exact signature.

struct ListenerVersion3_0 {
  /// Never run: it has only to compile.
  private func additionsProtocols(
    _ meetingEventListener: any MeetingEventListener, _ participantEventListener: any ParticipantEventListener
  ) {
    let _: (String?) -> Void = meetingEventListener.onMeetingJoined(switchMeetingId:)
    let _: (QualityLimitationType, QualityLimitationState, Int) -> Void =
      meetingEventListener.onQualityLimitation(type:state:timestamp:)
    let _: (String, MediaType, Bool) -> Void =
      participantEventListener.onMediaStatusChanged(peerId:kind:newStatus:)
  }
}
