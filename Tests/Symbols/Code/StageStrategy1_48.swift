import AmazonIVSBroadcast
import Foundation
import KoineAVFoundation
import KoineCoreMedia
import KoineUIKit
import Testing

// Every [core] symbol that came after 1.12, as of 1.48, with its exact signature.

struct StageVersion1_48 {
  @Test func strategy() {
    let _: NSObject.Type = IVSSubscribeConfiguration.self
    let _: ReferenceWritableKeyPath<IVSSubscribeConfiguration, IVSJitterBufferConfiguration> =
      \IVSSubscribeConfiguration.jitterBuffer
    let _: NSObject.Type = IVSJitterBufferConfiguration.self
    let _: KeyPath<IVSJitterBufferConfiguration, IVSJitterBufferDelay> = \IVSJitterBufferConfiguration.minDelay
    let _: (IVSJitterBufferConfiguration) -> (IVSJitterBufferDelay) throws -> Void = IVSJitterBufferConfiguration
      .setMinDelay(_:)
    let _: NSObject.Type = IVSJitterBufferDelay.self
    let _: () -> IVSJitterBufferDelay = IVSJitterBufferDelay.`default`
    let _: () -> IVSJitterBufferDelay = IVSJitterBufferDelay.low
    let _: () -> IVSJitterBufferDelay = IVSJitterBufferDelay.medium
    let _: () -> IVSJitterBufferDelay = IVSJitterBufferDelay.high
    let _: (TimeInterval) -> IVSCustomJitterBufferDelay = IVSJitterBufferDelay.custom(withTimeInterval:)
  }

  /// Never run: it has only to compile.
  private func strategyProtocols(_ stageStrategy: any IVSStageStrategy) {
    let _: (IVSStage, IVSParticipantInfo) -> IVSSubscribeConfiguration = stageStrategy.stage(
      _:subscribeConfigurationForParticipant:)
  }

  @Test func participant() {
    let _: KeyPath<IVSParticipantInfo, String> = \IVSParticipantInfo.userId
  }

  @Test func streams() {
    let _: (any IVSDevice, IVSLocalStageStreamConfiguration?) -> IVSLocalStageStream = IVSLocalStageStream.init(
      device:config:)
    let _: (IVSLocalStageStream) -> (IVSLocalStageStreamConfiguration) -> Void = IVSLocalStageStream.setConfig(_:)
  }

  @Test func configurationOfPublishedStreams() {
    let _: NSObject.Type = IVSLocalStageStreamConfiguration.self
    let _: ReferenceWritableKeyPath<IVSLocalStageStreamConfiguration, IVSLocalStageStreamAudioConfiguration> =
      \IVSLocalStageStreamConfiguration.audio
    let _: ReferenceWritableKeyPath<IVSLocalStageStreamConfiguration, IVSLocalStageStreamVideoConfiguration> =
      \IVSLocalStageStreamConfiguration.video
    let _: NSObject.Type = IVSLocalStageStreamAudioConfiguration.self
    let _: KeyPath<IVSLocalStageStreamAudioConfiguration, Int> = \IVSLocalStageStreamAudioConfiguration.maxBitrate
    let _: (IVSLocalStageStreamAudioConfiguration) -> (Int) throws -> Void = IVSLocalStageStreamAudioConfiguration
      .setMaxBitrate(_:)
  }

  @Test func devices() {
    let _: NSObject.Type = IVSStageAudioManager.self
    let _: any IVSErrorSource.Type = IVSStageAudioManager.self
    let _: () -> IVSStageAudioManager = IVSStageAudioManager.sharedInstance
    let _: (IVSStageAudioManager) -> (IVSStageAudioManager.UseCasePreset) -> Void = IVSStageAudioManager.setPreset(_:)
    let _: ReferenceWritableKeyPath<IVSStageAudioManager, Bool> = \IVSStageAudioManager.isEchoCancellationEnabled
    let _: IVSStageAudioManager.UseCasePreset.Type = IVSStageAudioManager.UseCasePreset.self
    #expect([IVSStageAudioManager.UseCasePreset.videoChat, .subscribeOnly, .studio].map(\.rawValue) == [0, 1, 2])
  }

  @Test func errors() {
    #expect([IVSBroadcastError.stageConfigurationInvalidAudioMaxBitrate].map(\.rawValue) == [10224])
  }
}
