import KoineBase
import KoineSignaling
import KoineTransport

extension Room {
  /// All tracks or none.
  func publish(_ publish: Publish, of member: Member, at now: Tick) {
    var streams: [StreamParameters] = []
    do throws(Failure) {
      streams = try check(publish.tracks, of: member)
      let size = publish.tracks.reduce(0) { $0 + $1.announcedSize }
      try roster.checkPublishing(bytes: size, limits: limits)
      if !publish.tracks.isEmpty { try spend(bytes: size, of: member, at: now) }
    } catch {
      return outbox.post(.failed(request: publish.request, error), to: member.client)
    }
    let tracks = zip(publish.tracks, streams).map { offer, stream in
      let audioSource = offer.kind == .microphone ? speakers.add(member.id) : nil
      let id = Track.ID(participant: member.id, track: offer.id)
      let track = Track(id: id, kind: offer.kind, isMuted: offer.isMuted || roster.wasMuted(id), layers: offer.layers)
      let published = PublishedTrack(
        track, media: stream,
        receiver: member.slot.peer.addReceiver(stream, mode: .packets), audioSource: audioSource, owner: member)
      if track.isMuted { silence(published, at: now) }
      return published
    }
    member.tracks += tracks
    roster.publish(tracks.map(\.track), of: member.id)
    if tracks.contains(where: { $0.layers.count > 1 }) { watchLayers(at: now) }
    peers.touch(member.slot)
    outbox.post(.accepted(request: publish.request), to: member.client)
    for (offer, track) in zip(publish.tracks, tracks) where track.track.isMuted && !offer.isMuted {
      // Muted before the room was restored, and the owner may not know: by a moderator, or by itself a moment ago.
      outbox.post(.muted(participant: member.id, trackID: offer.id, muted: true), to: member.client)
    }
    guard !tracks.isEmpty else { return }
    for track in tracks { report(.published(track.track.kind, isOn: true), of: member) }
    tellOthers(.published(participant: member.id, tracks: tracks.map(\.track)), than: member)
  }

  func unpublish(_ trackIDs: [String], of member: Member, at now: Tick) {
    let tracks = member.tracks.filter { trackIDs.contains($0.id.track) }
    withdraw(tracks, of: member, at: now)
    for id in trackIDs where !tracks.contains(where: { $0.id.track == id }) { tellUnknown(id, to: member) }
  }

  /// Ends the tracks for all their receivers.
  func withdraw(_ tracks: [PublishedTrack], of member: Member, at now: Tick) {
    guard !tracks.isEmpty else { return }
    for track in tracks {
      for forwarder in track.forwarders {
        forwarder.receiver.subscriptions.removeAll { $0 === forwarder }
        forwarder.detach()
        peers.touch(forwarder.slot)
        reportSubscriptions(of: forwarder.receiver, to: member.id, isOn: false)
      }
      track.forwarders.removeAll()
      member.slot.peer.removeReceiver(track.receiver)
      awaitingKeyFrames.removeAll { $0 === track }
      if let source = track.audioSource {
        speakers.remove(source, at: now)
        needsSettling = true
      }
    }
    member.tracks.removeAll { track in tracks.contains { $0 === track } }
    roster.withdraw(tracks.map(\.id), of: member.id)
    for track in tracks { report(.published(track.track.kind, isOn: false), of: member) }
    tellOthers(.withdrawn(participant: member.id, trackIDs: tracks.map(\.id.track)), than: member)
  }

  func mute(_ trackID: String, _ muted: Bool, of member: Member, at now: Tick) {
    guard let track = member.track(trackID) else { return tellUnknown(trackID, to: member) }
    guard track.track.isMuted != muted else { return }
    setMuted(muted, track)
    if muted {
      silence(track, at: now)
    } else {
      releaseVideoHolds(of: track, at: now)
      requestKeyFrames(of: track, at: now)
    }
    if !track.owesMute, member.broadcastLimiter.spend(bytes: track.track.writtenSize, at: now) {
      tellOthers(.muted(participant: member.id, trackID: trackID, muted: muted), than: member)
    } else {
      // Muting is never refused, because the owner has already muted the track. The router notifies the other participants later,
      // with the latest state.
      track.owesMute = true
      tellSoon(at: now + Self.tellingInterval)
    }
  }

  /// Mutes another participant's track. The router forwards none of its packets until its owner unmutes it. All participants are
  /// notified, the owner too.
  func muteOther(_ reference: Track.ID, by member: Member, at now: Tick) {
    guard member.grants.canModerate else { return refuseModeration(to: member) }
    guard let track = track(reference) else { return tellUnknown(reference.track, to: member) }
    muteForOwner(track, at: now)
  }

  /// Mutes a track in its owner's place. All participants are notified, the owner too.
  func muteForOwner(_ track: PublishedTrack, at now: Tick) {
    guard !track.track.isMuted else { return }
    setMuted(true, track)
    silence(track, at: now)
    tellOthers(.muted(participant: track.id.participant, trackID: track.id.track, muted: true), than: nil)
  }

  private func setMuted(_ isMuted: Bool, _ track: PublishedTrack) {
    roster.setMuted(isMuted, track.id)
    track.track.isMuted = isMuted
  }

  /// Stops forwarding a muted track; packets that its publisher still sends are dropped.
  private func silence(_ track: PublishedTrack, at now: Tick) {
    track.interrupt()
    track.keyFrames.cancelAll()
    if let source = track.audioSource { speakers.mute(source, at: now) }
    needsSettling = true
  }

  private func tellUnknown(_ trackID: String, to member: Member) {
    outbox.post(
      .failed(request: nil, Failure(.unknownTrack, "no track “\(trackID)” is published")), to: member.client)
  }

  // MARK: What may be published

  private func check(_ tracks: [TrackOffer], of member: Member) throws(Failure) -> [StreamParameters] {
    guard member.tracks.count + tracks.count <= limits.tracks else {
      throw Failure(.tooMany, "a participant publishes at most \(limits.tracks) tracks")
    }
    guard !member.grants.isHidden else { throw Failure(.forbidden, "a hidden participant cannot publish") }
    var ids = Set(member.tracks.map(\.id.track))
    var mids = Set(member.tracks.map(\.media.mid))
    var sources = Set(member.tracks.flatMap(\.sources))
    for forwarder in member.subscriptions {
      for encoding in forwarder.media.encodings { sources.formUnion([encoding.ssrc, encoding.rtxSSRC ?? 0]) }
    }
    var streams: [StreamParameters] = []
    for track in tracks {
      guard !track.id.isEmpty, ids.insert(track.id).inserted else {
        throw Failure(.duplicateTrack, "a track “\(track.id)” is there already")
      }
      guard member.grants.publish.contains(track.kind) else {
        throw Failure(.forbidden, "not allowed to publish a \(track.kind.rawValue)")
      }
      guard let media = track.media else {
        throw Failure(.badMedia, "track “\(track.id)” has no media that is known here")
      }
      guard mids.insert(media.mid).inserted else { throw Failure(.badMedia, "mid “\(media.mid)” is in use") }
      for source in media.encodings.flatMap({ [$0.ssrc, $0.rtxSSRC] }).compactMap(\.self) {
        if source == 0, member.capabilities.namesSourcesInPackets { continue }
        guard source != 0, sources.insert(source).inserted else { throw Failure(.badMedia, "SSRC \(source) is in use") }
      }
      try check(media, of: track)
      streams.append(media)
    }
    return streams
  }

  private func check(_ media: StreamParameters, of track: TrackOffer) throws(Failure) {
    guard media.codec.isAudio == track.kind.isAudio else {
      throw Failure(.badMedia, "\(media.codec.rawValue) is not for a \(track.kind.rawValue)")
    }
    guard (1...(media.codec.isAudio ? 1 : SignalingLimits.encodings)).contains(media.encodings.count) else {
      throw Failure(.badMedia, "\(media.encodings.count) encodings of track “\(track.id)”")
    }
    guard media.encodings.allSatisfy(\.isWithinLimits) else {
      throw Failure(.badMedia, "bitrates or heights of track “\(track.id)” that cannot be")
    }
    // RFC 5761 section 4: 64 to 95 look like RTCP on one port.
    let types = [media.payloadType, media.rtxPayloadType, media.redPayloadType].compactMap(\.self)
    guard types.allSatisfy({ $0 < 128 && !(64...95).contains($0) }), Set(types).count == types.count else {
      throw Failure(.badMedia, "payload types \(types)")
    }
  }
}

extension StreamParameters.Encoding {
  /// Whether the numbers are possible: not negative, and within `SignalingLimits`.
  fileprivate var isWithinLimits: Bool {
    (0...SignalingLimits.bitrate).contains(maximumBitrate ?? 0)
      && (0...SignalingLimits.rows).contains(maximumHeight ?? 0)
      && (0...SignalingLimits.rows).contains(maximumWidth ?? 0)
      && (0...SignalingLimits.frameRate).contains(maximumFramesPerSecond ?? 0)
  }
}
