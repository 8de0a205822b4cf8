import Foundation
import KoineAVFoundation
import KoineUIKit
import Testing
import VideoSDKRTC
import WebRTC

// What came between 2.4 and 2.7, with its exact signature.

struct ListenerVersion2_7 {
  @Test func participant() {
    let _: KeyPath<Participant, Bool> = \Participant.isAgent
  }

  @Test func valueTypesEnumsConfigs() {
    #expect([MeetingState.FAILED].map(\.rawValue) == ["FAILED"])
  }

  @Test func additions() {
    let _: KeyPath<Meeting, String?> = \Meeting.activePresenterId
  }

  /// Never run: it has only to compile.
  private func additionsProtocols(_ meetingEventListener: any MeetingEventListener) {
    let _: () -> Void = meetingEventListener.onRecordingStopped
    let _: (String?) -> Void = meetingEventListener.onPresenterChanged(activePresenterId:)
    let _: (String, String, Bool) -> Void = meetingEventListener.onMediaStatusChanged(peerId:kind:newStatus:)
  }
}
