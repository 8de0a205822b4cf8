// Devices and errors of layers read from the stage strategy style, in a meeting: the same for every app.
import AmazonChimeSDK
import CoreMedia
import Foundation

extension MeetingCall {
  func show(_ view: DefaultVideoRenderView, _ kind: MeetingStream.Kind, of person: String) {
    show(view, person + (kind == .screen ? "#content" : ""))
  }
  /// Receives these kinds of streams, by participants. Sound comes mixed.
  func receive(_ wanted: [String: Set<MeetingStream.Kind>]) {
    received = wanted
    if wanted.values.contains(where: { $0.contains(.camera) }) {
      media.startRemoteVideo()
      select()
    } else {
      media.stopRemoteVideo()
    }
  }
  /// - Returns: whether the user has allowed the device.
  func send(
    _ kind: MeetingStream.Kind, isOn: Bool, _ device: MeetingStage.Device?, _ feed: MeetingStage.Feed?,
    _ options: MeetingStage.Video
  ) -> Bool {
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
  /// Why the call is over, in the numbers of a stage. Nil: the user has left, or joins on another device.
  var fault: NSError? { code.flatMap(Self.fault) }
  static func fault(of code: MeetingSessionStatusCode) -> NSError? {
    let fault: MeetingStage.Fault? =
      switch code {
      case .ok, .audioJoinedFromAnotherDevice: nil
      case .audioAuthenticationRejected, .audioServerHungup: .refused
      case .audioCallAtCapacity: .full
      case .audioCallEnded: .closed
      case .audioDisconnected, .audioServiceUnavailable: .lost
      default: .answer
      }
    return fault?.error(code.description)
  }
}

extension MeetingFailure {
  /// The stream that it is about.
  var kind: MeetingStream.Kind? { self == .microphoneDenied ? .microphone : nil }
}

extension MeetingStage {
  /// A camera or a microphone. The meeting uses the microphone that the system has chosen.
  final class Device {
    let kind: MeetingStream.Kind, name: String
    private(set) var type: MediaDeviceType
    weak var call: MeetingCall?
    private init(_ kind: MeetingStream.Kind, _ name: String, _ type: MediaDeviceType) {
      (self.kind, self.name, self.type) = (kind, name, type)
    }
    private static var cameras: [Device] {
      MediaDevice.listVideoDevices().map { Device(.camera, $0.label, $0.type) }
    }
    static var all: [Device] {
      let camera = cameras.first { $0.type == .videoFrontCamera } ?? cameras.first
      return [camera, Device(.microphone, "microphone", .audioBuiltInSpeaker)].compactMap { $0 }
    }
    /// The devices that can be used in its place.
    var sources: [Device] { kind == .camera ? Self.cameras : [self] }
    func choose(_ source: Device, completion: ((any Error)?) -> Void = { _ in }) {
      type = source.type
      turn()
      completion(nil)
    }
    /// Has the meeting use this side of the camera.
    func turn() {
      if kind == .camera, let media = call?.media, media.getActiveCamera()?.type != type { media.switchCamera() }
    }
  }

  typealias Feed = MeetingFeed
}

extension MeetingFeed {
  func push(_ buffer: CMSampleBuffer) { if let image = CMSampleBufferGetImageBuffer(buffer) { push(image) } }
}
