import KoineJSONCodec
import KoineMedia
import KoineRouter

/// Koine's own API beside the vendors': `POST /koine/v1/links` with `{"rooms": [NAME, NAME, …]}` has the participants of several
/// names of rooms meet in the room of the first, and `DELETE` with the same body has names mean rooms of their own again. Requests
/// are signed as those of AWS, with the signing name `koine` and a credential of Koine's own, because a link reaches the rooms of all
/// vendors.
///
/// Each linked name is an entity of the registry, written before the rooms are linked, so that a new process links them again. It is
/// removed when the name's room ends by its back end, and when the name has not been used for `APISettings.linkSeconds`.
struct LinkAPI: VendorService {
  let context: APIContext
  let links = Links()

  init(_ context: APIContext) { self.context = context }

  private static let root = "/koine/v1/"
  private static let services: Set<String> = ["koine"]

  private struct Request: Decodable { var rooms: [String]? }

  private struct Answer: Encodable {
    /// The room in which the participants of all names meet; nil: names were unlinked.
    var room: String?
    /// The names that lead to it by this request, or that were linked before it.
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
      guard ["POST", "DELETE"].contains(request.method) else {
        throw AWSError(405, "UnknownOperation", "links are made by POST and removed by DELETE")
      }
      let names: [String]
      do throws(BodyFault) { names = try decodeBody(Request.self, request.body).rooms ?? [] } catch {
        throw AWSError(400, "Malformed", error.text)
      }
      return respond(200, try await carryOut(request.method, names, for: caller))
    } catch {
      var response = respond(
        error.status, ErrorAnswer(error: .init(code: error.code, message: error.message)))
      if error.status == 503 { response.headers.append(("Retry-After", "1")) }
      if error.status == 405 { response.headers.append(("Allow", "POST, DELETE")) }
      return response
    }
  }

  private func respond(_ status: Int, _ body: any Encodable) -> APIResponse {
    APIResponse(
      status: status, headers: [("Content-Type", "application/json")], body: (try? JSONCodec.encode(body)) ?? [])
  }

  private func carryOut(_ method: String, _ names: [String], for caller: AWSCaller) async throws(AWSError) -> Answer {
    let origin = CommandOrigin(.vendorAPI, caller.accessKey)
    let reason = "\(method) \(Self.root)links"
    let result: Result<Answer, RoomControlError> =
      if method == "POST" {
        await link(names, RoomRequest(.link(names), by: origin, reason: reason)).map { Answer(room: $0, names: names) }
      } else {
        await unlink(names, RoomRequest(.unlink(names), by: origin, reason: reason)).map { Answer(names: $0) }
      }
    switch result {
    case .success(let answer): return answer
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

  private static func unavailable(_ error: RegistryError) -> RoomControlError {
    RoomControlError(.unavailable, "the registry cannot be reached or written: \(error)")
  }

  // MARK: Linking

  /// Links names and keeps the links. Repeating a link renews it.
  /// - Parameter request: the command, with its origin.
  /// - Returns: the room in which the participants of all names meet.
  func link(_ names: [String], _ request: RoomRequest) async -> Result<String, RoomControlError> {
    do throws(RoomControlError) { try RoomCommand.checkLink(names) } catch { return .failure(error) }
    return await links.serially {
      do throws(RoomControlError) { return .success(try await record(names, request)) } catch { return .failure(error) }
    }
  }

  private func record(_ names: [String], _ request: RoomRequest) async throws(RoomControlError) -> String {
    do throws(RegistryError) { try await renew(names) } catch { throw Self.unavailable(error) }
    let (additions, count) = links.additions(linking: names)
    let (target, changes) = links.outlook(linking: names)
    guard !additions.isEmpty || !changes.isEmpty else { return target }
    guard count <= RoomLinks.limit else {
      throw RoomControlError(.unavailable, "at most \(RoomLinks.limit) names of rooms are linked")
    }
    // Found out before anything is written, as a link that is written is made again by the next process.
    for name in changes.sorted() {
      switch await context.execute(request: RoomRequest(.describe(room: name), by: request.origin)) {
      case .success:
        throw RoomControlError(.notPossible, "the room “\(name)” is open: names are linked before anyone joins")
      case .failure(let error) where error.code == .noSuchRoom: break
      case .failure(let error): throw error
      }
    }
    var written: [String] = []
    do throws(RegistryError) {
      for (name, target) in additions {
        let now = context.clock()
        let link = RoomLink(target: target, used: now)
        let other = try await context.registry.create(RoomLink.key(name), link, expiry: expiry(at: now))
        guard other == nil || other?.target == target else {
          throw .unavailable("another writer links “\(name)”")
        }
        written.append(name)
      }
    } catch {
      // The names that were written are linked; a repetition links the others.
      throw Self.unavailable(error)
    }
    switch await context.execute(request: request) {
    case .success: links.made(names)
    case .failure(let error):
      // Someone has joined in the meantime.
      do throws(RegistryError) {
        for name in written { try await context.registry.delete(RoomLink.key(name)) }
      } catch {
        context.log("a link of rooms that was refused stays in the registry: \(error)")
      }
      throw error
    }
    return links.outlook(linking: names).target
  }

  /// A repeated request to link keeps links as a join does.
  private func renew(_ names: [String]) async throws(RegistryError) {
    let now = context.clock()
    for case let (name, root)? in names.filter({ links.isUseNews($0, at: now) }).map(links.stored) {
      guard try await redirect(name, to: root, used: now) == nil else { continue }
      // It has expired, and the rooms do not know it yet.
      _ = try await context.registry.create(
        RoomLink.key(name), RoomLink(target: root, used: now), expiry: expiry(at: now))
    }
  }

  private func expiry(at now: APITime) -> APITime { now.adding(seconds: context.settings.linkSeconds) }

  // MARK: Unlinking

  /// Has names mean rooms of their own again. Repeating it changes nothing.
  /// - Parameter request: the command, with its origin.
  /// - Returns: the names that were linked, in the order of the alphabet.
  func unlink(_ names: [String], _ request: RoomRequest) async -> Result<[String], RoomControlError> {
    do throws(RoomControlError) { try RoomCommand.checkUnlink(names) } catch { return .failure(error) }
    return await links.serially {
      do throws(RoomControlError) { return .success(try await remove(names, request)) } catch { return .failure(error) }
    }
  }

  private func remove(_ names: [String], _ request: RoomRequest) async throws(RoomControlError) -> [String] {
    let removal = links.removal(of: names)
    let changes = links.changes(unlinking: names)
    guard !removal.removed.isEmpty || !changes.isEmpty else { return [] }
    // The rooms first: only they know their participants.
    if case .failure(let error) = await context.execute(request: request) { throw error }
    links.unmade(names)
    do throws(RegistryError) {
      for start in stride(from: 0, to: removal.redirected.count, by: Links.Removal.batchSize) {
        try await together(removal.redirected[start...].prefix(Links.Removal.batchSize)) {
          (link) throws(RegistryError) in try await redirect(link.name, to: link.target)
        }
      }
      for batch in removal.batches {
        try await together(batch) { (name) throws(RegistryError) in try await forget(name) }
      }
    } catch {
      await follow()
      throw Self.unavailable(error)
    }
    return changes.union(removal.removed).sorted()
  }

  /// Carries out writes of several entities at the same time, because a store may be far away, or writes them to the disk together.
  /// - Throws: one of the errors, after all writes have ended.
  private func together<Item: Sendable>(
    _ items: some Collection<Item>, _ write: @escaping @Sendable (Item) async throws(RegistryError) -> Void
  ) async throws(RegistryError) {
    let failure = await withTaskGroup(of: RegistryError?.self) { group in
      for item in items {
        group.addTask {
          do throws(RegistryError) { try await write(item) } catch { return error }
          return nil
        }
      }
      return await group.reduce(nil) { $0 ?? $1 }
    }
    if let failure { throw failure }
  }

  private func forget(_ name: String) async throws(RegistryError) {
    let key = RoomLink.key(name)
    try await context.registry.delete(key)
    // The store reports no change of an entity that had expired.
    if try await context.registry.store.get(key) == nil { links.set(nil, name: name, hasEnded: false) }
  }

  @discardableResult
  private func redirect(
    _ name: String, to target: String, used: APITime? = nil
  ) async throws(RegistryError) -> RoomLink? {
    try await context.registry.update(
      RoomLink.self, RoomLink.key(name), expiry: { expiry(at: $0.used) }, refusing: { $0 }
    ) { (link: inout RoomLink) throws(RegistryError) in
      (link.target, link.used) = (target, used ?? link.used)
      return true
    }
  }

  // MARK: Time

  /// Has the rooms follow the registry, and removes links of rooms that have ended.
  func reconcile() async {
    await links.serially {
      await follow()
      for name in links.ended(at: context.clock()) {
        let request = RoomRequest(
          .unlink([name]), by: CommandOrigin(.vendorAPI, "koine"), reason: "the room “\(name)” has ended")
        do throws(RoomControlError) { _ = try await remove([name], request) } catch {
          // Its last participants are on their way out.
          links.postponeEnd(name, until: context.clock().adding(seconds: 10))
        }
      }
    }
  }

  /// Whether the rooms have to follow the registry.
  var isBehind: Bool { !links.steps(at: context.clock()).isEmpty }

  private func follow() async {
    for step in links.steps(at: context.clock()) { await follow(step) }
  }

  private func follow(_ step: Links.Step) async {
    let (command, names): (RoomCommand, [String]) =
      switch step {
      case .link(let names): (.link(names), names)
      case .unlink(let names): (.unlink(names), names)
      }
    // At this node only: the registry has decided, and each node follows it.
    let request = RoomRequest(command, by: CommandOrigin(.vendorAPI, "koine"), reason: "the registry")
    let result =
      if let homes = context.homes { await homes.executeHere(request) } else { await context.execute(request: request) }
    switch result {
    case .success:
      if case .link = step { links.made(names) } else { links.unmade(names) }
    case .failure where names.count > 2:
      // One open room must not keep the others apart.
      for name in names.dropFirst() { await follow(.link([names[0], name])) }
    case .failure(let error):
      context.log("the rooms cannot follow a link in the registry now: \(error.message)")
      links.postpone(names, until: context.clock().adding(seconds: 60))
    }
  }

  func observe(_ event: RoomEvent, at now: APITime) async {
    guard case .joined = event.change, links.beginRenewal(event.room, at: now) else { return }
    // Other events do not wait for the operations on links.
    links.begin {
      defer { links.endRenewal(event.room) }
      guard let (name, root) = links.stored(event.room) else { return }
      do throws(RegistryError) { try await redirect(name, to: root, used: now) } catch {
        context.log("the use of a linked name is not recorded: \(error)")
      }
    }
  }

  /// While an operation is under way, the rooms follow the registry at one of the next calls: the timers of other vendors must not wait.
  func handleTimeout() async {
    if !links.isBusy { await reconcile() }
  }

  // MARK: The registry

  var prefixesOfRules: [String] { [RoomLink.prefix] }

  func apply(_ change: RegistryChange, to rules: AdmissionRules) {
    guard change.key.hasPrefix(RoomLink.prefix),
      let name = PercentEncoding.decode(change.key.dropFirst(RoomLink.prefix.count))
    else { return }
    links.set(
      change.value.flatMap { try? decodeEntity(RoomLink.self, $0) }, name: name,
      hasEnded: rules.roomRule(name)?.refusal != nil)
  }
}
