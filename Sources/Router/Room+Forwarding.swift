import KoineBase
import KoineRTP
import KoineSignaling
import KoineTransport

// The path of every packet: no allocation, no look-up by name, no closure.

extension Room {
  func forward(_ packet: SharedPacket, of receiver: ReceiverID, from member: Member, at now: Tick) {
    for track in member.tracks where track.receiver == receiver {
      guard track.layers.indices.contains(packet.layer) else { return }
      return forward(packet, of: track, at: now)
    }
  }

  private func forward(_ packet: SharedPacket, of track: PublishedTrack, at now: Tick) {
    let isResumed = track.layers[packet.layer].packetArrived(at: now)
    let isPadding = packet.payloadRange.isEmpty  // a probe of its path, which says nothing about the voice
    if isPadding, track.codec.isAudio, !track.isFlowing { return }
    guard !track.track.isMuted, isPadding || isHeard(packet, of: track, at: now) else { return track.interrupt() }
    track.flows()
    if isResumed { layerResumed(packet.layer, of: track, at: now) }
    let info = track.codec.videoPacketInfo(of: packet.payload) ?? VideoPacketInfo()
    let numbers = SourceNumbers(packet, info)
    track.layers[packet.layer].count(packet, info)
    if info.startsKeyFrame { keyFrameArrived(of: track, layer: packet.layer, height: info.height.map { Int($0) }) }
    if isResumed, !info.startsKeyFrame { sourceResumed(of: track, layer: packet.layer, at: now) }
    let item = ForwardingItem(packet: packet, numbers: numbers, info: info, stretch: track.stretch)
    var number: Int?
    for forwarder in track.forwarders where forwarder.isOpen {
      enqueue(item, as: &number, to: forwarder)
    }
    if track.awaitsKeyFrame {
      awaitKeyFrame(item, of: track, at: now)
    } else if !track.early.isEmpty {
      track.early.removeAll()
    }
  }

  /// - Parameter number: the item's, once it has been added.
  private func enqueue(_ item: ForwardingItem, as number: inout Int?, to forwarder: Forwarder) {
    let known = number ?? peers.add(item)
    number = known
    peers.enqueue(known, to: forwarder.slot, by: forwarder)
  }

  /// Keeps a packet for receivers that wait for a key frame, or has packets that came too early follow the first one of a key frame.
  private func awaitKeyFrame(_ item: ForwardingItem, of track: PublishedTrack, at now: Tick) {
    guard item.info.startsKeyFrame else { return track.early.add(item, at: now) }
    for early in track.early.take(behind: item, at: now) {
      var number: Int?
      for forwarder in track.forwarders where forwarder.isOpen && forwarder.begins(with: item) {
        enqueue(early, as: &number, to: forwarder)
      }
    }
  }

  private func layerResumed(_ layer: Int, of track: PublishedTrack, at now: Tick) {
    let isAlone = !track.layers.indices.contains { $0 != layer && track.layers[$0].isLive(at: now) }
    if isAlone { releaseVideoHolds(of: track, at: now) }
  }

  /// Of more microphones than the room forwards only the loudest pass.
  private func isHeard(_ packet: SharedPacket, of track: PublishedTrack, at now: Tick) -> Bool {
    guard let source = track.audioSource else { return true }
    let wasIdle = speakers.deadline == nil
    let isForwarded = speakers.receivePacket(
      source, level: packet.extensions.audioLevel, frames: track.codec.framesOf20ms(in: packet.payload), at: now)
    if wasIdle, speakers.deadline != nil { needsSettling = true }
    return isForwarded
  }

  func forward(_ report: SenderReport, of receiver: ReceiverID, layer: Int, from member: Member, at now: Tick) {
    guard let track = member.tracks.first(where: { $0.receiver == receiver }), track.layers.indices.contains(layer)
    else {
      return
    }
    let captured = member.clock.local(Tick(nanoseconds: NTPTime(report.ntp).nanoseconds), arrivedAt: now)
    track.layers[layer].report = (captured, report.rtpTimestamp)
    for forwarder in track.forwarders {
      forwarder.anchor(layer, captured: captured, timestamp: report.rtpTimestamp)
    }
  }
}

// Key frames: at most one request per interval and layer, for all receivers that wait.

extension Room {
  /// For all of the track's forwarders that wait for one.
  func requestKeyFrames(of track: PublishedTrack, at now: Tick) {
    for forwarder in track.forwarders { requestKeyFrame(for: forwarder, at: now) }
  }

  func requestKeyFrame(for forwarder: Forwarder, at now: Tick) {
    guard forwarder.needsKeyFrame else { return }
    requestKeyFrame(for: forwarder, layer: forwarder.target, cause: nil, at: now)
  }

  /// The receiver has asked for a key frame by RTCP (RFC 4585 PLI, RFC 5104 FIR).
  func keyFrameRequested(by forwarder: Forwarder, at now: Tick) {
    requestKeyFrame(for: forwarder, layer: forwarder.current ?? forwarder.target, cause: .stream, at: now)
  }

  private func requestKeyFrame(
    for forwarder: Forwarder, layer: Int, cause: KeyFrameAllowance.Cause?, at now: Tick
  ) {
    let track = forwarder.track
    guard track.layers.indices.contains(layer) else { return }
    let source = keyFrameSource(of: track, layer, at: now)
    guard source.canAnswer else { return }
    if let cause { forwarder.receiverNeedsKeyFrame(cause) }
    guard forwarder.mayRequestKeyFrame(at: now) else { return }
    if track.keyFrames.wanted(layer, from: source, at: now) { ask(track, layer, at: now) }
    if !track.awaitsKeyFrame, track.keyFrames.deadline != nil {
      track.awaitsKeyFrame = true
      awaitingKeyFrames.append(track)
      needsSettling = true
    }
  }

  private func keyFrameSource(of track: PublishedTrack, _ layer: Int, at now: Tick) -> KeyFrameScheduler.Source {
    let (owner, peer) = (track.owner, track.owner.slot.peer)
    return KeyFrameScheduler.Source(
      isConnected: owner.isConnected, isMuted: track.track.isMuted,
      isKnown: peer.knowsSource(of: track.receiver, layer: layer), silence: peer.silence(at: now),
      isLive: track.layers[layer].isLive(at: now), isAnyLayerLive: track.layers.contains { $0.isLive(at: now) },
      isAboutToBegin: track.layers[layer].isAboutToBegin(at: now))
  }

  private func ask(_ track: PublishedTrack, _ layer: Int, at now: Tick) {
    keyFrameRequests += 1
    track.owner.slot.peer.requestKeyFrame(of: track.receiver, layer: layer, at: now)
    peers.touch(track.owner.slot)
  }

  private func keyFrameArrived(of track: PublishedTrack, layer: Int, height: Int?) {
    track.keyFrames.keyFrameArrived(layer)
    if let height { track.noteHeight(height, of: layer) }
  }

  /// The first packet of a layer, or the first after a silence.
  private func sourceResumed(of track: PublishedTrack, layer: Int, at now: Tick) {
    guard !track.codec.isAudio else { return }
    track.keyFrames.sourceResumed(layer)
    requestKeyFrames(of: track, at: now)
  }

  /// The receivers that waited may have left, or want nothing now.
  func cancelIdleRequests(of track: PublishedTrack) {
    for layer in track.layers.indices
    where !track.forwarders.contains(where: { $0.needsKeyFrame && $0.target == layer }) {
      track.keyFrames.cancel(layer)
    }
  }

  func repeatKeyFrameRequests(at now: Tick) {
    for track in awaitingKeyFrames {
      for layer in track.layers.indices {
        let source = keyFrameSource(of: track, layer, at: now)
        if track.keyFrames.handleTimeout(layer, from: source, at: now) { ask(track, layer, at: now) }
      }
      if track.keyFrames.deadline == nil { track.awaitsKeyFrame = false }
    }
    awaitingKeyFrames.removeAll { !$0.awaitsKeyFrame }
  }
}
