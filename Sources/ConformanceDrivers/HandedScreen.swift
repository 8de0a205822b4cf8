import AzureCommunicationCalling
import Koine
import KoineCoreVideo

/// The machine's screen, as an app of this style shows it: picture by picture.
final class HandedScreen: NSObject, ScreenShareOutgoingVideoStreamDelegate, Sendable {
  let stream: ScreenShareOutgoingVideoStream
  private let source: any VideoSource
  private let lane: Lane

  init(_ world: World) throws {
    source = try Devices.camera(world.devices.screen)
    lane = world.backend.scheduler.lane("handed screen")
    let format = VideoStreamFormat()
    format.resolution = .p360
    let options = RawOutgoingVideoStreamOptions()
    options.formats = [format]
    stream = ScreenShareOutgoingVideoStream(videoStreamOptions: options)
    super.init()
    stream.delegate = self
  }

  deinit { source.stop() }

  func screenShareOutgoingVideoStream(
    _ stream: ScreenShareOutgoingVideoStream, didChangeState args: VideoStreamStateChangedEventArgs
  ) {
    guard stream.state == .started else { return source.stop() }
    try? source.start(on: lane) { [weak stream] picture in
      let frame = RawVideoFrameBuffer()
      frame.buffer = CVPixelBuffer(picture)
      stream?.send(frame: frame) { _ in }  // one that comes too late is no trouble
    }
  }
}
