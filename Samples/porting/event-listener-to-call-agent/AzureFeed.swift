// The shared screen, and pictures of the app's own (`koine port --to call-agent`): the same file for every app.
import AzureCommunicationCalling
import Foundation
import ReplayKit

/// Pictures of the app's own, as a shared screen or in the camera's place. The first of them says the size of the stream.
class AzureFeed: NSObject, @unchecked Sendable {  // used on the main queue only
  private(set) var stream: RawOutgoingVideoStream?
  private let kind: AzureStream.Kind
  private weak var call: AzureCall?
  private var newest: CVPixelBuffer?
  private var isSent: Bool { kind == .screen ? call?.screen === self : call?.feed === self }

  init(_ kind: AzureStream.Kind, in call: AzureCall?) { (self.kind, self.call) = (kind, call) }
  override convenience init() { self.init(.camera, in: nil) }
  func enter(_ call: AzureCall) {
    (self.call, stream) = (call, nil)
    if let newest { add(newest) }
  }
  func add(_ picture: CVPixelBuffer) {
    newest = picture
    if stream != nil { return send() }
    guard let call = call?.call, isSent else { return }
    let format = VideoStreamFormat(), options = RawOutgoingVideoStreamOptions()
    (format.width, format.height) = (Int32(CVPixelBufferGetWidth(picture)), Int32(CVPixelBufferGetHeight(picture)))
    let stride = { Int32(CVPixelBufferGetBytesPerRowOfPlane(picture, $0)) }
    (format.pixelFormat, format.stride1, format.stride2, format.framesPerSecond) = (.nv12, stride(0), stride(1), 15)
    options.formats = [format]
    let new = kind == .screen ? shared(options) : virtual(options)
    stream = new
    call.startVideo(stream: new) { [weak self] error in
      self?.call?.onMain { [weak self] in if error != nil, let self, isSent { $0.fail(kind) } }
    }
  }
  private func shared(_ options: RawOutgoingVideoStreamOptions) -> RawOutgoingVideoStream {
    let new = ScreenShareOutgoingVideoStream(videoStreamOptions: options)
    new.delegate = self
    return new
  }
  private func virtual(_ options: RawOutgoingVideoStreamOptions) -> RawOutgoingVideoStream {
    let new = VirtualOutgoingVideoStream(videoStreamOptions: options)
    new.delegate = self
    return new
  }
  private func send() {
    guard let stream, let newest, stream.state == .started else { return }
    let frame = RawVideoFrameBuffer()
    (frame.buffer, frame.streamFormat, frame.timestampInTicks) = (newest, stream.format, stream.timestampInTicks)
    stream.send(frame: frame) { _ in }
  }
  private func changed() {
    call?.onMain { [weak self] in
      self?.send()
      $0.update()
    }
  }
}
extension AzureFeed: ScreenShareOutgoingVideoStreamDelegate, VirtualOutgoingVideoStreamDelegate {
  func screenShareOutgoingVideoStream(
    _ screenShareOutgoingVideoStream: ScreenShareOutgoingVideoStream,
    didChangeState args: VideoStreamStateChangedEventArgs
  ) { changed() }
  func virtualOutgoingVideoStream(
    _ virtualOutgoingVideoStream: VirtualOutgoingVideoStream, didChangeState args: VideoStreamStateChangedEventArgs
  ) { changed() }
}

/// The screen, captured for as long as the object is there. The SDK has no capture of its own.
final class AzureCapture: AzureFeed, @unchecked Sendable {
  private let recorder = RPScreenRecorder.shared()
  deinit { recorder.stopCapture { _ in } }
  func start(_ completion: @escaping @Sendable ((any Error)?) -> Void) {
    recorder.startCapture(
      handler: { [weak self] sample, type, _ in
        guard type == .video, let picture = CMSampleBufferGetImageBuffer(sample) else { return }
        DispatchQueue.main.async { [weak self] in self?.add(picture) }
      }, completionHandler: completion)
  }
}
