import KoineTesting
import Testing
import VideoSDKRTC

/// Effects of faults on a listener app: `onError` with the vendor's codes, meeting states, and leave reasons.
@MainActor
@Suite struct ListenerFaultTests {
  @Test(arguments: Fault.allCases) func listenerAppIsNotifiedOfEachFault(fault: Fault) async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let machine = room.machine(of: "Ana")
    let bea = try await room.join("Bea")
    let pass = try room.credential(.eventListener, for: "Ana")
    let app = ListenerApp(meetingID: pass.meetingID, participantID: pass.participantID)
    try fault.beforeEntering(room)
    app.join()
    guard fault.letsIn else {
      await room.until("\(fault) is told") { app.meetingStates.last == .CLOSED }
      let error: VideoSDKError =
        switch fault {
        case .credentialRefused: .INVALID_TOKEN
        case .permissionRefused: .INVALID_PERMISSIONS
        case .roomFull: .MAX_PARTCIPANT_REACHED
        default: .UNKNOWN_ERROR
        }
      #expect(app.errors == [error] && app.log.isEmpty && app.leaveReasons.isEmpty, "never joined, so never left")
      return
    }
    await room.meet(on: app.view, bea, fault) { app.log.contains("joined") }
    let notices = Notices(of: machine)
    try fault.afterEntering(room)
    let since = room.now

    switch fault {
    case .credentialRefused, .permissionRefused, .serverFails, .roomFull: break  // told above
    case .sentOut, .roomClosed, .networkLost:
      await room.until("the meeting is left", within: .seconds(300)) { app.log.last == "left" }
      await room.until { app.meetingStates.last == .CLOSED }
      let reasons = [
        Fault.sentOut: LeaveReason.removePeer, .roomClosed: .roomClose,
        .networkLost: .websocketConnectionAttemptsExhausted,
      ]
      #expect(app.leaveReasons == [reasons[fault]])
      #expect(app.socketErrors.isEmpty == (fault != .networkLost))
      #expect(app.errors.isEmpty)
    case .serverRestart:
      await room.expectVideoAgain(on: app.view, and: bea)
      #expect(app.meetingStates == [.CONNECTING, .CONNECTED, .RECONNECTING, .CONNECTED])
      #expect(app.errors.isEmpty)
    case .throttle:
      await room.run(for: .seconds(10))
      #expect(app.meetingStates.last == .CONNECTED, "this edition of the vendor's client has no callback for it")
    case .networkChange:
      await room.expectVideoAgain(on: app.view, and: bea)
      #expect(app.errors.isEmpty)
      #expect(app.meetingStates.last == .CONNECTED)
    case .cameraUnplugged:
      await room.run(for: .seconds(3))
      #expect(!bea.sees("Ana", newerThan: since + .milliseconds(500)))
      #expect(bea.hears("Ana"))
      #expect(room.enter(as: "Ana") { VideoSDK.getCameras() }.isEmpty)
    case .cameraBusy, .noCamera:
      await room.until("it is told") { app.errors == [.ERROR_GET_VIDEO_MEDIA] }
      await room.until("the rest goes on") { bea.hears("Ana") && !bea.sees("Ana") }
    case .cameraDenied, .keysMissing:
      await room.until("it is told") { app.errors == [.ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED] }
      #expect(room.enter(as: "Ana") { VideoSDK.getVideoPermissionStatus() } == .denied)
      #expect(machine.missingKeys == (fault == .keysMissing ? ["NSCameraUsageDescription"] : []))
      await room.until("the rest goes on") { bea.hears("Ana") && !bea.sees("Ana") }
    case .microphoneDenied:
      await room.until("it is told") { app.errors == [.ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED] }
      #expect(bea.sees("Ana"))
      #expect(!bea.hears("Ana"))
    case .interruption:
      await room.endInterruption(of: machine, before: bea, notices)
      #expect(app.errors.isEmpty)
    case .routeChange:
      await room.until("the microphone is another") { app.microphones == ["Headset"] }
      #expect(notices.all == ["RouteChange"])
    case .background:
      await room.run(for: .seconds(3))
      #expect(!bea.sees("Ana", newerThan: since + .milliseconds(500)))
      #expect(bea.hears("Ana"))
      machine.returnToForeground()
      await room.until("pictures are back") { bea.sees("Ana", newerThan: since + .seconds(3)) }
      #expect(notices.all.count == 4)
      #expect(app.errors.isEmpty)
    }
  }
}
