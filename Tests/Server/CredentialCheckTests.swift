import Dispatch
import Foundation
import Glibc
import KoineBase
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import KoineTransport
import Testing

@testable import KoineServer

/// Credentials are checked off the network loop, once each, and refused ones have a budget.
@Suite(.timeLimit(.minutes(2))) struct CredentialCheckTests {
  /// Records the messages sent to one connection.
  private final class Inbox: MessageSink {
    private struct State {
      var messages: [ServerMessage] = []
      var isClosed = false
      var onMessage: (@Sendable (ServerMessage) -> Void)?
    }
    private let state = Lock(State())

    /// - Parameter handler: called on the network loop.
    func onMessage(_ handler: @escaping @Sendable (ServerMessage) -> Void) { state.withLock { $0.onMessage = handler } }

    func send(_ message: EncodedMessage, endOf page: MessagePage?) {
      guard let message = message.message else { return }
      let handler = state.withLock { state in
        state.messages.append(message)
        return state.onMessage
      }
      handler?(message)
    }
    func close() { state.withLock { $0.isClosed = true } }

    var messages: [ServerMessage] { state.withLock { $0.messages } }
    var isClosed: Bool { state.withLock { $0.isClosed } }
    var refusals: [Failure.Code] {
      messages.compactMap { if case .refused(let failure, _) = $0 { failure.code } else { nil } }
    }
    var joined: Joined? { messages.lazy.compactMap { if case .joined(let joined) = $0 { joined } else { nil } }.first }
  }

  /// Counts credential checks; accepts every credential but `forged`, and waits before each answer while it is held.
  private final class Gatekeeper: Sendable {
    private let count = Lock(0)
    private let gate = DispatchSemaphore(value: 0)
    private let isHeld: Bool

    init(isHeld: Bool = false) { self.isHeld = isHeld }

    var checks: Int { count.withLock { $0 } }
    func release(_ count: Int) { for _ in 0..<count { gate.signal() } }

    private func check(_ credential: String?) -> Failure? {
      count.withLock { $0 += 1 }
      if isHeld { gate.wait() }
      return credential == "forged" ? Failure(.unauthorized, "forged") : nil
    }

    var authorization: Authorization {
      Authorization(
        check: { [self] join in check(join.credential).map { .failure($0) } ?? .success(.everything) },
        checkIdentity: { [self] register in
          check(register.credential).map { .failure($0) }
            ?? .success(KnownIdentity(identity: register.identity, name: register.name))
        })
    }
  }

  /// The participants have no media path.
  private let host = RouterHost(
    ServerConfiguration(mediaAddresses: [.init(announced: .loopback())], access: .open, logger: .silent),
    connectTimeout: .seconds(3_600))

  private func start(_ gatekeeper: Gatekeeper) async throws {
    _ = try await host.start()
    host.authorization = gatekeeper.authorization
  }

  private func join(_ credential: String?, on line: ConnectionID, room: String = "tea") {
    let description = PeerDescription(
      ice: ICECredentials(ufrag: "them", password: "bbbbbbbbbbbbbbbbbbbbbb"), candidates: [],
      fingerprint: .init(value: "AB:CD"),
      isLite: false, setup: .active)
    host.handle(
      .success(ClientMessage.join(Join(room: room, credential: credential, name: "Ana", description: description))),
      on: line)
  }

  private func until(_ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !condition() {
      try #require(ContinuousClock.now < deadline, "within 60 s")
      _ = await host.statistics()
    }
  }

  private func settle() async {
    while await host.pendingChecks() > 0 {}
    _ = await host.statistics()
  }

  @Test func credentialOfJoinRegistrationAndRenewalIsCheckedOnceEach() async throws {
    let gatekeeper = Gatekeeper()
    try await start(gatekeeper)
    let (ana, ben, browser) = (Inbox(), Inbox(), Inbox())
    let line = host.open(ana, isBrowser: false)
    join("good", on: line)
    try await until { ana.joined != nil }
    #expect(gatekeeper.checks == 1)
    host.handle(.success(ClientMessage.renew(credential: "newer")), on: line)
    await settle()
    #expect(gatekeeper.checks == 2)
    let phone = host.open(ben, isBrowser: false)
    host.handle(.success(ClientMessage.register(Register(identity: "ben", name: "Ben", credential: "good"))), on: phone)
    await settle()
    #expect(gatekeeper.checks == 3)
    #expect(ben.messages.contains { if case .registered = $0 { true } else { false } })
    host.handle(
      .success(try Offers.message(1, [Offers.medium("0", "audio", "inactive")])),
      on: host.open(browser, isBrowser: true))
    try await until { browser.joined != nil }
    #expect(gatekeeper.checks == 4)
    await host.stop()
  }

  @Test func messagesBehindAJoinWaitForItsCheckInOrder() async throws {
    let gatekeeper = Gatekeeper(isHeld: true)
    try await start(gatekeeper)
    let (ana, ben) = (Inbox(), Inbox())
    let line = host.open(ana, isBrowser: false)
    join("good", on: line)
    host.handle(.success(ClientMessage.ping(1)), on: line)
    host.handle(.success(ClientMessage.attributes(["a": "b"])), on: line)
    host.handle(.success(ClientMessage.ping(2)), on: line)
    // Another connection is answered at once.
    host.handle(.success(ClientMessage.ping(3)), on: host.open(ben, isBrowser: false))
    try await until { ben.messages == [.pong(3)] }
    #expect(ana.messages.isEmpty)
    gatekeeper.release(1)
    try await until { ana.messages.contains(.pong(2)) }
    let places = [
      ana.messages.firstIndex { if case .joined = $0 { true } else { false } }, ana.messages.firstIndex(of: .pong(1)),
      ana.messages.firstIndex(of: .pong(2)),
    ].compactMap(\.self)
    #expect(places.count == 3)
    #expect(places == places.sorted())
    #expect(!ana.messages.contains { if case .failed = $0 { true } else { false } })
    await host.stop()
  }

  @Test func connectionWithTooManyMessagesBehindItsJoinIsClosed() async throws {
    let gatekeeper = Gatekeeper(isHeld: true)
    try await start(gatekeeper)
    let ana = Inbox()
    let line = host.open(ana, isBrowser: false)
    join("good", on: line)
    for number in 0...ClientLine.limit { host.handle(.success(ClientMessage.ping(number)), on: line) }
    try await until { ana.isClosed }
    gatekeeper.release(1)
    await settle()
    await host.stop()
  }

  @Test func joinBeyondTheQueueLimitIsRefusedAndMayBeRetried() async throws {
    let gatekeeper = Gatekeeper(isHeld: true)
    try await start(gatekeeper)
    let inboxes = (0..<CredentialChecker.limit + 11).map { _ in Inbox() }
    join("good", on: host.open(inboxes[0], isBrowser: false))
    try await until { gatekeeper.checks == 1 }  // it is no longer in the queue
    let lines = inboxes.dropFirst().map { host.open($0, isBrowser: false) }
    for line in lines { join("good", on: line) }
    _ = await host.statistics()
    #expect(inboxes.count { $0.refusals == [.tooMany] } == 10)
    gatekeeper.release(inboxes.count)
    try await until { inboxes.count { $0.joined != nil } == CredentialChecker.limit + 1 }
    for line in lines.suffix(10) { join("good", on: line) }
    try await until { inboxes.allSatisfy { $0.joined != nil } }
    await host.stop()
  }

  /// A server's own recorder comes in by the listener that only its machine reaches.
  @Test func joinOnTheInternalListenerDoesNotWaitBehindExternalJoins() async throws {
    let gatekeeper = Gatekeeper(isHeld: true)
    try await start(gatekeeper)
    let strangers = (0..<CredentialChecker.limit + 2).map { _ in Inbox() }
    for inbox in strangers { join("forged", on: host.open(inbox, isBrowser: false)) }
    let limiter = ConnectionLimiter(limits: ServerLimits(), isInside: true)
    let (recorder, pass) = (Inbox(), try #require(limiter.enter(from: "127.0.0.1")))
    join("good", on: host.open(recorder, isBrowser: false, pass: pass))
    _ = await host.statistics()
    #expect(strangers.contains { $0.refusals == [.tooMany] }, "the strangers' queue is full")
    gatekeeper.release(2)
    try await until { recorder.joined != nil }
    gatekeeper.release(strangers.count)
    await settle()
    await host.stop()
  }

  private func limiter(joins: Double) -> ConnectionLimiter {
    var limits = ServerLimits()
    (limits.addressJoinBurst, limits.addressJoinsPerSecond) = (joins, 0.001)
    return ConnectionLimiter(limits: limits)
  }

  private func open(_ inbox: Inbox, by limiter: ConnectionLimiter, from address: String = "192.0.2.1") throws
    -> ConnectionID
  {
    let pass = try #require(limiter.enter(from: address))
    return host.open(inbox, isBrowser: false, pass: pass)
  }

  @Test func addressWithManyRefusedCredentialsIsRefusedBeforeTheCheck() async throws {
    let (gatekeeper, limiter) = (Gatekeeper(), limiter(joins: 20))
    try await start(gatekeeper)
    let inboxes = (0..<12).map { _ in Inbox() }
    for inbox in inboxes {
      join("forged", on: try open(inbox, by: limiter))
      await settle()
    }
    #expect(inboxes.prefix(10).allSatisfy { $0.refusals == [.unauthorized] })
    #expect(inboxes.suffix(2).allSatisfy { $0.refusals == [.tooMany] })
    #expect(gatekeeper.checks == 10)
    let other = Inbox()
    join("good", on: try open(other, by: limiter, from: "192.0.2.2"))
    try await until { other.joined != nil }
    await host.stop()
  }

  /// Neither joins nor registrations are free for a client that hangs up before its verdict.
  @Test func refusedCredentialOfAClosedConnectionCounts() async throws {
    let (gatekeeper, limiter) = (Gatekeeper(isHeld: true), limiter(joins: 8))
    try await start(gatekeeper)
    for number in 0..<4 {
      let line = try open(Inbox(), by: limiter)
      if number % 2 == 0 {
        join("forged", on: line)
      } else {
        host.handle(
          .success(ClientMessage.register(Register(identity: "a", name: "A", credential: "forged"))), on: line)
      }
      host.close(line)
    }
    gatekeeper.release(4)
    try await until { gatekeeper.checks == 4 }
    let inbox = Inbox()
    join("forged", on: try open(inbox, by: limiter))
    try await until { inbox.refusals == [.tooMany] }
    #expect(gatekeeper.checks == 4)
    await host.stop()
  }

  @Test func acceptedCredentialsDoNotCount() async throws {
    let (gatekeeper, limiter) = (Gatekeeper(), limiter(joins: 4))
    try await start(gatekeeper)
    for _ in 0..<10 {
      let inbox = Inbox()
      join("good", on: try open(inbox, by: limiter))
      try await until { inbox.joined != nil }
    }
    await host.stop()
  }

  /// Behind a proxy, attackers and participants share one address.
  @Test func renewalsAreCheckedDespiteRefusedCredentialsOfTheAddress() async throws {
    let (gatekeeper, limiter) = (Gatekeeper(), limiter(joins: 4))
    try await start(gatekeeper)
    let (ana, eve) = (Inbox(), Inbox())
    let line = try open(ana, by: limiter)
    join("good", on: line)
    try await until { ana.joined != nil }
    let stranger = try open(eve, by: limiter)
    for _ in 0..<7 { join("forged", on: stranger) }
    await settle()
    #expect(eve.refusals == [.unauthorized, .unauthorized] + [Failure.Code](repeating: .tooMany, count: 5))
    #expect(!eve.isClosed, "only credentials that have been checked count for the connection")
    #expect(gatekeeper.checks == 3)
    for _ in 0..<100 { host.handle(.success(ClientMessage.renew(credential: "newer")), on: line) }
    await settle()
    let renewals = gatekeeper.checks - 3
    #expect((10..<60).contains(renewals), "ten at once, and one more each second")
    let failures = ana.messages.compactMap { if case .failed(_, let failure) = $0 { failure.code } else { nil } }
    #expect(failures == [Failure.Code](repeating: .tooMany, count: 100 - renewals))
    #expect(!ana.isClosed)
    await host.stop()
  }

  /// The credential of the first join is valid, and the router refuses the join for another reason.
  @Test func joinBehindARefusedOneIsNeverCheckedOnTheNetworkLoop() async throws {
    let gatekeeper = Gatekeeper(isHeld: true)
    try await start(gatekeeper)
    let inbox = Inbox()
    let line = host.open(inbox, isBrowser: true)
    for _ in 0..<3 {
      host.handle(
        .success(try Offers.message(1, [Offers.medium("0", "audio", "inactive")], as: "koine.service")), on: line)
    }
    for number in 1...3 {
      gatekeeper.release(1)
      // Asks the network loop each time: it would wait for the gate.
      try await until { inbox.refusals.count == number }
    }
    #expect(inbox.refusals == [.forbidden, .forbidden, .forbidden])
    #expect(gatekeeper.checks == 3)
    await host.stop()
  }

  @Test func furtherBrowserJoinsAreRefusedWithoutACheck() async throws {
    let gatekeeper = Gatekeeper(isHeld: true)
    try await start(gatekeeper)
    let inbox = Inbox()
    let line = host.open(inbox, isBrowser: true)
    let media = [Offers.medium("0", "audio", "inactive")]
    for _ in 0..<4 { host.handle(.success(try Offers.message(1, media)), on: line) }
    gatekeeper.release(1)
    await settle()
    #expect(inbox.joined != nil)
    #expect(
      inbox.messages.count { if case .failed(_, let failure) = $0 { failure.code == .wrongState } else { false } } == 3)
    #expect(gatekeeper.checks == 1)
    await host.stop()
  }

  /// Otherwise one connection could block the network loop with the messages behind its join.
  @Test func messagesBehindAJoinAreInterleavedWithOtherConnections() async throws {
    let gatekeeper = Gatekeeper(isHeld: true)
    try await start(gatekeeper)
    let (ana, ben) = (Inbox(), Inbox())
    let other = host.open(ben, isBrowser: false)
    let order = Lock<[String]>([])
    ana.onMessage { [host] message in
      guard case .pong(let number) = message else { return }
      order.withLock { $0.append("ana \(number)") }
      if number == 1 { host.handle(.success(ClientMessage.ping(0)), on: other) }
    }
    ben.onMessage { _ in order.withLock { $0.append("ben") } }
    let line = host.open(ana, isBrowser: false)
    join("good", on: line)
    for number in 1...4 { host.handle(.success(ClientMessage.ping(number)), on: line) }
    gatekeeper.release(1)
    await settle()
    #expect(order.withLock { $0 } == ["ana 1", "ana 2", "ben", "ana 3", "ana 4"])
    await host.stop()
  }

  @Test(arguments: [true, false]) func connectionIsClosedAfterFiveRefusedCredentials(isBrowser: Bool) async throws {
    let gatekeeper = Gatekeeper()
    try await start(gatekeeper)
    let inbox = Inbox()
    let line = host.open(inbox, isBrowser: isBrowser)
    for number in 1...8 {
      if isBrowser {
        let text =
          #"{"type":"join","version":1,"room":"tea","name":"Ana","credential":"forged","#
          + #""offer":{"number":1,"sdp":"no description"}}"#
        host.handle(.success(try Array(text.utf8).withUnsafeBytes { try BrowserMessage(json: $0) }), on: line)
      } else {
        join("forged", on: line)
      }
      await settle()
      #expect(inbox.isClosed == (number >= ClientLine.refusalLimit))
    }
    #expect(inbox.refusals == [Failure.Code](repeating: .unauthorized, count: 5))
    #expect(gatekeeper.checks == 5)
    await host.stop()
  }

  /// While strangers keep the checker busy, a participant's checks on the media port are answered at once.
  @Test func floodOfForgedJoinsDoesNotDelayAParticipantsChecks() async throws {
    let gatekeeper = Gatekeeper(isHeld: true)
    try await start(gatekeeper)
    let ana = Inbox()
    join("good", on: host.open(ana, isBrowser: false))
    gatekeeper.release(1)
    try await until { ana.joined != nil }
    let description = try #require(ana.joined?.description)
    for _ in 0..<400 {
      join("forged", on: host.open(Inbox(), isBrowser: false))
    }
    let probe = try STUNProbe(of: description, from: "them")
    var times: [Duration] = []
    for _ in 0..<20 { times.append(try #require(await probe.roundTrip())) }
    let pending = await host.pendingChecks()
    #expect(pending > 0, "the flood still goes on")
    // On the loop's own thread each would wait for the gate; a busy machine takes some of the rest.
    #expect(times.sorted()[18] < .milliseconds(400), "\(times)")
    gatekeeper.release(500)
    await host.stop()
  }
}

/// Asks a router's peer for its view of an address (RFC 8489), as the peer of a participant does.
private struct STUNProbe: Sendable {
  private let socket: Int32
  private let port: UInt16
  private let username: String
  private let key: String

  init(of description: PeerDescription, from ufrag: String) throws {
    port = try #require(description.candidates.first).port
    (username, key) = ("\(description.ice.ufrag):\(ufrag)", description.ice.password)
    socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    var limit = timeval(tv_sec: 5, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    // A sockaddr_in of 127.0.0.1 by its layout: which module the type itself belongs to depends on the order of compiling.
    let address: [UInt8] = [
      UInt8(AF_INET), 0, UInt8(port >> 8), UInt8(port & 0xFF), 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
    ]
    let socket = socket
    let status = address.withUnsafeBytes { bytes in
      bytes.baseAddress.map { connect(socket, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(address.count)) }
    }
    try #require(status == 0)
  }

  /// nil where no answer comes within 5 s.
  func roundTrip() async -> Duration? {
    await withCheckedContinuation { done in
      DispatchQueue.global().async { done.resume(returning: wait()) }
    }
  }

  private func wait() -> Duration? {
    var request = STUNMessage(
      .request, STUNMessage.TransactionID(high: UInt32.random(in: 0 ... .max), low: UInt64.random(in: 0 ... .max)))
    (request.username, request.priority, request.controlling) = (username, 1, 1)
    var bytes = [UInt8](repeating: 0, count: 1_500)
    let begun = ContinuousClock.now
    let count = bytes.withUnsafeMutableBytes { request.write(into: $0, key: key) } ?? 0
    guard send(socket, bytes, count, 0) == count else { return nil }
    while true {
      let received = recv(socket, &bytes, bytes.count, 0)
      guard received > 0 else { return nil }
      let answer = bytes.prefix(received).withUnsafeBytes { try? STUNMessage(parsing: $0) }
      if answer?.kind == .success, answer?.transaction == request.transaction { return ContinuousClock.now - begun }
    }
  }
}
