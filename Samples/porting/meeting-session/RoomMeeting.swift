// What layers read from the meeting session style need beside `RoomCall`: the same file for every app.
import Koine

/// What a meeting reports beside the session's events. A share is an attendee: its id is its owner's and `#content`.
enum MeetingEvent: Sendable {
  case joined(Participant), left(Participant, DepartureReason), muted(Participant, Bool)
  case volumesChanged([RoomVolume])
  case tileAdded(RoomTile), tileRemoved(RoomTile), tilePaused(RoomTile, Bool)
  case captureStarted, captureEnded, captureFailed(Failure)
}
/// A call with shares as attendees, and with tiles from their first frame on.
final class RoomMeeting: RoomCall, @unchecked Sendable {
  var observer: ((SessionEvent) -> Void)?, meetingObserver: ((MeetingEvent) -> Void)?, chosen: Set<Track.ID>?
  private(set) var tiles: [Track.ID: RoomTile] = [:]
  private var views: [Int: (sink: any VideoSink, stream: Track.ID)] = [:]
  private var sent: Set<Track.ID> = [], sound: [Participant.ID: (isMuted: Bool, isReported: Bool)] = [:], begin: Tick?
  private var levels: [Participant.ID: Int] = [:], volumes: [Participant.ID: RoomVolume.Level] = [:]

  init(_ request: JoinRequest) {
    super.init(
      room: request.room, credential: request.credential == "" ? nil : request.credential,
      participantID: request.participantID ?? "", name: request.name, isCameraOn: false,
      reconnectTimeout: .seconds(180))
    handler = { [weak self] event, _ in
      if case .stateChanged(.ended) = event { self?.tiles.keys.forEach { self?.removeTile($0) } }
      self?.observer?(event)
      self?.follow(event)
    }
  }
  func start() throws(Failure) {
    if let session, session.world.machine.permission(.microphone) != .granted { throw Failure(.microphoneDenied, "") }
    begin = session?.world.backend.scheduler.now
    join()
  }
  func startCamera() throws(Failure) {
    guard session?.world.machine.permission(.camera) == .granted else { throw Failure(.cameraDenied, "") }
    setStream(kind: .camera, isOn: true)
  }
  func setMicrophone(isOn: Bool) -> Bool {
    setStream(kind: .microphone, isOn: isOn)
    return session.map { $0.state != .idle && !$0.state.isEnded } ?? false
  }
  func bind(view: any VideoSink, tile id: Int) {
    for (other, bound) in views where bound.sink === view || other == id { unbind(tile: other) }
    guard let stream = tiles.values.first(where: { $0.id == id })?.stream else { return }
    views[id] = (view, stream)
    session?.attach(view, to: stream)
  }
  func unbind(tile id: Int) { views.removeValue(forKey: id).map { session?.detach($0.sink, from: $0.stream) } }

  private func follow(_ event: SessionEvent) {
    switch event {
    case .stateChanged(.connected): if !hasEntered { joined(localParticipant.last) }
    case .participantJoined(let one): joined(one)
    case .participantLeft(let one, let reason):
      (sound[one.id], volumes[one.id], _) = (nil, nil, meetingObserver?(.left(one, reason)))
    case .levelsChanged(let all):
      levels = all
      all.keys.forEach(updateVolume)
    case .streamAdded(let track, let owner) where !track.kind.isVideo || !owner.isLocal: update(track, owner)
    case .streamPublished(let track) where track.kind.isVideo: update(track, localParticipant.last)
    case .streamMuted(let track, let owner): update(track, owner)
    case .streamRemoved(let track, let owner): update(track, owner, isThere: false)
    case .tileAdded(let tile), .tileChanged(let tile): show(tile)
    default: break
    }
  }
  /// A meeting looks at its attendees each 200 ms: then one without sound is muted, and from then on each change counts.
  private func joined(_ one: Participant) {
    meetingObserver?(.joined(one))
    guard let world = session?.world, let begin else { return }
    let lane = world.backend.scheduler.lane("meeting"), step = Duration.milliseconds(200)
    lane.post(at: begin + step * (((lane.scheduler.now - begin) / step).rounded(.down) + 1)) { [weak self] in
      world.delivery.deliver { [weak self] in self?.setMuted(nil, one) }
    }
  }
  private func setMuted(_ isMuted: Bool?, _ one: Participant) {
    let before = sound[one.id] ?? (isMuted: true, isReported: false)
    let now = isMuted ?? before.isMuted
    sound[one.id] = (isMuted: now, isReported: before.isReported || isMuted == nil)
    if isMuted == nil ? now : before.isReported && now != before.isMuted { meetingObserver?(.muted(one, now)) }
    if isMuted == nil || now != before.isMuted { updateVolume(of: one.id) }
  }
  /// Changes are reported from the first look on.
  private func updateVolume(of id: Participant.ID) {
    let people = [localParticipant.last] + (session?.participants ?? [])
    guard let sound = sound[id], sound.isReported, let one = people.first(where: { $0.id == id }) else { return }
    let volume = RoomVolume(attendee: one, level: sound.isMuted ? .muted : .init(level: levels[id] ?? -127))
    if volumes.updateValue(volume.level, forKey: id) != volume.level { meetingObserver?(.volumesChanged([volume])) }
  }
  private func update(_ track: Track, _ owner: Participant, isThere: Bool = true) {
    let isSent = isThere && !track.isMuted, content = Participant(id: owner.id + "#content", name: owner.name)
    if track.kind == .microphone { return setMuted(!isSent, owner) }
    guard track.kind.isVideo, isSent != sent.contains(track.id) else { return }
    if isSent { sent.insert(track.id) } else { sent.remove(track.id) }
    if isSent, track.kind == .screen { meetingObserver?(.joined(content)) }
    if isSent { session?.tiles.filter { $0.stream == track.id }.forEach(show) } else { removeTile(track.id) }
    if !isSent, track.kind == .screen { meetingObserver?(.left(content, .left)) }
  }
  private func show(_ tile: Koine.Tile) {
    let isPaused = tile.pause == .poorPath || tile.pause == .requested
    let shown = tiles[tile.stream], wasPaused = shown?.pause != nil
    shown?.tile = tile
    if let shown, wasPaused != isPaused { meetingObserver?(.tilePaused(shown, isPaused)) }
    let isSeen = sent.contains(tile.stream) && !(tile.isLocal && tile.kind == .screen)
    if shown != nil || !isSeen || tile.width == 0 && !isPaused { return }
    let new = RoomTile(tile)
    (tiles[tile.stream], _) = (new, meetingObserver?(.tileAdded(new)))
  }
  private func removeTile(_ id: Track.ID) { tiles.removeValue(forKey: id).map { meetingObserver?(.tileRemoved($0)) } }
}
@dynamicMemberLookup final class RoomTile: @unchecked Sendable {  // changes, on the main queue only
  fileprivate(set) var tile: Koine.Tile
  fileprivate init(_ tile: Koine.Tile) { self.tile = tile }
  subscript<Value>(dynamicMember path: KeyPath<Koine.Tile, Value>) -> Value { tile[keyPath: path] }
  var attendeeID: String { tile.stream.participant + (isContent ? "#content" : "") }
  var isContent: Bool { tile.kind == .screen }
  var pause: Koine.Tile.Pause? { tile.pause == .poorPath || tile.pause == .requested ? tile.pause : nil }
}
