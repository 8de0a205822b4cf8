import AmazonChimeSDK
import Koine
import KoineTesting
import Testing

/// Recovery after one participant's network was lost, and how soon.
@MainActor @Suite struct OutageTests {
  @Test(arguments: [3, 8, 12, 20, 25], [TestRoom.Media.stamps, .real])
  func videoReturnsWithinTwoSecondsOfTheNetwork(_ seconds: Int, _ media: TestRoom.Media) async throws {
    let room = try await TestRoom(clock: .virtual(seed: 1), media: media)
    let (bea, cleo) = (try await room.join("Bea"), try await room.join("Cleo"))
    await room.run(for: .seconds(3))
    room.cutNetwork(of: "Cleo", for: .seconds(seconds))
    await room.run(for: .seconds(seconds))
    let back = room.now
    await room.until("Bea sees Cleo", within: .seconds(2)) { bea.sees("Cleo", newerThan: back) }
    await room.until("Cleo sees Bea", within: .seconds(2)) { cleo.sees("Bea", newerThan: back) }
    await room.until("they hear each other", within: .seconds(2)) { bea.hears("Cleo") && cleo.hears("Bea") }
  }

  /// A network cut is one interruption: a participant that has reconnected stays connected.
  @Test(arguments: [23_000, 24_000, 25_000, 26_000, 29_000, 29_900, 30_000, 30_100, 31_000, 35_000])
  func networkCutIsReportedOnce(_ milliseconds: Int) async throws {
    let room = try await TestRoom(clock: .virtual(seed: 1))
    try await room.join("Bea")
    let credential = try room.credential(.eventListener, for: "Ana")
    let session = Session(
      JoinRequest(room: room.id, credential: credential.token, participantID: "ana", name: "Ana"),
      in: room.world(of: "Ana"))
    let states = Lock<[String]>([])
    let observation = session.observe { event in
      if case .stateChanged(let state) = event { states.withLock { $0.append("\(state)") } }
    }
    session.join { _ in }
    await room.run(for: .seconds(3))
    states.withLock { $0 = [] }
    room.cutNetwork(of: "Ana", for: .milliseconds(milliseconds))
    await room.run(for: .milliseconds(milliseconds + 60_000))
    #expect(states.withLock { $0 } == ["reconnecting", "connected"])
    observation.cancel()
  }

  @Test func networkCutEndsWhenTheNetworkIsRestored() async throws {
    let room = try await TestRoom()
    let (bea, cleo) = (try await room.join("Bea"), try await room.join("Cleo"))
    room.cutNetwork(of: "Cleo", for: .seconds(3_600))
    await room.run(for: .seconds(2))
    #expect(!cleo.sees("Bea"))
    #expect(!bea.sees("Cleo"))
    room.restoreNetwork(of: "Cleo")
    await room.until("they see each other again", within: .seconds(2)) { bea.sees("Cleo") && cleo.sees("Bea") }
  }

  @Test func sharedScreenIsFoundByItsOwnersName() async throws {
    let room = try await TestRoom()
    let (bea, cleo) = (try await room.join("Bea"), try await room.join("Cleo"))
    await room.run(for: .seconds(1))
    #expect(!cleo.seesScreen(of: "Bea"))
    try bea.share(.device("pattern:320x180@5"))
    await room.until("Cleo sees Bea's screen") { cleo.seesScreen(of: "Bea") && !bea.seesScreen(of: "Cleo") }
    bea.stopSharing()
    await room.until("no more") { !cleo.seesScreen(of: "Bea") }
  }

  @Test(arguments: [1, 3, 8], [TestRoom.Media.stamps, .real])
  func poorConnectionIsReportedAsRecovered(_ seconds: Int, _ media: TestRoom.Media) async throws {
    let room = try await TestRoom(clock: .virtual(seed: 1), media: media)
    try await room.join("Bea")
    let pass = try room.credential(.meetingSession, for: "Ana")
    let app = try room.enter(as: "Ana") {
      try MeetingApp(
        createMeeting: Data(pass.createMeetingJSON.utf8), createAttendee: Data(pass.createAttendeeJSON.utf8))
    }
    try app.start()
    await room.run(for: .seconds(3))
    room.cutNetwork(of: "Ana", for: .seconds(seconds))
    await room.run(for: .seconds(seconds + 10))
    #expect(media == .real && seconds == 8 || app.log.contains("poor"), "\(app.log)")
    #expect(app.log.filter { $0 == "recovered" }.count == app.log.filter { $0 == "poor" }.count, "\(app.log)")
  }
}
