import Foundation
import Koine
import KoineTestingAPIs
import KoineTokens
import KoineVendorAPIs
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Ports, and the time in which they are used.
@MainActor @Suite struct OutsideTests {
  /// What a back end has seen of the room's time.
  private final class Times: Sendable {
    let seen = Lock<[Tick]>([])
    var count: Int { seen.withLock { $0.count } }
  }

  @Test func timeStandsStillWhileARequestIsOpen() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let (ana, bea) = (try await room.join("Ana"), try await room.join("Bea"))
    let times = Times()
    let url = try room.backEnd { [unowned room] request in
      for _ in 0..<2 {
        times.seen.withLock { $0.append(room.now) }
        // A back end that takes its time. Without the hold, the room's time would move by many seconds.
        try await Task.sleep(for: .milliseconds(200))
      }
      return .json("{}")
    }
    let isAnswered = Lock(false)
    URLSession.shared.dataTask(with: url) { _, _, _ in isAnswered.withLock { $0 = true } }.resume()
    let begin = room.now
    await room.until("the answer comes", within: .seconds(600)) { isAnswered.withLock { $0 } }
    let seen = times.seen.withLock { $0 }
    #expect(seen.count == 2)
    #expect(seen.first == seen.last)
    #expect(seen.first.map { $0 >= begin } == true)
    await room.run(for: .seconds(1))
    #expect(room.now > seen[0])
    #expect(ana.sees("Bea") && bea.sees("Ana"))
  }

  @Test func timeStandsStillOutside() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let called = Lock(0)
    try await room.join("Bea")
    let ticks = Task { @MainActor in
      for _ in 0..<5 {
        try await room.clock.sleep(for: .milliseconds(10))
        called.withLock { $0 += 1 }
      }
    }
    let begin = room.now
    let driver = Task { @MainActor in await room.run(for: .seconds(1)) }
    let (first, last) = try await room.outside {
      let first = room.now
      try await Task.sleep(for: .milliseconds(200))
      return (first, room.now)
    }
    #expect(first == last)
    await driver.value
    #expect(room.now >= begin + .seconds(1))
    await room.until("time moves again") { called.withLock { $0 } == 5 }
    try await ticks.value
  }

  @Test func outsideInRealTimeOnlyRunsItsBody() async throws {
    let room = try await TestRoom(clock: .real)
    let begin = room.now
    let value = try await room.outside {
      try await Task.sleep(for: .milliseconds(20))
      return 7
    }
    #expect(value == 7)
    #expect(room.now >= begin + .milliseconds(20))
    await #expect(throws: CancellationError.self) { try await room.outside { throw CancellationError() } }
  }

  @Test func errorOfABackEndIsItsAnswer() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let url = try room.backEnd { [unowned room] _ in
      let answer = try await room.api(.chime).send(.get("/meetings/none"))
      return .json(try answer.json("Meeting"))
    }
    do {
      _ = try await room.outside { try await BackEnd.load(url) }
      Issue.record("the back end has answered")
    } catch let failure as BackEnd.Failure {
      #expect(failure.status == 500)
      #expect(failure.text.contains("the answer 400 has no value “Meeting”"))
    }
  }

  @Test(arguments: TestRoom.clocks) func servedAPIAnswersSignedRequestsOnly(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let served = try await room.api(.videoSDK).serve()
    #expect(served.url.absoluteString.hasSuffix("/v2"))
    #expect(served.environment["VIDEOSDK_API_ENDPOINT"] == served.url.absoluteString)
    #expect(served.environment["VIDEOSDK_SECRET_KEY"] == served.secret)
    let rooms = served.url.appendingPathComponent("rooms")
    // As a back end signs its token.
    let now = NumericDate.ofSystemClock()
    let token = try VideoSDKToken(apiKey: try #require(served.keyID), issued: now, expires: now + 60)
      .signed(with: SigningKey(secret: Array(served.secret.utf8)))
    struct Made: Decodable { let roomId: String }
    let data = try await room.outside {
      try await BackEnd.load(rooms, method: "POST", headers: ["Authorization": token], body: "{}")
    }
    let made = try JSONDecoder().decode(Made.self, from: data)
    // The port and `send` have one registry.
    #expect(try await room.api(.videoSDK).send(.get("/v2/rooms/\(made.roomId)")).status == 200)
    for wrong in [[:], ["Authorization": "nonsense"]] {
      await #expect(throws: BackEnd.Failure.self) {
        try await room.outside { try await BackEnd.load(rooms, method: "POST", headers: wrong, body: "{}") }
      }
    }
    let chime = try await room.api(.chime).serve()
    #expect(chime.environment["AWS_ENDPOINT_URL_CHIME_SDK_MEETINGS"] == chime.url.absoluteString)
    #expect(chime.url.port == served.url.port)
    // As an SDK of AWS signs, by the real time.
    let port = try #require(chime.url.port)
    let target = "/meetings/00000000-0000-4000-8000-000000000000"
    var request = APIRequest(method: "GET", target: target, headers: [("Host", "127.0.0.1:\(port)")])
    AWSSigner(accessKey: try #require(chime.keyID), secret: chime.secret, service: "chime")
      .sign(&request, at: APITime(milliseconds: Int64(NumericDate.ofSystemClock().seconds * 1_000)))
    let signed = Dictionary(
      uniqueKeysWithValues: request.headers.filter { $0.name != "Host" }.map { ($0.name, $0.value) })
    let address = try #require(URL(string: chime.url.absoluteString + target))
    for (headers, status) in [(signed, 404), ([:], 403)] {
      do {
        _ = try await room.outside { try await BackEnd.load(address, headers: headers) }
        Issue.record("there is no such meeting")
      } catch let failure as BackEnd.Failure { #expect(failure.status == status, "\(failure.text)") }
    }
    #expect(Set(chime.environment.keys).isSuperset(of: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"]))
    #expect(try await room.api(.azure).serve().environment["AZURE_COMMUNICATION_KEY"]?.isEmpty == false)
  }

  @Test(.timeLimit(.minutes(1)), arguments: TestRoom.clocks) func portsCloseWithTheRoom(clock: TestRoom.Time)
    async throws
  {
    weak var ended: TestRoom?
    func open() async throws -> [URL] {
      let room = try await TestRoom(clock: clock)
      ended = room
      let url = try room.backEnd { [unowned room] _ in .json(#"{"room":"\#(room.id)"}"#) }
      let served = try await room.api(.chime).serve().url
      _ = try await room.outside { try await BackEnd.load(url) }
      return [url, served]
    }
    let urls = try await open()
    await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
    #expect(ended == nil)
    for url in urls { try await expectClosed(url) }
  }

  /// A request may still be read on a connection that is being closed; then it is refused.
  private func expectClosed(_ url: URL) async throws {
    while true {
      do {
        _ = try await BackEnd.load(url)
        Issue.record("a room that has ended has answered")
        return
      } catch let failure as BackEnd.Failure { #expect(failure.status == 503, "\(failure.text)") } catch is URLError {
        return
      }
    }
  }

  @Test(.timeLimit(.minutes(1))) func roomLivesUntilItsBackEndHasAnswered() async throws {
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let (allowed, allow) = AsyncStream.makeStream(of: Void.self)
    weak var ended: TestRoom?
    func ask() async throws -> (id: String, answer: Task<Data, any Error>) {
      let room = try await TestRoom(clock: .real)
      ended = room
      let url = try room.backEnd { [unowned room] _ in
        begin.finish()
        for await _ in allowed {}
        return .json(#"{"room":"\#(room.id)"}"#)
      }
      let answer = Task { try await BackEnd.load(url) }
      for await _ in begun {}
      return (room.id, answer)
    }
    let asked = try await ask()
    #expect(ended != nil)
    allow.finish()
    // The port closes once the room has gone, maybe before the answer is written.
    if let data = try? await asked.answer.value {
      #expect(String(decoding: data, as: UTF8.self).contains(asked.id))
    }
    while ended != nil { await Task.yield() }
  }
}
