// What the link tells of the room, taken into the session's state and told on.

extension SessionCore: LinkReceiver {
  /// On the network loop.
  func linkDidChange(_ event: LinkEvent) {
    lane.post { [self] in if !state.isEnded { handle(event) } }
  }

  /// On the network loop: pipelines take the frame and decode elsewhere.
  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) { reception.deliver(frame, of: track) }

  private func handle(_ event: LinkEvent) {
    switch event {
    case .joined(let local, let present): entered(as: local, others: present)
    case .rejoined(let local, let present): reentered(as: local, others: present)
    case .attendants(let names): visible.setServices(names)
    case .waiting: visible.post(.waitingForAdmission)
    case .knock(let participant): knocked(participant)
    case .knockEnded(let id, let admitted): knockEnded(id, admitted: admitted)
    case .participantJoined(let participant): joined(participant)
    case .participantLeft(let id, let reason): left(id, reason)
    case .streamAdded(let stream): pendingRejoin.contains(stream.id) ? rejoined(stream) : added(stream)
    case .streamRemoved(let id): removed(id)
    case .streamMuted(let id, let isMuted): muted(id, isMuted)
    case .published(let track): published(track)
    case .publishFailed(let track, let error):
      if let entry = own.first(where: { $0.stream.id == track }) { withdraw(entry, because: error) }
    case .streamStarved(let id, let isStarved): starved(id, isStarved)
    case .subscriptionsEnded(let ids): for id in ids { subscriptionEnded(id) }
    case .permissions(let permissions): setPermissionsOnEntry(permissions)
    case .permissionsChanged(let permissions): permissionsChanged(permissions)
    case .attributesChanged(let id, let attributes): attributesChanged(id, attributes)
    case .message(let message): if !receiveTranscript(message) { visible.post(.messageReceived(message)) }
    case .speakers(let speakers): heard(speakers)
    case .quality(let changes): visible.post(.qualityChanged(changes.mapValues(\.worse)), qualities: changes)
    case .mediaConnected: for stream in own { stream.sendKeyFrames() }
    case .reconnecting: change(to: .reconnecting)
    case .reconnected: change(to: .connected)
    case .keyFrameWanted(let track, let layer): own.first { $0.stream.id == track }?.sendKeyFrame(layer: layer)
    case .layersWanted(let track, let layers): own.first { $0.stream.id == track }?.setWantedLayers(layers)
    case .estimate(let bitrate, let loss): share(bitrate, loss: loss)
    case .failed(let error): visible.post(.failed(error))
    case .ended(let reason): finish(reason)
    }
  }

  func joined(_ participant: Participant) {
    guard others.add(participant) else { return rejoined(participant) }
    visible.post(.participantJoined(participant))
    for stream in participant.tracks { added(stream) }
  }

  func left(_ id: Participant.ID, _ reason: DepartureReason) {
    pendingRejoin.stopWaiting(for: id)
    guard let participant = others[id] else { return }
    for stream in participant.tracks { removed(stream.id) }
    reception.forget(id)
    guard let last = others.remove(id) else { return }
    visible.post(.participantLeft(last, reason))
  }

  func added(_ stream: Track) {
    guard let owner = others.add(stream) else { return }
    visible.post(.streamAdded(stream, owner))
    if stream.kind.isVideo { addTile(for: stream, isLocal: false) }
    if options.subscribesToEverything { receive(stream) }
  }

  func removed(_ id: Track.ID) {
    if let entry = own.first(where: { $0.stream.id == id }) {
      return withdraw(
        entry, because: Failure(.forbidden, "not allowed to publish a \(entry.stream.kind.rawValue) any more"))
    }
    guard let (stream, owner) = others.remove(id) else { return }
    reception.forget(id, link)
    endedByRoom.remove(id)
    pendingRejoin.stopWaiting(for: id)
    pendingRejoin.resume(id)
    removeTile(of: id)
    visible.post(.streamRemoved(stream, owner))
  }

  func muted(_ id: Track.ID, _ isMuted: Bool) {
    if id.participant == local.id, isMuted { return mutedByOther(id.track) }
    guard let (stream, owner) = others.setMuted(isMuted, id) else { return }
    reception.update(stream)
    visible.post(.streamMuted(stream, owner))
    showPause(of: stream)
  }

  func attributesChanged(_ id: Participant.ID, _ attributes: [String: String]) {
    if let participant = others.setAttributes(attributes, of: id) { visible.post(.attributesChanged(participant)) }
  }

  private func starved(_ id: Track.ID, _ isStarved: Bool) {
    if let stream = reception.setStarving(isStarved, id) { showPause(of: stream) }
  }
}
