/// A message of a client to the router. On the wire it is a JSON object: the field `type` names the case, the other fields are the
/// payload's.
public enum ClientMessage: Hashable, Sendable {
  case join(Join)
  case register(Register)
  case ring(RingRequest)
  /// Cancels an outgoing ring for all callees that have not answered.
  case cancelRing(id: String)
  /// Answers an incoming ring: `accepted`, `declined` or `busy`.
  case answerRing(id: String, Ring.State)
  case publish(Publish)
  case unpublish(trackIDs: [String])
  case mute(trackID: String, muted: Bool)
  case subscribe(Subscribe)
  case unsubscribe([Track.ID])
  /// Stops the packets of subscribed tracks until `resume`; the subscription stays.
  case pause([Track.ID])
  case resume([Track.ID])
  /// Which layer of a subscribed track this receiver would like.
  case prefer([TrackPreference])
  case data(SendData)
  /// The participant's whole new set of attributes.
  case attributes([String: String])
  case leave(reason: String?)
  /// Mutes another participant's track. The router forwards none of its packets until its owner unmutes it.
  case muteOther(Track.ID)
  /// Removes another participant from the room.
  case remove(participant: String)
  /// Closes the room: removes all participants.
  case close
  /// Admits a participant that waits, or refuses it. With the `number` of its knock the answer cannot reach another
  /// participant that waits under the same id by now.
  case answerKnock(participant: String, admitted: Bool, number: Int? = nil)
  /// Replaces the credential that admitted this participant. Tracks and subscriptions that the new one does not grant end.
  case renew(credential: String)
  /// Answered by `pong` with the same number.
  case ping(Int)
  /// Takes up a conversation that another connection began. The first message of a connection; answered by `resumed`, or by
  /// `refused` where the router does not know it any more.
  case resumeConversation(key: String, heard: Int)
  /// The number of counted messages received from the server (`ClientSignalingChannel`).
  case heard(Int)
  /// The media path broke: a new peer takes the old one's place, with the same tracks and subscriptions. Answered by
  /// `mediaRestarted`.
  case restartMedia(PeerDescription)
  /// The client goes and will not take this conversation up again.
  case bye
}

extension ClientMessage: Codable {
  enum Kind: String, CaseIterable {
    case join, register, ring, cancelRing, answerRing, publish, unpublish, mute, subscribe, unsubscribe, pause, resume,
      prefer, data, attributes, leave, remove
    case close, ping, resumeConversation, heard, restartMedia, bye, answerKnock, muteOther, renew
  }

  enum CodingKeys: String, CodingKey {
    case type, id, answer, tracks, track, muted, attributes, reason, participant, number, key, heard, description,
      admitted, reference, credential
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    let type = try fields.text(.type)
    guard let kind = Kind(rawValue: type) else { throw SignalingError.unknownType(type) }
    switch kind {
    case .join: self = .join(try Join(from: decoder))
    case .register: self = .register(try Register(from: decoder))
    case .ring: self = .ring(try RingRequest(from: decoder))
    case .cancelRing: self = .cancelRing(id: try fields.text(.id))
    case .answerRing:
      self = .answerRing(id: try fields.text(.id), try fields.decode(Ring.State.self, forKey: .answer))
    case .publish: self = .publish(try Publish(from: decoder))
    case .unpublish: self = .unpublish(trackIDs: try fields.names(.tracks, limit: SignalingLimits.tracks))
    case .mute: self = .mute(trackID: try fields.text(.track), muted: try fields.decode(Bool.self, forKey: .muted))
    case .subscribe: self = .subscribe(try Subscribe(from: decoder))
    case .unsubscribe: self = .unsubscribe(try fields.sizedList(.tracks, limit: SignalingLimits.references))
    case .pause: self = .pause(try fields.sizedList(.tracks, limit: SignalingLimits.references))
    case .resume: self = .resume(try fields.sizedList(.tracks, limit: SignalingLimits.references))
    case .prefer: self = .prefer(try fields.list(.tracks, limit: SignalingLimits.references))
    case .data: self = .data(try SendData(from: decoder))
    case .attributes: self = .attributes(try fields.attributes(.attributes))
    case .leave: self = .leave(reason: try fields.textIfPresent(.reason))
    case .remove: self = .remove(participant: try fields.text(.participant))
    case .muteOther: self = .muteOther(try fields.sized(.reference))
    case .renew: self = .renew(credential: try fields.text(.credential, limit: SignalingLimits.credential))
    case .close: self = .close
    case .answerKnock:
      self = .answerKnock(
        participant: try fields.text(.participant), admitted: try fields.decode(Bool.self, forKey: .admitted),
        number: try fields.decodeIfPresent(Int.self, forKey: .number))
    case .ping: self = .ping(try fields.decode(Int.self, forKey: .number))
    case .resumeConversation:
      self = .resumeConversation(key: try fields.text(.key), heard: try fields.decode(Int.self, forKey: .heard))
    case .heard: self = .heard(try fields.decode(Int.self, forKey: .heard))
    case .restartMedia: self = .restartMedia(try fields.sized(.description))
    case .bye: self = .bye
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(kind.rawValue, forKey: .type)
    switch self {
    case .join(let join): try join.encode(to: encoder)
    case .register(let register): try register.encode(to: encoder)
    case .ring(let ring): try ring.encode(to: encoder)
    case .cancelRing(let id): try fields.encode(id, forKey: .id)
    case .answerRing(let id, let answer):
      try fields.encode(id, forKey: .id)
      try fields.encode(answer, forKey: .answer)
    case .publish(let publish): try publish.encode(to: encoder)
    case .unpublish(let trackIDs): try fields.encode(trackIDs, forKey: .tracks)
    case .mute(let trackID, let muted):
      try fields.encode(trackID, forKey: .track)
      try fields.encode(muted, forKey: .muted)
    case .subscribe(let subscribe): try subscribe.encode(to: encoder)
    case .unsubscribe(let tracks), .pause(let tracks), .resume(let tracks): try fields.encode(tracks, forKey: .tracks)
    case .prefer(let preferences): try fields.encode(preferences, forKey: .tracks)
    case .data(let message): try message.encode(to: encoder)
    case .attributes(let attributes): try fields.encode(attributes, forKey: .attributes)
    case .leave(let reason): try fields.encodeIfPresent(reason, forKey: .reason)
    case .remove(let participant): try fields.encode(participant, forKey: .participant)
    case .muteOther(let reference): try fields.encode(reference, forKey: .reference)
    case .renew(let credential): try fields.encode(credential, forKey: .credential)
    case .close, .bye: break
    case .answerKnock(let participant, let admitted, let number):
      try fields.encode(participant, forKey: .participant)
      try fields.encode(admitted, forKey: .admitted)
      try fields.encodeIfPresent(number, forKey: .number)
    case .ping(let number): try fields.encode(number, forKey: .number)
    case .resumeConversation(let key, let heard):
      try fields.encode(key, forKey: .key)
      try fields.encode(heard, forKey: .heard)
    case .heard(let count): try fields.encode(count, forKey: .heard)
    case .restartMedia(let description): try fields.encode(description, forKey: .description)
    }
  }

  /// The `type` of every message of a client.
  public static var types: [String] { Kind.allCases.map(\.rawValue) }

  var kind: Kind {
    switch self {
    case .join: .join
    case .register: .register
    case .ring: .ring
    case .cancelRing: .cancelRing
    case .answerRing: .answerRing
    case .publish: .publish
    case .unpublish: .unpublish
    case .mute: .mute
    case .subscribe: .subscribe
    case .unsubscribe: .unsubscribe
    case .pause: .pause
    case .resume: .resume
    case .prefer: .prefer
    case .data: .data
    case .attributes: .attributes
    case .leave: .leave
    case .remove: .remove
    case .close: .close
    case .answerKnock: .answerKnock
    case .ping: .ping
    case .resumeConversation: .resumeConversation
    case .heard: .heard
    case .restartMedia: .restartMedia
    case .bye: .bye
    case .muteOther: .muteOther
    case .renew: .renew
    }
  }
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
