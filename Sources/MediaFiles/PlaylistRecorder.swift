public import Koine

/// Writes VP9 and Opus as an HTTP live stream (RFC 8216): segments of one second in fragmented MP4, and a playlist that lists each
/// segment once it is complete. So a player that opens the playlist during the recording, or after the process was killed, gets all
/// segments but the last.
///
/// By FFmpeg's muxers. MP4 has no place for VP8. `path` is the playlist's, as in `live/index.m3u8`; the pieces lie beside it.
/// They are written on a thread of its own; frames that come faster than the disk takes them are left out.
public final class PlaylistRecorder: BroadcastOutput {
  private let writer: FrameWriter

  /// Creates a recorder that writes the playlist at `path` and its segments beside it.
  public init(_ path: String) {
    writer = FrameWriter(
      MuxedFile(.playlist, path: path, hasSound: true, hasPictures: true, patience: WebMRecorder.composed))
  }

  /// How often the disk was too slow for a frame, not counting pictures that needed one of those; and how many pictures came
  /// after half a minute of sound alone: a playlist has begun without a place for them then.
  public var dropped: Int { writer.dropped }

  public var pictureCodec: Codec { .vp9 }
  public var keyFrameInterval: Duration? { .seconds(1) }

  public func start(_ plan: BroadcastPlan) { writer.start(plan) }
  public func receive(_ frame: EncodedFrame) { writer.receive(frame) }
  public func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) { writer.onFailure(handler) }
  public func onReadable(_ handler: @escaping @Sendable () -> Void) { writer.onReadable(handler) }
  /// Until all that has been taken is with the muxer.
  package func flush() { writer.flush() }
  public func close() throws(RecordingError) { try writer.close() }
}
