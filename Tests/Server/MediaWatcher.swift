import Koine
import Logging

/// Watches the audio and video that one participant receives.
final class MediaWatcher: VideoSink, AudioSink, Sendable {
  private struct Counts: Sendable {
    var names: Set<String> = []
    var frames = 0
    var loudBlocks = 0
  }

  private let seen = Lock(Counts())
  private let news = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  /// Names in the stamps of the received frames.
  var names: Set<String> { seen.withLock { $0.names } }

  func render(_ frame: VideoFrame) {
    let name = StampReader.read(frame)?.name
    seen.withLock { seen in
      seen.frames += 1
      if let name { seen.names.insert(name) }
    }
    news.continuation.yield()
  }

  func play(_ block: AudioBlock) {
    guard block.samples.contains(where: { $0 > 4_000 }) else { return }
    seen.withLock { $0.loudBlocks += 1 }
    news.continuation.yield()
  }

  /// Follows everything that appears in the session.
  func follow(_ session: Session) {
    session.observe { [weak self, weak session] event in
      guard let self, let session, case .streamAdded(let stream, let owner) = event, !owner.isLocal else { return }
      if stream.kind.isVideo {
        session.attach(self as any VideoSink, to: stream.id)
      } else {
        session.attach(self as any AudioSink, to: stream.id)
      }
    }
  }

  /// Resets the counts.
  func forget() { seen.withLock { $0 = Counts() } }

  /// Returns once some video frames and some audio have arrived; the test's time limit is the limit.
  func waitForMedia() async {
    for await _ in news.stream where seen.withLock({ $0.frames >= 5 && !$0.names.isEmpty && $0.loudBlocks >= 5 }) {
      return
    }
  }
}

extension Logger {
  static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}
