public import Koine
import KoineMediaEngine

/// A composition on its way to an output, as Opus and VP8, or what else the output takes.
public final class Broadcast: Sendable {
  private let pictures: VideoSendPipeline
  private let sound: AudioSendPipeline
  private let output: any BroadcastOutput
  private let isOver = Lock(false)

  /// Begins at once.
  /// - Parameters:
  ///   - bitrate: of the pictures, in bit/s.
  ///   - soundBitrate: in bit/s.
  ///   - onFailure: called at most once, on a lane, when the output breaks before `stop`, which is to follow, and may be
  ///     called from it.
  public init(
    of composition: Composition, to output: any BroadcastOutput, bitrate: Int = 2_100_000, soundBitrate: Int = 96_000,
    onFailure: (@Sendable (any Error) -> Void)? = nil
  ) throws {
    let scheduler = composition.world.backend.scheduler
    let frames = OutputFrames(output)
    var video = VideoSendSettings()
    video.codec = output.pictureCodec == .vp9 ? .vp9 : .vp8
    video.maxBitrate = bitrate
    video.maxFramesPerSecond = composition.framesPerSecond
    (video.maxWidth, video.maxHeight) = (composition.width, composition.height)
    var audio = AudioSendSettings()
    audio.bitrate = soundBitrate
    self.output = output
    pictures = VideoSendPipeline(
      source: composition.makeVideoSource(), settings: video, scheduler: scheduler, output: frames)
    sound = AudioSendPipeline(
      source: composition.makeAudioSource(), settings: audio, scheduler: scheduler, output: frames)
    frames.follow(pictures)
    if let onFailure {
      // An output tells it on the thread that writes, which `stop` waits for.
      let lane = scheduler.lane("broadcast")
      output.onFailure { error in lane.post { onFailure(error) } }
    }
    try pictures.start()
    try sound.start()
  }

  deinit { try? stop() }

  /// Ends the encoding and finishes the output. Harmless when over already.
  public func stop() throws {
    let isFirst = isOver.withLock { isOver in
      defer { isOver = true }
      return !isOver
    }
    guard isFirst else { return }
    pictures.stop()
    sound.stop()
    try output.close()
  }
}

private final class OutputFrames: FrameOutput, Sendable {
  private struct State {
    weak var pictures: VideoSendPipeline?
    var lastKey: Tick?
  }

  private let output: any BroadcastOutput
  private let state = Lock(State())

  init(_ output: any BroadcastOutput) { self.output = output }

  func follow(_ pictures: VideoSendPipeline) { state.withLock { $0.pictures = pictures } }

  func send(_ frame: EncodedFrame) {
    output.take(frame)
    guard let interval = output.keyFrameInterval, !frame.codec.isAudio else { return }
    let late = state.withLock { state in
      if frame.isKey { state.lastKey = frame.captured }
      return state.lastKey.map { frame.captured - $0 >= interval } ?? false ? state.pictures : nil
    }
    late?.requestKeyFrame(layer: 0)
  }
}
