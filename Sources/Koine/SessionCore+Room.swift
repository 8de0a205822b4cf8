// What the link tells of the room, taken into the session's state and told on.

extension SessionCore: LinkReceiver {
  /// On the network loop.
  func linkDidChange(_ event: LinkEvent) {
    lane.post { [self] in if !state.isEnded { handle(event) } }
  }

  /// On the network loop: pipelines take the frame and decode elsewhere.
  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) {
    routes.withLock { $0[track] }?.take(frame)
  }

  private func handle(_ event: LinkEvent) {
    switch event {
    case .joined(let local, let present): entered(as: local, others: present)
    case .rejoined(let local, let present): reentered(as: local, others: present)
    case .attendants(let names): visible.setServices(names)
    case .waiting: visible.tell(.waitingForAdmission)
    case .knock(let participant):
      guard knocks.updateValue(participant, forKey: participant.id) == nil else { return }
      visible.tell(.entryRequested(participant))
    case .knockEnded(let id, let admitted):
      guard let participant = knocks.removeValue(forKey: id) else { return }
      visible.tell(.entryRequestEnded(participant, admitted: admitted))
    case .participantJoined(let participant): joined(participant)
    case .participantLeft(let id, let reason): left(id, reason)
    case .streamAdded(let stream): isAwaited(stream.id) ? isBack(stream) : added(stream)
    case .streamRemoved(let id): removed(id)
    case .streamMuted(let id, let isMuted): muted(id, isMuted)
    case .published(let track): published(track)
    case .publishFailed(let track, let error):
      if let entry = own.first(where: { $0.stream.id == track }) { withdraw(entry, because: error) }
    case .streamStarved(let id, let isStarved): starved(id, isStarved)
    case .attributesChanged(let id, let attributes): attributesChanged(id, attributes)
    case .message(let message): visible.tell(.messageReceived(message))
    case .speakers(let speakers): heard(speakers)
    case .quality(let changes): visible.tell(.qualityChanged(changes.mapValues(\.worse)), qualities: changes)
    case .mediaConnected: for stream in own { stream.requestKeyFrames() }
    case .reconnecting: change(to: .reconnecting)
    case .reconnected: change(to: .connected)
    case .keyFrameWanted(let track, let layer): own.first { $0.stream.id == track }?.requestKeyFrame(layer: layer)
    case .layersWanted(let track, let layers): own.first { $0.stream.id == track }?.setWantedLayers(layers)
    case .estimate(let bitrate, let loss): share(bitrate, loss: loss)
    case .failed(let error): visible.tell(.failed(error))
    case .ended(let reason): end(reason)
    }
  }

  func joined(_ participant: Participant) {
    guard others[participant.id] == nil else { return isBack(participant) }
    others[participant.id] = participant
    visible.tell(.participantJoined(participant))
    for stream in participant.tracks { added(stream) }
  }

  func left(_ id: Participant.ID, _ reason: DepartureReason) {
    awaited.removeValue(forKey: id)?.cancel()
    guard let participant = others[id] else { return }
    for stream in participant.tracks { removed(stream.id) }
    syncs[id] = nil
    guard let last = others.removeValue(forKey: id) else { return }
    visible.tell(.participantLeft(last, reason))
  }

  func added(_ stream: Track) {
    guard var owner = others[stream.id.participant] else { return }
    if !owner.tracks.contains(where: { $0.id == stream.id }) { owner.tracks.append(stream) }
    others[owner.id] = owner
    visible.tell(.streamAdded(stream, owner))
    if stream.kind.isVideo { addTile(for: stream, isLocal: false) }
    if options.subscribesToEverything { receive(stream) }
  }

  func removed(_ id: Track.ID) {
    if let entry = own.first(where: { $0.stream.id == id }) {
      return withdraw(
        entry, because: Failure(.forbidden, "not allowed to publish a \(entry.stream.kind.rawValue) any more"))
    }
    guard var owner = others[id.participant], let stream = owner.tracks.first(where: { $0.id == id }) else { return }
    stopReceiving(id)
    awaitedStreams.removeValue(forKey: id)?.cancel()
    suspended.remove(id)
    waitingSinks[id] = nil
    preferences[id] = nil
    gains[id] = nil
    paused.remove(id)
    removeTile(of: id)
    owner.tracks.removeAll { $0.id == id }
    others[owner.id] = owner
    visible.tell(.streamRemoved(stream, owner))
  }

  func muted(_ id: Track.ID, _ isMuted: Bool) {
    if id.participant == local.id, isMuted { return mutedByOther(id.track) }
    guard var owner = others[id.participant], let index = owner.tracks.firstIndex(where: { $0.id == id }),
      owner.tracks[index].isMuted != isMuted
    else { return }
    owner.tracks[index].isMuted = isMuted
    others[owner.id] = owner
    received[id]?.stream = owner.tracks[index]
    visible.tell(.streamMuted(owner.tracks[index], owner))
    changeTile(of: id) { $0.pause = pause(of: owner.tracks[index]) }
  }

  func attributesChanged(_ id: Participant.ID, _ attributes: [String: String]) {
    guard others[id] != nil else { return }
    others[id]?.attributes = attributes
    if let participant = others[id] { visible.tell(.attributesChanged(participant)) }
  }

  /// Why a subscribed stream's pictures stand still, if they do.
  func pause(of stream: Track) -> Tile.Pause? {
    if paused.contains(stream.id) { return .requested }
    if stream.isMuted { return .muted }
    return starving.contains(stream.id) ? .poorPath : nil
  }

  private func starved(_ id: Track.ID, _ isStarved: Bool) {
    guard let entry = received[id] else { return }
    if isStarved { starving.insert(id) } else { starving.remove(id) }
    changeTile(of: id) { $0.pause = pause(of: entry.stream) }
  }

  private func heard(_ speakers: Speakers) {
    visible.tell(.levelsChanged(speakers.levels))
    guard speakers.dominant != dominantSpeaker else { return }
    dominantSpeaker = speakers.dominant
    visible.tell(.dominantSpeakerChanged(speakers.dominant))
  }

  // MARK: Tiles

  func addTile(for stream: Track, isLocal: Bool) {
    guard tiles[stream.id] == nil else { return }
    let pause: Tile.Pause? =
      stream.isMuted ? .muted : (isLocal || options.subscribesToEverything ? nil : .notSubscribed)
    let tile = Tile(id: makeTileNumber(), stream: stream.id, kind: stream.kind, isLocal: isLocal, pause: pause)
    tiles[stream.id] = tile
    visible.tell(.tileAdded(tile))
  }

  func changeTile(of id: Track.ID, _ change: (inout Tile) -> Void) {
    guard var tile = tiles[id] else { return }
    change(&tile)
    guard tile != tiles[id] else { return }
    tiles[id] = tile
    visible.tell(.tileChanged(tile))
  }

  func removeTile(of id: Track.ID) {
    if let tile = tiles.removeValue(forKey: id) { visible.tell(.tileRemoved(tile)) }
  }
}
