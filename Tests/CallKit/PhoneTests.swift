import CallKit
import Foundation
import KoineTesting
import Testing

/// What the phone shows and asks for, with an app's own provider.
@MainActor
@Suite struct PhoneTests {
  private let room: TestRoom
  private let phone: Phone
  private let app: PhoneApp
  private let id = UUID()

  init() async throws {
    room = try await TestRoom(clock: .virtual(seed: 7))
    phone = room.machine(of: "Ana").phone
    app = room.enter(as: "Ana") { PhoneApp() }
  }

  private func request(_ action: CXAction) async -> CXErrorCodeRequestTransactionError.Code? {
    let error = Lock<(any Error)??>(nil)
    app.controller.request(CXTransaction(action: action)) { result in error.withLock { $0 = .some(result) } }
    await room.until("the request is answered") { error.withLock { $0 != nil } }
    return (error.withLock { $0 } as? CXErrorCodeRequestTransactionError)?.code
  }

  @Test func reportedCallRingsAndIsAnsweredAndEndedByTheUser() async throws {
    app.ring(id)
    #expect(phone.ringingCall?.name == "Bea")
    await room.until { app.log == ["rings"] }
    #expect(phone.answer())
    await room.until { phone.activeCall?.id == id }
    await room.until { app.log == ["rings", "answer", "activated"] }
    #expect(phone.end())
    await room.until { phone.calls.isEmpty && app.log.last == "deactivated" }
    #expect(app.log == ["rings", "answer", "activated", "end", "deactivated"])
    #expect(phone.recents.map(\.endReason) == [.hungUp])
    #expect(app.changes.map(\.hasConnected) == [false, true, true])
    #expect(app.changes.last?.hasEnded == true)
  }

  @Test func answerOfAnAnsweredCallIsRefused() async throws {
    app.ring(id)
    #expect(phone.answer())
    #expect(!phone.answer())
    #expect(await request(CXAnswerCallAction(call: id)) == .invalidAction)
    await room.until { phone.activeCall != nil }
    #expect(!phone.answer())
    #expect(app.log.filter { $0 == "answer" }.count == 1)
  }

  @Test func actionThatIsNotFulfilledInTimeFails() async throws {
    app.ring(id)
    app.fulfils = false
    let begin = room.now
    phone.answer()
    await room.until("it is asked for") { app.log.contains("answer") }
    await room.run(for: .seconds(29))
    #expect(phone.actions.last?.outcome == .pending)
    await room.until { app.log.last == "timed out" }
    #expect(room.now - begin >= Phone.actionTime)
    #expect(room.now - begin < Phone.actionTime + .seconds(1))
    #expect(phone.actions.last?.outcome == .timedOut)
    #expect(phone.recents.last?.endReason == .failed)
    app.held.first?.fulfill()
    #expect(phone.actions.last?.outcome == .timedOut, "too late")
    #expect(!app.log.contains("activated"))
  }

  @Test func callThatEndsWhileItConnectsStaysEnded() async throws {
    app.ring(id)
    app.fulfils = false
    phone.answer()
    await room.until { app.held.count == 1 }
    app.fulfils = true
    #expect(phone.end())
    await room.until { phone.calls.isEmpty }
    app.held.first?.fulfill()
    await room.run(for: .seconds(1))
    #expect(phone.calls.isEmpty)
    #expect(!app.log.contains("activated"))
  }

  @Test func secondAnsweredCallPutsTheFirstOnHold() async throws {
    let second = UUID()
    app.ring(id)
    phone.answer()
    await room.until { phone.activeCall?.id == id }
    app.ring(second, from: "cleo")
    phone.answer()
    await room.until { phone.activeCall?.id == second }
    #expect(phone.calls.first?.isOnHold == true)
    #expect(app.log.filter { $0.hasPrefix("hold") || $0 == "answer" } == ["answer", "hold true", "answer"])
    phone.setOnHold(false, id)
    await room.until { phone.activeCall?.id == id }
    #expect(phone.calls.last?.isOnHold == true)
  }

  @Test func secondAnsweredCallEndsTheFirstOfAProviderWithOneGroup() async throws {
    let app = room.enter(as: "Ben") { PhoneApp(groups: 1) }
    let phone = room.machine(of: "Ben").phone
    let second = UUID()
    app.ring(id)
    phone.answer()
    await room.until { phone.activeCall?.id == id }
    app.ring(second)
    phone.answer()
    await room.until { phone.activeCall?.id == second }
    #expect(phone.calls.count == 1)
    #expect(phone.recents.map(\.endReason) == [.hungUp])
  }

  @Test func outgoingCallIsStartedAndCalledBackFromTheRecents() async throws {
    #expect(await request(CXStartCallAction(call: id, handle: CXHandle(type: .phoneNumber, value: "+1"))) == nil)
    await room.until { app.log == ["start +1", "activated"] }
    #expect(phone.calls.first?.state == .dialing)
    app.provider.reportOutgoingCall(with: id, startedConnectingAt: nil)
    #expect(phone.calls.first?.state == .connecting)
    app.provider.reportOutgoingCall(with: id, connectedAt: nil)
    #expect(phone.activeCall?.id == id)
    app.provider.reportCall(with: id, endedAt: nil, reason: .remoteEnded)
    let recent = try #require(phone.recents.last)
    #expect(recent.endReason == .remoteEnded)
    #expect(phone.callBack(recent) != nil)
    await room.until { app.log.filter { $0 == "start +1" }.count == 2 }
  }

  @Test func userMutesHoldsAndPlaysTones() async throws {
    app.ring(id)
    phone.answer()
    await room.until { app.log.last == "activated" }
    phone.setMuted(true)
    phone.play("12#")
    await room.until { phone.activeCall?.isMuted == true && phone.activeCall?.digits == "12#" }
    phone.setOnHold(true)
    await room.until { app.log.last == "deactivated" }
    #expect(phone.activeCall == nil)
    phone.setOnHold(false)
    await room.until { app.log.last == "activated" }
  }

  @Test func transactionIsOfferedAsAWholeFirst() async throws {
    app.ring(id)
    app.executes = true
    phone.answer()
    await room.until { app.log.contains("execute 1") }
    await room.until(within: .seconds(40)) { app.log.last == "timed out" }
    #expect(!app.log.contains("answer"))
  }

  @Test func impossibleRequestsAreRefusedWithApplesCodes() async throws {
    #expect(await request(CXEndCallAction(call: UUID())) == .unknownCallUUID)
    #expect(await request(CXAction()) == .invalidAction)
    app.ring(id)
    #expect(
      await request(CXStartCallAction(call: id, handle: CXHandle(type: .generic, value: "x"))) == .callUUIDAlreadyExists
    )
    #expect(await request(CXSetHeldCallAction(call: id, onHold: true)) == .invalidAction)
    app.ring(UUID())
    #expect(
      await request(CXStartCallAction(call: UUID(), handle: CXHandle(type: .generic, value: "x")))
        == .maximumCallGroupsReached)
    app.ring(id)
    await room.until { app.log.last == "refused 2" }
    phone.setDoNotDisturb(true)
    app.ring(UUID())
    await room.until { app.log.last == "refused 3" }
    phone.setDoNotDisturb(false)
    phone.block("mallory")
    app.ring(UUID(), from: "mallory")
    await room.until { app.log.last == "refused 4" }
    app.provider.invalidate()
    #expect(phone.calls.isEmpty)
    #expect(
      await request(CXStartCallAction(call: UUID(), handle: CXHandle(type: .generic, value: "x")))
        == .unknownCallProvider)
  }

  @Test func resetDropsAllCalls() async throws {
    app.ring(id)
    phone.answer()
    await room.until { app.log.last == "activated" }
    phone.reset()
    await room.until { app.log.contains("reset") && app.log.last == "deactivated" }
    #expect(phone.recents.map(\.endReason) == [.dropped])
  }

  @Test func callsAreGrouped() async throws {
    let second = UUID()
    app.ring(id)
    phone.answer()
    await room.until { phone.activeCall?.id == id }
    app.ring(second)
    phone.answer()
    await room.until { phone.activeCall?.id == second }
    #expect(await request(CXSetGroupCallAction(call: second, callUUIDToGroupWith: id)) == nil)
    await room.until { phone.calls.last?.groupedWith == id }
    let third = UUID()
    #expect(await request(CXStartCallAction(call: third, handle: CXHandle(type: .generic, value: "x"))) == nil)
  }
}
