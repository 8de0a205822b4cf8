#sourceLocation(file: "Samples/apps/stage-strategy/ScreenShare.swift", line: 1)
import AVFoundation
import AmazonIVSBroadcast

/// A source of pictures of the screen. On a telephone this is ReplayKit's `RPScreenRecorder`.
protocol ScreenRecorder: AnyObject {
  /// - Parameter handler: takes each picture, on any thread.
  func startCapture(handler: @escaping (CMSampleBuffer) -> Void)
  func stopCapture()
}

/// A screen that is shared in the camera's place.
///
/// A stage takes one picture from each participant and knows no screen beside a camera, so a custom image source stands in
/// for the camera while the screen is shared. The SDK repeats the last picture until there is a newer one.
final class ScreenShare {
  let stream: IVSLocalStageStream
  private let recorder: any ScreenRecorder

  init(recorder: any ScreenRecorder) throws {
    self.recorder = recorder
    let source = IVSDeviceDiscovery().createImageSource(withName: "screen")
    let configuration = IVSLocalStageStreamConfiguration()
    try configuration.video.setSize(CGSize(width: 1_280, height: 720))
    stream = IVSLocalStageStream(device: source, config: configuration)
    recorder.startCapture { source.onSampleBuffer($0) }
  }

  deinit {
    recorder.stopCapture()
  }
}
