import AzureCommunicationCalling
import Foundation
import KoineAVFoundation
import KoineTestSupport
import KoineTesting
import Testing

/// Azure's own CallKit integration, and pushes that launch its app.
@MainActor
@Suite(.enabled(if: roomsFollowQueues, "rooms do not follow dispatch queues under the thread sanitizer"))
struct AzureTests {
  private let room: TestRoom
  private let machine: Machine
  private let phone: Phone
  private let bea: Person
  private let token: String

  init() async throws {
    room = try await TestRoom(clock: .virtual(seed: 7), network: "delay=30ms")
    machine = room.machine(of: "Ana")
    phone = machine.phone
    token = try room.credential(.callAgent, for: "Ana").token
    bea = try await room.signIn("Bea")
  }

  private var app: AzureApp? { phone.runningApp as? AzureApp }

  /// Launches the app, lets it register for pushes, and terminates it unless it is to stay.
  private func install(
    stays: Bool = false, _ configure: @escaping @MainActor @Sendable (AzureApp) -> Void = { _ in }
  ) async {
    machine.onLaunch { [token] in
      let app = AzureApp(token: token)
      configure(app)
      return app
    }
    #expect(!phone.isAppRunning)
    phone.openApp()
    await room.until("the app has registered") { app?.isRegistered == true }
    if stays { return }
    phone.terminateApp()
    #expect(!phone.isAppRunning)
    await room.run(for: .seconds(1))
  }

  private var theyHearEachOther: Bool { bea.hears("Ana") && room.speaker(of: "Ana").hears("Bea") }

  @Test func appThatDoesNotRunIsRungAnsweredAndEndedByThePhone() async throws {
    await install()
    try await bea.ring("Ana")
    await room.until("the phone rings") { phone.ringingCall != nil }
    #expect(phone.ringingCall?.name == "Dr Bea")
    #expect(phone.ringingCall?.handle?.value == bea.identity)
    #expect(app?.launches == 1)
    #expect(machine.isInBackground)
    #expect(phone.answer())
    await room.until("they hear each other") { theyHearEachOther }
    #expect(app?.call?.state == .connected)
    #expect(app?.pushErrors == [0])
    #expect(phone.end())
    await room.until("Bea is alone") { bea.others.isEmpty && phone.calls.isEmpty }
    #expect(phone.recents.map(\.endReason) == [.hungUp])
    #expect(app?.call?.state == .disconnected)
    #expect(phone.failures.isEmpty)
  }

  @Test func answerBeforeTheAgentIsThereWaitsForIt() async throws {
    await install()
    try await bea.ring("Ana")
    await room.until("the phone rings") { phone.ringingCall != nil }
    #expect(app?.agent == nil)
    #expect(phone.answer())
    await room.until("they hear each other") { theyHearEachOther }
  }

  @Test func callDeclinedBeforeTheAgentIsThereIsRejected() async throws {
    await install()
    try await bea.ring("Ana")
    await room.until("the phone rings") { phone.ringingCall != nil }
    #expect(app?.agent == nil)
    #expect(phone.end())
    await room.until("the ring is over") { bea.ringStates.last == .declined }
    #expect(phone.recents.map(\.endReason) == [.declined])
    #expect(app?.call == nil)
  }

  @Test func callIsAnsweredOnlyOnce() async throws {
    await install(stays: true)
    try await bea.ring("Ana")
    await room.until("both ring") { phone.ringingCall != nil && app?.incoming != nil }
    #expect(phone.answer())
    #expect(!phone.answer())
    await room.until("the call is there") { app?.call != nil }
    let codes = Lock<[Int]>([])
    app?.incoming?.accept(options: AcceptCallOptions()) { _, error in
      codes.withLock { $0.append((error as NSError?)?.code ?? 0) }
    }
    await room.until("the second accept has failed") {
      codes.withLock { $0 } == [CallingCommunicationErrors.incomingCallAlreadyUnplaced.rawValue]
    }
    await room.until("they hear each other") { theyHearEachOther }
    #expect(app?.agent?.calls.count == 1)
    #expect(phone.actions.filter { $0.kind == .answer }.map(\.outcome) == [.fulfilled])
  }

  @Test func callAcceptedByTheAppIsAnsweredOnThePhone() async throws {
    await install(stays: true)
    try await bea.ring("Ana")
    await room.until("both ring") { phone.ringingCall != nil && app?.incoming != nil }
    app?.incoming?.accept(options: AcceptCallOptions()) { _, _ in }
    await room.until("they hear each other") { theyHearEachOther }
    #expect(phone.activeCall?.name == "Dr Bea")
    app?.call?.hangUp(options: nil) { _ in }
    await room.until("the phone is idle") { phone.calls.isEmpty }
    #expect(phone.recents.map(\.endReason) == [.hungUp])
  }

  @Test func callEndedWhileItConnectsEndsForTheSDKToo() async throws {
    await install(stays: true)
    try await bea.ring("Ana")
    await room.until("both ring") { phone.ringingCall != nil && app?.incoming != nil }
    phone.answer()
    await room.until("it connects") { app?.call?.state == .connecting }
    phone.end()
    await room.until("it is over") { app?.call?.state == .disconnected && phone.calls.isEmpty }
    await room.run(for: .seconds(2))
    #expect(app?.agent?.calls.isEmpty == true)
    #expect(bea.others.isEmpty)
    #expect(phone.calls.isEmpty)
  }

  @Test func pushAfterTheCallerHasGivenUpEndsTheReportedCall() async throws {
    await install()
    phone.setPushDelay(.seconds(3))
    try await bea.ring("Ana")
    await room.run(for: .seconds(1))
    bea.cancelRinging()
    await room.run(for: .seconds(1))
    #expect(!phone.isAppRunning, "the push is on its way")
    await room.until("the reported call is over") { !phone.recents.isEmpty }
    #expect(phone.recents.map(\.endReason) == [.remoteEnded])
    #expect(phone.calls.isEmpty)
    #expect(app?.pushErrors == [CallingCommunicationErrors.failedToProcessPushNotificationPayload.rawValue])
    #expect(app?.incoming == nil)
    #expect(phone.failures.isEmpty)
  }

  @Test func callerThatGivesUpEndsTheRingingOfThePhone() async throws {
    await install()
    try await bea.ring("Ana")
    await room.until("the app has the call") { app?.incoming != nil }
    bea.cancelRinging()
    await room.until("the phone is idle") { phone.calls.isEmpty }
    #expect(phone.recents.map(\.endReason) == [.remoteEnded])
    #expect(!phone.answer())
  }

  @Test func pushWithoutReportedCallFailsTheTestAndTerminatesTheApp() async throws {
    await install { $0.reportsPushes = false }
    try await withKnownIssue {
      try await bea.ring("Ana")
      await room.run(for: .seconds(2))
    } matching: {
      $0.comments.contains { $0.rawValue.contains("reported no incoming call to CallKit") }
    }
    #expect(phone.failures.count == 1)
    #expect(!phone.isAppRunning)
  }

  @Test func appWithoutPushRegistryFailsTheTest() async throws {
    machine.onLaunch { NSObject() }
    phone.push(["callId": UUID().uuidString])
    await withKnownIssue {
      await room.run(for: .seconds(6))
    } matching: {
      $0.comments.contains { $0.rawValue.contains("made no PKPushRegistry") }
    }
    #expect(phone.failures.count == 1)
  }

  @Test func unregisteredIdentityIsNotReachedWhileTheAppDoesNotRun() async throws {
    await install(stays: true)
    app?.agent?.unregisterPushNotification { _ in }
    await room.run(for: .seconds(1))
    phone.terminateApp()
    await room.run(for: .seconds(1))
    try await bea.ring("Ana")
    await room.until("Ana is unreachable") { bea.ringStates.last == .unreachable }
    #expect(!phone.isAppRunning)
  }

  @Test func pushRegistrationEndsAfterItsTime() async throws {
    await install { $0.pushLifetime = 400 }
    await room.run(for: .seconds(390))
    try await bea.ring("Ana")
    await room.until("the phone rings") { phone.ringingCall != nil }
    bea.cancelRinging()
    await room.until("the phone is idle") { phone.calls.isEmpty && app?.agent != nil }
    app?.pushLifetime = nil
    phone.terminateApp()
    await room.run(for: .seconds(420))
    try await bea.ring("Ana")
    await room.until("Ana is unreachable") { bea.ringStates.last == .unreachable }
    #expect(!phone.isAppRunning)
  }

  @Test func systemMuteAndSDKMuteAgree() async throws {
    await install(stays: true)
    try await bea.ring("Ana")
    await room.until("the phone rings") { phone.ringingCall != nil && app?.incoming != nil }
    phone.answer()
    await room.until("they hear each other") { theyHearEachOther }
    let call = try #require(app?.call)
    phone.setMuted(true)
    await room.until("the SDK is muted") { call.isOutgoingAudioMuted && phone.activeCall?.isMuted == true }
    await room.until("Ana is silent") { !bea.hears("Ana") }
    call.unmuteOutgoingAudio { _ in }
    await room.until("the phone is unmuted") { phone.activeCall?.isMuted == false }
    await room.until("Ana is heard") { bea.hears("Ana") }
    // At the same time: the later act wins on both sides.
    call.muteOutgoingAudio { _ in }
    phone.setMuted(false)
    await room.run(for: .seconds(1))
    #expect(phone.activeCall?.isMuted == call.isOutgoingAudioMuted)
    #expect(phone.actions.allSatisfy { $0.outcome == .fulfilled })
  }

  @Test func userHoldsTheCallAndTheSDKResumesIt() async throws {
    await install(stays: true)
    try await bea.ring("Ana")
    await room.until("the phone rings") { phone.ringingCall != nil && app?.incoming != nil }
    phone.answer()
    await room.until("they hear each other") { theyHearEachOther }
    let call = try #require(app?.call)
    #expect(phone.setOnHold(true))
    await room.until("the SDK holds") { call.state == .localHold }
    #expect(phone.activeCall == nil)
    call.resume { _ in }
    await room.until("the phone has it again") { phone.activeCall != nil }
    await room.until("they hear each other") { theyHearEachOther }
  }

  @Test func callOfOptionsWithoutHoldCannotBeHeld() async throws {
    await install(stays: true) { $0.isCallHoldSupported = false }
    try await bea.ring("Ana")
    await room.until("the phone rings") { phone.ringingCall != nil && app?.incoming != nil }
    phone.answer()
    await room.until("they hear each other") { theyHearEachOther }
    #expect(!phone.setOnHold(true))
  }

  @Test func outgoingCallIsShownWithItsRemoteInfo() async throws {
    await install(stays: true)
    let options = StartCallOptions()
    options.callKitRemoteInfo = CallKitRemoteInfo()
    options.callKitRemoteInfo?.displayName = "Aunt Bea"
    options.callKitRemoteInfo?.handle = CXHandle(type: .phoneNumber, value: "+1")
    let callee = createCommunicationIdentifier(fromRawId: bea.identity)
    app?.agent?.startCall(participants: [callee], options: options) { _, _ in }
    await room.until("Bea is rung") { bea.isRung }
    #expect(phone.calls.map(\.name) == ["Aunt Bea"])
    #expect(phone.calls.map(\.handle?.value) == ["+1"])
    #expect(phone.calls.map(\.state) == [.connecting])
    try await bea.answer()
    await room.until("they hear each other") { theyHearEachOther }
    #expect(phone.activeCall?.isOutgoing == true)
    bea.leave()
    await room.until("the phone is idle") { phone.calls.isEmpty }
    #expect(phone.recents.map(\.endReason) == [.remoteEnded])
  }

  @Test func secondOutgoingCallBeyondTheGroupsIsHungUp() async throws {
    let cleo = try await room.signIn("Cleo")
    await install(stays: true) { $0.groups = 1 }
    let agent = try #require(app?.agent)
    agent.startCall(participants: [createCommunicationIdentifier(fromRawId: bea.identity)]) { _, _ in }
    await room.until("Bea is rung") { bea.isRung }
    let first = try #require(app?.call)
    agent.startCall(participants: [createCommunicationIdentifier(fromRawId: cleo.identity)]) { _, _ in }
    await room.until("the second call is over") { app?.call !== first && app?.call?.state == .disconnected }
    #expect(agent.calls.first === first)
    #expect(phone.calls.count == 1)
  }

  @Test func audioSessionIsConfiguredByTheAppOrFailsTheCall() async throws {
    let session = AVAudioSession.of(machine)
    let fails = Lock(false)
    await install(stays: true) { app in
      app.configureAudioSession = {
        if fails.withLock({ $0 }) { return CocoaError(.featureUnsupported) }
        try? session.setCategory(.playAndRecord, mode: .videoChat)
        return nil
      }
    }
    try await bea.ring("Ana")
    await room.until("the phone rings") { phone.ringingCall != nil && app?.incoming != nil }
    phone.answer()
    await room.until("they hear each other") { theyHearEachOther }
    #expect(session.mode == .videoChat)
    phone.end()
    await room.until("the phone is idle") { phone.calls.isEmpty }
    bea.leave()
    fails.withLock { $0 = true }
    let before = app?.incomingCount
    try await bea.ring("Ana")
    await room.until("the phone rings again") { phone.ringingCall != nil && app?.incomingCount != before }
    phone.answer()
    await room.until("the answer has failed") { phone.calls.isEmpty }
    #expect(phone.recents.map(\.endReason) == [.hungUp, .failed])
    #expect(phone.actions.last { $0.kind == .answer }?.outcome == .failed)
    await room.until("the caller is told") { bea.ringStates.last == .declined }
  }

  @Test(arguments: [false, true]) func agentWithoutInternalPushIsRungByPushesOnly(_ isRungByPushOnly: Bool) async throws
  {
    await install(stays: true) { $0.isRungByPushOnly = isRungByPushOnly }
    phone.setPushDelay(.seconds(3))
    try await bea.ring("Ana")
    await room.run(for: .seconds(1))
    #expect((app?.incoming == nil) == isRungByPushOnly)
    await room.until("the push has come") { app?.pushErrors == [0] }
    #expect(app?.incomingCount == 1)
  }

  @Test func rejectionByTheAppEndsTheRingingOfThePhone() async throws {
    await install(stays: true)
    try await bea.ring("Ana")
    await room.until("both ring") { phone.ringingCall != nil && app?.incoming != nil }
    app?.incoming?.reject { _ in }
    await room.until("the phone is idle") { phone.calls.isEmpty }
    #expect(phone.recents.map(\.endReason) == [.declined])
    await room.until("Bea is told") { bea.ringStates.last == .declined }
  }

  @Test func digitsOfThePhoneAreSentByTheSDK() async throws {
    await install(stays: true)
    try await bea.ring("Ana")
    await room.until("the phone rings") { phone.ringingCall != nil && app?.incoming != nil }
    phone.answer()
    await room.until("they hear each other") { theyHearEachOther }
    phone.play("1#")
    await room.until("they are played") { phone.activeCall?.digits == "1#" }
    phone.play("x")
    await room.until("there is no such key") { phone.actions.last?.outcome == .failed }
  }

  // MARK: The app's own provider

  @Test func appWithItsOwnProviderHasAudioFromTheActivationOn() async throws {
    await install { app in
      app.usesCallKit = false
      app.own = PhoneApp()
    }
    try await bea.ring("Ana")
    await room.until("the app has the call") { app?.incoming != nil }
    let own = try #require(app?.own)
    own.fulfils = false
    phone.answer()
    await room.until("the answer is asked for") { !own.held.isEmpty }
    app?.incoming?.accept(options: AcceptCallOptions()) { _, _ in }
    await room.until("the call is connected") { app?.call?.state == .connected }
    await room.run(for: .seconds(2))
    #expect(!bea.hears("Ana"))
    #expect(room.speaker(of: "Ana").isSilent)
    #expect(own.log.last == "answer")
    own.held.first?.fulfill()
    await room.until("they hear each other") { theyHearEachOther }
    #expect(own.log.last == "activated")
  }

  @Test func appWithItsOwnProviderEndsTheCallOfALatePush() async throws {
    await install { app in
      app.usesCallKit = false
      app.own = PhoneApp()
    }
    phone.setPushDelay(.seconds(3))
    try await bea.ring("Ana")
    await room.run(for: .seconds(1))
    bea.cancelRinging()
    await room.until("the reported call is over") { phone.recents.map(\.endReason) == [.remoteEnded] }
  }
}
