import AzureCommunicationCalling
import CrossVendorConventions
import Koine
import KoineEmbeddedBackend
import KoineTokens
import Testing

/// Roles, capabilities and the lobby of a room, by the permissions of tokens.
struct RoleTests {
  private let telephone: Telephone

  init() throws { telephone = try Telephone() }

  private static func token(_ rights: Set<KoineToken.Right>) throws -> String {
    let now = NumericDate.ofSystemClock()
    return try KoineToken(rights: rights, issued: now, expires: now + 600)
      .signed(with: SigningKey(generating: .p256))
  }

  private struct Place {
    let agent: CallAgent
    let hears: Recorder
    let call: Call
  }

  private func join(_ user: String, _ rights: Set<KoineToken.Right>? = nil) async throws -> Place {
    let (agent, hears) = try await telephone.agent(user, token: rights.map { try Self.token($0) })
    agent.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { hears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    return Place(agent: agent, hears: hears, call: try #require(hears.call))
  }

  private func allowed(_ call: Call) -> Set<ParticipantCapabilityType> {
    Set(call.feature(Features.capabilities).capabilities.filter(\.isAllowed).map(\.type))
  }

  private static let always: Set<ParticipantCapabilityType> = [.addCommunicationUser, .addPhoneNumber, .raiseHand]

  @Test func roleFollowsFromTheTokensPermissions() async throws {
    let presenter = try await join("ana")
    #expect(presenter.call.callParticipantRole == .presenter)
    let attendee = try await join("ben", [.publishSound, .subscribe])
    #expect(attendee.call.callParticipantRole == .attendee)
    let consumer = try await join("cleo", [.subscribe])
    #expect(consumer.call.callParticipantRole == .consumer)
    #expect(presenter.call.remoteParticipants.map(\.callParticipantRole) == [.uninitialized, .uninitialized])
  }

  @Test func rolesOfOthersAreThoseThatTheBackEndGives() async throws {
    let (ana, ben) = (try await join("ana"), try await join("ben"))
    let other = try #require(ana.call.remoteParticipants.first)
    #expect(other.callParticipantRole == .uninitialized)
    let told = RoleRecorder()
    other.delegate = told
    other.events.onRoleChanged = { _ in told.note("event") }
    let backend = try #require(telephone.world.backend as? EmbeddedBackend)
    for role in ["presenter", "collaborator", "attendee", "consumer", "speaker"] {
      backend.setRole(role, of: other.id, in: "tea")
      await telephone.run(.milliseconds(500))
    }
    // A collaborator is an attendee, which is no change to an attendee.
    let expected = ["presenter", "attendee", "consumer", "uninitialized"].flatMap { ["role of ben \($0)", "event"] }
    #expect(told.words == expected)
    // What a participant says of itself does not count.
    ben.call.session.setAttributes([Convention.role: "presenter"])
    await telephone.run(.milliseconds(500))
    #expect(other.callParticipantRole == .uninitialized)
    let cleo = try await join("cleo")
    backend.setRole("consumer", of: other.id, in: "tea")
    await telephone.run(.milliseconds(500))
    #expect(cleo.call.remoteParticipants.first { $0.id == other.id }?.callParticipantRole == .consumer)
    let dan = try await join("dan")
    #expect(dan.call.remoteParticipants.first { $0.id == other.id }?.callParticipantRole == .consumer)
  }

  @Test func capabilitiesFollowFromTheTokensPermissions() async throws {
    let presenter = try await join("ana")
    let capabilities = presenter.call.feature(Features.capabilities).capabilities
    #expect(capabilities.map(\.type) == ParticipantCapabilityType.allCases)
    #expect(
      Set(capabilities.filter { $0.reason == .featureNotSupported }.map(\.type))
        == [.addTeamsUser, .blurBackground, .customBackground, .startLiveCaptions])
    #expect(capabilities.allSatisfy { $0.isAllowed == ($0.reason == .capable) })
    #expect(capabilities.filter(\.isAllowed).count == 12)
    let attendee = try await join("ben", [.publishSound, .subscribe, .send])
    #expect(allowed(attendee.call) == Self.always.union([.unmuteMicrophone]))
    let video = attendee.call.feature(Features.capabilities).capabilities.first { $0.type == .turnVideoOn }
    #expect(video?.reason == .roleRestricted)
  }

  @Test func capabilitiesBeforeTheRoomIsEnteredAreNotInitialized() async throws {
    let host = try await join("host", [.publish, .subscribe, .moderate])
    let (agent, hears) = try await telephone.agent("ben", token: try Self.token([.publish, .subscribe, .ask]))
    agent.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { hears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    let call = try #require(hears.call)
    #expect(call.state == .inLobby)
    #expect(call.callParticipantRole == .uninitialized)
    let feature = call.feature(Features.capabilities)
    #expect(feature.capabilities.allSatisfy { $0.reason == .notInitialized && !$0.isAllowed })
    let told = RoleRecorder()
    feature.delegate = told
    call.events.onRoleChanged = { _ in told.note("role \(call.callParticipantRole)") }
    host.call.callLobby.admitAll { _, _ in }
    await telephone.run(.milliseconds(500))
    #expect(told.words == ["role attendee", "16 roleChanged"])
    #expect(allowed(call) == Self.always.union([.turnVideoOn, .unmuteMicrophone, .shareScreen]))
  }

  @Test func changedPermissionsChangeCapabilitiesAndRole() async throws {
    let ben = try await join("ben", [.publish, .subscribe, .send])
    let (told, feature) = (RoleRecorder(), ben.call.feature(Features.capabilities))
    feature.delegate = told
    let closures = Lock(0)
    feature.events.onCapabilitiesChanged = { _ in closures.withLock { $0 += 1 } }
    ben.call.delegate = told
    ben.call.session.renew(credential: try Self.token([.publishSound, .subscribe, .send]))
    await telephone.run(.milliseconds(500))
    #expect(told.words == ["turnVideoOn false shareScreen false userPolicyChanged"])
    #expect(ben.call.callParticipantRole == .attendee)
    ben.call.session.renew(credential: try Self.token([.subscribe]))
    await telephone.run(.milliseconds(500))
    #expect(Array(told.words.dropFirst()) == ["role consumer", "unmuteMicrophone false roleChanged"])
    #expect(allowed(ben.call) == Self.always)
    #expect(closures.withLock { $0 } == 2)
  }

  // MARK: Lobby

  /// A host that may admit, and two guests that wait.
  private func lobby() async throws -> (host: Place, guests: [Place], told: RoleRecorder) {
    let host = try await join("host", [.publish, .subscribe, .moderate])
    let told = RoleRecorder()
    host.call.callLobby.delegate = told
    var guests: [Place] = []
    for name in ["ben", "eva"] { guests.append(try await join(name, [.publish, .subscribe, .ask])) }
    return (host, guests, told)
  }

  @Test func waitingParticipantsAreListedInTheLobby() async throws {
    let (host, guests, told) = try await lobby()
    let lobby = host.call.callLobby
    #expect(lobby === host.call.callLobby)
    #expect(lobby.participants.map(\.displayName) == ["ben", "eva"])
    #expect(lobby.participants.map(\.state) == [.inLobby, .inLobby])
    #expect(host.call.remoteParticipants.isEmpty)
    #expect(told.words == ["lobby +ben", "lobby +eva"])
    let closures = Lock(0)
    lobby.events.onLobbyParticipantsUpdated = { _ in closures.withLock { $0 += 1 } }
    guests[0].call.hangUp(options: nil) { _ in }
    await telephone.run(.milliseconds(500))
    #expect(lobby.participants.map(\.displayName) == ["eva"])
    #expect(told.words.last == "lobby -ben")
    #expect(closures.withLock { $0 } == 1)
  }

  @Test func admittedParticipantJoinsTheCall() async throws {
    let (host, guests, told) = try await lobby()
    let identifier = try #require(host.call.callLobby.participants.first).identifier
    let successes = Lock<Int32?>(nil)
    host.call.callLobby.admit(identifiers: [identifier]) { result, error in
      successes.withLock { $0 = error == nil && result?.failedParticipants.isEmpty == true ? result?.successCount : -1 }
    }
    await telephone.run(.milliseconds(500))
    #expect(successes.withLock { $0 } == 1)
    #expect(guests[0].call.state == .connected)
    #expect(guests[1].call.state == .inLobby)
    #expect(host.call.remoteParticipants.map(\.displayName) == ["ben"])
    #expect(host.call.callLobby.participants.map(\.displayName) == ["eva"])
    #expect(told.words.last == "lobby -ben")
  }

  @Test func admitAllAdmitsTheWholeLobby() async throws {
    let (host, guests, _) = try await lobby()
    let counts = Lock<[Int32]>([])
    for _ in 0..<2 {
      host.call.callLobby.admitAll { result, _ in
        counts.withLock { $0 += [result?.successCount ?? -1, result?.failureCount ?? -1] }
      }
      await telephone.run(.milliseconds(500))
    }
    #expect(counts.withLock { $0 } == [2, 0, 0, 0])
    #expect(guests.map(\.call.state) == [.connected, .connected])
    #expect(host.call.callLobby.participants.isEmpty)
  }

  @Test func rejectedParticipantIsDisconnected() async throws {
    let (host, guests, _) = try await lobby()
    let identifier = try #require(host.call.callLobby.participants.first).identifier
    host.call.callLobby.reject(identifier: identifier) { error in host.hears.note("rejected \(error == nil)") }
    await telephone.run(.milliseconds(500))
    #expect(host.hears.words.last == "rejected true")
    #expect(guests[0].call.state == .disconnected)
    #expect(guests[0].call.callEndReason.subcode == 5854)
    let code = Lock(0)
    host.call.callLobby.reject(identifier: identifier) { error in
      code.withLock { $0 = (error as NSError?)?.code ?? 0 }
    }
    await telephone.run(.milliseconds(100))
    #expect(code.withLock { $0 } == CallingCommunicationErrors.lobbyParticipantNotExist.rawValue)
  }

  @Test func participantWithoutThePermissionCannotAdmit() async throws {
    let (_, guests, _) = try await lobby()
    let cleo = try await join("cleo", [.publish, .subscribe])
    #expect(cleo.call.callLobby.participants.isEmpty)
    let code = Lock(0)
    cleo.call.callLobby.admitAll { result, error in
      code.withLock { $0 = result == nil ? (error as NSError?)?.code ?? 0 : -1 }
    }
    await telephone.run(.milliseconds(100))
    #expect(code.withLock { $0 } == CallingCommunicationErrors.lobbyMeetingRoleNotAllowed.rawValue)
    #expect(guests[0].call.state == .inLobby)
  }

  @Test func openAdmissionFailsBeforeTheCallEnds() async throws {
    let (host, _, _) = try await lobby()
    let backend = telephone.world
    host.call.callLobby.admitAll { result, error in host.hears.note("admitted \(error == nil)") }
    host.call.hangUp(options: nil) { _ in }
    await telephone.run(.milliseconds(500))
    let words = host.hears.words
    let answer = try #require(words.firstIndex { $0.hasPrefix("admitted") })
    #expect(answer < (try #require(words.firstIndex(of: "state disconnected"))))
    #expect(words.count { $0.hasPrefix("admitted") } == 1)
    withExtendedLifetime(backend) {}
  }

  // MARK: Survey

  @Test func surveyIsCheckedAndKeptOnce() async throws {
    let ana = try await join("ana")
    let feature = ana.call.feature(Features.survey)
    ana.call.hangUp(options: nil) { _ in }
    await telephone.run(.milliseconds(500))
    let held = Lock<CallSurvey?>(nil)
    feature.startSurvey { survey, _ in held.withLock { $0 = survey } }
    await telephone.run(.milliseconds(50))
    let survey = try #require(held.withLock { $0 })
    #expect(survey.overallScore.scale.lowerBound == 1)
    #expect(survey.overallScore.scale.upperBound == 5)
    #expect(survey.overallScore.scale.lowScoreThreshold == 3)
    func submit() async -> (result: CallSurveyResult?, code: Int) {
      let answer = Lock<(CallSurveyResult?, Int)>((nil, -1))
      feature.submit(survey: survey) { result, error in
        answer.withLock { $0 = (result, (error as NSError?)?.code ?? 0) }
      }
      await telephone.run(.milliseconds(50))
      return answer.withLock { $0 }
    }
    survey.overallScore.score = 6
    #expect(await submit().code == CallingCommunicationErrors.surveyScoreOutOfBounds.rawValue)
    survey.overallScore.score = 4
    survey.audioScore.scale.upperBound = 101
    #expect(await submit().code == CallingCommunicationErrors.surveyRatingScaleOutOfBounds.rawValue)
    survey.audioScore.scale.upperBound = 10
    survey.audioScore.scale.lowScoreThreshold = 11
    #expect(await submit().code == CallingCommunicationErrors.surveyRatingScaleInvalidThreshold.rawValue)
    survey.audioScore.scale.lowScoreThreshold = 5
    survey.audioIssues = [.echo, .lowVolume]
    #expect(feature.submittedSurveys.isEmpty)
    let first = await submit()
    #expect(first.code == 0)
    #expect(first.result?.callId == ana.call.id)
    #expect(first.result?.surveyId.isEmpty == false)
    #expect(first.result?.anonymizedParticipantId.contains("ana") == false)
    #expect(await submit().code == CallingCommunicationErrors.surveyDoubleSubmissionNotAllowed.rawValue)
    #expect(feature.submittedSurveys.map(\.audioIssues) == [[.echo, .lowVolume]])
  }
}

private final class RoleRecorder: NSObject, CallDelegate, CapabilitiesCallFeatureDelegate, CallLobbyDelegate,
  RemoteParticipantDelegate,
  @unchecked Sendable
{
  private let heard = Lock<[String]>([])
  var words: [String] { heard.withLock { $0 } }
  func note(_ word: String) { heard.withLock { $0.append(word) } }

  func call(_ call: Call, didChangeRole args: PropertyChangedEventArgs) { note("role \(call.callParticipantRole)") }

  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeRole args: PropertyChangedEventArgs) {
    note("role of \(remoteParticipant.displayName) \(remoteParticipant.callParticipantRole)")
  }

  func capabilitiesCallFeature(
    _ feature: CapabilitiesCallFeature, didChangeCapabilities args: CapabilitiesChangedEventArgs
  ) {
    let changed = args.changedCapabilities
    let text =
      changed.count > 3 ? "\(changed.count)" : changed.map { "\($0.type) \($0.isAllowed)" }.joined(separator: " ")
    note("\(text) \(args.reason)")
  }

  func callLobby(_ lobby: CallLobby, didUpdateLobbyParticipants args: ParticipantsUpdatedEventArgs) {
    for participant in args.addedParticipants { note("lobby +\(participant.displayName)") }
    for participant in args.removedParticipants { note("lobby -\(participant.displayName)") }
  }
}
