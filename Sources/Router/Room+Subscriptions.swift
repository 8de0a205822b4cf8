import KoineBase
import KoineSignaling
import KoineTransport

extension Room {
  func subscribe(_ subscribe: Subscribe, of member: Member, at now: Tick) {
    guard member.grants.canSubscribe else {
      return fail(subscribe, Failure(.forbidden, "not allowed to subscribe"), member)
    }
    guard member.subscriptions.count + subscribe.tracks.count <= limits.subscriptions else {
      return fail(subscribe, Failure(.tooMany, "at most \(limits.subscriptions) subscriptions"), member)
    }
    guard !subscribe.tracks.contains(where: { $0.participant == member.id }) else {
      return fail(subscribe, Failure(.forbidden, "a participant cannot subscribe to its own tracks"), member)
    }
    var forwarders = Dictionary(
      member.subscriptions.map { ($0.track.id, $0) }, uniquingKeysWith: { first, _ in first })
    var hasNewPictures = false
    var answer = Subscribed(request: subscribe.request, tracks: [])
    for reference in subscribe.tracks {
      guard let track = track(reference), member.grants.receive.contains(track.track.kind) else {
        answer.missing.append(reference)
        continue
      }
      guard let types = member.capabilities.payloadTypes[track.codec] else {
        answer.missing.append(reference)  // it could not be understood
        continue
      }
      let forwarder = forwarders[reference] ?? attach(track, to: member, types, isPaused: subscribe.paused == true)
      if forwarders.updateValue(forwarder, forKey: reference) == nil, !track.codec.isAudio { hasNewPictures = true }
      answer.tracks.append(ForwardedTrack(reference: reference, kind: track.track.kind, media: forwarder.media))
    }
    releaseHold(of: member, at: now)
    if hasNewPictures {
      allocate(to: member, at: now)
      watchLayers(at: now)
    }
    outbox.post(.subscribed(answer), to: member.client)
    for reference in subscribe.tracks {
      if let forwarder = forwarders[reference] { requestKeyFrame(for: forwarder, at: now) }
    }
  }

  private func fail(_ subscribe: Subscribe, _ failure: Failure, _ member: Member) {
    outbox.post(.failed(request: subscribe.request, failure), to: member.client)
  }

  private func attach(
    _ track: PublishedTrack, to member: Member, _ types: MediaCapabilities.PayloadTypes, isPaused: Bool
  ) -> Forwarder {
    let media = outgoing(track, to: member, types)
    let forwarder = Forwarder(track, to: member, media: media, random: &random)
    if isPaused { forwarder.pause() }
    if let preference = formerPreference(of: track.id, for: member) { forwarder.preference = preference }
    track.forwarders.append(forwarder)
    member.subscriptions.append(forwarder)
    peers.touch(member.slot)
    reportSubscriptions(of: member, to: track.id.participant, isOn: true)
    return forwarder
  }

  /// One encoding under names of the receiver's own; retransmissions where the publisher has them too.
  private func outgoing(_ track: PublishedTrack, to member: Member, _ types: MediaCapabilities.PayloadTypes)
    -> StreamParameters
  {
    let hasRTX = track.media.rtxPayloadType != nil && types.rtx != nil
    let ssrc = member.takeSource(&random)
    return StreamParameters(
      mid: member.takeMid(), codec: track.media.codec, payloadType: types.media,
      rtxPayloadType: hasRTX ? types.rtx : nil,
      redPayloadType: track.codec.isAudio ? types.red ?? member.slot.peer.remoteRedPayloadType : nil,
      encodings: [
        StreamParameters.Encoding(
          ssrc: ssrc, rtxSSRC: hasRTX ? member.takeSource(&random) : nil,
          maximumBitrate: track.media.encodings.last?.maximumBitrate)
      ])
  }

  func unsubscribe(_ tracks: [Track.ID], of member: Member, at now: Tick) {
    let given = Set(tracks)
    let gone = member.subscriptions.filter { given.contains($0.track.id) }
    member.subscriptions.removeAll { given.contains($0.track.id) }
    for forwarder in gone { detach(forwarder) }
    outbox.post(.unsubscribed(tracks), to: member.client)
  }

  /// Takes a forwarder out of its track; its receiver's list is the caller's.
  func detach(_ forwarder: Forwarder) {
    let track = forwarder.track
    track.forwarders.removeAll { $0 === forwarder }
    forwarder.detach()
    peers.touch(forwarder.slot)
    cancelIdleRequests(of: track)
    reportSubscriptions(of: forwarder.receiver, to: track.id.participant, isOn: false)
  }

  func pause(_ tracks: [Track.ID], of member: Member, at now: Tick) {
    for forwarder in subscriptions(tracks, of: member) where !forwarder.isPausedByReceiver {
      endStarvation(of: forwarder)
      forwarder.pause()
      cancelIdleRequests(of: forwarder.track)
    }
    allocate(to: member, at: now)
  }

  func resume(_ tracks: [Track.ID], of member: Member, at now: Tick) {
    for forwarder in subscriptions(tracks, of: member) where forwarder.isPausedByReceiver {
      forwarder.resume()
    }
    releaseHold(of: member, at: now)
    allocate(to: member, at: now)
    for forwarder in subscriptions(tracks, of: member) { requestKeyFrame(for: forwarder, at: now) }
  }

  private func subscriptions(_ tracks: [Track.ID], of member: Member) -> [Forwarder] {
    let wanted = Set(tracks)
    return member.subscriptions.filter { wanted.contains($0.track.id) }
  }
}
