import Foundation
import Testing
import VideoSDKRTC

// What came with 3.0, with its exact signature.

struct ListenerVersion3_0 {
  /// Never run: it has only to compile.
  private func additionsProtocols(_ meetingEventListener: any MeetingEventListener) {
    let _: (String?) -> Void = meetingEventListener.onMeetingJoined(switchMeetingId:)
  }
}
