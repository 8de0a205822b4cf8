import AzureCommunicationCalling
import AzureCommunicationCommon
import Foundation
import KoineUIKit
import Testing

// Every [seed] and [core] symbol of versions 1.0 to 2.2 with its exact signature; all of it is in 2.15 as well, the names
// that were replaced there included.

struct CallAgentVersion1 {
  @Test func identityAndCredentials() {
    let _: NSObject.Type = CommunicationTokenCredential.self
    let _: any CommunicationTokenCredentialProviding.Type = CommunicationTokenCredential.self
    let _: (String) throws -> CommunicationTokenCredential = CommunicationTokenCredential.init(token:)
    let _: (CommunicationTokenRefreshOptions) throws -> CommunicationTokenCredential = CommunicationTokenCredential
      .init(withOptions:)
    let _: (CommunicationTokenCredential) -> (@escaping CommunicationTokenCompletionHandler) -> Void =
      CommunicationTokenCredential.token(completionHandler:)
    let _: NSObject.Type = CommunicationTokenRefreshOptions.self
    let _: (String?, Bool, @escaping TokenRefresher) -> CommunicationTokenRefreshOptions =
      CommunicationTokenRefreshOptions.init(initialToken:refreshProactively:tokenRefresher:)
    let _: ((CommunicationAccessToken?, (any Error)?) -> Void).Type = CommunicationTokenCompletionHandler.self
    let _: ((String?, (any Error)?) -> Void).Type = TokenRefreshHandler.self
    let _: ((@escaping TokenRefreshHandler) -> Void).Type = TokenRefresher.self
    let _: NSObject.Type = CommunicationAccessToken.self
    let _: (String, Date) -> CommunicationAccessToken = CommunicationAccessToken.init(token:expiresOn:)
    let _: KeyPath<CommunicationAccessToken, String> = \CommunicationAccessToken.token
    let _: KeyPath<CommunicationAccessToken, Date> = \CommunicationAccessToken.expiresOn
    let _: NSObject.Type = CommunicationUserIdentifier.self
    let _: any CommunicationIdentifier.Type = CommunicationUserIdentifier.self
    let _: (String) -> CommunicationUserIdentifier = CommunicationUserIdentifier.init(_:)
    let _: KeyPath<CommunicationUserIdentifier, String> = \CommunicationUserIdentifier.identifier
    let _: NSObject.Type = PhoneNumberIdentifier.self
    let _: any CommunicationIdentifier.Type = PhoneNumberIdentifier.self
    let _: (String, String?) -> PhoneNumberIdentifier = PhoneNumberIdentifier.init(phoneNumber:rawId:)
    let _: KeyPath<PhoneNumberIdentifier, String> = \PhoneNumberIdentifier.phoneNumber
    let _: NSObject.Type = MicrosoftTeamsUserIdentifier.self
    let _: any CommunicationIdentifier.Type = MicrosoftTeamsUserIdentifier.self
    let _: (String, Bool, String?, CommunicationCloudEnvironment) -> MicrosoftTeamsUserIdentifier =
      MicrosoftTeamsUserIdentifier.init(userId:isAnonymous:rawId:cloudEnvironment:)
    let _: KeyPath<MicrosoftTeamsUserIdentifier, String> = \MicrosoftTeamsUserIdentifier.userId
    let _: KeyPath<MicrosoftTeamsUserIdentifier, Bool> = \MicrosoftTeamsUserIdentifier.isAnonymous
    let _: KeyPath<MicrosoftTeamsUserIdentifier, CommunicationCloudEnvironment> =
      \MicrosoftTeamsUserIdentifier.cloudEnvironment
    let _: NSObject.Type = UnknownIdentifier.self
    let _: any CommunicationIdentifier.Type = UnknownIdentifier.self
    let _: (String) -> UnknownIdentifier = UnknownIdentifier.init(_:)
    let _: KeyPath<UnknownIdentifier, String> = \UnknownIdentifier.identifier
  }

  /// Never run: it has only to compile.
  private func identityAndCredentialsProtocols(_ communicationIdentifier: any CommunicationIdentifier) {
    let _: any NSObjectProtocol = communicationIdentifier
  }

  @Test func entryPoints() {
    let _: NSObject.Type = CallClient.self
    let _: () -> CallClient = CallClient.init
    let _: (CallClient) -> (CommunicationTokenCredential, @escaping (CallAgent?, (any Error)?) -> Void) -> Void =
      CallClient.createCallAgent(userCredential:completionHandler:)
    let _: (CallClient) -> (@escaping (DeviceManager?, (any Error)?) -> Void) -> Void = CallClient.getDeviceManager(
      completionHandler:)
    let _:
      (CallClient) -> (CommunicationTokenCredential, CallAgentOptions?, @escaping (CallAgent?, (any Error)?) -> Void) ->
        Void = CallClient.createCallAgent(userCredential:options:completionHandler:)
    let _: (CallClient) -> () -> Void = CallClient.dispose
    let _: NSObject.Type = CallAgentOptions.self
    let _: ReferenceWritableKeyPath<CallAgentOptions, String> = \CallAgentOptions.displayName
    let _: NSObject.Type = CallAgent.self
    let _:
      (CallAgent) -> ([any CommunicationIdentifier], StartCallOptions?, @escaping (Call?, (any Error)?) -> Void) -> Void =
        CallAgent.startCall(participants:options:completionHandler:)
    let _: ReferenceWritableKeyPath<CallAgent, (any CallAgentDelegate)?> = \CallAgent.delegate
    let _: KeyPath<CallAgent, [Call]> = \CallAgent.calls
    let _: (CallAgent) -> (JoinMeetingLocator, JoinCallOptions?, @escaping (Call?, (any Error)?) -> Void) -> Void =
      CallAgent.join(with:joinCallOptions:completionHandler:)
    let _: (CallAgent) -> (Data, @escaping ((any Error)?) -> Void) -> Void = CallAgent.registerPushNotifications(
      deviceToken:completionHandler:)
    let _: (CallAgent) -> (@escaping ((any Error)?) -> Void) -> Void = CallAgent.unregisterPushNotification(
      completionHandler:)
    let _: (CallAgent) -> (PushNotificationInfo, @escaping ((any Error)?) -> Void) -> Void = CallAgent.handlePush(
      notification:completionHandler:)
    let _: (CallAgent) -> () -> Void = CallAgent.dispose
    let _: NSObject.Type = CallsUpdatedEventArgs.self
    let _: KeyPath<CallsUpdatedEventArgs, [Call]> = \CallsUpdatedEventArgs.removedCalls
    let _: KeyPath<CallsUpdatedEventArgs, [Call]> = \CallsUpdatedEventArgs.addedCalls
  }

  /// Never run: it has only to compile.
  private func entryPointsProtocols(_ callAgentDelegate: any CallAgentDelegate) {
    let _: any NSObjectProtocol = callAgentDelegate
    let _: (CallAgent, IncomingCall) -> Void = callAgentDelegate.callAgent(_:didRecieveIncomingCall:)
    let _: (CallAgent, CallsUpdatedEventArgs) -> Void = callAgentDelegate.callAgent(_:didUpdateCalls:)
  }

  @Test func calls() {
    let _: NSObject.Type = Call.self
    let _: KeyPath<Call, CallState> = \Call.state
    let _: KeyPath<Call, [RemoteParticipant]> = \Call.remoteParticipants
    let _: ReferenceWritableKeyPath<Call, (any CallDelegate)?> = \Call.delegate
    let _: KeyPath<Call, String> = \Call.id
    let _: KeyPath<Call, CallDirection> = \Call.direction
    let _: KeyPath<Call, CallerInfo> = \Call.callerInfo
    let _: KeyPath<Call, Int32> = \Call.totalParticipantCount
    let _: KeyPath<Call, CallEndReason> = \Call.callEndReason
    let _: KeyPath<Call, Bool> = \Call.isMuted
    let _: (Call) -> (@escaping ((any Error)?) -> Void) -> Void = Call.mute(completionHandler:)
    let _: (Call) -> (@escaping ((any Error)?) -> Void) -> Void = Call.unmute(completionHandler:)
    let _: KeyPath<Call, [LocalVideoStream]> = \Call.localVideoStreams
    let _: (Call) -> (HangUpOptions?, @escaping ((any Error)?) -> Void) -> Void = Call.hangUp(
      options:completionHandler:)
    let _: (Call) -> (@escaping ((any Error)?) -> Void) -> Void = Call.hold(completionHandler:)
    let _: (Call) -> (@escaping ((any Error)?) -> Void) -> Void = Call.resume(completionHandler:)
    let _: (Call) -> (DtmfTone, @escaping ((any Error)?) -> Void) -> Void = Call.sendDtmf(tone:completionHandler:)
    let _: (Call) -> (RemoteParticipant, @escaping ((any Error)?) -> Void) -> Void = Call.remove(
      participant:completionHandler:)
    let _: (Call) -> (LocalVideoStream, @escaping ((any Error)?) -> Void) -> Void = { call in
      { call.startVideo(stream: $0, completionHandler: $1) }
    }
    let _: (Call) -> (LocalVideoStream, @escaping ((any Error)?) -> Void) -> Void = { call in
      { call.stopVideo(stream: $0, completionHandler: $1) }
    }
    #expect([CallDirection.outgoing, .incoming].map(\.rawValue) == [1, 2])
    let _: NSObject.Type = CallerInfo.self
    let _: KeyPath<CallerInfo, String> = \CallerInfo.displayName
    let _: KeyPath<CallerInfo, any CommunicationIdentifier> = \CallerInfo.identifier
    let _: NSObject.Type = CallEndReason.self
    let _: KeyPath<CallEndReason, Int32> = \CallEndReason.code
    let _: KeyPath<CallEndReason, Int32> = \CallEndReason.subcode
    let _: NSObject.Type = HangUpOptions.self
    let _: ReferenceWritableKeyPath<HangUpOptions, Bool> = \HangUpOptions.forEveryone
    #expect(
      [
        DtmfTone.zero, .one, .two, .three, .four, .five, .six, .seven, .eight, .nine, .star, .pound, .a, .b, .c, .d,
        .flash,
      ].map(\.rawValue) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
    let _: NSObject.Type = AddPhoneNumberOptions.self
    let _: ReferenceWritableKeyPath<AddPhoneNumberOptions, PhoneNumberIdentifier?> =
      \AddPhoneNumberOptions.alternateCallerId
    let _: ReferenceWritableKeyPath<StartCallOptions, PhoneNumberIdentifier?> = \StartCallOptions.alternateCallerId
    let _: NSObject.Type = PropertyChangedEventArgs.self
    let _: NSObject.Type = ParticipantsUpdatedEventArgs.self
    let _: KeyPath<ParticipantsUpdatedEventArgs, [RemoteParticipant]> = \ParticipantsUpdatedEventArgs.addedParticipants
    let _: KeyPath<ParticipantsUpdatedEventArgs, [RemoteParticipant]> =
      \ParticipantsUpdatedEventArgs.removedParticipants
    let _: NSObject.Type = LocalVideoStreamsUpdatedEventArgs.self
    let _: KeyPath<LocalVideoStreamsUpdatedEventArgs, [LocalVideoStream]> =
      \LocalVideoStreamsUpdatedEventArgs.addedStreams
    let _: KeyPath<LocalVideoStreamsUpdatedEventArgs, [LocalVideoStream]> =
      \LocalVideoStreamsUpdatedEventArgs.removedStreams
    let _: NSObject.Type = RemoteVideoStreamsEventArgs.self
    let _: KeyPath<RemoteVideoStreamsEventArgs, [RemoteVideoStream]> =
      \RemoteVideoStreamsEventArgs.addedRemoteVideoStreams
    let _: KeyPath<RemoteVideoStreamsEventArgs, [RemoteVideoStream]> =
      \RemoteVideoStreamsEventArgs.removedRemoteVideoStreams
    #expect(
      [
        CallState.none, .earlyMedia, .connecting, .ringing, .connected, .localHold, .disconnecting, .disconnected,
        .inLobby, .remoteHold,
      ].map(\.rawValue) == [0, 1, 3, 4, 5, 6, 7, 8, 9, 10])
  }

  /// Never run: it has only to compile.
  private func callsProtocols(_ callDelegate: any CallDelegate) {
    let _: any NSObjectProtocol = callDelegate
    let _: (Call, PropertyChangedEventArgs) -> Void = callDelegate.call(_:didChangeState:)
    let _: (Call, ParticipantsUpdatedEventArgs) -> Void = callDelegate.call(_:didUpdateRemoteParticipant:)
    let _: (Call, PropertyChangedEventArgs) -> Void = callDelegate.call(_:didChangeId:)
    let _: (Call, LocalVideoStreamsUpdatedEventArgs) -> Void = callDelegate.call(_:didUpdateLocalVideoStreams:)
    let _: (Call, PropertyChangedEventArgs) -> Void = callDelegate.call(_:didChangeMuteState:)
    let _: (Call, PropertyChangedEventArgs) -> Void = callDelegate.call(_:didChangeTotalParticipantCount:)
  }

  @Test func optionsAndLocators() {
    let _: CallOptions.Type = StartCallOptions.self
    let _: ReferenceWritableKeyPath<StartCallOptions, VideoOptions?> = \StartCallOptions.videoOptions
    let _: ReferenceWritableKeyPath<StartCallOptions, AudioOptions?> = \StartCallOptions.audioOptions
    let _: CallOptions.Type = AcceptCallOptions.self
    let _: ReferenceWritableKeyPath<AcceptCallOptions, VideoOptions?> = \AcceptCallOptions.videoOptions
    let _: NSObject.Type = VideoOptions.self
    let _: ([LocalVideoStream]) -> VideoOptions = VideoOptions.init(localVideoStreams:)
    let _: KeyPath<VideoOptions, [LocalVideoStream]> = \VideoOptions.localVideoStreams
    let _: NSObject.Type = AudioOptions.self
    let _: ReferenceWritableKeyPath<AudioOptions, Bool> = \AudioOptions.muted
    let _: CallOptions.Type = JoinCallOptions.self
    let _: ReferenceWritableKeyPath<JoinCallOptions, VideoOptions?> = \JoinCallOptions.videoOptions
    let _: ReferenceWritableKeyPath<JoinCallOptions, AudioOptions?> = \JoinCallOptions.audioOptions
    let _: NSObject.Type = JoinMeetingLocator.self
    let _: JoinMeetingLocator.Type = GroupCallLocator.self
    let _: (UUID) -> GroupCallLocator = GroupCallLocator.init(groupId:)
    let _: KeyPath<GroupCallLocator, UUID> = \GroupCallLocator.groupId
    let _: JoinTeamsMeetingLocator.Type = TeamsMeetingLinkLocator.self
    let _: (String) -> TeamsMeetingLinkLocator = TeamsMeetingLinkLocator.init(meetingLink:)
    let _: KeyPath<TeamsMeetingLinkLocator, String> = \TeamsMeetingLinkLocator.meetingLink
  }

  @Test func incomingCallsAndPush() {
    let _: NSObject.Type = IncomingCall.self
    let _: ReferenceWritableKeyPath<IncomingCall, (any IncomingCallDelegate)?> = \IncomingCall.delegate
    let _: (IncomingCall) -> (AcceptCallOptions, @escaping (Call?, (any Error)?) -> Void) -> Void = IncomingCall.accept(
      options:completionHandler:)
    let _: (IncomingCall) -> (@escaping ((any Error)?) -> Void) -> Void = IncomingCall.reject(completionHandler:)
    let _: KeyPath<IncomingCall, String> = \IncomingCall.id
    let _: KeyPath<IncomingCall, CallerInfo> = \IncomingCall.callerInfo
    let _: KeyPath<IncomingCall, Bool> = \IncomingCall.isVideoEnabled
    let _: KeyPath<IncomingCall, CallEndReason?> = \IncomingCall.callEndReason
    let _: NSObject.Type = PushNotificationInfo.self
    let _: ([AnyHashable: Any]) -> PushNotificationInfo = PushNotificationInfo.fromDictionary(_:)
    let _: KeyPath<PushNotificationInfo, String> = \PushNotificationInfo.fromDisplayName
    let _: KeyPath<PushNotificationInfo, Bool> = \PushNotificationInfo.incomingWithVideo
    let _: KeyPath<PushNotificationInfo, any CommunicationIdentifier> = \PushNotificationInfo.from
    let _: KeyPath<PushNotificationInfo, any CommunicationIdentifier> = \PushNotificationInfo.to
    let _: KeyPath<PushNotificationInfo, UUID> = \PushNotificationInfo.callId
  }

  /// Never run: it has only to compile.
  private func incomingCallsAndPushProtocols(_ incomingCallDelegate: any IncomingCallDelegate) {
    let _: any NSObjectProtocol = incomingCallDelegate
    let _: (IncomingCall, PropertyChangedEventArgs) -> Void = incomingCallDelegate.incomingCall(_:didEnd:)
  }

  @Test func participantsAndStreams() {
    let _: NSObject.Type = RemoteParticipant.self
    let _: KeyPath<RemoteParticipant, [RemoteVideoStream]> = \RemoteParticipant.videoStreams
    let _: ReferenceWritableKeyPath<RemoteParticipant, (any RemoteParticipantDelegate)?> = \RemoteParticipant.delegate
    let _: KeyPath<RemoteParticipant, any CommunicationIdentifier> = \RemoteParticipant.identifier
    let _: KeyPath<RemoteParticipant, String> = \RemoteParticipant.displayName
    let _: KeyPath<RemoteParticipant, ParticipantState> = \RemoteParticipant.state
    let _: KeyPath<RemoteParticipant, Bool> = \RemoteParticipant.isMuted
    let _: KeyPath<RemoteParticipant, Bool> = \RemoteParticipant.isSpeaking
    let _: KeyPath<RemoteParticipant, CallEndReason> = \RemoteParticipant.callEndReason
    #expect(
      [ParticipantState.idle, .earlyMedia, .connecting, .connected, .hold, .inLobby, .disconnected, .ringing].map(
        \.rawValue) == [0, 1, 2, 3, 4, 5, 6, 7])
    let _: OutgoingVideoStream.Type = LocalVideoStream.self
    let _: (VideoDeviceInfo) -> LocalVideoStream = LocalVideoStream.init(camera:)
    let _: KeyPath<LocalVideoStream, VideoDeviceInfo> = \LocalVideoStream.source
    let _: (LocalVideoStream) -> (VideoDeviceInfo, @escaping ((any Error)?) -> Void) -> Void = LocalVideoStream
      .switchSource(camera:completionHandler:)
    let _: KeyPath<LocalVideoStream, Bool> = \LocalVideoStream.isSending
    let _: KeyPath<LocalVideoStream, MediaStreamType> = \LocalVideoStream.mediaStreamType
    let _: IncomingVideoStream.Type = RemoteVideoStream.self
    let _: KeyPath<RemoteVideoStream, Int32> = \RemoteVideoStream.id
    let _: KeyPath<RemoteVideoStream, Bool> = \RemoteVideoStream.isAvailable
    let _: KeyPath<RemoteVideoStream, MediaStreamType> = \RemoteVideoStream.mediaStreamType
    #expect([MediaStreamType.video, .screenSharing].map(\.rawValue) == [1, 2])
  }

  /// Never run: it has only to compile.
  private func participantsAndStreamsProtocols(_ remoteParticipantDelegate: any RemoteParticipantDelegate) {
    let _: any NSObjectProtocol = remoteParticipantDelegate
    let _: (RemoteParticipant, RemoteVideoStreamsEventArgs) -> Void = remoteParticipantDelegate.remoteParticipant(
      _:didUpdateVideoStreams:)
    let _: (RemoteParticipant, PropertyChangedEventArgs) -> Void = remoteParticipantDelegate.remoteParticipant(
      _:didChangeState:)
    let _: (RemoteParticipant, PropertyChangedEventArgs) -> Void = remoteParticipantDelegate.remoteParticipant(
      _:didChangeMuteState:)
    let _: (RemoteParticipant, PropertyChangedEventArgs) -> Void = remoteParticipantDelegate.remoteParticipant(
      _:didChangeSpeakingState:)
    let _: (RemoteParticipant, PropertyChangedEventArgs) -> Void = remoteParticipantDelegate.remoteParticipant(
      _:didChangeDisplayName:)
  }

  @Test func devicesAndRendering() {
    let _: NSObject.Type = DeviceManager.self
    let _: KeyPath<DeviceManager, [VideoDeviceInfo]> = \DeviceManager.cameras
    let _: ReferenceWritableKeyPath<DeviceManager, (any DeviceManagerDelegate)?> = \DeviceManager.delegate
    let _: NSObject.Type = VideoDeviceInfo.self
    let _: NSObject.Type = VideoDevicesUpdatedEventArgs.self
    let _: KeyPath<VideoDevicesUpdatedEventArgs, [VideoDeviceInfo]> = \VideoDevicesUpdatedEventArgs.addedVideoDevices
    let _: KeyPath<VideoDevicesUpdatedEventArgs, [VideoDeviceInfo]> = \VideoDevicesUpdatedEventArgs.removedVideoDevices
    let _: KeyPath<VideoDeviceInfo, String> = \VideoDeviceInfo.name
    let _: KeyPath<VideoDeviceInfo, String> = \VideoDeviceInfo.id
    let _: KeyPath<VideoDeviceInfo, CameraFacing> = \VideoDeviceInfo.cameraFacing
    let _: KeyPath<VideoDeviceInfo, VideoDeviceType> = \VideoDeviceInfo.deviceType
    #expect(
      [CameraFacing.unknown, .external, .front, .back, .panoramic, .leftFront, .rightFront].map(\.rawValue) == [
        0, 1, 2, 3, 4, 5, 6,
      ])
    #expect([VideoDeviceType.unknown, .usbCamera, .captureAdapter, .virtual].map(\.rawValue) == [0, 1, 2, 3])
    let _: NSObject.Type = VideoStreamRenderer.self
    let _: (LocalVideoStream) throws -> VideoStreamRenderer = VideoStreamRenderer.init(localVideoStream:)
    let _: (RemoteVideoStream) throws -> VideoStreamRenderer = VideoStreamRenderer.init(remoteVideoStream:)
    let _: (VideoStreamRenderer) -> (CreateViewOptions?) throws -> RendererView = VideoStreamRenderer.createView(
      withOptions:)
    let _: (VideoStreamRenderer) -> () -> Void = VideoStreamRenderer.dispose
    let _: KeyPath<VideoStreamRenderer, StreamSize> = \VideoStreamRenderer.size
    let _: ReferenceWritableKeyPath<VideoStreamRenderer, (any RendererDelegate)?> = \VideoStreamRenderer.delegate
    let _: (VideoStreamRenderer) -> () throws -> RendererView = VideoStreamRenderer.createView
    let _: NSObject.Type = CreateViewOptions.self
    let _: (ScalingMode) -> CreateViewOptions = CreateViewOptions.init(scalingMode:)
    let _: ReferenceWritableKeyPath<CreateViewOptions, ScalingMode> = \CreateViewOptions.scalingMode
    #expect([ScalingMode.crop, .fit].map(\.rawValue) == [1, 2])
    let _: StreamSize.Type = StreamSize.self
    let _: WritableKeyPath<StreamSize, Int32> = \StreamSize.width
    let _: WritableKeyPath<StreamSize, Int32> = \StreamSize.height
    let _: (Int32, Int32) -> StreamSize = StreamSize.init(width:height:)
    let _: () -> StreamSize = StreamSize.init
  }

  @Test @MainActor func devicesAndRenderingOnTheMainActor() {
    let _: UIView.Type = RendererView.self
    let _: (RendererView) -> (ScalingMode) -> Void = RendererView.update(scalingMode:)
    let _: (RendererView) -> () -> Void = RendererView.dispose
    let _: (RendererView) -> () -> Bool = RendererView.isRendering
  }

  /// Never run: it has only to compile.
  private func devicesAndRenderingProtocols(
    _ deviceManagerDelegate: any DeviceManagerDelegate, _ rendererDelegate: any RendererDelegate
  ) {
    let _: any NSObjectProtocol = deviceManagerDelegate
    let _: (DeviceManager, VideoDevicesUpdatedEventArgs) -> Void = deviceManagerDelegate.deviceManager(
      _:didUpdateCameras:)
    let _: any NSObjectProtocol = rendererDelegate
    let _: (VideoStreamRenderer) -> Void = rendererDelegate.videoStreamRenderer(didFailToStart:)
    let _: (VideoStreamRenderer) -> Void = rendererDelegate.videoStreamRenderer(didRenderFirstFrame:)
  }

  @Test func errors() {
    let _: CallingCommunicationErrors.Type = CallingCommunicationErrors.self
    let _: CallingCommunicationErrors = CallingCommunicationErrors.noAudioPermission
    let _: CallingCommunicationErrors = CallingCommunicationErrors.noVideoPermission
    let _: CallingCommunicationErrors = CallingCommunicationErrors.noAudioAndVideoPermission
    let _: CallingCommunicationErrors = CallingCommunicationErrors.receivedInvalidPushNotificationPayload
    let _: CallingCommunicationErrors = CallingCommunicationErrors.failedToProcessPushNotificationPayload
    let _: CallingCommunicationErrors = CallingCommunicationErrors.invalidGuidGroupId
    let _: CallingCommunicationErrors = CallingCommunicationErrors.invalidPushNotificationDeviceRegistrationToken
    let _: CallingCommunicationErrors = CallingCommunicationErrors.multipleRenderersNotSupported
    let _: CallingCommunicationErrors = CallingCommunicationErrors.multipleViewsNotSupported
    let _: CallingCommunicationErrors = CallingCommunicationErrors.invalidLocalVideoStreamForVideoOptions
    let _: CallingCommunicationErrors = CallingCommunicationErrors.noMultipleConnectionsWithSameIdentity
    let _: CallingCommunicationErrors = CallingCommunicationErrors.invalidServerCallId
    let _: CallingCommunicationErrors = CallingCommunicationErrors.localVideoStreamSwitchSourceFailure
    let _: CallingCommunicationErrors = CallingCommunicationErrors.incomingCallAlreadyUnplaced
    let _: CallingCommunicationErrors = CallingCommunicationErrors.invalidMeetingLink
    let _: CallingCommunicationErrors = CallingCommunicationErrors.participantAddedToUnconnectedCall
    let _: CallingCommunicationErrors = CallingCommunicationErrors.participantAlreadyAddedToCall
    let _: CallingCommunicationErrors = CallingCommunicationErrors.callFeatureExtensionNotFound
    let _: CallingCommunicationErrors = CallingCommunicationErrors.duplicateDeviceId
    let _: CallingCommunicationErrors = CallingCommunicationErrors.virtualDeviceNotStarted
    let _: CallingCommunicationErrors = CallingCommunicationErrors.invalidVideoStreamCombination
    let _: CallingCommunicationErrors = CallingCommunicationErrors.displayNameLengthLongerThanSupported
    let _: CallingCommunicationErrors = CallingCommunicationErrors.failedToHangupForEveryone
    let _: CallingCommunicationErrors = CallingCommunicationErrors.noMultipleConnectionsWithDifferentClouds
    let _: CallingCommunicationErrors = CallingCommunicationErrors.featureExtensionNotFound
    let _: CallingCommunicationErrors = CallingCommunicationErrors.videoEffectNotSupported
    let _: CallingCommunicationErrors = CallingCommunicationErrors.invalidParticipantAddedToCall
  }
}
