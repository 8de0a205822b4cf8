import AzureCommunicationCalling
import KoineTesting
import Testing

/// A call app's own tests, as its team would write them.
@MainActor
@Suite struct CallAppTests {
  private func signedIn(in room: TestRoom) async throws -> CallApp {
    let app = CallApp()
    let token = try room.credential(.callAgent, for: "Ana").token
    try await room.run { try await room.enter(as: "Ana") { try await app.signIn(with: token) } }
    return app
  }

  @Test func incomingCallIsAnswered() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), network: "delay=30ms")
    let app = try await signedIn(in: room)
    let bea = try await room.signIn("Bea")
    try await bea.ring("Ana", hasVideo: true)
    await room.until("it rings") { app.incoming != nil }
    #expect(app.incoming?.callerInfo.displayName == "Bea")
    try await room.run { try await app.answer() }
    await room.until("Ana sees Bea") { room.screen(app.view).shows("Bea") }
    await room.until("they hear each other") { room.speaker.hears("Bea") && bea.hears("Ana") }
    #expect(app.states.last == .connected)
    bea.leave()
    await room.until("the call is over") { app.states.last == .disconnected }
  }

  @Test func outgoingCallIsDeclined() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let app = try await signedIn(in: room)
    let bea = try await room.signIn("Bea")
    try await room.run { try await app.ring(bea.identity) }
    await room.until("it rings") { bea.isRung }
    try bea.decline()
    await room.until("the call is over") { app.states.last == .disconnected }
    #expect(app.states.contains(.ringing))
    #expect(!app.states.contains(.connected))
  }

  @Test func surveyAfterTheCallIsLoggedInTheRoom() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let app = try await signedIn(in: room)
    try await room.run { try await app.join(room: room.id) }
    await room.until("Ana is in the call") { app.states.last == .connected }
    let call = try #require(app.call)
    let feature = call.feature(Features.survey)
    try await room.run { try await app.hangUp() }
    let survey = try await room.run { try await feature.startSurvey() }
    (survey.overallScore.score, survey.audioScore.score) = (2, 70)
    (survey.audioScore.scale.upperBound, survey.audioScore.scale.lowScoreThreshold) = (100, 60)
    survey.audioIssues = [.lowVolume, .echo]
    survey.screenShareIssues = .freezes
    #expect(room.surveys.isEmpty, "it is not submitted")
    let results = Lock<[CallSurveyResult?]>([])
    for _ in 1...2 { feature.submit(survey: survey) { result, _ in results.withLock { $0.append(result) } } }
    await room.run(for: .milliseconds(50))
    #expect(results.withLock { $0.map { $0 == nil } } == [false, true], "a survey can be submitted once")
    let result = try #require(results.withLock { $0.first ?? nil })
    survey.overallScore.score = 5
    let logged = try #require(room.surveys.first)
    #expect(room.surveys.count == 1)
    #expect(logged.surveyID == result.surveyId)
    #expect(logged.callID == call.id)
    #expect(logged.anonymizedParticipantID == result.anonymizedParticipantId)
    #expect(logged.ratings[.overall] == .init(score: 2, scale: 1...5, lowScoreThreshold: 3), "as submitted")
    #expect(logged.ratings[.audio] == .init(score: 70, scale: 1...100, lowScoreThreshold: 60))
    #expect(logged.ratings.count == 2, "the rest is not rated")
    #expect(logged.issues == [.audio: ["echo", "lowVolume"], .screenShare: ["freezes"]])
  }

  @Test func outgoingCallIsAnsweredAndHungUp() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let app = try await signedIn(in: room)
    let bea = try await room.signIn("Bea")
    try await room.run { try await app.ring(bea.identity) }
    await room.until("it rings") { bea.isRung }
    try await bea.answer()
    await room.until { room.screen(app.view).shows("Bea") && bea.sees("Ana") }
    try await room.run { try await app.hangUp() }
    #expect(app.states.last == .disconnected)
    await room.until { bea.others.isEmpty }
  }
}
