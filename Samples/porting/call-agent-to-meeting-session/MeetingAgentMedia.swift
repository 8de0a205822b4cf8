// Cameras and ends of layers read from the call agent style, in a meeting: the same for every app.
import AVFoundation
import AmazonChimeSDK
import CoreVideo
import Foundation

extension MeetingCall {
  /// In bytes.
  static let messageLimit = 2_048
  /// Whether it is the meeting with this id, or with this id of the app's server.
  func isIn(_ room: String) -> Bool {
    [session.configuration.meetingId, session.configuration.externalMeetingId].contains(room)
  }
  /// Why the call is over, in the numbers of a call agent.
  var numbersOfEnd: (Int32, Int32) {
    switch code {
    case .audioServerHungup: (0, 5300)
    case .audioJoinedFromAnotherDevice: (0, 5000)
    case .audioDisconnected: (490, 0)
    case .audioAuthenticationRejected: (401, 0)
    case .audioCallAtCapacity: (403, 0)
    case .audioCallEnded: (404, 0)
    case nil, .ok: (0, 0)
    default: (500, 0)
    }
  }
  /// Shares pictures of the app's instead of its screen.
  func share(_ frames: MeetingFeed) {
    guard screen == nil, hasEntered, !isOver else { return report(.failed(.screen)) }
    screen = frames
    startShare(frames)
  }
}

extension MeetingFailure {
  /// The error of a camera or of a share, if it is about that.
  func ofVideo(isCamera: Bool) -> MeetingAgent.Failure? { self == .screen && !isCamera ? .notSent : nil }
}

extension MeetingAgent.Device {
  var type: MediaDeviceType {
    switch position {
    case .front: .videoFrontCamera
    case .back: .videoBackCamera
    default: .other
    }
  }
}

extension MeetingAgent {
  /// A camera, or pictures of the app's, for views and for the meeting. The camera runs as long as one of them needs it.
  final class Source: CaptureSourceObserver, @unchecked Sendable {
    private let camera: DefaultCameraCaptureSource?, feed = MeetingFeed()
    private var screens: [Screen] = [], isRunning = false, hasStarted = false
    private weak var call: MeetingCall?
    private var failed: ((Failure) -> Void)?
    private var frames: any VideoSource { camera ?? feed }

    init(camera device: Device?) {
      camera = device.map { _ in DefaultCameraCaptureSource(logger: ConsoleLogger(name: "camera", level: .OFF)) }
      device.map(choose)
    }
    func choose(_ device: Device) { camera?.device = MediaDevice(label: device.name, type: device.type) }
    func push(_ picture: CVPixelBuffer) { feed.push(picture) }
    func attach(_ screen: Screen) -> Bool {
      screens.append(screen)
      frames.addVideoSink(sink: screen)
      run()
      return true
    }
    func detach(_ screen: Screen) {
      frames.removeVideoSink(sink: screen)
      screens.removeAll { $0 === screen }
      rest()
    }
    func start(in call: MeetingCall, failed: @escaping (Failure) -> Void) {
      let isDenied = AVCaptureDevice.authorizationStatus(for: .video) == .denied
      (self.call, self.failed) = (call, { failed(isDenied ? .cameraDenied : $0) })
      guard camera != nil else { return call.share(feed) }
      if hasStarted { call.media.startLocalVideo(source: frames) } else { run() }
    }
    func stop() {
      guard let call else { return rest() }
      (self.call, failed) = (nil, nil)
      if camera == nil { call.setStream(kind: .screen, isOn: false) }
      if camera != nil, !call.isOver { call.media.stopLocalVideo() }
      rest()
    }
    private func run() {
      guard let camera, !isRunning else { return }
      isRunning = true
      camera.addCaptureSourceObserver(observer: self)
      camera.start()
    }
    private func rest() { if screens.isEmpty, call == nil { halt() } }
    private func halt() {
      guard let camera, isRunning else { return }
      (isRunning, hasStarted) = (false, false)
      camera.removeCaptureSourceObserver(observer: self)
      camera.stop()
    }
    func captureDidStart() {
      hasStarted = true
      if let call, !call.isOver { call.media.startLocalVideo(source: frames) }
    }
    func captureDidStop() {}
    func captureDidFail(error: CaptureSourceError) {
      halt()
      for screen in screens { screen.didFail?() }
      failed?(.camera)
    }
  }
}
