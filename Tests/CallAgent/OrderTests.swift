import AzureCommunicationCalling
import Koine
import Testing

/// The callbacks and their order.
struct OrderTests {
  /// Ana and Ben in one call, Ana's with some options.
  private func pair(
    _ telephone: Telephone, _ options: StartCallOptions? = nil
  ) async throws -> (agents: [CallAgent], ana: Recorder, ben: Recorder) {
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    ana.startCall(participants: [identity("ben")], options: options) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(200))
    benHears.incoming?.accept(options: AcceptCallOptions()) { benHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    return ([ana, ben], anaHears, benHears)
  }

  @Test func delegateIsCalledUnderCorrectedSpellingOfIncomingCall() async throws {
    final class Listener: NSObject, CallAgentDelegate, @unchecked Sendable {
      let heard = Lock<[String]>([])
      func callAgent(_ callAgent: CallAgent, didReceiveIncomingCall incomingCall: IncomingCall) {
        heard.withLock { $0.append("\(incomingCall.callerInfo.identifier.rawId) \(incomingCall.isVideoEnabled)") }
      }
    }
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, _) = try await telephone.agent("ben")
    let listener = Listener()
    ben.delegate = listener
    ana.startCall(participants: [identity("ben")]) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(300))
    #expect(listener.heard.withLock { $0 } == ["8:acs:ana false"])
  }

  @Test func callStateIsNoneInTheStartHandler() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    ana.startCall(participants: [identity("ben")], options: nil) { call, error in
      anaHears.note("handed \(call?.state ?? .disconnected)")
      anaHears.take(call, error)
    }
    await telephone.run(.seconds(1))
    #expect(anaHears.words.first == "handed none")
    #expect(anaHears.states.first == "connecting")
    #expect(!anaHears.states.contains("none"))
    #expect(!anaHears.states.contains("earlyMedia"))
  }

  @Test func muteIsReportedByOldAndNewCallback() async throws {
    final class Listener: NSObject, CallDelegate, @unchecked Sendable {
      let heard = Lock<[String]>([])
      func call(_ call: Call, didChangeMuteState args: PropertyChangedEventArgs) {
        heard.withLock { $0.append("older \(call.isMuted)") }
      }
      func call(_ call: Call, didUpdateOutgoingAudioState args: PropertyChangedEventArgs) {
        heard.withLock { $0.append("newer \(call.isOutgoingAudioMuted)") }
      }
    }
    let telephone = try Telephone()
    let (agents, ana, _) = try await pair(telephone)
    let listener = Listener()
    ana.call?.delegate = listener
    ana.call?.mute { _ in }
    ana.call?.muteOutgoingAudio { _ in }
    await telephone.run(.milliseconds(50))
    ana.call?.unmuteOutgoingAudio { _ in }
    await telephone.run(.milliseconds(50))
    ana.call?.muteOutgoingAudio { _ in }
    await telephone.run(.milliseconds(50))
    #expect(
      listener.heard.withLock { $0 } == [
        "older true", "newer true", "older false", "newer false", "older true", "newer true",
      ])
    withExtendedLifetime(agents) {}
  }

  @Test func participantCountAndStartTimeAreReported() async throws {
    final class Listener: NSObject, CallDelegate, @unchecked Sendable {
      let heard = Lock<[String]>([])
      func call(_ call: Call, didChangeTotalParticipantCount args: PropertyChangedEventArgs) {
        heard.withLock { $0.append("count \(call.totalParticipantCount)") }
      }
      func call(_ call: Call, didUpdateStartTime args: PropertyChangedEventArgs) {
        heard.withLock { $0.append("started \(abs(call.startTime.timeIntervalSinceNow) < 60)") }
      }
    }
    let telephone = try Telephone()
    let (ana, _) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    let listener = Listener()
    ana.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { call, _ in call?.delegate = listener }
    await telephone.run(.milliseconds(300))
    ben.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { benHears.take($0, $1) }
    await telephone.run(.milliseconds(300))
    benHears.call?.hangUp(options: nil) { _ in }
    await telephone.run(.milliseconds(300))
    #expect(listener.heard.withLock { $0 } == ["started true", "count 2", "count 1"])
  }

  @Test func speakingStateOfRemoteParticipantIsReported() async throws {
    let telephone = try Telephone()
    let (agents, ana, ben) = try await pair(telephone)
    let remote = try #require(ben.call?.remoteParticipants.first)
    let heard = Lock<[Bool]>([])
    let events: RemoteParticipantEvents = remote.events
    events.onIsSpeakingChanged = { _ in heard.withLock { $0.append(remote.isSpeaking) } }
    // levels are told as they change, and a tone's never does
    ana.call?.mute { _ in }
    await telephone.run(.seconds(3))
    ana.call?.unmute { _ in }
    await telephone.run(.seconds(1))
    #expect(remote.isSpeaking)
    ana.call?.mute { _ in }
    await telephone.run(.seconds(3))
    #expect(!remote.isSpeaking)
    #expect(heard.withLock { $0 }.last == false)
    withExtendedLifetime(agents) {}
  }

  @Test func displayNameIsReportedOnceItIsKnown() async throws {
    final class Listener: NSObject, CallDelegate, RemoteParticipantDelegate, @unchecked Sendable {
      let heard = Lock<[String]>([])
      func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
        for participant in args.addedParticipants {
          heard.withLock { $0.append("added '\(participant.displayName)'") }
          participant.delegate = self
        }
      }
      func remoteParticipant(_ participant: RemoteParticipant, didChangeDisplayName args: PropertyChangedEventArgs) {
        heard.withLock { $0.append("named '\(participant.displayName)'") }
      }
    }
    let telephone = try Telephone()
    let (ana, _) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    let listener = Listener()
    ana.startCall(participants: [identity("ben")]) { call, _ in call?.delegate = listener }
    await telephone.run(.milliseconds(200))
    benHears.incoming?.accept(options: AcceptCallOptions()) { benHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    #expect(listener.heard.withLock { $0 } == ["added ''", "named 'ben'"])
    withExtendedLifetime(ben) {}
  }

  @Test func callStartedWithMutedAudioOptionsIsMuted() async throws {
    let telephone = try Telephone()
    let options = StartCallOptions()
    options.audioOptions = AudioOptions()
    options.audioOptions?.muted = true
    let (agents, ana, ben) = try await pair(telephone, options)
    #expect(ana.call?.isMuted == true)
    #expect(ben.call?.remoteParticipants.first?.isMuted == true)
    let (eva, evaHears) = try await telephone.agent("eva")
    let join = JoinCallOptions()
    join.outgoingAudioOptions = OutgoingAudioOptions()
    join.outgoingAudioOptions?.muted = true
    eva.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: join) { evaHears.take($0, $1) }
    await telephone.run(.milliseconds(300))
    #expect(evaHears.call?.isOutgoingAudioMuted == true)
    evaHears.call?.unmute { _ in }
    await telephone.run(.milliseconds(300))
    #expect(evaHears.call?.isMuted == false)
    withExtendedLifetime((agents, eva)) {}
  }

  @Test func phoneNumberRingsOnlyIfAnEndpointIsRegisteredUnderIt() async throws {
    let telephone = try Telephone()
    let (agents, ana, _) = try await pair(telephone)
    let number = PhoneNumberIdentifier(phoneNumber: "+15550100")
    let remote = try #require(try ana.call?.add(participant: number, options: AddPhoneNumberOptions()))
    #expect(remote.identifier.rawId == "4:+15550100")
    #expect(remote.state == .connecting)
    await telephone.run(.milliseconds(300))
    #expect(remote.state == .disconnected)
    #expect(remote.callEndReason.code == 480)
    let desk = Endpoint(identity: "4:+15550100", in: telephone.world)
    desk.register { _ in }
    await telephone.run(.milliseconds(200))
    let again = try #require(try ana.call?.add(participant: number, options: nil))
    await telephone.run(.milliseconds(300))
    #expect(again.state == .ringing)
    #expect(desk.invitations.count == 1)
    withExtendedLifetime(agents) {}
  }

  @Test func equivalentMeetingLocatorsJoinOneRoom() async throws {
    let telephone = try Telephone()
    let id = UUID()
    let places: [[JoinMeetingLocator]] = [
      [
        TeamsMeetingIdLocator(with: "123 456 789", passcode: "x"),
        TeamsMeetingIdLocator(with: "123456789", passcode: "x"),
      ],
      (0..<2).map { _ in
        TeamsMeetingCoordinatesLocator(withThreadId: "19:t", organizerId: id, tenantId: id, messageId: "0")
      },
    ]
    for (number, pair) in places.enumerated() {
      let (one, oneHears) = try await telephone.agent("one\(number)")
      let (two, twoHears) = try await telephone.agent("two\(number)")
      one.join(with: pair[0], joinCallOptions: nil) { oneHears.take($0, $1) }
      two.join(with: pair[1], joinCallOptions: nil) { twoHears.take($0, $1) }
      await telephone.run(.milliseconds(500))
      #expect(oneHears.call?.remoteParticipants.count == 1)
      #expect(twoHears.call?.remoteParticipants.count == 1)
    }
  }

  @Test func rendererViewIsRescaledAndDisposed() async throws {
    let telephone = try Telephone()
    let camera = try await telephone.camera()
    let renderer = try VideoStreamRenderer(localVideoStream: camera)
    let view = try renderer.createView(withOptions: CreateViewOptions(scalingMode: .fit))
    await telephone.run(.milliseconds(200))
    /// Whether the wide frame covers the upper edge of a square view.
    func fills() async -> Bool {
      await MainActor.run {
        view.frame = CGRect(x: 0, y: 0, width: 100, height: 100)
        view.backgroundColor = .red
        return view.snapshot().color(x: 50, y: 5).map { $0 != (255, 0, 0) } ?? false
      }
    }
    #expect(await !fills())
    #expect(await MainActor.run { view.contentMode } == .scaleAspectFit)
    view.update(scalingMode: .crop)
    #expect(await fills())
    #expect(await MainActor.run { view.contentMode } == .scaleAspectFill)
    #expect(view.isRendering())
    #expect(renderer.size == StreamSize(width: 320, height: 180))
    view.dispose()
    let frames = view.framesRendered
    await telephone.run(.milliseconds(300))
    #expect(!view.isRendering())
    #expect(view.framesRendered == frames)
    renderer.dispose()
    #expect(throws: (any Error).self) { try renderer.createView() }
  }

  @Test func callWithEmptyParticipantOrRoomIDIsRefused() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    ana.startCall(participants: [], options: nil) { anaHears.take($0, $1) }
    ana.startCall(participants: [CommunicationUserIdentifier("")], options: nil) { anaHears.take($0, $1) }
    ana.join(with: RoomCallLocator(roomId: ""), joinCallOptions: nil) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(100))
    #expect(anaHears.words == ["no call 0", "no call 0", "no call 0"])
    #expect(ana.calls.isEmpty)
  }
}
