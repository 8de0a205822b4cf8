/// What layers read from the meeting session style need in the stage strategy style, in addition to `MeetingSourceHelper`.
enum StageMeetingHelper {
  static let media = LayerHelper(fileName: "StageMeetingMedia.swift", typeNames: [], source: source)

  private static let source = #"""
    // Devices, ends and frames of layers read from the meeting session style, on a stage: the same for every app.
    import AmazonIVSBroadcast
    import Foundation

    extension StageCall {
      /// - Parameter request: its credential is a participant token, which decides on the stage, too.
      convenience init(_ request: StageMeeting.Request) {
        self.init(
          credential: request.credential, participantID: request.participantID, name: request.name, isCameraOn: false)
      }
      /// Where the camera is that is on, or that is turned on next.
      var activeSide: Side? { cameras == nil ? nil : side }
      func isSent(_ kind: StageStream.Kind, by person: StagePerson) -> Bool { person.streams["\(kind)"] != nil }
      /// Receives these kinds of streams, by participants.
      func receive(_ wanted: [String: Set<StageStream.Kind>]) {
        received = wanted
        stage?.refreshStrategy()
      }
      private func stream(_ kind: StageStream.Kind, of person: String) -> StageStream? {
        (person == localParticipant.id ? localParticipant : participants[person])?.streams["\(kind)"]
      }
      func show(_ view: StageStreamView, _ kind: StageStream.Kind, of person: String) {
        guard let stream = stream(kind, of: person) else { return }
        MainActor.assumeIsolated { stream.attach(view: view) }
      }
      func hide(_ view: StageStreamView, _ kind: StageStream.Kind, of person: String) {
        MainActor.assumeIsolated { view.device = nil }
      }
      /// - Parameter then: called on the main queue with the first frame of a video that is sent now, as long as the result is kept.
      func firstFrame(of kind: StageStream.Kind, by person: StagePerson, then: @escaping () -> Void) -> AnyObject? {
        (person.streams["\(kind)"]?.source.device as? any IVSImageDevice).map { FrameWatch($0, then) }
      }
      /// A stage does not say why a participant is gone.
      func hasDropped(_ person: StagePerson) -> Bool { false }
      /// Why the call is over, in the words of a meeting, which has one for a removal and a closed room.
      var meetingEnd: StageMeeting.End {
        switch (reason, failure) {
        case (.left, _): .left
        case (.replaced, _): .replaced
        case (.removed, _), (.closed, _): .removed
        case (.lost, _): .lost
        case (_, .rejected): .rejected
        case (_, .full): .full
        case (_, .closed): .ended
        case (nil, _): .unknown
        default: .failed
        }
      }
    }

    /// Waits for the first frame of a video.
    private final class FrameWatch: @unchecked Sendable {  // used on the main queue only, where the SDK calls it
      private var device: (any IVSImageDevice)?
      init(_ device: any IVSImageDevice, _ then: @escaping () -> Void) {
        self.device = device
        device.setOnFrameCallback { [weak self] _ in
          guard let self, let device = self.device else { return }
          self.device = nil
          device.setOnFrameCallback(nil)
          then()
        }
      }
      deinit { device?.setOnFrameCallback(nil) }
    }

    extension StageFailure {
      /// The stream that it is about.
      var kind: StageStream.Kind? {
        switch self {
        case .camera, .cameraDenied: .camera
        case .microphone, .microphoneDenied: .microphone
        case .screen: .screen
        default: nil
        }
      }
    }

    """#
}
