import AmazonChimeSDK
import Foundation
import KoineTesting
import Testing

/// The notifications that a meeting app gets of faults: errors that `start` throws, audio session statuses, capture errors.
@MainActor
@Suite struct MeetingFaultTests {
  @Test(arguments: Fault.allCases) func meetingAppIsNotifiedOfEachFault(fault: Fault) async throws {
    // The few packets of stamped media do not show how good a path is, so `throttle` needs real media
    let room = try await TestRoom(clock: .virtual(seed: 7), media: fault == .throttle ? .real : .stamps)
    let machine = room.machine(of: "Ana")
    let bea = try await room.join("Bea")
    let pass = try room.credential(.meetingSession, for: "Ana")
    let app = try MeetingApp(
      createMeeting: Data(pass.createMeetingJSON.utf8), createAttendee: Data(pass.createAttendeeJSON.utf8))
    try fault.beforeEntering(room)
    if fault == .cameraDenied || fault == .keysMissing || fault == .microphoneDenied {
      let missing: PermissionError = fault == .microphoneDenied ? .audioPermissionError : .videoPermissionError
      #expect(throws: missing) { try app.start() }
      #expect(machine.missingKeys == (fault == .keysMissing ? ["NSCameraUsageDescription"] : []))
      return
    }
    try app.start()
    guard fault.letsIn else {
      await room.until("\(fault) is told") { app.log.last?.hasPrefix("stopped") == true }
      let status =
        switch fault {
        case .roomFull: "audioCallAtCapacity"
        case .serverFails: "audioInternalServerError"
        default: "audioAuthenticationRejected"
        }
      #expect(app.log == ["connecting", "stopped \(status)"])
      return
    }
    await room.meet(on: app.view, bea, fault) { app.log.contains("started") }
    let notices = Notices(of: machine)
    try fault.afterEntering(room)
    let since = room.now

    switch fault {
    case .credentialRefused, .permissionRefused, .serverFails, .roomFull: break  // told above
    case .cameraDenied, .microphoneDenied, .keysMissing: break
    case .sentOut, .roomClosed:
      await room.until("the meeting has stopped") { app.log.last == "stopped audioServerHungup" }
    case .networkLost:
      await room.until("the meeting has stopped", within: .seconds(300)) { app.log.last?.hasPrefix("stopped") == true }
      #expect(
        app.log.suffix(4) == ["dropped", "reconnecting", "gave up reconnecting", "stopped audioDisconnected"])
    case .serverRestart:
      await room.expectVideoAgain(on: app.view, and: bea)
      #expect(app.log.suffix(3) == ["dropped", "reconnecting", "restarted"])
    case .throttle:
      await room.until("the connection is poor", within: .seconds(60)) { app.log.contains("poor") }
      try room.setNetwork("delay=1ms", of: "Ana")
      await room.until("it has recovered", within: .seconds(60)) { app.log.contains("recovered") }
      #expect(!app.log.contains { $0.hasPrefix("stopped") }, "\(app.log)")
    case .networkChange:
      await room.expectVideoAgain(on: app.view, and: bea)
      #expect(!app.log.contains { $0.hasPrefix("stopped") })
    case .cameraUnplugged:
      await room.run(for: .seconds(3))
      #expect(!bea.sees("Ana", newerThan: since + .milliseconds(500)))
      #expect(bea.hears("Ana"))
    case .cameraBusy, .noCamera:
      await room.until("the rest goes on") { bea.hears("Ana") && !bea.sees("Ana") }
      room.enter(as: "Ana") { app.startCamera() }
      await room.until("the capture's error is told") {
        app.captureErrors == [fault == .cameraBusy ? "systemFailure" : "configurationFailure"]
      }
    case .interruption:
      await room.endInterruption(of: machine, before: bea, notices)
      #expect(!app.log.contains { $0.hasPrefix("stopped") })
    case .routeChange:
      await room.until("the list of devices is another") { app.log.last?.hasPrefix("devices") == true }
      #expect(app.log.last?.contains("Headset") == true)
      #expect(notices.all == ["RouteChange"])
    case .background:
      await room.run(for: .seconds(3))
      #expect(!bea.sees("Ana", newerThan: since + .milliseconds(500)))
      #expect(bea.hears("Ana"))
      machine.returnToForeground()
      await room.until("pictures are back") { bea.sees("Ana", newerThan: since + .seconds(3)) }
      #expect(notices.all.count == 4)
      #expect(!app.log.contains { $0.hasPrefix("stopped") })
    }
  }
}
