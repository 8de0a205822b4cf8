// Cameras, the screen and views (`koine port --to call-agent`): the same file for every app.
import AVFoundation
import AzureCommunicationCalling
import Foundation
import UIKit

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

  // MARK: Views

  /// Shows a participant's video, also that which comes after a pause.
  func show(_ view: AzureVideoView, _ kind: AzureStream.Kind, of person: String) {
    let owner = person == localParticipant.id ? localParticipant : participants[person]
    if let old = views.updateValue(view, forKey: "\(person) \(kind)"), old !== view { old.show(nil) }
    view.show(owner?.streams["\(kind)"]?.source)
  }
  func hide(_ view: AzureVideoView, _ stream: String) {
    guard views[stream] === view else { return }
    views[stream] = nil
    view.show(nil)
  }
}

/// A view that shows one stream after the other. The SDK makes a view for each, and one at a time.
final class AzureVideoView: UIView {
  private var renderer: VideoStreamRenderer?, picture: RendererView?, source: CallVideoStream?
  private var scaling: ScalingMode { contentMode == .scaleAspectFill ? .crop : .fit }
  override var contentMode: UIView.ContentMode { didSet { picture?.update(scalingMode: scaling) } }
  nonisolated func show(_ new: CallVideoStream?) {
    MainActor.assumeIsolated { if new !== source { set(new) } }
  }
  private func set(_ new: CallVideoStream?) {
    picture?.removeFromSuperview()
    renderer?.dispose()
    (source, picture) = (new, nil)
    renderer =
      try? (new as? RemoteVideoStream).map { try VideoStreamRenderer(remoteVideoStream: $0) }
      ?? (new as? LocalVideoStream).map { try VideoStreamRenderer(localVideoStream: $0) }
    guard let view = try? renderer?.createView(withOptions: CreateViewOptions(scalingMode: scaling)) else { return }
    (picture, view.frame, view.autoresizingMask) = (view, bounds, [.flexibleWidth, .flexibleHeight])
    addSubview(view)
  }
}
