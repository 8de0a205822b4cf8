import KoineMediaEngine

// What the session gives to the room.

extension SessionCore {
  func publish(_ source: any VideoSource, kind: Track.Kind, options: VideoPublishOptions) throws(Failure)
    -> LocalStream
  {
    try checkPublishing(kind, is: \.isVideo)
    try options.check()
    let output = LinkOutput()
    var settings = VideoSendSettings()
    settings.codec = options.codec
    settings.maxBitrate = options.maximumBitrate
    settings.maxFramesPerSecond = options.maximumFramesPerSecond
    settings.maxWidth = options.maximumWidth
    settings.maxHeight = options.maximumHeight
    settings.lowerLayers = options.lowerLayers
    settings.temporalLayers = min(max(options.temporalLayers, 1), 3)
    settings.minBitrate = options.minimumBitrate
    settings.content = options.content
    settings.degradation = options.degradation
    settings.effort = effort
    let pipeline = VideoSendPipeline(
      source: source, settings: settings, scheduler: scheduler, output: output, stamps: stamps)
    return start(
      .video(pipeline), kind: kind,
      options: PublishOptions(
        codec: options.codec,
        layers: pipeline.layerSizes.map { size in
          .init(
            maximumBitrate: size.limits.maximumBitrate, maximumHeight: size.height, maximumWidth: size.width,
            maximumFramesPerSecond: size.limits.maximumFramesPerSecond)
        }),
      output: output, startsMuted: options.startsMuted)
  }

  func publish(_ source: any AudioSource, kind: Track.Kind, options: AudioPublishOptions) throws(Failure)
    -> LocalStream
  {
    try checkPublishing(kind, is: \.isAudio)
    try options.check()
    guard (1...2).contains(source.channels) else {
      throw Failure(.device, "sound has one or two channels, not \(source.channels)")
    }
    let output = LinkOutput()
    var settings = AudioSendSettings()
    settings.bitrate = options.bitrate
    settings.usesDTX = options.usesDTX
    settings.channels = options.channels ?? source.channels
    settings.isWideband = options.isWideband
    settings.processing = options.processing ?? source.usualProcessing
    settings.effort = effort
    let pipeline = AudioSendPipeline(
      source: source, settings: settings, scheduler: scheduler, output: output,
      echoReference: mixer.echoReference, stamps: stamps)
    var published = PublishOptions(codec: .opus, layers: [.init(maximumBitrate: options.bitrate)])
    published.usesRedundancy = options.usesRedundancy
    return start(
      .audio(pipeline), kind: kind, options: published,
      output: output, startsMuted: options.startsMuted)
  }

  private func checkPublishing(_ kind: Track.Kind, is right: (Track.Kind) -> Bool) throws(Failure) {
    guard right(kind) else {
      throw Failure(.device, "a source of another kind cannot be published as \(kind.rawValue)")
    }
    guard !visible.state.isEnded else { throw Failure(.ended, "the session is over") }
  }

  /// The stream has its name at once; the source starts, and the room hears of it, on the lane.
  private func start(
    _ pipeline: LocalPublication.Pipeline, kind: Track.Kind, options: PublishOptions, output: LinkOutput,
    startsMuted: Bool
  ) -> LocalStream {
    let track = makeTrackName(kind)
    let (muted, ending) = (Lock(startsMuted ? Muting.on : .off), Ending())
    lane.post { [self] in
      guard !state.isEnded else { return ending.come() }
      let stream = Track(
        id: .init(participant: local.id, track: track), kind: kind, layers: Self.announcedLayers(of: options))
      let entry = LocalPublication(
        stream: stream, pipeline: pipeline, options: options, output: output,
        visiblyMuted: muted, ending: ending)
      if startsMuted { entry.setMuted(true) }
      do {
        switch pipeline {
        case .video(let video): try video.start()
        case .audio(let audio): try audio.start()
        }
      } catch {
        ending.come()
        let reason = Failure(.device, "the \(kind.rawValue) did not start: \(error)")
        return visible.post(.publishFailed(stream, reason))
      }
      own.append(entry)
      if state == .connected || state == .reconnecting { announce(entry) }
    }
    return LocalStream(
      id: .init(participant: visible.local.id, track: track), kind: kind, muted: muted, ending: ending, core: self)
  }

  private static func announcedLayers(of options: PublishOptions) -> [Track.Layer] {
    guard options.layers.count > 1 else { return [] }
    return options.layers.map {
      Track.Layer(
        maximumBitrate: $0.maximumBitrate, width: $0.maximumWidth, height: $0.maximumHeight,
        maximumFramesPerSecond: $0.maximumFramesPerSecond)
    }
  }

  /// Tells the room and the app of an own stream, and lets its frames out.
  func announce(_ entry: LocalPublication) {
    guard let link else { return }
    entry.setWantedLayers(Array(entry.options.layers.indices))  // until the room says otherwise
    link.publish(entry.stream, options: entry.options)
    entry.output.open(link, entry.stream.id)
    visible.post(.streamAdded(entry.stream, local), local: local)
    guard entry.stream.kind.isVideo else { return }
    addTile(for: entry.stream, isLocal: true)
    let id = entry.stream.id
    attachNow(StreamSinks(video: [sizeWatch(of: id)]), to: id)
    let waiting = reception.takeSinks(of: id)
    if !waiting.isEmpty { attachNow(waiting, to: id) }
  }

  /// The room has taken it.
  func published(_ track: Track.ID) {
    guard let entry = own.first(where: { $0.stream.id == track }), !entry.isTaken else { return }
    entry.isTaken = true
    visible.post(.streamPublished(entry.stream))
  }

  /// The room has refused it.
  func withdraw(_ entry: LocalPublication, because error: Failure) {
    let stream = entry.stream
    own.removeAll { $0 === entry }
    entry.stop()
    visible.post(.publishFailed(stream, error))
    removeTile(of: stream.id)
    reception.forget(stream.id, link)
    visible.post(.streamRemoved(stream, local), local: local)
  }

  func setMuted(_ muted: Bool, _ track: String) {
    lane.post { [self] in
      guard let entry = own.first(where: { $0.stream.id.track == track }), entry.stream.isMuted != muted else { return }
      entry.setMuted(muted)
      link?.setMuted(muted, entry.stream.id)
      guard state == .connected || state == .reconnecting else { return }
      visible.post(.streamMuted(entry.stream, local), local: local)
      changeTile(of: entry.stream.id) { $0.pause = muted ? .muted : nil }
    }
  }

  /// Handles a moderator's muting of a local stream. A call of `setMuted` by the app that has not reached this lane yet takes
  /// effect afterwards.
  func mutedByOther(_ track: String) {
    guard let entry = own.first(where: { $0.stream.id.track == track }), !entry.stream.isMuted else { return }
    entry.setMuted(true)
    visible.deliver { entry.visiblyMuted.withLock { $0 = .byOther } }
    visible.post(.streamMuted(entry.stream, local), local: local)
    changeTile(of: entry.stream.id) { $0.pause = .muted }
  }

  func setProcessing(_ processing: AudioProcessing?, _ track: String) {
    lane.post { [self] in
      guard let entry = own.first(where: { $0.stream.id.track == track }), case .audio(let audio) = entry.pipeline
      else { return }
      audio.setProcessing(processing)
    }
  }

  func unpublish(_ track: String) {
    lane.post { [self] in
      guard let index = own.firstIndex(where: { $0.stream.id.track == track }) else { return }
      let entry = own.remove(at: index)
      entry.stop()
      guard state == .connected || state == .reconnecting else { return }
      link?.unpublish(entry.stream.id)
      removeTile(of: entry.stream.id)
      visible.post(.streamRemoved(entry.stream, local), local: local)
    }
  }

  /// Shares what the path carries: sound first, the rest among the pictures.
  func share(_ bitrate: Int, loss: Double) {
    var rest = bitrate
    var pictures: [(pipeline: VideoSendPipeline, maximum: Int)] = []
    for entry in own where !entry.stream.isMuted {
      switch entry.pipeline {
      case .audio(let audio):
        audio.setExpectedLoss(loss)
        rest -= entry.options.maximumBitrate
      case .video(let video): pictures.append((video, max(entry.options.maximumBitrate, 1)))
      }
    }
    let all = pictures.reduce(0) { $0 + $1.maximum }
    for (video, maximum) in pictures {
      video.setTargetBitrate(Int(Double(max(rest, 0)) * Double(maximum) / Double(all)))
    }
  }
}
