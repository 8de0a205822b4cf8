/// The file that layers read from the meeting session style need in the call agent style, in addition to `MeetingSourceHelper`.
enum AzureMeetingHelper {
  static let media = LayerHelper(fileName: "AzureMeetingMedia.swift", typeNames: [], source: source)

  private static let source = #"""
    // Devices, ends and messages of layers read from the meeting session style, in a call: the same for every app.
    import AVFoundation
    import AzureCommunicationCalling
    import Foundation

    extension AzureCall {
      /// - Parameter request: its room is the id of a room or the UUID of a group call, its credential a user access token, and its
      ///   participant the raw id of the token's user.
      convenience init(_ request: AzureMeeting.Request) {
        self.init(
          room: request.room, credential: request.credential, participantID: request.participantID, name: request.name,
          isCameraOn: false)
      }
      /// Where the camera is that is on, or that is turned on next.
      var activeSide: CameraFacing? {
        let cameras = AVCaptureDevice.DiscoverySession(
          deviceTypes: [.builtInWideAngleCamera], mediaType: .video, position: .unspecified
        ).devices
        return cameras.isEmpty ? nil : side
      }
      func hide(_ view: AzureVideoView, _ kind: AzureStream.Kind, of person: String) { hide(view, "\(person) \(kind)") }
      /// - Parameter then: called on the main queue with the first frame of a video that is sent now, as long as the result is kept.
      func firstFrame(of kind: AzureStream.Kind, by person: AzurePerson, then: @escaping () -> Void) -> AnyObject? {
        person.streams["\(kind)"]?.source.flatMap { source in
          MainActor.assumeIsolated { FrameWatch(source, then) }
        }
      }
      /// Whether a participant that has gone has lost the connection.
      func hasDropped(_ person: AzurePerson) -> Bool { (490...498).contains(person.remote?.callEndReason.code ?? 0) }
      /// Why the call is over, in the words of a meeting, which has one for a removal and a closed room.
      var meetingEnd: AzureMeeting.End {
        switch (reason, failure) {
        case (.left, _): .left
        case (.removed, _), (.closed, _): .removed
        case (.lost, _): .lost
        case (_, .joinedElsewhere): .replaced
        case (_, .rejected): .rejected
        case (_, .forbidden): .full
        case (nil, _): .unknown
        default: .failed
        }
      }
    }

    /// Waits for the first frame of a video. A stream has one renderer at a time, so the watch lets go of its own before it tells.
    private final class FrameWatch: NSObject, RendererDelegate, @unchecked Sendable {  // used on the main queue only
      private let then: () -> Void
      private var renderer: VideoStreamRenderer?, view: RendererView?
      @MainActor init?(_ source: CallVideoStream, _ then: @escaping () -> Void) {
        guard let renderer = source.renderer() else { return nil }
        (self.then, self.renderer) = (then, renderer)
        super.init()
        renderer.delegate = self
        view = try? renderer.createView()
      }
      deinit { end() }
      private func end() {
        renderer?.delegate = nil
        renderer?.dispose()
        (renderer, view) = (nil, nil)
      }
      func videoStreamRenderer(didRenderFirstFrame renderer: VideoStreamRenderer) {
        DispatchQueue.main.async { [weak self] in
          guard let self, self.renderer != nil else { return }
          end()
          then()
        }
      }
      func videoStreamRenderer(didFailToStart renderer: VideoStreamRenderer) {}
    }

    extension AzureMeeting {
      /// In bytes, as a meeting has it.
      static let messageLimit = 2_048
    }

    extension AzureMessage {
      /// In milliseconds since 1970.
      var timestampMs: Int64 { Int64(received.timeIntervalSince1970 * 1_000) }
    }

    """#
}
