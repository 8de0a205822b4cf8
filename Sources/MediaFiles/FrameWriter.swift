import Koine

/// Hands coded frames to a file on a thread of its own, in order; what finds no room is left out, with the pictures that
/// need it.
final class FrameWriter: Sendable {
  /// About a minute of good pictures.
  private static let capacity = 16 << 20
  private let queue = WritingQueue(capacity: capacity)
  private let file: MuxedFile
  /// Frames were dropped. Frames up to the next key frame refer to them and are dropped, too.
  private let needsKey = Lock(false)

  init(_ file: MuxedFile) { self.file = file }

  /// Abandons a recording that the app has not closed, and deletes its `.part` file.
  deinit { queue.forget { file.abandon() } }

  var dropped: Int { queue.dropped + file.unseen.withLock { $0 } }

  func start(_ plan: BroadcastPlan) {
    _ = queue.add(0) { [file] in
      file.channels = plan.channels
      if !plan.hasVideo { file.hasPictures = false }
    }
  }

  func receive(_ frame: EncodedFrame) {
    let isPicture = !frame.codec.isAudio
    if isPicture, !frame.isKey, needsKey.withLock({ $0 }) { return }
    let hasRoom = queue.add(frame.data.count) { [file] in file.receive(frame) }
    if isPicture { needsKey.withLock { $0 = !hasRoom } }
  }

  func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) {
    _ = queue.add(0) { [file] in file.onFailure = handler }
  }

  func onReadable(_ handler: @escaping @Sendable () -> Void) {
    _ = queue.add(0) { [file] in file.onReadable(handler) }
  }

  func close() throws(RecordingError) { try queue.finish { file.close() }.get() }
  func flush() { queue.finish {} }
}
