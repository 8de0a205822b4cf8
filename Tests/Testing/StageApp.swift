import AmazonIVSBroadcast

/// A small app of the stage style. It publishes the camera and the microphone, and shows the video of all participants.
@MainActor
final class StageApp: NSObject {
  let view = UIView(frame: CGRect(x: 0, y: 0, width: 640, height: 180))
  private(set) var states: [IVSStageConnectionState] = []
  private(set) var errors: [NSError] = []
  private(set) var deviceErrors: [NSError] = []
  private(set) var people: [String] = []
  private(set) var microphones: [String] = []
  private(set) var figures: [[String: [String: String]]] = []
  private var stage: IVSStage?
  private var streams: [IVSLocalStageStream] = []
  private var previews: [String: IVSImagePreviewView] = [:]

  func join(with token: String) throws {
    let devices = IVSDeviceDiscovery().listLocalDevices()
    for device in devices {
      device.errorDelegate = self
      (device as? any IVSMicrophone)?.delegate = self
    }
    streams = devices.map { IVSLocalStageStream(device: $0) }
    let stage = try IVSStage(token: token, strategy: self)
    stage.errorDelegate = self
    stage.addRenderer(self)
    self.stage = stage
    try stage.join()
  }

  func leave() { stage?.leave() }

  /// What the camera may take its pictures from.
  var cameras: [String] {
    streams.compactMap { $0.device as? any IVSCamera }.flatMap { $0.listAvailableInputSources() }.map(\.friendlyName)
  }

  func requestStatistics() throws {
    for stream in streams {
      stream.delegate = self
      try stream.requestRTCStats()
    }
  }
}

extension StageApp: @preconcurrency IVSStageStrategy {
  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo) -> [IVSLocalStageStream]
  { streams }
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { true }
  func stage(
    _ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo
  ) -> IVSStageSubscribeType { .audioVideo }
}

extension StageApp: @preconcurrency IVSStageRenderer {
  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
    if !participant.isLocal { people.append(participant.participantId) }
  }
  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    people.removeAll { $0 == participant.participantId }
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
    for case let device as any IVSImageDevice in streams.map(\.device) {
      let preview = device.previewView()
      preview.frame = CGRect(x: participant.isLocal ? 320 : 0, y: 0, width: 320, height: 180)
      view.addSubview(preview)
      previews[device.descriptor().urn] = preview
    }
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
    for stream in streams { previews.removeValue(forKey: stream.device.descriptor().urn)?.removeFromSuperview() }
  }
  func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?) {
    states.append(connectionState)
    if let error { errors.append(error as NSError) }
  }
}

extension StageApp: @preconcurrency IVSErrorDelegate {
  func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
    if source is any IVSDevice { deviceErrors.append(error as NSError) } else { errors.append(error as NSError) }
  }
}

extension StageApp: @preconcurrency IVSMicrophoneDelegate {
  func underlyingInputSourceChanged(
    for microphone: any IVSMicrophone, toInputSource inputSource: IVSDeviceDescriptor?
  ) { microphones.append(inputSource?.friendlyName ?? "none") }
}

extension StageApp: @preconcurrency IVSStageStreamDelegate {
  func stream(_ stream: IVSStageStream, didGenerateRTCStats stats: [String: [String: String]]) { figures.append(stats) }
}
