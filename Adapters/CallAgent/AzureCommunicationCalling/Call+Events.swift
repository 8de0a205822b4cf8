import Koine

/// What the session tells, in this style's words. On the delivery queue.
extension Call {
  func handle(_ event: SessionEvent) {
    switch event {
    case .stateChanged(.connected):
      if current.withLock({ $0.invitations.isEmpty }) { change(to: .connected) }
      updateRole()
    case .permissionsChanged: updateRole()
    case .entryRequested, .entryRequestEnded: callLobby.handle(event)
    case .stateChanged(.ended(let reason)): ended(reason)
    case .stateChanged: break
    case .waitingForAdmission: change(to: .inLobby)
    case .participantJoined(let participant): joined(participant)
    case .participantLeft(let participant, let reason): left(participant, reason)
    case .streamAdded(let stream, let owner), .streamMuted(let stream, let owner):
      if owner.isLocal {
        if stream.kind.isVideo { videoStarted(stream, nil) }
        if stream.kind == .microphone, stream.isMuted { mutedByRoom() }
      } else {
        update(stream, of: owner, isThere: true)
      }
    case .streamRemoved(let stream, let owner):
      if !owner.isLocal { update(stream, of: owner, isThere: false) }
    case .attributesChanged(let participant): attributesChanged(of: participant)
    case .levelsChanged(let levels):
      for remote in remoteParticipants {
        if let level = levels[remote.id] { remote.setSpeaking(level > Self.speechLevel) }
      }
    case .messageReceived(let message): heard(message)
    case .publishFailed(let stream, let error): if stream.kind.isVideo { videoStarted(stream, error) }
    case .dominantSpeakerChanged, .qualityChanged, .tileAdded, .tileChanged, .tileRemoved, .failed,
      .streamPublished, .transcriptionChanged, .transcribed, .transcriptionFailed:
      break  // for features, or not in this style's vocabulary
    }
    if state != .disconnected { for feature in features { feature.handle(event) } }
  }

  /// In dBov.
  private static let speechLevel = -45

  private func joined(_ participant: Participant) {
    if let remote = remote(participant.id) {
      remote.rename(participant.name)
      remote.change(to: .connected)
    } else {
      let remote = RemoteParticipant(
        ParticipantIdentifiers.identifier(of: participant.id), as: participant.id, displayName: participant.name,
        state: .connected, in: self)
      current.withLock { $0.remotes.append(remote) }
      notifyDelegate(added: [remote])
    }
    current.withLock { _ = $0.present.insert(participant.id) }
    tellCount()
    if [.none, .connecting, .ringing].contains(state) { change(to: .connected) }
    attributesChanged(of: participant)
  }

  private func left(_ participant: Participant, _ reason: DepartureReason) {
    if let remote = remote(participant.id) { remove(remote, because: CallEndReason(reason)) }
    guard current.withLock({ $0.present.remove(participant.id) != nil }) else { return }
    tellCount()
    if current.withLock({ $0.isOneToOne }), remoteParticipants.isEmpty { finish(.normal) }
  }

  func remove(_ remote: RemoteParticipant, because reason: CallEndReason) {
    for stream in remote.incomingVideoStreams { remote.remove(stream.source) }
    remote.change(to: .disconnected, because: reason)
    current.withLock { $0.remotes.removeAll { $0 === remote } }
    notifyDelegate(removed: [remote])
  }

  /// A muted picture is one that has been withdrawn, in this style.
  private func update(_ stream: Track, of owner: Participant, isThere: Bool) {
    guard let remote = remote(owner.id) else { return }
    if stream.kind == .microphone {
      remote.setMuted(!isThere || stream.isMuted)
    } else if stream.kind.isVideo {
      let isShown = remote.incomingVideoStreams.contains { $0.source == stream.id }
      if isThere, !stream.isMuted, !isShown {
        let (id, isRaw) = current.withLock { current in
          defer { current.nextStream += 1 }
          return (current.nextStream, current.wantsRawVideo)
        }
        remote.add(
          isRaw
            ? RawIncomingVideoStream(stream, id: id, session: session, owner: remote)
            : RemoteVideoStream(stream, id: id, session: session, owner: remote))
      } else if !isThere || stream.isMuted {
        remote.remove(stream.id)
      }
    }
  }
}

extension EndReason {
  /// Whether the room could not be reached.
  var isUnreachable: Bool {
    switch self {
    case .lost: true
    case .refused(let failure): failure.code == .unreachable
    case .left, .removed, .removedByService, .duplicate, .roomClosed, .roomClosedByService, .expired: false
    }
  }
}

extension CallEndReason {
  /// Of a remote participant.
  convenience init(_ reason: DepartureReason) {
    switch reason {
    case .left: self.init()
    case .dropped: self.init(code: 490)
    case .removed: self.init(subcode: 5300)
    }
  }

  convenience init(_ reason: EndReason) {
    switch reason {
    case .left, .roomClosed, .roomClosedByService: self.init()
    case .removed: self.init(subcode: 5300)  // by another participant
    case .duplicate, .removedByService: self.init(subcode: 5000)  // by the service
    case .lost: self.init(code: 490)
    case .expired: self.init(code: 401)
    case .refused(let error):
      switch error.code {
      case .denied: self.init(code: 0, subcode: 5854)
      case .unauthorized: self.init(code: 401)
      case .forbidden, .roomFull: self.init(code: 403)
      case .invalidRoom, .ended: self.init(code: 404)
      default: self.init(code: 500)
      }
    }
  }
}
