// Devices and errors of layers read from the stage strategy style, in a call: the same for every app.
import AVFoundation
import AzureCommunicationCalling
import CoreMedia
import Foundation

extension AzureCall {
  private struct Answer: Decodable { let token, roomId, id, name: String }
  /// - Parameter token: what the app's server answers, as JSON: `{"token": …, "roomId": …, "id": …, "name": …}`, with the raw id of the
  ///   token's user.
  convenience init?(token: String) {
    guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(token.utf8)) else { return nil }
    self.init(
      room: answer.roomId, credential: answer.token, participantID: answer.id, name: answer.name, isMicrophoneOn: false,
      isCameraOn: false)
  }
  /// The SDK chooses the size of a camera's video.
  /// - Returns: true: the call reports a device that fails or is not allowed.
  func send(
    _ kind: AzureStream.Kind, isOn: Bool, _ device: AzureStage.Device?, _ feed: AzureStage.Feed?,
    _ options: AzureStage.Video
  ) -> Bool {
    if kind == .camera, isOn { side = device?.facing ?? side }
    guard let feed, isOn else {
      setStream(kind: kind, isOn: isOn)
      return true
    }
    setStream(kind: .camera, isOn: false)
    self.feed = feed
    feed.enter(self)
    return true
  }
  /// Why the call is over, in the numbers of a stage. Nil: the user has left.
  var fault: NSError? { reason.flatMap { Self.fault(of: $0, failure) } }
  static func fault(of reason: AzureEnd, _ failure: AzureFailure? = nil) -> NSError? {
    let fault: AzureStage.Fault? =
      switch (reason, failure) {
      case (.left, _), (_, .joinedElsewhere): nil
      case (.removed, _), (_, .rejected), (_, .forbidden): .refused
      case (.closed, _), (_, .closed): .closed
      case (.lost, _): .lost
      default: .answer
      }
    return fault?.error(failure?.rawValue ?? reason.rawValue)
  }
}

extension AzureStage {
  /// A camera or a microphone. The call uses the microphone that the system has chosen.
  final class Device {
    let kind: AzureStream.Kind, name: String
    private(set) var facing: CameraFacing
    weak var call: AzureCall?
    private init(_ kind: AzureStream.Kind, _ device: AVCaptureDevice) {
      (self.kind, name) = (kind, device.localizedName)
      facing = device.position == .front ? .front : device.position == .back ? .back : .external
    }
    private static var cameras: [Device] {
      AVCaptureDevice.DiscoverySession(
        deviceTypes: [.builtInWideAngleCamera], mediaType: .video, position: .unspecified
      ).devices.map { Device(.camera, $0) }
    }
    static var all: [Device] {
      let camera = cameras.first { $0.facing == .front } ?? cameras.first
      let microphone = AVCaptureDevice.default(for: .audio).map { Device(.microphone, $0) }
      return [camera, microphone].compactMap { $0 }
    }
    /// The devices that can be used in its place.
    var sources: [Device] { kind == .camera ? Self.cameras : [self] }
    func choose(_ source: Device, completion: ((any Error)?) -> Void = { _ in }) {
      facing = source.facing
      if kind == .camera, let call, call.side != facing { call.switchCamera() }
      completion(nil)
    }
  }

  typealias Feed = AzureFeed
}

extension AzureFeed {
  func push(_ buffer: CMSampleBuffer) {
    guard let picture = CMSampleBufferGetImageBuffer(buffer) else { return }
    DispatchQueue.main.async { [weak self] in self?.add(picture) }
  }
}
