public import Koine

/// Writes received Opus and VP8 or VP9 frames to WebM as they came, without coding them anew.
///
/// By FFmpeg's muxer: Debian's libwebm-dev ships the parser's headers only. The file begins with the first key frame (or
/// the first sound, if pictures have not come within `patience`; those that come later are in it, too). While it is written it
/// has the ending `.part`; what a killed process leaves so, or a full disk, can be played up to its last second or two. When it
/// is closed its head tells of the largest size that came.
///
/// The file is written on a thread of its own; frames that come faster than the disk takes them are left out.
public final class WebMRecorder: BroadcastOutput {
  private let writer: FrameWriter

  /// Creates a recorder.
  /// - Parameters:
  ///   - hasSound, hasPictures: which tracks the file gets; that of pictures only if any come.
  ///   - patience: for so long sound waits for the first key frame; more where pictures are sure to come, and a busy machine
  ///     takes its time to code the first.
  ///   - timeline: where the file begins; nil: with the first frame that it writes.
  public init(
    _ path: String, hasSound: Bool = true, hasPictures: Bool = true, patience: Duration = .seconds(1),
    timeline: RecordingTimeline? = nil
  ) {
    writer = FrameWriter(
      MuxedFile(
        .webM, path: path, hasSound: hasSound, hasPictures: hasPictures, patience: patience, timeline: timeline))
  }

  /// The `patience` for recordings that are composed in this process: their video is certain to arrive.
  static let composed = Duration.seconds(30)

  /// How often the disk was too slow for a frame. Pictures that needed one of those are not counted.
  public var dropped: Int { writer.dropped }

  /// Takes one stream's frames; sound and pictures of one participant go to one recorder.
  public var tap: any EncodedFrameSink { Tap(recorder: self) }

  public func start(_ plan: BroadcastPlan) { writer.start(plan) }
  public func receive(_ frame: EncodedFrame) { writer.receive(frame) }
  public func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) { writer.onFailure(handler) }
  public func close() throws(RecordingError) { try writer.close() }

  /// Until all that has been taken is written.
  package func flush() { writer.flush() }

  private final class Tap: EncodedFrameSink {
    private let recorder: WebMRecorder
    init(recorder: WebMRecorder) { self.recorder = recorder }
    func receive(_ frame: EncodedFrame) { recorder.receive(frame) }
  }
}
