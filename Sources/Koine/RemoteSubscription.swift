import KoineMediaEngine

/// A subscribed stream and the pipeline that plays it. `receive` runs on the network loop, the rest on the session's lane.
final class RemoteSubscription: @unchecked Sendable {
  enum Pipeline {
    case video(VideoReceivePipeline)
    case audio(AudioReceivePipeline)
  }

  var stream: Track
  /// Rises with each subscription of the session.
  let number: Int
  let pipeline: Pipeline
  private let taps = Lock<[any EncodedFrameSink]>([])
  private let lastCodec = Lock<Codec?>(nil)
  /// What the app attached; it outlives an `unsubscribe`.
  private(set) var sinks = StreamSinks()

  init(stream: Track, number: Int, pipeline: Pipeline) {
    self.stream = stream
    self.number = number
    self.pipeline = pipeline
  }

  /// Of what came last; nil before anything has.
  var codec: Codec? { lastCodec.withLock { $0 } }

  func receive(_ frame: EncodedFrame) {
    lastCodec.withLock { $0 = frame.codec }
    for tap in taps.withLock({ $0 }) { tap.receive(frame) }
    switch pipeline {
    case .video(let video): video.push(frame)
    case .audio(let audio): audio.push(frame)
    }
  }

  func attach(_ sinks: StreamSinks) {
    self.sinks.add(sinks)
    for sink in sinks.video { if case .video(let video) = pipeline { video.addSink(sink) } }
    for sink in sinks.audio { if case .audio(let audio) = pipeline { audio.addSink(sink) } }
    taps.withLock { taps in
      for tap in sinks.taps where !taps.contains(where: { $0 === tap }) { taps.append(tap) }
    }
  }

  func detach(_ sinks: StreamSinks) {
    self.sinks.remove(sinks)
    for sink in sinks.video { if case .video(let video) = pipeline { video.removeSink(sink) } }
    for sink in sinks.audio { if case .audio(let audio) = pipeline { audio.removeSink(sink) } }
    taps.withLock { taps in taps.removeAll { tap in sinks.taps.contains { $0 === tap } } }
  }

  func stop(_ mixer: PlayoutMixer) {
    switch pipeline {
    case .video(let video): video.stop()
    case .audio(let audio): mixer.remove(audio)
    }
    taps.withLock { $0 = [] }
  }

  var videoStatistics: VideoReceiveStatistics? {
    if case .video(let video) = pipeline { video.statistics } else { nil }
  }
  var audioStatistics: AudioReceiveStatistics? {
    if case .audio(let audio) = pipeline { audio.statistics } else { nil }
  }
}

/// What an app wants a stream's media handed to; each object once.
struct StreamSinks: Sendable {
  var video: [any VideoSink] = []
  var audio: [any AudioSink] = []
  var taps: [any EncodedFrameSink] = []

  var isEmpty: Bool { video.isEmpty && audio.isEmpty && taps.isEmpty }

  mutating func add(_ other: StreamSinks) {
    for sink in other.video where !video.contains(where: { $0 === sink }) { video.append(sink) }
    for sink in other.audio where !audio.contains(where: { $0 === sink }) { audio.append(sink) }
    for tap in other.taps where !taps.contains(where: { $0 === tap }) { taps.append(tap) }
  }

  mutating func remove(_ other: StreamSinks) {
    video.removeAll { sink in other.video.contains { $0 === sink } }
    audio.removeAll { sink in other.audio.contains { $0 === sink } }
    taps.removeAll { tap in other.taps.contains { $0 === tap } }
  }
}

/// Tells the session the size of the pictures that a tile shows, when it changes.
final class SizeWatch: VideoSink, Sendable {
  private let last = Lock((width: 0, height: 0))
  private let changed: @Sendable (_ width: Int, _ height: Int) -> Void

  init(changed: @escaping @Sendable (_ width: Int, _ height: Int) -> Void) { self.changed = changed }

  func render(_ frame: VideoFrame) {
    let isNew = last.withLock { last in
      guard last != (frame.width, frame.height) else { return false }
      last = (frame.width, frame.height)
      return true
    }
    if isNew { changed(frame.width, frame.height) }
  }
}
