// swift-format-ignore-file
// Written by `koine port` from StageModel: the app's calls in the words of the common layer.

import AVFoundation
import Combine
import CoreMedia
import Foundation
import Koine
import UIKit

@testable import StageStrategyApp

/// The call: its state, a tile for each picture, the roster, and the buttons.
final class KoineStageCallViewController: UIViewController, SelectorPerforming {
  let statusLabel = UILabel()
  let noticeLabel = UILabel()
  let muteLabel = UILabel()
  let cameraLabel = UILabel()
  let shareLabel = UILabel()
  let roster = StageStrategyApp.RosterViewController()
            var muteButton: UIButton!
            var cameraButton: UIButton!
            var flipButton: UIButton!
            var shareButton: UIButton!
            var leaveButton: UIButton!

  private let model: KoineStageStageModel
  private let stageView = UIView()
  private var tileViews: [String: StageStrategyApp.TileView] = [:]
  private var subscriptions: Set<AnyCancellable> = []

  init(model: KoineStageStageModel) {
    self.model = model
    super.init(nibName: nil, bundle: nil)
  }

  @available(*, unavailable)
  required init?(coder: NSCoder) {
    fatalError("made in code")
  }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 800, height: 640)
    view.backgroundColor = .black
    stageView.frame = CGRect(x: 0, y: 40, width: 800, height: 460)
    view.addSubview(stageView)
    roster.view.frame = CGRect(x: 0, y: 500, width: 800, height: 100)
    view.addSubview(roster.view)

    add(statusLabel, in: CGRect(x: 8, y: 4, width: 384, height: 14))
    muteButton = button("Mute", Selector("muteTapped"), 0)
    cameraButton = button("Camera", Selector("cameraTapped"), 1)
    flipButton = button("Flip", Selector("switchCameraTapped"), 2)
    shareButton = button("Share", Selector("shareTapped"), 3)
    leaveButton = button("Leave", Selector("leaveTapped"), 4)
    add(noticeLabel, in: CGRect(x: 8, y: 22, width: 784, height: 14))
    for (index, label) in [muteLabel, cameraLabel, shareLabel].enumerated() {
      add(label, in: CGRect(x: 8 + 200 * CGFloat(index), y: 612, width: 180, height: 16))
    }
    // `objectWillChange` comes before the change, the main queue's next turn after it.
    model.objectWillChange
      .receive(on: DispatchQueue.main)
      .sink { [weak self] in self?.render() }
      .store(in: &subscriptions)
    render()
    let center = NotificationCenter.default
    center.addObserver(
      self, selector: Selector("enteredBackground:"), name: UIApplication.didEnterBackgroundNotification,
      object: UIApplication.shared)
    center.addObserver(
      self, selector: Selector("leavesBackground"), name: UIApplication.willEnterForegroundNotification,
      object: UIApplication.shared)
  }

  private func add(_ label: UILabel, in frame: CGRect) {
    label.frame = frame
    label.textColor = .white
    view.addSubview(label)
  }

  private func button(_ title: String, _ action: Selector, _ index: Int) -> UIButton {
    let button = UIButton(type: .system)
    button.frame = CGRect(x: 400 + 80 * CGFloat(index), y: 1, width: 78, height: 20)
    button.setTitle(title, for: .normal)
    button.addTarget(self, action: action, for: .touchUpInside)
    view.addSubview(button)
    return button
  }

        private func enteredBackground(_ notification: Notification) { model.moveToBackground(true) }
        private func leavesBackground() { model.moveToBackground(false) }

  // MARK: - Buttons

            func muteTapped() { model.toggleMute() }
            func cameraTapped() { model.toggleCamera() }
            func switchCameraTapped() { model.switchCamera() }
            func shareTapped() { model.toggleShare() }
            func leaveTapped() { model.leave() }

  // MARK: - Drawing

  private func render() {
    statusLabel.text = model.phase.text
    noticeLabel.text = model.notice
    muteLabel.text = model.isMuted ? "Unmute" : "Mute"
    cameraLabel.text = model.isCameraOff ? "Camera on" : model.isUsingBackCamera ? "Back camera" : "Front camera"
    shareLabel.text = model.isSharing ? "Stop sharing" : "Share screen"
    roster.show(model.members)
    renderTiles()
  }

  private func renderTiles() {
    let tiles = model.tiles
    let ids = Set(tiles.map(\.id))
    for (id, tileView) in tileViews where !ids.contains(id) {
      tileView.removeFromSuperview()
      tileViews[id] = nil
    }
    let columns = max(1, Int(Double(tiles.count).squareRoot().rounded(.up)))
    let width = stageView.bounds.width / CGFloat(columns)
    let height = stageView.bounds.height / CGFloat(max(1, (tiles.count + columns - 1) / columns))
    for (index, tile) in tiles.enumerated() {
      let (column, row) = (CGFloat(index % columns), CGFloat(index / columns))
      tileView(for: tile).show(tile, in: CGRect(x: column * width, y: row * height, width: width, height: height))
    }
  }

  private func tileView(for tile: StageStrategyApp.Tile) -> StageStrategyApp.TileView {
    if let tileView = tileViews[tile.id] { return tileView }
    let tileView = StageStrategyApp.TileView()
    tileView.preview = model.makePreview(of: tile)
    tileViews[tile.id] = tileView
    stageView.addSubview(tileView)
    return tileView
  }

  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "enteredBackground:":
      guard let sender = sender as? Notification else { return false }
      self.enteredBackground(sender)
      return true
    case "leavesBackground":
      self.leavesBackground()
      return true
    case "muteTapped":
      self.muteTapped()
      return true
    case "cameraTapped":
      self.cameraTapped()
      return true
    case "switchCameraTapped":
      self.switchCameraTapped()
      return true
    case "shareTapped":
      self.shareTapped()
      return true
    case "leaveTapped":
      self.leaveTapped()
      return true
    default: return false
    }
  }
}

/// The first screen: a token, and the reason for the end of the last call. A call covers it.
final class KoineStageJoinViewController: UIViewController, SelectorPerforming {
  /// The text that the user has pasted.
  var tokenText = ""
  let messageLabel = UILabel()
  let hintLabel = UILabel()
  let callScreen: KoineStageCallViewController

  private let model: KoineStageStageModel
  private var subscription: AnyCancellable?

  init(model: KoineStageStageModel = KoineStageStageModel()) {
    self.model = model
    callScreen = KoineStageCallViewController(model: model)
    super.init(nibName: nil, bundle: nil)
  }

  @available(*, unavailable)
  required init?(coder: NSCoder) {
    fatalError("made in code")
  }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 800, height: 640)
    messageLabel.frame = CGRect(x: 8, y: 40, width: 784, height: 16)
    hintLabel.frame = CGRect(x: 8, y: 64, width: 784, height: 16)
    for subview: UIView in [messageLabel, hintLabel, callScreen.view] { view.addSubview(subview) }
    for (index, (title, action)) in [("Join", Selector("joinTapped")), ("Rejoin", Selector("rejoinTapped"))]
      .enumerated()
    {
      let button = UIButton(frame: CGRect(x: 8 + 88 * CGFloat(index), y: 96, width: 80, height: 24))
      button.setTitle(title, for: .normal)
      button.addTarget(self, action: action, for: .touchUpInside)
      view.insertSubview(button, belowSubview: callScreen.view)
    }
    subscription = model.objectWillChange.receive(on: DispatchQueue.main).sink { [weak self] in self?.render() }
    render()
    model.requestAccess()
  }

        func joinTapped() {
    model.join(token: tokenText.trimmingCharacters(in: .whitespacesAndNewlines))
  }

        func rejoinTapped() { model.rejoin() }

  var isInCall: Bool { model.phase.isInCall }

  private func render() {
    messageLabel.text = model.phase.text
    hintLabel.text = model.notice
    callScreen.view.isHidden = !isInCall
  }

  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "joinTapped":
      self.joinTapped()
      return true
    case "rejoinTapped":
      self.rejoinTapped()
      return true
    default: return false
    }
  }
}

/// The camera and the microphone of this device, and the streams that publish them.
///
/// The streams are made once: a new instance would bring a mute state of its own to the stage.
final class KoineStageLocalDevices {
  let camera: Machine.Device?
  let microphone: Machine.Device?
  let cameraStream: RoomStream?
  let microphoneStream: RoomStream?
  private(set) var cameraPosition = Machine.Attachment.front

  init() {
    // Before the first discovery, because a preset may change the list of devices.
    // koine port: the common layer has no IVSStageAudioManager.setPreset(_:); echo is cancelled without it
    // IVSStageAudioManager.sharedInstance().setPreset(.videoChat)
    let devices = Machine.Device.all

    camera = devices.compactMap { ($0.kind == .camera ? $0 : nil) }.first
    if let front = camera?.sources.first(where: { $0.attachment == .front }) {
      camera?.choose(front)
    }
    microphone = devices.compactMap { ($0.kind == .microphone ? $0 : nil) }.first
    // koine port: the common layer has no IVSMicrophone.isEchoCancellationEnabled; echo is cancelled without it
    // microphone?.isEchoCancellationEnabled = true

    cameraStream = camera.map { RoomStream(device: $0, configuration: Self.configuration()) }
    microphoneStream = microphone.map { RoomStream(device: $0) }
  }

  /// A setter that throws keeps the default, which is good enough for a call.
  private static func configuration() -> VideoPublishOptions {
    var configuration = VideoPublishOptions(maximumBitrate: 900_000, maximumFramesPerSecond: 15, maximumWidth: 360, maximumHeight: 640, lowerLayers: [.small])
    (configuration.maximumWidth, configuration.maximumHeight) = (360, 640)
    configuration.maximumFramesPerSecond = 30
    configuration.maximumBitrate = 900_000
    return configuration
  }

  var isMuted: Bool {
    get { microphoneStream?.isMuted ?? true }
    set { microphoneStream?.setMuted(newValue) }
  }

  var isCameraOff: Bool {
    get { cameraStream?.isMuted ?? true }
    set { cameraStream?.setMuted(newValue) }
  }

  /// Goes from the front camera to the back camera, or the other way.
  /// - Parameter completion: on the main queue, with a text if the switch fails.
  func switchCamera(completion: @escaping (String?) -> Void) {
    guard let camera else { return completion(KoineStageStageText.noCamera) }
    let wanted: Machine.Attachment = cameraPosition == .front ? .back : .front
    guard let source = camera.sources.first(where: { $0.attachment == wanted }) else {
      return completion(KoineStageStageText.oneCamera)
    }
    camera.choose(source) { [weak self] error in
      if error == nil { self?.cameraPosition = wanted }
      completion(error.map { KoineStageStageText.text(for: $0) })
    }
  }

  /// Devices that are missing or not allowed.
  var problem: String? {
    if microphone == nil { return KoineStageStageText.noMicrophone }
    if AVCaptureDevice.authorizationStatus(for: .audio) == .denied { return KoineStageStageText.microphoneDenied }
    if camera == nil { return KoineStageStageText.noCamera }
    if AVCaptureDevice.authorizationStatus(for: .video) == .denied { return KoineStageStageText.cameraDenied }
    return nil
  }
}

/// A screen that is shared in the camera's place.
///
/// A stage takes one picture from each participant and knows no screen beside a camera, so a custom image source stands in
/// for the camera while the screen is shared. The SDK repeats the last picture until there is a newer one.
final class KoineStageScreenShare {
  let stream: RoomStream
  private let recorder: any StageStrategyApp.ScreenRecorder

  init(recorder: any StageStrategyApp.ScreenRecorder) throws {
    self.recorder = recorder
    let source = VideoFeed(repeatingAfter: .milliseconds(100))
    var configuration = VideoPublishOptions(maximumBitrate: 900_000, maximumFramesPerSecond: 15, maximumWidth: 360, maximumHeight: 640, lowerLayers: [.small])
    (configuration.maximumWidth, configuration.maximumHeight) = (1_280, 720)
    stream = RoomStream(device: source, config: configuration)
    recorder.startCapture { source.push($0) }
  }

  deinit {
    recorder.stopCapture()
  }
}

/// Owns the stage, answers its strategy's questions, and publishes the facts that its renderer tells.
///
/// There is no chat: a stage of this generation carries no messages. An app that wants one takes the vendor's separate
/// chat SDK, with a room and a token of its own.
final class KoineStageStageModel: NSObject, ObservableObject, @unchecked Sendable {  // used on the main thread
  @Published private(set) var phase = StageStrategyApp.StagePhase.idle
  @Published private(set) var members: [StageStrategyApp.Member] = []
  @Published private(set) var tiles: [StageStrategyApp.Tile] = []
  @Published private(set) var isMuted = false
  @Published private(set) var isCameraOff = false
  @Published private(set) var isUsingBackCamera = false
  @Published private(set) var isSharing = false
  @Published private var deviceProblem: String?
  @Published private var networkProblem: String?

  private let devices = KoineStageLocalDevices()
  private let recorder: (any StageStrategyApp.ScreenRecorder)?
  private var stage: RoomStage?
  private var token: String?
  private var isLeaving = false
  private var isInBackground = false
  private var share: KoineStageScreenShare?

  /// In the order of joining.
  private var participants: [Participant] = []
  private var streams: [String: [RoomStream]] = [:]
  private var meter = StageStrategyApp.SpeakerMeter()

  /// - Parameter recorder: nil: the screen cannot be shared.
  init(recorder: (any StageStrategyApp.ScreenRecorder)? = nil) {
    self.recorder = recorder
    super.init()
    // koine port: the common layer has no StageDevice.errorDelegate; `handle` gets the errors of the stage and of devices
    // devices.camera?.errorDelegate = self
    // koine port: the common layer has no StageDevice.errorDelegate; `handle` gets the errors of the stage and of devices
    // devices.microphone?.errorDelegate = self
    isMuted = devices.isMuted
    isCameraOff = devices.isCameraOff
    deviceProblem = devices.problem
  }

  /// A problem that does not end the call. A device that fails is also an error of the stage, which says less.
  var notice: String? { deviceProblem ?? networkProblem }

  // MARK: - Actions of the user

  /// The SDK does not ask by itself.
  func requestAccess() {
    for type in [AVMediaType.audio, .video] where AVCaptureDevice.authorizationStatus(for: type) == .notDetermined {
      AVCaptureDevice.requestAccess(for: type) { isGranted in
        guard !isGranted else { return }
        let problem = type == .audio ? KoineStageStageText.microphoneDenied : KoineStageStageText.cameraDenied
        DispatchQueue.main.async { [weak self] in self?.deviceProblem = problem }
      }
    }
  }

  func join(token: String) {
    guard !phase.isInCall else { return }
    self.token = token
    isLeaving = false
    deviceProblem = devices.problem
    phase = .connecting
    do {
      let stage = try RoomStage(token: token)
      // koine port: the common layer has no IVSStage.errorDelegate; `handle` gets the errors of the stage and of devices
      // stage.errorDelegate = self
      stage.handler = { [weak self] event, call in self?.handle(event, in: call) }
      self.stage = stage
      try stage.join()
    } catch {
      end(KoineStageStageText.text(for: error))
    }
  }

  /// After the connection was lost: a stage that has ended with an error is replaced by a new one.
  func rejoin() { token.map(join) }

  func leave() {
    isLeaving = true
    stage?.leave()
  }

  func toggleMute() {
    devices.isMuted.toggle()
    isMuted = devices.isMuted
  }

  func toggleCamera() {
    devices.isCameraOff.toggle()
    isCameraOff = devices.isCameraOff
  }

  func switchCamera() {
    devices.switchCamera { [weak self] problem in
      guard let self else { return }
      deviceProblem = problem
      isUsingBackCamera = devices.cameraPosition == .back
    }
  }

  func toggleShare() {
    do {
      share = share == nil ? try recorder.map { try KoineStageScreenShare(recorder: $0) } : nil
    } catch {
      deviceProblem = KoineStageStageText.text(for: error)
    }
    isSharing = share != nil
    decide(in: stage)
  }

  /// The SDK does not stop publishing by itself when the app goes to the background.
  func moveToBackground(_ isInBackground: Bool) {
    self.isInBackground = isInBackground
    decide(in: stage)
  }

  /// The view that shows the picture of a tile.
  func makePreview(of tile: StageStrategyApp.Tile) -> UIView? {
    let stream = streams[tile.memberID]?.first { $0.id.description == tile.id }
    guard let device = stream.flatMap({ $0.kind.isVideo ? $0 : nil }) else { return nil }
    return device.makeView(with: tile.isShare ? .scaleAspectFit : .scaleAspectFill)
  }

  // MARK: - Facts

  private func end(_ reason: String) {
    stage = nil
    share = nil
    isSharing = false
    networkProblem = nil
    participants = []
    streams = [:]
    meter = StageStrategyApp.SpeakerMeter()
    refresh()
    phase = .ended(reason)
  }

  private func refresh() {
    members = participants.map(member)
    tiles = participants.flatMap(tiles)
  }

  private func member(_ participant: Participant) -> StageStrategyApp.Member {
    let images = imageStreams(of: participant)
    let sounds = (streams[participant.id] ?? []).filter { $0.kind.isAudio }
    return StageStrategyApp.Member(
      id: participant.id, name: name(of: participant), isLocal: participant.isLocal,
      isMuted: sounds.allSatisfy(\.isMuted), isCameraOff: images.first?.isMuted ?? true,
      isSharing: images.enumerated().contains { isShare($1, at: $0) },
      isSpeaking: meter.speaker == participant.id)
  }

  private func tiles(of participant: Participant) -> [StageStrategyApp.Tile] {
    imageStreams(of: participant).enumerated().map { index, stream in
      let isShare = isShare(stream, at: index)
      return StageStrategyApp.Tile(
        id: stream.id.description, memberID: participant.id,
        caption: isShare ? "\(name(of: participant)) shares" : name(of: participant), isShare: isShare,
        isOff: stream.isMuted, isSpeaking: meter.speaker == participant.id)
    }
  }

  private func imageStreams(of participant: Participant) -> [RoomStream] {
    (streams[participant.id] ?? []).filter { $0.kind.isVideo }
  }

  /// Another participant's share is a picture beside the one that came first.
  private func isShare(_ stream: RoomStream, at index: Int) -> Bool {
    index > 0 || stream === share?.stream
  }

  private func name(of participant: Participant) -> String {
    if let name = participant.attributes["name"], !name.isEmpty { return name }
    return (participant.externalUserID ?? participant.name).isEmpty ? participant.id : (participant.externalUserID ?? participant.name)
  }
}

// MARK: - Strategy

extension KoineStageStageModel {
  func shouldPublish(_ stage: Session, shouldPublishParticipant participant: Participant) -> Bool {
    !isInBackground
  }

  func streamsToPublish(
    _ stage: Session, streamsToPublishForParticipant participant: Participant
  ) -> [RoomStream] {
    [share?.stream ?? devices.cameraStream, devices.microphoneStream].compactMap { $0 }
  }

  func wantedMedia(
    _ stage: Session, shouldSubscribeToParticipant participant: Participant
  ) -> Set<Track.Kind> {
    isInBackground ? [.microphone, .screenSound] : Set(Track.Kind.allCases)
  }
}

// MARK: - Renderer

extension KoineStageStageModel {
  func stateChanged(_ stage: Session, didChange connectionState: SessionState, withError error: (any Error)?) {
    switch connectionState {
    case .connecting:
      phase = phase == .connected || phase == .reconnecting ? .reconnecting : .connecting
    case .connected:
      networkProblem = nil
      phase = .connected
    case .ended:
      if let error {
        end(KoineStageStageText.text(for: error))
      } else {
        end(isLeaving ? KoineStageStageText.left : KoineStageStageText.replaced)
      }
    default:
      break
    }
  }

  func participantJoined(_ stage: Session, participantDidJoin participant: Participant) {
    participants.append(participant)
    refresh()
  }

  func participantLeft(_ stage: Session, participantDidLeave participant: Participant) {
    participants.removeAll { $0.id == participant.id }
    streams[participant.id] = nil
    meter.measure(participant.id, rms: nil)
    refresh()
  }

  func publishingChanged(
    _ stage: Session, participant: Participant, didChange publishState: Bool
  ) {
    if participant.isLocal && publishState == true { networkProblem = nil }
  }

  func streamAdded(_ stage: Session, participant: Participant, didAdd streams: [RoomStream]) {
    self.streams[participant.id, default: []] += streams
    if !participant.isLocal { streams.forEach { measure($0, of: participant) } }
    refresh()
  }

  func streamRemoved(_ stage: Session, participant: Participant, didRemove streams: [RoomStream]) {
    let urns = Set(streams.map { $0.id.description })
    self.streams[participant.id]?.removeAll { urns.contains($0.id.description) }
    if streams.contains(where: { $0.kind.isAudio }) { meter.measure(participant.id, rms: nil) }
    refresh()
  }

  func streamMuted(_ stage: Session, participant: Participant, didChangeMutedStreams streams: [RoomStream]) {
    if streams.contains(where: { $0.kind.isAudio && $0.isMuted }) {
      meter.measure(participant.id, rms: nil)
    }
    refresh()
  }

  func attributesChanged(_ stage: Session, participantMetadataDidUpdate participant: Participant) {
    refresh()
  }

  private func measure(_ stream: RoomStream, of participant: Participant) {
    guard let device = (stream.kind.isAudio ? stream : nil) else { return }
    device.setLevelHandler { [weak self, weak stream] stats in
      guard let self, let stream, !stream.isMuted else { return }
      meter.measure(participant.id, rms: stats)
      if members.first(where: \.isSpeaking)?.id != meter.speaker { refresh() }
    }
  }
}

// MARK: - Errors

extension KoineStageStageModel {
  /// On any thread.
  func failed(_ source: Track.Kind?, didEmitError error: any Error) {
    let isCamera = source == .camera
    let isMicrophone = source == .microphone
    DispatchQueue.main.async { [weak self] in
      guard let self else { return }
      if isCamera {
        deviceProblem = deviceProblem ?? KoineStageStageText.cameraFails
      } else if isMicrophone {
        deviceProblem = deviceProblem ?? KoineStageStageText.microphoneFails
      } else {
        networkProblem = KoineStageStageText.text(for: error)
      }
    }
  }
}

/// Says the SDK's errors in words for the screen.
enum KoineStageStageText {
  static let left = "You have left the stage."
  static let replaced = "You have joined this stage on another device."
  static let oneCamera = "This device has no other camera."
  static let noCamera = "This device has no camera."
  static let noMicrophone = "This device has no microphone."
  static let cameraDenied = "Allow the camera in Settings to be seen."
  static let microphoneDenied = "Allow the microphone in Settings to be heard."
  static let cameraFails = "The camera does not start: others do not see you."
  static let microphoneFails = "The microphone does not start: others do not hear you."

  static func text(for error: any Error) -> String {
    let error = error as NSError
    guard error.domain == RoomFault.domain else { return error.localizedDescription }
    switch error.code {
    case 1000: return "This is not a token for a stage."
    case 1001: return "The token has expired. Ask the host for a new one."
    case 1020, 1021, 1022: return "The media connection cannot be set up. The app tries again."
    case 1024: return "The stage is full."
    case 1026: return "The host does not let you in, or has removed you."
    case 1027: return "The host has closed the stage."
    case 1201, 1202, 1203: return "The stage does not answer as it should. Try again later."
    case 1300: return "The connection to the stage is lost."
    case 1400: return "The media connection is lost. The app tries again."
    case RoomFault.device.rawValue: return "The device is not there any more."
    default:
      let description = error.userInfo[NSLocalizedDescriptionKey] as? String
      return "\(description ?? error.localizedDescription) (\(error.code))"
    }
  }
}

extension KoineStageStageModel {
  /// Calls the functions above for what the stage reports.
  private func handle(_ event: SessionEvent, in stage: RoomStage) {
    switch event {
    case .stateChanged(let state):
      stateChanged(stage.session, didChange: state == .reconnecting ? .connecting : state, withError: RoomFault.error(of: state))
      if state == .connected { decide(in: stage) }
    case .participantJoined(let participant):
      participantJoined(stage.session, participantDidJoin: participant)
      if !participant.isLocal { publishingChanged(stage.session, participant: participant, didChange: true) }
      if !participant.isLocal { decide(about: participant, in: stage) }
    case .participantLeft(let participant, _):
      publishingChanged(stage.session, participant: participant, didChange: false)
      participantLeft(stage.session, participantDidLeave: participant)
    case .attributesChanged(let participant):
      if let index = participants.firstIndex(where: { $0.id == participant.id }) { participants[index] = participant }
      attributesChanged(stage.session, participantMetadataDidUpdate: participant)
    case .streamPublished:
      publishingChanged(stage.session, participant: stage.session.localParticipant, didChange: true)
    case .streamAdded(let track, let owner):
      streamAdded(stage.session, participant: owner, didAdd: [track].compactMap(stage.stream))
    case .streamRemoved(let track, let owner):
      streamRemoved(stage.session, participant: owner, didRemove: [track].compactMap(stage.stream))
    case .streamMuted(let track, let owner):
      streamMuted(stage.session, participant: owner, didChangeMutedStreams: [track].compactMap(stage.stream))
    case .publishFailed(let track, let failure):
      if failure.code == .device { failed(track.kind, didEmitError: RoomFault.error(of: failure)) }
      failed(nil, didEmitError: RoomFault.error(of: failure))
    case .failed(let failure):
      failed(nil, didEmitError: RoomFault.error(of: failure))
    default: break
    }
  }

  /// Publishes and receives what the functions above decide.
  private func decide(in stage: RoomStage?) {
    guard let stage, stage.session.state == .connected else { return }
    let local = stage.session.localParticipant
    stage.publish(shouldPublish(stage.session, shouldPublishParticipant: local) ? { self.streamsToPublish(stage.session, streamsToPublishForParticipant: local) } : nil)
    for participant in stage.participants { decide(about: participant, in: stage) }
  }

  private func decide(about participant: Participant, in stage: RoomStage) {
    stage.receive(wantedMedia(stage.session, shouldSubscribeToParticipant: participant), of: participant)
  }
}
