import AzureCommunicationCalling
import AzureCommunicationCommon
import Foundation
import KoineUIKit
import Testing

// Every [core] symbol that came after 1.x, as of 2.15, with its exact signature.

struct CallAgentVersion2_15 {
  @Test func identityAndCredentials() {
    let _: KeyPath<PhoneNumberIdentifier, String> = \PhoneNumberIdentifier.rawId
    let _: KeyPath<MicrosoftTeamsUserIdentifier, String> = \MicrosoftTeamsUserIdentifier.rawId
    let _: (String) -> any CommunicationIdentifier = createCommunicationIdentifier(fromRawId:)
  }

  /// Never run: it has only to compile.
  private func identityAndCredentialsProtocols(_ communicationIdentifier: any CommunicationIdentifier) {
    let _: String = communicationIdentifier.rawId
  }

  @Test func entryPoints() {
    let _: (CallClientOptions) -> CallClient = CallClient.init(options:)
    let _: NSObject.Type = CallClientOptions.self
    let _: (CallAgent) -> ([any CommunicationIdentifier], @escaping (Call?, (any Error)?) -> Void) -> Void = CallAgent
      .startCall(participants:completionHandler:)
  }

  @Test func calls() {
    let _: (Call) -> (OutgoingVideoStream, @escaping ((any Error)?) -> Void) -> Void =
      Call.startVideo(stream:completionHandler:)
    let _: (Call) -> (OutgoingVideoStream, @escaping ((any Error)?) -> Void) -> Void =
      Call.stopVideo(stream:completionHandler:)
    let _: KeyPath<Call, Bool> = \Call.isOutgoingAudioMuted
    let _: (Call) -> (@escaping ((any Error)?) -> Void) -> Void = Call.muteOutgoingAudio(completionHandler:)
    let _: (Call) -> (@escaping ((any Error)?) -> Void) -> Void = Call.unmuteOutgoingAudio(completionHandler:)
    let _: KeyPath<Call, [OutgoingVideoStream]> = \Call.outgoingVideoStreams
    let _: (Call) -> (any CommunicationIdentifier) throws -> RemoteParticipant? = Call.add(participant:)
    let _: (Call) -> (PhoneNumberIdentifier, AddPhoneNumberOptions?) throws -> RemoteParticipant? = Call.add(
      participant:options:)
    let _: (Call) -> (RecordingCallFeature.Type) -> RecordingCallFeature = Call.feature(_:)
    let _: NSObject.Type = VideoStreamStateChangedEventArgs.self
    let _: KeyPath<VideoStreamStateChangedEventArgs, CallVideoStream> = \VideoStreamStateChangedEventArgs.stream
    let _: KeyPath<VideoStreamStateChangedEventArgs, String> = \VideoStreamStateChangedEventArgs.message
  }

  /// Never run: it has only to compile.
  private func callsProtocols(_ callDelegate: any CallDelegate) {
    let _: (Call, PropertyChangedEventArgs) -> Void = callDelegate.call(_:didUpdateOutgoingAudioState:)
  }

  @Test func optionsAndLocators() {
    let _: NSObject.Type = OutgoingAudioOptions.self
    let _: ReferenceWritableKeyPath<OutgoingAudioOptions, Bool> = \OutgoingAudioOptions.muted
    let _: NSObject.Type = CallOptions.self
    let _: ReferenceWritableKeyPath<CallOptions, OutgoingAudioOptions?> = \CallOptions.outgoingAudioOptions
    let _: ReferenceWritableKeyPath<CallOptions, OutgoingVideoOptions?> = \CallOptions.outgoingVideoOptions
    let _: ReferenceWritableKeyPath<CallOptions, IncomingVideoOptions?> = \CallOptions.incomingVideoOptions
    let _: ReferenceWritableKeyPath<CallOptions, IncomingAudioOptions?> = \CallOptions.incomingAudioOptions
    let _: NSObject.Type = OutgoingVideoOptions.self
    let _: ReferenceWritableKeyPath<OutgoingVideoOptions, [OutgoingVideoStream]> = \OutgoingVideoOptions.streams
    let _: ReferenceWritableKeyPath<OutgoingVideoOptions, OutgoingVideoConstraints?> = \OutgoingVideoOptions.constraints
    let _: NSObject.Type = IncomingVideoOptions.self
    let _: ReferenceWritableKeyPath<IncomingVideoOptions, VideoStreamType> = \IncomingVideoOptions.streamType
    let _: NSObject.Type = IncomingAudioOptions.self
    let _: ReferenceWritableKeyPath<IncomingAudioOptions, Bool> = \IncomingAudioOptions.muted
    let _: JoinMeetingLocator.Type = RoomCallLocator.self
    let _: (String) -> RoomCallLocator = RoomCallLocator.init(roomId:)
    let _: KeyPath<RoomCallLocator, String> = \RoomCallLocator.roomId
  }

  @Test func participantsAndStreams() {
    let _: KeyPath<RemoteParticipant, [IncomingVideoStream]> = \RemoteParticipant.incomingVideoStreams
    let _: NSObject.Type = CallVideoStream.self
    let _: KeyPath<CallVideoStream, VideoStreamType> = \CallVideoStream.type
    let _: KeyPath<CallVideoStream, VideoStreamSourceType> = \CallVideoStream.sourceType
    let _: KeyPath<CallVideoStream, VideoStreamState> = \CallVideoStream.state
    let _: KeyPath<CallVideoStream, StreamDirection> = \CallVideoStream.direction
    let _: KeyPath<CallVideoStream, Int32> = \CallVideoStream.id
    let _: KeyPath<CallVideoStream, MediaStreamType> = \CallVideoStream.mediaStreamType
    let _: CallVideoStream.Type = OutgoingVideoStream.self
    let _: CallVideoStream.Type = IncomingVideoStream.self
    let _: KeyPath<IncomingVideoStream, String> = \IncomingVideoStream.participantSourceId
    let _: ReferenceWritableKeyPath<LocalVideoStream, (any LocalVideoStreamDelegate)?> = \LocalVideoStream.delegate
    let _: MediaStreamType.Type = VideoStreamSourceType.self
    #expect(
      [VideoStreamState.available, .started, .stopping, .stopped, .notAvailable].map(\.rawValue) == [0, 1, 2, 3, 4])
    #expect(
      [VideoStreamType.remoteIncoming, .rawIncoming, .localOutgoing, .virtualOutgoing, .screenShareOutgoing].map(
        \.rawValue) == [1, 2, 3, 4, 5])
    #expect([StreamDirection.incoming, .outgoing].map(\.rawValue) == [0, 1])
  }

  /// Never run: it has only to compile.
  private func participantsAndStreamsProtocols(
    _ remoteParticipantDelegate: any RemoteParticipantDelegate, _ localVideoStreamDelegate: any LocalVideoStreamDelegate
  ) {
    let _: (RemoteParticipant, VideoStreamStateChangedEventArgs) -> Void = remoteParticipantDelegate.remoteParticipant(
      _:didChangeVideoStreamState:)
    let _: any NSObjectProtocol = localVideoStreamDelegate
    let _: (LocalVideoStream, VideoStreamStateChangedEventArgs) -> Void = localVideoStreamDelegate.localVideoStream(
      _:didChangeState:)
  }

  @Test func callFeatures() {
    let _: Features.Type = Features.self
    let _: RecordingCallFeature.Type = Features.recording
    let _: TranscriptionCallFeature.Type = Features.transcription
    let _: DominantSpeakersCallFeature.Type = Features.dominantSpeakers
    let _: NSObject.Type = CallFeature.self
    let _: KeyPath<CallFeature, String> = \CallFeature.name
    let _: CallFeature.Type = RecordingCallFeature.self
    let _: KeyPath<RecordingCallFeature, Bool> = \RecordingCallFeature.isRecordingActive
    let _: ReferenceWritableKeyPath<RecordingCallFeature, (any RecordingCallFeatureDelegate)?> =
      \RecordingCallFeature.delegate
    let _: CallFeature.Type = TranscriptionCallFeature.self
    let _: KeyPath<TranscriptionCallFeature, Bool> = \TranscriptionCallFeature.isTranscriptionActive
    let _: ReferenceWritableKeyPath<TranscriptionCallFeature, (any TranscriptionCallFeatureDelegate)?> =
      \TranscriptionCallFeature.delegate
    let _: CallFeature.Type = DominantSpeakersCallFeature.self
    let _: KeyPath<DominantSpeakersCallFeature, DominantSpeakersInfo> =
      \DominantSpeakersCallFeature.dominantSpeakersInfo
    let _: ReferenceWritableKeyPath<DominantSpeakersCallFeature, (any DominantSpeakersCallFeatureDelegate)?> =
      \DominantSpeakersCallFeature.delegate
    let _: NSObject.Type = DominantSpeakersInfo.self
    let _: KeyPath<DominantSpeakersInfo, [any CommunicationIdentifier]> = \DominantSpeakersInfo.speakers
    let _: KeyPath<DominantSpeakersInfo, Date> = \DominantSpeakersInfo.lastUpdated
  }

  /// Never run: it has only to compile.
  private func callFeaturesProtocols(
    _ recordingCallFeatureDelegate: any RecordingCallFeatureDelegate,
    _ transcriptionCallFeatureDelegate: any TranscriptionCallFeatureDelegate,
    _ dominantSpeakersCallFeatureDelegate: any DominantSpeakersCallFeatureDelegate
  ) {
    let _: any NSObjectProtocol = recordingCallFeatureDelegate
    let _: (RecordingCallFeature, PropertyChangedEventArgs) -> Void = recordingCallFeatureDelegate.recordingCallFeature(
      _:didChangeRecordingState:)
    let _: any NSObjectProtocol = transcriptionCallFeatureDelegate
    let _: (TranscriptionCallFeature, PropertyChangedEventArgs) -> Void = transcriptionCallFeatureDelegate
      .transcriptionCallFeature(_:didChangeTranscriptionState:)
    let _: any NSObjectProtocol = dominantSpeakersCallFeatureDelegate
    let _: (DominantSpeakersCallFeature, PropertyChangedEventArgs) -> Void = dominantSpeakersCallFeatureDelegate
      .dominantSpeakersCallFeature(_:didChangeDominantSpeakers:)
  }
}
