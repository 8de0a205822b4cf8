public import Koine
import KoineMediaEngine

/// A composition on its way to an output: as Opus and VP8, or what else the output takes; as it is where the output codes by
/// itself.
public final class Broadcast: Sendable {
  private let stream: any OutgoingStream
  private let output: any BroadcastOutput
  private let isOver = Lock(false)

  /// Begins at once.
  /// - Parameters:
  ///   - bitrate: of the pictures, in bit/s.
  ///   - soundBitrate: in bit/s.
  ///   - hasVideo: whether the output gets video.
  ///   - keyFrameInterval: between pictures that stand for themselves, at most; nil: what the output needs.
  ///   - usesBFrames: whether an output that encodes by itself may use B frames.
  ///   - audioComplexity: how hard the audio encoder works, 0 to 10; nil: the encoder's own choice.
  ///   - bitrateLimits: the limits within which the bitrate of the video follows the speed of a server, in bit/s; nil: it stays.
  ///   - increasesBitrateQuickly: whether such a bitrate rises quickly (`BroadcastPlan.increasesBitrateQuickly`).
  ///   - onReadable: called at most once, on a lane, when others can open what the output has taken so far.
  ///   - onFailure: called at most once, on a lane, when the output breaks before `stop`, which is to follow, and may be
  ///     called from it.
  public init(
    of composition: Composition, to output: any BroadcastOutput, bitrate: Int = 2_100_000, soundBitrate: Int = 96_000,
    hasVideo: Bool = true, keyFrameInterval: Duration? = nil, usesBFrames: Bool = false,
    audioComplexity: Int? = nil, bitrateLimits: ClosedRange<Int>? = nil, increasesBitrateQuickly: Bool = false,
    onReadable: (@Sendable () -> Void)? = nil,
    onFailure: (@Sendable (any Error) -> Void)? = nil
  ) throws {
    let interval = [keyFrameInterval, output.keyFrameInterval].compactMap { $0 }.min()
    var plan = BroadcastPlan(
      width: composition.width, height: composition.height, framesPerSecond: composition.framesPerSecond,
      bitrate: bitrate, soundBitrate: soundBitrate, channels: composition.channels)
    if let interval { plan.keyFrameInterval = interval }
    plan.hasVideo = hasVideo
    plan.usesBFrames = usesBFrames
    plan.audioComplexity = audioComplexity.map { min(max($0, 0), 10) }
    (plan.bitrateLimits, plan.increasesBitrateQuickly) = (bitrateLimits, increasesBitrateQuickly)
    self.output = output
    // An output tells it on the thread that writes, which `stop` waits for.
    let lane = composition.world.backend.scheduler.lane("broadcast")
    if let onReadable { output.onReadable { lane.post(onReadable) } }
    if let onFailure { output.onFailure { error in lane.post { onFailure(error) } } }
    stream =
      if let output = output as? any RawBroadcastOutput {
        RawStream(of: composition, to: output, hasVideo: hasVideo)
      } else {
        CodedStream(of: composition, to: output, plan, keyFrameInterval: interval)
      }
    output.start(plan)
    try stream.start()
  }

  deinit { try? stop() }

  /// Ends the encoding and finishes the output. Harmless when over already.
  public func stop() throws {
    let isFirst = isOver.withLock { isOver in
      defer { isOver = true }
      return !isOver
    }
    guard isFirst else { return }
    stream.stop()
    try output.close()
  }
}

private protocol OutgoingStream: Sendable {
  func start() throws
  func stop()
}

/// Coded here.
private final class CodedStream: OutgoingStream {
  private let pictures: VideoSendPipeline?
  private let sound: AudioSendPipeline

  init(
    of composition: Composition, to output: any BroadcastOutput, _ plan: BroadcastPlan, keyFrameInterval: Duration?
  ) {
    let scheduler = composition.world.backend.scheduler
    let frames = OutputFrames(output, keyFrameInterval)
    var video = VideoSendSettings()
    video.codec = output.pictureCodec
    video.maxBitrate = plan.bitrate
    video.maxFramesPerSecond = plan.framesPerSecond
    (video.maxWidth, video.maxHeight) = (plan.width, plan.height)
    var audio = AudioSendSettings()
    (audio.bitrate, audio.channels) = (plan.soundBitrate, plan.channels)
    audio.complexity = plan.audioComplexity
    audio.usesFEC = false  // files and streams over TCP lose no packets
    pictures =
      plan.hasVideo
      ? VideoSendPipeline(
        source: composition.makeVideoSource(), settings: video, scheduler: scheduler, output: frames) : nil
    sound = AudioSendPipeline(
      source: composition.makeAudioSource(), settings: audio, scheduler: scheduler, output: frames)
    if let pictures { frames.follow(pictures) }
  }

  func start() throws {
    try pictures?.start()
    try sound.start()
  }

  func stop() {
    pictures?.stop()
    sound.stop()
  }
}

private final class OutputFrames: FrameOutput, Sendable {
  private struct State {
    weak var pictures: VideoSendPipeline?
    var lastKey: Tick?
  }

  private let output: any BroadcastOutput
  /// Nil: the first is enough.
  private let keyFrameInterval: Duration?
  private let state = Lock(State())

  init(_ output: any BroadcastOutput, _ keyFrameInterval: Duration?) {
    (self.output, self.keyFrameInterval) = (output, keyFrameInterval)
  }

  func follow(_ pictures: VideoSendPipeline) { state.withLock { $0.pictures = pictures } }

  func send(_ frame: EncodedFrame) {
    output.receive(frame)
    guard let interval = keyFrameInterval, !frame.codec.isAudio else { return }
    let late = state.withLock { state in
      if frame.isKey { state.lastKey = frame.captured }
      return state.lastKey.map { frame.captured - $0 >= interval } ?? false ? state.pictures : nil
    }
    late?.requestKeyFrame(layer: 0)
  }
}

/// Coded by the output.
private final class RawStream: OutgoingStream {
  private let pictures: (any VideoSource)?
  private let sound: any AudioSource
  private let output: any RawBroadcastOutput
  private let pictureLane, soundLane: Lane

  init(of composition: Composition, to output: any RawBroadcastOutput, hasVideo: Bool) {
    self.output = output
    (pictures, sound) = (hasVideo ? composition.makeVideoSource() : nil, composition.makeAudioSource())
    let scheduler = composition.world.backend.scheduler
    (pictureLane, soundLane) = (scheduler.lane("composition"), scheduler.lane("mixed sound"))
  }

  func start() throws {
    let output = output
    let waits = pictureLane.scheduler.kind == .virtual
    try pictures?.start(on: pictureLane) { picture in
      output.render(picture)
      if waits { output.flush() }
    }
    let soundWaits = waits && pictures == nil
    try sound.start(on: soundLane) { block in
      output.play(block)
      if soundWaits { output.flush() }
    }
  }

  func stop() {
    pictures?.stop()
    sound.stop()
  }
}
