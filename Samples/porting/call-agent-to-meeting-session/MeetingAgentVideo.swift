// What layers read from the call agent style need for videos (`koine port --to meeting-session`): the same for every app.
import AVFoundation
import AmazonChimeSDK
import CoreVideo
import Foundation

extension MeetingAgent {
  /// A camera. Two values are of one camera if their ids are equal.
  struct Device: Sendable {
    let id, name: String, position: AVCaptureDevice.Position
    init(_ camera: AVCaptureDevice) { (id, name, position) = (camera.uniqueID, camera.localizedName, camera.position) }
    /// Frames of the app's in a camera's place.
    init() { (id, name, position) = ("frames", "Frames", .unspecified) }
  }

  /// The cameras, and which of them come and go.
  final class Machine: @unchecked Sendable {
    private let session = AVCaptureDevice.DiscoverySession(
      deviceTypes: [.builtInWideAngleCamera, .external], mediaType: .video, position: .unspecified)
    private var known: [AVCaptureDevice] = [], tokens: [any NSObjectProtocol] = []
    private var handler: (((added: [Device], removed: [Device])) -> Void)?
    private var present: [AVCaptureDevice] {
      session.devices
    }
    var cameras: [Device] { present.map(Device.init) }
    func observe(_ handler: @escaping ((added: [Device], removed: [Device])) -> Void) {
      if self.handler == nil {
        known = present
        for name in [AVCaptureDevice.wasConnectedNotification, AVCaptureDevice.wasDisconnectedNotification] {
          tokens.append(
            NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { [weak self] note in
              if (note.object as? AVCaptureDevice)?.hasMediaType(.video) == true { self?.changed() }
            })
        }
      }
      self.handler = handler
    }
    private func changed() {
      let before = known
      known = present
      let lost = before.filter { !known.contains($0) }, added = known.filter { !before.contains($0) }
      if !lost.isEmpty || !added.isEmpty { handler?((added: added.map(Device.init), removed: lost.map(Device.init))) }
    }
    deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }
  }

  struct Format: Sendable { var width = 1_280, height = 720, framesPerSecond = 30 }

  /// A frame of the app's.
  final class Frame { var buffer: CVPixelBuffer? }

  /// A camera, or frames of the app's as a shared screen.
  final class Video: @unchecked Sendable {
    let isCamera: Bool, format: Format, source: Source
    private(set) var device = Device(), isSent = false
    var handler: ((Video) -> Void)?
    private var completion: Done?

    init(camera: Device) {
      (isCamera, format, source) = (true, Format(), Source(camera: camera))
      device = camera
    }
    init(formats: [Format]) {
      (isCamera, format, source) = (false, formats.first ?? Format(), Source(camera: nil))
    }
    /// Goes on with another camera, wherever the video is shown and sent.
    func choose(camera: Device, completion: @escaping Done) {
      device = camera
      source.choose(camera)
      onMain { completion(nil) }
    }
    func send(_ frame: Frame, completion: @escaping Done) {
      let isSent = isSent && frame.buffer != nil
      if isSent, let buffer = frame.buffer { source.push(buffer) }
      onMain { completion(isSent ? nil : Failure.notSent) }
    }
    /// - Parameter completion: called once the call has the stream.
    func start(in call: MeetingCall, _ completion: @escaping Done) {
      self.completion = completion
      source.start(in: call) { [weak self] failure in self?.stop(failure) }
    }
    func started() { change(true, nil) }
    func stop(_ error: (any Error)? = nil) {
      source.stop()
      change(false, error)
    }
    private func change(_ isSent: Bool, _ error: (any Error)?) {
      completion?(error)
      completion = nil
      guard isSent != self.isSent else { return }
      self.isSent = isSent
      handler?(self)
    }
  }
}
