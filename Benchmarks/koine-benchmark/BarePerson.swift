import Koine

/// A participant without codecs: sends pictures of 4 kB and 50 sounds of 100 bytes a second, and receives those of the others.
final class BarePerson: LinkReceiver, Sendable {
  /// What has come since `resetFigures`.
  struct Figures {
    var frames = 0
    /// The longest time without a frame of the other participants.
    var gap = Duration.zero
    /// How often the participant has entered the room again, as after a move to another server.
    var returns = 0
    /// How often an app would have been told of a lost connection.
    var losses = 0
  }

  private struct State {
    var link: (any Link)?
    var id = ""
    var pictures = 0
    var sounds = 0
    var figures = Figures()
    var lastFrame: Tick?
    var isTicking = false
    var end: EndReason?
    var isSending = true
  }

  private let name: String
  private let room: String
  /// What it sends: a camera's pictures, a microphone's sounds, both or nothing.
  private let kinds: [Track.Kind]
  /// Between two pictures.
  private let interval: Duration
  private let backend: any Backend
  private let lane: Lane
  private let state = Lock(State())

  init(
    name: String, room: String, sending kinds: [Track.Kind] = [.camera, .microphone], picturesPerSecond: Int = 30,
    backend: any Backend
  ) {
    (self.name, self.room, self.kinds) = (name, room, kinds)
    interval = .seconds(1) / picturesPerSecond
    self.backend = backend
    lane = backend.scheduler.lane(name)
  }

  func begin() {
    let link = backend.connect(JoinRequest(room: room, name: name), receiver: self)
    state.withLock { $0.link = link }
  }

  /// Until now. A time without frames that has not ended counts.
  var figures: Figures {
    let now = backend.scheduler.now
    return state.withLock { state in
      var figures = state.figures
      if let last = state.lastFrame { figures.gap = max(figures.gap, now - last) }
      return figures
    }
  }

  /// False: it keeps its streams, and sends nothing.
  func setSending(_ isSending: Bool) { state.withLock { $0.isSending = isSending } }

  func resetFigures() { state.withLock { $0.figures = Figures() } }

  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) {
    let now = backend.scheduler.now
    state.withLock { state in
      state.figures.frames += 1
      if let last = state.lastFrame { state.figures.gap = max(state.figures.gap, now - last) }
      state.lastFrame = now
    }
  }

  func linkDidChange(_ event: LinkEvent) {
    switch event {
    case .joined(let local, let others): entered(as: local.id, with: others)
    case .rejoined(let local, let others):
      state.withLock { $0.figures.returns += 1 }
      entered(as: local.id, with: others)
    case .participantJoined(let participant): subscribe(to: participant)
    case .streamAdded(let stream): link?.subscribe(to: stream.id)
    case .reconnecting: state.withLock { $0.figures.losses += 1 }
    case .ended(let reason): state.withLock { $0.end = reason }
    default: break
    }
  }

  /// Why it is not in its room any more, or was not let in; nil while it is.
  var end: EndReason? { state.withLock { $0.end } }

  /// `connect` may not have returned yet.
  private var link: (any Link)? { state.withLock { $0.link } }

  private func entered(as id: String, with others: [Participant]) {
    lane.post { [self] in
      for kind in kinds {
        link?.publish(
          Track(id: .init(participant: id, track: kind.rawValue), kind: kind),
          options: PublishOptions(codec: kind.isVideo ? .vp8 : .opus, layers: [.init(maximumBitrate: 1_000_000)]))
      }
      for other in others { subscribe(to: other) }
      let isFirst = state.withLock { state in
        state.id = id
        defer { state.isTicking = true }
        return !state.isTicking
      }
      guard isFirst else { return }
      if kinds.contains(.camera) { tickPictures(due: backend.scheduler.now) }
      if kinds.contains(.microphone) { tickSound(due: backend.scheduler.now) }
    }
  }

  private func subscribe(to participant: Participant) {
    for stream in participant.tracks { link?.subscribe(to: stream.id) }
  }

  /// - Parameter due: of this picture. The next one counts from it, so that a late turn of the loop slows nothing down.
  private func tickPictures(due: Tick) {
    let now = backend.scheduler.now
    let (link, id, number) = state.withLock { state in
      defer { state.pictures += 1 }
      return (state.isSending ? state.link : nil, state.id, state.pictures)
    }
    let isKey = number % 150 == 0
    let data = Bytes(capacity: 4_000)
    data.count = 4_000
    data.writable[0] = isKey ? 0x10 : 0x11
    link?.send(
      EncodedFrame(
        codec: .vp8, data: data, captured: now,
        rtpTimestamp: UInt32(truncatingIfNeeded: Int(Double(number) * interval.inSeconds * 90_000)), isKey: isKey),
      of: Track.ID(participant: id, track: "camera"))
    let next = max(due + interval, now - .seconds(1))  // what a stop of a second or more has missed is left out
    lane.post(at: next) { [weak self] in self?.tickPictures(due: next) }
  }

  private func tickSound(due: Tick) {
    let now = backend.scheduler.now
    let (link, id, number) = state.withLock { state in
      defer { state.sounds += 1 }
      return (state.isSending ? state.link : nil, state.id, state.sounds)
    }
    let data = Bytes(capacity: 100)
    data.count = 100
    data.writable[0] = 0x78  // a packet of 20 ms
    link?.send(
      EncodedFrame(
        codec: .opus, data: data, captured: now, rtpTimestamp: UInt32(truncatingIfNeeded: number * 960), isKey: true,
        audioLevel: -30, voiceActivity: true), of: Track.ID(participant: id, track: "microphone"))
    let next = max(due + .milliseconds(20), now - .seconds(1))
    lane.post(at: next) { [weak self] in self?.tickSound(due: next) }
  }
}
