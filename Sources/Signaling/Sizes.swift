/// How large things are: in memory, about, or at most in a written message.
enum Measure {
  case kept, written

  func text(_ text: String) -> Int {
    guard self == .written else { return text.utf8.count }
    // RFC 8259 section 7: a control character takes six bytes.
    return text.utf8.reduce(2) { $0 + ($1 < 0x20 ? 6 : $1 == 0x22 || $1 == 0x5C ? 2 : 1) }
  }

  func text(_ text: String?) -> Int { text.map(self.text) ?? 0 }
  func texts(_ texts: [String]) -> Int { texts.reduce(0) { $0 + text($1) + 8 } }

  func texts(_ texts: [String: String]) -> Int {
    texts.reduce(0) { $0 + text($1.key) + text($1.value) + (self == .kept ? 48 : 2) }
  }

  func tracks(_ tracks: [Track]) -> Int { tracks.reduce(0) { $0 + text($1.id.track) + 64 } }

  func offers(_ tracks: [TrackOffer]) -> Int {
    tracks.reduce(0) { sum, track in
      let media = track.media.map { 144 + text($0.mid) + $0.encodings.count * 128 }
      return sum + text(track.id) + 64 + (media ?? 0)
    }
  }

  func references(_ references: [Track.ID]) -> Int {
    references.reduce(0) { $0 + text($1.participant) + text($1.track) + 32 }
  }

  func participant(_ participant: Participant) -> Int {
    128 + text(participant.id) + text(participant.name) + text(participant.externalUserID)
      + texts(participant.attributes)
      + tracks(participant.tracks)
  }

  func description(_ description: PeerDescription) -> Int {
    let names = [
      description.ice.ufrag, description.ice.password, description.fingerprint.algorithm, description.fingerprint.value,
    ]
    return 128 + texts(names)
      + description.candidates.reduce(0) { $0 + texts([$1.host, $1.foundation]) + 104 }
  }

  func data(_ data: ReceivedMessage) -> Int {
    let payload = self == .kept ? data.payload.count : (data.payload.count + 2) / 3 * 4
    return 192 + payload + text(data.sender) + text(data.topic) + text(data.id)
  }
}

extension Participant {
  /// At most, in bytes of JSON.
  public var writtenSize: Int { Measure.written.participant(self) }
  /// Of attributes alone.
  public static func writtenSize(of attributes: [String: String]) -> Int { Measure.written.texts(attributes) }
}

extension RingRequest {
  /// At most, in bytes of JSON.
  public var writtenSize: Int { Measure.written.texts(to + [id, room]) + 192 }
}

extension Track {
  /// At most, in bytes of JSON, beside its participant.
  public var writtenSize: Int { Measure.written.tracks([self]) }
}

extension TrackOffer {
  /// At most, in bytes of JSON, as the other participants are told of the track.
  public var announcedSize: Int { Measure.written.text(id) + 64 }
}

extension ReceivedMessage {
  /// At most, in bytes of JSON.
  public var writtenSize: Int { Measure.written.data(self) }
}

extension ClientMessage: CountedMessage {
  public var isCounted: Bool {
    switch self {
    case .resumeConversation, .heard, .ping, .bye: false
    default: true
    }
  }

  public var weight: Int {
    let kept = Measure.kept
    let content =
      switch self {
      case .join(let join):
        kept.texts([join.room, join.credential ?? "", join.participantID ?? "", join.name, join.externalID ?? ""])
          + kept.texts(join.attributes) + kept.description(join.description)
      case .register(let register): kept.texts([register.identity, register.name, register.credential ?? ""])
      case .ring(let ring): kept.texts(ring.to + [ring.id, ring.room])
      case .publish(let publish): kept.offers(publish.tracks)
      case .unpublish(let ids): kept.texts(ids)
      case .subscribe(let subscribe): kept.references(subscribe.tracks)
      case .unsubscribe(let tracks), .pause(let tracks), .resume(let tracks): kept.references(tracks)
      case .prefer(let preferences): kept.references(preferences.map(\.track)) + preferences.count * 32
      case .data(let data):
        data.message.payload.count + kept.texts([data.message.topic, data.id])
          + kept.texts(data.message.recipients ?? [])
      case .attributes(let attributes): kept.texts(attributes)
      case .renew(let credential): kept.text(credential)
      case .restartMedia(let description): kept.description(description)
      case .cancelRing, .answerRing, .mute, .leave, .muteOther, .remove, .close, .answerKnock, .ping,
        .resumeConversation, .heard, .bye:
        SignalingLimits.name
      }
    return content + 128
  }
}

extension ServerMessage: CountedMessage {
  public var isCounted: Bool {
    switch self {
    case .resumed, .heard, .pong, .refused: false
    default: true
    }
  }

  public var weight: Int {
    let kept = Measure.kept
    let content =
      switch self {
      case .joined(let joined):
        kept.participant(joined.local) + kept.description(joined.description)
          + joined.participants.reduce(0) { $0 + kept.participant($1) }
          + joined.history.reduce(0) { $0 + kept.data($1) }
      case .participantJoined(let participant), .knock(let participant, _): kept.participant(participant)
      case .published(_, let tracks): kept.tracks(tracks)
      case .withdrawn(_, let ids): kept.texts(ids)
      case .subscribed(let subscribed):
        kept.references(subscribed.tracks.map(\.reference) + subscribed.missing) + subscribed.tracks.count * 256
      case .unsubscribed(let tracks): kept.references(tracks)
      case .starved(let reference, _): kept.references([reference])
      case .data(let data): kept.data(data)
      case .attributes(_, let attributes): kept.texts(attributes)
      case .speakers(let speakers): speakers.levels.reduce(0) { $0 + kept.text($1.key) + 32 }
      case .quality(let reports): reports.reduce(0) { $0 + kept.text($1.key) + 48 }
      case .incomingRing(let ring): kept.texts(ring.callees + [ring.id, ring.room, ring.caller, ring.callerName])
      case .mediaRestarted(let description): kept.description(description)
      case .attendants(let names): kept.texts(names)
      case .history(let page): page.entries.reduce(0) { $0 + kept.data($1.kept.message) }
      case .failed(_, let failure), .refused(let failure): kept.text(failure.message)
      case .dataReceipt(let receipt): kept.text(receipt.id) + kept.text(receipt.failure?.message)
      case .registered, .ringEnded, .ringProgress, .waiting, .knockEnded, .participantLeft, .accepted, .muted, .wanted,
        .ended, .pong, .resumable, .resumed, .heard:
        SignalingLimits.name
      }
    return content + 128
  }
}
