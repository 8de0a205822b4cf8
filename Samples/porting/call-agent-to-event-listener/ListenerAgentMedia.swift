// Cameras, views and ends of layers read from the call agent style, in a VideoSDK meeting: the same for every app.
import AVFoundation
import CoreVideo
import Foundation
import UIKit
import VideoSDKRTC
import WebRTC

extension ListenerCall {
  /// In bytes.
  static let messageLimit = 15_360
  func isIn(_ room: String) -> Bool { meeting.id == room }
  /// Why the call is over, in the numbers of a call agent.
  var numbersOfEnd: (Int32, Int32) {
    switch (reason, failure) {
    case (.removePeer, _), (.removeAll, _), (.removePeerApi, _): (0, 5300)
    case (.duplicateParticipant, _): (0, 5000)
    case (nil, _), (.manualLeaveCalled, _), (.roomClose, _), (.meetingEndApi, _): (0, 0)
    case (.websocketDisconnected, _), (.websocketConnectionAttemptsExhausted, _): (490, 0)
    case (_, .INVALID_API_KEY), (_, .INVALID_TOKEN): (401, 0)
    case (_, .INVALID_PERMISSIONS), (_, .MAX_PARTCIPANT_REACHED): (403, 0)
    case (_, .INVALID_MEETING_ID): (404, 0)
    default: (500, 0)
    }
  }
}

extension [AVCaptureDevice] {
  /// A meeting changes between the front and the back camera. Other cameras are listed only if it has neither.
  var sided: Self {
    let sided = filter { $0.position != .unspecified }
    return sided.isEmpty ? self : sided
  }
}

extension VideoSDKError {
  /// The error of a camera or of a share, if it is about that.
  func ofVideo(isCamera: Bool) -> ListenerAgent.Failure? {
    switch self {
    case .ERROR_GET_VIDEO_MEDIA: isCamera ? .camera : nil
    case .ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED: isCamera ? .cameraDenied : nil
    case .ERROR_GET_DISPLAY_MEDIA, .ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED: isCamera ? nil : .notSent
    default: nil
    }
  }
}

extension MediaStream {
  func attach(view: ListenerAgent.Screen) { (track as? RTCVideoTrack)?.add(view.view) }
  func detach(view: ListenerAgent.Screen) { (track as? RTCVideoTrack)?.remove(view.view) }
}

extension ListenerAgent {
  /// The camera, or the screen of the device. The SDK has the pictures of both: views show the camera while the meeting sends it, and
  /// the screen takes the place of pictures of the app's.
  final class Source: @unchecked Sendable {  // used on the main queue only
    private var camera: Device?
    private var screens: [Screen] = []
    private weak var call: ListenerCall?
    private var side: AVCaptureDevice.Position { camera?.position == .back ? .back : .front }

    init(camera: Device?) { self.camera = camera }
    func choose(_ camera: Device) {
      self.camera = camera
      guard let call, let old = call.side, old != side else { return }
      call.side = side
      call.meeting.switchWebcam()
    }
    /// The screen shows what is shared.
    func push(_ picture: CVPixelBuffer) {}
    func attach(_ screen: Screen) -> Bool {
      screens.append(screen)
      show(screen)
      return true
    }
    func detach(_ screen: Screen) {
      screens.removeAll { $0 === screen }
      if let call { call.hide(screen.view, .camera, of: call.localParticipant.id) }
    }
    private func show(_ screen: Screen) {
      if let call { call.show(screen.view, .camera, of: call.localParticipant.id) }
    }
    /// - Parameter failed: not called: the meeting reports what fails.
    func start(in call: ListenerCall, failed: @escaping (Failure) -> Void) {
      self.call = call
      guard camera != nil else { return call.setStream(kind: .screen, isOn: true) }
      call.side = side
      for screen in screens { show(screen) }
      let track = try? VideoSDK.createCameraVideoTrack(
        encoderConfig: .h720p_w1280p, facingMode: side, multiStream: true)
      call.meeting.enableWebcam(customVideoStream: track)
    }
    func stop() {
      guard let call else { return }
      for screen in screens { call.hide(screen.view, .camera, of: call.localParticipant.id) }
      if camera != nil { call.side = nil }
      call.setStream(kind: camera == nil ? .screen : .camera, isOn: false)
      self.call = nil
    }
  }

  /// A view, and the size of what it shows.
  final class Screen: NSObject, RTCVideoViewDelegate {
    let view: RTCMTLVideoView
    var sizeHandler: ((Int32, Int32) -> Void)?, didFail: (() -> Void)?
    init(_ mode: UIView.ContentMode) {
      view = RTCMTLVideoView(frame: .zero)
      super.init()
      view.videoContentMode = mode
      view.delegate = self
    }
    func clear() { view.renderFrame(nil) }
    func videoView(_ videoView: any RTCVideoRenderer, didChangeVideoSize size: CGSize) {
      sizeHandler?(Int32(size.width), Int32(size.height))
    }
  }
}
