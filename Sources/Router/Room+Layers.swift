import KoineBase
import KoineSignaling
import KoineTransport

// Which of a publisher's layers each receiver gets, by what its path carries, and which layers a publisher has to send.

extension Room {
  private static let checkInterval: Duration = .milliseconds(500)
  /// How long a requested layer may be silent: if another layer is forwarded in the meantime, and if none is.
  private static let patience = (with: Duration.milliseconds(1_500), without: Duration.milliseconds(700))

  func estimated(_ bitrate: Int, for member: Member, at now: Tick) {
    if member.layerAllocator.updateEstimate(bitrate) { allocate(to: member, at: now) }
  }

  func watchLayers(at now: Tick) {
    if nextLayerCheck == nil { nextLayerCheck = now + Self.checkInterval }
    needsSettling = true
  }

  /// Looks whether layers have come or gone.
  func checkLayers(at now: Tick) {
    guard let due = nextLayerCheck, due <= now else { return }
    nextLayerCheck = nil
    for member in members {
      for track in member.tracks where !track.codec.isAudio {
        if track.layers.count > 1 || !track.forwarders.isEmpty { nextLayerCheck = now + Self.checkInterval }
        track.measure(at: now)
        let recovery = member.slot.peer.recovery(of: track.receiver, at: now)
        for forwarder in track.forwarders { forwarder.setSource(loss: recovery.loss, delay: recovery.time, at: now) }
      }
    }
    for member in members where !member.subscriptions.isEmpty { allocate(to: member, at: now) }
    for member in members { for track in member.tracks { updateActiveLayers(of: track, at: now) } }
  }

  func prefer(_ preferences: [TrackPreference], of member: Member, at now: Tick) {
    let forwarders = Dictionary(
      member.subscriptions.map { ($0.track.id, $0) }, uniquingKeysWith: { first, _ in first })
    for wish in preferences {
      guard let forwarder = forwarders[wish.track] else { continue }
      forwarder.preference = wish.preference
      forwarder.receiverNeedsKeyFrame(.layer)
      forwarder.upgradeBackoff.reset()
    }
    allocate(to: member, at: now)
  }

  // MARK: What a receiver gets

  /// Shares the receiver's path among its video streams, after those that starve have been taken out.
  func allocate(to member: Member, at now: Tick) {
    var forwarders: [Forwarder] = []
    var audio = 0.0
    for forwarder in member.subscriptions where !forwarder.isPausedByReceiver {
      if forwarder.track.codec.isAudio {
        audio += LayerAllocator.rate(ofAudioWithCopies: forwarder.copies)
      } else {
        forwarders.append(forwarder)
      }
    }
    forwarders.sort { $0.preference.priority > $1.preference.priority }  // stable
    let headroom = member.layerAllocator.headroom(besideAudio: audio)
    let starved = pauseStarved(&forwarders, headroom: headroom, isSilent: member.slot.peer.isSilent, at: now)
    let streams = forwarders.map { stream(of: $0, at: now) }
    let allocation = LayerAllocator.allocate(streams, within: headroom)
    for (forwarder, decision) in zip(forwarders, allocation.decisions) {
      if let decision { forwarder.apply(decision, at: now) }
    }
    let wanted = LayerAllocator.wantedBitrate(video: starved + allocation.wanted, audio: audio)
    if member.slot.peer.want(wanted, at: now) { peers.touch(member.slot) }
    for forwarder in forwarders where !forwarder.track.layers[forwarder.target].isOn {
      updateActiveLayers(of: forwarder.track, at: now)
    }
    for forwarder in forwarders { requestKeyFrame(for: forwarder, at: now) }
  }

  /// What the allocator has to know of a subscription.
  func stream(of forwarder: Forwarder, at now: Tick) -> LayerAllocator.Stream {
    let track = forwarder.track
    let patience = forwarder.current == nil ? Self.patience.without : Self.patience.with
    let layers = track.layers.indices.map { number in
      let layer = track.layers[number]
      return LayerAllocator.Layer(
        number: number, isAvailable: layer.isAvailable(at: now, patience: patience),
        temporalLayers: layer.temporalLayers, height: track.height(of: number),
        maximumBitrate: track.media.encodings[number].maximumBitrate, bitrate: layer.bitrate,
        lastBitrate: layer.lastBitrate)
    }
    return LayerAllocator.Stream(
      layers, preference: forwarder.preference, current: forwarder.current, target: forwarder.target,
      temporalTarget: forwarder.temporalTarget, mayGoUp: forwarder.upgradeBackoff.mayGoUp(at: now))
  }

  // MARK: What a publisher sends

  /// Notifies the publisher which layers its receivers want, when that changes: at once when they want more layers, after 2 s
  /// when they want fewer.
  func updateActiveLayers(of track: PublishedTrack, at now: Tick) {
    guard track.layers.count > 1, !track.track.isMuted else { return }
    var hasChanged = false
    for layer in track.layers.indices {
      let isWanted = track.forwarders.contains { $0.wants(layer) }
      let changes = isWanted ? track.layers[layer].turnOn(at: now) : track.layers[layer].nobodyWants(at: now)
      hasChanged = hasChanged || changes
    }
    guard hasChanged else { return }
    outbox.post(
      .wanted(trackID: track.id.track, layers: track.layers.indices.filter { track.layers[$0].isOn }),
      to: track.owner.client)
  }
}
