/// A message of the router to a client. On the wire it is a JSON object: the field `type` names the case, the other fields are the
/// payload's.
///
/// A participant is announced before its tracks, and its tracks are withdrawn before it leaves.
public enum ServerMessage: Hashable, Sendable {
  case joined(Joined)
  /// The answer to a join that was not granted. The connection may try again. `places`, with the code `moved`: the addresses of the
  /// servers at which to join instead, the best first.
  case refused(Failure, places: [String] = [])
  /// The answer to a `register` that was granted, with the identity as the credential gives it. `places`: the addresses of the
  /// cluster's servers, to be tried in turn after a break; empty: the client keeps its own list.
  case registered(identity: String, places: [String] = [])
  /// The client's room, or registration, is now at the first of these servers that answers. The client joins, or registers, there; it
  /// cannot take this conversation up at another server.
  case moved(places: [String])
  case incomingRing(Ring)
  /// An incoming ring has ended for this connection.
  case ringEnded(id: String, Ring.State)
  /// The state of an outgoing ring has changed for one of its callees.
  case ringProgress(RingProgress)
  /// The answer to a join that a participant in the room has to decide on; `joined` or `refused` follows.
  case waiting
  /// A participant waits to be admitted. Sent to the participants that may admit it. `number` distinguishes it from all other
  /// participants that wait, or have waited, under the same id.
  case knock(Participant, number: Int? = nil)
  /// No decision is needed any more. `admitted` is the decision; nil: the participant has gone or could not enter, or the receiver may
  /// not decide any more.
  case knockEnded(participant: String, admitted: Bool?, number: Int? = nil)
  case participantJoined(Participant)
  case participantLeft(id: String, reason: DepartureReason)
  /// The answer to a `publish` that was done.
  case accepted(request: Int)
  /// Others' tracks, without their `media`.
  case published(participant: String, tracks: [Track])
  /// Ends every subscription to them. The receiver's own tracks, too, where it may not publish them any more.
  case withdrawn(participant: String, trackIDs: [String])
  /// A track was muted or unmuted. For the client's own track: a moderator or the server has muted it, or it was muted before the
  /// room was restored.
  case muted(participant: String, trackID: String, muted: Bool)
  case subscribed(Subscribed)
  /// These subscriptions have ended, by `unsubscribe` or because the client may not subscribe any more. No packets of these tracks
  /// follow, except those already under way.
  case unsubscribed([Track.ID])
  case data(ReceivedMessage)
  case dataReceipt(DataReceipt)
  case attributes(participant: String, [String: String])
  case speakers(Speakers)
  /// A subscribed track is not forwarded for now, because the receiver's path does not even carry its smallest layer; or
  /// is again.
  case starved(Track.ID, Bool)
  /// The connection quality of all participants with a changed quality, the receiver's own included.
  case quality([String: ConnectionQuality])
  /// The bitrate that the path from the router to the client carries, in bit/s, as the router estimates it. Sent to clients that
  /// receive video when it has changed by more than a tenth, at most once a second.
  case bandwidth(Int)
  /// The simulcast layers of the client's own track that receivers want, 0 the smallest. The client need not send the others. Before
  /// the first such message all layers are wanted.
  case wanted(trackID: String, layers: [Int])
  /// The client's own permissions, after a change of them in the room. They replace all earlier ones. Before the first such message
  /// the credential's permissions apply.
  case permissions(Set<ParticipantPermission>)
  /// Something asked for was not done. `request` is nil where the message carried no number.
  case failed(request: Int?, Failure)
  /// The last message of a stay.
  case ended(EndReason)
  case pong(Int)
  /// This conversation can be taken up on another connection, with this key, so long after its connection broke. Comes once,
  /// before the first `joined` or `registered`.
  case resumable(key: String, graceSeconds: Double)
  /// The conversation continues. `heard` is the number of counted messages received from the client (`ServerSignalingChannel`).
  case resumed(heard: Int)
  case heard(Int)
  /// The answer to `restartMedia`: of the router's new peer.
  case mediaRestarted(PeerDescription)
  /// The next part of the messages that the room keeps for later participants.
  case history(HistoryPage)
  /// The names of the co-located services from now on. They replace the names in `joined`.
  case attendants([String])
}

extension ServerMessage: Codable {
  enum Kind: String, CaseIterable {
    case joined, refused, registered, incomingRing, ringEnded, ringProgress, participantJoined, participantLeft,
      accepted, published, withdrawn, muted, subscribed
    case unsubscribed, data, dataReceipt, attributes, speakers, quality, bandwidth, wanted, failed, ended, pong
    case resumable, resumed, heard, mediaRestarted, waiting, knock, knockEnded, starved, attendants, history
    case permissions, moved
  }

  enum CodingKeys: String, CodingKey {
    case type, id, identity, state, failure, participant, reason, request, tracks, track, muted, attributes,
      participants, number, layers, key, graceSeconds, heard, description, sending, receiving, admitted, paused,
      attendants, permissions, bitrate, by, note, places
  }

  /// The origin of an end that a vendor's HTTP API asked for.
  private static let service = "service"
  /// Characters of the note of such an end.
  private static let noteLength = 128

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    let type = try fields.text(.type)
    guard let kind = Kind(rawValue: type) else { throw SignalingError.unknownType(type) }
    switch kind {
    case .joined: self = .joined(try Joined(from: decoder))
    case .refused:
      self = .refused(try fields.decode(Failure.self, forKey: .failure), places: try fields.places(.places))
    case .registered:
      self = .registered(identity: try fields.text(.identity), places: try fields.places(.places))
    case .moved: self = .moved(places: try fields.places(.places))
    case .incomingRing: self = .incomingRing(try Ring(from: decoder).sized())
    case .ringEnded: self = .ringEnded(id: try fields.text(.id), try fields.decode(Ring.State.self, forKey: .state))
    case .ringProgress: self = .ringProgress(try RingProgress(from: decoder))
    case .waiting: self = .waiting
    case .knock:
      self = .knock(
        try fields.sized(.participant),
        number: try fields.decodeIfPresent(Int.self, forKey: .number))
    case .knockEnded:
      self = .knockEnded(
        participant: try fields.text(.participant), admitted: try fields.decodeIfPresent(Bool.self, forKey: .admitted),
        number: try fields.decodeIfPresent(Int.self, forKey: .number))
    case .starved:
      self = .starved(
        Track.ID(participant: try fields.text(.participant), track: try fields.text(.track)),
        try fields.decode(Bool.self, forKey: .paused))
    case .participantJoined: self = .participantJoined(try fields.sized(.participant))
    case .participantLeft:
      self = .participantLeft(
        id: try fields.text(.participant), reason: try fields.decode(DepartureReason.self, forKey: .reason))
    case .accepted: self = .accepted(request: try fields.decode(Int.self, forKey: .request))
    case .published:
      self = .published(
        participant: try fields.text(.participant),
        tracks: try fields.tracks(.tracks, of: try fields.text(.participant)))
    case .withdrawn:
      self = .withdrawn(
        participant: try fields.text(.participant), trackIDs: try fields.names(.tracks, limit: SignalingLimits.tracks))
    case .muted:
      self = .muted(
        participant: try fields.text(.participant), trackID: try fields.text(.track),
        muted: try fields.decode(Bool.self, forKey: .muted))
    case .subscribed: self = .subscribed(try Subscribed(from: decoder))
    case .unsubscribed: self = .unsubscribed(try fields.sizedList(.tracks, limit: SignalingLimits.references))
    case .data: self = .data(try ReceivedMessage(from: decoder).sized())
    case .dataReceipt: self = .dataReceipt(try DataReceipt(from: decoder))
    case .attributes:
      self = .attributes(participant: try fields.text(.participant), try fields.attributes(.attributes))
    case .speakers: self = .speakers(try Speakers(from: decoder).sized())
    case .quality:
      // Older servers send the worse direction only. A level that this version does not know counts as the nearest.
      func levels(_ key: CodingKeys) throws -> [String: ConnectionQuality.Level]? {
        try fields.decodeIfPresent([String: Int].self, forKey: key)?.mapValues {
          $0 <= 0 ? .none : $0 == 1 ? .low : .high
        }
      }
      guard let worse = try levels(.participants) else { throw SignalingError.malformed("“participants” is missing") }
      let (sending, receiving) = (try levels(.sending) ?? worse, try levels(.receiving) ?? worse)
      self = .quality(
        Dictionary(
          uniqueKeysWithValues: worse.map { id, both in
            (id, ConnectionQuality(sending: sending[id] ?? both, receiving: receiving[id] ?? both))
          }))
    case .bandwidth: self = .bandwidth(max(0, try fields.decode(Int.self, forKey: .bitrate)))
    case .wanted:
      self = .wanted(
        trackID: try fields.text(.track), layers: try fields.list(.layers, limit: SignalingLimits.encodings))
    case .failed:
      self = .failed(
        request: try fields.decodeIfPresent(Int.self, forKey: .request),
        try fields.decode(Failure.self, forKey: .failure))
    case .ended:
      let reason = try fields.decode(EndReason.self, forKey: .reason)
      let origin = try fields.decodeIfPresent(String.self, forKey: .by)
      let note = try fields.decodeIfPresent(String.self, forKey: .note).map { String($0.prefix(Self.noteLength)) }
      self = .ended(origin == Self.service ? reason.byService(note: note) : reason)
    case .pong: self = .pong(try fields.decode(Int.self, forKey: .number))
    case .resumable:
      self = .resumable(key: try fields.text(.key), graceSeconds: try fields.decode(Double.self, forKey: .graceSeconds))
    case .resumed: self = .resumed(heard: try fields.decode(Int.self, forKey: .heard))
    case .heard: self = .heard(try fields.decode(Int.self, forKey: .heard))
    case .mediaRestarted: self = .mediaRestarted(try fields.sized(.description))
    case .history: self = .history(try HistoryPage(from: decoder))
    case .permissions:
      // A permission that this version does not know is no use to it.
      let names = try fields.names(.permissions, limit: SignalingLimits.permissions)
      self = .permissions(Set(names.compactMap(ParticipantPermission.init(rawValue:))))
    case .attendants: self = .attendants(try fields.names(.attendants, limit: SignalingLimits.attendants))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(kind.rawValue, forKey: .type)
    switch self {
    case .joined(let joined): try joined.encode(to: encoder)
    case .refused(let failure, let places):
      try fields.encode(failure, forKey: .failure)
      try fields.encodePlaces(places, forKey: .places)
    case .registered(let identity, let places):
      try fields.encode(identity, forKey: .identity)
      try fields.encodePlaces(places, forKey: .places)
    case .moved(let places): try fields.encode(places, forKey: .places)
    case .incomingRing(let ring): try ring.encode(to: encoder)
    case .ringEnded(let id, let state):
      try fields.encode(id, forKey: .id)
      try fields.encode(state, forKey: .state)
    case .ringProgress(let progress): try progress.encode(to: encoder)
    case .waiting: break
    case .knock(let participant, let number):
      try fields.encode(participant, forKey: .participant)
      try fields.encodeIfPresent(number, forKey: .number)
    case .knockEnded(let participant, let admitted, let number):
      try fields.encode(participant, forKey: .participant)
      try fields.encodeIfPresent(admitted, forKey: .admitted)
      try fields.encodeIfPresent(number, forKey: .number)
    case .starved(let reference, let isPaused):
      try fields.encode(reference.participant, forKey: .participant)
      try fields.encode(reference.track, forKey: .track)
      try fields.encode(isPaused, forKey: .paused)
    case .participantJoined(let participant): try fields.encode(participant, forKey: .participant)
    case .participantLeft(let id, let reason):
      try fields.encode(id, forKey: .participant)
      try fields.encode(reason, forKey: .reason)
    case .accepted(let request): try fields.encode(request, forKey: .request)
    case .published(let participant, let tracks):
      try fields.encode(participant, forKey: .participant)
      try fields.encode(OwnedTracks(tracks), forKey: .tracks)
    case .withdrawn(let participant, let trackIDs):
      try fields.encode(participant, forKey: .participant)
      try fields.encode(trackIDs, forKey: .tracks)
    case .muted(let participant, let trackID, let muted):
      try fields.encode(participant, forKey: .participant)
      try fields.encode(trackID, forKey: .track)
      try fields.encode(muted, forKey: .muted)
    case .subscribed(let subscribed): try subscribed.encode(to: encoder)
    case .unsubscribed(let tracks): try fields.encode(tracks, forKey: .tracks)
    case .data(let data): try data.encode(to: encoder)
    case .dataReceipt(let receipt): try receipt.encode(to: encoder)
    case .attributes(let participant, let attributes):
      try fields.encode(participant, forKey: .participant)
      try fields.encode(attributes, forKey: .attributes)
    case .speakers(let speakers): try speakers.encode(to: encoder)
    case .quality(let reports):
      try fields.encode(reports.mapValues(\.worse), forKey: .participants)
      try fields.encode(reports.mapValues(\.sending), forKey: .sending)
      try fields.encode(reports.mapValues(\.receiving), forKey: .receiving)
    case .bandwidth(let bitrate): try fields.encode(bitrate, forKey: .bitrate)
    case .wanted(let track, let layers):
      try fields.encode(track, forKey: .track)
      try fields.encode(layers, forKey: .layers)
    case .failed(let request, let failure):
      try fields.encodeIfPresent(request, forKey: .request)
      try fields.encode(failure, forKey: .failure)
    case .ended(let reason):
      try fields.encode(reason, forKey: .reason)
      // Beside the reason, so that clients which do not know these members understand the reason.
      if reason != reason.withoutOrigin { try fields.encode(Self.service, forKey: .by) }
      if case .removedByService(let note?) = reason {
        try fields.encode(String(note.prefix(Self.noteLength)), forKey: .note)
      }
    case .pong(let number): try fields.encode(number, forKey: .number)
    case .resumable(let key, let graceSeconds):
      try fields.encode(key, forKey: .key)
      try fields.encode(graceSeconds, forKey: .graceSeconds)
    case .resumed(let heard), .heard(let heard): try fields.encode(heard, forKey: .heard)
    case .mediaRestarted(let description): try fields.encode(description, forKey: .description)
    case .history(let page): try page.encode(to: encoder)
    case .attendants(let names): try fields.encode(names, forKey: .attendants)
    case .permissions(let permissions):
      try fields.encode(permissions.map(\.rawValue).sorted(), forKey: .permissions)
    }
  }

  /// The `type` of every message of the router.
  public static var types: [String] { Kind.allCases.map(\.rawValue) }

  /// Whether a `history` message follows this one.
  public var hasMoreHistory: Bool {
    switch self {
    case .joined(let joined): joined.hasMoreHistory == true
    case .history(let page): page.hasMore
    default: false
    }
  }

  var kind: Kind {
    switch self {
    case .joined: .joined
    case .refused: .refused
    case .registered: .registered
    case .incomingRing: .incomingRing
    case .ringEnded: .ringEnded
    case .ringProgress: .ringProgress
    case .waiting: .waiting
    case .knock: .knock
    case .knockEnded: .knockEnded
    case .starved: .starved
    case .participantJoined: .participantJoined
    case .participantLeft: .participantLeft
    case .accepted: .accepted
    case .published: .published
    case .withdrawn: .withdrawn
    case .muted: .muted
    case .subscribed: .subscribed
    case .unsubscribed: .unsubscribed
    case .data: .data
    case .dataReceipt: .dataReceipt
    case .attributes: .attributes
    case .speakers: .speakers
    case .quality: .quality
    case .bandwidth: .bandwidth
    case .wanted: .wanted
    case .failed: .failed
    case .ended: .ended
    case .pong: .pong
    case .resumable: .resumable
    case .resumed: .resumed
    case .heard: .heard
    case .mediaRestarted: .mediaRestarted
    case .history: .history
    case .attendants: .attendants
    case .permissions: .permissions
    case .moved: .moved
    }
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
          + joined.history.reduce(0) { $0 + kept.data($1) } + kept.texts(joined.places)
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
      case .failed(_, let failure): kept.text(failure.message)
      case .refused(let failure, let places): kept.text(failure.message) + kept.texts(places)
      case .registered(let identity, let places): kept.text(identity) + kept.texts(places)
      case .moved(let places): kept.texts(places)
      case .dataReceipt(let receipt): kept.text(receipt.id) + kept.text(receipt.failure?.message)
      case .ringEnded, .ringProgress, .waiting, .knockEnded, .participantLeft, .accepted, .muted,
        .bandwidth,
        .wanted, .ended, .pong, .resumable, .resumed, .heard, .permissions:
        SignalingLimits.name
      }
    return content + 128
  }
}
