import AmazonIVSBroadcast
import Foundation
import KoineAVFoundation
import KoineCoreMedia
import KoineCoreVideo
import KoineUIKit
import Testing

// [extended] symbols up to 1.48 with their exact signatures.

struct StageStrategyExtended {
  @Test func strategies() {
    let _: any IVSStageStrategyV2.Type = ExtendedStrategy.self
    let _: any IVSBaseStageStrategy.Type = ExtendedStrategy.self
    let _: (String, any IVSBaseStageStrategy) throws -> IVSStage = IVSStage.init(token:strategy:)
    let _: (IVSStage) -> (any IVSBaseStageStrategy) -> Void = IVSStage.replaceStrategy(_:)
    let _: (IVSStage) -> (String) throws -> Void = IVSStage.exchangeToken(_:)
    let _: IVSStageSubscribeMediaTypes = [.audio, .video]
    let _: KeyPath<IVSCustomJitterBufferDelay, TimeInterval> = \IVSCustomJitterBufferDelay.interval
    let _: NSObject.Type = IVSSubscribeSimulcastConfiguration.self
    let _: ReferenceWritableKeyPath<IVSSubscribeConfiguration, IVSSubscribeSimulcastConfiguration> =
      \IVSSubscribeConfiguration.simulcast
    let _:
      ReferenceWritableKeyPath<
        IVSSubscribeSimulcastConfiguration, IVSSubscribeSimulcastConfiguration.InitialLayerPreference
      > = \IVSSubscribeSimulcastConfiguration.initialLayerPreference
    let preferences: [IVSSubscribeSimulcastConfiguration.InitialLayerPreference] = [.lowestQuality, .highestQuality]
    #expect(preferences.count == 2)
  }

  /// Never run: it has only to compile.
  private func rendererProtocols(
    _ stageRenderer: any IVSStageRenderer, _ streamDelegate: any IVSStageStreamDelegate,
    _ remoteDelegate: any IVSRemoteStageStreamDelegate, _ strategy: any IVSBaseStageStrategy,
    _ second: any IVSStageStrategyV2
  ) {
    let _: (IVSStage, IVSParticipantInfo, IVSRemoteStageStream) -> IVSRemoteStageStreamLayer? = strategy.stage(
      _:participant:preferredLayerFor:)
    let _: (IVSStage, IVSParticipantInfo) -> IVSStageSubscribeMediaTypes = second.stage(
      _:shouldSubscribeToParticipantTypes:)
    let _: (IVSStage, IVSParticipantInfo, IVSRemoteStageStream, Bool) -> Void = stageRenderer.stage(
      _:participant:stream:didChangeStreamAdaption:)
    let _: (IVSStage, IVSParticipantInfo, IVSRemoteStageStream, [IVSRemoteStageStreamLayer]) -> Void =
      stageRenderer.stage(_:participant:stream:didChange:)
    let _:
      (
        IVSStage, IVSParticipantInfo, IVSRemoteStageStream, IVSRemoteStageStreamLayer?,
        IVSRemoteStageStream.LayerSelectedReason
      ) -> Void = stageRenderer.stage(_:participant:stream:didSelect:reason:)
    let _: (IVSStageStream, IVSLocalAudioStats) -> Void = streamDelegate.stream(_:didGenerate:)
    let _: (IVSStageStream, [IVSLocalVideoStats]) -> Void = streamDelegate.stream(_:didGenerate:)
    let _: (IVSStageStream, IVSRemoteAudioStats) -> Void = streamDelegate.stream(_:didGenerate:)
    let _: (IVSStageStream, IVSRemoteVideoStats) -> Void = streamDelegate.stream(_:didGenerate:)
    let _: any IVSStageStreamDelegate = remoteDelegate
    let _: (IVSRemoteStageStream, [IVSRemoteStageStreamLayer]) -> Void = remoteDelegate.stream(_:didChange:)
    let _: (IVSRemoteStageStream, IVSRemoteStageStreamLayer?, IVSRemoteStageStream.LayerSelectedReason) -> Void =
      remoteDelegate.stream(_:didSelect:reason:)
    let _: (IVSRemoteStageStream, Bool) -> Void = remoteDelegate.stream(_:didChangeAdaption:)
  }

  @Test func remoteLayers() {
    let _: IVSStageStream.Type = IVSRemoteStageStream.self
    let _: KeyPath<IVSRemoteStageStream, [IVSRemoteStageStreamLayer]> = \IVSRemoteStageStream.layers
    let _: KeyPath<IVSRemoteStageStream, IVSRemoteStageStreamLayer?> = \IVSRemoteStageStream.selectedLayer
    let _: KeyPath<IVSRemoteStageStream, IVSRemoteStageStreamLayer> = \IVSRemoteStageStream.highestQualityLayer
    let _: KeyPath<IVSRemoteStageStream, IVSRemoteStageStreamLayer> = \IVSRemoteStageStream.lowestQualityLayer
    let _: (IVSRemoteStageStream) -> (IVSRemoteStageStreamLayerConstraints) -> [IVSRemoteStageStreamLayer] =
      IVSRemoteStageStream.layers(with:)
    #expect([IVSRemoteStageStream.LayerSelectedReason.unavailable, .selected].map(\.rawValue) == [0, 1])
    let _: NSObject.Type = IVSRemoteStageStreamLayer.self
    let _: KeyPath<IVSRemoteStageStreamLayer, String> = \IVSRemoteStageStreamLayer.label
    let _: KeyPath<IVSRemoteStageStreamLayer, Int> = \IVSRemoteStageStreamLayer.bitrate
    let _: KeyPath<IVSRemoteStageStreamLayer, CGSize> = \IVSRemoteStageStreamLayer.size
    let _: KeyPath<IVSRemoteStageStreamLayer, Int> = \IVSRemoteStageStreamLayer.framesPerSecond
    let _: KeyPath<IVSRemoteStageStreamLayer, Bool> = \IVSRemoteStageStreamLayer.selected
    let _: () -> IVSRemoteStageStreamLayerConstraints = IVSRemoteStageStreamLayerConstraints.init
    let _: [ReferenceWritableKeyPath<IVSRemoteStageStreamLayerConstraints, Int>] = [
      \.maxBitrate, \.minBitrate, \.maxFramerate, \.minFramerate, \.maxWidth, \.minWidth, \.maxHeight, \.minHeight,
    ]
  }

  @Test func localLayers() {
    let _: KeyPath<IVSSimulcastConfiguration, [IVSLocalStageStreamLayer]> = \IVSSimulcastConfiguration.layers
    let _: (IVSSimulcastConfiguration) -> ([IVSLocalStageStreamLayer]) throws -> Void = IVSSimulcastConfiguration
      .setLayers(_:)
    let _: () -> IVSLocalStageStreamLayer = IVSLocalStageStreamLayer.init
    let _: KeyPath<IVSLocalStageStreamLayer, Int> = \IVSLocalStageStreamLayer.maxBitrate
    let _: KeyPath<IVSLocalStageStreamLayer, Int> = \IVSLocalStageStreamLayer.minBitrate
    let _: KeyPath<IVSLocalStageStreamLayer, CGSize> = \IVSLocalStageStreamLayer.size
    let _: KeyPath<IVSLocalStageStreamLayer, Float> = \IVSLocalStageStreamLayer.targetFramerate
    let _: (IVSLocalStageStreamLayer) -> (Int) throws -> Void = IVSLocalStageStreamLayer.setMaxBitrate(_:)
    let _: (IVSLocalStageStreamLayer) -> (Int) throws -> Void = IVSLocalStageStreamLayer.setMinBitrate(_:)
    let _: (IVSLocalStageStreamLayer) -> (CGSize) throws -> Void = IVSLocalStageStreamLayer.setSize(_:)
    let _: (IVSLocalStageStreamLayer) -> (Float) throws -> Void = IVSLocalStageStreamLayer.setTargetFramerate(_:)
    let _: () -> IVSSimulcastLocalLayerPresets = IVSStagePresets.simulcastLocalLayer
    let presets: [(IVSSimulcastLocalLayerPresets) -> () -> IVSLocalStageStreamLayer] = [
      IVSSimulcastLocalLayerPresets.default160, IVSSimulcastLocalLayerPresets.default180,
      IVSSimulcastLocalLayerPresets.default270, IVSSimulcastLocalLayerPresets.default360,
      IVSSimulcastLocalLayerPresets.default480, IVSSimulcastLocalLayerPresets.default540,
      IVSSimulcastLocalLayerPresets.default720,
    ]
    #expect(presets.count == 7)
  }

  @Test func statistics() {
    let _: (IVSStageStream) -> () throws -> Void = IVSStageStream.requestQualityStats
    #expect(
      [IVSStageStreamNetworkQuality.excellent, .good, .normal, .poor, .down].map(\.rawValue) == [0, 1, 2, 3, 4])
    let _: [KeyPath<IVSLocalAudioStats, Int>] = [
      \.nackCount, \.packetsSent, \.retransmittedPacketsSent, \.bytesSent, \.headerBytesSent, \.retransmittedBytesSent,
      \.totalPacketSendDelay,
    ]
    let _: KeyPath<IVSLocalAudioStats, IVSStageStreamNetworkQuality> = \.networkQuality
    let _: KeyPath<IVSLocalAudioStats, String> = \.mime
    let _: [KeyPath<IVSLocalVideoStats, Int>] = [
      \.frameWidth, \.frameHeight, \.nackCount, \.packetsSent, \.retransmittedPacketsSent, \.bytesSent,
      \.headerBytesSent, \.retransmittedBytesSent, \.totalPacketSendDelay, \.firCount, \.pliCount, \.framesEncoded,
      \.keyFramesEncoded, \.totalEncodeTime, \.totalEncodedBytesTarget, \.framesSent, \.hugeFramesSent,
      \.qualityLimitationResolutionChanges,
    ]
    let _: KeyPath<IVSLocalVideoStats, IVSStageStreamNetworkQuality> = \.networkQuality
    let _: KeyPath<IVSLocalVideoStats, Bool> = \.active
    let _: KeyPath<IVSLocalVideoStats, Double> = \.framesPerSecond
    let _: [KeyPath<IVSLocalVideoStats, String>] = [\.rid, \.qualityLimitationReason, \.mime]
    let _: [KeyPath<IVSRemoteAudioStats, Int>] = [
      \.nackCount, \.packetsReceived, \.packetsLost, \.bytesReceived, \.headerBytesReceived, \.totalSamplesReceived,
      \.concealedSamples, \.insertedSamplesForDeceleration, \.removedSamplesForAcceleration,
    ]
    let _: KeyPath<IVSRemoteAudioStats, IVSStageStreamNetworkQuality> = \.networkQuality
    let _: [KeyPath<IVSRemoteAudioStats, Double>] = [\.jitterBufferDelay, \.audioLevel]
    let _: KeyPath<IVSRemoteAudioStats, String> = \.mime
    let _: [KeyPath<IVSRemoteVideoStats, Int>] = [
      \.frameWidth, \.frameHeight, \.nackCount, \.packetsReceived, \.packetsLost, \.bytesReceived,
      \.headerBytesReceived, \.framesReceived, \.framesDecoded, \.keyFramesDecoded, \.framesDropped, \.firCount,
      \.pliCount, \.pauseCount, \.freezeCount,
    ]
    let _: KeyPath<IVSRemoteVideoStats, IVSStageStreamNetworkQuality> = \.networkQuality
    let _: [KeyPath<IVSRemoteVideoStats, Double>] = [
      \.framesPerSecond, \.jitterBufferDelay, \.totalPausesDuration, \.totalFreezesDuration,
    ]
    let _: KeyPath<IVSRemoteVideoStats, String> = \.mime
  }

  /// Never run: it has only to compile.
  private func background(_ source: any IVSBackgroundImageSource, _ session: IVSBroadcastSession) throws {
    let _: any IVSCustomImageSource = source
    let _: (CVPixelBuffer) -> Void = source.add(_:)
    let _: () -> Void = source.finish
    let _: (any IVSBackgroundImageSource)? = session.createAppBackgroundImageSource(withAttemptTrim: true) { error in
      print(error.debugDescription)
    }
    try session.removeImageSourceOnAppBackgrounded()
  }

  /// Never run: it has only to compile.
  private func screen(_ session: IVSReplayKitBroadcastSession, _ url: URL) throws {
    let _:
      (IVSVideoConfiguration, IVSAudioConfiguration, (any IVSBroadcastSession.Delegate)?) throws ->
        IVSReplayKitBroadcastSession = IVSReplayKitBroadcastSession.init(videoConfiguration:audioConfig:delegate:)
    let _: any IVSCustomImageSource = session.systemImageSource
    let _: [any IVSCustomAudioSource] = [session.systemAudioSource, session.microphoneSource]
    try session.start(with: url, streamKey: "")
    session.stop()
    session.broadcastFinished()
  }

  @Test func mixedDevices() {
    let _: (IVSDeviceDiscovery) -> (IVSMixedImageDeviceConfiguration) -> any IVSMixedImageDevice = IVSDeviceDiscovery
      .createMixedImageDevice(with:)
    let _: (IVSDeviceDiscovery) -> (IVSMixedAudioDeviceConfiguration) -> any IVSMixedAudioDevice = IVSDeviceDiscovery
      .createMixedAudioDevice(with:)
    let _: () -> IVSMixedImageDeviceConfiguration = IVSMixedImageDeviceConfiguration.init
    let _: ReferenceWritableKeyPath<IVSMixedImageDeviceConfiguration, CGSize> = \.size
    let _: ReferenceWritableKeyPath<IVSMixedImageDeviceConfiguration, Bool> = \.isTransparencyEnabled
    let _: KeyPath<IVSMixedImageDeviceConfiguration, Int> = \.targetFramerate
    let _: (IVSMixedImageDeviceConfiguration) -> (Int) throws -> Void = IVSMixedImageDeviceConfiguration
      .setTargetFramerate(_:)
    let _: () -> IVSMixedImageDeviceSourceConfiguration = IVSMixedImageDeviceSourceConfiguration.init
    let _: ReferenceWritableKeyPath<IVSMixedImageDeviceSourceConfiguration, IVSBroadcastConfiguration.AspectMode> =
      \.aspect
    let _: ReferenceWritableKeyPath<IVSMixedImageDeviceSourceConfiguration, CGPoint> = \.position
    let _: ReferenceWritableKeyPath<IVSMixedImageDeviceSourceConfiguration, CGSize> = \.size
    let _: ReferenceWritableKeyPath<IVSMixedImageDeviceSourceConfiguration, Int32> = \.zIndex
    let _: ReferenceWritableKeyPath<IVSMixedImageDeviceSourceConfiguration, UIColor?> = \.fillColor
    let _: KeyPath<IVSMixedImageDeviceSourceConfiguration, Float> = \.alpha
    let _: (IVSMixedImageDeviceSourceConfiguration) -> (Float) throws -> Void = IVSMixedImageDeviceSourceConfiguration
      .setAlpha(_:)
    let _: (IVSMixedImageDeviceSourceConfiguration, (any IVSImageDevice)?) -> IVSMixedImageDeviceSource =
      IVSMixedImageDeviceSource.init(configuration:device:)
    let _: ReferenceWritableKeyPath<IVSMixedImageDeviceSource, (any IVSImageDevice)?> = \.device
    let _: KeyPath<IVSMixedImageDeviceSource, IVSMixedImageDeviceSourceConfiguration> = \.configuration
    let _:
      (IVSMixedImageDeviceSource) -> (IVSMixedImageDeviceSourceConfiguration, TimeInterval, (() -> Void)?) -> Void =
        IVSMixedImageDeviceSource.transition(to:duration:onComplete:)
    let _: () -> IVSMixedAudioDeviceConfiguration = IVSMixedAudioDeviceConfiguration.init
    let _: KeyPath<IVSMixedAudioDeviceConfiguration, Int> = \.channels
    let _: (IVSMixedAudioDeviceConfiguration) -> (Int) throws -> Void = IVSMixedAudioDeviceConfiguration.setChannels(_:)
    let _: () -> IVSMixedAudioDeviceSourceConfiguration = IVSMixedAudioDeviceSourceConfiguration.init
    let _: KeyPath<IVSMixedAudioDeviceSourceConfiguration, Float> = \.gain
    let _: (IVSMixedAudioDeviceSourceConfiguration) -> (Float) throws -> Void = IVSMixedAudioDeviceSourceConfiguration
      .setGain(_:)
    let _: (IVSMixedAudioDeviceSourceConfiguration, (any IVSAudioDevice)?) -> IVSMixedAudioDeviceSource =
      IVSMixedAudioDeviceSource.init(configuration:device:)
    let _: ReferenceWritableKeyPath<IVSMixedAudioDeviceSource, (any IVSAudioDevice)?> = \.device
    let _: KeyPath<IVSMixedAudioDeviceSource, IVSMixedAudioDeviceSourceConfiguration> = \.configuration
    let _:
      (IVSMixedAudioDeviceSource) -> (IVSMixedAudioDeviceSourceConfiguration, TimeInterval, (() -> Void)?) -> Void =
        IVSMixedAudioDeviceSource.transition(to:duration:onComplete:)
  }

  /// Never run: it has only to compile.
  private func mixedDeviceProtocols(_ image: any IVSMixedImageDevice, _ audio: any IVSMixedAudioDevice) {
    let _: any IVSMixedDevice & IVSImageDevice = image
    let _: (IVSMixedImageDeviceSource) -> Void = image.add(_:)
    let _: (IVSMixedImageDeviceSource) -> Void = image.remove(_:)
    let _: () -> [IVSMixedImageDeviceSource] = image.sources
    let _: any IVSMixedDevice & IVSAudioDevice = audio
    let _: (IVSMixedAudioDeviceSource) -> Void = audio.add(_:)
    let _: (IVSMixedAudioDeviceSource) -> Void = audio.remove(_:)
    let _: () -> [IVSMixedAudioDeviceSource] = audio.sources
  }
}

private final class ExtendedStrategy: IVSStageStrategyV2 {
  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
    -> [IVSLocalStageStream]
  { [] }
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { false }
  func stage(_ stage: IVSStage, shouldSubscribeToParticipantTypes participant: IVSParticipantInfo)
    -> IVSStageSubscribeMediaTypes
  { [.audio, .video] }
}
