import AmazonIVSBroadcast
import Foundation

/// The screen of the sample, written as the vendor's guide writes it: a strategy gives the wanted state, a renderer shows the
/// actual state.
///
/// The video that appeared last is large. The other videos are small along the lower edge.
@MainActor
final class StageViewController: UIViewController {
  private(set) var stage: IVSStage?
  private(set) var people: [String] = []
  private var cameraStream: IVSLocalStageStream?
  private var microphoneStream: IVSLocalStageStream?
  private var previews: [(stream: IVSStageStream, name: String, view: IVSImagePreviewView, label: UILabel)] = []
  private var broadcastSession: IVSBroadcastSession?
  /// The media to receive from every remote participant. The stage asks the strategy again when `subscribeType` or `publishes`
  /// changes.
  var subscribeType = IVSStageSubscribeType.audioVideo { didSet { stage?.refreshStrategy() } }
  var publishes = true { didSet { stage?.refreshStrategy() } }
  var trace: (String) -> Void = { _ in }
  var left: (NSError?) -> Void = { _ in }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 960, height: 540)
    view.backgroundColor = .black
  }

  private func setupLocalUser() throws {
    let devices = IVSDeviceDiscovery().listLocalDevices()

    // Find the camera virtual device, choose the front source, and create a stream
    if let camera = devices.compactMap({ $0 as? any IVSCamera }).first {
      if let frontSource = camera.listAvailableInputSources().first(where: { $0.position == .front }) {
        camera.setPreferredInputSource(frontSource)
      }
      let config = IVSLocalStageStreamVideoConfiguration()
      try config.setTargetFramerate(30)
      cameraStream = IVSLocalStageStream(device: camera, configuration: config)
    }

    // Find the microphone virtual device and create a stream
    if let microphone = devices.compactMap({ $0 as? any IVSMicrophone }).first {
      microphoneStream = IVSLocalStageStream(device: microphone)
    }
  }

  func joinStage(token: String) throws {
    loadViewIfNeeded()
    try setupLocalUser()
    let stage = try IVSStage(token: token, strategy: self)
    stage.errorDelegate = self
    stage.addRenderer(self)
    try stage.join()
    self.stage = stage
  }

  func leaveStage() {
    broadcastSession?.stop()
    stage?.leave()
  }

  func toggleMicrophone() {
    if let microphoneStream { microphoneStream.setMuted(!microphoneStream.isMuted) }
  }

  func toggleCamera() {
    if let cameraStream { cameraStream.setMuted(!cameraStream.isMuted) }
  }

  func wantNextSubscribeType() {
    switch subscribeType {
    case .audioVideo: subscribeType = .audioOnly
    case .audioOnly: subscribeType = .none
    default: subscribeType = .audioVideo
    }
    trace("subscribes to \(subscribeType)")
  }

  func togglePublishing() {
    publishes.toggle()
    trace("publishes: \(publishes)")
  }

  // MARK: Broadcasting the stage

  func startBroadcast(to url: URL) throws {
    let configuration = IVSPresets.configurations().standardLandscape()
    configuration.mixer.slots = []
    let session = try IVSBroadcastSession(configuration: configuration, descriptors: nil, delegate: self)
    try session.start(with: url, streamKey: "")
    broadcastSession = session
  }

  private func attachToBroadcast(_ stream: IVSStageStream) {
    guard let broadcastSession else { return }
    let slot = IVSMixerSlotConfiguration()
    do {
      try slot.setName(String(stream.device.descriptor().urn.suffix(50)))
    } catch {
      return trace("no slot: \(error.localizedDescription)")
    }
    broadcastSession.mixer.addSlot(slot)
    broadcastSession.attach(stream.device, toSlotWithName: slot.name)
    layOutBroadcast()
  }

  private func detachFromBroadcast(_ stream: IVSStageStream) {
    guard let broadcastSession else { return }
    let name = broadcastSession.mixer.binding(for: stream.device)
    broadcastSession.detach(stream.device)
    if let name { broadcastSession.mixer.removeSlot(withName: name) }
    layOutBroadcast()
  }

  /// Lays out the videos of all participants side by side.
  private func layOutBroadcast() {
    guard let mixer = broadcastSession?.mixer, !previews.isEmpty else { return }
    let width = 1280 / CGFloat(previews.count)
    for (index, preview) in previews.enumerated() {
      let name = mixer.binding(for: preview.stream.device)
      guard let slot = mixer.slots().first(where: { $0.name == name }) else { continue }
      slot.size = CGSize(width: width, height: 720)
      slot.position = CGPoint(x: width * CGFloat(index), y: 0)
      mixer.transitionSlot(withName: slot.name, toState: slot, duration: 0.3)
    }
  }

  // MARK: Views

  private func show(_ stream: IVSStageStream, of participant: IVSParticipantInfo) {
    guard let imageDevice = stream.device as? any IVSImageDevice else { return }
    let preview = imageDevice.previewView()
    let label = UILabel(frame: .zero)
    label.text = name(of: participant)
    label.textColor = .white
    view.addSubview(preview)
    view.addSubview(label)
    previews.append((stream, name(of: participant), preview, label))
    layOut()
  }

  private func hide(_ stream: IVSStageStream) {
    for preview in previews where preview.stream == stream {
      preview.view.removeFromSuperview()
      preview.label.removeFromSuperview()
    }
    previews.removeAll { $0.stream == stream }
    layOut()
  }

  private func layOut() {
    for (index, preview) in previews.reversed().enumerated() {
      let x = CGFloat(960 - 256 * index)
      preview.view.frame =
        index == 0
        ? CGRect(x: 0, y: 0, width: 960, height: 540) : CGRect(x: x, y: 388, width: 240, height: 135)
      preview.label.frame =
        index == 0
        ? CGRect(x: 16, y: 16, width: 640, height: 24) : CGRect(x: x + 8, y: 500, width: 224, height: 20)
      if index > 0 { for part in [preview.view, preview.label] { view.bringSubviewToFront(part) } }
    }
  }

  fileprivate func name(of participant: IVSParticipantInfo) -> String {
    participant.attributes["username"] ?? (participant.userId.isEmpty ? participant.participantId : participant.userId)
  }
}

// MARK: - Strategy: the wanted state

extension StageViewController: @preconcurrency IVSStageStrategy {
  func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo) -> IVSStageSubscribeType {
    subscribeType
  }

  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { publishes }

  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
    -> [IVSLocalStageStream]
  {
    [cameraStream, microphoneStream].compactMap { $0 }
  }
}

// MARK: - Renderer: the actual state

extension StageViewController: @preconcurrency IVSStageRenderer {
  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
    trace("participantDidJoin: \(name(of: participant))")
    people.append(name(of: participant))
  }

  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    trace("participantDidLeave: \(name(of: participant))")
    if let index = people.firstIndex(of: name(of: participant)) { people.remove(at: index) }
  }

  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange publishState: IVSParticipantPublishState
  ) {
    trace("participant: \(name(of: participant)), didChange publishState: \(publishState)")
  }

  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange subscribeState: IVSParticipantSubscribeState
  ) {
    trace("participant: \(name(of: participant)), didChange subscribeState: \(subscribeState)")
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
    trace("participant: \(name(of: participant)), didAdd: \(streams.map { $0.device.descriptor().urn })")
    for stream in streams {
      show(stream, of: participant)
      attachToBroadcast(stream)
    }
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
    trace("participant: \(name(of: participant)), didRemove: \(streams.map { $0.device.descriptor().urn })")
    for stream in streams {
      hide(stream)
      detachFromBroadcast(stream)
    }
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]) {
    for stream in streams {
      trace(
        "participant: \(name(of: participant)), didChangeMutedStreams: \(stream.device.descriptor().urn) "
          + (stream.isMuted ? "muted" : "unmuted"))
    }
  }

  func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?) {
    trace("didChange connectionState: \(connectionState)")
    if connectionState == .disconnected { left(error as NSError?) }
  }
}

extension StageViewController: @preconcurrency IVSErrorDelegate {
  func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
    trace("didEmitError: \(error.localizedDescription)")
  }
}

extension StageViewController: @preconcurrency IVSBroadcastSession.Delegate {
  func broadcastSession(_ session: IVSBroadcastSession, didChange state: IVSBroadcastSession.State) {
    trace("broadcastSession didChange: \(state)")
  }

  func broadcastSession(_ session: IVSBroadcastSession, didEmitError error: any Error) {
    trace("broadcastSession didEmitError: \(error.localizedDescription)")
  }
}
