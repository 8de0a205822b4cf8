import AmazonIVSBroadcast
import Foundation
import Koine
import Testing

/// Token exchange (catalogue 10.3).
@Suite struct TokenExchangeTests {
  private let environment = TestEnvironment()

  private func code(_ body: () throws -> Void) -> Int? {
    do { try body() } catch { return (error as NSError).code }
    return nil
  }

  @Test func changedMetadataAreReportedToOthers() async throws {
    let ana = try environment.app("Ana", id: "ana", attributes: ["role": "guest"])
    let ben = try environment.app("Ben")
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    let updates = MetadataRecorder()
    ben.stage.addRenderer(updates)
    for app in [ana, ben] { app.forget() }
    try ana.stage.exchangeToken(try makeToken(id: "ana", userID: "Anna", attributes: ["role": "host"]))
    await environment.run()
    #expect(updates.lines == ["Ana host"])
    #expect(ben.people["Ana"]?.attributes == ["role": "host"])
    #expect(ana.people["me"]?.userId == "Anna")
    #expect(ana.told.isEmpty, "media go on")
    #expect(ben.told.isEmpty)
    #expect(ana.errors.isEmpty)
    let cleo = try environment.app("Cleo")
    try cleo.stage.join()
    await environment.run()
    #expect(cleo.people["Anna"]?.attributes == ["role": "host"], "a later participant sees the new values")
    ana.stage.leave()
  }

  private final class MetadataRecorder: NSObject, IVSStageRenderer, @unchecked Sendable {  // delivery queue
    private(set) var lines: [String] = []
    func stage(_ stage: IVSStage, participantMetadataDidUpdate participant: IVSParticipantInfo) {
      lines.append("\(participant.userId) \(participant.attributes["role"] ?? "")")
    }
  }

  /// A gained permission asks the strategy at once, a lost one does not ask.
  @Test func publishPermissionIsGainedAndLost() async throws {
    let ana = try environment.app("Ana", id: "ana", publish: false)
    let ben = try environment.app("Ben")
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    #expect(!ana.lines.contains("publish me?"))
    ana.forget()
    try ana.stage.exchangeToken(try makeToken(id: "ana", userID: "Ana"))
    await environment.run()
    #expect(ana.lines.contains("publish me?"))
    #expect(ana.told == ["me joined", "me attemptingPublish", "me published", "me +audio+video"])
    #expect(ben.told.last == "Ana +audio+video")
    #expect(ana.people["me"]?.capabilities == .publish)
    for app in [ana, ben] { app.forget() }
    try ana.stage.exchangeToken(try makeToken(id: "ana", userID: "Ana", publish: false))
    await environment.run()
    #expect(ana.lines == ["me notPublished", "me -audio+video", "me left"])
    #expect(ben.told.last == "Ana left")
    #expect(ana.people["me"]?.capabilities == [])
    ana.stage.leave()
  }

  @Test func subscribePermissionIsLostAndGained() async throws {
    let ana = try environment.app("Ana", id: "ana", streams: 0)
    let ben = try environment.app("Ben")
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    ana.forget()
    try ana.stage.exchangeToken(try makeToken(id: "ana", userID: "Ana", subscribe: false))
    await environment.run()
    #expect(ana.lines == ["Ben -audio+video", "Ben notSubscribed"])
    #expect(ana.people["Ben"]?.capabilities == [])
    ana.forget()
    try ana.stage.exchangeToken(try makeToken(id: "ana", userID: "Ana"))
    await environment.run()
    #expect(ana.told == ["Ben attemptingSubscribe", "Ben subscribed", "Ben +audio+video"])
    #expect(ana.people["Ben"]?.capabilities == .subscribe)
    ana.stage.leave()
  }

  @Test func tokenOfAnotherParticipantIsRefused() async throws {
    let ana = try environment.app("Ana", id: "ana")
    try ana.stage.join()
    await environment.run()
    ana.forget()
    #expect(code { try ana.stage.exchangeToken("x") } == 1000)
    #expect(code { try ana.stage.exchangeToken(try makeToken(id: "ana", lasting: -1)) } == 1001)
    #expect(code { try ana.stage.exchangeToken(try makeToken(id: "ben")) } == 1026)
    #expect(code { try ana.stage.exchangeToken(try makeToken(stage: "coffee", id: "ana")) } == 1026)
    await environment.run()
    #expect(ana.lines.isEmpty)
    #expect(ana.people["me"]?.userId == "Ana")
    ana.stage.leave()
  }

  @Test func tokenExchangedBeforeJoiningIsJoinedWith() async throws {
    let ana = try environment.app("Ana", id: "ana")
    let ben = try environment.app("Ben")
    try ana.stage.exchangeToken(try makeToken(id: "ana", userID: "Anna"))
    for app in [ben, ana] { try app.stage.join() }
    await environment.run()
    #expect(ben.people["Anna"] != nil)
    ana.stage.leave()
  }
}
