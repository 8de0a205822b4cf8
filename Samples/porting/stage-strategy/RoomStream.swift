// Streams and devices of layers in the stage strategy style (`koine port --to koine`): the same for every app.
import CoreMedia
import CoreVideo
import Foundation
import Koine
import KoineBackends
import UIKit

/// A track that is received, or that the app can publish.
@dynamicMemberLookup final class RoomStream: Equatable {
  var track: Track, isReported = false
  /// The device that it was made with, and its name.
  let device: Machine.Device?
  var name: String { device?.name ?? "" }
  private(set) var levelHandler: ((Float) -> Void)?
  private weak var session: Session?
  private var local: LocalStream?
  private let options: VideoPublishOptions, feed: VideoFeed?
  subscript<Value>(dynamicMember path: KeyPath<Track, Value>) -> Value { track[keyPath: path] }

  init(
    _ track: Track, in session: Session?, options: VideoPublishOptions = .init(), feed: VideoFeed? = nil,
    device: Machine.Device? = nil
  ) {
    (self.track, self.session, self.options, self.feed, self.device) = (track, session, options, feed, device)
  }
  convenience init(device: Machine.Device, configuration: VideoPublishOptions = VideoPublishOptions()) {
    let kind = device.kind == .camera ? Track.Kind.camera : .microphone
    let track = Track(id: Track.ID(participant: "", track: device.id), kind: kind)
    self.init(track, in: nil, options: configuration, device: device)
  }
  convenience init(device: Machine.Device, config: VideoPublishOptions) {
    self.init(device: device, configuration: config)
  }
  convenience init(device: VideoFeed, config: VideoPublishOptions = .init()) {
    let track = Track(id: Track.ID(participant: "", track: UUID().uuidString), kind: .camera)
    self.init(track, in: nil, options: config, feed: device)
  }
  static func == (one: RoomStream, other: RoomStream) -> Bool { one === other }
  /// In dBov, several times a second.
  func setLevelHandler(_ handler: ((Float) -> Void)?) { levelHandler = handler }
  /// The devices that it can come from.
  var sources: [Machine.Device] {
    (try? Backends.world())?.machine.devices(track.kind.isVideo ? .camera : .microphone) ?? []
  }
  func setMuted(_ isMuted: Bool) {
    track.isMuted = isMuted
    local?.setMuted(isMuted)
  }
  func makeView(with mode: UIView.ContentMode = .scaleAspectFit) -> VideoView {
    let view = VideoView(frame: .zero)
    view.contentMode = mode
    session?.attach(view, to: track.id)
    return view
  }
  /// - Returns: why it cannot be published; nil if it can.
  func publish(in session: Session) -> Failure? {
    do {
      let machine = session.world.machine
      let local =
        track.kind == .microphone
        ? try session.publish(microphone: machine.makeMicrophone(), options: AudioPublishOptions(bitrate: 64_000))
        : try publish(feed ?? machine.makeCamera(), in: session)
      if track.isMuted { local.setMuted(true) }
      (self.local, self.session) = (local, session)
      track = Track(id: local.id, kind: track.kind, isMuted: track.isMuted)
      return nil
    } catch { return error as? Failure ?? Failure(.device, "\(error)") }
  }
  /// Sizes are meant for a camera that is held upright.
  private func publish(_ source: any VideoSource, in session: Session) throws -> LocalStream {
    var options = options
    if (source.format.width > source.format.height) != (options.maximumWidth > options.maximumHeight) {
      (options.maximumWidth, options.maximumHeight) = (options.maximumHeight, options.maximumWidth)
    }
    return try session.publish(camera: source, options: options)
  }
  func unpublish() { local.take()?.unpublish() }
}

extension Machine.Device {
  /// The camera and the microphone that are in use.
  static var all: [Machine.Device] {
    guard let machine = (try? Backends.world())?.machine else { return [] }
    return [Machine.Kind.camera, .microphone].compactMap { machine.current($0) }
  }
  /// The devices that can be used in its place.
  var sources: [Machine.Device] { (try? Backends.world())?.machine.devices(kind) ?? [] }
  func choose(_ source: Machine.Device, completion: ((any Error)?) -> Void = { _ in }) {
    let isChosen = (try? Backends.world())?.machine.choose(source.id) == true
    completion(isChosen ? nil : RoomFault.device.error("there is no \(source.name)"))
  }
}

extension VideoFeed {
  /// Publishes a picture; on any thread.
  func push(_ buffer: CMSampleBuffer) {
    guard let now = (try? Backends.world())?.backend.scheduler.now else { return }
    if let frame = CMSampleBufferGetImageBuffer(buffer)?.videoFrame(captured: now) { push(frame) }
  }
}

extension SessionOptions { static let ofStage = Self(subscribesToEverything: false) }
