// swift-format-ignore-file
// Written by `koine port` from CallModel: the app's calls in the words of the event listener.

import AVFoundation
import Combine
import CoreVideo
import Foundation
import UIKit
import VideoSDKRTC
import WebRTC

@testable import CallAgentApp

extension ListenerAgentCallModel {
  func invited(_ callAgent: ListenerAgent, didRecieveIncomingCall incomingCall: ListenerAgent.Ring) {
    incomingCall.handler = { [weak self] answer, ring in self?.ringEnded(ring, didEnd: answer) }
    onMain { [weak self] in self?.didReceive(incomingCall) }
  }

  func ringEnded(_ incomingCall: ListenerAgent.Ring, didEnd args: ListenerAgent.Ring.State) {
    onMain { [weak self] in self?.didEnd(incomingCall) }
  }
}

extension ListenerAgentCallModel {
  func stateChanged(_ call: ListenerAgent.Call, didChangeState args: ListenerAgent.Event) {
    onMain { [weak self] in self?.didChangeState(of: call) }
  }

  func participantsChanged(_ call: ListenerAgent.Call, didUpdateRemoteParticipant args: (added: [ListenerAgent.Person], removed: [ListenerAgent.Person])) {
    let (added, removed) = (args.added, args.removed)
    onMain { [weak self] in self?.didUpdate(added: added, removed: removed) }
  }

  func microphoneMuted(_ call: ListenerAgent.Call, didUpdateOutgoingAudioState args: ListenerAgent.Event) {
    onMain { [weak self] in self?.refresh() }
  }
}

extension ListenerAgentCallModel {
  func streamChanged(
    _ remoteParticipant: ListenerAgent.Person, didChangeVideoStreamState args: ListenerAgent.Stream
  ) {
    guard let stream = args.video else { return }
    onMain { [weak self] in self?.didChange(stream, of: remoteParticipant) }
  }

  func streamMuted(_ remoteParticipant: ListenerAgent.Person, didChangeMuteState args: ListenerAgent.Event) {
    onMain { [weak self] in self?.refresh() }
  }
}

extension ListenerAgentCallModel {
  func dominantSpeakerChanged(
    _ dominantSpeakersCallFeature: ListenerAgent.Call,
    didChangeDominantSpeakers args: ListenerAgent.Event
  ) {
    onMain { [weak self] in self?.refresh() }
  }
}

extension ListenerAgentCallModel {
  func camerasChanged(_ deviceManager: ListenerAgent.Machine, didUpdateCameras args: (added: [ListenerAgent.Device], removed: [ListenerAgent.Device])) {
    let removed = args.removed
    onMain { [weak self] in self?.didLose(removed) }
  }
}

/// Owns the objects of the calling SDK and publishes what the screens show. Used on the main thread.
final class ListenerAgentCallModel: NSObject, ObservableObject {
  @Published private(set) var phase = ListenerAgentCallPhase.signedOut
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

  let video = ListenerAgentVideoTiles()
  let chat = ListenerAgentChatChannel()

  private let clock: any Clock<Duration>
  private var name = ""
  private var client: ListenerAgent?
  private var agent: ListenerAgent?
  private var deviceManager: ListenerAgent.Machine?
  private var call: ListenerAgent.Call?
  private var incomingCall: ListenerAgent.Ring?
  private var cameraStream: ListenerAgent.Video?
  private var slides: ListenerAgentSlideShare?

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
    guard let credential = try? ListenerAgent.Credential(token: token) else {
      return tell("The sign-in data is damaged. Please sign in again.")
    }
    phase = .signingIn
    self.name = name
    let options = ListenerAgent.Setup()
    options.name = name
    let client = ListenerAgent()
    self.client = client
    client.register(credential: credential, setup: options) { [weak self] agent, error in
      agent?.handler = { [weak self] ring, agent in self?.invited(agent, didRecieveIncomingCall: ring) }
      onMain { self?.didSignIn(agent, error) }
    }
  }

  private func didSignIn(_ agent: ListenerAgent?, _ error: Error?) {
    guard let agent else {
      phase = .signedOut
      return tell(ListenerAgentCallText.ofError(error, during: "Signing in"))
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
    let options = ListenerAgent.Setup()
    prepare(options)
    agent.start(room: room, setup: options, completion: take("Joining"))
  }

  func ring(_ callee: String) {
    guard let agent, begin() else { return }
    let options = ListenerAgent.Setup()
    prepare(options)
    let callees = [callee]
    agent.start(callees: callees, setup: options, completion: take("Calling"))
  }

  func accept() {
    guard let incomingCall, begin() else { return }
    let options = ListenerAgent.Setup()
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

  private func prepare(_ options: ListenerAgent.Setup) {
    // koine port: the event listener has no OutgoingAudioOptions.init(); the options of a call have all in one
    // options.outgoingAudioOptions = OutgoingAudioOptions()
    options.isMuted = isMuted
    // koine port: the event listener has no CallOptions.incomingVideoOptions; nothing stands in for it
    // options.incomingVideoOptions = IncomingVideoOptions()
    // koine port: the event listener has no CallOptions.incomingVideoOptions; nothing stands in for it
    // options.incomingVideoOptions?.streamType = .remoteIncoming
    guard let cameraStream else { return }
    // koine port: the event listener has no OutgoingVideoOptions.init(); the options of a call have all in one
    // options.outgoingVideoOptions = OutgoingVideoOptions()
    options.videos = [cameraStream]
  }

  private func take(_ action: String) -> (ListenerAgent.Call?, Error?) -> Void {
    { [weak self] call, error in
      // Before the change of threads: events that come without a delegate are lost.
      call?.agentHandler = { [weak self] event, call in self?.handle(event, in: call) }
      onMain { self?.didTake(call, error, during: action) }
    }
  }

  private func didTake(_ call: ListenerAgent.Call?, _ error: Error?, during action: String) {
    guard let call else {
      phase = .ready
      return tell(ListenerAgentCallText.ofError(error, during: action))
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

  func didChangeState(of call: ListenerAgent.Call) {
    guard call === self.call else { return }
    guard call.state != .ended else { return didEnd(call) }
    // Reconnecting is not shown: the state stays `connected` until the call goes on or ends, and the SDK's word for an
    // interrupted connection, `Features.localUserDiagnostics`, is not available here.
    phase = .inCall(call.state)
    didUpdate(added: call.others, removed: [])
  }

  private func didEnd(_ call: ListenerAgent.Call) {
    self.call = nil
    phase = .ready
    notice = ListenerAgentCallText.ofEnd(code: call.end.code, subcode: call.end.subcode)
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
  private func reporting(_ action: String, undo: ((ListenerAgentCallModel) -> Void)? = nil) -> (Error?) -> Void {
    { [weak self] error in
      guard let error, let self else { return }
      onMain {
        self.notice = ListenerAgentCallText.ofError(error, during: action)
        undo?(self)
      }
    }
  }

  // MARK: Incoming calls

  func didReceive(_ incomingCall: ListenerAgent.Ring) {
    // There is one banner.
    guard self.incomingCall == nil else { return incomingCall.decline { _ in } }
    self.incomingCall = incomingCall
    let name = incomingCall.callerName
    caller = name.isEmpty ? incomingCall.caller : name
  }

  func didEnd(_ incomingCall: ListenerAgent.Ring) {
    guard incomingCall === self.incomingCall else { return }
    notice = "You missed a call of \(caller ?? "an unknown caller")."
    forgetIncomingCall()
  }

  private func forgetIncomingCall() {
    incomingCall = nil
    caller = nil
  }

  // MARK: Participants

  func didUpdate(added: [ListenerAgent.Person], removed: [ListenerAgent.Person]) {
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

  func didChange(_ stream: ListenerAgent.Stream, of participant: ListenerAgent.Person) {
    guard call != nil, stream.isSent else {
      return video.hide(stream.number)
    }
    do {
      try video.show(stream, of: participant.nameForDisplay)
    } catch {
      notice = ListenerAgentCallText.ofError(error, during: "Showing \(participant.nameForDisplay)")
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
    guard let device = cameras.first(where: { $0.position == .front }) ?? cameras.first else {
      return tell("There is no camera.")
    }
    let stream = ListenerAgent.Video(camera: device)
    do {
      try video.showPreview(of: stream)
    } catch {
      return tell(ListenerAgentCallText.ofError(error, during: "Turning on the camera"))
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

  func didLose(_ cameras: [ListenerAgent.Device]) {
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
        if let error { self?.notice = ListenerAgentCallText.ofError(error, during: "Switching the camera") }
        if self?.cameraStream === stream { self?.camera = stream.device.name }
      }
    }
  }

  func startSharing() {
    guard let call, slides == nil, let share = ListenerAgentSlideShare(luma: 200, clock: clock) else { return }
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
enum ListenerAgentCallText {
  static func ofPhase(_ phase: ListenerAgentCallPhase) -> String {
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
    switch (error as? ListenerAgent.Failure) {
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

enum ListenerAgentCallPhase: Equatable {
  case signedOut, signingIn, ready
  case inCall(ListenerAgent.State)
}

extension ListenerAgent.Person {
  /// Guests without a display name are listed by their identifier.
  var nameForDisplay: String { self.displayName.isEmpty ? self.id : self.displayName }
  var rosterEntry: CallAgentApp.RosterEntry { CallAgentApp.RosterEntry(name: nameForDisplay, isMuted: isMuted) }
}

/// A picture of the call screen.
struct ListenerAgentTile {
  /// The stream's; nil for the preview of the own camera.
  let id: Int32?
  let title: String
  let isShare: Bool
  let picture: RTCMTLVideoView
}

/// The call: its pictures, its state, and the buttons below.
final class ListenerAgentCallViewController: ListenerAgentScreenViewController, SelectorPerforming {
  let statusLabel = UILabel(frame: CGRect(x: 10, y: 50, width: 370, height: 20))
  let noticeLabel = UILabel(frame: CGRect(x: 10, y: 70, width: 370, height: 20))
  let speakerLabel = UILabel(frame: CGRect(x: 10, y: 90, width: 370, height: 20))
  let microphoneLabel = UILabel(frame: CGRect(x: 10, y: 790, width: 120, height: 20))
  let cameraLabel = UILabel(frame: CGRect(x: 130, y: 790, width: 120, height: 20))
  let shareLabel = UILabel(frame: CGRect(x: 250, y: 790, width: 120, height: 20))
  private let grid = UIView(frame: CGRect(x: 0, y: 115, width: 390, height: 665))
  private(set) var tileViews: [ListenerAgentTileView] = []

  override func viewDidLoad() {
    super.viewDidLoad()
    view.addSubview(grid)
    show(model.$phase, in: statusLabel) { ListenerAgentCallText.ofPhase($0) }
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
  private func show(_ tiles: [ListenerAgentTile]) {
    for tileView in tileViews { tileView.removeFromSuperview() }
    let (shares, cameras) = (tiles.filter(\.isShare), tiles.filter { !$0.isShare })
    let width = grid.bounds.width
    let below = CGFloat(shares.count) * ListenerAgentTileView.height(of: width)
    tileViews = shares.enumerated().map { index, tile in
      ListenerAgentTileView(tile, x: 0, y: CGFloat(index) * ListenerAgentTileView.height(of: width), width: width)
    }
    tileViews += cameras.enumerated().map { index, tile in
      let y = below + CGFloat(index / 2) * ListenerAgentTileView.height(of: width / 2)
      return ListenerAgentTileView(tile, x: CGFloat(index % 2) * width / 2, y: y, width: width / 2)
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
final class ListenerAgentTileView: UIView {
  let titleLabel: UILabel
  private static let titleHeight: CGFloat = 20
  static func height(of width: CGFloat) -> CGFloat { width * 9 / 16 + titleHeight }

  init(_ tile: ListenerAgentTile, x: CGFloat, y: CGFloat, width: CGFloat) {
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
final class ListenerAgentChatChannel: NSObject, ObservableObject {
  /// The lines as a person reads them.
  @Published private(set) var lines: [String] = []
  var nameOf: ((String) -> String?)?

  private static let channelID: Int32 = 20
  private var sender: ListenerAgent.Channel?
  private var receivers: [ListenerAgent.Inbox] = []

  func open(in call: ListenerAgent.Call) {
    let feature = call
    feature.inboxHandler = { [weak self] inbox, call in self?.channelOpened(call, didCreateReceiver: inbox) }
    let options = ListenerAgent.Setup()
    options.channel = Self.channelID
    // koine port: the event listener has no DataChannelSenderOptions.reliability; nothing stands in for it
    // options.reliability = .durable
    sender = feature.channel(setup: options)
    lines = []
  }

  func close() {
    sender?.close()
    sender = nil
    receivers = []
  }

  /// - Returns: whether the text was sent.
  func send(_ text: String) -> Bool {
    let data = Data(text.utf8)
    guard let sender, !data.isEmpty, data.count <= sender.limit else { return false }
    sender.send(data)
    lines.append("You: \(text)")
    return true
  }

  func channelOpened(
    _ dataChannelCallFeature: ListenerAgent.Call, didCreateReceiver args: ListenerAgent.Inbox
  ) {
    let receiver = args
    guard receiver.channel == Self.channelID else { return }
    receiver.handler = { [weak self] message, inbox in self?.messageReceived(inbox, didReceiveMessage: message) }
    onMain { [weak self] in
      self?.receivers.append(receiver)
      self?.read(receiver)
    }
  }

  func messageReceived(_ dataChannelReceiver: ListenerAgent.Inbox, didReceiveMessage args: PubSubMessage)
  {
    onMain { [weak self] in self?.read(dataChannelReceiver) }
  }

  private func read(_ receiver: ListenerAgent.Inbox) {
    while let message = receiver.next() {
      let name = nameOf?(receiver.sender) ?? receiver.sender
      lines.append("\(name): \(String(decoding: message, as: UTF8.self))")
    }
  }
}

/// What the app's screens have in common: the size of a telephone, the model, and labels that follow it.
class ListenerAgentScreenViewController: UIViewController {
  let model: ListenerAgentCallModel
  var subscriptions: Set<AnyCancellable> = []
  private(set) var rows: [UILabel] = []

  init(model: ListenerAgentCallModel) {
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
final class ListenerAgentJoinViewController: ListenerAgentScreenViewController, SelectorPerforming {
  var token = ""
  var name = ""
  var room = ""
  var callee = ""

  let statusLabel = UILabel(frame: CGRect(x: 20, y: 60, width: 350, height: 30))
  let noticeLabel = UILabel(frame: CGRect(x: 20, y: 90, width: 350, height: 30))
  let callerLabel = UILabel(frame: CGRect(x: 20, y: 120, width: 350, height: 30))

  override func viewDidLoad() {
    super.viewDidLoad()
    show(model.$phase, in: statusLabel) { ListenerAgentCallText.ofPhase($0) }
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
final class ListenerAgentRosterViewController: ListenerAgentScreenViewController {
  override func viewDidLoad() {
    super.viewDidLoad()
    model.$roster.sink { [weak self] roster in self?.list(roster.map(\.text)) }.store(in: &subscriptions)
  }
}

/// The texts that the people in the call write.
final class ListenerAgentChatViewController: ListenerAgentScreenViewController, SelectorPerforming {
  var draft = ""

  override func viewDidLoad() {
    super.viewDidLoad()
    model.chat.$lines.sink { [weak self] lines in self?.list(lines) }.store(in: &subscriptions)
    addButtons([("Send", Selector("sendTapped"))], y: 800)
  }

        func sendTapped() {
    if model.chat.send(draft) { draft = "" }
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
final class ListenerAgentSlideShare: NSObject, @unchecked Sendable {
  let stream: ListenerAgent.Video
  private let slide: CVPixelBuffer
  private let clock: any Clock<Duration>
  private var sending: Task<Void, Never>?

  /// - Returns: nil if there is no memory for the slide.
  init?(luma: UInt8, clock: any Clock<Duration>) {
    guard let slide = Self.makeSlide(width: 640, height: 360, luma: luma) else { return nil }
    var format = ListenerAgent.Format()
    (format.width, format.height) = (640, 360)
    // koine port: the event listener has no VideoStreamFormat.pixelFormat; give `KOINE_CAMERA`, or the world's camera, a file or a source of the app
    // format.pixelFormat = .nv12
    format.framesPerSecond = 15
    // koine port: the event listener has no VideoStreamFormat.stride1; give `KOINE_CAMERA`, or the world's camera, a file or a source of the app
    // format.stride1 = 640
    // koine port: the event listener has no VideoStreamFormat.stride2; give `KOINE_CAMERA`, or the world's camera, a file or a source of the app
    // format.stride2 = 640
    var options = [ListenerAgent.Format]()
    options = [format]
    stream = ListenerAgent.Video(formats: options)
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
    _ screenShareOutgoingVideoStream: ListenerAgent.Video,
    didChangeState args: ListenerAgent.Video
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
    let frame = ListenerAgent.Frame()
    frame.buffer = slide
    // koine port: the event listener has no RawVideoFrame.streamFormat; give `KOINE_CAMERA`, or the world's camera, a file or a source of the app
    // frame.streamFormat = stream.format
    // koine port: the event listener has no RawVideoFrame.timestampInTicks; give `KOINE_CAMERA`, or the world's camera, a file or a source of the app
    // frame.timestampInTicks = stream.timestampInTicks
    stream.send(frame) { _ in }  // A frame that is lost is followed by the next one.
  }
}

/// Owns a renderer for each shown stream: a stream has one renderer at most, and a renderer one view.
final class ListenerAgentVideoTiles: NSObject, ObservableObject {
  @Published private(set) var tiles: [ListenerAgentTile] = []
  /// Called with a tile if its renderer does not start.
  var didFail: ((ListenerAgentTile) -> Void)?
  private var renderers: [Int32?: ListenerAgent.Renderer] = [:]

  func showPreview(of stream: ListenerAgent.Video) throws {
    try add(nil, ListenerAgent.Renderer(video: stream), title: "You", isShare: false)
  }

  func show(_ stream: ListenerAgent.Stream, of name: String) throws {
    guard renderers[stream.number] == nil else { return }
    let isShare = stream.streamKind == .screen
    let renderer = try ListenerAgent.Renderer(track: stream)
    try add(stream.number, renderer, title: isShare ? "\(name)’s screen" : name, isShare: isShare)
  }

  private func add(_ id: Int32?, _ renderer: ListenerAgent.Renderer, title: String, isShare: Bool) throws {
    renderer.handler = { [weak self] renderer in self?.viewFailed(didFailToStart: renderer) }
    let picture = try renderer.makeView(.scaleAspectFit)
    renderers[id] = renderer
    tiles.append(ListenerAgentTile(id: id, title: title, isShare: isShare, picture: picture))
  }

  func hide(_ id: Int32?) {
    renderers.removeValue(forKey: id)?.dispose()
    tiles.removeAll { $0.id == id }
  }

  func viewFailed(didFailToStart renderer: ListenerAgent.Renderer) {
    onMain { [weak self] in
      guard let self, let tile = tiles.first(where: { self.renderers[$0.id] === renderer }) else { return }
      hide(tile.id)
      didFail?(tile)
    }
  }
}

extension ListenerAgentCallModel {
  /// Calls the functions above for what the call reports.
  private func handle(_ event: ListenerAgent.Event, in call: ListenerAgent.Call) {
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

  private func handle(_ change: (added: [ListenerAgent.Device], removed: [ListenerAgent.Device]), of machine: ListenerAgent.Machine) {
    camerasChanged(machine, didUpdateCameras: change)
  }
}
