import AzureCommunicationCalling
import KoineTesting
import Testing

/// Effects of faults on a call app: errors of handlers with the vendor's codes, call states, and end reasons.
@MainActor
@Suite struct CallFaultTests {
  @Test(arguments: Fault.allCases) func callAppIsNotifiedOfEachFault(fault: Fault) async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let machine = room.machine(of: "Ana")
    let bea = try await room.join("Bea")
    let app = CallApp()
    let pass = try room.credential(.callAgent, for: "Ana")
    func signIn() async throws {
      try await room.run { try await room.enter(as: "Ana") { try await app.signIn(with: pass.token) } }
    }
    func code(_ body: () async throws -> Void) async -> Int? {
      do { try await body() } catch { return (error as NSError).code }
      return nil
    }
    if [.credentialRefused, .permissionRefused, .serverFails].contains(fault) {
      try fault.beforeEntering(room)
      // An agent is not made: the credential's number, or none of the vendor's
      #expect(await code(signIn) == (fault == .credentialRefused ? 297 : 0))
      return
    }
    if fault == .noCamera { try fault.beforeEntering(room) }
    try await signIn()
    if fault != .noCamera { try fault.beforeEntering(room) }
    let joined = await code { try await room.run { try await app.join(room: pass.roomID) } }
    if fault == .cameraDenied || fault == .keysMissing || fault == .microphoneDenied {
      #expect(joined == (fault == .microphoneDenied ? 1 : 2), "no permission for sound, or for pictures")
      #expect(app.call == nil)
      #expect(machine.missingKeys == (fault == .keysMissing ? ["NSCameraUsageDescription"] : []))
      return
    }
    #expect(joined == nil)
    guard fault.letsIn else {
      await room.until("the call has ended") { app.states.last == .disconnected }
      #expect(app.call?.callEndReason.code == 403)
      #expect(!app.states.contains(.connected))
      return
    }
    await room.meet(on: app.view, bea, fault) { app.states.last == .connected }
    let notices = Notices(of: machine)
    try fault.afterEntering(room)
    let since = room.now

    switch fault {
    case .credentialRefused, .permissionRefused, .serverFails, .roomFull: break  // told above
    case .cameraDenied, .microphoneDenied, .keysMissing: break
    case .sentOut, .roomClosed, .networkLost:
      await room.until("the call has ended", within: .seconds(300)) { app.states.last == .disconnected }
      let reason = app.call?.callEndReason
      let (codes, subcodes) = ([Fault.networkLost: 490], [Fault.sentOut: 5300])
      #expect(reason?.code == Int32(codes[fault] ?? 0) && reason?.subcode == Int32(subcodes[fault] ?? 0))
    case .serverRestart:
      await room.expectVideoAgain(on: app.view, and: bea)
      #expect(app.states.last == .connected)
      #expect(!app.states.contains(.disconnected))
    case .throttle:
      await room.run(for: .seconds(10))
      #expect(app.states.last == .connected, "the vendor's client has no callback for it but its diagnostics")
    case .networkChange:
      await room.expectVideoAgain(on: app.view, and: bea)
      #expect(app.states.last == .connected)
    case .cameraUnplugged:
      await room.run(for: .seconds(3))
      #expect(app.cameras == ["-Front camera", "-Back camera"])
      #expect(!bea.sees("Ana", newerThan: since + .milliseconds(500)))
      machine.plugIn(Machine.Device(id: "usb", kind: .camera, name: "USB", source: "stamp:Ana,320x180@5"))
      await room.until("the new one is announced") { app.cameras.last == "+USB" }
    case .cameraBusy:
      await room.until("its preview's failure is told") { app.failedPreviews == 1 }
      #expect(bea.hears("Ana"))
      #expect(!bea.sees("Ana"))
    case .noCamera:
      await room.until("the rest goes on") { bea.hears("Ana") && !bea.sees("Ana") }
      #expect(app.call?.localVideoStreams.isEmpty == true)
    case .interruption:
      await room.endInterruption(of: machine, before: bea, notices)
      #expect(app.states.last == .connected)
    case .routeChange:
      await room.until("Apple's notification is posted") { notices.all == ["RouteChange"] }
      #expect(bea.isInRoom)
      #expect(app.states.last == .connected)
    case .background:
      await room.run(for: .seconds(3))
      #expect(!bea.sees("Ana", newerThan: since + .milliseconds(500)))
      #expect(bea.hears("Ana"))
      machine.returnToForeground()
      await room.until("pictures are back") { bea.sees("Ana", newerThan: since + .seconds(3)) }
      #expect(notices.all.count == 4)
      #expect(app.states.last == .connected)
    }
  }
}
