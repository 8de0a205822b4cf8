import AmazonIVSBroadcast
import Testing

// Every [seed] and [core] symbol with its exact signature, as an app would name it. Most of it has only to compile; the
// numbers of enumerations and codes are looked at.

struct StageSymbols {
  private final class Everything: NSObject, IVSStageStrategy, IVSStageRenderer, IVSErrorDelegate,
    IVSStageStreamDelegate,
    IVSMicrophoneDelegate, IVSBroadcastSession.Delegate
  {
    func stage(
      _ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo
    ) -> [IVSLocalStageStream] { [] }
    func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { false }
    func stage(
      _ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo
    ) -> IVSStageSubscribeType { .none }
    func source(_ source: IVSErrorSource, didEmitError error: Error) {}
    func underlyingInputSourceChanged(
      for microphone: IVSMicrophone, toInputSource inputSource: IVSDeviceDescriptor?
    ) {}
    func broadcastSession(_ session: IVSBroadcastSession, didChange state: IVSBroadcastSession.State) {}
    func broadcastSession(_ session: IVSBroadcastSession, didEmitError error: Error) {}
  }

  @Test func stage() {
    let _: (String, IVSStageStrategy) throws -> IVSStage = IVSStage.init(token:strategy:)
    let _: (IVSStage) -> () throws -> Void = IVSStage.join
    let _: (IVSStage) -> () -> Void = IVSStage.leave
    let _: (IVSStage) -> () -> Void = IVSStage.refreshStrategy
    let _: (IVSStage) -> (IVSStageRenderer) -> Void = IVSStage.addRenderer
    let _: (IVSStage) -> (IVSStageRenderer) -> Void = IVSStage.remove
    let _: (IVSStage) -> (IVSStageStrategy) -> Void = IVSStage.replaceStrategy
    let _: ReferenceWritableKeyPath<IVSStage, IVSErrorDelegate?> = \.errorDelegate
    let everything = Everything()
    let _: IVSStageRenderer & IVSStageStreamDelegate = everything
    let states: [IVSStageConnectionState] = [.disconnected, .connecting, .connected]
    #expect(states.map(\.rawValue) == [0, 1, 2])
    let wishes: [IVSStageSubscribeType] = [.none, .audioOnly, .audioVideo]
    #expect(wishes.map(\.rawValue) == [0, 1, 2])
    let published: [IVSParticipantPublishState] = [.notPublished, .attemptingPublish, .published]
    #expect(published.map(\.rawValue) == [UInt(0), 1, 2])
    let subscribed: [IVSParticipantSubscribeState] = [.notSubscribed, .attemptingSubscribe, .subscribed]
    #expect(subscribed.map(\.rawValue) == [UInt(0), 1, 2])
    #expect(IVSParticipantCapability.publish.rawValue == 1 && IVSParticipantCapability.subscribe.rawValue == 2)
    let _: KeyPath<IVSParticipantInfo, String> = \.participantId
    let _: KeyPath<IVSParticipantInfo, String> = \.userId
    let _: KeyPath<IVSParticipantInfo, [String: String]> = \.attributes
    let _: KeyPath<IVSParticipantInfo, Bool> = \.isLocal
    let _: KeyPath<IVSParticipantInfo, IVSParticipantCapability> = \.capabilities
    let _: KeyPath<IVSParticipantInfo, NSMutableDictionary> = \.userInfo
  }

  /// Never run: only to be compiled.
  private func streams(_ device: IVSDevice, _ remote: IVSStageStream, _ everything: Everything) throws {
    let plain = IVSLocalStageStream(device: device)
    _ = IVSLocalStageStream(device: device, configuration: IVSLocalStageStreamVideoConfiguration())
    let stream = IVSLocalStageStream(device: device, config: IVSLocalStageStreamConfiguration())
    stream.setMuted(true)
    stream.setConfiguration(IVSLocalStageStreamVideoConfiguration())
    stream.setConfig(IVSLocalStageStreamConfiguration())
    let _: Bool = stream.isMuted
    let _: IVSDevice = remote.device
    remote.delegate = everything
    try remote.requestRTCStats()
    let _: Set<IVSStageStream> = [plain, stream]
    let _: Int? = [plain].firstIndex(of: stream)
    let _: String = plain.description
    if let image = device as? IVSImageDevice {
      let _: IVSImagePreviewView = image.previewView()
      let view = try image.previewView(with: .fill)
      view.setMirrored(true)
      image.setHandsetRotation(0)
      image.setOnFrameCallback { (frame: IVSImageDeviceFrame) in let _: CGSize = frame.size }
      image.setOnFrameCallback(nil)
    }
    if let audio = device as? IVSAudioDevice {
      audio.setStatsCallback { (stats: IVSAudioDeviceStats) in let _: (Float, Float) = (stats.peak, stats.rms) }
      audio.setGain(audio.gain())
    }
    if let camera = device as? IVSCamera,
      let front = camera.listAvailableInputSources().first(where: { $0.position == .front })
    {
      camera.setPreferredInputSource(front)
      camera.setPreferredInputSource(front) { (error: Error?) in }
    }
    let microphone = device as? IVSMicrophone
    microphone?.isEchoCancellationEnabled = true
    microphone?.delegate = everything
    let descriptor: IVSDeviceDescriptor = device.descriptor()
    let _: (String, String, IVSDeviceType, Bool, String) = (
      descriptor.urn, descriptor.friendlyName, descriptor.type, descriptor.isDefault, descriptor.deviceId
    )
    let _: String = device.tag()
    let discovery = IVSDeviceDiscovery()
    let _: [IVSDevice] = discovery.listLocalDevices()
    let _: [IVSDevice] = IVSDeviceDiscovery.listLocalDevices()
    let _: IVSCustomImageSource = discovery.createImageSource(withName: "a")
    let _: IVSCustomAudioSource = discovery.createAudioSource(withName: "a")
  }

  @Test func configurationsHaveTheVendorsDefaults() throws {
    let video = IVSLocalStageStreamVideoConfiguration()
    #expect(video.maxBitrate == 900_000 && video.minBitrate == 100_000 && video.targetFramerate == 15)
    #expect(video.size == CGSize(width: 360, height: 640) && video.simulcast.enabled)
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

  @Test func theAudioManagerKeepsWhatIsSet() {
    let manager: IVSStageAudioManager = IVSStageAudioManager.sharedInstance()
    let before = (manager.category, manager.options, manager.mode)
    manager.setCategory(.playback, options: [.mixWithOthers, .duckOthers], mode: .spokenAudio)
    #expect(manager.category == .playback && manager.options.rawValue == 3 && manager.mode == .spokenAudio)
    manager.setCategory(before.0, options: before.1, mode: before.2)
    let _: (IVSStageAudioManager) -> (IVSStageAudioManager.UseCasePreset) -> Void = IVSStageAudioManager.setPreset
    let presets: [IVSStageAudioManager.UseCasePreset] = [.videoChat, .subscribeOnly, .studio]
    #expect(presets.map(\.rawValue) == [0, 1, 2])
  }

  /// Never run: only to be compiled.
  private func broadcast(_ device: IVSDevice, _ everything: Everything) throws {
    let session = try IVSBroadcastSession(
      configuration: IVSPresets.configurations().standardLandscape(),
      descriptors: IVSPresets.devices().frontCamera() + IVSPresets.devices().microphone(), delegate: everything)
    try session.start(with: URL(fileURLWithPath: "/a.webm"), streamKey: "")
    session.stop()
    session.delegate = nil
    session.logLevel = .error
    let _: (String, Bool, [IVSDevice]) = (session.sessionId, session.isReady, session.listAttachedDevices())
    let descriptors: [IVSDeviceDescriptor] = IVSBroadcastSession.listAvailableDevices()
    session.attach(device, toSlotWithName: "a")
    session.attach(device, toSlotWithName: nil) { (error: Error?) in }
    session.attach(descriptors[0], toSlotWithName: "a") { (device: IVSDevice?, error: Error?) in }
    session.exchangeOldDevice(device, withNewDevice: descriptors[0]) { (device: IVSDevice?, error: Error?) in }
    session.detach(device)
    session.detach(descriptors[0]) {}
    session.awaitDeviceChanges {}
    let _: IVSImagePreviewView = try session.previewView(with: .fit)
    IVSSession.applicationAudioSessionStrategy = .noAction
    let mixer: IVSMixer = session.mixer
    mixer.addSlot(IVSMixerSlotConfiguration())
    mixer.bindDevice(device, toSlotWithName: "a")
    let _: String? = mixer.binding(for: device)
    mixer.transitionSlot(withName: "a", toState: mixer.slots()[0], duration: 1) {}
    mixer.transitionSlot(withName: "a", toState: mixer.slots()[0], duration: 1)
    mixer.removeSlot(withName: "a")
  }

  @Test func broadcastConfigurationsHaveTheVendorsDefaultsAndRanges() throws {
    let configuration = IVSBroadcastConfiguration()
    let (video, audio) = (configuration.video, configuration.audio)
    #expect(video.initialBitrate == 2_100_000 && video.maxBitrate == 6_000_000 && video.minBitrate == 300_000)
    #expect(
      video.targetFramerate == 30 && video.keyframeInterval == 2 && video.size == CGSize(width: 720, height: 1280))
    #expect(!video.enableTransparency && video.usesBFrames && video.useAutoBitrate)
    #expect(audio.bitrate == 96_000 && audio.channels == 2 && audio.quality == .medium)
    #expect(!configuration.autoReconnect.enabled && configuration.logLevel == .error)
    func code(_ body: () throws -> Void) -> Int {
      do {
        try body()
        return 0
      } catch { return (error as NSError).code }
    }
    #expect(code { try audio.setBitrate(63_999) } == 10200 && code { try audio.setBitrate(160_000) } == 0)
    #expect(code { try audio.setChannels(0) } == 10201 && code { try audio.setChannels(3) } == 10201)
    #expect(code { try audio.setChannels(1) } == 0 && audio.channels == 1)
    #expect(
      code { try video.setInitialBitrate(8_500_001) } == 10202 && code { try video.setMaxBitrate(99_999) } == 10203)
    #expect(code { try video.setMinBitrate(99_999) } == 10204 && code { try video.setTargetFramerate(61) } == 10205)
    #expect(
      code { try video.setKeyframeInterval(0.9) } == 10206 && code { try video.setKeyframeInterval(5.1) } == 10206)
    #expect(code { try video.setKeyframeInterval(5) } == 0 && video.keyframeInterval == 5)
    #expect(code { try video.setSize(CGSize(width: 159, height: 160)) } == 10207)
    let slot = IVSMixerSlotConfiguration()
    #expect(slot.name == "default" && slot.matchCanvasSize && slot.matchCanvasAspectMode && slot.zIndex == 0)
    #expect(code { try slot.setName("") } == 10208 && code { try slot.setGain(2.1) } == 10209)
    #expect(code { try slot.setTransparency(-0.1) } == 10210)
    slot.size = CGSize(width: 1, height: 1)
    slot.aspect = .fill
    #expect(!slot.matchCanvasSize && !slot.matchCanvasAspectMode)
    configuration.mixer.slots = [IVSMixerSlotConfiguration(), IVSMixerSlotConfiguration()]
    #expect(
      code { _ = try IVSBroadcastSession(configuration: configuration, descriptors: nil, delegate: nil) } == 10211)
    let states: [IVSBroadcastSession.State] = [.invalid, .disconnected, .connecting, .connected, .error]
    #expect(states.map(\.rawValue) == Array(0...4))
    #expect(
      IVSBroadcastConfiguration.AspectMode.none.rawValue == 0 && IVSBroadcastSession.RetryState.failure.rawValue == 5)
    #expect(IVSSession.sdkVersion.contains("."))
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
