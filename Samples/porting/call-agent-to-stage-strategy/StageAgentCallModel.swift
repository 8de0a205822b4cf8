// swift-format-ignore-file
// Written by `koine port` from CallModel: the app's calls in the words of the stage strategy.

import AVFoundation
import AmazonIVSBroadcast
import Combine
import CoreVideo
import Foundation
import UIKit

@testable import CallAgentApp

extension StageAgentCallModel {
  func invited(_ callAgent: StageAgent, didRecieveIncomingCall incomingCall: StageAgent.Ring) {
    incomingCall.handler = { [weak self] answer, ring in self?.ringEnded(ring, didEnd: answer) }
    onMain { [weak self] in self?.didReceive(incomingCall) }
  }

  func ringEnded(_ incomingCall: StageAgent.Ring, didEnd args: StageAgent.Ring.State) {
    onMain { [weak self] in self?.didEnd(incomingCall) }
  }
}

extension StageAgentCallModel {
  func stateChanged(_ call: StageAgent.Call, didChangeState args: StageAgent.Event) {
    onMain { [weak self] in self?.didChangeState(of: call) }
  }

  func participantsChanged(_ call: StageAgent.Call, didUpdateRemoteParticipant args: (added: [StageAgent.Person], removed: [StageAgent.Person])) {
    let (added, removed) = (args.added, args.removed)
    onMain { [weak self] in self?.didUpdate(added: added, removed: removed) }
  }

  func microphoneMuted(_ call: StageAgent.Call, didUpdateOutgoingAudioState args: StageAgent.Event) {
    onMain { [weak self] in self?.refresh() }
  }
}

extension StageAgentCallModel {
  func streamChanged(
    _ remoteParticipant: StageAgent.Person, didChangeVideoStreamState args: StageAgent.Stream
  ) {
    guard let stream = args.video else { return }
    onMain { [weak self] in self?.didChange(stream, of: remoteParticipant) }
  }

  func streamMuted(_ remoteParticipant: StageAgent.Person, didChangeMuteState args: StageAgent.Event) {
    onMain { [weak self] in self?.refresh() }
  }
}

extension StageAgentCallModel {
  func dominantSpeakerChanged(
    _ dominantSpeakersCallFeature: StageAgent.Call,
    didChangeDominantSpeakers args: StageAgent.Event
  ) {
    onMain { [weak self] in self?.refresh() }
  }
}

extension StageAgentCallModel {
  func camerasChanged(_ deviceManager: StageAgent.Machine, didUpdateCameras args: (added: [StageAgent.Device], removed: [StageAgent.Device])) {
    let removed = args.removed
    onMain { [weak self] in self?.didLose(removed) }
  }
}

/// Owns the objects of the calling SDK and publishes what the screens show. Used on the main thread.
final class StageAgentCallModel: NSObject, ObservableObject {
  @Published private(set) var phase = StageAgentCallPhase.signedOut
  /// The caller's name while an incoming call rings.
  @Published private(set) var caller: String?
  @Published private(set) var roster: [CallAgentApp.RosterEntry] = []
  @Published private(set) var activeSpeaker: String?
  @Published private(set) var isMuted = false
  /// The name of the camera that is on.
  @Published private(set) var camera: String?
  @Published private(set) var isSharing = false
  /// The last failure, or the reason for the end of the last call.
  @Published private(set) var notice: String?

  let video = StageAgentVideoTiles()
  let chat = StageAgentChatChannel()

  private let clock: any Clock<Duration>
  private var name = ""
  private var client: StageAgent?
  private var agent: StageAgent?
  private var deviceManager: StageAgent.Machine?
  private var call: StageAgent.Call?
  private var incomingCall: StageAgent.Ring?
  private var cameraStream: StageAgent.Video?
  private var slides: StageAgentSlideShare?

  init(clock: any Clock<Duration> = ContinuousClock()) {
    self.clock = clock
    super.init()
    video.didFail = { [weak self] tile in
      self?.notice = "\(tile.title): The picture does not start."
      if tile.id == nil { self?.turnCameraOff() }
    }
    chat.nameOf = { [weak self] sender in
      self?.call?.others.first { $0.id == sender }?.nameForDisplay
    }
  }

  // MARK: Signing in

  func askForPermissions() {
    AVAudioSession.sharedInstance().requestRecordPermission { _ in
      AVCaptureDevice.requestAccess(for: .video) { _ in }
    }
  }

  func signIn(token: String, name: String) {
    guard phase == .signedOut else { return }
    notice = nil
    guard let credential = try? StageAgent.Credential(token: token) else {
      return tell("The sign-in data is damaged. Please sign in again.")
    }
    phase = .signingIn
    self.name = name
    let options = StageAgent.Setup()
    options.name = name
    let client = StageAgent()
    self.client = client
    client.register(credential: credential, setup: options) { [weak self] agent, error in
      agent?.handler = { [weak self] ring, agent in self?.invited(agent, didRecieveIncomingCall: ring) }
      onMain { self?.didSignIn(agent, error) }
    }
  }

  private func didSignIn(_ agent: StageAgent?, _ error: Error?) {
    guard let agent else {
      phase = .signedOut
      return tell(StageAgentCallText.ofError(error, during: "Signing in"))
    }
    self.agent = agent
    client?.machine { [weak self] manager, _ in
      onMain {
        manager?.observe { [weak self, weak machine = manager] event in if let machine { self?.handle(event, of: machine) } }
        self?.deviceManager = manager
        self?.phase = .ready
      }
    }
  }

  // MARK: Calls

  func join(room: String) {
    guard let agent, begin() else { return }
    let options = StageAgent.Setup()
    prepare(options)
    agent.start(room: room, setup: options, completion: take("Joining"))
  }

  func ring(_ callee: String) {
    guard let agent, begin() else { return }
    let options = StageAgent.Setup()
    prepare(options)
    let callees = [callee]
    agent.start(callees: callees, setup: options, completion: take("Calling"))
  }

  func accept() {
    guard let incomingCall, begin() else { return }
    let options = StageAgent.Setup()
    prepare(options)
    incomingCall.accept(setup: options, completion: take("Answering"))
    forgetIncomingCall()
  }

  func decline() {
    incomingCall?.decline(completion: reporting("Declining"))
    forgetIncomingCall()
  }

  func leave() {
    guard case .inCall = phase else { return }
    phase = call == nil ? .ready : .inCall(.leaving)
    call?.hangUp(completion: reporting("Leaving"))
  }

  /// - Returns: whether there is time for a call.
  private func begin() -> Bool {
    guard phase == .ready, call == nil else {
      tell("Please leave this call first.")
      return false
    }
    notice = nil
    phase = .inCall(.none)
    return true
  }

  private func prepare(_ options: StageAgent.Setup) {
    // koine port: the stage strategy has no OutgoingAudioOptions.init(); the options of a call have all in one
    // options.outgoingAudioOptions = OutgoingAudioOptions()
    options.isMuted = isMuted
    // koine port: the stage strategy has no CallOptions.incomingVideoOptions; nothing stands in for it
    // options.incomingVideoOptions = IncomingVideoOptions()
    // koine port: the stage strategy has no CallOptions.incomingVideoOptions; nothing stands in for it
    // options.incomingVideoOptions?.streamType = .remoteIncoming
    guard let cameraStream else { return }
    // koine port: the stage strategy has no OutgoingVideoOptions.init(); the options of a call have all in one
    // options.outgoingVideoOptions = OutgoingVideoOptions()
    options.videos = [cameraStream]
  }

  private func take(_ action: String) -> (StageAgent.Call?, Error?) -> Void {
    { [weak self] call, error in
      // Before the change of threads: events that come without a delegate are lost.
      call?.agentHandler = { [weak self] event, call in self?.handle(event, in: call) }
      onMain { self?.didTake(call, error, during: action) }
    }
  }

  private func didTake(_ call: StageAgent.Call?, _ error: Error?, during action: String) {
    guard let call else {
      phase = .ready
      return tell(StageAgentCallText.ofError(error, during: action))
    }
    guard case .inCall = phase else {
      // The user has left before the call was there.
      return call.hangUp { _ in }
    }
    self.call = call
    chat.open(in: call)
    features.insert("dominantSpeakers")
    didChangeState(of: call)
  }

  func didChangeState(of call: StageAgent.Call) {
    guard call === self.call else { return }
    guard call.state != .ended else { return didEnd(call) }
    // Reconnecting is not shown: the state stays `connected` until the call goes on or ends, and the SDK's word for an
    // interrupted connection, `Features.localUserDiagnostics`, is not available here.
    phase = .inCall(call.state)
    didUpdate(added: call.others, removed: [])
  }

  private func didEnd(_ call: StageAgent.Call) {
    self.call = nil
    phase = .ready
    notice = StageAgentCallText.ofEnd(code: call.end.code, subcode: call.end.subcode)
    chat.close()
    forgetShare()
    forgetCamera()
    for tile in video.tiles { video.hide(tile.id) }
    isMuted = false
    roster = []
    activeSpeaker = nil
  }

  private func tell(_ notice: String) { self.notice = notice }

  /// A completion handler. If the action fails, it shows the error and calls `undo`.
  private func reporting(_ action: String, undo: ((StageAgentCallModel) -> Void)? = nil) -> (Error?) -> Void {
    { [weak self] error in
      guard let error, let self else { return }
      onMain {
        self.notice = StageAgentCallText.ofError(error, during: action)
        undo?(self)
      }
    }
  }

  // MARK: Incoming calls

  func didReceive(_ incomingCall: StageAgent.Ring) {
    // There is one banner.
    guard self.incomingCall == nil else { return incomingCall.decline { _ in } }
    self.incomingCall = incomingCall
    let name = incomingCall.callerName
    caller = name.isEmpty ? incomingCall.caller : name
  }

  func didEnd(_ incomingCall: StageAgent.Ring) {
    guard incomingCall === self.incomingCall else { return }
    notice = "You missed a call of \(caller ?? "an unknown caller")."
    forgetIncomingCall()
  }

  private func forgetIncomingCall() {
    incomingCall = nil
    caller = nil
  }

  // MARK: Participants

  func didUpdate(added: [StageAgent.Person], removed: [StageAgent.Person]) {
    for participant in removed {
      for stream in participant.videos { video.hide(stream.number) }
    }
    for participant in added {
      followed.insert(participant.id)
      for stream in participant.videos {
        didChange(stream, of: participant)
      }
    }
    refresh()
  }

  func didChange(_ stream: StageAgent.Stream, of participant: StageAgent.Person) {
    guard call != nil, stream.isSent else {
      return video.hide(stream.number)
    }
    do {
      try video.show(stream, of: participant.nameForDisplay)
    } catch {
      notice = StageAgentCallText.ofError(error, during: "Showing \(participant.nameForDisplay)")
    }
  }

  func refresh() {
    guard let call else { return }
    isMuted = call.isMuted
    roster = [CallAgentApp.RosterEntry(name: "\(name) (you)", isMuted: isMuted)] + call.others.map(\.rosterEntry)
    // The list keeps muted speakers. It is read here, too, as it may change before its delegate is set.
    let speakers = call.speakers.map(\.self)
    let loudest = speakers.lazy.compactMap { id in call.others.first { $0.id == id } }
    activeSpeaker = loudest.first { !$0.isMuted }?.nameForDisplay
  }

  // MARK: Microphone, camera, screen

  func setMuted(_ isMuted: Bool) {
    guard let call else { return self.isMuted = isMuted }
    let completion = reporting(isMuted ? "Muting" : "Unmuting")
    isMuted
      ? call.setMuted(true, completion: completion) : call.setMuted(false, completion: completion)
  }

  func turnCameraOn() {
    notice = nil
    let cameras = deviceManager?.cameras ?? []
    guard let device = cameras.first(where: { $0.type == .front }) ?? cameras.first else {
      return tell("There is no camera.")
    }
    let stream = StageAgent.Video(camera: device)
    do {
      try video.showPreview(of: stream)
    } catch {
      return tell(StageAgentCallText.ofError(error, during: "Turning on the camera"))
    }
    cameraStream = stream
    camera = device.name
    call?.start(stream, completion: reporting("Turning on the camera") { $0.forgetCamera() })
  }

  func turnCameraOff() {
    guard let stream = cameraStream else { return }
    call?.stop(stream, completion: reporting("Turning off the camera"))
    forgetCamera()
  }

  private func forgetCamera() {
    video.hide(nil)
    cameraStream = nil
    camera = nil
  }

  func didLose(_ cameras: [StageAgent.Device]) {
    guard cameras.contains(where: { $0.id == cameraStream?.device.id }) else { return }
    tell("The camera was unplugged.")
    turnCameraOff()
  }

  func switchCamera() {
    guard let stream = cameraStream else { return }
    let cameras = deviceManager?.cameras ?? []
    let index = cameras.firstIndex { $0.id == stream.device.id } ?? -1
    guard cameras.count > 1 else { return tell("There is no other camera.") }
    stream.choose(camera: cameras[(index + 1) % cameras.count]) { [weak self] error in
      onMain {
        if let error { self?.notice = StageAgentCallText.ofError(error, during: "Switching the camera") }
        if self?.cameraStream === stream { self?.camera = stream.device.name }
      }
    }
  }

  func startSharing() {
    guard let call, slides == nil, let share = StageAgentSlideShare(luma: 200, clock: clock) else { return }
    slides = share
    isSharing = true
    call.start(share.stream, completion: reporting("Sharing") { $0.forgetShare() })
  }

  func stopSharing() {
    guard let share = slides else { return }
    call?.stop(share.stream, completion: reporting("Ending the share"))
    forgetShare()
  }

  private func forgetShare() {
    slides?.stopSending()
    slides = nil
    isSharing = false
  }

  // MARK: For the session

  private var followed: Set<String> = []
  private var features: Set<String> = []
}

/// Texts for states, errors and ends of calls.
enum StageAgentCallText {
  static func ofPhase(_ phase: StageAgentCallPhase) -> String {
    switch phase {
    case .signedOut: "Sign in to make calls."
    case .signingIn: "Signing in…"
    case .ready: "Ready for calls."
    case .inCall(.ringing): "Ringing…"
    case .inCall(.inLobby): "Waiting to be let in…"
    case .inCall(.connected): "In the call."
    // koine port: no word for CallState.localHold, CallState.remoteHold
    // case .inCall(.localHold), .inCall(.remoteHold): "On hold."
    case .inCall(.leaving), .inCall(.ended): "Leaving…"
    case .inCall: "Connecting…"
    }
  }

  /// - Parameter action: what the app has tried, as the beginning of a sentence: "Joining".
  static func ofError(_ error: Error?, during action: String) -> String {
    "\(action) has failed: \(error.map(reason) ?? "The service gives no reason.")"
  }

  private static func reason(_ error: Error) -> String {
    let code = (error as NSError).code
    switch (error as? StageAgent.Failure) {
    case .microphoneDenied: return "Please allow the microphone in Settings."
    case .cameraDenied: return "Please allow the camera in Settings."
    // koine port: no word for .noAudioAndVideoPermission
    // case .noAudioAndVideoPermission: return "Please allow the microphone and the camera in Settings."
    case .unauthorized: return "The sign-in data is not accepted. Please sign in again."
    case .duplicate: return "This user is signed in already."
    // koine port: no word for .displayNameLengthLongerThanSupported
    // case .displayNameLengthLongerThanSupported: return "The name is too long."
    case .ended: return "The caller has hung up."
    case .camera: return "The camera does not start."
    default: return "\(error.localizedDescription) (\(code))"
    }
  }

  static func ofEnd(code: Int32, subcode: Int32) -> String {
    switch (code, subcode) {
    case (0, 5000), (0, 5300): "You were removed from the call."
    case (0, 5854): "You were not admitted to the call."
    case (0, _): "The call has ended."
    case (401, _): "The sign-in data is not accepted. Please sign in again."
    case (403, _): "The call is full, or you are not allowed to join it."
    case (404, _): "There is no such call."
    case (408, _), (481, _), (487, 10_004): "The call was not answered."
    case (480, _): "The person you call is not available."
    case (486, _): "The person you call is busy."
    case (487, _): "The call was cancelled."
    case (603, _): "The call was declined."
    case (410, _), (430, _), (490...498, _): "The connection was lost. Please check your network and call again."
    case (500...599, _): "The service has a problem. Please try again later."
    default: "The call ended unexpectedly (\(code)/\(subcode))."
    }
  }
}

enum StageAgentCallPhase: Equatable {
  case signedOut, signingIn, ready
  case inCall(StageAgent.State)
}

extension StageAgent.Person {
  /// Guests without a display name are listed by their identifier.
  var nameForDisplay: String { self.name.isEmpty ? self.id : self.name }
  var rosterEntry: CallAgentApp.RosterEntry { CallAgentApp.RosterEntry(name: nameForDisplay, isMuted: isMuted) }
}

/// A picture of the call screen.
struct StageAgentTile {
  /// The stream's; nil for the preview of the own camera.
  let id: Int32?
  let title: String
  let isShare: Bool
  let picture: StageStreamView
}

/// The call: its pictures, its state, and the buttons below.
final class StageAgentCallViewController: StageAgentScreenViewController, SelectorPerforming {
  let statusLabel = UILabel(frame: CGRect(x: 10, y: 50, width: 370, height: 20))
  let noticeLabel = UILabel(frame: CGRect(x: 10, y: 70, width: 370, height: 20))
  let speakerLabel = UILabel(frame: CGRect(x: 10, y: 90, width: 370, height: 20))
  let microphoneLabel = UILabel(frame: CGRect(x: 10, y: 790, width: 120, height: 20))
  let cameraLabel = UILabel(frame: CGRect(x: 130, y: 790, width: 120, height: 20))
  let shareLabel = UILabel(frame: CGRect(x: 250, y: 790, width: 120, height: 20))
  private let grid = UIView(frame: CGRect(x: 0, y: 115, width: 390, height: 665))
  private(set) var tileViews: [StageAgentTileView] = []

  override func viewDidLoad() {
    super.viewDidLoad()
    view.addSubview(grid)
    show(model.$phase, in: statusLabel) { StageAgentCallText.ofPhase($0) }
    show(model.$notice, in: noticeLabel) { $0 }
    show(model.$activeSpeaker, in: speakerLabel) { $0.map { "\($0) speaks" } }
    show(model.$isMuted, in: microphoneLabel) { $0 ? "Muted" : "Microphone on" }
    show(model.$camera, in: cameraLabel) { $0 ?? "Camera off" }
    show(model.$isSharing, in: shareLabel) { $0 ? "You share your screen" : nil }
    model.video.$tiles.sink { [weak self] tiles in self?.show(tiles) }.store(in: &subscriptions)
    addButtons(
      [
        ("Mute", Selector("muteTapped")), ("Camera", Selector("cameraTapped")), ("Flip", Selector("switchCameraTapped")),
        ("Share", Selector("shareTapped")), ("Leave", Selector("leaveTapped:")),
      ], y: 812)
  }

  /// Shares come first, over the whole width; the cameras follow in two columns.
  private func show(_ tiles: [StageAgentTile]) {
    for tileView in tileViews { tileView.removeFromSuperview() }
    let (shares, cameras) = (tiles.filter(\.isShare), tiles.filter { !$0.isShare })
    let width = grid.bounds.width
    let below = CGFloat(shares.count) * StageAgentTileView.height(of: width)
    tileViews = shares.enumerated().map { index, tile in
      StageAgentTileView(tile, x: 0, y: CGFloat(index) * StageAgentTileView.height(of: width), width: width)
    }
    tileViews += cameras.enumerated().map { index, tile in
      let y = below + CGFloat(index / 2) * StageAgentTileView.height(of: width / 2)
      return StageAgentTileView(tile, x: CGFloat(index % 2) * width / 2, y: y, width: width / 2)
    }
    for tileView in tileViews { grid.addSubview(tileView) }
  }

        func muteTapped() { model.setMuted(!model.isMuted) }
        func cameraTapped() { model.camera == nil ? model.turnCameraOn() : model.turnCameraOff() }
        func switchCameraTapped() { model.switchCamera() }
        func shareTapped() { model.isSharing ? model.stopSharing() : model.startSharing() }
        func leaveTapped(_ sender: UIButton? = nil) { model.leave() }

  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
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
    case "leaveTapped:":
      let sender = sender as? UIButton
      self.leaveTapped(sender)
      return true
    default: return false
    }
  }
}

/// A picture over its title.
final class StageAgentTileView: UIView {
  let titleLabel: UILabel
  private static let titleHeight: CGFloat = 20
  static func height(of width: CGFloat) -> CGFloat { width * 9 / 16 + titleHeight }

  init(_ tile: StageAgentTile, x: CGFloat, y: CGFloat, width: CGFloat) {
    let height = Self.height(of: width) - Self.titleHeight
    titleLabel = UILabel(frame: CGRect(x: 4, y: height, width: width - 8, height: Self.titleHeight))
    super.init(frame: CGRect(x: x, y: y, width: width, height: height + Self.titleHeight))
    titleLabel.text = tile.title
    tile.picture.frame = CGRect(x: 0, y: 0, width: width, height: height)
    addSubview(tile.picture)
    addSubview(titleLabel)
  }

  required init?(coder: NSCoder) { fatalError("init(coder:) has not been implemented") }
}

/// The texts of a call, over its data channel: the calling SDK has no chat of its own.
final class StageAgentChatChannel: NSObject, ObservableObject {
  /// The lines as a person reads them.
  @Published private(set) var lines: [String] = []
  var nameOf: ((String) -> String?)?

  private static let channelID: Int32 = 20
  // koine port: the stage strategy has no DataChannelSender; nothing stands in for it
  // private var sender: DataChannelSender?
  // koine port: the stage strategy has no DataChannelReceiver; nothing stands in for it
  // private var receivers: [DataChannelReceiver] = []

  func open(in call: StageAgent.Call) {
    // koine port: the stage strategy has no Features.dataChannel; nothing stands in for it
    // let feature = call.feature(Features.dataChannel)
    // koine port: the stage strategy has no DataChannelCallFeature.delegate; nothing stands in for it
    // feature.delegate = self
    // koine port: the stage strategy has no DataChannelSenderOptions.init(); nothing stands in for it
    // let options = DataChannelSenderOptions()
    // koine port: the stage strategy has no DataChannelSenderOptions.channelId; nothing stands in for it
    // options.channelId = Self.channelID
    // koine port: the stage strategy has no DataChannelSenderOptions.reliability; a stage of this generation carries no messages: the app's own server does
    // options.reliability = .durable
    // koine port: sender is left out
    // sender = feature.getDataChannelSender(options: options)
    lines = []
  }

  func close() {
    // koine port: the stage strategy has no DataChannelSender.closeSender(); nothing stands in for it
    // sender?.closeSender()
    // koine port: sender is left out
    // sender = nil
    // koine port: receivers is left out
    // receivers = []
  }

  /// - Returns: whether the text was sent.
  // koine port: sender is left out
  // func send(_ text: String) -> Bool {
  //   let data = Data(text.utf8)
  //   guard let sender, !data.isEmpty, data.count <= sender.maxMessageSizeInBytes else { return false }
  //   sender.sendMessage(data: data)
  //   lines.append("You: \(text)")
  //   return true
  // }

  // koine port: the stage strategy has no DataChannelCallFeature; nothing stands in for it
  // func dataChannelCallFeature(
  //   _ dataChannelCallFeature: DataChannelCallFeature, didCreateReceiver args: DataChannelReceiverCreatedEventArgs
  // ) {
  //   let receiver = args.receiver
  //   guard receiver.channelId == Self.channelID else { return }
  //   receiver.delegate = self
  //   onMain { [weak self] in
  //     self?.receivers.append(receiver)
  //     self?.read(receiver)
  //   }
  // }

  // koine port: the stage strategy does not report it; DataChannelReceiverDelegate.dataChannelReceiver(_:didReceiveMessage:): messages come from the app's own server
  // func dataChannelReceiver(_ dataChannelReceiver: DataChannelReceiver, didReceiveMessage args: PropertyChangedEventArgs)
  // {
  //   onMain { [weak self] in self?.read(dataChannelReceiver) }
  // }

  // koine port: the stage strategy has no DataChannelReceiver; nothing stands in for it
  // private func read(_ receiver: DataChannelReceiver) {
  //   while let message = receiver.receiveMessage() {
  //     let name = nameOf?(receiver.senderIdentifier) ?? receiver.senderIdentifier.rawId
  //     lines.append("\(name): \(String(decoding: message.data, as: UTF8.self))")
  //   }
  // }
}

/// What the app's screens have in common: the size of a telephone, the model, and labels that follow it.
class StageAgentScreenViewController: UIViewController {
  let model: StageAgentCallModel
  var subscriptions: Set<AnyCancellable> = []
  private(set) var rows: [UILabel] = []

  init(model: StageAgentCallModel) {
    self.model = model
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("init(coder:) has not been implemented") }

  override func loadView() {
    view = UIView(frame: CGRect(x: 0, y: 0, width: 390, height: 844))
    view.backgroundColor = .white
  }

  func show<Value>(_ values: Published<Value>.Publisher, in label: UILabel, _ text: @escaping (Value) -> String?) {
    view.addSubview(label)
    values.sink { [weak label] value in label?.text = text(value) }.store(in: &subscriptions)
  }

  /// Buttons side by side.
  func addButtons(_ buttons: [(title: String, action: Selector)], y: CGFloat) {
    let width = (view.bounds.width - 20) / CGFloat(buttons.count)
    for (index, (title, action)) in buttons.enumerated() {
      let button = UIButton(type: .system)
      button.frame = CGRect(x: 10 + width * CGFloat(index), y: y, width: width - 4, height: 28)
      button.setTitle(title, for: .normal)
      button.addTarget(self, action: action, for: .touchUpInside)
      view.addSubview(button)
    }
  }

  /// Lists texts from the top to the bottom.
  func list(_ texts: [String]) {
    for row in rows { row.removeFromSuperview() }
    rows = texts.enumerated().map { index, text in
      let row = UILabel(frame: CGRect(x: 20, y: 60 + 30 * index, width: 350, height: 30))
      row.text = text
      view.addSubview(row)
      return row
    }
  }
}

/// The first screen: signing in, joining a room, calling and being called.
final class StageAgentJoinViewController: StageAgentScreenViewController, SelectorPerforming {
  var token = ""
  var name = ""
  var room = ""
  var callee = ""

  let statusLabel = UILabel(frame: CGRect(x: 20, y: 60, width: 350, height: 30))
  let noticeLabel = UILabel(frame: CGRect(x: 20, y: 90, width: 350, height: 30))
  let callerLabel = UILabel(frame: CGRect(x: 20, y: 120, width: 350, height: 30))

  override func viewDidLoad() {
    super.viewDidLoad()
    show(model.$phase, in: statusLabel) { StageAgentCallText.ofPhase($0) }
    show(model.$notice, in: noticeLabel) { $0 }
    show(model.$caller, in: callerLabel) { $0.map { "\($0) is calling…" } }
    addButtons(
      [("Sign in", Selector("signInTapped")), ("Join", Selector("joinTapped")), ("Call", Selector("callTapped"))], y: 200)
    addButtons([("Accept", Selector("acceptTapped")), ("Decline", Selector("declineTapped"))], y: 240)
    model.askForPermissions()
  }

        func signInTapped() { model.signIn(token: token, name: name) }
        func joinTapped() { model.join(room: room) }
        func callTapped() { model.ring(callee) }
        func acceptTapped() { model.accept() }
        func declineTapped() { model.decline() }

  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "signInTapped":
      self.signInTapped()
      return true
    case "joinTapped":
      self.joinTapped()
      return true
    case "callTapped":
      self.callTapped()
      return true
    case "acceptTapped":
      self.acceptTapped()
      return true
    case "declineTapped":
      self.declineTapped()
      return true
    default: return false
    }
  }
}

/// The people in the call.
final class StageAgentRosterViewController: StageAgentScreenViewController {
  override func viewDidLoad() {
    super.viewDidLoad()
    model.$roster.sink { [weak self] roster in self?.list(roster.map(\.text)) }.store(in: &subscriptions)
  }
}

/// The texts that the people in the call write.
final class StageAgentChatViewController: StageAgentScreenViewController, SelectorPerforming {
  var draft = ""

  override func viewDidLoad() {
    super.viewDidLoad()
    model.chat.$lines.sink { [weak self] lines in self?.list(lines) }.store(in: &subscriptions)
    addButtons([("Send", Selector("sendTapped"))], y: 800)
  }

        func sendTapped() {
    // koine port: send(_:) is left out
    // if model.chat.send(draft) { draft = "" }
  }

  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "sendTapped":
      self.sendTapped()
      return true
    default: return false
    }
  }
}

/// Sends a slide, a page in one colour, as the shared screen, five times a second.
final class StageAgentSlideShare: NSObject, @unchecked Sendable {
  let stream: StageAgent.Video
  private let slide: CVPixelBuffer
  private let clock: any Clock<Duration>
  private var sending: Task<Void, Never>?

  /// - Returns: nil if there is no memory for the slide.
  init?(luma: UInt8, clock: any Clock<Duration>) {
    guard let slide = Self.makeSlide(width: 640, height: 360, luma: luma) else { return nil }
    var format = StageAgent.Format()
    (format.width, format.height) = (640, 360)
    // koine port: the stage strategy has no VideoStreamFormat.pixelFormat; nothing stands in for it
    // format.pixelFormat = .nv12
    format.framesPerSecond = 15
    // koine port: the stage strategy has no VideoStreamFormat.stride1; nothing stands in for it
    // format.stride1 = 640
    // koine port: the stage strategy has no VideoStreamFormat.stride2; nothing stands in for it
    // format.stride2 = 640
    var options = [StageAgent.Format]()
    options = [format]
    stream = StageAgent.Video(formats: options)
    self.slide = slide
    self.clock = clock
    super.init()
    stream.handler = { [weak self] video in self?.streamChanged(video, didChangeState: video) }
  }

  private static func makeSlide(width: Int, height: Int, luma: UInt8) -> CVPixelBuffer? {
    var slide: CVPixelBuffer?
    let format = kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange
    guard CVPixelBufferCreate(kCFAllocatorDefault, width, height, format, nil, &slide) == kCVReturnSuccess,
      let slide, CVPixelBufferLockBaseAddress(slide, []) == kCVReturnSuccess
    else { return nil }
    defer { CVPixelBufferUnlockBaseAddress(slide, []) }
    for (plane, value) in [luma, 128].enumerated() {
      guard let base = CVPixelBufferGetBaseAddressOfPlane(slide, plane) else { return nil }
      let size = CVPixelBufferGetBytesPerRowOfPlane(slide, plane) * CVPixelBufferGetHeightOfPlane(slide, plane)
      memset(base, Int32(value), size)
    }
    return slide
  }

  func streamChanged(
    _ screenShareOutgoingVideoStream: StageAgent.Video,
    didChangeState args: StageAgent.Video
  ) {
    let isStarted = args.isSent
    onMain { [weak self] in isStarted ? self?.startSending() : self?.stopSending() }
  }

  private func startSending() {
    guard sending == nil else { return }
    sending = Task { @MainActor [weak self, clock] in
      while !Task.isCancelled {
        self?.sendFrame()
        try? await clock.sleep(for: .milliseconds(200))
      }
    }
  }

  func stopSending() {
    sending?.cancel()
    sending = nil
  }

  private func sendFrame() {
    let frame = StageAgent.Frame()
    frame.buffer = slide
    // koine port: the stage strategy has no RawVideoFrame.streamFormat; nothing stands in for it
    // frame.streamFormat = stream.format
    // koine port: the stage strategy has no RawVideoFrame.timestampInTicks; nothing stands in for it
    // frame.timestampInTicks = stream.timestampInTicks
    stream.send(frame) { _ in }  // A frame that is lost is followed by the next one.
  }
}

/// Owns a renderer for each shown stream: a stream has one renderer at most, and a renderer one view.
final class StageAgentVideoTiles: NSObject, ObservableObject {
  @Published private(set) var tiles: [StageAgentTile] = []
  /// Called with a tile if its renderer does not start.
  var didFail: ((StageAgentTile) -> Void)?
  private var renderers: [Int32?: StageAgent.Renderer] = [:]

  func showPreview(of stream: StageAgent.Video) throws {
    try add(nil, StageAgent.Renderer(video: stream), title: "You", isShare: false)
  }

  func show(_ stream: StageAgent.Stream, of name: String) throws {
    guard renderers[stream.number] == nil else { return }
    let isShare = stream.kind == .screen
    let renderer = try StageAgent.Renderer(track: stream)
    try add(stream.number, renderer, title: isShare ? "\(name)’s screen" : name, isShare: isShare)
  }

  private func add(_ id: Int32?, _ renderer: StageAgent.Renderer, title: String, isShare: Bool) throws {
    renderer.handler = { [weak self] renderer in self?.viewFailed(didFailToStart: renderer) }
    let picture = try renderer.makeView(.scaleAspectFit)
    renderers[id] = renderer
    tiles.append(StageAgentTile(id: id, title: title, isShare: isShare, picture: picture))
  }

  func hide(_ id: Int32?) {
    renderers.removeValue(forKey: id)?.dispose()
    tiles.removeAll { $0.id == id }
  }

  func viewFailed(didFailToStart renderer: StageAgent.Renderer) {
    onMain { [weak self] in
      guard let self, let tile = tiles.first(where: { self.renderers[$0.id] === renderer }) else { return }
      hide(tile.id)
      didFail?(tile)
    }
  }
}

extension StageAgentCallModel {
  /// Calls the functions above for what the call reports.
  private func handle(_ event: StageAgent.Event, in call: StageAgent.Call) {
    switch event {
    case .stateChanged:
      stateChanged(call, didChangeState: event)
    case .microphoneMuted:
      microphoneMuted(call, didUpdateOutgoingAudioState: event)
    case .personJoined(let person):
      participantsChanged(call, didUpdateRemoteParticipant: (added: [person], removed: []))
    case .personLeft(let person):
      participantsChanged(call, didUpdateRemoteParticipant: (added: [], removed: [person]))
    case .muted(let person) where followed.contains(person.id):
      streamMuted(person, didChangeMuteState: event)
    case .streamAdded(let stream, let person) where followed.contains(person.id):
      streamChanged(person, didChangeVideoStreamState: stream)
    case .streamRemoved(let stream, let person) where followed.contains(person.id):
      streamChanged(person, didChangeVideoStreamState: stream)
    case .speakerChanged where features.contains("dominantSpeakers"):
      dominantSpeakerChanged(call, didChangeDominantSpeakers: event)
    default: break
    }
  }

  private func handle(_ change: (added: [StageAgent.Device], removed: [StageAgent.Device]), of machine: StageAgent.Machine) {
    camerasChanged(machine, didUpdateCameras: change)
  }
}
