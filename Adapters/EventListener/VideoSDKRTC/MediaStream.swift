import Koine
public import WebRTC

/// One enabled stream of a participant. A stream that is disabled and enabled again is a new object.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/stream-class/introduction)
public class MediaStream: Equatable, @unchecked Sendable {  // constant but for the track, which guards itself
  public let id: String
  public let kind: MediaType
  /// An `RTCVideoTrack` or an `RTCAudioTrack`.
  public let track: RTCMediaStreamTrack
  private let source: Track.ID
  private weak let session: Session?
  /// The meeting's paused streams; nil: the local participant's streams are not received.
  private let paused: Lock<Set<Track.ID>>?

  /// - Parameter setAudible: called when the track is sound that is to be heard, or no longer.
  init(
    _ stream: Track, number: Int, session: Session, paused: Lock<Set<Track.ID>>?,
    setAudible: @escaping @Sendable (Bool) -> Void
  ) {
    id = number == 0 ? stream.id.track : "\(stream.id.track).\(number)"
    kind = MediaType(stream.kind)
    source = stream.id
    (self.session, self.paused) = (session, paused)
    if stream.kind.isVideo {
      let source = stream.id
      track = RTCVideoTrack(
        trackId: id, attach: { [weak session] sink in session?.attach(sink, to: source) },
        detach: { [weak session] sink in session?.detach(sink, from: source) })
    } else {
      track = RTCAudioTrack(trackId: id, setAudible: setAudible)
    }
  }

  /// Stops receiving this remote stream, until `resume()` or `Meeting.resumeAllStreams`. Other participants are not affected.
  public func pause() {
    paused?.withLock { _ = $0.insert(source) }
    session?.pause(source)
  }

  /// Receives it again.
  public func resume() {
    paused?.withLock { _ = $0.remove(source) }
    session?.resume(source)
  }

  /// Whether `pause()` or `Meeting.pauseAllStreams` has paused it. The vendor added it in 2.5.
  public var isPaused: Bool { paused?.withLock { $0.contains(source) } ?? false }

  public static func == (a: MediaStream, b: MediaStream) -> Bool { a.id == b.id && a.kind == b.kind }
}
