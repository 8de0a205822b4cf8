import Koine

// Distributes the room's events, on the delivery queue, to the objects that keep its state.

extension DefaultAudioVideoFacade {
  func handle(_ event: SessionEvent, of session: Session) {
    switch event {
    case .stateChanged(let new): changed(to: new, session)
    case .participantJoined(let participant): roster.join(participant.id, externalUserId: participant.userID)
    case .participantLeft(let participant, let reason): roster.leave(participant.id, dropped: reason == .dropped)
    case .streamAdded(let stream, let owner):
      if stream.kind.isAudio, !owner.isLocal { session.subscribe(to: stream.id) }
      // of one's own, pictures are shown once the room has them
      if !owner.isLocal || stream.kind.isAudio { update(stream, of: owner, isThere: true) }
    case .streamPublished(let stream):
      if stream.kind == .screen { contentShare.published(stream.id) }
      if stream.kind.isVideo { update(stream, of: session.localParticipant, isThere: true) }
    case .publishFailed(let stream, let error): publishingFailed(stream, error)
    case .streamMuted(let stream, let owner): update(stream, of: owner, isThere: true)
    case .streamRemoved(let stream, let owner): update(stream, of: owner, isThere: false)
    case .tileAdded(let tile): videos.tileAdded(tile)
    case .tileChanged(let tile): videos.tileChanged(tile)
    case .levelsChanged(let levels): roster.setLevels(levels)
    case .qualityChanged(let qualities):
      roster.setSignals(qualities.compactMapValues { SignalStrength(rawValue: $0.rawValue) })
      if let own = qualities[session.localParticipant.id] { connectionChanged(to: own) }
    case .messageReceived(let message):
      let sender =
        roster.info(of: message.sender) ?? AttendeeInfo(attendeeId: message.sender, externalUserId: message.sender)
      messages.receive(topic: message.topic, payload: message.payload, from: sender, age: message.age)
    case .transcriptionChanged(let new): transcriptionChanged(to: new)
    case .transcribed(let segment): transcribed(segment)
    case .transcriptionFailed(let failure): transcriptionFailed(failure, in: session)
    case .failed(let error): logger.error(msg: "\(error)")
    case .attributesChanged, .dominantSpeakerChanged, .tileRemoved: break  // told by other means here
    case .waitingForAdmission, .entryRequested, .entryRequestEnded: break  // meetings have no lobby
    case .permissionsChanged: break  // the vendor's attendees have capabilities only in its HTTP API
    }
  }

  private func publishingFailed(_ stream: Track, _ error: Failure) {
    switch stream.kind {
    case .camera:
      localVideo.failed(error)
      if error.code == .forbidden {
        audioVideoObservers.notify { $0.cameraSendAvailabilityDidChange(available: false) }
      }
    case .screen: contentShare.failed(error)
    case .microphone:
      devices.failed()
      logger.error(msg: "the microphone is not sent: \(error)")
    case .screenSound: logger.error(msg: "\(error)")
    }
  }

  private func changed(to new: SessionState, _ session: Session) {
    switch new {
    case .idle, .connecting: break
    case .connected: connected(session)
    case .reconnecting:
      state.withLock { $0.isReconnecting = true }
      events.count { figures, now in figures.startsReconnecting(at: now) }
      events.publishEvent(
        name: .videoClientSignalingDropped,
        attributes: [EventAttributeName.signalingDroppedError: SignalingDroppedError.signalingClientDisconnected])
      audioVideoObservers.notify { $0.audioSessionDidDrop() }
      audioVideoObservers.notify(inAnyOrder: [
        { $0.audioSessionDidStartConnecting(reconnecting: true) }, { $0.videoSessionDidStartConnecting() },
      ])
    case .ended(let reason): ended(reason)
    }
  }

  private func connected(_ session: Session) {
    let (isAgain, unsent) = state.withLock { state in
      state.connections += 1
      state.isReconnecting = false
      defer { state.unsent = [] }
      return (state.connections > 1, state.unsent)
    }
    let status = MeetingSessionStatus(statusCode: .ok)
    publishConnection(isAgain: isAgain)
    audioVideoObservers.notify(inAnyOrder: [
      { $0.audioSessionDidStart(reconnecting: isAgain) }, { $0.videoSessionDidStartWithStatus(sessionStatus: status) },
    ])
    if !isAgain {
      audioVideoObservers.notify { $0.cameraSendAvailabilityDidChange(available: true) }
      roster.join(session.localParticipant.id, externalUserId: configuration.credentials.externalUserId)
    }
    for message in unsent { transmit(message, in: session) }
  }

  private func publishConnection(isAgain: Bool) {
    var duration: Int64 = 0
    events.count { figures, now in
      if isAgain { figures.reconnected(at: now) } else { figures.started(at: now) }
      duration = figures.connectingDuration
    }
    let attributes = [EventAttributeName.meetingStatus: MeetingSessionStatusCode.ok]
    if !isAgain {
      events.publishEvent(
        name: .videoClientSignalingOpened, attributes: [EventAttributeName.signalingOpenDurationMs: duration])
    }
    events.publishEvent(name: isAgain ? .meetingReconnected : .meetingStartSucceeded, attributes: attributes)
  }

  private func connectionChanged(to quality: ConnectionQuality.Level) {
    let isPoor = quality != .high
    let hasChanged = state.withLock { state in
      defer { state.isPoor = isPoor }
      return state.isPoor != isPoor
    }
    guard hasChanged else { return }
    if isPoor { events.count { figures, _ in figures.connectionBecamePoor() } }
    audioVideoObservers.notify { isPoor ? $0.connectionDidBecomePoor() : $0.connectionDidRecover() }
  }

  /// A muted camera is none here; a share is an attendee of its own.
  private func update(_ stream: Track, of owner: Participant, isThere: Bool) {
    let sends = isThere && !stream.isMuted
    switch stream.kind {
    case .microphone: roster.setMuted(!sends, owner.id)
    case .screenSound: break
    case .camera: updateVideo(stream, of: owner.id, isLocal: owner.isLocal, sends: sends)
    case .screen:
      let content = DefaultModality.content(of: owner.id)
      if sends { roster.join(content, externalUserId: owner.userID) }
      updateVideo(stream, of: content, isLocal: owner.isLocal, sends: sends)
      if !sends, content != owner.id { roster.leave(content) }
    }
  }

  private func updateVideo(_ stream: Track, of attendeeId: String, isLocal: Bool, sends: Bool) {
    if sends { videos.added(stream, of: attendeeId, isLocal: isLocal) } else { videos.removed(stream.id) }
    let isFirst = state.withLock { state in
      defer { state.reportsSources = true }
      return !state.reportsSources
    }
    guard isFirst else { return }
    // behind what the room tells in the same breath: the first list is whole
    environment.lane.post { [weak self] in
      guard let self else { return }
      environment.delivery.deliver { [self] in
        state.withLock { $0.reportsSources = false }
        videos.reportSources()
      }
    }
  }
}

extension Participant {
  /// What this style calls the external user id; people of other styles have their name.
  fileprivate var userID: String { externalUserID ?? name }
}
