import AzureCommunicationCalling
import Foundation
import Testing

// [extended] symbols of 2.x: statistics, diagnostics, audio streams and filters, roles, capabilities, lobby and survey, with their exact
// signatures.

struct CallAgentVersion2_15Extended {
  @Test func mediaStatistics() {
    let _: MediaStatisticsCallFeature.Type = Features.mediaStatistics
    let _: KeyPath<MediaStatisticsCallFeature, Int32> = \MediaStatisticsCallFeature.reportIntervalInSeconds
    let _: KeyPath<MediaStatisticsCallFeature, MediaStatisticsCallFeatureEvents> = \MediaStatisticsCallFeature.events
    let _: ReferenceWritableKeyPath<MediaStatisticsCallFeature, (any MediaStatisticsCallFeatureDelegate)?> =
      \MediaStatisticsCallFeature.delegate
    let _: (MediaStatisticsCallFeature) -> (Int32) throws -> Void =
      MediaStatisticsCallFeature.updateReportInterval(inSeconds:)
    let _:
      ReferenceWritableKeyPath<MediaStatisticsCallFeatureEvents, ((MediaStatisticsReportReceivedEventArgs) -> Void)?> =
        \MediaStatisticsCallFeatureEvents.onReportReceived
    let _: KeyPath<MediaStatisticsReportReceivedEventArgs, MediaStatisticsReport> =
      \MediaStatisticsReportReceivedEventArgs.report
    let _: KeyPath<MediaStatisticsReport, OutgoingMediaStatistics> = \MediaStatisticsReport.outgoingStatistics
    let _: KeyPath<MediaStatisticsReport, IncomingMediaStatistics> = \MediaStatisticsReport.incomingStatistics
    let _: KeyPath<MediaStatisticsReport, Date> = \MediaStatisticsReport.lastUpdated
    let _: KeyPath<OutgoingMediaStatistics, [OutgoingAudioStatistics]> = \OutgoingMediaStatistics.audio
    let _: KeyPath<OutgoingMediaStatistics, [OutgoingVideoStatistics]> = \OutgoingMediaStatistics.video
    let _: KeyPath<OutgoingMediaStatistics, [OutgoingScreenShareStatistics]> = \OutgoingMediaStatistics.screenShare
    let _: KeyPath<OutgoingMediaStatistics, [OutgoingDataChannelStatistics]> = \OutgoingMediaStatistics.dataChannel
    let _: KeyPath<IncomingMediaStatistics, [IncomingAudioStatistics]> = \IncomingMediaStatistics.audio
    let _: KeyPath<IncomingMediaStatistics, [IncomingVideoStatistics]> = \IncomingMediaStatistics.video
    let _: KeyPath<IncomingMediaStatistics, [IncomingScreenShareStatistics]> = \IncomingMediaStatistics.screenShare
    let _: KeyPath<IncomingMediaStatistics, [IncomingDataChannelStatistics]> = \IncomingMediaStatistics.dataChannel
    let _: KeyPath<OutgoingAudioStatistics, String> = \OutgoingAudioStatistics.codecName
    let _: KeyPath<OutgoingAudioStatistics, Int32?> = \OutgoingAudioStatistics.bitrateInBps
    let _: KeyPath<OutgoingAudioStatistics, Int32?> = \OutgoingAudioStatistics.jitterInMs
    let _: KeyPath<OutgoingAudioStatistics, Int32?> = \OutgoingAudioStatistics.packetCount
    let _: KeyPath<OutgoingAudioStatistics, Int32?> = \OutgoingAudioStatistics.streamId
    let _: KeyPath<OutgoingVideoStatistics, String> = \OutgoingVideoStatistics.codecName
    let _: KeyPath<OutgoingVideoStatistics, Int32?> = \OutgoingVideoStatistics.bitrateInBps
    let _: KeyPath<OutgoingVideoStatistics, Int32?> = \OutgoingVideoStatistics.packetCount
    let _: KeyPath<OutgoingVideoStatistics, Int32?> = \OutgoingVideoStatistics.streamId
    let _: KeyPath<OutgoingVideoStatistics, Int32?> = \OutgoingVideoStatistics.frameRate
    let _: KeyPath<OutgoingVideoStatistics, Int32?> = \OutgoingVideoStatistics.frameWidth
    let _: KeyPath<OutgoingVideoStatistics, Int32?> = \OutgoingVideoStatistics.frameHeight
    let _: KeyPath<OutgoingScreenShareStatistics, String> = \OutgoingScreenShareStatistics.codecName
    let _: KeyPath<OutgoingScreenShareStatistics, Int32?> = \OutgoingScreenShareStatistics.bitrateInBps
    let _: KeyPath<OutgoingScreenShareStatistics, Int32?> = \OutgoingScreenShareStatistics.packetCount
    let _: KeyPath<OutgoingScreenShareStatistics, Int32?> = \OutgoingScreenShareStatistics.streamId
    let _: KeyPath<OutgoingScreenShareStatistics, Int32?> = \OutgoingScreenShareStatistics.frameRate
    let _: KeyPath<OutgoingScreenShareStatistics, Int32?> = \OutgoingScreenShareStatistics.frameWidth
    let _: KeyPath<OutgoingScreenShareStatistics, Int32?> = \OutgoingScreenShareStatistics.frameHeight
    let _: KeyPath<OutgoingDataChannelStatistics, Int32?> = \OutgoingDataChannelStatistics.packetCount
    let _: KeyPath<IncomingAudioStatistics, String> = \IncomingAudioStatistics.codecName
    let _: KeyPath<IncomingAudioStatistics, Int32?> = \IncomingAudioStatistics.jitterInMs
    let _: KeyPath<IncomingAudioStatistics, Int32?> = \IncomingAudioStatistics.packetCount
    let _: KeyPath<IncomingAudioStatistics, Int32?> = \IncomingAudioStatistics.packetsLostPerSecond
    let _: KeyPath<IncomingAudioStatistics, Int32?> = \IncomingAudioStatistics.streamId
    let _: KeyPath<IncomingVideoStatistics, String> = \IncomingVideoStatistics.codecName
    let _: KeyPath<IncomingVideoStatistics, Int32?> = \IncomingVideoStatistics.bitrateInBps
    let _: KeyPath<IncomingVideoStatistics, Int32?> = \IncomingVideoStatistics.jitterInMs
    let _: KeyPath<IncomingVideoStatistics, Int32?> = \IncomingVideoStatistics.packetCount
    let _: KeyPath<IncomingVideoStatistics, Int32?> = \IncomingVideoStatistics.packetsLostPerSecond
    let _: KeyPath<IncomingVideoStatistics, Int32?> = \IncomingVideoStatistics.streamId
    let _: KeyPath<IncomingVideoStatistics, Int32?> = \IncomingVideoStatistics.frameRate
    let _: KeyPath<IncomingVideoStatistics, Int32?> = \IncomingVideoStatistics.frameWidth
    let _: KeyPath<IncomingVideoStatistics, Int32?> = \IncomingVideoStatistics.frameHeight
    let _: KeyPath<IncomingVideoStatistics, Int32?> = \IncomingVideoStatistics.totalFreezeDurationInMs
    let _: KeyPath<IncomingVideoStatistics, any CommunicationIdentifier> =
      \IncomingVideoStatistics.participantIdentifier
    let _: KeyPath<IncomingScreenShareStatistics, String> = \IncomingScreenShareStatistics.codecName
    let _: KeyPath<IncomingScreenShareStatistics, Int32?> = \IncomingScreenShareStatistics.bitrateInBps
    let _: KeyPath<IncomingScreenShareStatistics, Int32?> = \IncomingScreenShareStatistics.jitterInMs
    let _: KeyPath<IncomingScreenShareStatistics, Int32?> = \IncomingScreenShareStatistics.packetCount
    let _: KeyPath<IncomingScreenShareStatistics, Int32?> = \IncomingScreenShareStatistics.packetsLostPerSecond
    let _: KeyPath<IncomingScreenShareStatistics, Int32?> = \IncomingScreenShareStatistics.streamId
    let _: KeyPath<IncomingScreenShareStatistics, Int32?> = \IncomingScreenShareStatistics.frameRate
    let _: KeyPath<IncomingScreenShareStatistics, Int32?> = \IncomingScreenShareStatistics.frameWidth
    let _: KeyPath<IncomingScreenShareStatistics, Int32?> = \IncomingScreenShareStatistics.frameHeight
    let _: KeyPath<IncomingScreenShareStatistics, Int32?> = \IncomingScreenShareStatistics.totalFreezeDurationInMs
    let _: KeyPath<IncomingScreenShareStatistics, any CommunicationIdentifier> =
      \IncomingScreenShareStatistics.participantIdentifier
    let _: KeyPath<IncomingDataChannelStatistics, Int32?> = \IncomingDataChannelStatistics.jitterInMs
    let _: KeyPath<IncomingDataChannelStatistics, Int32?> = \IncomingDataChannelStatistics.packetCount
  }

  @Test func diagnostics() {
    let _: LocalUserDiagnosticsCallFeature.Type = Features.localUserDiagnostics
    let _: KeyPath<LocalUserDiagnosticsCallFeature, NetworkDiagnostics> =
      \LocalUserDiagnosticsCallFeature.networkDiagnostics
    let _: KeyPath<LocalUserDiagnosticsCallFeature, MediaDiagnostics> =
      \LocalUserDiagnosticsCallFeature.mediaDiagnostics
    let _: KeyPath<NetworkDiagnostics, NetworkDiagnosticValues> = \NetworkDiagnostics.latest
    let _: KeyPath<NetworkDiagnostics, NetworkDiagnosticsEvents> = \NetworkDiagnostics.events
    let _: ReferenceWritableKeyPath<NetworkDiagnostics, (any NetworkDiagnosticsDelegate)?> =
      \NetworkDiagnostics.delegate
    let _: KeyPath<NetworkDiagnosticValues, Date> = \NetworkDiagnosticValues.lastUpdated
    let _: KeyPath<MediaDiagnostics, MediaDiagnosticValues> = \MediaDiagnostics.latest
    let _: KeyPath<MediaDiagnostics, MediaDiagnosticsEvents> = \MediaDiagnostics.events
    let _: ReferenceWritableKeyPath<MediaDiagnostics, (any MediaDiagnosticsDelegate)?> = \MediaDiagnostics.delegate
    let _: KeyPath<MediaDiagnosticValues, Date> = \MediaDiagnosticValues.lastUpdated
    let _: KeyPath<NetworkDiagnosticValues, Bool?> = \NetworkDiagnosticValues.isNetworkUnavailable
    let _: ReferenceWritableKeyPath<NetworkDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \NetworkDiagnosticsEvents.onIsNetworkUnavailableChanged
    let _: KeyPath<NetworkDiagnosticValues, Bool?> = \NetworkDiagnosticValues.isNetworkRelaysUnreachable
    let _: ReferenceWritableKeyPath<NetworkDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \NetworkDiagnosticsEvents.onIsNetworkRelaysUnreachableChanged
    let _: KeyPath<NetworkDiagnosticValues, DiagnosticQuality> = \NetworkDiagnosticValues.networkReconnectionQuality
    let _: ReferenceWritableKeyPath<NetworkDiagnosticsEvents, ((DiagnosticQualityChangedEventArgs) -> Void)?> =
      \NetworkDiagnosticsEvents.onNetworkReconnectionQualityChanged
    let _: KeyPath<NetworkDiagnosticValues, DiagnosticQuality> = \NetworkDiagnosticValues.networkReceiveQuality
    let _: ReferenceWritableKeyPath<NetworkDiagnosticsEvents, ((DiagnosticQualityChangedEventArgs) -> Void)?> =
      \NetworkDiagnosticsEvents.onNetworkReceiveQualityChanged
    let _: KeyPath<NetworkDiagnosticValues, DiagnosticQuality> = \NetworkDiagnosticValues.networkSendQuality
    let _: ReferenceWritableKeyPath<NetworkDiagnosticsEvents, ((DiagnosticQualityChangedEventArgs) -> Void)?> =
      \NetworkDiagnosticsEvents.onNetworkSendQualityChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isSpeakerNotFunctioning
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsSpeakerNotFunctioningChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isSpeakerBusy
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsSpeakerBusyChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isSpeakerMuted
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsSpeakerMutedChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isSpeakerVolumeZero
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsSpeakerVolumeZeroChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isNoSpeakerDevicesAvailable
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsNoSpeakerDevicesAvailableChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isSpeakingWhileMicrophoneIsMuted
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsSpeakingWhileMicrophoneIsMutedChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isNoMicrophoneDevicesAvailable
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsNoMicrophoneDevicesAvailableChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isMicrophoneBusy
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsMicrophoneBusyChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isCameraFrozen
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsCameraFrozenChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isCameraStartFailed
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsCameraStartFailedChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isCameraStartTimedOut
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsCameraStartTimedOutChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isMicrophoneNotFunctioning
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsMicrophoneNotFunctioningChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isMicrophoneMutedUnexpectedly
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsMicrophoneMutedUnexpectedlyChanged
    let _: KeyPath<MediaDiagnosticValues, Bool?> = \MediaDiagnosticValues.isCameraPermissionDenied
    let _: ReferenceWritableKeyPath<MediaDiagnosticsEvents, ((DiagnosticFlagChangedEventArgs) -> Void)?> =
      \MediaDiagnosticsEvents.onIsCameraPermissionDeniedChanged
    let _: KeyPath<DiagnosticFlagChangedEventArgs, Bool> = \DiagnosticFlagChangedEventArgs.value
    let _: KeyPath<DiagnosticFlagChangedEventArgs, String> = \DiagnosticFlagChangedEventArgs.name
    let _: KeyPath<DiagnosticQualityChangedEventArgs, DiagnosticQuality> = \DiagnosticQualityChangedEventArgs.value
    let _: KeyPath<DiagnosticQualityChangedEventArgs, String> = \DiagnosticQualityChangedEventArgs.name
    #expect([DiagnosticQuality.unknown, .good, .poor, .bad].map(\.rawValue) == [0, 1, 2, 3])
  }

  @Test func audioStreams() {
    let _: (Call) -> (CallAudioStream, @escaping ((any Error)?) -> Void) -> Void = Call.startAudio(
      stream:completionHandler:)
    let _: (Call) -> (CallAudioStream, @escaping ((any Error)?) -> Void) -> Void = Call.stopAudio(
      stream:completionHandler:)
    let _: KeyPath<Call, OutgoingAudioStream> = \Call.activeOutgoingAudioStream
    let _: KeyPath<Call, IncomingAudioStream> = \Call.activeIncomingAudioStream
    let _: KeyPath<Call, LiveOutgoingAudioFilters> = \Call.liveOutgoingAudioFilters
    let _: ReferenceWritableKeyPath<OutgoingAudioOptions, OutgoingAudioStream?> = \OutgoingAudioOptions.stream
    let _: ReferenceWritableKeyPath<OutgoingAudioOptions, OutgoingAudioFilters?> = \OutgoingAudioOptions.filters
    let _: ReferenceWritableKeyPath<IncomingAudioOptions, IncomingAudioStream?> = \IncomingAudioOptions.stream
    let _: KeyPath<CallAudioStream, AudioStreamType> = \CallAudioStream.type
    let _: KeyPath<CallAudioStream, AudioStreamState> = \CallAudioStream.state
    let _: KeyPath<CallAudioStream, StreamDirection> = \CallAudioStream.direction
    let _: KeyPath<AudioStreamStateChangedEventArgs, CallAudioStream> = \AudioStreamStateChangedEventArgs.stream
    let _: KeyPath<AudioStreamStateChangedEventArgs, String> = \AudioStreamStateChangedEventArgs.message
    let _: OutgoingAudioStream = LocalOutgoingAudioStream()
    let _: IncomingAudioStream = RemoteIncomingAudioStream()
    let _: ReferenceWritableKeyPath<LocalOutgoingAudioStream, (any LocalOutgoingAudioStreamDelegate)?> =
      \LocalOutgoingAudioStream.delegate
    let _: ReferenceWritableKeyPath<RemoteIncomingAudioStream, (any RemoteIncomingAudioStreamDelegate)?> =
      \RemoteIncomingAudioStream.delegate
    let _: ReferenceWritableKeyPath<LocalOutgoingAudioStreamEvents, ((AudioStreamStateChangedEventArgs) -> Void)?> =
      \LocalOutgoingAudioStreamEvents.onStateChanged
    let _: ReferenceWritableKeyPath<RemoteIncomingAudioStreamEvents, ((AudioStreamStateChangedEventArgs) -> Void)?> =
      \RemoteIncomingAudioStreamEvents.onStateChanged
    let _: (RawOutgoingAudioStreamOptions) -> RawOutgoingAudioStream = RawOutgoingAudioStream.init(options:)
    let _: (RawIncomingAudioStreamOptions) -> RawIncomingAudioStream = RawIncomingAudioStream.init(options:)
    let _: KeyPath<RawOutgoingAudioStream, Int64> = \RawOutgoingAudioStream.expectedBufferSizeInBytes
    let _: KeyPath<RawOutgoingAudioStream, RawOutgoingAudioStreamProperties> = \RawOutgoingAudioStream.properties
    let _: KeyPath<RawOutgoingAudioStream, RawOutgoingAudioStreamEvents> = \RawOutgoingAudioStream.events
    let _: ReferenceWritableKeyPath<RawOutgoingAudioStream, (any RawOutgoingAudioStreamDelegate)?> =
      \RawOutgoingAudioStream.delegate
    let _: (RawOutgoingAudioStream) -> (RawAudioBuffer, @escaping ((any Error)?) -> Void) -> Void =
      RawOutgoingAudioStream.send(buffer:completionHandler:)
    let _: ReferenceWritableKeyPath<RawOutgoingAudioStreamEvents, ((AudioStreamStateChangedEventArgs) -> Void)?> =
      \RawOutgoingAudioStreamEvents.onStateChanged
    let _: KeyPath<RawIncomingAudioStream, RawIncomingAudioStreamEvents> = \RawIncomingAudioStream.events
    let _: ReferenceWritableKeyPath<RawIncomingAudioStream, (any RawIncomingAudioStreamDelegate)?> =
      \RawIncomingAudioStream.delegate
    let _: ReferenceWritableKeyPath<RawIncomingAudioStreamEvents, ((IncomingMixedAudioEventArgs) -> Void)?> =
      \RawIncomingAudioStreamEvents.onMixedAudioBufferReceived
    let _: ReferenceWritableKeyPath<RawIncomingAudioStreamEvents, ((AudioStreamStateChangedEventArgs) -> Void)?> =
      \RawIncomingAudioStreamEvents.onStateChanged
    let _: KeyPath<IncomingMixedAudioEventArgs, RawAudioBuffer> = \IncomingMixedAudioEventArgs.audioBuffer
    let _: KeyPath<IncomingMixedAudioEventArgs, RawIncomingAudioStreamProperties> =
      \IncomingMixedAudioEventArgs.streamProperties
    let _: ReferenceWritableKeyPath<RawOutgoingAudioStreamOptions, RawOutgoingAudioStreamProperties> =
      \RawOutgoingAudioStreamOptions.properties
    let _: ReferenceWritableKeyPath<RawIncomingAudioStreamOptions, RawIncomingAudioStreamProperties> =
      \RawIncomingAudioStreamOptions.properties
    let _: RawAudioStreamOptions.Type = RawOutgoingAudioStreamOptions.self
    let _: RawAudioStreamProperties = RawOutgoingAudioStreamProperties()
    let _: RawAudioStreamProperties = RawIncomingAudioStreamProperties()
    let _: ReferenceWritableKeyPath<RawAudioStreamProperties, AudioStreamSampleRate> =
      \RawAudioStreamProperties.sampleRate
    let _: ReferenceWritableKeyPath<RawAudioStreamProperties, AudioStreamChannelMode> =
      \RawAudioStreamProperties.channelMode
    let _: ReferenceWritableKeyPath<RawAudioStreamProperties, AudioStreamFormat> = \RawAudioStreamProperties.format
    let _: ReferenceWritableKeyPath<RawOutgoingAudioStreamProperties, AudioStreamBufferDuration> =
      \RawOutgoingAudioStreamProperties.bufferDuration
    let buffer = RawAudioBuffer()
    buffer.dispose()
    let _: ReferenceWritableKeyPath<RawAudioBuffer, AVAudioBuffer?> = \RawAudioBuffer.buffer
    let _: ReferenceWritableKeyPath<RawAudioBuffer, Int64> = \RawAudioBuffer.timestampInTicks
    let _: KeyPath<AudioStreamSampleRate, Double> = \AudioStreamSampleRate.valueInHz
    let _: KeyPath<AudioStreamChannelMode, AVAudioChannelCount> = \AudioStreamChannelMode.channelCount
    let _: KeyPath<AudioStreamBufferDuration, Int> = \AudioStreamBufferDuration.value
    let _: KeyPath<AudioStreamBufferDuration, TimeInterval> = \AudioStreamBufferDuration.timeInterval
    #expect(AudioStreamSampleRate.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5])
    #expect([AudioStreamChannelMode.mono, .stereo].map(\.rawValue) == [0, 1])
    #expect(AudioStreamFormat.pcm16Bit.rawValue == 0)
    #expect([AudioStreamBufferDuration.ms10, .ms20].map(\.rawValue) == [0, 1])
    #expect([AudioStreamState.started, .stopped].map(\.rawValue) == [0, 1])
    #expect(
      [AudioStreamType.remoteIncoming, .rawIncoming, .localOutgoing, .virtualOutgoing].map(\.rawValue) == [1, 2, 3, 4])
    let _: ReferenceWritableKeyPath<OutgoingAudioFilters, Bool> =
      \OutgoingAudioFilters.analogAutomaticGainControlEnabled
    let _: ReferenceWritableKeyPath<OutgoingAudioFilters, Bool> =
      \OutgoingAudioFilters.digitalAutomaticGainControlEnabled
    let _: ReferenceWritableKeyPath<OutgoingAudioFilters, Bool> = \OutgoingAudioFilters.musicModeEnabled
    let _: ReferenceWritableKeyPath<OutgoingAudioFilters, Bool> = \OutgoingAudioFilters.acousticEchoCancellationEnabled
    let _: ReferenceWritableKeyPath<OutgoingAudioFilters, NoiseSuppressionMode> =
      \OutgoingAudioFilters.noiseSuppressionMode
    let _: ReferenceWritableKeyPath<LiveOutgoingAudioFilters, Bool> = \LiveOutgoingAudioFilters.musicModeEnabled
    let _: ReferenceWritableKeyPath<LiveOutgoingAudioFilters, Bool> =
      \LiveOutgoingAudioFilters.acousticEchoCancellationEnabled
    let _: ReferenceWritableKeyPath<LiveOutgoingAudioFilters, NoiseSuppressionMode> =
      \LiveOutgoingAudioFilters.noiseSuppressionMode
    let _: OutgoingAudioFilters = OutgoingAudioFilters()
    #expect([NoiseSuppressionMode.off, .auto, .low, .high].map(\.rawValue) == [0, 1, 2, 3])
  }

  @Test func rolesAndCapabilities() {
    let _: KeyPath<Call, CallParticipantRole> = \Call.callParticipantRole
    let _: KeyPath<Call, CallLobby> = \Call.callLobby
    let _: KeyPath<RemoteParticipant, CallParticipantRole> = \RemoteParticipant.callParticipantRole
    let _: ReferenceWritableKeyPath<CallEvents, ((PropertyChangedEventArgs) -> Void)?> = \CallEvents.onRoleChanged
    let roles: [CallParticipantRole] = [.uninitialized, .attendee, .consumer, .presenter, .organizer, .coOrganizer]
    #expect(roles.map(\.rawValue) == [0, 1, 2, 3, 4, 5])
    let _: CapabilitiesCallFeature.Type = Features.capabilities
    let _: KeyPath<CapabilitiesCallFeature, [ParticipantCapability]> = \CapabilitiesCallFeature.capabilities
    let _: KeyPath<CapabilitiesCallFeature, CapabilitiesCallFeatureEvents> = \CapabilitiesCallFeature.events
    let _: ReferenceWritableKeyPath<CapabilitiesCallFeature, (any CapabilitiesCallFeatureDelegate)?> =
      \CapabilitiesCallFeature.delegate
    let _: ReferenceWritableKeyPath<CapabilitiesCallFeatureEvents, ((CapabilitiesChangedEventArgs) -> Void)?> =
      \CapabilitiesCallFeatureEvents.onCapabilitiesChanged
    let _: KeyPath<CapabilitiesChangedEventArgs, [ParticipantCapability]> =
      \CapabilitiesChangedEventArgs.changedCapabilities
    let _: KeyPath<CapabilitiesChangedEventArgs, CapabilitiesChangedReason> = \CapabilitiesChangedEventArgs.reason
    let _: KeyPath<ParticipantCapability, ParticipantCapabilityType> = \ParticipantCapability.type
    let _: KeyPath<ParticipantCapability, Bool> = \ParticipantCapability.isAllowed
    let _: KeyPath<ParticipantCapability, CapabilityResolutionReason> = \ParticipantCapability.reason
    let types: [ParticipantCapabilityType] = [
      .turnVideoOn, .unmuteMicrophone, .shareScreen, .removeParticipant, .hangUpForEveryone, .addTeamsUser,
      .addCommunicationUser, .addPhoneNumber, .manageLobby, .spotlightParticipant, .removeParticipantSpotlight,
      .blurBackground, .customBackground, .startLiveCaptions, .raiseHand, .muteOthers,
    ]
    #expect(types.map(\.rawValue) == Array(0...15))
    let changes: [CapabilitiesChangedReason] = [.roleChanged, .userPolicyChanged, .meetingDetailsChanged]
    #expect(changes.map(\.rawValue) == [0, 1, 2])
    let reasons: [CapabilityResolutionReason] = [
      .capable, .callTypeRestricted, .userPolicyRestricted, .roleRestricted, .meetingRestricted, .featureNotSupported,
      .notInitialized, .notCapable,
    ]
    #expect(reasons.map(\.rawValue) == Array(0...7))
    let _: KeyPath<DominantSpeakersCallFeature, DominantSpeakersCallFeatureEvents> =
      \DominantSpeakersCallFeature.events
    let _: ReferenceWritableKeyPath<DominantSpeakersCallFeatureEvents, ((PropertyChangedEventArgs) -> Void)?> =
      \DominantSpeakersCallFeatureEvents.onDominantSpeakersChanged
  }

  @Test func lobby() {
    let _: KeyPath<CallLobby, [RemoteParticipant]> = \CallLobby.participants
    let _: KeyPath<CallLobby, CallLobbyEvents> = \CallLobby.events
    let _: ReferenceWritableKeyPath<CallLobby, (any CallLobbyDelegate)?> = \CallLobby.delegate
    let _: ReferenceWritableKeyPath<CallLobbyEvents, ((ParticipantsUpdatedEventArgs) -> Void)?> =
      \CallLobbyEvents.onLobbyParticipantsUpdated
    let _:
      (CallLobby) -> ([any CommunicationIdentifier], @escaping (AdmitParticipantsResult?, (any Error)?) -> Void) -> Void =
        CallLobby.admit(identifiers:completionHandler:)
    let _: (CallLobby) -> (@escaping (AdmitAllParticipantsResult?, (any Error)?) -> Void) -> Void =
      CallLobby.admitAll(completionHandler:)
    let _: (CallLobby) -> (any CommunicationIdentifier, @escaping ((any Error)?) -> Void) -> Void =
      CallLobby.reject(identifier:completionHandler:)
    let _: KeyPath<AdmitParticipantsResult, Int32> = \AdmitParticipantsResult.successCount
    let _: KeyPath<AdmitParticipantsResult, [RemoteParticipant]> = \AdmitParticipantsResult.failedParticipants
    let _: KeyPath<AdmitAllParticipantsResult, Int32> = \AdmitAllParticipantsResult.successCount
    let _: KeyPath<AdmitAllParticipantsResult, Int32> = \AdmitAllParticipantsResult.failureCount
  }

  @Test func survey() {
    let _: SurveyCallFeature.Type = Features.survey
    let _: (SurveyCallFeature) -> (@escaping (CallSurvey?, (any Error)?) -> Void) -> Void =
      SurveyCallFeature.startSurvey(completionHandler:)
    let _: (SurveyCallFeature) -> (CallSurvey, @escaping (CallSurveyResult?, (any Error)?) -> Void) -> Void =
      SurveyCallFeature.submit(survey:completionHandler:)
    let _: ReferenceWritableKeyPath<CallSurvey, CallSurveyScore> = \CallSurvey.overallScore
    let _: ReferenceWritableKeyPath<CallSurvey, CallSurveyScore> = \CallSurvey.audioScore
    let _: ReferenceWritableKeyPath<CallSurvey, CallSurveyScore> = \CallSurvey.videoScore
    let _: ReferenceWritableKeyPath<CallSurvey, CallSurveyScore> = \CallSurvey.screenShareScore
    let _: ReferenceWritableKeyPath<CallSurvey, CallIssues> = \CallSurvey.overallIssues
    let _: ReferenceWritableKeyPath<CallSurvey, AudioIssues> = \CallSurvey.audioIssues
    let _: ReferenceWritableKeyPath<CallSurvey, VideoIssues> = \CallSurvey.videoIssues
    let _: ReferenceWritableKeyPath<CallSurvey, ScreenShareIssues> = \CallSurvey.screenShareIssues
    let _: ReferenceWritableKeyPath<CallSurveyScore, Int32> = \CallSurveyScore.score
    let _: ReferenceWritableKeyPath<CallSurveyScore, CallSurveyRatingScale> = \CallSurveyScore.scale
    let _: ReferenceWritableKeyPath<CallSurveyRatingScale, Int32> = \CallSurveyRatingScale.lowerBound
    let _: ReferenceWritableKeyPath<CallSurveyRatingScale, Int32> = \CallSurveyRatingScale.upperBound
    let _: ReferenceWritableKeyPath<CallSurveyRatingScale, Int32> = \CallSurveyRatingScale.lowScoreThreshold
    let _: KeyPath<CallSurveyResult, String> = \CallSurveyResult.surveyId
    let _: KeyPath<CallSurveyResult, String> = \CallSurveyResult.callId
    let _: KeyPath<CallSurveyResult, String> = \CallSurveyResult.anonymizedParticipantId
    let _: CallSurveyScore = CallSurveyScore()
    let _: CallSurveyRatingScale = CallSurveyRatingScale()
    let callIssues: [CallIssues] = [
      .cannotJoin, .cannotInvite, .hadToRejoin, .endedUnexpectedly, .otherIssues,
    ]
    #expect(callIssues.map(\.rawValue) == (0..<5).map { 1 << $0 })
    let audioIssues: [AudioIssues] = [
      .noLocalAudio, .noRemoteAudio, .echo, .audioNoise, .lowVolume, .audioStoppedUnexpectedly, .distortedSpeech,
      .audioInterruption, .otherIssues,
    ]
    #expect(audioIssues.map(\.rawValue) == (0..<9).map { 1 << $0 })
    let videoIssues: [VideoIssues] = [
      .noVideoReceived, .noVideoSent, .lowQuality, .freezes, .stoppedUnexpectedly, .darkVideoReceived,
      .audioVideoOutOfSync, .otherIssues,
    ]
    #expect(videoIssues.map(\.rawValue) == (0..<8).map { 1 << $0 })
    let screenShareIssues: [ScreenShareIssues] = [
      .noContentLocal, .noContentRemote, .cannotPresent, .lowQuality, .freezes, .stoppedUnexpectedly, .largeDelay,
      .otherIssues,
    ]
    #expect(screenShareIssues.map(\.rawValue) == (0..<8).map { 1 << $0 })
  }

  /// Never run: it has only to compile.
  private func delegates(
    _ mediaStatisticsCallFeatureDelegate: any MediaStatisticsCallFeatureDelegate,
    _ networkDiagnosticsDelegate: any NetworkDiagnosticsDelegate,
    _ mediaDiagnosticsDelegate: any MediaDiagnosticsDelegate,
    _ capabilitiesCallFeatureDelegate: any CapabilitiesCallFeatureDelegate,
    _ callLobbyDelegate: any CallLobbyDelegate,
    _ localOutgoingAudioStreamDelegate: any LocalOutgoingAudioStreamDelegate,
    _ remoteIncomingAudioStreamDelegate: any RemoteIncomingAudioStreamDelegate,
    _ rawOutgoingAudioStreamDelegate: any RawOutgoingAudioStreamDelegate,
    _ rawIncomingAudioStreamDelegate: any RawIncomingAudioStreamDelegate,
    _ callDelegate: any CallDelegate,
    _ remoteParticipantDelegate: any RemoteParticipantDelegate
  ) {
    let _: (MediaStatisticsCallFeature, MediaStatisticsReportReceivedEventArgs) -> Void =
      mediaStatisticsCallFeatureDelegate.mediaStatisticsCallFeature(_:didReceiveReport:)
    let _: (NetworkDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      networkDiagnosticsDelegate.networkDiagnostics(_:didChangeIsNetworkUnavailable:)
    let _: (NetworkDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      networkDiagnosticsDelegate.networkDiagnostics(_:didChangeIsNetworkRelaysUnreachable:)
    let _: (NetworkDiagnostics, DiagnosticQualityChangedEventArgs) -> Void =
      networkDiagnosticsDelegate.networkDiagnostics(_:didChangeNetworkReconnectionQuality:)
    let _: (NetworkDiagnostics, DiagnosticQualityChangedEventArgs) -> Void =
      networkDiagnosticsDelegate.networkDiagnostics(_:didChangeNetworkReceiveQuality:)
    let _: (NetworkDiagnostics, DiagnosticQualityChangedEventArgs) -> Void =
      networkDiagnosticsDelegate.networkDiagnostics(_:didChangeNetworkSendQuality:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsSpeakerNotFunctioning:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsSpeakerBusy:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsSpeakerMuted:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsSpeakerVolumeZero:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsNoSpeakerDevicesAvailable:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsSpeakingWhileMicrophoneIsMuted:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsNoMicrophoneDevicesAvailable:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsMicrophoneBusy:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsCameraFrozen:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsCameraStartFailed:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsCameraStartTimedOut:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsMicrophoneNotFunctioning:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsMicrophoneMutedUnexpectedly:)
    let _: (MediaDiagnostics, DiagnosticFlagChangedEventArgs) -> Void =
      mediaDiagnosticsDelegate.mediaDiagnostics(_:didChangeIsCameraPermissionDenied:)
    let _: (CapabilitiesCallFeature, CapabilitiesChangedEventArgs) -> Void =
      capabilitiesCallFeatureDelegate.capabilitiesCallFeature(_:didChangeCapabilities:)
    let _: (CallLobby, ParticipantsUpdatedEventArgs) -> Void =
      callLobbyDelegate.callLobby(_:didUpdateLobbyParticipants:)
    let _: (LocalOutgoingAudioStream, AudioStreamStateChangedEventArgs) -> Void =
      localOutgoingAudioStreamDelegate.localAudioStream(_:didChangeState:)
    let _: (RemoteIncomingAudioStream, AudioStreamStateChangedEventArgs) -> Void =
      remoteIncomingAudioStreamDelegate.remoteAudioStream(_:didChangeState:)
    let _: (RawOutgoingAudioStream, AudioStreamStateChangedEventArgs) -> Void =
      rawOutgoingAudioStreamDelegate.rawOutgoingAudioStream(_:didChangeState:)
    let _: (RawIncomingAudioStream, AudioStreamStateChangedEventArgs) -> Void =
      rawIncomingAudioStreamDelegate.rawIncomingAudioStream(_:didChangeState:)
    let _: (RawIncomingAudioStream, IncomingMixedAudioEventArgs) -> Void =
      rawIncomingAudioStreamDelegate.rawIncomingAudioStream(_:didReceiveMixedAudioBuffer:)
    let _: (Call, PropertyChangedEventArgs) -> Void =
      callDelegate.call(_:didChangeRole:)
    let _: (RemoteParticipant, PropertyChangedEventArgs) -> Void =
      remoteParticipantDelegate.remoteParticipant(_:didChangeRole:)
  }
}
