import AzureCommunicationCalling
import AzureCommunicationCommon
import Koine
import Testing

/// Identifiers, options and numbers, without a call.
struct ValueTests {
  @Test func identifiersAreBuiltFromTheirParts() {
    #expect(IdentifierKind(rawValue: "x") !== IdentifierKind.unknown)
    let user: CommunicationIdentifier = CommunicationUserIdentifier("8:acs:x")
    #expect(user.rawId == "8:acs:x")
    #expect(user.kind === IdentifierKind.communicationUser)
    #expect((user as? CommunicationUserIdentifier)?.identifier == "8:acs:x")
    #expect(CommunicationUserIdentifier("a") != CommunicationUserIdentifier("a"))
    let number = PhoneNumberIdentifier(phoneNumber: "+1", rawId: nil)
    #expect(number.rawId == "4:+1")
    #expect(number.phoneNumber == "+1")
    #expect(number == PhoneNumberIdentifier(phoneNumber: "+1"))
    let teams = MicrosoftTeamsUserIdentifier(
      userId: "u", isAnonymous: false, rawId: nil, cloudEnvironment: CommunicationCloudEnvironment.Dod)
    #expect(teams.rawId == "8:dod:u")
    #expect(teams.userId == "u")
    #expect(!teams.isAnonymous)
    #expect(teams.kind === IdentifierKind.microsoftTeamsUser)
    #expect(teams.cloudEnvironment == .Dod)
    #expect(UnknownIdentifier("?").identifier == "?")
    #expect(UnknownIdentifier("?").rawId == "?")
  }

  @Test func rawIDsAreParsedToIdentifierKinds() {
    let kinds: [(String, IdentifierKind)] = [
      ("4:+1555", .phoneNumber), ("8:acs:a_b", .communicationUser), ("8:acs:a_b_c", .teamsExtensionUser),
      ("8:orgid:x", .microsoftTeamsUser), ("8:teamsvisitor:x", .microsoftTeamsUser), ("28:orgid:x", .microsoftTeamsApp),
      ("8:spool:x", .communicationUser), ("48:x", .unknown), ("", .unknown), ("8:gcch-acs:a", .communicationUser),
    ]
    for (raw, kind) in kinds {
      let made: CommunicationIdentifier = createCommunicationIdentifier(fromRawId: raw)
      #expect(made.kind === kind)
      #expect(made.rawId == raw)
    }
  }

  @Test func credentialIsBuiltFromTokenOrRefresher() async throws {
    #expect(throws: (any Error).self) { try CommunicationTokenCredential(token: "none") }
    let refresher: TokenRefresher = { (handler: @escaping TokenRefreshHandler) in handler(nil, nil) }
    let options = CommunicationTokenRefreshOptions(
      initialToken: nil, refreshProactively: false, tokenRefresher: refresher)
    try CommunicationTokenCredential(withOptions: options).cancel()
    let fresh = accessToken(for: "ana")
    let refreshed = try CommunicationTokenCredential(
      withOptions: CommunicationTokenRefreshOptions { handler in handler(fresh, nil) })
    #expect(try await refreshed.token().token == fresh)
    let provider: CommunicationTokenCredentialProviding = refreshed
    let told = Lock<String?>(nil)
    provider.token { token, _ in told.withLock { $0 = token?.token } }
    #expect(told.withLock { $0 } == fresh)
    let (now, token) = (Date(), "t")
    let access = CommunicationAccessToken(token: token, expiresOn: now)
    #expect(access.token == token)
    #expect(access.expiresOn == now)
  }

  @Test func agentOptionsKeepTheirValues() {
    let options = CallAgentOptions()
    options.displayName = "Ana"
    let client = CallClientOptions()
    client.diagnostics = CallDiagnosticsOptions()
    #expect(client.diagnostics?.tags == [])
    client.diagnostics?.appName = "app"
    client.diagnostics?.appVersion = "1"
    client.diagnostics?.tags = ["a"]
    #expect(client.diagnostics?.tags == ["a"])
    #expect(options.displayName == "Ana")
    let hangUp = HangUpOptions()
    #expect(!hangUp.forEveryone)
    hangUp.forEveryone = true
    #expect(hangUp.forEveryone)
  }

  @Test func callOptionsKeepTheirValues() {
    let start = StartCallOptions()
    #expect(start.videoOptions == nil)
    #expect(start.audioOptions == nil)
    #expect(start.outgoingVideoOptions == nil)
    start.videoOptions = VideoOptions(localVideoStreams: [])
    #expect(start.videoOptions?.localVideoStreams.isEmpty == true)
    start.audioOptions = AudioOptions()
    start.audioOptions?.muted = true
    #expect(start.audioOptions?.muted == true)
    start.alternateCallerId = PhoneNumberIdentifier(phoneNumber: "+1")
    let accept = AcceptCallOptions()
    accept.videoOptions = VideoOptions(localVideoStreams: [])
    #expect(accept.videoOptions != nil)
    let join: CallOptions = JoinCallOptions()
    join.incomingVideoOptions = IncomingVideoOptions()
    join.incomingVideoOptions?.streamType = .rawIncoming
    join.outgoingVideoOptions = OutgoingVideoOptions()
    join.outgoingVideoOptions?.streams = [OutgoingVideoStream]()
    join.incomingAudioOptions = IncomingAudioOptions()
    join.incomingAudioOptions?.muted = true
    join.outgoingAudioOptions = OutgoingAudioOptions()
    join.outgoingAudioOptions?.muted = true
    #expect(join.incomingVideoOptions?.streamType == .rawIncoming)
    #expect(join.outgoingVideoOptions?.streams.isEmpty == true)
    #expect(join.incomingAudioOptions?.muted == true)
    #expect(join.outgoingAudioOptions?.muted == true)
    let add = AddPhoneNumberOptions()
    add.alternateCallerId = PhoneNumberIdentifier(phoneNumber: "+2")
    #expect(add.alternateCallerId.phoneNumber == "+2")
    #expect(start.alternateCallerId.phoneNumber == "+1")
  }

  @Test func locatorsKeepTheirMeetingIDs() {
    let id = UUID()
    let group: JoinMeetingLocator = GroupCallLocator(groupId: id)
    #expect((group as? GroupCallLocator)?.groupId == id)
    #expect(RoomCallLocator(roomId: "r").roomId == "r")
    let teams: JoinTeamsMeetingLocator = TeamsMeetingLinkLocator(meetingLink: "https://teams.example/l/1")
    #expect((teams as? TeamsMeetingLinkLocator)?.meetingLink == "https://teams.example/l/1")
  }

  @Test func viewOptionsAndStreamSizeKeepTheirValues() {
    let options = CreateViewOptions(scalingMode: ScalingMode.fit)
    #expect(options.scalingMode == .fit)
    options.scalingMode = .crop
    #expect(options.scalingMode == .crop)
    let size: StreamSize = StreamSize(width: 3, height: 4)
    #expect(String(size.width) + "x" + String(size.height) == "3x4")
    #expect(StreamSize().width == Int32(0))
    #expect(CallState(rawValue: 2) == nil)
    #expect(VideoStreamSourceType.screenSharing == MediaStreamType.screenSharing)
  }

  /// Includes values that Koine never reports: apps switch over all of them, and store their numbers.
  @Test func statesAndKindsHaveTheVendorsRawValues() {
    let calls: [(CallState, Int)] = [
      (.none, 0), (.earlyMedia, 1), (.connecting, 3), (.ringing, 4), (.connected, 5), (.localHold, 6),
      (.disconnecting, 7), (.disconnected, 8), (.inLobby, 9), (.remoteHold, 10),
    ]
    for (state, number) in calls { #expect(state.rawValue == number && CallState(rawValue: number) == state) }
    let people: [ParticipantState] = [
      .idle, .earlyMedia, .connecting, .connected, .hold, .inLobby, .disconnected, .ringing,
    ]
    let facings: [CameraFacing] = [.unknown, .external, .front, .back, .panoramic, .leftFront, .rightFront]
    let kinds: [VideoDeviceType] = [.unknown, .usbCamera, .captureAdapter, .virtual]
    #expect(people.map(\.rawValue) == Array(0..<8))
    #expect(ParticipantState(rawValue: 8) == nil)
    #expect(facings.map(\.rawValue) == Array(0..<7))
    #expect(CameraFacing(rawValue: 7) == nil)
    #expect(kinds.map(\.rawValue) == Array(0..<4))
    #expect(VideoDeviceType(rawValue: 4) == nil)
  }

  @Test func errorsHaveTheVendorsCodes() {
    let codes: [(CallingCommunicationErrors, Int)] = [
      ([], 0), (.noAudioPermission, 1), (.noVideoPermission, 2), (.noAudioAndVideoPermission, 3),
      (.multipleRenderersNotSupported, 64), (.multipleViewsNotSupported, 128),
      (.noMultipleConnectionsWithSameIdentity, 512), (.incomingCallAlreadyUnplaced, 4096),
      (.invalidMeetingLink, 16_384), (.participantAddedToUnconnectedCall, 32_768),
      (.participantAlreadyAddedToCall, 65_536), (.callFeatureExtensionNotFound, 131_072), (.duplicateDeviceId, 262_144),
      (.invalidVideoStreamCombination, 4_194_304), (.invalidParticipantAddedToCall, 536_870_912),
      (.invalidVideoFormat, 257), (.unsupportedVideoStreamResolution, 260), (.getCaptionsFailed, 272),
      (.captionsFailedToStop, 301), (.musicModeNotEnabled, 277), (.muteOthersNotFound, 280),
      (.lobbyAdmitOperationFailure, 287), (.mediaStatisticsInvalidReportInterval, 290),
      (.dataChannelMessageFailureForTrafficLimit, 296), (.invalidTokenProvider, 297), (.switchSourceBlocked, 305),
      (.surveyDoubleSubmissionNotAllowed, 309), (.realTimeTextContentTooLong, 311),
      (.failedToProcessPushNotificationPayload, 8), (.invalidGuidGroupId, 16),
      (.invalidLocalVideoStreamForVideoOptions, 256), (.invalidServerCallId, 1_024),
      (.virtualDeviceNotStarted, 1_048_576), (.failedToHangupForEveryone, 16_777_216),
      (.noMultipleConnectionsWithDifferentClouds, 33_554_432), (.featureExtensionNotFound, 67_108_864),
      (.videoEffectNotSupported, 134_217_728),
    ]
    for (error, code) in codes { #expect(error.rawValue == code) }
  }
}
