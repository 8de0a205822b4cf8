import KoineBase
import KoineSignaling
import KoineTransport

/// A participant, as its room keeps it.
final class Member {
  let id: String
  let name: String
  let externalID: String?
  let order: UInt64
  /// Whether its credential names its id: then only such a credential, or this participant's own resumption key, may take
  /// the id over.
  private(set) var hasCredentialID: Bool
  /// Of the credential that names its id, as `Grants.kind`.
  private(set) var kind: String?
  /// Messages directed to its id up to this number in the room's order may have been for another participant, and are not
  /// sent to this one. nil: all are for this one.
  let directedAfter: UInt64?
  /// Of its connection.
  private let resumptionKey: String?
  /// Others once its credential has been renewed.
  var grants: Grants
  /// Another one after its media path broke.
  var seat: Seat
  var dialect: Dialect
  unowned let room: Room
  var attributes: [String: String]
  /// nil once its signalling is gone.
  var connection: ConnectionID?
  private weak var line: Connection?
  var tracks: [PublishedTrack] = []
  var subscriptions: [Forwarder] = []
  /// When it is dropped, unless something happens before.
  var deadline: Tick?
  /// When what let it in ends.
  var expires: Tick?
  /// Its connection's: leaving and coming again forgives nothing.
  let spread: SpreadBudget
  /// Its part of the room's `rosterBytes`.
  var rosterBytes = 0
  /// When the others were last told its attributes, and whether they have changed since.
  var attributesTold: Tick?
  var owesAttributes = false
  var layerAllocator = LayerAllocator()
  var meter = PathMeter()
  var quality = ConnectionQuality()
  /// From this participant's clock to ours, as its sender reports show.
  var clock = SenderClockOffset()
  private var nextMid = 0
  var keyFrameAllowance = KeyFrameAllowance()
  private var sources: Set<UInt32> = []

  init(
    _ join: Join, id: String, order: UInt64, grants: Grants, connection: Connection, seat: Seat, room: Room,
    limits: RouterLimits, directedAfter: UInt64?, at now: Tick
  ) {
    self.id = id
    (hasCredentialID, self.directedAfter) = (grants.participantID != nil, directedAfter)
    kind = grants.participantID != nil ? grants.kind : nil
    resumptionKey = connection.key
    name = grants.name ?? join.name
    externalID = grants.externalID(instead: join.externalID)
    attributes = grants.attributes ?? join.attributes
    (self.order, self.grants, self.seat, self.room) = (order, grants, seat, room)
    (self.connection, line, dialect) = (connection.id, connection, connection.dialect)
    spread = connection.spread ?? SpreadBudget(limits, now: now)
    expires = grants.validFor.map { now + $0 }
    deadline = now + limits.connectTimeout
  }

  /// Whether media flows.
  var isConnected: Bool { seat.isConnected }

  /// Whether it can come back when its connection or its media path breaks.
  var isResumable: Bool { connection != nil && line?.isResumable == true }

  /// Whether the join proves that it comes from the same client as this participant.
  func isSame(as join: Join) -> Bool { resumptionKey != nil && join.resumptionKey == resumptionKey }

  /// Whether a join of the same id may take this participant's place.
  func givesWay(to join: Join, _ grants: Grants) -> Bool {
    if isSame(as: join) || !hasCredentialID && grants.replacesNamesakes { return true }
    return grants.participantID != nil && (!hasCredentialID || grants.kind == kind)
  }

  func renew(_ grants: Grants, at now: Tick) {
    self.grants = grants
    expires = grants.validFor.map { now + $0 }
    if grants.participantID != nil { (hasCredentialID, kind) = (true, grants.kind) }
  }

  /// As the others see it.
  var participant: Participant {
    Participant(
      id: id, name: name, externalUserID: externalID, attributes: attributes, tracks: tracks.map(\.track),
      joinedOrder: order)
  }

  func track(_ id: String) -> PublishedTrack? { tracks.first { $0.id.track == id } }

  /// SSRCs of one peer differ in both directions (RFC 3550 section 8).
  func takeSource(_ random: inout SeededRandom) -> UInt32 {
    while true {
      let source = UInt32.random(in: 1 ... .max, using: &random)
      let isPublished = tracks.contains { $0.sources.contains(source) }
      if !isPublished, sources.insert(source).inserted { return source }
    }
  }

  func giveSources(of media: Media) {
    for encoding in media.encodings {
      sources.remove(encoding.ssrc)
      if let rtx = encoding.rtxSSRC { sources.remove(rtx) }
    }
  }

  func takeMid() -> String {
    defer { nextMid += 1 }
    return "s\(nextMid)"
  }
}

/// What one connection may say that others are told of, or that costs much to do.
final class SpreadBudget {
  private var messages: Budget
  private var bytes: Budget

  init(_ limits: RouterLimits, now: Tick) {
    messages = Budget(burst: limits.dataBurst, perSecond: limits.dataPerSecond, now: now)
    bytes = Budget(burst: limits.dataByteBurst, perSecond: limits.dataBytesPerSecond, now: now)
  }

  func take(bytes count: Int, at now: Tick) -> Bool {
    messages.take(at: now) && bytes.take(Double(count), at: now)
  }

  /// Looking up a track and dividing the path among subscriptions takes time on the network loop: eight references cost as
  /// much as a message that others are told of.
  func take(references count: Int, at now: Tick) -> Bool { count == 0 || messages.take(Double(count) / 8, at: now) }
}

/// Brings a publisher's capture times onto the router's clock, the same way for all its tracks, so that they stay in step.
///
/// Programs on one machine share the clock and need nothing; a difference beyond a second is a clock of its own, and the
/// quickest report so far tells the difference best. A clock that has been set is another clock, which is learnt anew:
/// no report, however wrong, gives a time far from the router's own.
struct SenderClockOffset {
  private static let jump = Duration.seconds(10)
  private var offset: Duration?

  mutating func local(_ reported: Tick, arrivedAt now: Tick) -> Tick {
    let apparent = now - reported
    let best = min(offset ?? apparent, apparent)
    offset = offset.map { $0 - best > Self.jump || apparent - best > Self.jump } == true ? apparent : best
    guard let offset, offset > .seconds(1) || offset < .seconds(-1) else { return reported }
    return reported + offset
  }
}
