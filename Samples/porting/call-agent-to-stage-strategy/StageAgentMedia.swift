// Cameras and ends of layers read from the call agent style, on a stage: the same for every app.
import AVFoundation
import AmazonIVSBroadcast
import CoreMedia
import CoreVideo
import Foundation

extension StageCall {
  /// Why the call is over, in the numbers of a call agent.
  var numbersOfEnd: (Int32, Int32) {
    switch (reason, failure) {
    case (nil, _), (.left, _), (.closed, _): (0, 0)
    case (.removed, _): (0, 5300)
    case (.replaced, _): (0, 5000)
    case (.lost, _): (490, 0)
    case (_, .rejected): (401, 0)
    case (_, .full): (403, 0)
    case (_, .closed): (404, 0)
    default: (500, 0)
    }
  }
}

extension StageFailure {
  /// The error of a camera or of a share, if it is about that.
  func ofVideo(isCamera: Bool) -> StageAgent.Failure? {
    switch self {
    case .camera: isCamera ? .camera : nil
    case .cameraDenied: isCamera ? .cameraDenied : nil
    case .screen: isCamera ? nil : .notSent
    default: nil
    }
  }
}

extension StageAgent.Device {
  /// Nil: at neither side.
  var type: StageCall.Side? { position == .front ? .front : position == .back ? .back : nil }
}

extension StageAgent {
  /// A camera, or pictures of the app's, for views and for the stage.
  final class Source: NSObject, IVSErrorDelegate, @unchecked Sendable {  // used on the main queue only
    private let discovery = IVSDeviceDiscovery()
    private var device: Device?, camera: IVSCamera?, frames: (any IVSCustomImageSource)?, screens: [Screen] = []
    private weak var call: StageCall?

    init(camera device: Device?) {
      super.init()
      if device == nil { frames = discovery.createImageSource(withName: "screen") }
      if device != nil { camera = discovery.listLocalDevices().lazy.compactMap { $0 as? IVSCamera }.first }
      device.map(choose)
    }
    func choose(_ device: Device) {
      self.device = device
      let source = camera?.listAvailableInputSources().first { $0.friendlyName == device.name }
      if let source { camera?.setPreferredInputSource(source) }
    }
    func push(_ picture: CVPixelBuffer) {
      var (description, sample): (CMVideoFormatDescription?, CMSampleBuffer?)
      CMVideoFormatDescriptionCreateForImageBuffer(
        allocator: nil, imageBuffer: picture, formatDescriptionOut: &description)
      let now = CMTime(value: Int64(DispatchTime.now().uptimeNanoseconds), timescale: 1_000_000_000)
      var timing = CMSampleTimingInfo(duration: .invalid, presentationTimeStamp: now, decodeTimeStamp: .invalid)
      guard let description else { return }
      CMSampleBufferCreateReadyWithImageBuffer(
        allocator: nil, imageBuffer: picture, formatDescription: description, sampleTiming: &timing,
        sampleBufferOut: &sample)
      if let sample { frames?.onSampleBuffer(sample) }
    }
    /// - Returns: whether there is a camera, or there are pictures.
    func attach(_ screen: Screen) -> Bool {
      screens.append(screen)
      if call == nil { camera?.errorDelegate = self }
      screen.show(camera ?? frames)
      return camera != nil || frames != nil
    }
    func detach(_ screen: Screen) {
      screens.removeAll { $0 === screen }
      screen.show(nil)
    }
    /// - Parameter failed: not called: the call reports what fails.
    func start(in call: StageCall, failed: @escaping (Failure) -> Void) {
      self.call = call
      if let frames { return call.share(frames) }
      if let camera { (call.cameras, camera.errorDelegate) = (camera, call) }
      device.map(choose)
      call.setStream(kind: .camera, isOn: true)
    }
    func stop() {
      call?.setStream(kind: frames == nil ? .camera : .screen, isOn: false)
      call = nil
    }
    func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
      onMain { [weak self] in for screen in self?.screens ?? [] { screen.didFail?() } }
    }
  }
}
