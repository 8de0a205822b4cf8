import KoineMediaEngine

// What the session takes from the room, and who sees and hears what.

extension SessionCore {
  func subscribe(to id: Track.ID) {
    lane.post { [self] in
      guard !state.isEnded, received[id] == nil,
        let stream = others[id.participant]?.tracks.first(where: { $0.id == id })
      else {
        return
      }
      if isAwaited(id) { suspended.insert(id) } else { receive(stream) }
      changeTile(of: id) { $0.pause = pause(of: stream) }
    }
  }

  func unsubscribe(from id: Track.ID) {
    lane.post { [self] in
      guard !state.isEnded else { return }
      if let sinks = received[id]?.sinks, !sinks.isEmpty { waitingSinks[id, default: StreamSinks()].add(sinks) }
      stopReceiving(id)
      suspended.remove(id)
      changeTile(of: id) { $0.pause = .notSubscribed }
    }
  }

  func setPaused(_ isPaused: Bool, _ id: Track.ID) {
    lane.post { [self] in
      guard !state.isEnded, let stream = others[id.participant]?.tracks.first(where: { $0.id == id }),
        paused.contains(id) != isPaused
      else { return }
      if isPaused { paused.insert(id) } else { paused.remove(id) }
      guard let entry = received[id] else { return }
      link?.setPaused(isPaused, entry.stream.id)
      changeTile(of: id) { $0.pause = pause(of: stream) }
    }
  }

  func setPreference(_ preference: LayerPreference, _ id: Track.ID) {
    lane.post { [self] in
      guard !state.isEnded else { return }
      preferences[id] = preference
      if received[id] != nil { link?.setPreference(preference, of: id) }
    }
  }

  func setGain(_ gain: Float, _ id: Track.ID) {
    lane.post { [self] in
      guard !state.isEnded, !gain.isNaN else { return }
      gains[id] = gain
      if case .audio(let audio)? = received[id]?.pipeline { audio.gain = gain }
    }
  }

  func receive(_ stream: Track) {
    guard received[stream.id] == nil, let link else { return }
    let id = stream.id
    let sync = syncs[stream.id.participant] ?? StreamSync()
    syncs[stream.id.participant] = sync
    let pipeline: ReceivedStream.Pipeline
    if stream.kind.isVideo {
      pipeline = .video(
        VideoReceivePipeline(scheduler: scheduler, sync: sync, stamps: stamps) { [weak link] in
          link?.requestKeyFrame(of: id)
        })
    } else {
      let audio = AudioReceivePipeline(scheduler: scheduler, sync: sync, stamps: stamps)
      if let gain = gains[stream.id] { audio.gain = gain }
      mixer.add(audio)
      pipeline = .audio(audio)
    }
    let entry = ReceivedStream(stream: stream, number: makeSubscriptionNumber(), pipeline: pipeline)
    if let waiting = waitingSinks.removeValue(forKey: stream.id) { entry.attach(waiting) }
    if case .video(let video) = pipeline { video.addSink(sizeWatch(of: stream.id)) }
    received[stream.id] = entry
    routes.withLock { $0[id] = entry }
    link.subscribe(to: id)
    if let preference = preferences[stream.id] { link.setPreference(preference, of: id) }
    if paused.contains(stream.id) { link.setPaused(true, id) }
  }

  func stopReceiving(_ id: Track.ID) {
    guard let entry = received.removeValue(forKey: id) else { return }
    routes.withLock { $0[id] = nil }
    starving.remove(id)
    link?.unsubscribe(from: id)
    entry.stop(mixer)
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
    if let entry = received[id] {
      entry.attach(sinks)
    } else if let entry = ownStream(id), case .video(let video) = entry.pipeline {
      for sink in sinks.video { video.addSink(sink) }
    } else {
      waitingSinks[id, default: StreamSinks()].add(sinks)
    }
  }

  private func detach(_ sinks: StreamSinks, from id: Track.ID) {
    lane.post { [self] in
      received[id]?.detach(sinks)
      if let entry = ownStream(id), case .video(let video) = entry.pipeline {
        for sink in sinks.video { video.removeSink(sink) }
      }
      waitingSinks[id]?.remove(sinks)
    }
  }

  private func ownStream(_ id: Track.ID) -> OwnStream? {
    own.first {
      $0.stream.id.track == id.track
        && (id.participant == local.id || id.participant == $0.stream.id.participant || request.hadName(id.participant))
    }
  }
}
