import KoineMediaEngine

/// A published stream and the pipeline that feeds it. Touched on the session's lane only.
final class LocalPublication: @unchecked Sendable {
  enum Pipeline {
    case video(VideoSendPipeline)
    case audio(AudioSendPipeline)
  }

  private(set) var stream: Track
  let pipeline: Pipeline
  let options: PublishOptions
  let output: LinkOutput
  /// What the app sees of it; written on the delivery queue where it was not the app itself.
  let visiblyMuted: Lock<Muting>
  private let ending: Ending
  /// The room has it.
  var isTaken = false

  init(
    stream: Track, pipeline: Pipeline, options: PublishOptions, output: LinkOutput,
    visiblyMuted: Lock<Muting>, ending: Ending
  ) {
    self.stream = stream
    self.visiblyMuted = visiblyMuted
    self.pipeline = pipeline
    self.options = options
    self.output = output
    self.ending = ending
  }

  /// Its participant has its id only once the room is entered.
  func name(by participant: Participant.ID) {
    stream = Track(
      id: .init(participant: participant, track: stream.id.track), kind: stream.kind, isMuted: stream.isMuted,
      layers: stream.layers)
  }

  func setMuted(_ muted: Bool) {
    stream.isMuted = muted
    switch pipeline {
    case .video(let video): video.setMuted(muted)
    case .audio(let audio): audio.setMuted(muted)
    }
  }

  func sendKeyFrame(layer: Int) {
    if case .video(let video) = pipeline { video.sendKeyFrame(layer: layer) }
  }

  /// Others are not encoded.
  func setWantedLayers(_ layers: [Int]) {
    if case .video(let video) = pipeline { video.setWantedLayers(layers) }
  }

  func sendKeyFrames() { for layer in options.layers.indices { sendKeyFrame(layer: layer) } }

  var videoStatistics: VideoSendStatistics? {
    if case .video(let video) = pipeline { video.statistics } else { nil }
  }

  var processing: AudioProcessingStatistics? {
    if case .audio(let audio) = pipeline { audio.statistics.processing } else { nil }
  }

  func stop() {
    switch pipeline {
    case .video(let video): video.stop()
    case .audio(let audio): audio.stop()
    }
    output.close()
    ending.come()
  }
}

/// Whether a published stream is over, as its handle in the app's hands may ask from any thread.
final class Ending: Sendable {
  private let flag = Lock(false)
  var hasCome: Bool { flag.withLock { $0 } }
  func come() { flag.withLock { $0 = true } }
}

/// Where a send pipeline's frames go: to the link, once there is one.
final class LinkOutput: FrameOutput, Sendable {
  private let target = Lock<(link: any Link, track: Track.ID)?>(nil)

  func open(_ link: any Link, _ track: Track.ID) { target.withLock { $0 = (link, track) } }
  func close() { target.withLock { $0 = nil } }

  func send(_ frame: EncodedFrame) {
    guard let (link, track) = target.withLock({ $0 }) else { return }
    link.send(frame, of: track)
  }
}
