import AmazonIVSBroadcast
import Foundation
import KoineAVFoundation
import KoineCoreMedia
import KoineUIKit
import Testing

// Every [seed] and [core] symbol of version 1.12 with its exact signature.

struct StageVersion1_12 {
  @Test func stage() {
    let _: NSObject.Type = IVSStage.self
    let _: any IVSErrorSource.Type = IVSStage.self
    let _: (String, any IVSStageStrategy) throws -> IVSStage = IVSStage.init(token:strategy:)
    let _: (IVSStage) -> () throws -> Void = IVSStage.join
    let _: (IVSStage) -> () -> Void = IVSStage.leave
    let _: (IVSStage) -> () -> Void = IVSStage.refreshStrategy
    let _: (IVSStage) -> (any IVSStageRenderer) -> Void = IVSStage.addRenderer(_:)
    let _: ReferenceWritableKeyPath<IVSStage, (any IVSErrorDelegate)?> = \IVSStage.errorDelegate
    let _: (IVSStage) -> (any IVSStageRenderer) -> Void = IVSStage.remove(_:)
    let _: (IVSStage) -> (any IVSStageStrategy) -> Void = IVSStage.replaceStrategy(_:)
    #expect([IVSStageConnectionState.disconnected, .connecting, .connected].map(\.rawValue) == [0, 1, 2])
  }

  /// Never run: it has only to compile.
  private func stageProtocols(_ errorSource: any IVSErrorSource, _ errorDelegate: any IVSErrorDelegate) {
    let _: any NSObjectProtocol = errorSource
    let _: (any IVSErrorDelegate)? = errorSource.errorDelegate
    let _: ((any IVSErrorDelegate)?) -> Void = { errorSource.errorDelegate = $0 }
    let _: any NSObjectProtocol = errorDelegate
    let _: (any IVSErrorSource, any Error) -> Void = errorDelegate.source(_:didEmitError:)
  }

  @Test func strategy() {
    #expect([IVSStageSubscribeType.none, .audioOnly, .audioVideo].map(\.rawValue) == [0, 1, 2])
  }

  /// Never run: it has only to compile.
  private func strategyProtocols(_ stageStrategy: any IVSStageStrategy) {
    let _: AnyObject = stageStrategy
    let _: (IVSStage, IVSParticipantInfo) -> [IVSLocalStageStream] = stageStrategy.stage(
      _:streamsToPublishForParticipant:)
    let _: (IVSStage, IVSParticipantInfo) -> Bool = stageStrategy.stage(_:shouldPublishParticipant:)
    let _: (IVSStage, IVSParticipantInfo) -> IVSStageSubscribeType = stageStrategy.stage(
      _:shouldSubscribeToParticipant:)
  }

  /// Never run: it has only to compile.
  private func rendererProtocols(_ stageRenderer: any IVSStageRenderer) {
    let _: any NSObjectProtocol = stageRenderer
    let _: (IVSStage, IVSParticipantInfo) -> Void = stageRenderer.stage(_:participantDidJoin:)
    let _: (IVSStage, IVSParticipantInfo) -> Void = stageRenderer.stage(_:participantDidLeave:)
    let _: (IVSStage, IVSParticipantInfo, IVSParticipantPublishState) -> Void = stageRenderer.stage(
      _:participant:didChange:)
    let _: (IVSStage, IVSParticipantInfo, IVSParticipantSubscribeState) -> Void = stageRenderer.stage(
      _:participant:didChange:)
    let _: (IVSStage, IVSParticipantInfo, [IVSStageStream]) -> Void = stageRenderer.stage(_:participant:didAdd:)
    let _: (IVSStage, IVSParticipantInfo, [IVSStageStream]) -> Void = stageRenderer.stage(_:participant:didRemove:)
    let _: (IVSStage, IVSParticipantInfo, [IVSStageStream]) -> Void = stageRenderer.stage(
      _:participant:didChangeMutedStreams:)
    let _: (IVSStage, IVSStageConnectionState, (any Error)?) -> Void = stageRenderer.stage(_:didChange:withError:)
  }

  @Test func participant() {
    let _: NSObject.Type = IVSParticipantInfo.self
    let _: KeyPath<IVSParticipantInfo, String> = \IVSParticipantInfo.participantId
    let _: KeyPath<IVSParticipantInfo, [String: String]> = \IVSParticipantInfo.attributes
    let _: KeyPath<IVSParticipantInfo, Bool> = \IVSParticipantInfo.isLocal
    let _: KeyPath<IVSParticipantInfo, IVSParticipantCapability> = \IVSParticipantInfo.capabilities
    let _: IVSParticipantCapability.Type = IVSParticipantCapability.self
    let _: IVSParticipantCapability = IVSParticipantCapability.publish
    let _: IVSParticipantCapability = IVSParticipantCapability.subscribe
    #expect([IVSParticipantPublishState.notPublished, .attemptingPublish, .published].map(\.rawValue) == [0, 1, 2])
    #expect(
      [IVSParticipantSubscribeState.notSubscribed, .attemptingSubscribe, .subscribed].map(\.rawValue) == [0, 1, 2])
  }

  @Test func streams() {
    let _: NSObject.Type = IVSStageStream.self
    let _: KeyPath<IVSStageStream, any IVSDevice> = \IVSStageStream.device
    let _: KeyPath<IVSStageStream, Bool> = \IVSStageStream.isMuted
    let _: ReferenceWritableKeyPath<IVSStageStream, (any IVSStageStreamDelegate)?> = \IVSStageStream.delegate
    let _: (IVSStageStream) -> () throws -> Void = IVSStageStream.requestRTCStats
    let _: IVSStageStream.Type = IVSLocalStageStream.self
    let _: (any IVSDevice) -> IVSLocalStageStream = IVSLocalStageStream.init(device:)
    let _: (any IVSDevice, IVSLocalStageStreamVideoConfiguration?) -> IVSLocalStageStream = IVSLocalStageStream.init(
      device:configuration:)
    let _: (IVSLocalStageStream) -> (Bool) -> Void = IVSLocalStageStream.setMuted(_:)
    let _: (IVSLocalStageStream) -> (IVSLocalStageStreamVideoConfiguration) -> Void = IVSLocalStageStream
      .setConfiguration(_:)
  }

  /// Never run: it has only to compile.
  private func streamsProtocols(_ stageStreamDelegate: any IVSStageStreamDelegate) {
    let _: any NSObjectProtocol = stageStreamDelegate
    let _: (IVSStageStream, [String: [String: String]]) -> Void = stageStreamDelegate.stream(_:didGenerateRTCStats:)
    let _: (IVSStageStream) -> Void = stageStreamDelegate.streamDidChangeIsMuted(_:)
  }

  @Test func configurationOfPublishedStreams() {
    let _: NSObject.Type = IVSLocalStageStreamVideoConfiguration.self
    let _: KeyPath<IVSLocalStageStreamVideoConfiguration, Int> = \IVSLocalStageStreamVideoConfiguration.maxBitrate
    let _: KeyPath<IVSLocalStageStreamVideoConfiguration, Int> = \IVSLocalStageStreamVideoConfiguration.minBitrate
    let _: KeyPath<IVSLocalStageStreamVideoConfiguration, Int> = \IVSLocalStageStreamVideoConfiguration.targetFramerate
    let _: KeyPath<IVSLocalStageStreamVideoConfiguration, CGSize> = \IVSLocalStageStreamVideoConfiguration.size
    let _: (IVSLocalStageStreamVideoConfiguration) -> (Int) throws -> Void = IVSLocalStageStreamVideoConfiguration
      .setMaxBitrate(_:)
    let _: (IVSLocalStageStreamVideoConfiguration) -> (Int) throws -> Void = IVSLocalStageStreamVideoConfiguration
      .setMinBitrate(_:)
    let _: (IVSLocalStageStreamVideoConfiguration) -> (Int) throws -> Void = IVSLocalStageStreamVideoConfiguration
      .setTargetFramerate(_:)
    let _: (IVSLocalStageStreamVideoConfiguration) -> (CGSize) throws -> Void = IVSLocalStageStreamVideoConfiguration
      .setSize(_:)
    let _:
      ReferenceWritableKeyPath<
        IVSLocalStageStreamVideoConfiguration, IVSLocalStageStreamVideoConfiguration.DegradationPreference
      > = \IVSLocalStageStreamVideoConfiguration.degradationPreference
    let _: ReferenceWritableKeyPath<IVSLocalStageStreamVideoConfiguration, IVSSimulcastConfiguration> =
      \IVSLocalStageStreamVideoConfiguration.simulcast
    let _: IVSLocalStageStreamVideoConfiguration.DegradationPreference.Type = IVSLocalStageStreamVideoConfiguration
      .DegradationPreference.self
    #expect(
      [IVSLocalStageStreamVideoConfiguration.DegradationPreference.maintainFramerate, .maintainResolution, .balanced]
        .map(\.rawValue) == [1, 2, 3])
    let _: NSObject.Type = IVSSimulcastConfiguration.self
    let _: ReferenceWritableKeyPath<IVSSimulcastConfiguration, Bool> = \IVSSimulcastConfiguration.enabled
  }

  @Test func devices() {
    let _: NSObject.Type = IVSImageDeviceFrame.self
    let _: KeyPath<IVSImageDeviceFrame, CGSize> = \IVSImageDeviceFrame.size
    let _: NSObject.Type = IVSAudioDeviceStats.self
    let _: KeyPath<IVSAudioDeviceStats, Float> = \IVSAudioDeviceStats.peak
    let _: KeyPath<IVSAudioDeviceStats, Float> = \IVSAudioDeviceStats.rms
    let _: (IVSDeviceDiscovery) -> (String) -> any IVSCustomImageSource = IVSDeviceDiscovery.createImageSource(
      withName:)
    let _: (IVSDeviceDiscovery) -> (String) -> any IVSCustomAudioSource = IVSDeviceDiscovery.createAudioSource(
      withName:)
    let _: () -> IVSDeviceDiscovery = IVSDeviceDiscovery.init
    let _: (IVSDeviceDiscovery) -> () -> [any IVSDevice] = IVSDeviceDiscovery.listLocalDevices
    let _: () -> [any IVSDevice] = IVSDeviceDiscovery.listLocalDevices
    let _: NSObject.Type = IVSDeviceDiscovery.self
    let _: NSObject.Type = IVSDeviceDescriptor.self
    let _: KeyPath<IVSDeviceDescriptor, IVSDevicePosition> = \IVSDeviceDescriptor.position
    let _: KeyPath<IVSDeviceDescriptor, String> = \IVSDeviceDescriptor.urn
    let _: KeyPath<IVSDeviceDescriptor, String> = \IVSDeviceDescriptor.friendlyName
    let _: KeyPath<IVSDeviceDescriptor, IVSDeviceType> = \IVSDeviceDescriptor.type
    let _: KeyPath<IVSDeviceDescriptor, Bool> = \IVSDeviceDescriptor.isDefault
    let _: KeyPath<IVSDeviceDescriptor, String> = \IVSDeviceDescriptor.deviceId
    #expect([IVSDevicePosition.unknown, .front, .back, .USB, .bluetooth, .AUX].map(\.rawValue) == [0, 1, 2, 3, 4, 5])
    #expect([IVSDeviceType.unknown, .camera, .microphone, .userImage, .userAudio].map(\.rawValue) == [0, 1, 2, 5, 6])
  }

  @Test @MainActor func devicesOnTheMainActor() {
    let _: UIView.Type = IVSImagePreviewView.self
    let _: (IVSImagePreviewView) -> (Bool) -> Void = IVSImagePreviewView.setMirrored(_:)
  }

  /// Never run: it has only to compile.
  private func devicesProtocols(
    _ device: any IVSDevice, _ multiSourceDevice: any IVSMultiSourceDevice, _ camera: any IVSCamera,
    _ imageDevice: any IVSImageDevice, _ audioDevice: any IVSAudioDevice, _ microphone: any IVSMicrophone,
    _ microphoneDelegate: any IVSMicrophoneDelegate, _ customImageSource: any IVSCustomImageSource,
    _ customAudioSource: any IVSCustomAudioSource
  ) {
    let _: any IVSErrorSource = device
    let _: () -> IVSDeviceDescriptor = device.descriptor
    let _: () -> String = device.tag
    let _: any IVSDevice = multiSourceDevice
    let _: () -> [IVSDeviceDescriptor] = multiSourceDevice.listAvailableInputSources
    let _: (IVSDeviceDescriptor, (((any Error)?) -> Void)?) -> Void = multiSourceDevice.setPreferredInputSource(
      _:onComplete:)
    let _: (IVSDeviceDescriptor) -> Void = multiSourceDevice.setPreferredInputSource(_:)
    let _: any IVSImageDevice = camera
    let _: any IVSMultiSourceDevice = camera
    let _: any IVSDevice = imageDevice
    let _: () -> IVSImagePreviewView = imageDevice.previewView
    let _: (IVSBroadcastConfiguration.AspectMode) throws -> IVSImagePreviewView = imageDevice.previewView(with:)
    let _: (Float) -> Void = imageDevice.setHandsetRotation(_:)
    let _: (((IVSImageDeviceFrame) -> Void)?) -> Void = imageDevice.setOnFrameCallback(_:)
    let _: any IVSDevice = audioDevice
    let _: (((IVSAudioDeviceStats) -> Void)?) -> Void = audioDevice.setStatsCallback(_:)
    let _: () -> Float = audioDevice.gain
    let _: (Float) -> Void = audioDevice.setGain(_:)
    let _: any IVSAudioDevice = microphone
    let _: any IVSMultiSourceDevice = microphone
    let _: Bool = microphone.isEchoCancellationEnabled
    let _: (Bool) -> Void = { microphone.isEchoCancellationEnabled = $0 }
    let _: (any IVSMicrophoneDelegate)? = microphone.delegate
    let _: ((any IVSMicrophoneDelegate)?) -> Void = { microphone.delegate = $0 }
    let _: any NSObjectProtocol = microphoneDelegate
    let _: (any IVSMicrophone, IVSDeviceDescriptor?) -> Void = microphoneDelegate.underlyingInputSourceChanged(
      for:toInputSource:)
    let _: any IVSImageDevice = customImageSource
    let _: (CMSampleBuffer) -> Void = customImageSource.onSampleBuffer(_:)
    let _: any IVSAudioDevice = customAudioSource
    let _: (AVAudioPCMBuffer, AVAudioTime) -> Void = customAudioSource.onPCMBuffer(_:at:)
    let _: (CMSampleBuffer) -> Void = customAudioSource.onSampleBuffer(_:)
  }

  @Test func broadcastingAStageToAChannel() {
    let _: NSObject.Type = IVSSession.self
    let _: String = IVSSession.sdkVersion
    let _: KeyPath<IVSSession, String> = \IVSSession.sessionId
    let _: KeyPath<IVSSession, Bool> = \IVSSession.isReady
    let _: () -> [IVSDeviceDescriptor] = IVSSession.listAvailableDevices
    let _: (IVSSession) -> () -> [any IVSDevice] = IVSSession.listAttachedDevices
    let _: (IVSSession) -> (IVSDeviceDescriptor, String?, (((any IVSDevice)?, (any Error)?) -> Void)?) -> Void =
      IVSSession.attach(_:toSlotWithName:onComplete:)
    let _: (IVSSession) -> (any IVSDevice, String?, (((any Error)?) -> Void)?) -> Void =
      IVSSession.attach(_:toSlotWithName:onComplete:)
    let _: (IVSSession) -> (IVSDeviceDescriptor, (() -> Void)?) -> Void = IVSSession.detach(_:onComplete:)
    let _: (IVSSession) -> (any IVSDevice, (() -> Void)?) -> Void = IVSSession.detach(_:onComplete:)
    let _: (IVSSession) -> (any IVSDevice, IVSDeviceDescriptor, (((any IVSDevice)?, (any Error)?) -> Void)?) -> Void =
      IVSSession.exchangeOldDevice(_:withNewDevice:onComplete:)
    let _: (IVSSession) -> (String) -> any IVSCustomAudioSource = IVSSession.createAudioSource(withName:)
    let _: (IVSSession) -> (String) -> any IVSCustomImageSource = IVSSession.createImageSource(withName:)
    let _: (IVSSession) -> (@escaping () -> Void) -> Void = IVSSession.awaitDeviceChanges(_:)
    let _: (IVSSession) -> (IVSBroadcastConfiguration.AspectMode) throws -> IVSImagePreviewView = IVSSession
      .previewView(with:)
    let _: IVSBroadcastSession.AudioSessionStrategy = IVSSession.applicationAudioSessionStrategy
    let _: ReferenceWritableKeyPath<IVSSession, IVSBroadcastSession.LogLevel> = \IVSSession.logLevel
    let _: KeyPath<IVSSession, IVSMixer> = \IVSSession.mixer
    let _: IVSBroadcastSession.AudioSessionStrategy.Type = IVSBroadcastSession.AudioSessionStrategy.self
    let _: IVSBroadcastSession.LogLevel.Type = IVSBroadcastSession.LogLevel.self
    #expect([IVSBroadcastSession.LogLevel.debug, .info, .warn, .error].map(\.rawValue) == Array(0...3))
    let _: NSObject.Type = IVSMixer.self
    let _: IVSSession.Type = IVSBroadcastSession.self
    let _:
      (IVSBroadcastConfiguration, [IVSDeviceDescriptor]?, (any IVSBroadcastSession.Delegate)?) throws ->
        IVSBroadcastSession = IVSBroadcastSession.init(configuration:descriptors:delegate:)
    let _: ReferenceWritableKeyPath<IVSBroadcastSession, (any IVSBroadcastSession.Delegate)?> =
      \IVSBroadcastSession.delegate
    let _: (IVSBroadcastSession) -> (URL, String) throws -> Void = IVSBroadcastSession.start(with:streamKey:)
    let _: (IVSBroadcastSession) -> () -> Void = IVSBroadcastSession.stop
    let _: IVSBroadcastSession.State.Type = IVSBroadcastSession.State.self
    #expect(
      [IVSBroadcastSession.State.invalid, .disconnected, .connecting, .connected, .error].map(\.rawValue)
        == Array(0...4))
    let _: (IVSMixer) -> () -> [IVSMixerSlotConfiguration] = IVSMixer.slots
    let _: (IVSMixer) -> (IVSMixerSlotConfiguration) -> Bool = IVSMixer.addSlot(_:)
    let _: (IVSMixer) -> (String) -> Bool = IVSMixer.removeSlot(withName:)
    let _: (IVSMixer) -> (String, IVSMixerSlotConfiguration, TimeInterval, (() -> Void)?) -> Bool = IVSMixer
      .transitionSlot(withName:toState:duration:onComplete:)
    let _: (IVSMixer) -> (any IVSDevice, String) -> Bool = IVSMixer.bindDevice(_:toSlotWithName:)
    let _: (IVSMixer) -> (any IVSDevice) -> String? = IVSMixer.binding(for:)
    let _: NSObject.Type = IVSMixerSlotConfiguration.self
    let _: KeyPath<IVSMixerSlotConfiguration, String> = \IVSMixerSlotConfiguration.name
    let _: ReferenceWritableKeyPath<IVSMixerSlotConfiguration, CGSize> = \IVSMixerSlotConfiguration.size
    let _: ReferenceWritableKeyPath<IVSMixerSlotConfiguration, CGPoint> = \IVSMixerSlotConfiguration.position
    let _: ReferenceWritableKeyPath<IVSMixerSlotConfiguration, IVSBroadcastConfiguration.AspectMode> =
      \IVSMixerSlotConfiguration.aspect
    let _: ReferenceWritableKeyPath<IVSMixerSlotConfiguration, Int32> = \IVSMixerSlotConfiguration.zIndex
    let _: ReferenceWritableKeyPath<IVSMixerSlotConfiguration, UIColor?> = \IVSMixerSlotConfiguration.fillColor
    let _: KeyPath<IVSMixerSlotConfiguration, Float> = \IVSMixerSlotConfiguration.gain
    let _: KeyPath<IVSMixerSlotConfiguration, Float> = \IVSMixerSlotConfiguration.transparency
    let _: ReferenceWritableKeyPath<IVSMixerSlotConfiguration, IVSDeviceType> =
      \IVSMixerSlotConfiguration.preferredVideoInput
    let _: ReferenceWritableKeyPath<IVSMixerSlotConfiguration, IVSDeviceType> =
      \IVSMixerSlotConfiguration.preferredAudioInput
    let _: ReferenceWritableKeyPath<IVSMixerSlotConfiguration, Bool> = \IVSMixerSlotConfiguration.matchCanvasSize
    let _: ReferenceWritableKeyPath<IVSMixerSlotConfiguration, Bool> = \IVSMixerSlotConfiguration.matchCanvasAspectMode
    let _: (IVSMixerSlotConfiguration) -> (String) throws -> Void = IVSMixerSlotConfiguration.setName(_:)
    let _: (IVSMixerSlotConfiguration) -> (Float) throws -> Void = IVSMixerSlotConfiguration.setGain(_:)
    let _: (IVSMixerSlotConfiguration) -> (Float) throws -> Void = IVSMixerSlotConfiguration.setTransparency(_:)
    let _: NSObject.Type = IVSBroadcastConfiguration.self
    let _: () -> IVSBroadcastConfiguration = IVSBroadcastConfiguration.init
    let _: (IVSAudioConfiguration, IVSVideoConfiguration, IVSMixerConfiguration) -> IVSBroadcastConfiguration =
      IVSBroadcastConfiguration.init(audio:video:mixer:)
    let _: ReferenceWritableKeyPath<IVSBroadcastConfiguration, IVSAudioConfiguration> = \IVSBroadcastConfiguration.audio
    let _: ReferenceWritableKeyPath<IVSBroadcastConfiguration, IVSVideoConfiguration> = \IVSBroadcastConfiguration.video
    let _: ReferenceWritableKeyPath<IVSBroadcastConfiguration, IVSMixerConfiguration> = \IVSBroadcastConfiguration.mixer
    let _: ReferenceWritableKeyPath<IVSBroadcastConfiguration, IVSAutoReconnectConfiguration> =
      \IVSBroadcastConfiguration.autoReconnect
    let _: ReferenceWritableKeyPath<IVSBroadcastConfiguration, IVSBroadcastSession.LogLevel> =
      \IVSBroadcastConfiguration.logLevel
    let _: IVSBroadcastConfiguration.AspectMode.Type = IVSBroadcastConfiguration.AspectMode.self
    #expect([IVSBroadcastConfiguration.AspectMode.none, .fit, .fill].map(\.rawValue) == [0, 1, 2])
    let _: NSObject.Type = IVSMixerConfiguration.self
    let _: ReferenceWritableKeyPath<IVSMixerConfiguration, [IVSMixerSlotConfiguration]> = \IVSMixerConfiguration.slots
    let _: ReferenceWritableKeyPath<IVSMixerConfiguration, IVSBroadcastConfiguration.AspectMode> =
      \IVSMixerConfiguration.canvasAspectMode
    let _: NSObject.Type = IVSAutoReconnectConfiguration.self
    let _: ReferenceWritableKeyPath<IVSAutoReconnectConfiguration, Bool> = \IVSAutoReconnectConfiguration.enabled
    let _: NSObject.Type = IVSVideoConfiguration.self
    let _: KeyPath<IVSVideoConfiguration, Int> = \IVSVideoConfiguration.initialBitrate
    let _: KeyPath<IVSVideoConfiguration, Int> = \IVSVideoConfiguration.maxBitrate
    let _: KeyPath<IVSVideoConfiguration, Int> = \IVSVideoConfiguration.minBitrate
    let _: KeyPath<IVSVideoConfiguration, Int> = \IVSVideoConfiguration.targetFramerate
    let _: KeyPath<IVSVideoConfiguration, CGSize> = \IVSVideoConfiguration.size
    let _: ReferenceWritableKeyPath<IVSVideoConfiguration, Bool> = \IVSVideoConfiguration.enableTransparency
    let _: (IVSVideoConfiguration) -> (Int) throws -> Void = IVSVideoConfiguration.setInitialBitrate(_:)
    let _: (IVSVideoConfiguration) -> (Int) throws -> Void = IVSVideoConfiguration.setMaxBitrate(_:)
    let _: (IVSVideoConfiguration) -> (Int) throws -> Void = IVSVideoConfiguration.setMinBitrate(_:)
    let _: (IVSVideoConfiguration) -> (Int) throws -> Void = IVSVideoConfiguration.setTargetFramerate(_:)
    let _: (IVSVideoConfiguration) -> (CGSize) throws -> Void = IVSVideoConfiguration.setSize(_:)
    let _: KeyPath<IVSVideoConfiguration, Float> = \IVSVideoConfiguration.keyframeInterval
    let _: ReferenceWritableKeyPath<IVSVideoConfiguration, Bool> = \IVSVideoConfiguration.usesBFrames
    let _: ReferenceWritableKeyPath<IVSVideoConfiguration, Bool> = \IVSVideoConfiguration.useAutoBitrate
    let _: ReferenceWritableKeyPath<IVSVideoConfiguration, IVSVideoConfiguration.AutomaticBitrateProfile> =
      \IVSVideoConfiguration.autoBitrateProfile
    let _: (IVSVideoConfiguration) -> (Float) throws -> Void = IVSVideoConfiguration.setKeyframeInterval(_:)
    let _: NSObject.Type = IVSAudioConfiguration.self
    let _: KeyPath<IVSAudioConfiguration, Int> = \IVSAudioConfiguration.bitrate
    let _: (IVSAudioConfiguration) -> (Int) throws -> Void = IVSAudioConfiguration.setBitrate(_:)
    let _: KeyPath<IVSAudioConfiguration, Int> = \IVSAudioConfiguration.channels
    let _: ReferenceWritableKeyPath<IVSAudioConfiguration, IVSAudioConfiguration.AudioQuality> =
      \IVSAudioConfiguration.quality
    let _: (IVSAudioConfiguration) -> (Int) throws -> Void = IVSAudioConfiguration.setChannels(_:)
    let _: NSObject.Type = IVSPresets.self
    let _: () -> IVSConfigurationPresets = IVSPresets.configurations
    let _: () -> IVSDevicePresets = IVSPresets.devices
    let _: (IVSConfigurationPresets) -> () -> IVSBroadcastConfiguration = IVSConfigurationPresets.standardPortrait
    let _: (IVSConfigurationPresets) -> () -> IVSBroadcastConfiguration = IVSConfigurationPresets.standardLandscape
    let _: (IVSConfigurationPresets) -> () -> IVSBroadcastConfiguration = IVSConfigurationPresets.basicPortrait
    let _: (IVSConfigurationPresets) -> () -> IVSBroadcastConfiguration = IVSConfigurationPresets.basicLandscape
    let _: (IVSDevicePresets) -> () -> [IVSDeviceDescriptor] = IVSDevicePresets.frontCamera
    let _: (IVSDevicePresets) -> () -> [IVSDeviceDescriptor] = IVSDevicePresets.backCamera
    let _: (IVSDevicePresets) -> () -> [IVSDeviceDescriptor] = IVSDevicePresets.microphone
  }

  /// Never run: it has only to compile.
  private func broadcastingAStageToAChannelProtocols(_ delegate: any IVSBroadcastSession.Delegate) {
    let _: AnyObject = delegate
    let _: (IVSBroadcastSession, IVSBroadcastSession.State) -> Void = delegate.broadcastSession(_:didChange:)
    let _: (IVSBroadcastSession, any Error) -> Void = delegate.broadcastSession(_:didEmitError:)
  }

  @Test func errors() {
    let _: String = IVSBroadcastErrorDomain
    let _: String = IVSBroadcastErrorIsFatalKey
    let _: String = IVSBroadcastSourceDescriptionErrorKey
    let _: String = IVSBroadcastResultDescriptionErrorKey
    let _: String = IVSBroadcastUidDescriptionErrorKey
    #expect(
      [
        IVSBroadcastError.deviceExchangeIncompatibleTypes, .deviceNotFound, .deviceFoundNoMatchingSlot,
        .tooManyExternalAudioInputs, .noSupportedPixelFormats, .exchangeDeviceOldDeviceNotAttached,
        .deviceAlreadyAttached, .deviceNotPublishing, .configurationDuplicateSlotNames,
        .stageConfigurationInvalidVideoMaxBitrate, .stageConfigurationInvalidVideoMinBitrate,
        .stageConfigurationInvalidVideoTargetFramerate, .stageConfigurationInvalidVideoSize, .metalNotSupported,
        .sessionIsNotReady, .invalidVideoFormat, .imageTooLarge, .pcmDataTooLong, .invalidAudioSessionStrategy,
        .networkConnectivityLost, .invalidState, .pcmUnsupportedSample, .appSuspension,
      ].map(\.rawValue) == [
        10100, 10101, 10105, 10107, 10108, 10109, 10110, 10111, 10211, 10220, 10221, 10222, 10223, 10302, 10400, 10401,
        10402, 10403, 10404, 10405, 10410, 10411, 10412,
      ])
  }
}
