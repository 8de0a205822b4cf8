import AmazonIVSBroadcast
import KoineTesting
import Testing

/// Effects of faults on a stage app: connection states with errors for faults that end the stage session, calls of an error
/// delegate for others, and no callback for faults that the vendor's client recovers from by itself.
@MainActor
@Suite struct StageFaultTests {
  @Test(arguments: Fault.allCases) func stageAppIsNotifiedOfEachFault(fault: Fault) async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let machine = room.machine(of: "Ana")
    let bea = try await room.join("Bea")
    let app = StageApp()
    try fault.beforeEntering(room)
    try room.enter(as: "Ana") { try app.join(with: room.credential(.stageStrategy, for: "Ana").token) }
    guard fault.letsIn else {
      await room.until("\(fault) is told") { app.states.last == .disconnected }
      let code =
        switch fault {
        case .credentialRefused, .permissionRefused: 1026
        case .roomFull: 1024
        default: 1203
        }
      #expect(app.states == [.connecting, .disconnected])
      #expect(app.errors.map(\.code) == [code])
      #expect(app.errors.allSatisfy { $0.domain == IVSBroadcastErrorDomain })
      #expect(app.errors.first?.userInfo[IVSBroadcastErrorIsFatalKey] as? Bool == true)
      return
    }
    await room.meet(on: app.view, bea, fault) { app.states.last == .connected }
    let notices = Notices(of: machine)
    try fault.afterEntering(room)
    let since = room.now

    switch fault {
    case .credentialRefused, .permissionRefused, .serverFails, .roomFull: break  // told above
    case .sentOut, .roomClosed, .networkLost:
      await room.until("the stay is over", within: .seconds(300)) { app.states.last == .disconnected }
      let codes = [Fault.sentOut: 1026, .roomClosed: 1027, .networkLost: 1300]
      #expect(app.errors.last?.code == codes[fault])
      #expect(app.people.isEmpty)
      #expect(bea.sees("Ana", newerThan: since + .seconds(1)) == false)
    case .serverRestart:
      await room.expectVideoAgain(on: app.view, and: bea)
      #expect(app.states == [.connecting, .connected, .connecting, .connected])
      #expect(app.errors.isEmpty)
    case .throttle:
      await room.run(for: .seconds(10))
      try app.requestStatistics()
      await room.until("figures have come") { !app.figures.isEmpty }
      let pair = app.figures.flatMap(\.values).first { $0["type"] == "candidate-pair" }
      #expect(Double(pair?["currentRoundTripTime"] ?? "").map { $0 > 0.5 } == true)
      #expect(app.states.last == .connected)
      #expect(app.errors.isEmpty)
    case .networkChange:
      await room.expectVideoAgain(on: app.view, and: bea)
      #expect(app.errors.isEmpty)
    case .cameraUnplugged:
      await room.run(for: .seconds(3))
      #expect(app.cameras.isEmpty)
      #expect(!bea.sees("Ana", newerThan: since + .milliseconds(500)))
      machine.plugIn(Machine.Device(id: "usb", kind: .camera, name: "USB", source: "stamp:Ana,320x180@5"))
      #expect(app.cameras == ["USB"])
    case .cameraBusy, .cameraDenied, .keysMissing:
      await room.until("the camera's error is told") { app.deviceErrors.map(\.code) == [1020] }
      #expect(
        app.errors.map(\.code) == [1020] && app.errors.first?.userInfo[IVSBroadcastErrorIsFatalKey] as? Bool == false)
      #expect(machine.missingKeys == (fault == .keysMissing ? ["NSCameraUsageDescription"] : []))
      await room.until("the rest goes on") { bea.hears("Ana") && !bea.sees("Ana") }
    case .noCamera:
      await room.until("the rest goes on") { bea.hears("Ana") && !bea.sees("Ana") }
      #expect(app.cameras.isEmpty)
      #expect(app.errors.isEmpty)
    case .microphoneDenied:
      await room.until("the microphone's error is told") { app.deviceErrors.map(\.code) == [1020] }
      #expect(bea.sees("Ana"))
      #expect(!bea.hears("Ana"))
    case .interruption:
      await room.endInterruption(of: machine, before: bea, notices)
      #expect(notices.all == ["Interruption", "Interruption"])
    case .routeChange:
      await room.until("the microphone is another") { app.microphones == ["Headset"] }
      #expect(notices.all == ["RouteChange"])
    case .background:
      await room.run(for: .seconds(3))
      #expect(!bea.sees("Ana", newerThan: since + .milliseconds(500)))
      #expect(bea.hears("Ana"))
      #expect(room.speaker.hears("Bea"))
      machine.returnToForeground()
      await room.until("pictures are back") { bea.sees("Ana", newerThan: since + .seconds(3)) }
      #expect(
        notices.all == ["WillResignActive", "DidEnterBackground", "WillEnterForeground", "DidBecomeActive"])
      #expect(app.states == [.connecting, .connected])
      #expect(app.errors.isEmpty)
    }
  }
}
