import AmazonIVSBroadcast

/// What Docs/porting.md shows in the words of the stage.
@MainActor
final class StageStrategyExample: NSObject {
  let view = UIView(frame: CGRect(x: 0, y: 0, width: 320, height: 180))
  private(set) var people: [String] = []
  private(set) var muted: Set<String> = []
  private(set) var speaker: String?
  private var stage: IVSStage!
  private var streams: [IVSLocalStageStream] = []
  private var isCameraOn = false
  private var pictures: [String: UIView] = [:]
  private var broadcast: IVSBroadcastSession?

  // example: join
  func enter(with token: String) throws {  // the token names the room and the participant
    streams = IVSDeviceDiscovery().listLocalDevices().map { IVSLocalStageStream(device: $0) }
    stage = try IVSStage(token: token, strategy: self)
    stage.addRenderer(self)
    try stage.join()
  }

  func goAway() {
    stage.leave()
  }
  // end

  // example: mute
  func setMuted(_ isMuted: Bool) {
    streams.first { $0.device is IVSMicrophone }?.setMuted(isMuted)  // the object that the strategy hands over
  }
  // end

  // example: camera
  func setCameraOn(_ isOn: Bool) {
    isCameraOn = isOn  // `streamsToPublishForParticipant` answers with the camera, or without
    stage.refreshStrategy()
  }
  // end

  // example: quality
  func publishSmall() throws {
    guard let index = streams.firstIndex(where: { $0.device is IVSImageDevice }) else { return }
    let configuration = IVSLocalStageStreamConfiguration()
    try configuration.video.setSize(CGSize(width: 320, height: 180))
    try configuration.video.setTargetFramerate(15)
    try configuration.video.setMaxBitrate(300_000)
    streams[index] = IVSLocalStageStream(device: streams[index].device, config: configuration)
    stage.refreshStrategy()
  }
  // end

  // example: share
  /// A share is a picture beside the one that came first.
  func isShare(_ stream: IVSStageStream, firstCamera: String) -> Bool {
    stream.device is IVSImageDevice && stream.device.descriptor().urn != firstCamera
  }
  // end

  // example: record
  func startRecording(to address: URL) throws {  // this machine's camera and microphone, not the stage
    broadcast = try IVSBroadcastSession(
      configuration: IVSPresets.configurations().standardLandscape(),
      descriptors: IVSPresets.devices().frontCamera(), delegate: nil)
    try broadcast?.start(with: address, streamKey: "")
  }

  func stopRecording() {
    broadcast?.stop()
  }
  // end
}

extension StageStrategyExample: @preconcurrency IVSStageStrategy {
  // example: join
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { true }

  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
    -> [IVSLocalStageStream]
  {
    streams.filter { isCameraOn || !($0.device is IVSImageDevice) }
  }

  func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo)
    -> IVSStageSubscribeType
  {
    .audioVideo
  }
  // end
}

extension StageStrategyExample: @preconcurrency IVSStageRenderer {
  // example: people
  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
    guard !participant.isLocal else { return }
    people.append(participant.attributes["name"] ?? participant.userId)
  }

  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    people.removeAll { $0 == participant.attributes["name"] ?? participant.userId }
  }
  // end

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
    guard !participant.isLocal else { return }
    streams.forEach(show)
    for stream in streams { listen(to: stream, of: participant) }
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
    streams.forEach(hide)
  }

  // example: mute
  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]
  ) {
    let name = participant.attributes["name"] ?? participant.userId
    for stream in streams where stream.device is IVSAudioDevice {
      if stream.isMuted { muted.insert(name) } else { muted.remove(name) }
    }
  }
  // end

  // example: speaker
  func listen(to stream: IVSStageStream, of participant: IVSParticipantInfo) {  // from `didAdd`
    let name = participant.attributes["name"] ?? participant.userId
    (stream.device as? IVSAudioDevice)?.setStatsCallback { stats in
      guard stats.rms > -45 else { return }
      MainActor.assumeIsolated { self.speaker = name }
    }
  }
  // end

  // example: render
  func show(_ stream: IVSStageStream) {  // from `didAdd`
    guard let device = stream.device as? IVSImageDevice else { return }
    let picture = device.previewView()
    picture.frame = view.bounds
    pictures[device.descriptor().urn] = picture
    view.addSubview(picture)
  }

  func hide(_ stream: IVSStageStream) {  // from `didRemove`
    pictures.removeValue(forKey: stream.device.descriptor().urn)?.removeFromSuperview()
  }
  // end
}
