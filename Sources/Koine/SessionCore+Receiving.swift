import KoineMediaEngine

// Subscriptions of the session, and the sinks that get the received media.

extension SessionCore {
  func subscribe(to id: Track.ID) {
    lane.post { [self] in
      guard !state.isEnded, !reception.isReceived(id), let stream = others[id] else { return }
      subscribe(to: stream)
    }
  }

  private func subscribe(to stream: Track) {
    if pendingRejoin.contains(stream.id) { pendingRejoin.suspend(stream.id) } else { receive(stream) }
    showPause(of: stream)
  }

  func unsubscribe(from id: Track.ID) {
    lane.post { [self] in
      guard !state.isEnded else { return }
      reception.stop(id, link)
      pendingRejoin.resume(id)
      endedByRoom.remove(id)
      changeTile(of: id) { $0.pause = .notSubscribed }
    }
  }

  /// The room has ended the subscription, or has refused it.
  func subscriptionEnded(_ id: Track.ID) {
    guard reception.isReceived(id) else { return }
    reception.stop(id, link)
    endedByRoom.insert(id)
    changeTile(of: id) { $0.pause = .notSubscribed }
  }

  /// Receives the streams again that the room had stopped, if the local participant may subscribe now.
  func permissionsChanged(_ permissions: Set<ParticipantPermission>) {
    self.permissions = permissions
    if permissions.contains(.subscribe) {
      let ended = endedByRoom.sorted { $0.description < $1.description }
      for stream in ended.compactMap({ others[$0] }) { subscribe(to: stream) }
    }
    visible.post(.permissionsChanged(permissions))
  }

  func setPaused(_ isPaused: Bool, _ id: Track.ID) {
    lane.post { [self] in
      guard !state.isEnded, let stream = others[id], reception.setPaused(isPaused, id, link),
        reception.isReceived(id)
      else { return }
      showPause(of: stream)
    }
  }

  func setPreference(_ preference: LayerPreference, _ id: Track.ID) {
    lane.post { [self] in
      guard !state.isEnded else { return }
      reception.setPreference(preference, id, link)
    }
  }

  func setGain(_ gain: Float, _ id: Track.ID) {
    lane.post { [self] in
      guard !state.isEnded, !gain.isNaN else { return }
      reception.setGain(gain, id)
    }
  }

  func setMinimumPlayoutDelay(_ delay: Duration, _ id: Participant.ID) {
    lane.post { [self] in
      guard !state.isEnded, others[id] != nil else { return }
      reception.setMinimumDelay(delay, id)
    }
  }

  func receive(_ stream: Track) {
    endedByRoom.remove(stream.id)
    if let link { reception.receive(stream, from: link, sizes: sizeWatch(of: stream.id)) }
  }

  /// Updates the reason in the stream's tile.
  func showPause(of stream: Track) {
    let pause = reception.pause(of: stream)
    changeTile(of: stream.id) { $0.pause = pause }
  }

  func sizeWatch(of id: Track.ID) -> SizeWatch {
    SizeWatch { [weak self] width, height in
      guard let self else { return }
      self.lane.post {
        self.changeTile(of: id) { tile in
          tile.width = width
          tile.height = height
        }
      }
    }
  }

  // MARK: Sinks

  func attach(_ sink: any VideoSink, to id: Track.ID) { attach(StreamSinks(video: [sink]), to: id) }
  func attach(_ sink: any AudioSink, to id: Track.ID) { attach(StreamSinks(audio: [sink]), to: id) }
  func attach(_ tap: any EncodedFrameSink, to id: Track.ID) { attach(StreamSinks(taps: [tap]), to: id) }
  func detach(_ sink: any VideoSink, from id: Track.ID) { detach(StreamSinks(video: [sink]), from: id) }
  func detach(_ sink: any AudioSink, from id: Track.ID) { detach(StreamSinks(audio: [sink]), from: id) }
  func detach(_ tap: any EncodedFrameSink, from id: Track.ID) { detach(StreamSinks(taps: [tap]), from: id) }

  private func attach(_ sinks: StreamSinks, to id: Track.ID) {
    lane.post { [self] in if !state.isEnded { attachNow(sinks, to: id) } }
  }

  func attachNow(_ sinks: StreamSinks, to id: Track.ID) {
    if !reception.isReceived(id), let entry = ownStream(id), case .video(let video) = entry.pipeline {
      for sink in sinks.video { video.addSink(sink) }
    } else {
      reception.attach(sinks, to: id)
    }
  }

  private func detach(_ sinks: StreamSinks, from id: Track.ID) {
    lane.post { [self] in
      if let entry = ownStream(id), case .video(let video) = entry.pipeline {
        for sink in sinks.video { video.removeSink(sink) }
      }
      reception.detach(sinks, from: id)
    }
  }

  private func ownStream(_ id: Track.ID) -> LocalPublication? {
    own.first {
      $0.stream.id.track == id.track
        && (id.participant == local.id || id.participant == $0.stream.id.participant || request.hadName(id.participant))
    }
  }
}
