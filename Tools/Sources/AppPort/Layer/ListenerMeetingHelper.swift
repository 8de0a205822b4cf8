/// What layers read from the meeting session style need in the event listener style, in addition to `MeetingSourceHelper`.
enum ListenerMeetingHelper {
  static let media = LayerHelper(fileName: "ListenerMeetingMedia.swift", typeNames: [], source: source)

  private static let source = #"""
    // Devices, ends and messages of layers read from the meeting session style, in a VideoSDK meeting: the same for every app.
    import AVFoundation
    import Foundation
    import VideoSDKRTC
    import WebRTC

    extension ListenerCall {
      /// - Parameter request: its credential is VideoSDK's token.
      convenience init(_ request: ListenerMeeting.Request) {
        self.init(
          room: request.room, credential: request.credential.isEmpty ? nil : request.credential,
          participantID: request.participantID, name: request.name, isCameraOn: false)
      }
      /// Where the camera is that is on, or that is turned on next.
      var activeSide: AVCaptureDevice.Position? {
        let cameras = AVCaptureDevice.DiscoverySession(
          deviceTypes: [.builtInWideAngleCamera], mediaType: .video, position: .unspecified
        ).devices
        return cameras.isEmpty ? nil : side ?? .front
      }
      func switchCamera() {
        side = side == .back ? .front : .back
        meeting.switchWebcam()
      }
      /// - Parameter then: called on the main queue with the first frame of a video that is sent now, as long as the result is kept.
      func firstFrame(of kind: ListenerKind, by person: Participant, then: @escaping () -> Void) -> AnyObject? {
        (stream(kind, of: person)?.track as? RTCVideoTrack).map { FrameWatch($0, then) }
      }
      /// Whether the participant that has left last has lost the connection.
      func hasDropped(_ person: Participant) -> Bool { departure == .websocketDisconnected }
      /// Why the call is over, in the words of a meeting, which has one for a removal and a closed room.
      var meetingEnd: ListenerMeeting.End {
        switch (reason, failure) {
        case (.manualLeaveCalled, _): .left
        case (.duplicateParticipant, _), (_, .DUPLICATE_PARTICIPANT): .replaced
        case (.removePeer, _), (.removeAll, _), (.removePeerApi, _), (.roomClose, _), (.meetingEndApi, _): .removed
        case (.websocketDisconnected, _), (.websocketConnectionAttemptsExhausted, _): .lost
        case (_, .INVALID_API_KEY), (_, .INVALID_TOKEN), (_, .INVALID_PERMISSIONS): .rejected
        case (_, .MAX_PARTCIPANT_REACHED): .full
        case (.unknown, nil), (nil, _): .unknown
        default: .failed
        }
      }
    }

    /// Waits for the first frame of a video. `then` is used on the main queue only.
    private final class FrameWatch: NSObject, RTCVideoRenderer, @unchecked Sendable {
      private let then: () -> Void
      private weak var track: RTCVideoTrack?
      init(_ track: RTCVideoTrack, _ then: @escaping () -> Void) {
        (self.track, self.then) = (track, then)
        super.init()
        track.add(self)
      }
      func setSize(_ size: CGSize) {}
      func renderFrame(_ frame: RTCVideoFrame?) {
        guard frame != nil else { return }
        DispatchQueue.main.async { [weak self] in
          guard let self, let track else { return }
          (_, self.track) = (track.remove(self), nil)
          then()
        }
      }
    }

    extension ListenerMeeting {
      /// In bytes, as a meeting has it.
      static let messageLimit = 2_048
    }

    extension PubSubMessage {
      /// When the message was sent, in milliseconds since 1970. The SDK has whole seconds; the rest is made of the message's id, so that
      /// equal texts of one second are two messages.
      var timestampMs: Int64 {
        let seconds = (ISO8601DateFormatter().date(from: timestamp) ?? Date()).timeIntervalSince1970
        return Int64(seconds) * 1_000 + id.utf8.reduce(0) { ($0 * 31 + Int64($1)) % 1_000 }
      }
    }

    """#
}
