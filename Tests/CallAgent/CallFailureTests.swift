import AzureCommunicationCalling
import AzureCommunicationCommon
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing

/// Failures between two participants leave neither of them stuck.
struct CallFailureTests {
  /// Keeps both participants in the call while it is referenced.
  private struct Two {
    let ana: CallAgent
    let anaHears: Recorder
    let ben: CallAgent
    let benHears: Recorder
  }

  private func ringing(_ telephone: Telephone) async throws -> Two {
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    ana.startCall(participants: [identity("ben")], options: nil) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(200))
    try #require(benHears.incoming != nil)
    return Two(ana: ana, anaHears: anaHears, ben: ben, benHears: benHears)
  }

  private func connected(_ telephone: Telephone) async throws -> Two {
    let all = try await ringing(telephone)
    all.benHears.incoming?.accept(options: AcceptCallOptions()) { all.benHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    try #require(all.anaHears.call?.state == .connected && all.benHears.call?.state == .connected)
    return all
  }

  @Test func incomingCallIsAcceptedOnceMicrophonePermissionIsGranted() async throws {
    let telephone = try Telephone()
    let two = try await ringing(telephone)
    let (anaHears, benHears) = (two.anaHears, two.benHears)
    telephone.world.machine.setPermission(.denied, .microphone)
    benHears.incoming?.accept(options: AcceptCallOptions()) { benHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    #expect(benHears.words.last == "no call 1")
    #expect(anaHears.call?.state == .ringing)
    telephone.world.machine.setPermission(.granted, .microphone)
    benHears.incoming?.accept(options: AcceptCallOptions()) { benHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    #expect(benHears.call?.state == .connected)
    #expect(anaHears.call?.state == .connected)
  }

  @Test func secondIncomingCallRingsUntilFirstCallEnds() async throws {
    let telephone = try Telephone()
    let two = try await connected(telephone)
    let benHears = two.benHears
    let (cleo, cleoHears) = try await telephone.agent("cleo")
    cleo.startCall(participants: [identity("ben")], options: nil) { cleoHears.take($0, $1) }
    await telephone.run(.milliseconds(300))
    let (first, second) = (benHears.call, benHears.incoming)
    second?.accept(options: AcceptCallOptions()) { _, error in benHears.note("\((error as? NSError)?.code ?? 0)") }
    await telephone.run(.milliseconds(300))
    #expect(benHears.words.last == "4096")
    #expect(cleoHears.call?.state == .ringing)
    first?.hangUp(options: nil) { _ in }
    await telephone.run(.milliseconds(500))
    second?.accept(options: AcceptCallOptions()) { benHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    #expect(cleoHears.call?.state == .connected)
    #expect(benHears.call?.state == .connected)
  }

  @Test func participantRemovedWhileRingingStopsRinging() async throws {
    let telephone = try Telephone()
    let two = try await connected(telephone)
    let (anaHears, benHears) = (two.anaHears, two.benHears)
    let (cleo, cleoHears) = try await telephone.agent("cleo")
    let call = try #require(anaHears.call)
    let rung = try #require(try call.add(participant: identity("cleo")))
    await telephone.run(.milliseconds(300))
    #expect(rung.state == .ringing)
    #expect(cleoHears.words == ["rings Ana"])
    call.remove(participant: rung) { anaHears.note("removed \($0 == nil)") }
    await telephone.run(.milliseconds(300))
    #expect(anaHears.words.suffix(3) == ["cleo disconnected", "-cleo 487", "removed true"])
    #expect(cleoHears.words.last == "didEnd 487")
    #expect(call.state == .connected)
    withExtendedLifetime((cleo, benHears)) {}
  }

  @Test func endedCallMakesNoCallbacks() async throws {
    let telephone = try Telephone()
    let two = try await connected(telephone)
    let (anaHears, benHears) = (two.anaHears, two.benHears)
    let call = try #require(anaHears.call)
    let hands = Hands()
    call.feature(Features.raisedHands).delegate = hands
    benHears.call?.feature(Features.raisedHands).raiseHand { _ in }
    await telephone.run(.milliseconds(300))
    #expect(hands.words == ["up"])
    call.hangUp(options: nil) { _ in }
    await telephone.run(.milliseconds(500))
    let words = (anaHears.words, hands.words)
    call.mute { anaHears.note("muted \($0 == nil)") }
    await telephone.run(.seconds(1))
    #expect(anaHears.words == words.0 + ["muted false"])
    #expect(hands.words == words.1)
    withExtendedLifetime(hands) {}
  }

  private final class Hands: NSObject, RaiseHandCallFeatureDelegate, @unchecked Sendable {  // a lock
    private let heard = Lock<[String]>([])
    var words: [String] { heard.withLock { $0 } }
    func raiseHandCallFeature(_ feature: RaiseHandCallFeature, didRaiseHand args: RaisedHandChangedEventArgs) {
      heard.withLock { $0.append("up") }
    }
    func raiseHandCallFeature(_ feature: RaiseHandCallFeature, didLowerHand args: LoweredHandChangedEventArgs) {
      heard.withLock { $0.append("down") }
    }
  }

  @Test func videoStartedDuringHoldIsSentAfterResume() async throws {
    let telephone = try Telephone()
    let two = try await connected(telephone)
    let (anaHears, benHears) = (two.anaHears, two.benHears)
    let call = try #require(anaHears.call)
    call.hold { _ in }
    await telephone.run(.milliseconds(300))
    let camera = try await telephone.camera()
    call.startVideo(stream: camera) { _ in }
    await telephone.run(.milliseconds(500))
    #expect(!benHears.words.contains("ana +video"))
    call.resume { _ in }
    await telephone.run(.milliseconds(500))
    #expect(benHears.words.contains("ana +video"))
  }

  /// Two minutes without a network end the registration; the agent signs in again as soon as there is one.
  @Test func agentWithExpiredRegistrationSignsInAgain() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    let backend = try #require(telephone.world.backend as? EmbeddedBackend)
    backend.setNetwork(try NetworkSpec("loss=100%"))
    await telephone.run(.seconds(150))
    ben.startCall(participants: [identity("ana")], options: nil) { benHears.take($0, $1) }
    await telephone.run(.seconds(20))
    #expect(benHears.call?.state == .disconnected && benHears.call?.callEndReason.code == 490, "\(benHears.words)")
    backend.setNetwork(try NetworkSpec(""))
    await telephone.run(.seconds(60))
    ana.startCall(participants: [identity("ben")], options: nil) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    #expect(benHears.words.last == "rings Ana")
    #expect(anaHears.call?.state == .ringing)
  }

  /// Each call requests a token, so that an expired one is not used.
  @Test func everyCallRequestsAValidToken() async throws {
    let telephone = try Telephone()
    let (asked, later) = (Lock(0), Lock<[@Sendable () -> Void]>([]))
    func answer() {
      for work in later.withLock({ works in
        defer { works = [] }; return works
      }) { work() }
    }
    let options = CommunicationTokenRefreshOptions { done in
      let number = asked.withLock { asked in
        asked += 1
        return asked
      }
      // The second one cannot be had.
      if number == 2 {
        done(nil, CocoaError(.userCancelled))
      } else {
        done(accessToken(for: "ana", expiresIn: 60), nil)
      }
    }
    let clock = TokenClock(now: { Date() }, after: { _, work in later.withLock { $0.append(work) } })
    let credential = try CommunicationTokenCredential(withOptions: options, clock: clock)
    let client = World.$current.withValue(telephone.world) { CallClient() }
    let made = Lock<CallAgent?>(nil)
    client.createCallAgent(userCredential: credential) { agent, _ in made.withLock { $0 = agent } }
    answer()
    await telephone.run(.milliseconds(300))
    let ana = try #require(made.withLock { $0 })
    let hears = Recorder(of: ana)
    for _ in 0..<2 {
      ana.startCall(participants: [identity("ben")], options: nil) { hears.take($0, $1) }
      answer()
      await telephone.run(.milliseconds(300))
    }
    #expect(hears.words.prefix(2) == ["no call \(CocoaError.Code.userCancelled.rawValue)", "call"])
    #expect(asked.withLock { $0 } == 3 && hears.call?.callEndReason.code == 480, "nobody is there, but it was let in")
  }
}
