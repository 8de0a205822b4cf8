import AmazonIVSBroadcast
import Foundation
import KoineAVFoundation
import KoineCoreMedia
import KoineUIKit

// The symbols as an app writes them. It has to compile in every mode, and the first screen runs in each (`RunningTests`).

/// An app of 1.12: strategy, renderer and all delegates in one view model, as in the vendor's samples.
final class StageScreen: NSObject, IVSStageStrategy, IVSStageRenderer, IVSErrorDelegate, IVSStageStreamDelegate,
  IVSMicrophoneDelegate, IVSBroadcastSession.Delegate
{
  private let deviceDiscovery = IVSDeviceDiscovery()
  private var stage: IVSStage?
  private var streams: [IVSLocalStageStream] = []
  private var remote: [String: Set<IVSStageStream>] = [:]
  private var previews: [IVSImagePreviewView] = []
  private var selectedCamera: IVSDeviceDescriptor?
  private var selectedMicrophone: IVSDeviceDescriptor?

  /// How many streams have been told of, one's own too, and how often each view has been drawn.
  var streamCount: Int { remote.values.reduce(0) { $0 + $1.count } }
  var shownFrames: [Int] { previews.map(\.framesRendered) }

  func join(_ token: String) throws {
    let devices = deviceDiscovery.listLocalDevices()
    if let camera = devices.compactMap({ $0 as? IVSCamera }).first {
      if let front = camera.listAvailableInputSources().first(where: { $0.position == .front }) {
        camera.setPreferredInputSource(front)
        camera.setPreferredInputSource(front) { [weak self] error in
          if error == nil { self?.selectedCamera = front }
        }
      }
      let configuration = IVSLocalStageStreamVideoConfiguration()
      try configuration.setMaxBitrate(900_000)
      try configuration.setMinBitrate(100_000)
      try configuration.setTargetFramerate(30)
      try configuration.setSize(CGSize(width: 360, height: 640))
      configuration.degradationPreference = .balanced
      configuration.simulcast.enabled = true
      streams.append(IVSLocalStageStream(device: camera, configuration: configuration))
    }
    if let microphone = devices.compactMap({ $0 as? IVSMicrophone }).first {
      microphone.isEchoCancellationEnabled = true
      microphone.delegate = self
      streams.append(IVSLocalStageStream(device: microphone))
    }
    let stage = try IVSStage(token: token, strategy: self)
    stage.errorDelegate = self
    stage.addRenderer(self)
    try stage.join()
    self.stage = stage
  }

  func setCamera(_ device: IVSDeviceDescriptor) {
    setDevice(device, outDevice: \StageScreen.selectedCamera, type: IVSCamera.self)
  }

  func setMicrophone(_ device: IVSDeviceDescriptor) {
    setDevice(device, outDevice: \StageScreen.selectedMicrophone, type: IVSMicrophone.self)
  }

  /// The two device protocols conform to what they inherit, as Objective-C's do.
  private func setDevice<Device: IVSMultiSourceDevice>(
    _ inDevice: IVSDeviceDescriptor, outDevice: ReferenceWritableKeyPath<StageScreen, IVSDeviceDescriptor?>,
    type: Device.Type
  ) {
    guard let device = deviceDiscovery.listLocalDevices().compactMap({ $0 as? Device }).first else { return }
    device.setPreferredInputSource(inDevice) { [weak self] error in
      if error == nil { self?[keyPath: outDevice] = inDevice }
    }
  }

  func stage(
    _ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo
  ) -> [IVSLocalStageStream] { streams }
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { true }
  func stage(
    _ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo
  ) -> IVSStageSubscribeType {
    switch participant.attributes["role"] {
    case "guest": .audioVideo
    case "moderator": .audioOnly
    default: .none
    }
  }

  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
    remote[participant.participantId] = []
  }
  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    remote[participant.participantId] = nil
  }
  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange publishState: IVSParticipantPublishState
  ) { print(publishState == .published, participant.isLocal) }
  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange subscribeState: IVSParticipantSubscribeState
  ) { print(subscribeState == .subscribed, participant.capabilities.contains(.subscribe)) }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
    for stream in streams {
      stream.delegate = self
      try? stream.requestRTCStats()
      if let image = stream.device as? IVSImageDevice, let view = try? image.previewView(with: .fill) {
        view.setMirrored(false)
        previews.append(view)
      }
      if let audio = stream.device as? IVSAudioDevice {
        audio.setStatsCallback { stats in print(stats.peak, stats.rms) }
        audio.setGain(audio.gain() / 2)
      }
    }
    remote[participant.participantId]?.formUnion(streams)
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
    remote[participant.participantId]?.subtract(streams)
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]) {
    for stream in streams { print(stream.isMuted, stream.description) }
  }
  func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: Error?) {
    if connectionState == .disconnected { print((error as NSError?)?.code ?? 0) }
  }

  func source(_ source: IVSErrorSource, didEmitError error: Error) {
    let error = error as NSError
    print(error.domain == IVSBroadcastErrorDomain, error.userInfo[IVSBroadcastErrorIsFatalKey] as Any)
  }
  func streamDidChangeIsMuted(_ stream: IVSStageStream) { stage?.refreshStrategy() }
  func stream(_ stream: IVSStageStream, didGenerateRTCStats stats: [String: [String: String]]) {
    print(stats["T01"]?["selectedCandidatePairId"] as Any)
  }
  func underlyingInputSourceChanged(for microphone: IVSMicrophone, toInputSource inputSource: IVSDeviceDescriptor?) {
    selectedMicrophone = inputSource
    print(microphone.tag(), microphone.descriptor().urn)
  }
  func broadcastSession(_ session: IVSBroadcastSession, didChange state: IVSBroadcastSession.State) {}
  func broadcastSession(_ session: IVSBroadcastSession, didEmitError error: Error) {}

  func toggle(_ stream: IVSLocalStageStream) {
    stream.setMuted(!stream.isMuted)
    stream.setConfiguration(IVSLocalStageStreamVideoConfiguration())
  }

  func broadcast(_ url: URL) throws {
    let session = try IVSBroadcastSession(
      configuration: IVSPresets.configurations().standardLandscape(),
      descriptors: IVSPresets.devices().frontCamera() + IVSPresets.devices().microphone(), delegate: self)
    let slot = IVSMixerSlotConfiguration()
    try slot.setName("guest")
    try slot.setGain(1)
    slot.size = CGSize(width: 320, height: 180)
    slot.aspect = .fill
    session.mixer.addSlot(slot)
    for stream in remote.values.joined() {
      session.attach(stream.device, toSlotWithName: "guest") { error in print(error as Any) }
      session.mixer.bindDevice(stream.device, toSlotWithName: "guest")
    }
    session.mixer.transitionSlot(withName: "guest", toState: slot, duration: 0.5)
    session.mixer.transitionSlot(withName: "guest", toState: slot, duration: 0.5) { print("moved") }
    session.attach(IVSBroadcastSession.listAvailableDevices()[0], toSlotWithName: nil) { device, error in
      print(device?.tag() as Any, error as Any)
    }
    session.awaitDeviceChanges { print(session.listAttachedDevices().count) }
    try session.start(with: url, streamKey: "")
    previews.append(try session.previewView(with: .fit))
    session.stop()
  }

  func leave() {
    stage?.remove(self)
    stage?.leave()
  }
}

/// A strategy of the newer versions, written with `any`.
final class NewerStage: IVSStageStrategy {
  var streams: [IVSLocalStageStream] = []

  func publish(_ device: any IVSDevice) throws {
    IVSStageAudioManager.sharedInstance().setPreset(.videoChat)
    IVSStageAudioManager.sharedInstance().isEchoCancellationEnabled = true
    let configuration = IVSLocalStageStreamConfiguration()
    try configuration.video.setMaxBitrate(1_500_000)
    try configuration.audio.setMaxBitrate(96_000)
    let stream = IVSLocalStageStream(device: device, config: configuration)
    stream.setConfig(configuration)
    streams = [stream]
    switch device {
    case let camera as any IVSCamera: print(camera.listAvailableInputSources().map(\.friendlyName))
    case let microphone as any IVSMicrophone: print(microphone.descriptor().isDefault)
    default: break
    }
  }

  func stage(
    _ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo
  ) -> [IVSLocalStageStream] { streams }
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { !streams.isEmpty }
  func stage(
    _ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo
  ) -> IVSStageSubscribeType { participant.userId.isEmpty ? .none : .audioVideo }
  func stage(
    _ stage: IVSStage, subscribeConfigurationForParticipant participant: IVSParticipantInfo
  ) -> IVSSubscribeConfiguration {
    let configuration = IVSSubscribeConfiguration()
    try? configuration.jitterBuffer.setMinDelay(.medium())
    return configuration
  }
}

/// Hears of its microphone, written with `any`; misses everything of the renderer, which may be missed.
final class StageNewcomer: NSObject, IVSStageRenderer, IVSStageStreamDelegate, IVSMicrophoneDelegate {
  private var microphone: (any IVSMicrophone)?
  func underlyingInputSourceChanged(
    for microphone: any IVSMicrophone, toInputSource inputSource: IVSDeviceDescriptor?
  ) { self.microphone = microphone }
}

/// Pictures and sound of the app's own.
final class StageFeed {
  private let picture: IVSCustomImageSource
  private let sound: IVSCustomAudioSource

  init(_ discovery: IVSDeviceDiscovery) {
    picture = discovery.createImageSource(withName: "screen")
    sound = discovery.createAudioSource(withName: "music")
    picture.setOnFrameCallback { frame in print(frame.size) }
    picture.setHandsetRotation(0)
  }

  func feed(_ sample: CMSampleBuffer, _ buffer: AVAudioPCMBuffer, _ time: AVAudioTime) {
    picture.onSampleBuffer(sample)
    sound.onPCMBuffer(buffer, at: time)
  }
}
