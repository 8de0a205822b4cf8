import AmazonChimeSDK
import CallKit
import Foundation
import KoineAVFoundation
import KoineTesting
import Testing

/// Amazon Chime's flag `callKitEnabled`.
@MainActor
@Suite struct ChimeTests {
  private let room: TestRoom
  private let bea: Person
  private let session: AVAudioSession

  init() async throws {
    room = try await TestRoom(clock: .virtual(seed: 7))
    bea = try await room.join("Bea")
    session = room.enter(as: "Ana") { AVAudioSession.sharedInstance() }
    try session.setCategory(.playAndRecord)
  }

  private func start(callKitEnabled: Bool) throws -> any AudioVideoFacade {
    let pass = try room.credential(.meetingSession, for: "Ana")
    let configuration = MeetingSessionConfiguration(
      createMeetingResponse: try JSONDecoder().decode(
        CreateMeetingResponse.self, from: Data(pass.createMeetingJSON.utf8)),
      createAttendeeResponse: try JSONDecoder().decode(
        CreateAttendeeResponse.self, from: Data(pass.createAttendeeJSON.utf8)))
    let facade = DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: "test")).audioVideo
    try facade.start(callKitEnabled: callKitEnabled)
    return facade
  }

  @Test func sdkResumesAfterAnInterruptionWithoutCallKit() async throws {
    let facade = try start(callKitEnabled: false)
    await room.until("Ana is heard") { bea.hears("Ana") }
    room.machine(of: "Ana").beginInterruption()
    await room.until("Ana is silent") { !bea.hears("Ana") }
    room.machine(of: "Ana").endInterruption()
    await room.until("Ana is heard again") { bea.hears("Ana") }
    room.machine(of: "Ana").beginInterruption()
    await room.until("Ana is silent") { !bea.hears("Ana") }
    room.machine(of: "Ana").endInterruption(mayResume: false)
    await room.run(for: .seconds(1))
    #expect(!bea.hears("Ana"), "the app has to wait for its user")
    facade.stop()
  }

  @Test func callKitActivatesTheSessionOfACallThatIsReportedToIt() async throws {
    let phone = room.machine(of: "Ana").phone
    let app = room.enter(as: "Ana") { PhoneApp() }
    let facade = try start(callKitEnabled: true)
    await room.run(for: .seconds(1))
    #expect(!bea.hears("Ana"), "nothing has activated the session")
    let id = UUID()
    app.ring(id)
    phone.answer()
    await room.until("Ana is heard") { bea.hears("Ana") }
    #expect(app.log == ["rings", "answer", "activated"])
    phone.setOnHold(true)
    await room.until("Ana is silent") { !bea.hears("Ana") }
    phone.setOnHold(false)
    await room.until("Ana is heard again") { bea.hears("Ana") }
    room.machine(of: "Ana").beginInterruption()
    room.machine(of: "Ana").endInterruption()
    await room.run(for: .seconds(1))
    #expect(!bea.hears("Ana"), "the SDK leaves the session alone")
    facade.stop()
  }
}
