// Devices and errors of layers read from the stage strategy style, in a VideoSDK meeting: the same for every app.
import AVFoundation
import CoreMedia
import CoreVideo
import Foundation
import VideoSDKRTC
import WebRTC

extension ListenerCall {
  /// - Returns: true: the meeting reports a device that fails or is not allowed.
  func send(
    _ kind: ListenerKind, isOn: Bool, _ device: ListenerStage.Device?, _ feed: ListenerStage.Feed?,
    _ options: ListenerStage.Video
  ) -> Bool {
    guard kind != .microphone, isOn else {
      if kind == .camera { side = nil }
      setStream(kind: kind, isOn: isOn)
      return true
    }
    side = device?.position ?? .front
    meeting.setVideoProcessor(processor: feed)
    let track = try? VideoSDK.createCameraVideoTrack(
      encoderConfig: options.encoderConfig, facingMode: side, multiStream: true)
    meeting.enableWebcam(customVideoStream: track)
    return true
  }
  /// Why the call is over, in the numbers of a stage. Nil: the user has left, or joins on another device.
  var fault: NSError? { reason.flatMap { Self.fault(of: $0, failure) } }
  static func fault(of reason: LeaveReason, _ failure: VideoSDKError? = nil) -> NSError? {
    let fault: ListenerStage.Fault? =
      switch (reason, failure) {
      case (.manualLeaveCalled, _), (.duplicateParticipant, _): nil
      case (.removePeer, _), (.removeAll, _), (.removePeerApi, _): .refused
      case (.roomClose, _), (.meetingEndApi, _): .closed
      case (.websocketDisconnected, _), (.websocketConnectionAttemptsExhausted, _): .lost
      case (_, .INVALID_API_KEY), (_, .INVALID_TOKEN), (_, .INVALID_PERMISSIONS): .refused
      case (_, .INVALID_MEETING_ID), (_, .INVALID_PARTICIPANT_ID): .token
      case (_, .MAX_PARTCIPANT_REACHED): .full
      default: .answer
      }
    return fault?.error(failure.map { "\($0)" } ?? "\(reason)")
  }
}

extension VideoSDKRTC.Participant {
  /// A participant has an id and a name only: the name is there under the keys of the stage vendor's samples.
  var attributes: [String: String] { ["name": displayName, "username": displayName] }
}

extension ListenerStage.Video {
  /// The smallest of the SDK's settings that has the wanted size.
  var encoderConfig: CustomVideoTrackConfig {
    let (long, short) = (max(maximumWidth, maximumHeight), min(maximumWidth, maximumHeight))
    let sizes: [(Int, Int, CustomVideoTrackConfig)] = [
      (320, 180, .h180p_w320p), (640, 360, .h360p_w640p), (960, 540, .h540p_w960p), (1_280, 720, .h720p_w1280p),
    ]
    return sizes.first { $0 >= long && $1 >= short || $2 == .h720p_w1280p }?.2 ?? .h720p_w1280p
  }
}

extension ListenerStage {
  /// A camera or a microphone. The meeting uses the microphone that the system has chosen.
  final class Device {
    let kind: ListenerKind, name: String
    private(set) var position: AVCaptureDevice.Position
    weak var call: ListenerCall?
    private init(_ kind: ListenerKind, _ device: AVCaptureDevice) {
      (self.kind, name, position) = (kind, device.localizedName, device.position)
    }
    private static var cameras: [Device] {
      AVCaptureDevice.DiscoverySession(
        deviceTypes: [.builtInWideAngleCamera], mediaType: .video, position: .unspecified
      ).devices.map { Device(.camera, $0) }
    }
    static var all: [Device] {
      let camera = cameras.first { $0.position == .front } ?? cameras.first
      let microphone = AVCaptureDevice.default(for: .audio).map { Device(.microphone, $0) }
      return [camera, microphone].compactMap { $0 }
    }
    /// The devices that can be used in its place.
    var sources: [Device] { kind == .camera ? Self.cameras : [self] }
    func choose(_ source: Device, completion: ((any Error)?) -> Void = { _ in }) {
      position = source.position
      if kind == .camera, let call, let side = call.side, side != position {
        call.side = position
        call.meeting.switchWebcam()
      }
      completion(nil)
    }
  }

  /// Pictures of the app's own, which the SDK sends in the place of those of the camera.
  final class Feed: VideoSDKVideoProcessor, @unchecked Sendable {  // `newest` is guarded
    private let lock = NSLock()
    private var newest: CVPixelBuffer?
    func push(_ buffer: CMSampleBuffer) {
      if let image = CMSampleBufferGetImageBuffer(buffer) { lock.withLock { newest = image } }
    }
    func onFrameReceived(frame: RTCVideoFrame) -> RTCVideoFrame? {
      lock.withLock { newest }.map {
        RTCVideoFrame(buffer: RTCCVPixelBuffer(pixelBuffer: $0), rotation: ._0, timeStampNs: frame.timeStampNs)
      }
    }
  }
}
