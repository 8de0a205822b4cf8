public import Foundation
import Koine
import KoineCoreVideo

/// A received video frame and the id of its stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsrawvideoframereceivedeventargs)
public final class RawVideoFrameReceivedEventArgs: NSObject {
  public let frame: RawVideoFrame
  public let videoStreamId: Int32
  init(_ frame: RawVideoFrame, _ videoStreamId: Int32) { (self.frame, self.videoStreamId) = (frame, videoStreamId) }
}

/// Receives the frames and the state changes of a raw incoming video stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsrawincomingvideostreamdelegate)
public protocol RawIncomingVideoStreamDelegate: NSObjectProtocol {
  func rawIncomingVideoStream(
    _ rawIncomingVideoStream: RawIncomingVideoStream, didChangeState args: VideoStreamStateChangedEventArgs)
  func rawIncomingVideoStream(
    _ rawIncomingVideoStream: RawIncomingVideoStream, didReceiveRawVideoFrame args: RawVideoFrameReceivedEventArgs)
}

extension RawIncomingVideoStreamDelegate {
  public func rawIncomingVideoStream(
    _ rawIncomingVideoStream: RawIncomingVideoStream, didChangeState args: VideoStreamStateChangedEventArgs
  ) {}
  public func rawIncomingVideoStream(
    _ rawIncomingVideoStream: RawIncomingVideoStream, didReceiveRawVideoFrame args: RawVideoFrameReceivedEventArgs
  ) {}
}

/// Delivers a remote participant's video frame by frame, between `start` and `stop`. If the app is slow, older frames
/// are dropped.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsrawincomingvideostream)
public final class RawIncomingVideoStream: IncomingVideoStream, @unchecked Sendable {  // everything mutable is locked
  private let listener = Listener<any RawIncomingVideoStreamDelegate>()
  private let sink = Lock<LatestFrameSink?>(nil)

  init(_ stream: Track, id: Int32, session: Session, owner: RemoteParticipant) {
    super.init(stream, id: id, type: .rawIncoming, session: session, owner: owner)
  }

  public weak var delegate: (any RawIncomingVideoStreamDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  public func start() {
    guard let session, isAvailable else { return }
    let handler = LatestFrameSink(delivery) { [weak self] frame in self?.notifyDelegate(frame) }
    let isNew = sink.withLock { sink in
      guard sink == nil else { return false }
      sink = handler
      return true
    }
    guard isNew else { return }
    session.attach(handler, to: source)
    delivery.deliver { [self] in change(to: .started) }
  }

  public func stop() {
    guard
      let handler = sink.withLock({ sink in
        defer { sink = nil }
        return sink
      })
    else { return }
    handler.close()
    session?.detach(handler, from: source)
    delivery.deliver { [self] in
      guard isAvailable else { return }
      change(to: .stopping)
      change(to: .stopped)
    }
  }

  private func notifyDelegate(_ newest: VideoFrame) {
    guard state == .started else { return }
    let (frame, buffer) = (RawVideoFrameBuffer(), CVPixelBuffer(newest))
    frame.buffer = buffer
    frame.timestampInTicks = newest.captured.nanoseconds / 1_000
    frame.streamFormat.width = Int32(clamping: newest.width)
    frame.streamFormat.height = Int32(clamping: newest.height)
    let strides = (0..<3).map { Int32(clamping: CVPixelBufferGetBytesPerRowOfPlane(buffer, $0)) }
    (frame.streamFormat.stride1, frame.streamFormat.stride2, frame.streamFormat.stride3) = (
      strides[0], strides[1], strides[2]
    )
    delegate?.rawIncomingVideoStream(self, didReceiveRawVideoFrame: RawVideoFrameReceivedEventArgs(frame, id))
  }

  override func stateChanged(_ args: VideoStreamStateChangedEventArgs) {
    delegate?.rawIncomingVideoStream(self, didChangeState: args)
    super.stateChanged(args)
  }
}
