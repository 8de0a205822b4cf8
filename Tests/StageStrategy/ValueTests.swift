import AmazonIVSBroadcast
import Foundation
import Testing

/// Configurations with their defaults and ranges, and the codes of errors.
struct ValueTests {
  @Test func configurationsHaveTheVendorsDefaults() throws {
    let video = IVSLocalStageStreamVideoConfiguration()
    #expect(video.maxBitrate == 900_000)
    #expect(video.minBitrate == 100_000)
    #expect(video.targetFramerate == 15)
    #expect(video.size == CGSize(width: 360, height: 640))
    #expect(video.simulcast.enabled)
    try video.setMaxBitrate(900_000)
    try video.setMinBitrate(100_000)
    try video.setTargetFramerate(30)
    try video.setSize(CGSize(width: 360, height: 640))
    video.degradationPreference = .balanced
    video.simulcast.enabled = false
    let preferences: [IVSLocalStageStreamVideoConfiguration.DegradationPreference] = [
      .maintainFramerate, .maintainResolution, .balanced,
    ]
    #expect(preferences.map(\.rawValue) == [1, 2, 3])
    let whole = IVSLocalStageStreamConfiguration()
    whole.video = video
    whole.audio = IVSLocalStageStreamAudioConfiguration()
    try whole.audio.setMaxBitrate(64_000)
    let subscribe = IVSSubscribeConfiguration()
    subscribe.jitterBuffer = IVSJitterBufferConfiguration()
    try subscribe.jitterBuffer.setMinDelay(.medium())
    let _: [IVSJitterBufferDelay] = [.default(), .low(), .medium(), .high(), .custom(withTimeInterval: 1)]
    let _: IVSJitterBufferDelay = subscribe.jitterBuffer.minDelay
    #expect(throws: (any Error).self) { try subscribe.jitterBuffer.setMinDelay(.custom(withTimeInterval: 11)) }
    subscribe.initialGain = 3
    #expect(subscribe.initialGain == 2)
    let positions: [IVSDevicePosition] = [.unknown, .front, .back, .USB, .bluetooth, .AUX]
    #expect(positions.map(\.rawValue) == Array(0...5))
    let types: [IVSDeviceType] = [.unknown, .camera, .microphone, .userImage, .userAudio]
    #expect(types.map(\.rawValue) == [0, 1, 2, 5, 6])
  }

  @Test func audioManagerKeepsItsSettings() {
    let manager: IVSStageAudioManager = IVSStageAudioManager.sharedInstance()
    let before = (manager.category, manager.options, manager.mode)
    manager.setCategory(.playback, options: [.mixWithOthers, .duckOthers], mode: .spokenAudio)
    #expect(manager.category == .playback)
    #expect(manager.options.rawValue == 3)
    #expect(manager.mode == .spokenAudio)
    manager.setCategory(before.0, options: before.1, mode: before.2)
    let _: (IVSStageAudioManager) -> (IVSStageAudioManager.UseCasePreset) -> Void = IVSStageAudioManager.setPreset
    let presets: [IVSStageAudioManager.UseCasePreset] = [.videoChat, .subscribeOnly, .studio]
    #expect(presets.map(\.rawValue) == [0, 1, 2])
  }

  @Test func broadcastConfigurationsHaveTheVendorsDefaultsAndRanges() throws {
    let configuration = IVSBroadcastConfiguration()
    let (video, audio) = (configuration.video, configuration.audio)
    #expect(video.initialBitrate == 2_100_000)
    #expect(video.maxBitrate == 6_000_000)
    #expect(video.minBitrate == 300_000)
    #expect(
      video.targetFramerate == 30 && video.keyframeInterval == 2 && video.size == CGSize(width: 720, height: 1280))
    #expect(!video.enableTransparency)
    #expect(video.usesBFrames)
    #expect(video.useAutoBitrate)
    #expect(audio.bitrate == 96_000)
    #expect(audio.channels == 2)
    #expect(audio.quality == .medium)
    #expect(!configuration.autoReconnect.enabled)
    #expect(configuration.logLevel == .error)
    func code(_ body: () throws -> Void) -> Int {
      do {
        try body()
        return 0
      } catch { return (error as NSError).code }
    }
    #expect(code { try audio.setBitrate(63_999) } == 10200 && code { try audio.setBitrate(160_000) } == 0)
    #expect(code { try audio.setChannels(0) } == 10201 && code { try audio.setChannels(3) } == 10201)
    #expect(code { try audio.setChannels(1) } == 0)
    #expect(audio.channels == 1)
    #expect(
      code { try video.setInitialBitrate(8_500_001) } == 10202 && code { try video.setMaxBitrate(99_999) } == 10203)
    #expect(code { try video.setMinBitrate(99_999) } == 10204 && code { try video.setTargetFramerate(61) } == 10205)
    #expect(
      code { try video.setKeyframeInterval(0.9) } == 10206 && code { try video.setKeyframeInterval(5.1) } == 10206)
    #expect(code { try video.setKeyframeInterval(5) } == 0)
    #expect(video.keyframeInterval == 5)
    #expect(code { try video.setSize(CGSize(width: 159, height: 160)) } == 10207)
    let slot = IVSMixerSlotConfiguration()
    #expect(slot.name == "default")
    #expect(slot.matchCanvasSize)
    #expect(slot.matchCanvasAspectMode)
    #expect(slot.zIndex == 0)
    #expect(code { try slot.setName("") } == 10208 && code { try slot.setGain(2.1) } == 10209)
    #expect(code { try slot.setTransparency(-0.1) } == 10210)
    #expect(slot.size == CGSize(width: 720, height: 1280))
    #expect(slot.position == .zero)
    #expect(slot.fillColor == nil)
    #expect(slot.gain == 1)
    #expect(slot.transparency == 0)
    #expect(slot.preferredVideoInput == .camera)
    #expect(slot.preferredAudioInput == .microphone)
    slot.size = CGSize(width: 1, height: 1)
    slot.aspect = .fill
    #expect(!slot.matchCanvasSize)
    #expect(!slot.matchCanvasAspectMode)
    #expect(configuration.mixer.canvasAspectMode == .fit)
    #expect(configuration.mixer.slots.map(\.name) == ["default"])
    let (otherVideo, otherAudio) = (IVSVideoConfiguration(), IVSAudioConfiguration())
    let whole = IVSBroadcastConfiguration(audio: otherAudio, video: otherVideo, mixer: IVSMixerConfiguration())
    #expect(whole.video === otherVideo)
    #expect(whole.audio === otherAudio)
    #expect(whole.mixer.slots.count == 1)
    configuration.mixer.slots = [IVSMixerSlotConfiguration(), IVSMixerSlotConfiguration()]
    #expect(
      code { _ = try IVSBroadcastSession(configuration: configuration, descriptors: nil, delegate: nil) } == 10211)
    let states: [IVSBroadcastSession.State] = [.invalid, .disconnected, .connecting, .connected, .error]
    #expect(states.map(\.rawValue) == Array(0...4))
    #expect(
      IVSBroadcastConfiguration.AspectMode.none.rawValue == 0 && IVSBroadcastSession.RetryState.failure.rawValue == 5)
    #expect(IVSSession.sdkVersion.contains("."))
  }

  /// Koine never produces these errors. An app's handler, which switches over them as over all others, finds each by its
  /// code.
  @Test func unusedErrorCodesAreThoseOfTheVendor() {
    func told(_ code: Int) -> String? {
      let error: any Error = NSError(domain: IVSBroadcastErrorDomain, code: code)
      return switch IVSBroadcastError(rawValue: (error as NSError).code) {
      case .tooManyExternalAudioInputs: "one microphone too many"
      case .noSupportedPixelFormats, .invalidVideoFormat: "another format"
      case .metalNotSupported: "no graphics"
      case .sessionIsNotReady: "wait"
      case .invalidAudioSessionStrategy: "another strategy"
      case .appSuspension: "in the background"
      case nil: nil
      default: "something else"
      }
    }
    let codes = [10107, 10108, 10401, 10302, 10400, 10404, 10412, 10101, 1]
    #expect(
      codes.map(told) == [
        "one microphone too many", "another format", "another format", "no graphics", "wait", "another strategy",
        "in the background", "something else", nil,
      ])
  }

  @Test func errorsHaveTheVendorsCodes() {
    let codes: [(IVSBroadcastError, Int)] = [
      (.deviceExchangeIncompatibleTypes, 10100), (.tooManyExternalAudioInputs, 10107),
      (.noSupportedPixelFormats, 10108),
      (.deviceNotPublishing, 10111), (.configurationDuplicateSlotNames, 10211),
      (.stageConfigurationInvalidVideoMaxBitrate, 10220), (.stageConfigurationInvalidAudioMaxBitrate, 10224),
      (.metalNotSupported, 10302), (.invalidVideoFormat, 10401), (.imageTooLarge, 10402), (.pcmDataTooLong, 10403),
      (.invalidAudioSessionStrategy, 10404), (.invalidState, 10410), (.pcmUnsupportedSample, 10411),
    ]
    for (error, code) in codes { #expect(error.rawValue == code) }
    let _: [String] = [
      IVSBroadcastErrorDomain, IVSBroadcastErrorIsFatalKey, IVSBroadcastSourceDescriptionErrorKey,
      IVSBroadcastResultDescriptionErrorKey, IVSBroadcastUidDescriptionErrorKey,
    ]
  }
}
