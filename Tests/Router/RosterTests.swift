import Foundation
import KoineBase
import KoineSignaling
import Testing

@testable import KoineRouter

private func ms(_ count: Int) -> Tick { Tick(nanoseconds: Int64(count) * 1_000_000) }

struct RosterTests {
  private static let description = PeerDescription(
    ice: ICECredentials(ufrag: "u", password: "p"), fingerprint: .init(value: "AA"), isLite: false, setup: .active)
  private let limits = RouterLimits()

  private func join(_ name: String = "", attributes: [String: String] = [:], key: String? = nil) -> Join {
    Join(room: "r", name: name, attributes: attributes, description: Self.description, resumptionKey: key)
  }

  private func named(_ id: String, kind: String? = nil) -> Grants {
    var grants = Grants(participantID: id)
    grants.kind = kind
    return grants
  }

  @discardableResult private func add(
    _ id: String, to roster: inout Roster, attributes: [String: String] = [:], grants: Grants = Grants(),
    key: String? = nil, at now: Tick = ms(0)
  ) -> Roster.Entry {
    roster.join(
      join(id, attributes: attributes), id: id, grants: grants, resumptionKey: key, directedAfter: nil, limit: 10,
      at: now)
  }

  private func refusal(_ id: String, _ roster: Roster, _ grants: Grants = Grants(), key: String? = nil) -> Failure.Code?
  {
    roster.refusal(of: Participant(id: id, name: ""), join(key: key), grants, limits: limits)?.code
  }

  // MARK: Joining and leaving

  @Test func joinsAreNumberedInOrder() {
    var roster = Roster()
    #expect(add("ana", to: &roster).order == 1)
    #expect(add("ben", to: &roster).order == 2)
    roster.remove("ana")
    #expect(roster["ana"] == nil)
    #expect(add("ana", to: &roster).order == 3)
    #expect(roster.count == 2)
    roster.removeAll()
    #expect(roster.count == 0)
    #expect(roster.bytes == 0)
  }

  @Test func credentialOverridesWhatTheJoinAsksFor() {
    var grants = Grants(name: "Ana A.", externalID: "", attributes: ["role": "host"])
    grants.validFor = .seconds(5)
    var roster = Roster()
    let entry = roster.join(
      Join(room: "r", name: "ana", externalID: "x", attributes: ["role": "guest"], description: Self.description),
      id: "ana", grants: grants, resumptionKey: nil, directedAfter: 7, limit: 10, at: ms(1_000))
    #expect(entry.participant == Participant(id: "ana", name: "Ana A.", attributes: ["role": "host"], joinedOrder: 1))
    #expect(entry.expires == ms(6_000))
    #expect(entry.directedAfter == 7)
  }

  @Test func idIsTakenOverOnlyWithTheKeyOrACredentialOfTheSameKind() {
    var roster = Roster()
    add("open", to: &roster, key: "k")
    add("named", to: &roster, grants: named("named", kind: "a"), key: "k")
    #expect(refusal("new", roster) == nil)
    #expect(refusal("open", roster) == .forbidden)
    #expect(refusal("open", roster, .open) == nil)
    #expect(refusal("open", roster, key: "k") == nil)
    #expect(refusal("open", roster, named("open", kind: "b")) == nil)
    #expect(refusal("named", roster, .open) == .forbidden)
    #expect(refusal("named", roster, key: "k") == nil)
    #expect(refusal("named", roster, named("named", kind: "a")) == nil)
    #expect(refusal("named", roster, named("named", kind: "b")) == .forbidden)
  }

  @Test func hiddenParticipantsHaveALimitOfTheirOwn() {
    var limits = limits
    (limits.participants, limits.hiddenParticipants) = (2, 1)
    var hidden = Grants()
    hidden.isHidden = true
    var roster = Roster()
    func isFull(_ grants: Grants) -> Bool {
      roster.refusal(of: Participant(id: "new", name: ""), join(), grants, limits: limits)?.code == .roomFull
    }
    add("ana", to: &roster)
    add("ben", to: &roster)
    #expect(isFull(Grants()))
    #expect(!isFull(hidden))
    add("recorder", to: &roster, grants: hidden)
    #expect(isFull(hidden))
    roster.remove("ben")
    #expect(!isFull(Grants()))
  }

  @Test func earlierDirectedMessagesAreForTheSameParticipantOnly() {
    var roster = Roster()
    _ = roster.join(
      join(), id: "ana", grants: Grants(), resumptionKey: "k", directedAfter: 3, limit: 10, at: ms(0))
    #expect(roster.directedAfter(join(), id: "ana", Grants(), dataOrder: 9) == 9)
    #expect(roster.directedAfter(join(key: "other"), id: "ana", Grants(), dataOrder: 9) == 9)
    #expect(roster.directedAfter(join(key: "k"), id: "ana", Grants(), dataOrder: 9) == 3)
    #expect(roster.directedAfter(join(), id: "ana", named("ana"), dataOrder: 9) == nil)
    #expect(roster.directedAfter(join(), id: "ana", .open, dataOrder: 9) == nil)
  }

  // MARK: Credentials

  @Test func kindOfAnIDIsRememberedAfterItsParticipantHasLeft() {
    var roster = Roster()
    add("ana", to: &roster, grants: named("ana", kind: "a"))
    #expect(roster.kind(of: "ana") == "a")
    roster.remove("ana")
    #expect(roster.kind(of: "ana") == "a")
    add("ana", to: &roster)
    #expect(roster.kind(of: "ana") == nil, "the one that is there now has no such credential")
    #expect(roster.kind(of: "ben") == nil)
  }

  @Test func renewedCredentialReplacesTheGrantsAndTheExpiry() {
    var (roster, grants) = (Roster(), Grants())
    grants.validFor = .seconds(5)
    add("ana", to: &roster, grants: grants)
    #expect(roster.nextExpiry == ms(5_000))
    var renewed = named("ana", kind: "a")
    renewed.validFor = .seconds(60)
    renewed.canSendData = false
    roster.renew("ana", renewed, limit: 10, at: ms(4_000))
    #expect(roster.nextExpiry == ms(64_000))
    #expect(roster["ana"]?.grants == renewed)
    #expect(roster["ana"]?.hasCredentialID == true)
    #expect(roster.kind(of: "ana") == "a")
  }

  @Test func expiredCredentialsAreReportedInOrderOfJoining() {
    var (roster, grants) = (Roster(), Grants())
    for (index, id) in ["c", "b", "a"].enumerated() {
      grants.validFor = .seconds(index == 2 ? 9 : 5)
      add(id, to: &roster, grants: grants)
    }
    add("endless", to: &roster)
    #expect(roster.expired(at: ms(4_999)) == [])
    #expect(roster.expired(at: ms(5_000)) == ["c", "b"])
    #expect(roster.nextExpiry == ms(9_000))
    #expect(roster.expired(at: ms(20_000)).last == "a")
    #expect(roster.nextExpiry == nil)
  }

  // MARK: Attributes and tracks

  @Test func attributesOfTheCredentialCannotBeChanged() throws {
    var roster = Roster()
    add("ana", to: &roster, grants: Grants(attributes: ["role": "host"]))
    try roster.setAttributes(["hand": "up"], of: "ana", limits: limits)
    #expect(roster["ana"]?.attributes == ["role": "host", "hand": "up"])
    try roster.setAttributes(["role": "host"], of: "ana", limits: limits)
    #expect(roster["ana"]?.attributes == ["role": "host"])
    #expect(throws: Failure.self) { try roster.setAttributes(["role": "guest"], of: "ana", limits: limits) }
    #expect(roster["ana"]?.attributes == ["role": "host"])
  }

  @Test func roleIsGivenByTheOwnersRulesOnly() throws {
    let role = RoleAttribute.name
    var (roster, grants) = (Roster(), Grants())
    add("ana", to: &roster, grants: grants)
    try roster.setAttributes([role: "presenter", "hand": "up"], of: "ana", limits: limits)
    #expect(roster["ana"]?.attributes == ["hand": "up"])
    roster.setRole("attendee", of: "ana")
    #expect(roster["ana"]?.attributes == ["hand": "up", role: "attendee"])
    try roster.setAttributes([role: "presenter"], of: "ana", limits: limits)
    #expect(roster["ana"]?.attributes == [role: "attendee"])
    grants.role = "consumer"
    roster.renew("ana", grants, limit: 10, at: .zero)
    #expect(roster["ana"]?.attributes == [role: "consumer"])
    roster.renew("ana", Grants(), limit: 10, at: .zero)
    #expect(roster["ana"]?.attributes == [:])
    let join = Join(
      room: "r", name: "ben", attributes: [role: "presenter", "hand": "up"], description: Self.description)
    #expect(Grants().attributes(of: join) == ["hand": "up"])
    #expect(grants.attributes(of: join) == ["hand": "up", role: "consumer"])
    #expect(Grants(attributes: [role: "presenter"]).attributes(of: join) == [role: "presenter"])
  }

  @Test func refusedAttributesChangeNothing() throws {
    var (roster, limits) = (Roster(), limits)
    (limits.attributeBytes, limits.rosterBytes) = (1_000, 1_500)
    add("ana", to: &roster)
    add("ben", to: &roster)
    try roster.setAttributes(["a": String(repeating: "x", count: 900)], of: "ana", limits: limits)
    let before = roster
    for (id, count) in [("ana", 1_000), ("ben", 900)] {
      #expect(throws: Failure.self) {
        try roster.setAttributes(["a": String(repeating: "x", count: count)], of: id, limits: limits)
      }
    }
    #expect(roster == before)
    #expect(throws: Failure.self) { try roster.checkPublishing(bytes: 500, limits: limits) }
  }

  @Test func tracksArePublishedMutedAndWithdrawn() {
    var roster = Roster()
    add("ana", to: &roster)
    let tracks = ["a", "b"].map { Track(id: Track.ID(participant: "ana", track: $0), kind: .camera) }
    roster.publish(tracks, of: "ana")
    roster.setMuted(true, tracks[1].id)
    #expect(roster["ana"]?.tracks.map(\.isMuted) == [false, true])
    roster.withdraw([tracks[0].id], of: "ana")
    #expect(roster["ana"]?.participant.tracks.map(\.id.track) == ["b"])
    roster.setMuted(true, Track.ID(participant: "ben", track: "b"))
    #expect(roster["ben"] == nil)
  }

  // MARK: A restored room

  /// Ana and Ben, awaited in a restored room.
  private func restored(until end: Tick = ms(60_000)) throws -> Roster {
    var roster = Roster()
    add("ana", to: &roster, grants: named("ana", kind: "a"), key: "ka")
    add("ben", to: &roster, grants: Grants(attributes: ["role": "host"]), key: "kb")
    roster.publish([Track(id: .init(participant: "ben", track: "t"), kind: .camera, isMuted: true)], of: "ben")
    var copy = try JSONDecoder().decode(Roster.self, from: JSONEncoder().encode(roster))
    #expect(copy == roster)
    copy.awaitReturn(until: end)
    #expect(copy.bytes == roster.bytes)
    return copy
  }

  @Test func expectedParticipantIsNotInTheRoomAndKeepsItsID() throws {
    let roster = try restored()
    #expect(roster.count == 0)
    #expect(roster["ana"] == nil)
    #expect(roster.known("ana")?.order == 1)
    #expect(roster.isAwaiting)
    #expect(roster.kind(of: "ana") == "a")
    #expect(refusal("ana", roster) == .forbidden)
    #expect(refusal("ana", roster, key: "ka") == nil)
  }

  @Test func returningParticipantRegainsItsOrderGrantsAndAttributes() throws {
    var roster = try restored()
    let ben = roster.join(
      join("ben", key: "kb"), id: "ben", grants: .open, resumptionKey: "new", directedAfter: nil, isReturning: true,
      limit: 10, at: ms(0))
    #expect(ben.order == 2)
    #expect(ben.grants == Grants(attributes: ["role": "host"]))
    #expect(ben.attributes == ["role": "host"])
    #expect(ben.tracks == [])
    let track = Track.ID(participant: "ben", track: "t")
    #expect(roster.wasMuted(track))
    roster.publish([Track(id: track, kind: .camera, isMuted: true)], of: "ben")
    #expect(!roster.wasMuted(track), "it is there again")
    #expect(roster.isAwaiting, "Ana is not back")
    #expect(add("cem", to: &roster).order == 3)
  }

  @Test func returningParticipantWithoutItsKeyGetsWhatItsCredentialGrants() throws {
    var (roster, grants) = (try restored(), named("ana", kind: "a"))
    grants.canSendData = false
    let ana = roster.join(
      join("ana"), id: "ana", grants: grants, resumptionKey: nil, directedAfter: nil, isReturning: true, limit: 10,
      at: ms(0))
    #expect(ana.order == 1)
    #expect(ana.grants == grants)
  }

  @Test func newParticipantWithAnExpectedIDStartsFromScratch() throws {
    var roster = try restored()
    #expect(add("ben", to: &roster, grants: named("ben")).order == 3)
    #expect(!roster.wasMuted(Track.ID(participant: "ben", track: "t")))
    #expect(roster.known("ben")?.hasCredentialID == true)
  }

  @Test func participantsThatDoNotReturnInTimeAreRemoved() throws {
    var roster = try restored(until: ms(60_000))
    var isOver = roster.endAwaiting(at: ms(59_999))
    #expect(!isOver)
    isOver = roster.endAwaiting(at: ms(60_000))
    #expect(isOver)
    #expect(!roster.isAwaiting)
    #expect(roster.awaitedUntil == nil)
    #expect(roster.bytes == 0)
    #expect(refusal("ana", roster) == nil)
    isOver = roster.endAwaiting(at: ms(60_000))
    #expect(!isOver)
  }

  @Test(arguments: 1...10) func rosterSizeIsTheSumOfItsEntriesAfterRandomChanges(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var (roster, ids) = (Roster(), (0..<6).map { "p\($0)" })
    for step in 0..<500 {
      ids.shuffle(using: &random)
      let id = ids[0]
      switch Int.random(in: 0..<6, using: &random) {
      case 0: if roster[id] == nil { add(id, to: &roster, attributes: ["n": "\(step)"]) }
      case 1: roster.remove(id)
      case 2:
        try? roster.setAttributes(
          ["a": String(repeating: "\u{1}", count: .random(in: 0...4_000, using: &random))], of: id, limits: limits)
      case 3: roster.publish([Track(id: .init(participant: id, track: "\(step)"), kind: .camera)], of: id)
      case 4: if let track = roster[id]?.tracks.first { roster.withdraw([track.id], of: id) }
      default: roster.renew(id, named(id), limit: 10, at: ms(step))
      }
      #expect(roster.bytes == ids.reduce(0) { $0 + (roster[$1]?.participant.writtenSize ?? 0) })
    }
  }
}
