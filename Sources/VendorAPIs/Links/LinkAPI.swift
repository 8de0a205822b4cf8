import KoineJSONCodec
import KoineMedia
import KoineRouter

/// Koine's own API beside the vendors': `POST /koine/v1/links` with `{"rooms": [NAME, NAME, …]}` has the participants of several
/// names of rooms meet in the room of the first. Requests are signed as those of AWS, with the signing name `koine` and a
/// credential of Koine's own, because a link reaches the rooms of all vendors.
///
/// Each link is an entity of the registry, written before the rooms are linked, so that a new process links them again.
struct LinkAPI: VendorService {
  let context: APIContext
  let links = Links()

  init(_ context: APIContext) { self.context = context }

  private static let root = "/koine/v1/"
  private static let services: Set<String> = ["koine"]

  private struct Request: Decodable { var rooms: [String]? }

  private struct Answer: Encodable {
    /// The room in which the participants of all names meet.
    var room: String
    /// The names that lead to it by this request.
    var names: [String]
  }

  private struct ErrorAnswer: Encodable {
    struct Fault: Encodable {
      var code: String
      var message: String
    }
    var error: Fault
  }

  func owns(method: String, target: String) -> Bool { target.hasPrefix(Self.root) }

  func answer(_ request: APIRequest, access: APIAccess) async -> APIResponse {
    do throws(AWSError) {
      let caller: AWSCaller
      do throws(AWSRefusal) {
        caller = try AWSCaller.authenticate(
          request, for: Self.services, access: access, at: context.clock(), keys: \.koine)
      } catch {
        let (status, code, message) = error.response
        throw AWSError(status, code, message)
      }
      guard request.path == Self.root + "links" else {
        throw AWSError(404, "UnknownOperation", "there is no \(request.path)")
      }
      guard request.method == "POST" else { throw AWSError(405, "UnknownOperation", "links are made by POST") }
      let names: [String]
      do throws(BodyFault) { names = try decodeBody(Request.self, request.body).rooms ?? [] } catch {
        throw AWSError(400, "Malformed", error.text)
      }
      return respond(200, try await link(names, for: caller))
    } catch {
      var response = respond(
        error.status, ErrorAnswer(error: .init(code: error.code, message: error.message)))
      if error.status == 503 { response.headers.append(("Retry-After", "1")) }
      if error.status == 405 { response.headers.append(("Allow", "POST")) }
      return response
    }
  }

  private func respond(_ status: Int, _ body: any Encodable) -> APIResponse {
    APIResponse(
      status: status, headers: [("Content-Type", "application/json")], body: (try? JSONCodec.encode(body)) ?? [])
  }

  private func link(_ names: [String], for caller: AWSCaller) async throws(AWSError) -> Answer {
    let request = RoomRequest(
      .link(names), by: CommandOrigin(.vendorAPI, caller.accessKey), reason: "POST \(Self.root)links")
    switch await link(names, request) {
    case .success(let room): return Answer(room: room, names: names)
    case .failure(let error):
      let status =
        switch error.code {
        case .malformed: 400
        case .noSuchRoom, .noSuchParticipant, .noSuchTrack, .notPossible: 409
        case .unavailable: 503
        }
      let code = error.code.rawValue
      throw AWSError(status, code.prefix(1).uppercased() + code.dropFirst(), error.message)
    }
  }

  // MARK: Linking

  /// Links names and keeps the link. Repeating a link changes nothing.
  /// - Parameter request: the command, with its origin.
  /// - Returns: the room in which the participants of all names meet.
  func link(_ names: [String], _ request: RoomRequest) async -> Result<String, RoomControlError> {
    do throws(RoomControlError) { try RoomCommand.checkLink(names) } catch { return .failure(error) }
    return await links.serially { await record(names, request) }
  }

  private func record(_ names: [String], _ request: RoomRequest) async -> Result<String, RoomControlError> {
    let (target, changes, count) = links.outlook(linking: names)
    guard !changes.isEmpty else { return .success(target) }
    guard count + names.count <= RoomLinks.limit else {
      return .failure(RoomControlError(.unavailable, "at most \(RoomLinks.limit) names of rooms are linked"))
    }
    // Found out before anything is written, as a link that is written is made again by the next process.
    for name in changes.sorted() {
      switch await context.execute(request: RoomRequest(.describe(room: name), by: request.origin)) {
      case .success:
        return .failure(
          RoomControlError(.notPossible, "the room “\(name)” is open: names are linked before anyone joins"))
      case .failure(let error) where error.code == .noSuchRoom: break
      case .failure(let error): return .failure(error)
      }
    }
    let now = context.clock()
    let key = RoomLink.prefix + context.identifiers.alphanumeric(20, at: now)
    do throws(RegistryError) {
      _ = try await context.registry.create(key, RoomLink(rooms: names))
    } catch {
      return .failure(RoomControlError(.unavailable, "the registry cannot be reached or written: \(error)"))
    }
    links.add(names, key: key)
    switch await context.execute(request: request) {
    case .success:
      links.done(key, names)
      return .success(links.outlook(linking: names).target)
    case .failure(let error):
      // Someone has joined in the meantime.
      links.forget(key)
      do throws(RegistryError) { try await context.registry.delete(key) } catch {
        context.log("a link of rooms that was refused stays in the registry: \(error)")
      }
      return .failure(error)
    }
  }

  /// Links what is in the registry and is not linked yet: by a former process, or by another writer.
  func restore() async {
    await links.serially {
      for (key, names) in links.waiting(at: context.clock()) {
        switch await context.execute(.link(names), for: "koine", reason: "the registry") {
        case .success: links.done(key, names)
        case .failure(let error):
          context.log("a link of rooms in the registry cannot be made now: \(error.message)")
          links.postpone(key, until: context.clock().adding(seconds: 60))
        }
      }
    }
  }

  // MARK: The registry

  var prefixesOfRules: [String] { [RoomLink.prefix] }

  func apply(_ change: RegistryChange, to rules: AdmissionRules) {
    guard change.key.hasPrefix(RoomLink.prefix) else { return }
    guard let value = change.value, let link = try? decodeEntity(RoomLink.self, value) else {
      return links.forget(change.key)
    }
    links.add(link.rooms, key: change.key)
  }

  func observe(_ event: RoomEvent, at now: APITime) async {}
  func handleTimeout() async { await restore() }
}

/// A link in the registry. The keys are in the order in which the links were made.
struct RoomLink: Codable, Sendable, Equatable {
  var rooms: [String]

  static let prefix = "koine/link/"
}

/// What this process knows of the links in the registry.
final class Links: Sendable {
  private struct Waiting {
    var names: [String]
    var next: APITime?
  }

  private struct State {
    var made = RoomLinks()
    /// Keys whose links are made.
    var done: Set<String> = []
    /// In the registry and not made yet.
    var waiting: [String: Waiting] = [:]
    /// Ends when the last operation has ended.
    var last: Task<Void, Never>?
  }

  private let state = Lock(State())

  /// Carries out one operation after the other: the order in which links are made decides where participants meet.
  func serially<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value {
    let task = state.withLock { state in
      let before = state.last
      let task = Task {
        await before?.value
        return await body()
      }
      state.last = Task { _ = await task.value }
      return task
    }
    return await task.value
  }

  /// - Returns: the room to which the names lead once they are linked, the names that lead to other rooms now, and the number of
  ///   linked names.
  func outlook(linking names: [String]) -> (target: String, changes: Set<String>, count: Int) {
    state.withLock { state in
      (names.first.map(state.made.target(of:)) ?? "", state.made.changes(linking: names), state.made.count)
    }
  }

  func add(_ names: [String], key: String) {
    state.withLock { state in
      guard !state.done.contains(key), state.waiting[key] == nil else { return }
      state.waiting[key] = Waiting(names: names)
    }
  }

  /// - Parameter names: as the rooms resolve them.
  func done(_ key: String, _ names: [String]) {
    state.withLock { state in
      state.waiting[key] = nil
      state.done.insert(key)
      state.made.link(names)
    }
  }

  func postpone(_ key: String, until time: APITime) { state.withLock { $0.waiting[key]?.next = time } }
  func forget(_ key: String) { state.withLock { $0.waiting[key] = nil } }

  /// In the order in which they were made.
  func waiting(at now: APITime) -> [(key: String, names: [String])] {
    state.withLock { state in
      guard !state.waiting.isEmpty else { return [] }
      return state.waiting.filter { $0.value.next.map { $0 <= now } ?? true }.sorted { $0.key < $1.key }
        .map { ($0.key, $0.value.names) }
    }
  }
}
