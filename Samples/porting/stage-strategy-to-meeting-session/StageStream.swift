// Streams, devices and errors of layers read from the stage strategy style, in a meeting: the same for every app.
import AmazonChimeSDK
import CoreMedia
import Foundation
import UIKit

/// What a stage reports. Streams stay while they are muted.
enum StageReport {
  case phaseChanged(MeetingPhase, (any Error)?), failed(MeetingStream.Kind?, any Error)
  case personJoined(MeetingPerson), personLeft(MeetingPerson), publishingChanged(MeetingPerson)
  case streamAdded(StageStream, MeetingPerson), streamRemoved(StageStream, MeetingPerson)
  case streamMuted(StageStream, MeetingPerson)
}

/// A stream that is received, or that the app can send.
final class StageStream: Equatable, @unchecked Sendable {  // used on the main queue only
  let kind: MeetingStream.Kind
  private(set) var id = UUID().uuidString
  var isMuted = false
  private(set) var levelHandler: ((Float) -> Void)?
  /// Called when the app mutes or unmutes a stream that is sent.
  var muteHandler: ((StageStream) -> Void)?
  private weak var call: MeetingCall?
  private var device: StageDevice?, feed: StageFeed?, options = StageVideo(), isSent = false

  init(_ kind: MeetingStream.Kind, of person: String, in call: MeetingCall, isMuted: Bool) {
    (self.kind, self.call, self.isMuted) = (kind, call, isMuted)
    id = person + (kind == .screen ? "#content" : kind == .microphone ? "#sound" : "")
  }
  init(device: StageDevice, configuration: StageVideo = StageVideo()) {
    (kind, self.device, options) = (device.kind, device, configuration)
  }
  init(device: StageFeed, config: StageVideo) { (kind, feed, options) = (.camera, device, config) }

  static func == (one: StageStream, other: StageStream) -> Bool { one === other }
  /// The devices that it can come from.
  var sources: [StageDevice] { StageDevice.all.first { $0.kind == kind }?.sources ?? [] }
  /// With the steps of a meeting's volumes, in dBov.
  func setLevelHandler(_ handler: ((Float) -> Void)?) { levelHandler = handler }
  func setMuted(_ isMuted: Bool) {
    self.isMuted = isMuted
    guard isSent else { return }
    send(!isMuted)
    muteHandler?(self)
  }
  func makeView(with mode: UIView.ContentMode = .scaleAspectFit) -> DefaultVideoRenderView {
    let view = DefaultVideoRenderView(frame: .zero)
    view.contentMode = mode
    call?.show(view, id)
    return view
  }
  /// - Returns: whether the user has allowed the device.
  func start(in call: MeetingCall) -> Bool {
    (self.call, isSent) = (call, true)
    device?.call = call
    if kind == .camera { id = call.localParticipant.id }
    return isMuted || send(true)
  }
  func stop() {
    isSent = false
    send(false)
  }
  @discardableResult private func send(_ isOn: Bool) -> Bool {
    guard let media = call?.media else { return true }
    let video = LocalVideoConfiguration(maxBitRateKbps: UInt32(options.maximumBitrate / 1_000), simulcastEnabled: true)
    switch (kind, feed) {
    case (.microphone, _): return isOn ? media.realtimeLocalUnmute() : media.realtimeLocalMute()
    case (_, let feed?) where isOn: media.startLocalVideo(source: feed, config: video)
    case (_, nil) where isOn:
      device?.turn()
      do { try media.startLocalVideo(config: video) } catch { return false }
    default: media.stopLocalVideo()
    }
    return true
  }
}

/// A camera or a microphone. The meeting uses the microphone that the system has chosen.
final class StageDevice {
  let kind: MeetingStream.Kind, name: String
  private(set) var type: MediaDeviceType
  weak var call: MeetingCall?
  private init(_ kind: MeetingStream.Kind, _ name: String, _ type: MediaDeviceType) {
    (self.kind, self.name, self.type) = (kind, name, type)
  }
  private static var cameras: [StageDevice] {
    MediaDevice.listVideoDevices().map { StageDevice(.camera, $0.label, $0.type) }
  }
  static var all: [StageDevice] {
    let camera = cameras.first { $0.type == .videoFrontCamera } ?? cameras.first
    return [camera, StageDevice(.microphone, "microphone", .audioBuiltInSpeaker)].compactMap { $0 }
  }
  /// The devices that can be used in its place.
  var sources: [StageDevice] { kind == .camera ? Self.cameras : [self] }
  func choose(_ source: StageDevice, completion: ((any Error)?) -> Void = { _ in }) {
    type = source.type
    turn()
    completion(nil)
  }
  /// Has the meeting use this side of the camera.
  func turn() {
    if kind == .camera, let media = call?.media, media.getActiveCamera()?.type != type { media.switchCamera() }
  }
}

/// Pictures of the app's own.
final class StageFeed: VideoSource, @unchecked Sendable {  // `sinks` is guarded
  var videoContentHint = VideoContentHint.text
  private let lock = NSLock()
  private var sinks: [any AmazonChimeSDK.VideoSink] = []
  func addVideoSink(sink: any AmazonChimeSDK.VideoSink) { lock.withLock { sinks.append(sink) } }
  func removeVideoSink(sink: any AmazonChimeSDK.VideoSink) { lock.withLock { sinks.removeAll { $0 === sink } } }
  func push(_ buffer: CMSampleBuffer) {
    guard let image = CMSampleBufferGetImageBuffer(buffer) else { return }
    let time = Int64(DispatchTime.now().uptimeNanoseconds)
    let frame = VideoFrame(timestampNs: time, rotation: .rotation0, buffer: VideoFramePixelBuffer(pixelBuffer: image))
    for sink in lock.withLock({ sinks }) { sink.onVideoFrameReceived(frame: frame) }
  }
}
