import CrossVendorConventions
import Koine
import KoineEmbeddedBackend
import struct KoineSignaling.RoomService
import KoineTokens
import Testing

/// A co-located service: the participants that it accepts messages from, and the messages that it sends to participants.
@Suite struct RoomServiceTests {
  private let world: World
  private let backend: EmbeddedBackend
  private let heard = Lock<[String]>([])

  init() throws {
    world = try virtualWorld()
    backend = try #require(world.backend as? EmbeddedBackend)
  }

  private func startService() {
    backend.attend { [heard] in
      RoomService(names: [Convention.recording, Convention.playlist]) { word in
        heard.withLock { $0.append("\(word.room) \(word.sender) \(word.topic)") }
      }
    }
  }

  private func enter(_ name: String, _ rights: Set<KoineToken.Right>? = nil) async throws -> (Session, Lock<[String]>) {
    let now = NumericDate.ofSystemClock()
    let credential = try rights.map {
      try KoineToken(rights: $0, issued: now, expires: now + 600).signed(with: SigningKey(generating: .p256))
    }
    let session = Session(JoinRequest(room: "tea", credential: credential, participantID: name, name: name), in: world)
    let told = Lock<[String]>([])
    session.observe { [weak session] event in
      if case .messageReceived(let message) = event {
        let words =
          RecorderStatus(message, from: session?.services ?? []).map { "\($0.stage)" }
          ?? String(decoding: message.payload, as: UTF8.self)
        told.withLock { $0.append("\(message.topic) \(words)") }
      } else if case .failed(let error) = event {
        told.withLock { $0.append("\(error.code)") }
      }
    }
    session.join { _ in }
    await world.run(for: .milliseconds(500))
    return (session, told)
  }

  private func sendStatus(_ stage: RecorderStatus.Stage, to participant: Participant.ID? = nil) {
    backend.send(
      .init(
        Array(RecorderStatus(stage).text.utf8), as: Convention.recording, to: participant, stands: stage != .stopped,
        in: "tea"))
  }

  @Test func serviceReceivesMessagesFromPermittedParticipantsOnly() async throws {
    let (ana, _) = try await enter("ana")
    #expect(ana.services.isEmpty)
    startService()
    let (ben, told) = try await enter("ben", [.send, .subscribe])
    #expect(ben.services == [Convention.recording, Convention.playlist])
    let wish = DataMessage(topic: Convention.recording, payload: [], to: [Convention.recording])
    try ben.send(wish)
    try ana.send(wish)
    try ana.send(DataMessage(topic: Convention.recording, payload: []))
    await world.run(for: .milliseconds(500))
    #expect(heard.withLock { $0 } == ["tea ana koine.recording"], "what is said to all is not said to it")
    #expect(told.withLock { $0 }.contains { $0.contains("forbidden") })
    let (other, _) = try await enter(Convention.playlist)
    #expect(other.state.isEnded, "nobody is called as a service is")
    #expect(ana.services == [Convention.recording, Convention.playlist], "told of services that came after the join")
  }

  @Test func statusOfUnregisteredServiceIsIgnored() async throws {
    let text = Array(RecorderStatus(.started).text.utf8)
    let message = ReceivedMessage(
      sender: Convention.recording, topic: Convention.recording, payload: text, order: 1, age: .zero, isHistory: false)
    #expect(RecorderStatus(message, from: []) == nil)
    #expect(RecorderStatus(message, from: [Convention.playlist]) == nil)
    #expect(RecorderStatus(message, from: [Convention.recording])?.stage == .started)
    let (ana, _) = try await enter("ana")
    sendStatus(.started)
    await world.run(for: .milliseconds(500))
    #expect(ana.recorderStatus.isEmpty)
    startService()
    sendStatus(.started)
    await world.run(for: .milliseconds(500))
    #expect(ana.recorderStatus.mapValues(\.text) == [Convention.recording: "started"])
  }

  @Test func lateJoinerReceivesTheServicesLastStatus() async throws {
    startService()
    let (ana, told) = try await enter("ana")
    sendStatus(.starting)
    sendStatus(.started)
    sendStatus(.failed, to: "ana")
    await world.run(for: .milliseconds(500))
    let (ben, late) = try await enter("ben")
    #expect(told.withLock { $0 } == ["starting", "started", "failed"].map { "koine.recording \($0)" })
    #expect(late.withLock { $0 } == ["koine.recording started"])
    for session in [ana, ben] { #expect(session.recorderStatus.mapValues(\.text) == [Convention.recording: "started"]) }
    try ben.send(DataMessage(topic: Convention.recording, payload: Array("stopped".utf8)))
    await world.run(for: .milliseconds(500))
    #expect(ana.recorderStatus[Convention.recording]?.text == "started", "anybody may say anything")
    sendStatus(.stopped)
    await world.run(for: .milliseconds(500))
    let (eva, latest) = try await enter("eva")
    #expect(latest.withLock { $0 }.isEmpty)
    #expect(ana.recorderStatus.isEmpty)
    #expect(eva.recorderStatus.isEmpty)
  }

  @Test(arguments: [true, false]) func serviceStatusIsClearedByRouterRestartUnlessSentAgain(_ isSaidAgain: Bool)
    async throws
  {
    startService()
    let (ana, told) = try await enter("ana")
    sendStatus(.started)
    await world.run(for: .milliseconds(500))
    backend.restartRouter()
    let isForgotten = await world.run(until: { ana.recorderStatus.isEmpty }, limit: .seconds(60))
    #expect(isForgotten)
    if isSaidAgain { sendStatus(.started) }
    await world.run(for: .seconds(1))
    #expect(ana.recorderStatus.mapValues(\.text) == (isSaidAgain ? [Convention.recording: "started"] : [:]))
    #expect(told.withLock { $0 }.prefix(2) == ["koine.recording started", "koine.recording stopped"])
  }

  @Test func hiddenParticipantDoesNotCountTowardsTheLimit() async throws {
    backend.limitParticipants(to: 2)
    let (ana, _) = try await enter("ana")
    let (unseen, _) = try await enter("unseen", [.subscribe, .hidden])
    let (ben, _) = try await enter("ben")
    let (eva, _) = try await enter("eva")
    #expect(ana.state == .connected)
    #expect(ben.state == .connected)
    #expect(unseen.state == .connected)
    #expect(ana.participants.map(\.id) == ["ben"])
    #expect(unseen.participants.count == 2)
    #expect(eva.state.isEnded, "there is room for two")
  }
}
