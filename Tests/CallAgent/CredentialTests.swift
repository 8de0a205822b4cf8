import AzureCommunicationCalling
import Koine
import KoineEmbeddedBackend
import Testing

struct CredentialTests {
  /// A clock that a test moves.
  private final class ManualClock: Sendable {
    private struct State {
      var now = Date(timeIntervalSince1970: 1_000_000)
      var later: [(at: Date, work: @Sendable () -> Void)] = []
    }
    private let state = Lock(State())

    var tokenClock: TokenClock {
      TokenClock(
        now: { [self] in state.withLock { $0.now } },
        after: { [self] delay, work in state.withLock { $0.later.append(($0.now + delay, work)) } })
    }

    func move(_ seconds: TimeInterval) {
      state.withLock { $0.now += seconds }
      while let work = state.withLock({ state -> (@Sendable () -> Void)? in
        guard let index = state.later.firstIndex(where: { $0.at <= state.now }) else { return nil }
        return state.later.remove(at: index).work
      }) { work() }
    }

    func token(lasting seconds: Int) -> String {
      let expires = Int(state.withLock { $0.now.timeIntervalSince1970 }) + seconds
      let payload = Data(#"{"exp":\#(expires)}"#.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
      return "e30.\(payload).x"
    }
  }

  @Test func refresherIsCalledOnceForConcurrentRequestsAndAgainBeforeExpiry() throws {
    let manualClock = ManualClock()
    let asked = Lock(0)
    let options = CommunicationTokenRefreshOptions { handler in
      asked.withLock { $0 += 1 }
      handler(manualClock.token(lasting: 3_600), nil)
    }
    let credential = try CommunicationTokenCredential(withOptions: options, clock: manualClock.tokenClock)
    let got = Lock(0)
    for _ in 0..<3 { credential.token { token, _ in if token != nil { got.withLock { $0 += 1 } } } }
    #expect(asked.withLock { $0 } == 0, "never from inside the call")
    manualClock.move(0)
    #expect(asked.withLock { $0 } == 1)
    #expect(got.withLock { $0 } == 3)
    credential.token { _, _ in got.withLock { $0 += 1 } }
    #expect(asked.withLock { $0 } == 1 && got.withLock { $0 } == 4, "from what is kept, at once")
    manualClock.move(3_600 - 119)
    credential.token { _, _ in got.withLock { $0 += 1 } }
    manualClock.move(0)
    #expect(asked.withLock { $0 } == 2)
    #expect(got.withLock { $0 } == 5)
  }

  @Test func proactiveCredentialRefreshesBeforeExpiry() throws {
    let manualClock = ManualClock()
    let asked = Lock(0)
    let lasting = Lock(3_600)
    let options = CommunicationTokenRefreshOptions(
      initialToken: manualClock.token(lasting: 3_600), refreshProactively: true
    ) { handler in
      asked.withLock { $0 += 1 }
      handler(manualClock.token(lasting: lasting.withLock { $0 }), nil)
    }
    let credential = try CommunicationTokenCredential(withOptions: options, clock: manualClock.tokenClock)
    manualClock.move(2_999)
    #expect(asked.withLock { $0 } == 0)
    lasting.withLock { $0 = 400 }
    manualClock.move(1)
    manualClock.move(0)
    #expect(asked.withLock { $0 } == 1)
    manualClock.move(200)
    manualClock.move(0)
    #expect(asked.withLock { $0 } == 2, "a short-lived one is renewed at half its life")
    let cancellable: any Cancellable = credential
    cancellable.cancel()
    manualClock.move(10_000)
    #expect(asked.withLock { $0 } == 2)
    let failure = Lock<NSError?>(nil)
    credential.token { _, error in failure.withLock { $0 = error as NSError? } }
    let error = try #require(failure.withLock { $0 })
    #expect(error.domain == "AzureCommunicationCommon.CommunicationTokenCredential.token")
    #expect(error.localizedDescription.contains("cannot be reused once it has been canceled"))
    #expect(error.localizedDescription.contains(error.domain))
  }

  /// The timer has not run yet, as in an app that was suspended: the token is renewed when it is asked for.
  @Test func proactiveCredentialRefreshesTokenWithTenMinutesLeft() throws {
    for (isProactive, renewed) in [(true, 1), (false, 0)] {
      let manualClock = ManualClock()
      let asked = Lock(0)
      let options = CommunicationTokenRefreshOptions(
        initialToken: manualClock.token(lasting: 600), refreshProactively: isProactive
      ) { handler in
        asked.withLock { $0 += 1 }
        handler(manualClock.token(lasting: 3_600), nil)
      }
      let credential = try CommunicationTokenCredential(withOptions: options, clock: manualClock.tokenClock)
      let expires = Lock<Date?>(nil)
      credential.token { token, _ in expires.withLock { $0 = token?.expiresOn } }
      manualClock.move(0)
      #expect(asked.withLock { $0 } == renewed)
      #expect(expires.withLock { $0 } == Date(timeIntervalSince1970: 1_000_000 + (isProactive ? 3_600 : 600)))
    }
  }

  @Test func expiredTokenFromRefresherIsAnError() throws {
    let manualClock = ManualClock()
    let options = CommunicationTokenRefreshOptions { handler in handler(manualClock.token(lasting: -1), nil) }
    let credential = try CommunicationTokenCredential(withOptions: options, clock: manualClock.tokenClock)
    let failure = Lock<NSError?>(nil)
    credential.token { _, error in failure.withLock { $0 = error as NSError? } }
    manualClock.move(0)
    let error = try #require(failure.withLock { $0 })
    #expect(error.domain.hasSuffix("refreshAccessToken"))
    #expect(error.userInfo["message"] as? String == "The token returned from the tokenRefresher is expired.")
    #expect(error.localizedDescription.contains(error.domain))
  }

  @Test func tokenPayloadWithBase64URLCharactersIsAccepted() throws {
    // `{"exp":2000000000,"n":"???>>>"}` has both `_` and `-` in it; the vendor's parser trips over the first.
    let payload = Data(#"{"exp":2000000000,"n":"???>>>"}"#.utf8).base64EncodedString()
      .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
      .replacingOccurrences(of: "=", with: "")
    try #require(payload.contains("_") || payload.contains("-"))
    let credential = try CommunicationTokenCredential(token: "e30.\(payload).x")
    let got = Lock<Date?>(nil)
    credential.token { token, _ in got.withLock { $0 = token?.expiresOn } }
    #expect(got.withLock { $0 } == Date(timeIntervalSince1970: 2_000_000_000), "told at once, on this thread")
  }

  @Test(arguments: ["", "=", "=="])
  func paddedTokenPayloadIsAccepted(padding: String) throws {
    // 27, 26 and 25 bytes: as many characters of padding as bytes are missing to a multiple of three.
    let payload = Data(#"{"exp":2000000000,"n":"\#(String(repeating: ">", count: 2 - padding.count))"}"#.utf8)
      .base64EncodedString()
    try #require(payload.hasSuffix(padding) && !payload.hasSuffix(padding + "="))
    let credential = try CommunicationTokenCredential(token: "e30.\(payload).x")
    let got = Lock<Date?>(nil)
    credential.token { token, _ in got.withLock { $0 = token?.expiresOn } }
    #expect(got.withLock { $0 } == Date(timeIntervalSince1970: 2_000_000_000))
    #expect(throws: (any Error).self) { try CommunicationTokenCredential(token: "e30.\(payload)=.x") }
  }

  @Test func pushPayloadsAreParsedAndInvalidOnesRefused() async throws {
    let telephone = try Telephone()
    let (ana, _) = try await telephone.agent("ana")
    let id = UUID()
    let info = PushNotificationInfo.fromDictionary([
      "data": [
        "callId": id.uuidString, "displayName": "Ben", "from": "8:acs:ben", "to": "8:acs:ana", "videoCall": true,
        "eventId": "109",
      ]
    ])
    #expect(info.callId == id)
    #expect(info.fromDisplayName == "Ben")
    #expect(info.incomingWithVideo)
    #expect(info.from.rawId == "8:acs:ben")
    #expect(info.to.rawId == "8:acs:ana")
    #expect(info.eventType == PushNotificationEventType.incomingGroupCall)
    let codes = Lock<[Int]>([])
    let note = { (error: (any Error)?) in codes.withLock { $0.append((error as NSError?)?.code ?? 0) } }
    ana.handlePush(notification: info, completionHandler: note)
    ana.handlePush(notification: PushNotificationInfo.fromDictionary([:]), completionHandler: note)
    ana.registerPushNotifications(deviceToken: Data([1]), completionHandler: note)
    ana.registerPushNotifications(deviceToken: Data(), completionHandler: note)
    ana.unregisterPushNotification(completionHandler: note)
    await telephone.run(.milliseconds(50))
    #expect(codes.withLock { $0 } == [8, 4, 0, 32, 0])
  }

  @Test func equivalentTeamsLinksJoinOneRoomAndInvalidLinksAreRefused() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    let link = "https://teams.example/l/meetup-join/19%3ameeting_x/0"
    ana.join(with: TeamsMeetingLinkLocator(meetingLink: link + "?context=a"), joinCallOptions: nil) {
      anaHears.take($0, $1)
    }
    ben.join(with: TeamsMeetingLinkLocator(meetingLink: link), joinCallOptions: nil) { benHears.take($0, $1) }
    await telephone.run(.seconds(1))
    #expect(anaHears.call?.remoteParticipants.map(\.displayName) == ["ben"])
    for bad in ["", "meeting", "http://x/y", "https://x"] {
      ana.join(with: TeamsMeetingLinkLocator(meetingLink: bad), joinCallOptions: nil) { anaHears.take($0, $1) }
    }
    await telephone.run(.milliseconds(100))
    #expect(anaHears.words.suffix(4) == Array(repeating: "no call 16384", count: 4)[...])
  }

  @Test func useAfterDisposeFails() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    ana.dispose()
    ana.startCall(participants: [identity("ben")]) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(100))
    #expect(anaHears.words == ["no call 0"])
    let client = World.$current.withValue(telephone.world) { CallClient() }
    client.dispose()
    let failed = Lock(false)
    client.createCallAgent(userCredential: try CommunicationTokenCredential(token: accessToken(for: "x"))) { _, error in
      failed.withLock { $0 = error != nil }
    }
    await telephone.run(.milliseconds(100))
    #expect(failed.withLock { $0 })
  }

  @Test func eventClosuresReceiveTheDelegateEvents() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    let heard = Lock<[String]>([])
    let benEvents: CallAgentEvents = ben.events
    benEvents.onIncomingCall = { (incoming: CommonIncomingCall) in
      heard.withLock { $0.append("rings") }
      let events: IncomingCallEvents = incoming.events
      events.onCallEnded = { _ in heard.withLock { $0.append("over") } }
      incoming.accept(options: AcceptCallOptions()) { benHears.take($0, $1) }
    }
    ana.events.onCallsUpdated = { args in heard.withLock { $0.append("calls \(args.addedCalls.count)") } }
    ana.startCall(participants: [identity("ben")]) { call, error in
      call?.events.onStateChanged = { _ in heard.withLock { $0.append("\(call?.state ?? .none)") } }
      anaHears.take(call, error)
    }
    await telephone.run(.seconds(1))
    #expect(
      heard.withLock { $0 } == ["calls 1", "connecting", "ringing", "rings", "connected"]
        || heard.withLock { $0 } == ["calls 1", "connecting", "rings", "ringing", "connected"])
    anaHears.call?.events.removeAll()
    anaHears.call?.hangUp(options: nil) { _ in }
    await telephone.run(.seconds(1))
    #expect(heard.withLock { $0 }.suffix(2) == ["connected", "calls 0"])
  }

  @Test func eventClosuresOfACallReceiveItsChanges() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    let commonAgent: CommonCallAgent = ana
    #expect(commonAgent.type == CommunicationCallType.call)
    let heard = Lock<[String]>([])
    let note = { (word: String) in heard.withLock { $0.append(word) } }
    /// The words since the last call.
    func take() -> [String] {
      heard.withLock { heard in
        defer { heard = [] }
        return heard
      }
    }
    ana.startCall(participants: [identity("ben")]) { (call: CommonCall?, error) in
      anaHears.take(call, error)
      guard let call else { return }
      let events: CallEvents = call.events
      events.onIdChanged = { _ in note("id") }
      events.onRemoteParticipantsUpdated = { args in
        for participant in args.addedParticipants { note("+\(participant.identifier.rawId)") }
        for participant in args.removedParticipants { note("-\(participant.identifier.rawId)") }
      }
      events.onTotalParticipantCountChanged = { _ in note("count \(anaHears.call?.totalParticipantCount ?? -1)") }
      events.onStartTimeUpdated = { _ in note("start") }
      events.onOutgoingAudioStateChanged = { _ in note("microphone \(anaHears.call?.isOutgoingAudioMuted == false)") }
      events.onIsMutedChanged = { _ in note("muted \(anaHears.call?.isMuted == true)") }
      events.onIncomingAudioStateChanged = { _ in
        note("loudspeaker \(anaHears.call?.isIncomingAudioMuted == false)")
      }
      events.onMutedByOthers = { _ in note("muted by others") }
      events.onLocalVideoStreamsUpdated = { args in
        note("video +\(args.addedStreams.count) -\(args.removedStreams.count)")
      }
    }
    await telephone.run(.milliseconds(200))
    benHears.incoming?.accept(options: AcceptCallOptions()) { benHears.take($0, $1) }
    await telephone.run(.seconds(1))
    let call = try #require(anaHears.call)
    let id = call.id
    let connected = take()
    #expect(connected.filter { $0 == "+8:acs:ben" || $0 == "start" }.sorted() == ["+8:acs:ben", "start"])
    #expect(connected.last { $0.hasPrefix("count") } == "count 2")
    call.mute { _ in }
    await telephone.run(.milliseconds(200))
    #expect(take() == ["muted true", "microphone false"])
    call.unmute { _ in }
    await telephone.run(.milliseconds(200))
    #expect(take() == ["muted false", "microphone true"])
    call.muteIncomingAudio { _ in }
    await telephone.run(.milliseconds(200))
    call.unmuteIncomingAudio { _ in }
    await telephone.run(.milliseconds(200))
    #expect(take() == ["loudspeaker false", "loudspeaker true"])
    let camera = try await telephone.camera()
    call.startVideo(stream: camera) { _ in }
    await telephone.run(.milliseconds(200))
    call.stopVideo(stream: camera) { _ in }
    await telephone.run(.milliseconds(200))
    #expect(take() == ["video +1 -0", "video +0 -1"])
    benHears.call?.muteAllRemoteParticipants { _ in }
    await telephone.run(.milliseconds(300))
    #expect(take().sorted() == ["microphone false", "muted by others", "muted true"])
    benHears.call?.hangUp(options: nil) { _ in }
    await telephone.run(.seconds(1))
    #expect(take().contains("-8:acs:ben"))
    #expect(call.id == id)
    withExtendedLifetime(ben) {}
  }
}
