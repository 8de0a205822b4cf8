import KoineBase
import KoineSignaling

/// The participants of a room: their identities, what they are allowed to do, their attributes, and what they publish.
///
/// One for each room. An entry begins with `join` and ends with `remove`; between them its owner, `Room`, applies what
/// clients ask for and what credentials change. Methods that throw refuse without changing anything. Sizes are bytes of JSON
/// at most: a participant that joins is sent all entries in one message.
///
/// A roster holds identities, not peers or connections: it is part of the room's snapshot.
struct Roster: Codable, Equatable {
  struct Entry: Codable, Equatable {
    let id: Participant.ID
    let name: String
    /// Another once its credential has been renewed.
    fileprivate(set) var externalID: String?
    /// Counts the joins of the room.
    let order: UInt64
    /// Whether a credential names the id: then only such a credential, or this participant's own resumption key, may take
    /// the id over.
    fileprivate(set) var hasCredentialID: Bool
    /// Of the credential that names the id, as `Grants.kind`.
    fileprivate(set) var kind: String?
    /// Messages directed to the id up to this number in the room's order may have been for another participant, and are not
    /// sent to this one. nil: all are for this one.
    let directedAfter: UInt64?
    /// Of the participant's client. A secret.
    fileprivate let resumptionKey: String?
    /// Others once its credential has been renewed.
    fileprivate(set) var grants: Grants
    fileprivate(set) var attributes: [String: String]
    fileprivate(set) var tracks: [Track] = []
    /// When its credential ends; nil: never.
    fileprivate(set) var expires: Tick?
    /// Of a participant that has returned to a restored room: tracks that it has not published again.
    fileprivate(set) var formerTracks: [Track] = []
    /// Its part of `Roster.bytes`.
    fileprivate(set) var size = 0

    fileprivate init(
      _ join: Join, id: Participant.ID, order: UInt64, grants: Grants, resumptionKey: String?, directedAfter: UInt64?,
      at now: Tick
    ) {
      (self.id, self.order, self.grants) = (id, order, grants)
      (self.resumptionKey, self.directedAfter) = (resumptionKey, directedAfter)
      name = grants.name ?? join.name
      externalID = grants.externalID(instead: join.externalID)
      attributes = grants.attributes(of: join)
      hasCredentialID = grants.participantID != nil
      kind = grants.participantID != nil ? grants.kind : nil
      expires = grants.validFor.map { now + $0 }
    }

    fileprivate mutating func takeOver(_ former: Entry, isSame: Bool) {
      formerTracks = former.tracks
      guard isSame else { return }
      (grants, expires) = (former.grants, former.expires)
      (hasCredentialID, kind) = (former.hasCredentialID, former.kind)
      attributes = grants.given(beside: attributes)
    }

    /// Without those that only the former credential gave.
    fileprivate func attributes(renewedBy grants: Grants) -> [String: String] {
      let former = self.grants.attributes ?? [:]
      return grants.given(beside: attributes.filter { former[$0.key] == nil })
    }

    /// As the others see it.
    var participant: Participant {
      Participant(
        id: id, name: name, externalUserID: externalID, attributes: attributes, tracks: tracks, joinedOrder: order)
    }

    /// Whether the join proves that it comes from the same client as this participant.
    func isSame(as join: Join) -> Bool { resumptionKey != nil && join.resumptionKey == resumptionKey }

    /// Whether a join of the same id may take this participant's place.
    func givesWay(to join: Join, _ grants: Grants) -> Bool {
      if isSame(as: join) || !hasCredentialID && grants.replacesNamesakes { return true }
      return grants.participantID != nil && (!hasCredentialID || grants.kind == kind)
    }
  }

  private var entries: [Participant.ID: Entry] = [:]
  /// Participants of a restored room that have not returned: they keep their ids and places, and are not announced.
  private var awaited: [Participant.ID: Entry] = [:]
  /// Until when; nil in a room that has not been restored.
  private(set) var awaitedUntil: Tick?
  private var joins: UInt64 = 0
  /// Names, attributes and tracks of all entries, those of awaited participants included.
  private(set) var bytes = 0
  /// Kinds of the credentials that have named ids here: a message that is directed to one of these is for that kind alone.
  private var kinds: [Participant.ID: String] = [:]
  /// No later than the end of the first credential to end.
  private(set) var nextExpiry: Tick?

  /// A participant that is in the room.
  subscript(id: Participant.ID) -> Entry? { entries[id] }

  /// A participant that is in the room or is awaited.
  func known(_ id: Participant.ID) -> Entry? { entries[id] ?? awaited[id] }

  var count: Int { entries.count }

  // MARK: Joining and leaving

  /// Why a participant cannot be taken in; nil where it can.
  /// - Parameter participant: as it would be announced.
  func refusal(of participant: Participant, _ join: Join, _ grants: Grants, limits: RouterLimits) -> Failure? {
    let older = known(participant.id)
    if let older, !older.givesWay(to: join, grants) { return Self.namesake(older.id, "is in the room") }
    guard bytes - (older?.size ?? 0) + participant.writtenSize <= limits.rosterBytes else {
      return Failure(.roomFull, "the room holds \(limits.rosterBytes) bytes of names and attributes")
    }
    // Hidden participants have places of their own.
    let taken =
      grants.isHidden
      ? entries.count + awaited.count - limits.hiddenParticipants
      : entries.values.count { !$0.grants.isHidden } + awaited.values.count { !$0.grants.isHidden }
    guard older != nil || taken < limits.participants else {
      return Failure(.roomFull, "the room holds \(limits.participants) participants")
    }
    return nil
  }

  static func namesake(_ id: Participant.ID, _ where: String) -> Failure {
    Failure(
      .forbidden,
      "“\(id)” \(`where`): only a credential that names this participant, and is of the same kind, takes its place")
  }

  /// A participant that only asked for its id may not be the one that messages to that id were meant for.
  /// - Parameter dataOrder: number of the room's last data message.
  /// - Returns: the `directedAfter` of the participant that this join makes.
  func directedAfter(_ join: Join, id: Participant.ID, _ grants: Grants, dataOrder: UInt64) -> UInt64? {
    if grants.participantID != nil || grants.replacesNamesakes { return nil }
    if let older = known(id), older.isSame(as: join) { return older.directedAfter }
    return dataOrder
  }

  /// Adds a participant. An entry of that id, which the owner removes before, is replaced.
  /// - Parameters:
  ///   - resumptionKey: of the participant's client.
  ///   - isReturning: an awaited participant of that id is the same one: it keeps its number, and what it may do if the join
  ///     proves it with the resumption key.
  ///   - limit: of participants; the kinds of several times as many ids are remembered.
  mutating func join(
    _ join: Join, id: Participant.ID, grants: Grants, resumptionKey: String?, directedAfter: UInt64?,
    isReturning: Bool = false, limit: Int, at now: Tick
  ) -> Entry {
    remove(id)
    let former = awaited.removeValue(forKey: id)
    if let former { bytes -= former.size }
    let returning = isReturning ? former : nil
    if returning == nil { joins += 1 }
    var entry = Entry(
      join, id: id, order: returning?.order ?? joins, grants: grants, resumptionKey: resumptionKey,
      directedAfter: directedAfter, at: now)
    if let returning { entry.takeOver(returning, isSame: returning.isSame(as: join)) }
    entries[id] = entry
    noteKind(of: id, limit: limit)
    update(id) { _ in }
    nextExpiry = nextExpiry.sooner(entry.expires)
    return entries[id] ?? entry
  }

  @discardableResult mutating func remove(_ id: Participant.ID) -> Entry? {
    guard let entry = entries.removeValue(forKey: id) else { return nil }
    bytes -= entry.size
    return entry
  }

  mutating func removeAll() { (entries, awaited, awaitedUntil, bytes) = ([:], [:], nil, 0) }

  // MARK: A restored room

  /// Whether participants have not returned.
  var isAwaiting: Bool { !awaited.isEmpty }

  /// Makes awaited participants of all participants in the room, which is empty then.
  mutating func awaitReturn(until end: Tick) {
    for var entry in entries.values {
      entry.tracks += entry.formerTracks
      entry.formerTracks = []
      awaited[entry.id] = entry
    }
    awaited = awaited.mapValues { entry in
      var entry = entry
      entry.size = entry.participant.writtenSize
      return entry
    }
    bytes = awaited.values.reduce(0) { $0 + $1.size }
    (entries, nextExpiry, awaitedUntil) = ([:], nil, end)
  }

  /// Gives up the participants that have not returned in time.
  /// - Returns: whether it is time.
  mutating func endAwaiting(at now: Tick) -> Bool {
    guard let awaitedUntil, awaitedUntil <= now else { return false }
    bytes -= awaited.values.reduce(0) { $0 + $1.size }
    for id in entries.keys { entries[id]?.formerTracks = [] }
    (awaited, self.awaitedUntil) = ([:], nil)
    return true
  }

  /// Whether a track that is published again was muted before.
  func wasMuted(_ track: Track.ID) -> Bool {
    entries[track.participant]?.formerTracks.contains { $0.id == track && $0.isMuted } ?? false
  }

  mutating func shiftTimes(by difference: Duration) {
    func shifted(_ entry: Entry) -> Entry {
      var entry = entry
      entry.expires = entry.expires.map { $0 + difference }
      return entry
    }
    entries = entries.mapValues(shifted)
    awaited = awaited.mapValues(shifted)
    nextExpiry = nextExpiry.map { $0 + difference }
    awaitedUntil = awaitedUntil.map { $0 + difference }
  }

  // MARK: Credentials

  /// Whether the participant's attributes would keep the limits with a renewed credential.
  func checkRenewal(_ id: Participant.ID, _ grants: Grants, limits: RouterLimits) throws(Failure) {
    guard let entry = entries[id] else { return }
    try checkSize(of: entry.attributes(renewedBy: grants), insteadOf: entry.attributes, limits)
  }

  /// Applies a renewed credential with the attributes and the external id that it gives. Attributes that only the former one gave
  /// are removed.
  mutating func renew(_ id: Participant.ID, _ grants: Grants, limit: Int, at now: Tick) {
    update(id) { entry in
      entry.attributes = entry.attributes(renewedBy: grants)
      entry.externalID = grants.externalID(instead: entry.externalID)
      entry.grants = grants
      entry.expires = grants.validFor.map { now + $0 }
      if grants.participantID != nil { (entry.hasCredentialID, entry.kind) = (true, grants.kind) }
    }
    noteKind(of: id, limit: limit)
    updateExpiry()
  }

  mutating func setRole(_ role: String, of id: Participant.ID) {
    update(id) {
      $0.grants.role = role
      $0.attributes = $0.grants.given(beside: $0.attributes)
    }
  }

  /// The credential's end stays as it is.
  mutating func setPermissions(
    _ permissions: Set<ParticipantPermission>, receive: Set<Track.Kind>, of id: Participant.ID
  ) {
    update(id) {
      $0.grants.permissions = permissions
      $0.grants.receive = receive
    }
  }

  /// - Returns: ids of the participants with expired credentials, in order of joining.
  mutating func expired(at now: Tick) -> [Participant.ID] {
    guard let nextExpiry, nextExpiry <= now else { return [] }
    let due = entries.values.filter { $0.expires.map { $0 <= now } ?? false }
    self.nextExpiry = entries.values.reduce(nil) { soonest, entry in
      entry.expires.map { $0 > now } ?? false ? (soonest as Tick?).sooner(entry.expires) : soonest
    }
    return due.sorted { $0.order < $1.order }.map(\.id)
  }

  private mutating func updateExpiry() {
    nextExpiry = entries.values.reduce(nil) { ($0 as Tick?).sooner($1.expires) }
  }

  private mutating func noteKind(of id: Participant.ID, limit: Int) {
    guard let kind = entries[id]?.kind else { return }
    if kinds.count >= limit * 4 { kinds = kinds.filter { known($0.key) != nil } }
    kinds[id] = kind
  }

  /// The kind of credential that names the id now, or did when its participant left; nil: any.
  func kind(of id: Participant.ID) -> String? {
    if let entry = known(id) { return entry.kind }
    return kinds[id]
  }

  // MARK: Attributes and tracks

  /// Replaces a participant's attributes, but for those that its credential gives it.
  mutating func setAttributes(
    _ attributes: [String: String], of id: Participant.ID, limits: RouterLimits
  ) throws(Failure) {
    guard let entry = entries[id] else { return }
    let given = entry.grants.attributes ?? [:]
    if let key = attributes.keys.sorted().first(where: { key in given[key].map { $0 != attributes[key] } ?? false }) {
      throw Failure(.forbidden, "“\(key)” is what the token says")
    }
    let merged = entry.grants.given(beside: attributes)
    try checkSize(of: merged, insteadOf: entry.attributes, limits)
    update(id) { $0.attributes = merged }
  }

  private func checkSize(
    of attributes: [String: String], insteadOf former: [String: String], _ limits: RouterLimits
  ) throws(Failure) {
    let size = Participant.writtenSize(of: attributes)
    guard size <= limits.attributeBytes else {
      throw Failure(.tooLarge, "at most \(limits.attributeBytes) bytes of attributes")
    }
    guard bytes - Participant.writtenSize(of: former) + size <= limits.rosterBytes else {
      throw Failure(.tooLarge, "the room holds \(limits.rosterBytes) bytes of names and attributes")
    }
  }

  /// Whether tracks can be announced.
  /// - Parameter size: of their announcement.
  func checkPublishing(bytes size: Int, limits: RouterLimits) throws(Failure) {
    guard bytes + size <= limits.rosterBytes else {
      throw Failure(.tooMany, "the room holds \(limits.rosterBytes) bytes of names and attributes")
    }
  }

  mutating func publish(_ tracks: [Track], of id: Participant.ID) {
    update(id) { entry in
      entry.tracks += tracks
      entry.formerTracks.removeAll { former in tracks.contains { $0.id == former.id } }
    }
  }

  mutating func withdraw(_ tracks: [Track.ID], of id: Participant.ID) {
    update(id) { $0.tracks.removeAll { tracks.contains($0.id) } }
  }

  mutating func setMuted(_ isMuted: Bool, _ track: Track.ID) {
    update(track.participant) { entry in
      for index in entry.tracks.indices where entry.tracks[index].id == track { entry.tracks[index].isMuted = isMuted }
    }
  }

  private mutating func update(_ id: Participant.ID, _ change: (inout Entry) -> Void) {
    guard var entry = entries[id] else { return }
    change(&entry)
    bytes -= entry.size
    entry.size = entry.participant.writtenSize
    bytes += entry.size
    entries[id] = entry
  }
}

extension Grants {
  /// The attributes with which a participant joins: the credential's instead of its own ones, and its role.
  func attributes(of join: Join) -> [String: String] { given(beside: attributes == nil ? join.attributes : [:]) }

  /// A participant's own attributes, but for those that the credential and the rules give it.
  fileprivate func given(beside own: [String: String]) -> [String: String] {
    var all = own
    all[RoleAttribute.name] = nil
    all.merge(attributes ?? [:]) { $1 }
    if let role { all[RoleAttribute.name] = role }
    return all
  }
}
