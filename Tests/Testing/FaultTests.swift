import AmazonChimeSDK
import AmazonIVSBroadcast
import AzureCommunicationCalling
import KoineTesting
import Testing
import VideoSDKRTC

/// What goes wrong reaches each style's app in its vendor's words.
@MainActor
@Suite struct FaultTests {
  private func room() async throws -> TestRoom { try await TestRoom(clock: .virtual(seed: 7), media: .stamps) }

  // MARK: Stage

  private func stage(in room: TestRoom) throws -> StageApp {
    let app = StageApp()
    try room.enter(as: "Ana") { try app.join(with: room.credential(.stage, for: "Ana").token) }
    return app
  }

  @Test func aStageIsRefused() async throws {
    let room = try await room()
    room.refuse("Ana", .credential)
    let app = try stage(in: room)
    await room.until { app.states.last == .disconnected }
    #expect(!app.errors.isEmpty && !app.states.contains(.connected))
  }

  @Test func aStagesParticipantIsSentOut() async throws {
    let room = try await room()
    let app = try stage(in: room)
    await room.until { app.states.last == .connected }
    room.remove("Ana")
    await room.until { app.states.last == .disconnected }
    #expect(!app.errors.isEmpty)
  }

  @Test func aStageWithoutACamera() async throws {
    let room = try await room()
    for camera in room.machine(of: "Ana").devices(.camera) { room.machine(of: "Ana").unplug(camera.id) }
    let app = try stage(in: room)
    let bea = try await room.join("Bea")
    await room.until { bea.hears("Ana") && room.screen(app.view).names == ["Bea"] }
    #expect(!bea.sees("Ana"))
  }

  @Test func aCameraIsUnpluggedAndPluggedIn() async throws {
    let room = try await room()
    let app = try stage(in: room)
    let bea = try await room.join("Bea")
    await room.until { bea.sees("Ana") && room.screen(app.view).shows("Bea") }
    let machine = room.machine(of: "Ana")
    let cameras = machine.devices(.camera)
    for camera in cameras { machine.unplug(camera.id) }
    let unplugged = room.now
    await room.run(for: .seconds(3))
    #expect(!bea.sees("Ana", newerThan: unplugged + .milliseconds(500)))
    for camera in cameras { machine.plugIn(camera) }
    await room.until { bea.sees("Ana", newerThan: unplugged + .seconds(3)) }
  }

  @Test func aTelephoneCallInterrupts() async throws {
    let room = try await room()
    let app = try stage(in: room)
    let bea = try await room.join("Bea")
    await room.until { room.speaker.hears("Bea") && bea.hears("Ana") }
    room.machine(of: "Ana").beginInterruption()
    await room.run(for: .seconds(1))
    #expect(room.speaker.isSilent && !bea.hears("Ana"))
    room.machine(of: "Ana").endInterruption()
    await room.until { room.speaker.hears("Bea") && bea.hears("Ana") }
    app.leave()
  }

  // MARK: Meeting

  private func meeting(in room: TestRoom) throws -> MeetingApp {
    let pass = try room.credential(.meeting, for: "Ana")
    return try MeetingApp(
      createMeeting: Data(pass.createMeetingJSON.utf8), createAttendee: Data(pass.createAttendeeJSON.utf8))
  }

  @Test(arguments: [
    (EmbeddedBackend.Refusal.credential, "audioAuthenticationRejected"), (.roomFull, "audioCallAtCapacity"),
  ])
  func aMeetingIsRefused(refusal: EmbeddedBackend.Refusal, status: String) async throws {
    let room = try await room()
    room.refuse("Ana", refusal)
    let app = try meeting(in: room)
    try app.start()
    await room.until { app.log.last?.hasPrefix("stopped") == true }
    #expect(app.log.last == "stopped \(status)")
  }

  @Test func aMeetingEnds() async throws {
    let room = try await room()
    let app = try meeting(in: room)
    try app.start()
    await room.until { app.log.contains("started") }
    room.close()
    await room.until { app.log.last?.hasPrefix("stopped") == true }
    #expect(app.log.last == "stopped audioServerHungup")
  }

  @Test func aMeetingsMicrophoneIsNotAllowed() async throws {
    let room = try await room()
    room.machine(of: "Ana").setPermission(.denied, .microphone)
    let app = try meeting(in: room)
    #expect(throws: PermissionError.self) { try app.start() }
  }

  // MARK: Call

  @Test func aCallAgentIsRefused() async throws {
    let room = try await room()
    room.refuse("Ana", .credential)
    let app = CallApp()
    let token = try room.credential(.callAgent, for: "Ana").token
    await #expect(throws: (any Error).self) {
      try await room.run { try await room.enter(as: "Ana") { try await app.signIn(with: token) } }
    }
  }

  @Test func aCallsMicrophoneIsNotAllowed() async throws {
    let room = try await room()
    let app = CallApp()
    let token = try room.credential(.callAgent, for: "Ana").token
    try await room.run { try await room.enter(as: "Ana") { try await app.signIn(with: token) } }
    room.machine(of: "Ana").setPermission(.denied, .microphone)
    await #expect(throws: (any Error).self) { try await room.run { try await app.ring("8:acs:nobody") } }
  }

  // MARK: Listener

  @Test func aListenersCameraIsBusy() async throws {
    let room = try await room()
    room.occupy(.camera, of: "Ana")
    let pass = try room.credential(.listener, for: "Ana")
    let app = ListenerApp(meetingID: pass.meetingID, participantID: pass.participantID)
    let bea = try await room.join("Bea")
    app.join()
    await room.until { bea.hears("Ana") && room.screen(app.view).shows("Bea") }
    #expect(!bea.sees("Ana") && app.log.contains("joined"))
    app.leave()
    await room.until { app.log.last == "left" }
  }

  @Test func aListenerIsSentOut() async throws {
    let room = try await room()
    let pass = try room.credential(.listener, for: "Ana")
    let app = ListenerApp(meetingID: pass.meetingID, participantID: pass.participantID)
    app.join()
    await room.until { app.log.contains("joined") }
    room.remove("Ana")
    await room.until { app.log.last == "left" }
  }
}
