import AzureCommunicationCalling
import Foundation
import KoineTesting
import Testing

/// `startVideo` of a camera that cannot start fails, with a preview and without.
@MainActor @Suite struct CameraStartTests {
  @Test(arguments: [false, true]) func startVideoThrowsForACameraThatCannotStart(isBusy: Bool) async throws {
    let room = try await TestRoom()
    let bea = try await room.join("Bea")
    let credential = try room.credential(.callAgent, for: "Ana")
    let (call, stream) = try await room.run {
      try await room.enter(as: "Ana") {
        let client = CallClient()
        let agent = try await client.createCallAgent(
          userCredential: CommunicationTokenCredential(token: credential.token), options: CallAgentOptions())
        let manager = try await client.getDeviceManager()
        let call = try await agent.join(with: RoomCallLocator(roomId: credential.roomID), joinCallOptions: nil)
        let camera = try #require(manager.cameras.first)
        return (Kept(call, agent, client), Kept(LocalVideoStream(camera: camera), agent, client))
      }
    }
    await room.until("Ana is in the call") { call.value.state == .connected && bea.others.count == 1 }
    if isBusy { room.occupy(.camera, of: "Ana") } else { room.machine(of: "Ana").setPermission(.denied, .camera) }
    let refused = await #expect(throws: (any Error).self) {
      try await room.run { try await call.value.startVideo(stream: stream.value) }
    }
    #expect((refused as? NSError)?.code == CallingCommunicationErrors.noVideoPermission.rawValue)
    #expect(stream.value.state == .available)
    #expect(call.value.outgoingVideoStreams.isEmpty)

    if isBusy { room.release(.camera, of: "Ana") } else { room.machine(of: "Ana").setPermission(.granted, .camera) }
    try await room.run { try await call.value.startVideo(stream: stream.value) }
    #expect(stream.value.state == .started)
    #expect(call.value.outgoingVideoStreams.count == 1)
    await room.until("Bea sees Ana") { bea.sees("Ana") }

    // Stopped while it starts: both handlers are called, and the stop wins.
    try await room.run { try await call.value.stopVideo(stream: stream.value) }
    let answers = Lock(0)
    call.value.startVideo(stream: stream.value) { _ in answers.withLock { $0 += 1 } }
    call.value.stopVideo(stream: stream.value) { _ in answers.withLock { $0 += 1 } }
    await room.run(for: .seconds(1))
    #expect(answers.withLock { $0 } == 2)
    #expect(stream.value.state == .stopped)
    #expect(call.value.outgoingVideoStreams.isEmpty)
    #expect(!bea.sees("Ana"))
  }
}

/// A meeting app's camera that another program has.
@MainActor @Suite struct BusyMeetingCameraTests {
  @Test func busyCameraOfAMeetingIsNotAnnounced() async throws {
    let room = try await TestRoom()
    let bea = try await room.join("Bea")
    let pass = try room.credential(.meetingSession, for: "Ana")
    let app = try MeetingApp(
      createMeeting: Data(pass.createMeetingJSON.utf8), createAttendee: Data(pass.createAttendeeJSON.utf8))
    try room.enter(as: "Ana") { try app.session.audioVideo.start() }
    await room.until("Ana is in the meeting") { bea.hears("Ana") }
    var announced: Bool { bea.participant("Ana")?.tracks.contains { $0.kind == .camera } == true }
    room.occupy(.camera, of: "Ana")
    try app.session.audioVideo.startLocalVideo()
    await room.run(for: .seconds(1))
    #expect(!announced)

    room.release(.camera, of: "Ana")
    try app.session.audioVideo.startLocalVideo()
    await room.until("Bea sees Ana") { bea.sees("Ana") }
    #expect(announced)

    // A camera that becomes busy once it runs goes on; started anew, it is withdrawn.
    room.occupy(.camera, of: "Ana")
    try app.session.audioVideo.startLocalVideo()
    await room.run(for: .seconds(1))
    #expect(bea.sees("Ana"))
    app.session.audioVideo.stopLocalVideo()
    try app.session.audioVideo.startLocalVideo()
    await room.run(for: .seconds(1))
    #expect(!announced)
  }
}

/// The SDK's objects, which the test's one thread uses.
private struct Kept<Value>: @unchecked Sendable {
  let value: Value
  private let owners: [AnyObject]
  init(_ value: Value, _ owners: AnyObject...) { (self.value, self.owners) = (value, owners) }
}
