import KoineMedia
package import KoineRouter
import KoineTokens
import KoineSignaling

/// What the registry knows about joins, ready to be looked up: rooms that have ended, participants that are removed or restricted,
/// rosters, users whose tokens are revoked.
///
/// The router asks on the network loop, so an answer is a look-up in memory. A change of the registry comes here before the
/// operation that made it is answered. Rules only restrict: a room or participant without a rule is admitted as its token says.
package final class AdmissionRules: Sendable {
  /// Of one room.
  struct RoomRule: Sendable, Equatable {
    /// The kind of tokens that the room's back end gives its apps. Others do not open the room; a link does, by its own name.
    var kind: TokenKind?
    /// Why nobody enters any more; nil: the room is open.
    var refusal: Failure?
    /// At most so many participants, without hidden ones and content shares.
    var limit: Int?
    /// Only these participants enter, by id, each with what it may do; nil: everyone.
    var roster: [Participant.ID: ParticipantRule]?
    /// Participants enter only between these times.
    var opening: APITime?
    var closing: APITime?
  }

  /// Of one participant of a room.
  struct ParticipantRule: Sendable, Equatable {
    /// The kinds that it may publish, of those that its token allows; nil: all of them.
    var publish: Set<Track.Kind>?
    /// The kinds that it receives, of those that its token allows; nil: all of them.
    var receive: Set<Track.Kind>?
    /// Whether `publish` and `receive` take the place of what its token allows.
    var replacesToken = false
    /// Whether it may remove and mute others; nil: as its token says.
    var canModerate: Bool?
    /// Its role, for the others to see; nil: the room has no roles.
    var role: String?
  }

  /// Of one user, in all rooms.
  struct UserRule: Sendable, Equatable {
    /// Tokens that were issued before this time are refused.
    var tokensValidFrom: APITime?
    var isDeleted = false
  }

  private struct Versioned<Rule: Sendable>: Sendable {
    var rule: Rule?
    var version: RegistryVersion
  }

  private struct ParticipantKey: Hashable, Sendable {
    var room: String
    var id: Participant.ID
  }

  private struct State: Sendable {
    var rooms: [String: Versioned<RoomRule>] = [:]
    var participants: [ParticipantKey: Versioned<ParticipantRule>] = [:]
    /// Apart from what a participant may do: another entity of the registry says it.
    var refusals: [ParticipantKey: Versioned<Failure>] = [:]
    var users: [String: Versioned<UserRule>] = [:]
  }

  private let state = Lock(State())
  private let clock: @Sendable () -> APITime
  private let roomObserver = Lock<(@Sendable (String) -> Void)?>(nil)
  private let endObserver = Lock<(@Sendable (String) -> Void)?>(nil)

  init(clock: @escaping @Sendable () -> APITime) { self.clock = clock }

  // MARK: Changes. An older version than the one that is known changes nothing.

  func set(_ rule: RoomRule?, room: String, version: RegistryVersion) {
    state.withLock { Self.set(rule, version, in: &$0.rooms[room]) }
    if rule != nil { roomObserver.withLock { $0 }?(room) }
    if rule?.refusal != nil { endObserver.withLock { $0 }?(room) }
  }

  func set(_ rule: ParticipantRule?, participant: Participant.ID, room: String, version: RegistryVersion) {
    state.withLock { Self.set(rule, version, in: &$0.participants[ParticipantKey(room: room, id: participant)]) }
  }

  /// - Parameter refusal: why the participant does not enter; nil: it may.
  func set(refusal: Failure?, participant: Participant.ID, room: String, version: RegistryVersion) {
    state.withLock { Self.set(refusal, version, in: &$0.refusals[ParticipantKey(room: room, id: participant)]) }
  }

  func set(_ rule: UserRule?, user: String, version: RegistryVersion) {
    state.withLock { Self.set(rule, version, in: &$0.users[user]) }
  }

  private static func set<Rule>(_ rule: Rule?, _ version: RegistryVersion, in place: inout Versioned<Rule>?) {
    guard place.map({ $0.version < version }) ?? true else { return }
    // A rule ends with its entity, whose key no later version uses: nothing has to be remembered.
    place = rule.map { Versioned(rule: $0, version: version) }
  }

  /// Calls `observer` with the name of a room whenever a back end has made or changed it, before the back end's answer.
  package func observeRooms(_ observer: @escaping @Sendable (String) -> Void) {
    roomObserver.withLock { $0 = observer }
  }

  /// Calls `observer` with the name of a room whenever a back end has ended it, or changes it after its end.
  func observeEnds(_ observer: @escaping @Sendable (String) -> Void) { endObserver.withLock { $0 = observer } }

  // MARK: Questions

  func roomRule(_ room: String) -> RoomRule? { state.withLock { $0.rooms[room]?.rule } }
  func userRule(_ user: String) -> UserRule? { state.withLock { $0.users[user]?.rule } }

  func refusal(of id: Participant.ID, room: String) -> Failure? {
    state.withLock { $0.refusals[ParticipantKey(room: room, id: id)]?.rule }
  }

  func participantRule(_ id: Participant.ID, room: String) -> ParticipantRule? {
    state.withLock { $0.participants[ParticipantKey(room: room, id: id)]?.rule }
  }

  /// - Returns: nil for a credential that is no token of an Azure user.
  static func userCredential(_ credential: String) -> Grants.UserCredential? {
    guard let claims = try? AzureUserToken.reading(credential), let user = claims.identity,
      user.hasPrefix(AzureUser.idPrefix)
    else { return nil }
    return Grants.UserCredential(user: user, issued: claims.issued?.seconds ?? 0)
  }

  /// The reason to refuse a token: the token is older than the revocation of its user's tokens, or the user has been deleted. The key of
  /// the signature does not matter. A token without a time of issue counts as older.
  func refusal(of credential: Grants.UserCredential) -> Failure? {
    guard let rule = userRule(credential.user) else { return nil }
    if rule.isDeleted { return Failure(.unauthorized, "the user has been deleted") }
    guard let start = rule.tokensValidFrom, credential.issued < Double(start.seconds) else { return nil }
    return Failure(.unauthorized, "the user's tokens have been revoked")
  }

  /// The policy by which a router follows the rules.
  package var policy: AdmissionPolicy {
    AdmissionPolicy(
      decide: { [self] question in decide(question) },
      refuseIdentity: { [self] register, known in
        guard let rule = userRule(known.identity) else { return nil }
        if rule.isDeleted { return Failure(.unauthorized, "the user has been deleted") }
        return register.credential.flatMap(Self.userCredential).flatMap(refusal(of:))
      })
  }

  private static let contentShare = "#content"

  private func decide(_ question: AdmissionPolicy.Question) -> AdmissionPolicy.Decision {
    var grants = question.grants
    // Recorders and other services of the server itself.
    guard !grants.isHidden else { return .admit(grants) }
    // The user's tokens may have been revoked since the signature was checked.
    if let failure = grants.userCredential.flatMap(refusal(of:)) { return .refuse(failure) }
    let name = question.join.room
    let room = roomRule(name)
    // A room that no back end has made belongs to the account whose participants are in it.
    if room == nil, let issuer = grants.issuer, question.room?.issuers.contains(where: { $0 != issuer }) == true {
      return .refuse(Failure(.forbidden, "the room is another account's"))
    }
    if let room, let failure = refusal(room) { return .refuse(failure) }
    let id = question.participantID
    let isShare = id?.hasSuffix(Self.contentShare) ?? false
    if let kind = room?.kind, let own = grants.kind, own != kind.rawValue, own != TokenKind.room.rawValue {
      return .refuse(Failure(.forbidden, "the room is opened by tokens of another kind"))
    }
    // A content share is a participant of its own, and follows the rules of its attendee.
    let attendee = isShare ? id.map { String($0.dropLast(Self.contentShare.count)) } : id
    if let attendee {
      if let failure = refusal(of: attendee, room: name) { return .refuse(failure) }
      if let rule = participantRule(attendee, room: name) { grants.restrict(to: rule) }
    }
    if let roster = room?.roster {
      // With checked tokens, only an id in the token counts.
      let isProven = grants.kind == nil || grants.participantID != nil
      guard isProven, let attendee, let rule = roster[attendee] else {
        return .refuse(Failure(.forbidden, "the participant is not in the room's roster"))
      }
      grants.restrict(to: rule)
    }
    if !isShare, question.occasion != .renewal, question.room?.hasParticipant != true, let limit = room?.limit,
      let state = question.room,
      state.participants - state.contentShares >= limit
    {
      return .refuse(Failure(.roomFull, "the room has its limit of \(limit) participants"))
    }
    return .admit(grants)
  }

  private func refusal(_ room: RoomRule) -> Failure? {
    if let refusal = room.refusal { return refusal }
    let now = clock()
    if let opening = room.opening, now < opening { return Failure(.forbidden, "the room is not open yet") }
    if let closing = room.closing, now >= closing { return Failure(.ended, "the room's time is over") }
    return nil
  }
}

extension Grants {
  fileprivate mutating func restrict(to rule: AdmissionRules.ParticipantRule) {
    if let kinds = rule.publish { publish = rule.replacesToken ? kinds : publish.intersection(kinds) }
    if let kinds = rule.receive { receive = rule.replacesToken ? kinds : receive.intersection(kinds) }
    if let canModerate = rule.canModerate {
      self.canModerate = canModerate
      canAdmit = canAdmit && canModerate
    }
    role = rule.role ?? role
  }
}
