// What layers that `koine port` writes need for videos: the same file for every app.
import CoreVideo
import Foundation
import Koine
import KoineBackends

/// A frame of the app's.
final class RoomFrame { var buffer: CVPixelBuffer? }

/// A camera, or frames of the app's as a shared screen. Used on the main queue only, as is all of this file.
final class RoomVideo: @unchecked Sendable {
  let isCamera: Bool
  private(set) var device: Machine.Device
  private(set) var isSent = false
  var isOver: Bool { published?.isOver ?? true }
  var handler: ((RoomVideo) -> Void)?
  let format: VideoFormat
  private let world: World?, shared: SharedCamera?, feed: VideoFeed
  private var published: LocalStream?, completion: RoomDone?

  init(camera: Machine.Device) {
    (isCamera, device, world) = (true, camera, try? Backends.world())
    (format, feed) = (VideoFormat(), VideoFeed())
    shared = world.flatMap { world in (try? world.machine.makeCamera(camera.id)).map { SharedCamera($0, in: world) } }
  }
  init(formats: [VideoFormat]) {
    format = formats.first ?? VideoFormat()
    (isCamera, world, shared, feed) = (false, try? Backends.world(), nil, VideoFeed(format: format))
    device = Machine.Device(id: "frames", kind: .camera, name: "Frames", attachment: .virtual, source: "")
  }
  /// Goes on with another camera, wherever the video is shown and sent.
  func choose(camera: Machine.Device, completion: @escaping RoomDone) {
    do {
      guard let world, let shared else { throw Failure(.camera, "there is no such camera") }
      shared.replace(try world.machine.makeCamera(camera.id))
      if let failure = shared.failure { throw Failure(.camera, "\(failure)") }
      device = camera
      world.tell(completion)
    } catch { world?.tell(completion, error) }
  }
  func send(_ frame: RoomFrame, completion: @escaping RoomDone) {
    let picture = world.flatMap { frame.buffer?.videoFrame(captured: $0.backend.scheduler.now) }
    if isSent, let picture { feed.push(picture) }
    world?.tell(completion, isSent && picture != nil ? nil : Failure(.wrongState, "the video is not sent"))
  }
  func start(in session: Session, _ completion: @escaping RoomDone) {
    do {
      if isCamera, shared == nil { throw Failure(.camera, "there is no such camera") }
      if let failure = shared?.failure, session.state != .connected { throw failure }
      let lower = isCamera ? [VideoLayer.small] : []
      published = try session.publish(
        camera: shared?.makeSource() ?? feed, as: isCamera ? .camera : .screen, options: .init(lowerLayers: lower))
      self.completion = completion
    } catch { world?.tell(completion, error) }
  }
  func isOf(_ track: Track) -> Bool { published?.id == track.id }
  func started() { change(true, nil) }
  func stop(_ error: (any Error)? = nil) {
    published?.unpublish()
    change(false, error)
  }
  private func change(_ isSent: Bool, _ error: (any Error)?) {
    completion?(error)
    completion = nil
    guard isSent != self.isSent else { return }
    self.isSent = isSent
    handler?(self)
  }
  func attach(_ view: any VideoSink) -> Bool {
    shared?.addSink(view)
    return shared?.failure == nil && shared != nil
  }
  func detach(_ view: any VideoSink) { shared?.removeSink(view) }
}
