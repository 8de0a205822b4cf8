// Cameras and the screen (`koine port --to call-agent`): the same file for every app.
import AVFoundation
import AzureCommunicationCalling

extension AzureCall {
  func setStream(kind: AzureStream.Kind, isOn: Bool) {
    if isOn { wanted.insert(kind) } else { wanted.remove(kind) }
    guard let call, hasEntered, !isOver else { return }
    switch (kind, isOn) {
    case (.microphone, _) where !hasMicrophone: if isOn { fail(.microphone, isDenied: true) }
    case (.microphone, true): call.unmuteOutgoingAudio { _ in }
    case (.microphone, false): call.muteOutgoingAudio { _ in }
    case (.camera, true):
      AVCaptureDevice.requestAccess(for: .video) { [weak self] isGranted in
        self?.onMain { isGranted ? $0.startCamera() : $0.fail(.camera, isDenied: true) }
      }
    case (.screen, true): if screen == nil { share() }
    case (_, false): withdraw(kind)
    }
  }
  private func device(on side: CameraFacing) -> VideoDeviceInfo? {
    let cameras = devices?.cameras ?? []
    return cameras.first { $0.cameraFacing == side } ?? cameras.first
  }
  private func startCamera() {
    guard let call, !isOver, wanted.contains(.camera), camera == nil else { return }
    guard let device = device(on: side) else { return fail(.camera) }
    let new = LocalVideoStream(camera: device)
    (camera, new.delegate) = (new, self)
    call.startVideo(stream: new) { [weak self] error in
      self?.onMain { if $0.camera === new { error == nil ? $0.update() : $0.fail(.camera) } }
    }
  }
  func switchCamera() {
    side = side == .front ? .back : .front
    guard let camera, let device = device(on: side) else { return }
    camera.switchSource(camera: device) { [weak self] error in if error != nil { self?.onMain { $0.fail(.camera) } } }
  }
  private func share() {
    let new = AzureCapture(.screen, in: self)
    screen = new
    new.start { [weak self, weak new] error in
      self?.onMain { if error != nil, $0.screen === new { $0.fail(.screen) } }
    }
  }
  private func withdraw(_ kind: AzureStream.Kind) {
    let streams: [OutgoingVideoStream?] = kind == .camera ? [camera, feed?.stream] : [screen?.stream]
    if kind == .camera { (camera, feed) = (nil, nil) } else { screen = nil }
    for stream in streams.compactMap(\.self) { call?.stopVideo(stream: stream) { _ in } }
    update()
  }
  func fail(_ kind: AzureStream.Kind, isDenied: Bool = false) {
    guard !isOver else { return }
    wanted.remove(kind)
    if kind.isVideo { withdraw(kind) }
    switch kind {
    case .microphone: report(.failed(isDenied ? .microphoneDenied : .microphone))
    case .camera: report(.failed(isDenied ? .cameraDenied : .camera))
    case .screen: report(.failed(.screen))
    }
  }
}
