import KoineBase
import KoineMedia
import KoineRouter
import KoineSignaling
import Testing

@testable import KoineVendorAPIs

/// `POST` and `DELETE /koine/v1/links`.
@Suite struct LinkTests {
  /// The rooms of one process: open ones, and links.
  private final class Rooms: Sendable {
    let open = Lock<Set<String>>([])
    let links = Lock(RoomLinks())
    let commands = Lock<[RoomCommand]>([])
    /// Joined while a link is on its way.
    let opensBeforeLink = Lock<String?>(nil)
    /// Names by which participants have come.
    let entrances = Lock<Set<String>>([])

    func execute(_ request: RoomRequest) -> Result<RoomAnswer, RoomControlError> {
      commands.withLock { $0.append(request.command) }
      switch request.command {
      case .describe(let name):
        guard open.withLock({ $0.contains(name) }) else { return .failure(RoomControlError(.noSuchRoom, "no room")) }
        return .success(.done)
      case .link(let names):
        if let name = opensBeforeLink.withLock({ $0 }) { _ = open.withLock { $0.insert(name) } }
        let changes = links.withLock { $0.changes(linking: names) }
        guard open.withLock({ $0.isDisjoint(with: changes) }) else {
          return .failure(RoomControlError(.notPossible, "the room is open"))
        }
        links.withLock { $0.link(names) }
        return .success(.done)
      case .unlink(let names):
        let changes = links.withLock { $0.changes(unlinking: names) }
        guard entrances.withLock({ $0.isDisjoint(with: changes) }) else {
          return .failure(RoomControlError(.notPossible, "the name is in use"))
        }
        links.withLock { $0.unlink(names) }
        return .success(.done)
      default: return .success(.done)
      }
    }

    func target(of name: String) -> String { links.withLock { $0.target(of: name) } }
    var linkCommands: Int { commands.withLock { $0.count { if case .link = $0 { true } else { false } } } }
  }

  private struct Answer: Decodable, Equatable {
    var room: String?
    var names: [String]
  }
  private struct Fault: Decodable {
    struct Members: Decodable { var code, message: String }
    var error: Members
  }

  private static let credentials = APICredentials(
    aws: [.init(accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret")],
    koine: [.init(accessKeyId: "KOINEEXAMPLE", secretAccessKey: "another secret")])
  private let rooms = Rooms()
  private let time = Lock(APITime(milliseconds: 1_700_000_000_000))

  private func apis(
    _ store: any RegistryStore, access: APIAccess = .credentials(credentials), rooms: Rooms? = nil
  ) throws -> VendorAPIs {
    let rooms = rooms ?? self.rooms
    return VendorAPIs(
      .init(
        store: store, access: access, keys: try .makeTemporary(), clock: clock, random: SeededRandom(seed: 1),
        execute: { rooms.execute($0) }))
  }

  private var clock: @Sendable () -> APITime { { [time] in time.withLock { $0 } } }
  private func store() -> MemoryRegistry { MemoryRegistry(clock: clock) }

  private func advance(seconds: Int64) { time.withLock { $0 = $0.adding(seconds: seconds) } }

  private func kept(_ store: any RegistryStore) async throws -> [String] {
    try await store.list(prefix: RoomLink.prefix, after: nil, limit: 99).map {
      String($0.key.dropFirst(RoomLink.prefix.count))
    }
  }

  private func post(
    _ apis: VendorAPIs, _ body: String, method: String = "POST", target: String = "/koine/v1/links",
    key: String = "KOINEEXAMPLE", secret: String = "another secret", service: String = "koine"
  ) async -> APIResponse {
    var request = APIRequest(
      method: method, target: target, headers: [("Host", "127.0.0.1:8080")], body: Array(body.utf8))
    AWSSigner(accessKey: key, secret: secret, service: service).sign(&request, at: clock())
    return await apis.answer(request)
  }

  @Test func linkedNamesAreAnsweredAndLeadToTheFirst() async throws {
    let apis = try apis(store())
    let answer = await post(apis, #"{"rooms":["tea","stage","meeting"]}"#)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(try answer.decoded(Answer.self) == Answer(room: "tea", names: ["tea", "stage", "meeting"]))
    #expect(["tea", "stage", "meeting", "other"].map(rooms.target(of:)) == ["tea", "tea", "tea", "other"])
    // A name that is linked already brings its room along.
    let more = try await post(apis, #"{"rooms":["meeting","fourth"]}"#).decoded(Answer.self)
    #expect(more == Answer(room: "tea", names: ["meeting", "fourth"]))
    #expect(rooms.target(of: "fourth") == "tea")
  }

  @Test func repeatedLinkIsASuccessAndWritesNothing() async throws {
    let store = store()
    let apis = try apis(store)
    for _ in 0..<3 { #expect(await post(apis, #"{"rooms":["tea","stage"]}"#).status == 200) }
    rooms.open.withLock { $0 = ["tea"] }
    #expect(await post(apis, #"{"rooms":["stage","tea"]}"#).status == 200, "also once someone is there")
    #expect(try await store.list(prefix: RoomLink.prefix, after: nil, limit: 9).count == 1)
    #expect(rooms.linkCommands == 1)
  }

  @Test func openRoomIsNotLinkedNowNorAfterARestart() async throws {
    let store = store()
    let apis = try apis(store)
    rooms.open.withLock { $0 = ["stage"] }
    let answer = await post(apis, #"{"rooms":["tea","stage"]}"#)
    #expect(answer.status == 409)
    #expect(try answer.decoded(Fault.self).error.code == "NotPossible")
    // Between the question and the link.
    rooms.open.withLock { $0 = [] }
    rooms.opensBeforeLink.withLock { $0 = "stage" }
    #expect(await post(apis, #"{"rooms":["tea","stage"]}"#).status == 409)
    #expect(try await store.list(prefix: "", after: nil, limit: 9).isEmpty)
    await apis.handleTimeout()
    #expect(rooms.target(of: "stage") == "stage")
  }

  @Test func linksAreMadeAgainByTheNextProcessInTheirOrder() async throws {
    let store = store()
    let before = try apis(store)
    for names in [#"["b","c"]"#, #"["a","b"]"#, #"["d","c"]"#] {
      #expect(await post(before, #"{"rooms":\#(names)}"#).status == 200)
    }
    // By the control socket.
    let request = RoomRequest(.link(["d", "e"]), by: CommandOrigin(.commandLine, "ana"))
    #expect(await before.link(["d", "e"], request) == .success("d"))
    let later = Rooms()
    let after = try apis(store, rooms: later)
    try await after.load()
    await after.restoreLinks()
    for name in ["a", "b", "c", "d", "e"] { #expect(later.target(of: name) == rooms.target(of: name)) }
    #expect(later.target(of: "e") == "d")
    let commands = later.linkCommands
    await after.handleTimeout()
    #expect(later.linkCommands == commands, "once")
  }

  @Test func linkThatCannotBeKeptIsNotMade() async throws {
    let faulty = FaultyRegistry(store(), seed: 1, failures: 0)
    let apis = try apis(faulty)
    faulty.failNextWrite(.before, to: RoomLink.prefix)
    let answer = await post(apis, #"{"rooms":["tea","stage"]}"#)
    #expect(answer.status == 503 && answer.header("Retry-After") == "1")
    #expect(rooms.target(of: "stage") == "stage")
    #expect(await post(apis, #"{"rooms":["tea","stage"]}"#).status == 200)
    #expect(rooms.target(of: "stage") == "tea")
    // Executed, although its answer is lost.
    faulty.failNextWrite(.after, to: RoomLink.prefix)
    #expect(await post(apis, #"{"rooms":["tea","meeting"]}"#).status == 503)
    await apis.handleTimeout()
    #expect(rooms.target(of: "meeting") == "tea")
  }

  @Test func callersWithoutKoinesCredentialAreRefused() async throws {
    let apis = try apis(store())
    let body = #"{"rooms":["tea","stage"]}"#
    // A credential of one vendor does not reach the rooms of the others.
    #expect(await post(apis, body, key: "AKIDEXAMPLE", secret: "secret").status == 403)
    #expect(await post(apis, body, secret: "wrong").status == 403)
    #expect(await post(apis, body, service: "chime").status == 403)
    var unsigned = APIRequest(method: "POST", target: "/koine/v1/links", headers: [("Host", "h")])
    unsigned.body = Array(body.utf8)
    #expect(await apis.answer(unsigned).status == 403)
    let (closed, open) = (try self.apis(store(), access: .closed), try self.apis(store(), access: .open))
    #expect(await post(closed, body).status == 403)
    #expect(await open.answer(unsigned).status == 403)
    #expect(rooms.commands.withLock { $0 }.isEmpty)
    #expect(await post(open, body, key: "any", secret: "any").status == 200)
  }

  @Test(arguments: [
    ("{}", 400), (#"{"rooms":["tea"]}"#, 400), (#"{"rooms":["tea",""]}"#, 400), (#"{"rooms":"tea"}"#, 400),
    (#"{"rooms":["tea",7]}"#, 400), ("[", 400),
    (#"{"rooms":[\#((0...100).map { "\"r\($0)\"" }.joined(separator: ","))]}"#, 400),
    (#"{"rooms":["tea","\#(String(repeating: "x", count: 5_000))"]}"#, 400),
  ]) func wrongBodyIsRefused(body: String, status: Int) async throws {
    let answer = await post(try apis(store()), body)
    #expect(answer.status == status)
    #expect(try answer.decoded(Fault.self).error.code == "Malformed")
    #expect(rooms.commands.withLock { $0 }.isEmpty)
  }

  @Test func otherPathsAndMethodsAreErrors() async throws {
    let apis = try apis(store())
    #expect(await post(apis, "", method: "GET").header("Allow") == "POST, DELETE")
    #expect(await post(apis, "{}", target: "/koine/v1/others").status == 404)
    #expect(!apis.owns(method: "POST", target: "/koine"))
  }

  // MARK: Unlinking

  private func unlink(_ apis: VendorAPIs, _ names: String...) async -> APIResponse {
    await post(apis, #"{"rooms":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))]}"#, method: "DELETE")
  }

  /// What a new process makes of the registry.
  private func reopened(_ store: any RegistryStore, _ names: [String]) async throws -> [String] {
    let rooms = Rooms()
    let apis = try apis(store, rooms: rooms)
    try await apis.load()
    await apis.restoreLinks()
    return names.map(rooms.target(of:))
  }

  @Test func unlinkedNameMeansARoomOfItsOwnAgainAlsoAfterARestart() async throws {
    let store = store()
    let apis = try apis(store)
    #expect(await post(apis, #"{"rooms":["tea","stage","meeting"]}"#).status == 200)
    let answer = await unlink(apis, "stage", "other")
    #expect(answer.status == 200, "\(answer.text)")
    #expect(try answer.decoded(Answer.self) == Answer(room: nil, names: ["stage"]))
    #expect(["tea", "stage", "meeting"].map(rooms.target(of:)) == ["tea", "stage", "tea"])
    #expect(try await reopened(store, ["tea", "stage", "meeting"]) == ["tea", "stage", "tea"])
    await apis.handleTimeout()
    #expect(rooms.target(of: "stage") == "stage")
    #expect(try await unlink(apis, "stage").decoded(Answer.self).names.isEmpty, "a repetition is a success")
    #expect(await post(apis, #"{"rooms":["tea","stage"]}"#).status == 200)
    #expect(rooms.target(of: "stage") == "tea")
  }

  @Test func nameToWhichOthersLeadIsUnlinkedWithAllOfThem() async throws {
    let store = store()
    let apis = try apis(store)
    for names in [#"["b","c"]"#, #"["a","b"]"#, #"["x","y"]"#] {
      #expect(await post(apis, #"{"rooms":\#(names)}"#).status == 200)
    }
    #expect(try await unlink(apis, "a").decoded(Answer.self).names == ["b", "c"])
    #expect(["a", "b", "c", "y"].map(rooms.target(of:)) == ["a", "b", "c", "x"])
    #expect(try await kept(store) == ["y"])
  }

  @Test func namesThatLedByAnUnlinkedOneStayWhereTheyAre() async throws {
    let store = store()
    let apis = try apis(store)
    for names in [#"["b","c","d"]"#, #"["a","b"]"#] { #expect(await post(apis, #"{"rooms":\#(names)}"#).status == 200) }
    #expect(try await unlink(apis, "b").decoded(Answer.self).names == ["b"])
    #expect(["a", "b", "c", "d"].map(rooms.target(of:)) == ["a", "b", "a", "a"])
    #expect(try await reopened(store, ["a", "b", "c", "d"]) == ["a", "b", "a", "a"])
  }

  @Test func nameByWhichParticipantsHaveComeIsNotUnlinked() async throws {
    let store = store()
    let apis = try apis(store)
    #expect(await post(apis, #"{"rooms":["tea","stage","meeting"]}"#).status == 200)
    rooms.entrances.withLock { $0 = ["stage"] }
    for names in [["stage"], ["tea"], ["meeting", "stage"]] {
      let body = #"{"rooms":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))]}"#
      #expect(await post(apis, body, method: "DELETE").status == 409, "\(names)")
    }
    await apis.handleTimeout()
    #expect(["stage", "meeting"].map(rooms.target(of:)) == ["tea", "tea"])
    #expect(try await kept(store) == ["meeting", "stage"])
    #expect(await unlink(apis, "meeting").status == 200, "by which nobody has come")
  }

  @Test func nameWhoseLinkHasExpiredStaysUnlinked() async throws {
    let store = store()
    let apis = try apis(store)
    #expect(await post(apis, #"{"rooms":["tea","stage"]}"#).status == 200)
    advance(seconds: 180 * Self.day - 1)
    // The store removes expired entities now, and not again for a minute.
    await apis.handleTimeout()
    advance(seconds: 1)
    #expect(try await unlink(apis, "stage").decoded(Answer.self).names == ["stage"])
    await apis.handleTimeout()
    #expect(rooms.target(of: "stage") == "stage")
  }

  @Test func nameIsUnlinkedByEachSpellingThatIsEqual() async throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let store = store()
    let apis = try apis(store)
    #expect(await post(apis, #"{"rooms":["\#(composed)","cake"]}"#).status == 200)
    #expect(await post(apis, #"{"rooms":["tea","\#(composed)"]}"#).status == 200)
    #expect(await unlink(apis, decomposed).status == 200)
    await apis.handleTimeout()
    #expect(rooms.target(of: composed) == composed)
    #expect(rooms.target(of: "cake") == "tea")
    #expect(try await kept(store) == ["cake"])
    // The use of a name is written to its link, too.
    #expect(await post(apis, #"{"rooms":["tea","\#(composed)"]}"#).status == 200)
    advance(seconds: 100 * Self.day)
    apis.observe(
      RoomEvent(room: decomposed, epoch: "e", participant: "ana", .joined(Participant(id: "ana", name: "Ana"))))
    await apis.settle()
    advance(seconds: 100 * Self.day)
    await apis.handleTimeout()
    #expect(try await kept(store) == [String(RoomLink.key(composed).dropFirst(RoomLink.prefix.count))])
  }

  /// Deletions wait until so many have come.
  private final class GatedRegistry: RegistryStore {
    private let inner: any RegistryStore
    private let needed: Int
    private let waiting = Lock<[CheckedContinuation<Void, Never>]>([])

    init(_ inner: any RegistryStore, needed: Int) { (self.inner, self.needed) = (inner, needed) }

    /// Deletions that wait.
    var count: Int { waiting.withLock { $0.count } }

    func open() {
      for deletion in waiting.withLock({ waiting in
        defer { waiting = [] }
        return waiting
      }) { deletion.resume() }
    }

    func get(_ key: String) async throws(RegistryError) -> RegistryEntry? { try await inner.get(key) }
    func put(
      _ key: String, _ value: [UInt8], ifVersion version: RegistryVersion?, expiry: APITime?
    ) async throws(RegistryError) -> RegistryVersion {
      try await inner.put(key, value, ifVersion: version, expiry: expiry)
    }
    func delete(_ key: String, ifVersion version: RegistryVersion) async throws(RegistryError) {
      await withCheckedContinuation { continuation in
        let isEnough = waiting.withLock { waiting in
          waiting.append(continuation)
          return waiting.count == needed
        }
        if isEnough { open() }
      }
      try await inner.delete(key, ifVersion: version)
    }
    func list(prefix: String, after key: String?, limit: Int) async throws(RegistryError) -> [RegistryEntry] {
      try await inner.list(prefix: prefix, after: key, limit: limit)
    }
    func observe(_ prefixes: [String], _ observer: @escaping @Sendable (RegistryChange) -> Void) {
      inner.observe(prefixes, observer)
    }
  }

  private func names(_ numbers: Range<Int>) -> String { numbers.map { "\"r\($0)\"" }.joined(separator: ",") }

  @Test(.timeLimit(.minutes(5))) func namesOfARoomAreUnlinkedInGroups() async throws {
    let store = GatedRegistry(store(), needed: 99)
    let apis = try apis(store)
    #expect(await post(apis, #"{"rooms":["tea",\#(names(0..<99))]}"#).status == 200)
    #expect(try await unlink(apis, "tea").decoded(Answer.self).names.count == 99)
    #expect(try await kept(store).isEmpty)
  }

  @Test func namesOfOneGroupDoNotLeadToEachOther() async throws {
    let links = Links()
    let now = APITime(milliseconds: 0)
    for (name, target) in [("a", "root"), ("b", "root"), ("c", "a"), ("d", "c"), ("e", "b")] {
      links.set(RoomLink(target: target, used: now), name: name, hasEnded: false)
    }
    let removal = links.removal(of: ["root"])
    #expect(removal.batches.flatMap { $0 } == removal.removed && removal.removed.count == 5)
    let place = Dictionary(
      uniqueKeysWithValues: removal.batches.enumerated().flatMap { place, batch in
        batch.map { ($0, place) }
      })
    for (name, target) in [("c", "a"), ("d", "c"), ("e", "b")] {
      #expect(try #require(place[name]) < #require(place[target]), "\(name)")
    }
  }

  @Test(.timeLimit(.minutes(5))) func eventsAndTimersDoNotWaitForAnUnlinking() async throws {
    let store = GatedRegistry(store(), needed: .max)
    let configuration = VendorAPIs.Configuration(
      store: store, access: .open, keys: try .makeTemporary(), clock: clock,
      execute: { [rooms] in rooms.execute($0) })
    let api = LinkAPI(APIContext(configuration, rules: AdmissionRules(clock: clock)))
    store.observe(api.prefixesOfRules) { api.apply($0, to: AdmissionRules(clock: { APITime(milliseconds: 0) })) }
    let request = RoomRequest(.unlink(["stage"]), by: CommandOrigin(.commandLine, "ana"))
    #expect(await api.link(["tea", "stage", "meeting"], request) == .success("tea"))
    advance(seconds: 2 * Self.day)
    let unlinking = Task { await api.unlink(["stage"], request) }
    while store.count == 0 { await Task.yield() }
    await api.handleTimeout()
    for _ in 0..<3 {
      await api.observe(
        RoomEvent(room: "meeting", epoch: "e", participant: "ana", .joined(Participant(id: "ana", name: "Ana"))),
        at: clock())
    }
    #expect(store.count == 1)
    store.open()
    #expect(await unlinking.value == .success(["stage"]))
    await api.links.settle()
    #expect(!api.links.isBusy)
    let link = try #require(try await store.get(RoomLink.key("meeting")))
    #expect(try decodeEntity(RoomLink.self, link.value) == RoomLink(target: "tea", used: clock()))
    #expect(link.version.number == 4, "written once, after the two links and the deletion")
  }

  @Test(arguments: FaultyRegistry.WriteFault.allCases)
  func unlinkingThatTheRegistryDoesNotKeepIsAnErrorThatARepetitionCompletes(
    fault: FaultyRegistry.WriteFault
  ) async throws {
    let faulty = FaultyRegistry(store(), seed: 1, failures: 0)
    let apis = try apis(faulty)
    for names in [#"["b","c"]"#, #"["a","b"]"#] { #expect(await post(apis, #"{"rooms":\#(names)}"#).status == 200) }
    faulty.failNextWrite(fault, to: RoomLink.key(fault == .before ? "c" : "b"))
    #expect(await unlink(apis, "b").status == 503)
    // The rooms are as the registry says, whichever write is missing.
    let now = ["a", "b", "c"].map(rooms.target(of:))
    #expect(try await reopened(faulty, ["a", "b", "c"]) == now)
    #expect(now[2] == "a")
    #expect(await unlink(apis, "b").status == 200)
    #expect(["a", "b", "c"].map(rooms.target(of:)) == ["a", "b", "a"])
    #expect(try await reopened(faulty, ["a", "b", "c"]) == ["a", "b", "a"])
  }

  @Test func limitOfLinkedNamesIsReachedAndLeftAgain() async throws {
    let apis = try apis(store())
    for batch in 0..<1_010 {
      let names = (0..<99).map { "\"r\(batch)-\($0)\"" }.joined(separator: ",")
      let request = #"{"rooms":["tea",\#(names)]}"#
      let isPossible = (batch + 1) * 99 <= RoomLinks.limit
      let answer = await post(apis, request)
      try #require(answer.status == (isPossible ? 200 : 503), "\(batch): \(answer.text)")
    }
    #expect(await unlink(apis, "r0-0").status == 200)
    #expect(await post(apis, #"{"rooms":["tea","another"]}"#).status == 200)
    #expect(await unlink(apis, "tea").status == 200)
    #expect(rooms.links.withLock { $0.count } == 0)
  }

  // MARK: Links that end

  private struct Meeting: Decodable {
    struct Members: Decodable { var MeetingId: String }
    var Meeting: Members
  }

  @Test func linkOfANameWhoseRoomHasEndedIsRemoved() async throws {
    let store = store()
    let apis = try apis(store)
    func chime(_ method: String, _ target: String, _ body: String = "") async -> APIResponse {
      await post(apis, body, method: method, target: target, key: "AKIDEXAMPLE", secret: "secret", service: "chime")
    }
    func makeMeeting(_ token: String) async throws -> String {
      let body = #"{"ClientRequestToken":"\#(token)","MediaRegion":"us-east-1","ExternalMeetingId":"tea"}"#
      return try await chime("POST", "/meetings", body).decoded(Meeting.self).Meeting.MeetingId
    }
    let (first, second) = (try await makeMeeting("first"), try await makeMeeting("second"))
    #expect(await post(apis, #"{"rooms":["\#(first)","\#(second)","tea"]}"#).status == 200)
    // The room of the first name stays the place where the others meet.
    #expect(await chime("DELETE", "/meetings/\(first)").status == 204)
    await apis.handleTimeout()
    #expect(try await kept(store).count == 2)
    rooms.entrances.withLock { $0 = [second] }
    #expect(await chime("DELETE", "/meetings/\(second)").status == 204)
    await apis.handleTimeout()
    #expect(rooms.target(of: second) == first, "its last participants are on their way out")
    rooms.entrances.withLock { $0 = [] }
    advance(seconds: 10)
    await apis.handleTimeout()
    #expect(rooms.target(of: second) == second)
    #expect(try await kept(store) == ["tea"])
    // Linked after its end.
    #expect(await post(apis, #"{"rooms":["tea","\#(second)"]}"#).status == 200)
    await apis.handleTimeout()
    #expect(try await kept(store) == ["tea"])
  }

  private static let day: Int64 = 24 * 60 * 60

  @Test func linkOfANameThatNobodyUsesExpires() async throws {
    let store = store()
    let apis = try apis(store)
    #expect(await post(apis, #"{"rooms":["tea","stage","meeting"]}"#).status == 200)
    for _ in 0..<2 {
      advance(seconds: 100 * Self.day)
      let ana = Participant(id: "ana", name: "Ana")
      apis.observe(RoomEvent(room: "stage", epoch: "e", participant: "ana", .joined(ana)))
      await apis.settle()
      await apis.handleTimeout()
    }
    #expect(["stage", "meeting"].map(rooms.target(of:)) == ["tea", "meeting"])
    #expect(try await reopened(store, ["stage", "meeting"]) == ["tea", "meeting"])
    #expect(try await kept(store) == ["stage"])
    advance(seconds: 181 * Self.day)
    rooms.entrances.withLock { $0 = ["stage"] }
    await apis.handleTimeout()
    #expect(rooms.target(of: "stage") == "tea", "participants that are inside stay together")
    rooms.entrances.withLock { $0 = [] }
    advance(seconds: 60)
    await apis.handleTimeout()
    #expect(rooms.target(of: "stage") == "stage")
  }

  @Test func repeatedLinkRenewsTheLink() async throws {
    let store = store()
    let apis = try apis(store)
    let body = #"{"rooms":["tea","stage"]}"#
    #expect(await post(apis, body).status == 200)
    for days: Int64 in [100, 100, 179] {
      advance(seconds: days * Self.day)
      #expect(await post(apis, body).status == 200)
      await apis.handleTimeout()
      #expect(try await kept(store) == ["stage"])
    }
    // Between the expiry and the removal of the entity.
    advance(seconds: 180 * Self.day - 1)
    await apis.handleTimeout()
    advance(seconds: 1)
    #expect(await post(apis, body).status == 200)
    advance(seconds: 60)
    await apis.handleTimeout()
    #expect(try await kept(store) == ["stage"])
    #expect(rooms.target(of: "stage") == "tea")
  }

  @Test func namesThatAreLinkedWhileTheRoomsDifferFollowTheRegistryLater() async throws {
    let store = store()
    let (one, other) = (Rooms(), Rooms())
    let first = try apis(store, rooms: one)
    let second = try apis(store, rooms: other)
    #expect(await post(first, #"{"rooms":["tea","stage"]}"#).status == 200)
    await second.handleTimeout()
    #expect(await unlink(first, "stage").status == 200)
    #expect(await post(first, #"{"rooms":["cake","stage"]}"#).status == 200)
    // Participants that came by “stage” are in the room.
    other.entrances.withLock { $0 = ["stage"] }
    other.open.withLock { $0 = ["tea"] }
    await second.handleTimeout()
    #expect(other.target(of: "stage") == "tea")
    #expect(await post(second, #"{"rooms":["stage","meeting"]}"#).status == 200)
    #expect(other.target(of: "meeting") == "tea")
    other.entrances.withLock { $0 = [] }
    other.open.withLock { $0 = [] }
    advance(seconds: 60)
    await second.handleTimeout()
    #expect(["tea", "stage", "meeting"].map(other.target(of:)) == ["tea", "cake", "cake"])
  }

  @Test func roomsFollowLinksThatAnotherWriterChanges() async throws {
    let store = store()
    let (one, other) = (Rooms(), Rooms())
    let first = try apis(store, rooms: one)
    let second = try apis(store, rooms: other)
    #expect(await post(first, #"{"rooms":["tea","stage","meeting"]}"#).status == 200)
    await second.handleTimeout()
    #expect(other.target(of: "stage") == "tea")
    #expect(await unlink(first, "stage").status == 200)
    #expect(await post(first, #"{"rooms":["cake","stage"]}"#).status == 200)
    await second.handleTimeout()
    #expect(["stage", "meeting"].map(other.target(of:)) == ["cake", "tea"])
  }
}
