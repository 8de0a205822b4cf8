import KoineBase
import KoineRTP
import KoineSignaling
import KoineTransport

// The path of every packet: no allocation, no look-up by name, no closure.

extension Room {
  func take(_ packet: SharedPacket, of receiver: ReceiverID, from member: Member, at now: Tick) {
    for track in member.tracks where track.receiver == receiver {
      guard track.layers.indices.contains(packet.layer) else { return }
      return forward(packet, of: track, at: now)
    }
  }

  private func forward(_ packet: SharedPacket, of track: PublishedTrack, at now: Tick) {
    track.layers[packet.layer].lastPacket = now
    guard !track.track.muted, isHeard(packet, of: track, at: now) else { return track.interrupt() }
    track.flows()
    var numbers = SourceNumbers(sequence: packet.sequence, timestamp: packet.packet.timestamp)
    let facts = track.codec.isAudio ? PictureFacts() : PictureFacts(packet, of: track.codec, numbers: &numbers)
    track.layers[packet.layer].count(packet, facts)
    if facts.startsKeyFrame { keyFrameArrived(of: track, layer: packet.layer) }
    var passing: Int?
    for forwarder in track.forwarders where forwarder.isOpen {
      let number =
        passing
        ?? peers.note(Passing(packet: packet, numbers: numbers, facts: facts, stretch: track.stretch))
      passing = number
      peers.owe(number, to: forwarder.seat, by: forwarder)
    }
  }

  /// Of more voices than the room forwards only the loudest pass.
  private func isHeard(_ packet: SharedPacket, of track: PublishedTrack, at now: Tick) -> Bool {
    guard let voice = track.voice else { return true }
    let wasIdle = speakers.deadline == nil
    let isForwarded = speakers.heard(
      voice, level: packet.extensions.audioLevel, frames: frames(in: packet), at: now)
    if wasIdle, speakers.deadline != nil { needsSettling = true }
    return isForwarded
  }

  /// How many frames of 20 ms an Opus packet stands for (RFC 6716, 3.1 and 3.2.5); what it does not say is one.
  private func frames(in packet: SharedPacket) -> Int {
    let payload = UnsafeRawBufferPointer(rebasing: packet.datagram.readable[packet.payloadRange])
    guard payload.count >= 2, payload[0] & 3 == 3 else { return 1 }
    guard let opus = try? OpusPayload(parsing: payload) else { return 1 }
    return max(1, opus.duration / 960)
  }

  func take(_ report: SenderReport, of receiver: ReceiverID, layer: Int, from member: Member, at now: Tick) {
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

// Key frames: at most one request per interval and layer, for all who wait.

extension Room {
  /// For all of the track's forwarders that wait for one.
  func requestKeyFrames(of track: PublishedTrack, at now: Tick) {
    for forwarder in track.forwarders where forwarder.needsKeyFrame {
      requestKeyFrame(of: track, layer: forwarder.target, at: now)
    }
  }

  func requestKeyFrame(for forwarder: Forwarder, at now: Tick) {
    if forwarder.needsKeyFrame { requestKeyFrame(of: forwarder.track, layer: forwarder.target, at: now) }
  }

  func requestKeyFrame(of track: PublishedTrack, layer: Int, at now: Tick) {
    guard track.owner.isConnected, !track.track.muted, track.layers.indices.contains(layer) else { return }
    // A layer that has just been asked for begins with a key frame by itself.
    if track.layers[layer].requests.wanted(at: now), !track.layers[layer].isAboutToBegin(at: now) {
      ask(track, layer, at: now)
    }
    if !track.isListed, track.deadline != nil {
      track.isListed = true
      listed.append(track)
      needsSettling = true
    }
  }

  private func ask(_ track: PublishedTrack, _ layer: Int, at now: Tick) {
    keyFrameRequests += 1
    track.owner.seat.peer.requestKeyFrame(of: track.receiver, layer: layer, at: now)
    peers.touch(track.owner.seat)
  }

  private func keyFrameArrived(of track: PublishedTrack, layer: Int) {
    guard track.layers[layer].requests.deadline != nil else { return }
    track.layers[layer].requests.keyFrameArrived()
  }

  /// Whoever waited may have gone, or want nothing now.
  func cancelIdleRequests(of track: PublishedTrack) {
    for layer in track.layers.indices
    where !track.forwarders.contains(where: { $0.needsKeyFrame && $0.target == layer }) {
      track.layers[layer].requests.cancel()
    }
  }

  func repeatKeyFrameRequests(at now: Tick) {
    for track in listed {
      for layer in track.layers.indices where track.layers[layer].requests.handleTimeout(at: now) {
        ask(track, layer, at: now)
      }
      if track.deadline == nil { track.isListed = false }
    }
    listed.removeAll { !$0.isListed }
  }
}
