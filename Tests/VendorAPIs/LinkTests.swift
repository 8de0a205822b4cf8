import KoineBase
import KoineMedia
import KoineRouter
import Testing

@testable import KoineVendorAPIs

/// `POST /koine/v1/links`.
@Suite struct LinkTests {
  /// The rooms of one process: open ones, and links.
  private final class Rooms: Sendable {
    let open = Lock<Set<String>>([])
    let links = Lock(RoomLinks())
    let commands = Lock<[RoomCommand]>([])
    /// Joined while a link is on its way.
    let opensBeforeLink = Lock<String?>(nil)

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
      default: return .success(.done)
      }
    }

    func target(of name: String) -> String { links.withLock { $0.target(of: name) } }
    var linkCommands: Int { commands.withLock { $0.count { if case .link = $0 { true } else { false } } } }
  }

  private struct Answer: Decodable, Equatable {
    var room: String
    var names: [String]
  }
  private struct Fault: Decodable {
    struct Members: Decodable { var code, message: String }
    var error: Members
  }

  private static let credentials = APICredentials(
    aws: [.init(accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret")],
    koine: [.init(accessKeyId: "KOINEEXAMPLE", secretAccessKey: "another secret")])
  private static let now = APITime(milliseconds: 1_700_000_000_000)

  private let rooms = Rooms()

  private func apis(
    _ store: any RegistryStore, access: APIAccess = .credentials(credentials), rooms: Rooms? = nil
  ) throws -> VendorAPIs {
    let rooms = rooms ?? self.rooms
    return VendorAPIs(
      .init(
        store: store, access: access, keys: try .makeTemporary(), clock: { Self.now }, random: SeededRandom(seed: 1),
        execute: { rooms.execute($0) }))
  }

  private func store() -> MemoryRegistry { MemoryRegistry { Self.now } }

  private func post(
    _ apis: VendorAPIs, _ body: String, method: String = "POST", target: String = "/koine/v1/links",
    key: String = "KOINEEXAMPLE", secret: String = "another secret", service: String = "koine"
  ) async -> APIResponse {
    var request = APIRequest(
      method: method, target: target, headers: [("Host", "127.0.0.1:8080")], body: Array(body.utf8))
    AWSSigner(accessKey: key, secret: secret, service: service).sign(&request, at: Self.now)
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
    #expect(later.linkCommands == 4)
    await after.handleTimeout()
    #expect(later.linkCommands == 4, "once")
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
    #expect(await post(apis, "", method: "GET").header("Allow") == "POST")
    #expect(await post(apis, "{}", target: "/koine/v1/others").status == 404)
    #expect(!apis.owns(method: "POST", target: "/koine"))
  }
}
