import AVFoundation
import AmazonIVSBroadcast
import Combine
import UIKit

/// Shows all participants on the stage, the local one among them.
@MainActor
final class StageScreen: UIViewController {
  let roster = Roster()
  private(set) var caption = UILabel(frame: CGRect(x: 0, y: 180, width: 640, height: 24))
  private var watching: Set<AnyCancellable> = []
  private var stage: IVSStage?
  private var streams: [IVSLocalStageStream] = []
  private var previews: [String: UIView] = [:]

  override func viewDidLoad() {
    super.viewDidLoad()
    view.addSubview(caption)
    roster.$names.sink { [caption] names in caption.text = names.joined(separator: ", ") }.store(in: &watching)
  }

  func join(with token: String) throws {
    guard AVCaptureDevice.authorizationStatus(for: .video) == .authorized else { return }
    streams = IVSDeviceDiscovery().listLocalDevices().map { IVSLocalStageStream(device: $0) }
    let stage = try IVSStage(token: token, strategy: self)
    stage.addRenderer(self)
    self.stage = stage
    try stage.join()
  }

  func leave() { stage?.leave() }
}

extension StageScreen: @preconcurrency IVSStageStrategy {
  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo) -> [IVSLocalStageStream]
  { streams }
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { true }
  func stage(
    _ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo
  ) -> IVSStageSubscribeType { .audioVideo }
}

extension StageScreen: @preconcurrency IVSStageRenderer {
  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
    if !participant.isLocal { roster.add(participant.participantId) }
  }
  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    roster.remove(participant.participantId)
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
    for stream in streams {
      guard let device = stream.device as? IVSImageDevice else { continue }
      let preview = device.previewView()
      preview.frame = CGRect(x: participant.isLocal ? 320 : 0, y: 0, width: 320, height: 180)
      view.addSubview(preview)
      previews[device.descriptor().urn] = preview
    }
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
    for stream in streams { previews.removeValue(forKey: stream.device.descriptor().urn)?.removeFromSuperview() }
  }
}
