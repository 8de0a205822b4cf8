import AzureCommunicationCalling
import AzureCommunicationCommon
import Testing

// Every [seed] and [core] symbol with its exact signature, as an app would name it. Most of it has only to compile; the
// numbers of enumerations and codes are looked at.

struct CallAgentSymbols {
  @Test func identity() throws {
    let credential: (String) throws -> CommunicationTokenCredential = CommunicationTokenCredential.init(token:)
    let refreshed: (CommunicationTokenRefreshOptions) throws -> CommunicationTokenCredential =
      CommunicationTokenCredential.init(withOptions:)
    #expect(throws: (any Error).self) { try credential("none") }
    let refresher: TokenRefresher = { (handler: @escaping TokenRefreshHandler) in handler(nil, nil) }
    let options = CommunicationTokenRefreshOptions(
      initialToken: nil, refreshProactively: false, tokenRefresher: refresher)
    let made = try refreshed(options)
    let handler: CommunicationTokenCompletionHandler = { (token: CommunicationAccessToken?, error: Error?) in
      let _: String? = token?.token
      let _: Date? = token?.expiresOn
    }
    if false { made.token(completionHandler: handler) }
    made.cancel()
    let _: CommunicationAccessToken = CommunicationAccessToken(token: "", expiresOn: Date())

    let user: CommunicationIdentifier = CommunicationUserIdentifier("8:acs:x")
    #expect(user.rawId == "8:acs:x" && user.kind === IdentifierKind.communicationUser)
    #expect(CommunicationUserIdentifier("a") != CommunicationUserIdentifier("a"))
    let number = PhoneNumberIdentifier(phoneNumber: "+1", rawId: nil)
    #expect(number.rawId == "4:+1" && number.phoneNumber == "+1" && number == PhoneNumberIdentifier(phoneNumber: "+1"))
    let teams = MicrosoftTeamsUserIdentifier(
      userId: "u", isAnonymous: false, rawId: nil, cloudEnvironment: CommunicationCloudEnvironment.Dod)
    #expect(
      teams.rawId == "8:dod:u" && teams.userId == "u" && !teams.isAnonymous
        && teams.kind === IdentifierKind.microsoftTeamsUser)
    #expect(UnknownIdentifier("?").identifier == "?" && UnknownIdentifier("?").rawId == "?")
    let kinds: [(String, IdentifierKind)] = [
      ("4:+1555", .phoneNumber), ("8:acs:a_b", .communicationUser), ("8:acs:a_b_c", .teamsExtensionUser),
      ("8:orgid:x", .microsoftTeamsUser), ("8:teamsvisitor:x", .microsoftTeamsUser), ("28:orgid:x", .microsoftTeamsApp),
      ("8:spool:x", .communicationUser), ("48:x", .unknown), ("", .unknown), ("8:gcch-acs:a", .communicationUser),
    ]
    for (raw, kind) in kinds {
      let made: CommunicationIdentifier = createCommunicationIdentifier(fromRawId: raw)
      #expect(made.kind === kind && made.rawId == raw)
    }
  }

  @Test func entryPoints() {
    _ = CallClient() as NSObject
    _ = CallClient(options: CallClientOptions())
    let _: (CallClient) -> (CommunicationTokenCredential, @escaping (CallAgent?, Error?) -> Void) -> Void =
      CallClient.createCallAgent(userCredential:completionHandler:)
    let _:
      (CallClient) -> (CommunicationTokenCredential, CallAgentOptions?, @escaping (CallAgent?, Error?) -> Void) -> Void =
        CallClient.createCallAgent(userCredential:options:completionHandler:)
    let _: (CallClient) -> (@escaping (DeviceManager?, Error?) -> Void) -> Void =
      CallClient.getDeviceManager(completionHandler:)
    let _: (CallClient) -> () -> Void = CallClient.dispose
    let options = CallAgentOptions()
    options.displayName = "Ana"
    let client = CallClientOptions()
    client.diagnostics = CallDiagnosticsOptions()
    client.diagnostics?.appName = "app"
    client.diagnostics?.appVersion = "1"
    client.diagnostics?.tags = ["a"]
    #expect(client.diagnostics?.tags == ["a"] && options.displayName == "Ana")
  }

  @Test func agent() {
    let _: KeyPath<CallAgent, [Call]> = \.calls
    let _: ReferenceWritableKeyPath<CallAgent, CallAgentDelegate?> = \.delegate
    let _: (CallAgent) -> ([CommunicationIdentifier], StartCallOptions?, @escaping (Call?, Error?) -> Void) -> Void =
      CallAgent.startCall(participants:options:completionHandler:)
    let _: (CallAgent) -> ([CommunicationIdentifier], @escaping (Call?, Error?) -> Void) -> Void =
      CallAgent.startCall(participants:completionHandler:)
    let _: (CallAgent) -> (JoinMeetingLocator, JoinCallOptions?, @escaping (Call?, Error?) -> Void) -> Void =
      CallAgent.join(with:joinCallOptions:completionHandler:)
    let _: (CallAgent) -> (Data, @escaping (Error?) -> Void) -> Void =
      CallAgent.registerPushNotifications(deviceToken:completionHandler:)
    let _: (CallAgent) -> (@escaping (Error?) -> Void) -> Void = CallAgent.unregisterPushNotification(
      completionHandler:)
    let _: (CallAgent) -> (PushNotificationInfo, @escaping (Error?) -> Void) -> Void =
      CallAgent.handlePush(notification:completionHandler:)
    let _: (CallAgent) -> () -> Void = CallAgent.dispose
    let _: KeyPath<CallsUpdatedEventArgs, [Call]> = \.addedCalls
    let _: KeyPath<CallsUpdatedEventArgs, [Call]> = \.removedCalls
  }

  /// The async twins, never run.
  private func twins(_ client: CallClient, _ agent: CallAgent, _ call: Call, _ incoming: IncomingCall) async throws {
    let credential = try CommunicationTokenCredential(token: "")
    let _: CommunicationAccessToken = try await credential.token()
    let _: CallAgent = try await client.createCallAgent(userCredential: credential)
    let _: CallAgent = try await client.createCallAgent(userCredential: credential, options: CallAgentOptions())
    let manager: DeviceManager = try await client.getDeviceManager()
    let _: Call = try await agent.startCall(participants: [], options: StartCallOptions())
    let _: Call = try await agent.join(with: GroupCallLocator(groupId: UUID()), joinCallOptions: JoinCallOptions())
    let _: Call = try await incoming.accept(options: AcceptCallOptions())
    try await incoming.reject()
    let stream = LocalVideoStream(camera: manager.cameras[0])
    try await stream.switchSource(camera: manager.cameras[0])
    try await call.startVideo(stream: stream)
    try await call.stopVideo(stream: stream)
    try await call.mute()
    try await call.unmute()
    try await call.muteOutgoingAudio()
    try await call.unmuteOutgoingAudio()
    try await call.hold()
    try await call.resume()
    try await call.sendDtmf(tone: .one)
    try await call.hangUp(options: HangUpOptions())
    try await call.remove(participant: call.remoteParticipants[0])
    let _: RemoteParticipant? = try call.add(participant: CommunicationUserIdentifier("x"))
    let _: RemoteParticipant? = try call.add(
      participant: PhoneNumberIdentifier(phoneNumber: "+1"), options: AddPhoneNumberOptions())
    let _: RecordingCallFeature = call.feature(Features.recording)
    let _: DominantSpeakersCallFeature = call.feature(DominantSpeakersCallFeature.self)
  }

  @Test func call() {
    let _: KeyPath<Call, String> = \.id
    let _: KeyPath<Call, CallState> = \.state
    let _: KeyPath<Call, CallDirection> = \.direction
    let _: KeyPath<Call, [RemoteParticipant]> = \.remoteParticipants
    let _: KeyPath<Call, Int32> = \.totalParticipantCount
    let _: KeyPath<Call, CallEndReason> = \.callEndReason
    let _: KeyPath<Call, CallerInfo> = \.callerInfo
    let _: KeyPath<Call, Bool> = \.isMuted
    let _: KeyPath<Call, Bool> = \.isOutgoingAudioMuted
    let _: KeyPath<Call, [LocalVideoStream]> = \.localVideoStreams
    let _: KeyPath<Call, [OutgoingVideoStream]> = \.outgoingVideoStreams
    let _: ReferenceWritableKeyPath<Call, CallDelegate?> = \.delegate
    let _: KeyPath<CallEndReason, Int32> = \.code
    let _: KeyPath<CallEndReason, Int32> = \.subcode
    let _: KeyPath<CallerInfo, String> = \.displayName
    let _: KeyPath<CallerInfo, CommunicationIdentifier> = \.identifier
    let _: (Call) -> (LocalVideoStream, @escaping (Error?) -> Void) -> Void = { call in
      { call.startVideo(stream: $0, completionHandler: $1) }
    }
    let _: (Call) -> (HangUpOptions?, @escaping (Error?) -> Void) -> Void = Call.hangUp(options:completionHandler:)
    let hangUp = HangUpOptions()
    #expect(!hangUp.forEveryone)
    hangUp.forEveryone = true
    #expect(CallState.none.rawValue == 0 && CallState.earlyMedia.rawValue == 1 && CallState.connecting.rawValue == 3)
    #expect(CallState.ringing.rawValue == 4 && CallState.connected.rawValue == 5 && CallState.localHold.rawValue == 6)
    #expect(CallState.disconnecting.rawValue == 7 && CallState.disconnected.rawValue == 8)
    #expect(CallState.inLobby.rawValue == 9 && CallState.remoteHold.rawValue == 10 && CallState(rawValue: 2) == nil)
    #expect(CallDirection.outgoing.rawValue == 1 && CallDirection.incoming.rawValue == 2)
    #expect(DtmfTone.zero.rawValue == 0 && DtmfTone.star.rawValue == 10 && DtmfTone.flash.rawValue == 16)
  }

  @Test func delegatesAreAllOptionalButOne() {
    final class Everything: NSObject, CallAgentDelegate, CallDelegate, IncomingCallDelegate, RemoteParticipantDelegate,
      DeviceManagerDelegate, LocalVideoStreamDelegate, VideoStreamRendererDelegate
    {
      func videoStreamRenderer(didFailToStart renderer: VideoStreamRenderer) {}
    }
    let everything = Everything()
    let _: NSObjectProtocol & CallDelegate = everything
  }

  @Test func optionsKeepWhatIsSet() throws {
    let start = StartCallOptions()
    #expect(start.videoOptions == nil && start.audioOptions == nil && start.outgoingVideoOptions == nil)
    start.videoOptions = VideoOptions(localVideoStreams: [])
    #expect(start.videoOptions?.localVideoStreams.isEmpty == true)
    start.audioOptions = AudioOptions()
    start.audioOptions?.muted = true
    start.alternateCallerId = PhoneNumberIdentifier(phoneNumber: "+1")
    let accept: CallOptions = AcceptCallOptions()
    accept.videoOptions = VideoOptions(localVideoStreams: [])
    let join: CallOptions = JoinCallOptions()
    join.incomingVideoOptions = IncomingVideoOptions()
    join.incomingVideoOptions?.streamType = .remoteIncoming
    join.outgoingVideoOptions = OutgoingVideoOptions()
    join.outgoingVideoOptions?.streams = [OutgoingVideoStream]()
    join.incomingAudioOptions = IncomingAudioOptions()
    join.incomingAudioOptions?.muted = true
    join.outgoingAudioOptions = OutgoingAudioOptions()
    join.outgoingAudioOptions?.muted = true
    let add = AddPhoneNumberOptions()
    add.alternateCallerId = PhoneNumberIdentifier(phoneNumber: "+2")
    #expect(add.alternateCallerId.phoneNumber == "+2" && start.alternateCallerId.phoneNumber == "+1")
    let id = UUID()
    let group: JoinMeetingLocator = GroupCallLocator(groupId: id)
    #expect((group as? GroupCallLocator)?.groupId == id && RoomCallLocator(roomId: "r").roomId == "r")
    let teams: JoinTeamsMeetingLocator = TeamsMeetingLinkLocator(meetingLink: "https://teams.example/l/1")
    #expect((teams as? TeamsMeetingLinkLocator)?.meetingLink == "https://teams.example/l/1")
  }

  @Test func participantsAndStreams() {
    let _: KeyPath<IncomingCall, String> = \.id
    let _: KeyPath<IncomingCall, CallerInfo> = \.callerInfo
    let _: KeyPath<IncomingCall, Bool> = \.isVideoEnabled
    let _: KeyPath<IncomingCall, CallEndReason?> = \.callEndReason
    let _: ReferenceWritableKeyPath<IncomingCall, IncomingCallDelegate?> = \.delegate
    let _: KeyPath<RemoteParticipant, CommunicationIdentifier> = \.identifier
    let _: KeyPath<RemoteParticipant, String> = \.displayName
    let _: KeyPath<RemoteParticipant, ParticipantState> = \.state
    let _: KeyPath<RemoteParticipant, Bool> = \.isMuted
    let _: KeyPath<RemoteParticipant, Bool> = \.isSpeaking
    let _: KeyPath<RemoteParticipant, CallEndReason> = \.callEndReason
    let _: KeyPath<RemoteParticipant, [RemoteVideoStream]> = \.videoStreams
    let _: KeyPath<RemoteParticipant, [IncomingVideoStream]> = \.incomingVideoStreams
    let _: ReferenceWritableKeyPath<RemoteParticipant, RemoteParticipantDelegate?> = \.delegate
    let _: KeyPath<LocalVideoStream, VideoDeviceInfo> = \.source
    let _: KeyPath<LocalVideoStream, Bool> = \.isSending
    let _: KeyPath<LocalVideoStream, MediaStreamType> = \.mediaStreamType
    let _: KeyPath<RemoteVideoStream, Int32> = \.id
    let _: KeyPath<RemoteVideoStream, Bool> = \.isAvailable
    let _: KeyPath<CallVideoStream, VideoStreamType> = \.type
    let _: KeyPath<CallVideoStream, VideoStreamSourceType> = \.sourceType
    let _: KeyPath<CallVideoStream, VideoStreamState> = \.state
    let _: KeyPath<CallVideoStream, StreamDirection> = \.direction
    let _: KeyPath<IncomingVideoStream, String> = \.participantSourceId
    let _: KeyPath<VideoStreamStateChangedEventArgs, CallVideoStream> = \.stream
    let _: KeyPath<VideoStreamStateChangedEventArgs, String> = \.message
    let _: KeyPath<ParticipantsUpdatedEventArgs, [RemoteParticipant]> = \.addedParticipants
    let _: KeyPath<ParticipantsUpdatedEventArgs, [RemoteParticipant]> = \.removedParticipants
    let _: KeyPath<LocalVideoStreamsUpdatedEventArgs, [LocalVideoStream]> = \.addedStreams
    let _: KeyPath<LocalVideoStreamsUpdatedEventArgs, [LocalVideoStream]> = \.removedStreams
    let _: KeyPath<RemoteVideoStreamsEventArgs, [RemoteVideoStream]> = \.addedRemoteVideoStreams
    let _: KeyPath<RemoteVideoStreamsEventArgs, [RemoteVideoStream]> = \.removedRemoteVideoStreams
    let states: [ParticipantState] = [
      .idle, .earlyMedia, .connecting, .connected, .hold, .inLobby, .disconnected, .ringing,
    ]
    #expect(states.map(\.rawValue) == Array(0...7))
    let streams: [VideoStreamState] = [.available, .started, .stopping, .stopped, .notAvailable]
    #expect(streams.map(\.rawValue) == Array(0...4))
    let types: [VideoStreamType] = [
      .remoteIncoming, .rawIncoming, .localOutgoing, .virtualOutgoing, .screenShareOutgoing,
    ]
    #expect(types.map(\.rawValue) == Array(1...5))
    #expect(MediaStreamType.video.rawValue == 1 && VideoStreamSourceType.screenSharing.rawValue == 2)
    #expect(StreamDirection.incoming.rawValue == 0 && StreamDirection.outgoing.rawValue == 1)
  }

  @Test func devicesAndRendering() {
    let _: KeyPath<DeviceManager, [VideoDeviceInfo]> = \.cameras
    let _: ReferenceWritableKeyPath<DeviceManager, DeviceManagerDelegate?> = \.delegate
    let _: KeyPath<VideoDeviceInfo, String> = \.name
    let _: KeyPath<VideoDeviceInfo, String> = \.id
    let _: KeyPath<VideoDeviceInfo, CameraFacing> = \.cameraFacing
    let _: KeyPath<VideoDeviceInfo, VideoDeviceType> = \.deviceType
    let _: KeyPath<VideoDevicesUpdatedEventArgs, [VideoDeviceInfo]> = \.addedVideoDevices
    let _: KeyPath<VideoDevicesUpdatedEventArgs, [VideoDeviceInfo]> = \.removedVideoDevices
    let _: (LocalVideoStream) throws -> VideoStreamRenderer = VideoStreamRenderer.init(localVideoStream:)
    let _: (RemoteVideoStream) throws -> VideoStreamRenderer = VideoStreamRenderer.init(remoteVideoStream:)
    let _: (VideoStreamRenderer) -> (CreateViewOptions?) throws -> RendererView =
      VideoStreamRenderer.createView(withOptions:)
    let _: (VideoStreamRenderer) -> () throws -> RendererView = VideoStreamRenderer.createView
    let _: (VideoStreamRenderer) -> () -> Void = VideoStreamRenderer.dispose
    let _: KeyPath<VideoStreamRenderer, StreamSize> = \.size
    let _: ReferenceWritableKeyPath<VideoStreamRenderer, RendererDelegate?> = \.delegate
    let _: (RendererView) -> (ScalingMode) -> Void = { view in { view.update(scalingMode: $0) } }
    let _: (RendererView) -> () -> Bool = { view in { view.isRendering() } }
    let options = CreateViewOptions(scalingMode: ScalingMode.fit)
    options.scalingMode = .crop
    #expect(ScalingMode.crop.rawValue == 1 && ScalingMode.fit.rawValue == 2)
    let size: StreamSize = StreamSize(width: 3, height: 4)
    #expect(String(size.width) + "x" + String(size.height) == "3x4" && StreamSize().width == Int32(0))
    let facings: [CameraFacing] = [.unknown, .external, .front, .back, .panoramic, .leftFront, .rightFront]
    #expect(facings.map(\.rawValue) == Array(0...6) && VideoDeviceType.virtual.rawValue == 3)
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
    ]
    for (error, code) in codes { #expect(error.rawValue == code) }
  }
}
