import KoineBase
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import Logging
import NIOCore
import Testing

@testable import KoineServer

/// Clients that come and go, by the limits of their address.
@Suite(.timeLimit(.minutes(3))) struct LostConnectionTests {
  /// Records the messages sent to one connection.
  private final class MessageRecorder: MessageSink {
    private let told = Lock<[ServerMessage]>([])
    private let answers = Lock(0)

    func send(_ message: EncodedMessage, endOf page: MessagePage?) {
      if let message = message.message { told.withLock { $0.append(message) } } else { answers.withLock { $0 += 1 } }
    }
    func close() {}

    var counted: Int { told.withLock { $0.count { $0.isCounted } } + answers.withLock { $0 } }
    var key: String? {
      told.withLock { $0.lazy.compactMap { if case .resumable(let key, _) = $0 { key } else { nil } }.first }
    }
    var refusal: Failure.Code? {
      told.withLock { $0.lazy.compactMap { if case .refused(let failure, _) = $0 { failure.code } else { nil } }.last }
    }
    var knock: (id: String, number: Int?)? {
      told.withLock {
        $0.lazy.compactMap { if case .knock(let guest, let number) = $0 { (guest.id, number) } else { nil } }.last
      }
    }
    var isResumed: Bool { told.withLock { $0.contains { if case .resumed = $0 { true } else { false } } } }
  }

  private let logs: Logs
  private let host: RouterHost
  private let limiter: ConnectionLimiter

  init() {
    var limits = ServerLimits()
    (limits.lostPerAddress, limits.connectionsPerAddress, limits.roomsPerAddress) = (5, 8, 2)
    let logs = Logs()
    self.logs = logs
    let logger = Logger(label: "test") { _ in LogCollector(logs: logs) }
    // Longer than any machine takes for a test: lost clients stay lost, and participants need no media path.
    host = RouterHost(
      ServerConfiguration(access: .open, limits: limits, logger: logger), resumeGrace: .seconds(3_600),
      connectTimeout: .seconds(3_600))
    limiter = ConnectionLimiter(limits: limits)
  }

  /// - Returns: once all earlier messages have been handled.
  private func settle() async throws -> RouterStatistics {
    while await host.pendingChecks() > 0 {}
    return try #require(await host.statistics())
  }

  private func join(
    _ recorder: MessageRecorder, room: String = "tea", isBrowser: Bool = false, from address: String = "192.0.2.1"
  ) async throws -> (line: ConnectionID, pass: ConnectionLimiter.Permit) {
    let pass = try #require(limiter.enter(from: address))
    pass.beginSignalling()
    let line = host.open(recorder, isBrowser: isBrowser, pass: pass)
    if isBrowser {
      host.handle(.success(try Offers.message(1, [Offers.medium("0", "audio", "inactive")])), on: line)
    } else {
      host.handle(.success(.join(Self.join(room))), on: line)
    }
    _ = try await settle()
    return (line, pass)
  }

  private static func join(_ room: String) -> Join {
    let description = PeerDescription(
      ice: ICECredentials(ufrag: "bens", password: "bbbbbbbbbbbbbbbbbbbbbb"), candidates: [],
      fingerprint: .init(value: "AB:CD"),
      isLite: false, setup: .active)
    return Join(room: room, name: "Ben", description: description)
  }

  private func acknowledge(_ recorder: MessageRecorder, on line: ConnectionID, isBrowser: Bool) {
    if isBrowser {
      host.handle(.success(BrowserMessage.other(.heard(recorder.counted))), on: line)
    } else {
      host.handle(.success(ClientMessage.heard(recorder.counted)), on: line)
    }
  }

  /// One connection at a time, each with a participant, each lost.
  @Test(arguments: [false, true]) func lostConnectionsAreKeptUpToTheLimit(_ isBrowser: Bool) async throws {
    _ = try await host.start()
    var last: MessageRecorder?
    for _ in 0..<40 {
      let recorder = MessageRecorder()
      let (line, _) = try await join(recorder, isBrowser: isBrowser)
      acknowledge(recorder, on: line, isBrowser: isBrowser)
      host.close(line)
      let statistics = try await settle()
      #expect(limiter.lost(of: "192.0.2.1") <= 5)
      #expect(limiter.connections == 0)
      // A participant that is given up leaves with the next turn, a browser's after its grace.
      if !isBrowser { #expect(statistics.participants <= 6) }
      last = recorder
    }
    #expect(limiter.lost(of: "192.0.2.1") == 5)
    // The newest may return, and counts as open again.
    let recorder = MessageRecorder()
    let pass = try #require(limiter.enter(from: "192.0.2.1"))
    let line = host.open(recorder, isBrowser: isBrowser, pass: pass)
    let message = ClientMessage.resumeConversation(key: try #require(last?.key), heard: last?.counted ?? 0)
    if isBrowser {
      host.handle(.success(BrowserMessage.other(message)), on: line)
    } else {
      host.handle(.success(message), on: line)
    }
    _ = try await settle()
    #expect(recorder.isResumed)
    #expect(limiter.lost(of: "192.0.2.1") == 4)
    #expect(limiter.connections == 1)
    await host.stop()
  }

  @Test func lostConnectionsCountForTheirAddress() async throws {
    _ = try await host.start()
    for _ in 0..<5 {
      let recorder = MessageRecorder()
      let (line, _) = try await join(recorder)
      acknowledge(recorder, on: line, isBrowser: false)
      host.close(line)
      _ = try await settle()
    }
    let open = (0..<3).map { _ in limiter.enter(from: "192.0.2.1") }
    #expect(!open.contains { $0 == nil })
    #expect(limiter.enter(from: "192.0.2.1") == nil)
    #expect(limiter.enter(from: "192.0.2.2") != nil)
    await host.stop()
  }

  @Test func connectionThatCannotResumeReleasesItsPlace() async throws {
    _ = try await host.start()
    for isBrowser in [false, true] {
      let (line, _) = try await join(MessageRecorder(), isBrowser: isBrowser)
      #expect(limiter.connections == 1)
      host.close(line)
      _ = try await settle()
      #expect(limiter.connections == 0)
      #expect(limiter.lost(of: "192.0.2.1") == 0)
    }
    await host.stop()
  }

  @Test func roomsOfOneAddressAreLimitedWhileTheyExist() async throws {
    _ = try await host.start()
    let recorders = (0..<5).map { _ in MessageRecorder() }
    let (first, _) = try await join(recorders[0], room: "a")
    _ = try await join(recorders[1], room: "b")
    _ = try await join(recorders[2], room: "c")
    #expect(recorders[0].refusal == nil && recorders[1].refusal == nil && recorders[2].refusal == .roomFull)
    _ = try await join(recorders[3], room: "c", from: "192.0.2.2")
    #expect(recorders[3].refusal == nil)
    host.handle(.success(.leave(reason: nil)), on: first)
    _ = try await join(recorders[4], room: "d")
    #expect(recorders[4].refusal == nil)
    #expect(try await settle().rooms == 3)
    await host.stop()
  }

  // MARK: Logs

  @Test func refusedSecondJoinKeepsTheRoomInTheLog() async throws {
    _ = try await host.start()
    let (line, _) = try await join(MessageRecorder(), room: "innocent")
    host.handle(.success(.join(Self.join("guilty"))), on: line)
    host.handle(.success(.leave(reason: nil)), on: line)
    _ = try await settle()
    #expect(
      logs.lines.filter { $0.hasPrefix("joined") || $0.hasPrefix("left") } == ["joined innocent", "left innocent"])
    await host.stop()
  }

  @Test func refusedRegistrationKeepsTheRoomInTheLog() async throws {
    _ = try await host.start()
    let (line, _) = try await join(MessageRecorder(), room: "innocent")
    let forged = Register(identity: "ben", name: "Ben", credential: "a.b.c")
    host.authorization = Authorization(
      check: { _ in .success(.open) }, checkIdentity: { _ in .failure(Failure(.unauthorized, "no")) })
    host.handle(.success(.register(forged)), on: line)
    host.handle(.success(.join(Self.join("guilty"))), on: line)
    host.handle(.success(.leave(reason: nil)), on: line)
    _ = try await settle()
    #expect(
      logs.lines.filter { $0.hasPrefix("joined") || $0.hasPrefix("left") } == ["joined innocent", "left innocent"])
    await host.stop()
  }

  /// - Parameter mustAsk: whether the join of that number, counted from 1, waits for a decision. Participants of other joins decide.
  private static func asking(_ mustAsk: @escaping @Sendable (_ join: Int) -> Bool) -> Authorization {
    let joins = Lock(0)
    return Authorization(
      check: { _ in
        var grants = Grants.open
        grants.mustAsk = joins.withLock { joins in
          joins += 1
          return mustAsk(joins)
        }
        grants.canAdmit = !grants.mustAsk
        return .success(grants)
      }, checkIdentity: { _ in .failure(Failure(.unauthorized, "no")) })
  }

  @Test func refusedRegistrationOfAWaitingGuestKeepsItsJoinInTheLog() async throws {
    _ = try await host.start()
    host.authorization = Self.asking { $0 > 1 }  // the first participant admits the second
    let recorder = MessageRecorder()
    let (owner, _) = try await join(recorder, room: "tea")
    let (guest, _) = try await join(MessageRecorder(), room: "tea")
    let knock = try #require(recorder.knock)
    host.handle(.success(.register(Register(identity: "ben", name: "Ben", credential: "a.b.c"))), on: guest)
    _ = try await settle()
    host.handle(.success(.answerKnock(participant: knock.id, admitted: true, number: knock.number)), on: owner)
    _ = try await settle()
    host.handle(.success(.leave(reason: nil)), on: guest)
    _ = try await settle()
    let lines = logs.lines.filter { $0.hasPrefix("joined") || $0.hasPrefix("left") }
    #expect(lines == ["joined tea", "joined tea", "left tea"])
    await host.stop()
  }

  @Test func deniedGuestThatJoinsAnotherRoomIsLoggedThere() async throws {
    _ = try await host.start()
    // The first participant decides on the second's first join; the second join needs no decision.
    host.authorization = Self.asking { $0 == 2 }
    let recorder = MessageRecorder()
    let (owner, _) = try await join(recorder, room: "tea")
    let guestRecorder = MessageRecorder()
    let (guest, _) = try await join(guestRecorder, room: "tea")
    let knock = try #require(recorder.knock)
    host.handle(.success(.answerKnock(participant: knock.id, admitted: false, number: knock.number)), on: owner)
    _ = try await settle()
    #expect(guestRecorder.refusal == .denied)
    host.handle(.success(.join(Self.join("coffee"))), on: guest)
    _ = try await settle()
    #expect(logs.lines.filter { $0.hasPrefix("joined") } == ["joined tea", "joined coffee"])
    await host.stop()
  }

  @Test func refusalsOfOneAddressAreLoggedByPowersOfTen() async throws {
    _ = try await host.start()
    for _ in 0..<2 { _ = try await join(MessageRecorder(), room: "a", from: "192.0.2.9") }
    host.handle(.success(.join(Self.join(""))), on: try await join(MessageRecorder(), room: "", from: "192.0.2.1").line)
    let (line, _) = try await join(MessageRecorder(), room: "", from: "192.0.2.1")
    for _ in 0..<120 { host.handle(.success(.join(Self.join(""))), on: line) }
    _ = try await settle()
    #expect(logs.lines.filter { $0.hasPrefix("refused") } == ["refused 1", "refused 10", "refused 100"])
    await host.stop()
  }
}

private final class Logs: Sendable {
  private let kept = Lock<[String]>([])
  var lines: [String] { kept.withLock { $0 } }
  func add(_ line: String) { kept.withLock { $0.append(line) } }
}

/// Message, room and count.
private struct LogCollector: LogHandler {
  let logs: Logs
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace
  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { $1 }
    let words = [
      "\(event.message)", all["room"].map { "\($0)" }.flatMap { $0 == "\"\"" ? nil : $0 }, all["count"].map { "\($0)" },
    ]
    logs.add(words.compactMap { $0 }.joined(separator: " "))
  }
}
