import Koine
import KoineBase
import KoineCodecs
import KoineEmbeddedBackend
import KoineMediaEngine
import KoineTransport

/// The encoded frames that an engine sends for a camera and a microphone, encoded once, in virtual time, with a key frame each
/// second. `ClipPublisher` replays them. A program that measures one participant then spends little on the many others.
struct RecordedClip: Sendable {
  fileprivate struct Sent: Sendable {
    /// Since the beginning.
    let due, captured: Duration
    let frame: EncodedFrame
  }

  let length: Duration
  fileprivate let pictures: [Sent]
  fileprivate let sound: [Sent]

  init(camera: any VideoSource, microphone: (any AudioSource)? = nil, bitrate: Int, seconds: Int) throws {
    let scheduler = Scheduler.virtual()
    let start = scheduler.now
    let (seen, heard) = (Take(scheduler), Take(scheduler))
    var settings = VideoSendSettings()
    settings.maxBitrate = bitrate
    let video = VideoSendPipeline(source: camera, settings: settings, scheduler: scheduler, output: seen)
    let audio = microphone.map {
      AudioSendPipeline(source: $0, settings: AudioSendSettings(), scheduler: scheduler, output: heard)
    }
    try video.start()
    try audio?.start()
    for second in 1...seconds {
      scheduler.advance(to: start + .seconds(second))
      video.requestKeyFrame(layer: 0)
    }
    video.stop()
    audio?.stop()
    length = .seconds(seconds)
    pictures = seen.sent(since: start).filter { $0.captured < .seconds(seconds) }
    sound = heard.sent(since: start).filter { $0.captured < .seconds(seconds) }
  }

  private final class Take: FrameOutput, Sendable {
    private let scheduler: Scheduler
    private let frames = Lock<[(at: Tick, frame: EncodedFrame)]>([])
    init(_ scheduler: Scheduler) { self.scheduler = scheduler }

    func send(_ frame: EncodedFrame) {
      var copy = frame
      copy.data = Bytes(capacity: frame.data.count)
      copy.data.append(frame.data.readable)
      frames.withLock { $0.append((scheduler.now, copy)) }
    }

    func sent(since start: Tick) -> [Sent] {
      frames.withLock { $0.map { Sent(due: $0.at - start, captured: $0.frame.captured - start, frame: $0.frame) } }
    }
  }
}

/// A participant that replays a clip over and over, with audio and video in sync.
final class ClipPublisher: LinkReceiver, @unchecked Sendable {  // `link` is touched on the lane only
  private let name: String
  private let clip: RecordedClip
  private let backend: EmbeddedBackend
  private let lane: Lane
  private let shift: Duration?
  private let isOver = Lock(false)
  private var link: (any Link)?

  /// - Parameter shift: the clip begins so long after a whole second of the clock; nil: soon.
  init(_ name: String, room: String, _ clip: RecordedClip, _ backend: EmbeddedBackend, shift: Duration? = nil) {
    (self.name, self.clip, self.backend, self.shift) = (name, clip, backend, shift)
    lane = backend.scheduler.lane(name)
    lane.post { [self] in
      link = backend.connect(JoinRequest(room: room, participantID: name, name: name), receiver: self)
    }
  }

  func leave() {
    isOver.withLock { $0 = true }
    lane.post { [self] in link?.leave() }
  }

  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) {}

  func linkDidChange(_ event: LinkEvent) {
    guard case .joined(let local, _) = event else { return }
    lane.post { [self] in
      let soon = backend.scheduler.now + .milliseconds(100)
      let whole = Tick(nanoseconds: (soon.nanoseconds / 1_000_000_000 + 1) * 1_000_000_000)
      let start = shift.map { whole + $0 } ?? soon
      for (kind, frames) in [(Track.Kind.camera, clip.pictures), (.microphone, clip.sound)] where !frames.isEmpty {
        let id = Track.ID(participant: local.id, track: kind.rawValue)
        link?.publish(
          Track(id: id, kind: kind),
          options: PublishOptions(codec: kind.isVideo ? .vp8 : .opus, layers: [.init(maximumBitrate: 1_000_000)]))
        send(0, of: frames, as: id, round: 0, since: start)
      }
    }
  }

  private func send(
    _ number: Int, of frames: [RecordedClip.Sent], as track: Track.ID, round: Int, since start: Tick
  ) {
    guard number < frames.count else { return send(0, of: frames, as: track, round: round + 1, since: start) }
    let turn = start + clip.length * round
    let next = frames[number]
    lane.post(at: turn + next.due) { [weak self] in
      guard let self, !isOver.withLock({ $0 }) else { return }
      var frame = next.frame
      frame.captured = turn + next.captured
      let rate: Int64 = frame.codec.isAudio ? 48 : 90
      frame.rtpTimestamp &+= UInt32(truncatingIfNeeded: (clip.length * round).nanoseconds / 1_000_000 * rate)
      link?.send(frame, of: track)
      send(number + 1, of: frames, as: track, round: round, since: start)
    }
  }
}
