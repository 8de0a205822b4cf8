// What layers that `koine port --to stage-strategy` writes need beside the SDK: the same file for every app.
import AVFoundation
import AmazonIVSBroadcast

/// A stage, its participants, and what they send.
final class StageCall: NSObject, @unchecked Sendable {  // used on the main queue only, where the SDK calls renderers
  enum Side { case front, back }
  let token: String, localParticipant: StagePerson, discovery = IVSDeviceDiscovery(), microphones: IVSMicrophone?
  var handler: ((StageReport, StageCall) -> Void)?, side = Side.front, hasEntered = false, isEntering = true
  var participants: [String: StagePerson] = [:], presenters: [String] = [], meter = StageMeter()
  /// Participants that were there before, until their streams are known.
  var expected: Set<String> = []
  /// What the strategy publishes. Each is the same object for as long as it is published.
  private(set) var microphone: IVSLocalStageStream?, camera: IVSLocalStageStream?, screen: StageCapture?
  var cameras: IVSCamera?, room = "", stage: IVSStage?
  var received: [String: Set<StageStream.Kind>] = [:]  // what the app has chosen, by participants
  private var wanted: Set<StageStream.Kind>, isLeaving = false
  /// Why the call is over, and the error that has ended it.
  private(set) var reason: StageEnd?, failure: StageFailure?
  var isOver: Bool { reason != nil }

  /// - Parameter credential: a participant token. It decides on the stage, the permissions, and the name that others see. The
  ///   id is in the answer to CreateParticipantToken, too.
  init(
    credential: String?, participantID: String = "", name: String = "Guest", isMicrophoneOn: Bool = true,
    isCameraOn: Bool = true
  ) {
    let id = participantID.isEmpty ? UUID().uuidString : participantID, devices = discovery.listLocalDevices()
    (token, localParticipant) = (credential ?? "", StagePerson(id: id, name: name, isLocal: true))
    wanted = Set((isMicrophoneOn ? [StageStream.Kind.microphone] : []) + (isCameraOn ? [.camera] : []))
    cameras = devices.lazy.compactMap { $0 as? IVSCamera }.first
    microphones = devices.lazy.compactMap { $0 as? IVSMicrophone }.first
    super.init()
    cameras?.errorDelegate = self
    microphones?.errorDelegate = self
  }
  func join(side: Side = .front) {
    use(side)
    do {
      let stage = try IVSStage(token: token, strategy: self)
      (stage.errorDelegate, self.stage) = (self, stage)
      stage.addRenderer(self)
      for kind in StageStream.Kind.allCases where wanted.contains(kind) { setStream(kind: kind, isOn: true) }
      try stage.join()
    } catch { end(error) }
  }
  func leave() {
    isLeaving = true
    stage?.leave()
  }
  func end(_ error: (any Error)?) {
    guard !isOver else { return }
    setStream(kind: .screen, isOn: false)
    let code = error.map { ($0 as NSError).code }, reason = StageEnd(code, isLeaving: isLeaving, hasEntered: hasEntered)
    (self.reason, failure, stage) = (reason, StageFailure(code), nil)
    switch reason {
    case .left, .removed, .closed: break
    case .lost: report(.connectionLost)
    case .replaced: report(.failed(.joinedElsewhere))
    case .refused, .failed: report(.failed(StageFailure(code)))
    }
    report(.phaseChanged(.ended))
    if hasEntered { report(.left(reason)) }
  }
  func setStream(kind: StageStream.Kind, isOn: Bool) {
    if isOn { wanted.insert(kind) } else { wanted.remove(kind) }
    guard stage != nil else { return }
    switch (kind, isOn) {
    case (.microphone, false): microphone?.setMuted(true)
    case (_, false): withdraw(kind)
    case (.screen, true): if hasEntered, screen == nil { share() }
    case (_, true): start(kind)
    }
  }
  /// The SDK does not ask for permissions by itself.
  private func start(_ kind: StageStream.Kind) {
    let type = kind == .microphone ? AVMediaType.audio : .video
    switch AVCaptureDevice.authorizationStatus(for: type) {
    case .authorized: publish(kind)
    case .notDetermined:
      AVCaptureDevice.requestAccess(for: type) { [weak self] isGranted in
        DispatchQueue.main.async { [weak self] in isGranted ? self?.publish(kind) : self?.fail(kind, isDenied: true) }
      }
    default: fail(kind, isDenied: true)
    }
  }
  private func publish(_ kind: StageStream.Kind) {
    guard let stage, wanted.contains(kind) else { return }
    let isCamera = kind == .camera, device: (any IVSDevice)? = isCamera ? cameras : microphones
    guard let stream = (isCamera ? camera : microphone) ?? device.map({ IVSLocalStageStream(device: $0) }) else {
      return fail(kind)
    }
    if isCamera { camera = stream } else { microphone = stream }
    stream.setMuted(false)
    stage.refreshStrategy()
  }
  func fail(_ kind: StageStream.Kind, isDenied: Bool = false) {
    if isOver { return }
    wanted.remove(kind)
    withdraw(kind)
    report(.failed(kind == .camera ? isDenied ? .cameraDenied : .camera : isDenied ? .microphoneDenied : .microphone))
  }
  private func withdraw(_ kind: StageStream.Kind) {
    let old = kind == .microphone ? microphone : kind == .camera ? camera : screen?.stream
    if kind == .microphone { microphone = nil } else if kind == .camera { camera = nil } else { screen = nil }
    if let old { remove([old], of: localParticipant) }
    stage?.refreshStrategy()
  }
  /// A stage takes one video of each participant: the screen has the camera's place, and others see it as a camera.
  func share(_ frames: (any IVSCustomImageSource)? = nil) {
    let new = StageCapture(discovery, frames)
    screen = new
    new.start { [weak self, weak new] in
      guard let self, let new, new === screen else { return }
      if !new.isOn { (screen, _) = (nil, report(.failed(.screen))) }
      stage?.refreshStrategy()
    }
  }
}
