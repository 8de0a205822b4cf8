import Dispatch
import Foundation
import Koine
import KoineServer
import KoineServerBackend
import KoineTokens
import Logging
import Testing
import VideoSDKRTC

/// Live text in rooms of a server over real sockets, by a transcript service that the server's program makes.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ServedTranscriptTests {
  @Test func serversTranscriberGetsAudioAndItsTextReachesParticipants() async throws {
    let key = try SigningKey(secret: Array("a secret of thirty-two characters".utf8))
    let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
    var configuration = ServerConfiguration(port: 0, access: .keys([try key.verificationKey]), logger: silent)
    let made = Lock<TranscriptionService?>(nil)
    configuration.attendant = TranscriptionService.roomService { message in made.withLock { $0 }?.handle(message) }
    let server = try await Server.start(configuration)
    let port = try #require(server.insidePort)
    let inside = try #require(ServerAddress("ws://127.0.0.1:\(port)"))
    let world = World(
      backend: ServerBackend(inside), delivery: Delivery(queue: DispatchQueue(label: "transcripts")),
      devices: DefaultDevices())
    let service = TranscriptionService(
      SyllableCounter(), world: { world }, credential: { try server.pass(for: $0, name: "transcriber") },
      say: { server.send($0) })
    made.withLock { $0 = service }

    let environment = TestEnvironment(ServerBackend(try #require(ServerAddress("ws://127.0.0.1:\(server.port)"))))
    let now = NumericDate.ofSystemClock()
    let token = try VideoSDKToken(apiKey: "key", permissions: [.join], issued: now, expires: now + 3_600).signed(
      with: key)
    let (ana, recorder) = environment.meeting("Ana", id: "ana", camera: false, token: token)
    let texts = TextStream(recorder)
    ana.addEventListener(texts)
    ana.join()
    #expect(await texts.next { $0 == "in" } != nil)
    ana.startTranscription()
    #expect(await texts.next { $0 == "TRANSCRIPTION_STARTED" } != nil)
    #expect(await texts.next { $0.hasPrefix("ana Ana interim a second of sound") } != nil)
    ana.stopTranscription()
    #expect(await texts.next { $0.hasPrefix("ana Ana final") } != nil)
    #expect(await texts.next { $0 == "TRANSCRIPTION_STOPPED" } != nil)
    ana.leave()
    await service.close()
    await server.stop()
  }
}

/// Recognises that there is sound: a result for each second of audio that is not silent.
private struct SyllableCounter: Transcriber {
  let languages = ["en-US"]

  private final class Counting: TranscriberSession, Sendable {
    private let results: @Sendable (TranscriberResult) -> Void
    private let state = Lock((blocks: 0, start: Tick?.none, end: Tick.zero))

    init(_ results: @escaping @Sendable (TranscriberResult) -> Void) { self.results = results }

    func receiveAudio(_ block: AudioBlock) {
      guard block.samples.contains(where: { abs(Int($0)) > 500 }) else { return }
      let isWhole = state.withLock { state in
        state.blocks += 1
        (state.start, state.end) = (state.start ?? block.captured, block.captured + AudioBlock.duration)
        return state.blocks % 100 == 0
      }
      if isWhole { send(isFinal: false) }
    }

    func finish() { send(isFinal: true) }

    private func send(isFinal: Bool) {
      let (_, start, end) = state.withLock { $0 }
      results(
        TranscriberResult(
          utterance: 1, text: "a second of sound", isFinal: isFinal, start: start ?? end, end: end))
    }
  }

  func start(_ request: TranscriberRequest, results: @escaping @Sendable (TranscriberResult) -> Void) throws
    -> any TranscriberSession
  {
    Counting(results)
  }
}

/// What a meeting is told, one line each.
private final class TextStream: MeetingEventListener, Sendable {
  private let lines = AsyncStream<String>.makeStream()
  private let recorder: Recorder

  /// - Parameter recorder: kept, because a meeting holds its listeners weakly.
  init(_ recorder: Recorder) { self.recorder = recorder }

  /// Waits for a line; the time limit of the test is the limit.
  func next(_ isWanted: (String) -> Bool) async -> String? {
    for await line in lines.stream where isWanted(line) { return line }
    return nil
  }

  func onMeetingJoined() { lines.continuation.yield("in") }
  func onTranscriptionStateChanged(state: TranscriptionState) { lines.continuation.yield(state.rawValue) }
  func onTranscriptionText(_ data: TranscriptionText) {
    lines.continuation.yield("\(data.participantId) \(data.participantName) \(data.type) \(data.text)")
  }
}
