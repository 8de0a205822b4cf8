// swift-format-ignore-file
// Written by `koine port` from StageCall: the app's calls in the words of the event listener.

import AVFoundation
import Combine
import CoreMedia
import Foundation
import ReplayKit
import UIKit
import VideoSDKRTC
import WebRTC

@testable import EventListenerApp

/// A stage, its participants, and what they send.
final class BackStageCall: NSObject, @unchecked Sendable {  // used on the main queue only, where the SDK calls renderers
  enum Side { case front, back }
  let token: String, localParticipant: BackStagePerson, discovery = ListenerStage.Device.self, microphones: ListenerStage.Device?
  var handler: ((BackStageReport, BackStageCall) -> Void)?, side = Side.front, hasEntered = false, isEntering = true
  var participants: [String: BackStagePerson] = [:], presenters: [String] = [], meter = StageMeter()
  /// Participants that were there before, until their streams are known.
  var expected: Set<String> = []
  /// What the strategy publishes. Each is the same object for as long as it is published.
  private(set) var microphone: ListenerStage.Stream?, camera: ListenerStage.Stream?, screen: BackStageCapture?
  var cameras: ListenerStage.Device?, room = "", stage: ListenerStage?
  var received: [String: Set<BackStageStream.Kind>] = [:]  // what the app has chosen, by participants
  private var wanted: Set<BackStageStream.Kind>, isLeaving = false
  /// Why the call is over, and the error that has ended it.
  private(set) var reason: StageEnd?, failure: StageFailure?
  var isOver: Bool { reason != nil }

  /// - Parameter credential: a participant token. It decides on the stage, the permissions, and the name that others see. The
  ///   id is in the answer to CreateParticipantToken, too.
  init(
    credential: String?, participantID: String = "", name: String = "Guest", isMicrophoneOn: Bool = true,
    isCameraOn: Bool = true
  ) {
    let id = participantID.isEmpty ? UUID().uuidString : participantID, devices = discovery.all
    (token, localParticipant) = (credential ?? "", BackStagePerson(id: id, name: name, isLocal: true))
    wanted = Set((isMicrophoneOn ? [BackStageStream.Kind.microphone] : []) + (isCameraOn ? [.camera] : []))
    cameras = devices.lazy.compactMap { ($0.kind == .camera ? $0 : nil) }.first
    microphones = devices.lazy.compactMap { ($0.kind == .microphone ? $0 : nil) }.first
    super.init()
    // koine port: the event listener has no StageDevice.errorDelegate; `handle` gets the errors of the stage and of devices
    // cameras?.errorDelegate = self
    // koine port: the event listener has no StageDevice.errorDelegate; `handle` gets the errors of the stage and of devices
    // microphones?.errorDelegate = self
  }
  func join(side: Side = .front) {
    use(side)
    do {
      let stage = try ListenerStage(token: token)
      // koine port: the event listener has no IVSStage.errorDelegate; `handle` gets the errors of the stage and of devices
      // (stage.errorDelegate, self.stage) = (self, stage)
      self.stage = stage
      stage.handler = { [weak self] event, call in self?.handle(event, in: call) }
      for kind in BackStageStream.Kind.allCases where wanted.contains(kind) { setStream(kind: kind, isOn: true) }
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
  func setStream(kind: BackStageStream.Kind, isOn: Bool) {
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
  private func start(_ kind: BackStageStream.Kind) {
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
  private func publish(_ kind: BackStageStream.Kind) {
    guard let stage, wanted.contains(kind) else { return }
    let isCamera = kind == .camera, device: (ListenerStage.Device)? = isCamera ? cameras : microphones
    guard let stream = (isCamera ? camera : microphone) ?? device.map({ ListenerStage.Stream(device: $0) }) else {
      return fail(kind)
    }
    if isCamera { camera = stream } else { microphone = stream }
    stream.setMuted(false)
    decide(in: stage)
  }
  func fail(_ kind: BackStageStream.Kind, isDenied: Bool = false) {
    if isOver { return }
    wanted.remove(kind)
    withdraw(kind)
    report(.failed(kind == .camera ? isDenied ? .cameraDenied : .camera : isDenied ? .microphoneDenied : .microphone))
  }
  private func withdraw(_ kind: BackStageStream.Kind) {
    let old = kind == .microphone ? microphone : kind == .camera ? camera : screen?.stream
    if kind == .microphone { microphone = nil } else if kind == .camera { camera = nil } else { screen = nil }
    if let old { remove([old], of: localParticipant) }
    decide(in: stage)
  }
  /// A stage takes one video of each participant: the screen has the camera's place, and others see it as a camera.
  func share(_ frames: (ListenerStage.Feed)? = nil) {
    let new = BackStageCapture(discovery, frames)
    screen = new
    new.start { [weak self, weak new] in
      guard let self, let new, new === screen else { return }
      if !new.isOn { (screen, _) = (nil, report(.failed(.screen))) }
      decide(in: stage)
    }
  }
}

/// Owns the SDK's objects for one call after the other, and publishes what the screens show.
@MainActor
final class BackStageCallModel: ObservableObject {
  @Published private(set) var state = BackStageCallState()

  private var meeting: BackStageCall?
  /// In the order in which they came; `Meeting.participants` has none.
  private var remoteParticipants: [BackStagePerson] = []
  private var hasJoined = false
  private var speakerID, presenterID, failure: String?
  private var pendingRequest: (accept: () -> Void, reject: () -> Void)?

  private static let chatTopic = "CHAT"

  // MARK: Joining and leaving

  func join(with invitation: EventListenerApp.Ring, name: String, microphoneOn: Bool, cameraOn: Bool) {
    guard meeting == nil else { return }
    credential = invitation.token
    let meeting = BackStageCall(credential: credential, participantID: invitation.participantID, name: name, isMicrophoneOn: microphoneOn, isCameraOn: cameraOn)
    self.meeting = meeting
    state = BackStageCallState()
    state.phase = .joining
    meeting.handler = { [weak self] event, call in MainActor.assumeIsolated { self?.handle(event, in: call) } }
    meeting.join(side: .front)
  }

  func leave() {
    guard let meeting else { return }
    state.phase = .leaving
    meeting.leave()
  }

  func endForAll() { 
    // koine port: the stage strategy has no Meeting.end(); the app's own server deletes the stage or disconnects people; the app is told error 1027 or 1026
    // meeting?.end()
  }

  private func finish(_ text: String) {
    guard let meeting else { return }
    // koine port: the stage strategy has no PubSub.unsubscribe(topic:forListener:); messages come from the app's own server
    // meeting.pubsub.unsubscribe(topic: Self.chatTopic, forListener: self)
    remoteParticipants.forEach { followed.remove($0.id) }
    followed.remove(meeting.localParticipant.id)
    meeting.handler = nil
    self.meeting = nil
    remoteParticipants = []
    hasJoined = false
    speakerID = nil
    presenterID = nil
    failure = nil
    pendingRequest = nil
    state = BackStageCallState()
    state.phase = .ended(text)
  }

  // MARK: Own devices

  func toggleMicrophone() {
    if state.isMicrophoneOn { meeting?.setStream(kind: .microphone, isOn: false) } else { meeting?.setStream(kind: .microphone, isOn: true) }
  }

  func toggleCamera() {
    if state.isCameraOn { meeting?.setStream(kind: .camera, isOn: false) } else { meeting?.setStream(kind: .camera, isOn: true) }
  }

  func switchCamera() {
    guard state.isCameraOn else { return }
    meeting?.switchCamera()
    state.isFrontCamera.toggle()
  }

  func toggleSharing() {
    guard let meeting else { return }
    let isSharing = state.isSharing
    Task {
      if isSharing { meeting.setStream(kind: .screen, isOn: false) } else { meeting.setStream(kind: .screen, isOn: true) }
    }
  }

  // MARK: The host's tools

  func mute(_ participantID: String) { 
    // koine port: the stage strategy has no Participant.disableMic(); a stage's participant cannot mute another one
    // meeting?.participants[participantID]?.disableMic()
  }
  func askToUnmute(_ participantID: String) { 
    // koine port: the stage strategy has no Participant.enableMic(); the app's own server asks the participant
    // meeting?.participants[participantID]?.enableMic()
  }
  func remove(_ participantID: String) { 
    // koine port: the stage strategy has no Participant.remove(); the app's own server disconnects the participant (DisconnectParticipant)
    // meeting?.participants[participantID]?.remove()
  }

  func answer(_ accepts: Bool) {
    guard let request = pendingRequest else { return }
    pendingRequest = nil
    state.question = nil
    if accepts { request.accept() } else { request.reject() }
  }

  // MARK: Chat

  func send(_ text: String) {
    // koine port: the stage strategy has no PubSub.publish(topic:message:options:); a stage of this generation carries no messages: the app's own server does
    // meeting?.pubsub.publish(topic: Self.chatTopic, message: text, options: ["persist": true])
  }

  // koine port: the stage strategy has no PubSub.getMessagesForTopic(_:); the app's own server keeps messages
  // func readChatHistory() {
  //   guard let history = meeting?.pubsub.getMessagesForTopic(Self.chatTopic) else { return }
  //   state.messages = unknown(history) + state.messages
  // }

  // koine port: the stage strategy has no PubSubMessage; messages come from the app's own server
  // private func unknown(_ messages: [PubSubMessage]) -> [ChatMessage] {
  //   let known = Set(state.messages.map(\.id))
  //   return messages.filter { !known.contains($0.id) }.map { message in
  //     let isOwn = message.senderId == meeting?.localParticipant.id
  //     return ChatMessage(id: message.id, sender: isOwn ? "You" : message.senderName, text: message.message)
  //   }
  // }

  // MARK: From the SDK's objects to the state

  /// Reads everything anew: the SDK has brought `streams` up to date before it calls a listener.
  private func refresh() {
    guard let meeting else { return }
    let local = meeting.localParticipant
    let participants = [local] + remoteParticipants
    var new = state
    new.roster = participants.map(row)
    new.tiles = participants.flatMap(tiles)
    new.isMicrophoneOn = local.has(.microphone)
    new.isCameraOn = local.has(.camera)
    new.isSharing = local.has(.screen)
    new.presenter = participants.first { $0.id == presenterID }?.name
    if new != state { state = new }
  }

  private func row(for participant: BackStagePerson) -> EventListenerApp.RosterRow {
    EventListenerApp.RosterRow(
      id: participant.id, name: participant.name, isLocal: participant.isLocal,
      isMuted: !participant.has(.microphone),
      isCameraOff: !participant.has(.camera),
      isPresenting: participant.has(.screen), isSpeaking: participant.id == speakerID)
  }

  private func tiles(for participant: BackStagePerson) -> [BackStageTile] {
    let name = participant.name
    let camera = BackStageTile(
      id: BackStageTile.ID(participantID: participant.id, kind: .camera),
      caption: participant.has(.microphone) ? name : "\(name) (muted)",
      initials: name.split(separator: " ").compactMap(\.first).prefix(2).map(String.init).joined(),
      isSpeaking: participant.id == speakerID,
      track: participant.videoTrack(.camera))
    // A picture of one's own screen on that screen would repeat itself.
    guard !participant.isLocal, let share = participant.videoTrack(.screen) else { return [camera] }
    let screen = BackStageTile(
      id: BackStageTile.ID(participantID: participant.id, kind: .share), caption: "Screen of \(name)", initials: "",
      isSpeaking: false, track: share)
    return [camera, screen]
  }

  private func name(of participantID: String?) -> String {
    participantID.flatMap { meeting?.participants[$0]?.name } ?? "The host"
  }

  // MARK: For the session

  private var credential: String?
  private var followed: Set<String> = []
}

extension BackStageCallModel {
  func joined() {
    guard let meeting else { return }
    hasJoined = true
    failure = nil
    followed.insert(meeting.localParticipant.id)
    // koine port: the stage strategy has no PubSub.subscribe(topic:forListener:); messages come from the app's own server
    // meeting.pubsub.subscribe(topic: Self.chatTopic, forListener: self)
    if state.phase == .joining { state.phase = .connected }
    refresh()
  }

  func left(reason: StageEnd) { finish(StageCallText.text(for: reason)) }

  func stateChanged(meetingState: StagePhase) {
    switch meetingState {
    case .reconnecting:
      if state.phase == .connected { state.phase = .reconnecting }
    case .connected:
      guard state.phase == .reconnecting else { return }
      state.phase = .connected
      state.notice = StageCallText.connectionRestored
    case .ended:
      // After a refused join this is the end: onMeetingLeft is not called.
      guard !hasJoined else { return }
      finish(state.phase == .leaving ? StageCallText.left : failure ?? StageCallText.notJoined)
    default:
      break
    }
  }

  func participantJoined(_ participant: BackStagePerson) {
    followed.insert(participant.id)
    remoteParticipants.removeAll { $0.id == participant.id }
    remoteParticipants.append(participant)
    refresh()
  }

  func participantLeft(_ participant: BackStagePerson) {
    followed.remove(participant.id)
    remoteParticipants.removeAll { $0.id == participant.id }
    refresh()
  }

  func dominantSpeakerChanged(participantId: String?) {
    speakerID = participantId
    refresh()
  }

  func presenterChanged(activePresenterId: String?) {
    presenterID = activePresenterId
    refresh()
  }

  // koine port: the stage strategy does not report it; MeetingEventListener.onMicRequested(participantId:accept:reject:): the app's own server asks the participant
  // func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {
  //   pendingRequest = (accept, reject)
  //   state.question = "\(name(of: participantId)) asks you to unmute your microphone."
  // }

  // koine port: the stage strategy does not report it; MeetingEventListener.onWebcamRequested(participantId:accept:reject:): the app's own server asks the participant
  // func onWebcamRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {
  //   pendingRequest = (accept, reject)
  //   state.question = "\(name(of: participantId)) asks you to turn on your camera."
  // }

  func failed(error: StageFailure) {
    let text = StageCallText.text(for: error)
    failure = text
    state.notice = text
  }

  func connectionLost(message: String) {
    failure = StageCallText.connectionLost
    state.notice = StageCallText.connectionLost
  }
}

extension BackStageCallModel {
  func streamAdded(_ stream: BackStageStream, forParticipant participant: BackStagePerson) { refresh() }
  func streamRemoved(_ stream: BackStageStream, forParticipant participant: BackStagePerson) { refresh() }
}

extension BackStageCallModel {
  // koine port: the stage strategy does not report it; PubSubMessageListener.onMessageReceived(_:): messages come from the app's own server
  // func onMessageReceived(_ message: PubSubMessage) { state.messages += unknown([message]) }
}

extension BackStagePerson {
  fileprivate func stream(_ kind: BackStageStream.Kind) -> BackStageStream? { streams.values.first { $0.kind == kind } }
  fileprivate func has(_ kind: BackStageStream.Kind) -> Bool { stream(kind) != nil }
  fileprivate func videoTrack(_ kind: BackStageStream.Kind) -> BackStageStream? { stream(kind)?.video }
}

/// All that the screens show of a call.
struct BackStageCallState: Equatable {
  enum Phase: Equatable {
    case idle, joining, connected, reconnecting, leaving
    case ended(String)
  }

  var phase = Phase.idle
  var roster: [EventListenerApp.RosterRow] = []
  var tiles: [BackStageTile] = []
  var messages: [EventListenerApp.ChatMessage] = []
  var isMicrophoneOn = false
  var isCameraOn = false
  var isFrontCamera = true
  var isSharing = false
  var presenter: String?
  /// The latest problem that the call has survived.
  var notice: String?
  /// The question of a host to this user.
  var question: String?
}

struct BackStageTile: Equatable {
  enum Kind { case camera, share }
  struct ID: Hashable {
    let participantID: String
    let kind: Kind
  }

  let id: ID
  let caption: String
  let initials: String
  let isSpeaking: Bool
  /// Nil while the camera is off.
  let track: BackStageStream?
}

/// The call: tiles, roster, chat, and a bar that says how things are.
final class BackStageCallViewController: UIViewController, SelectorPerforming {
  let roster: BackStageRosterViewController
  let chat: BackStageChatViewController

  var status: String? { statusLabel.text }
  var notice: String? { noticeLabel.text }
  var question: String? { questionLabel.text }
  private(set) var muteTitle = ""
  private(set) var cameraTitle = ""
  private(set) var switchTitle = ""
  private(set) var shareTitle = ""

  private let model: BackStageCallModel
  private let stage = UIView()
  private let statusLabel = UILabel()
  private let noticeLabel = UILabel()
  private let questionLabel = UILabel()
            private var toolbar: UIStackView!
  private var tileViews: [BackStageTile.ID: BackStageTileView] = [:]
  private var observation: AnyCancellable?

  private static let barHeight: CGFloat = 24
  private static let panelWidth: CGFloat = 280

  init(model: BackStageCallModel) {
    self.model = model
    roster = BackStageRosterViewController(model: model)
    chat = BackStageChatViewController(model: model)
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("not used: views are made in code") }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.backgroundColor = .black
    [statusLabel, noticeLabel, questionLabel].forEach { $0.textColor = .white }
    toolbar = UIStackView(arrangedSubviews: [
      button("Mute", Selector("muteTapped")), button("Camera", Selector("cameraTapped")),
      button("Flip", Selector("switchCameraTapped")), button("Share", Selector("shareTapped")),
      button("Accept", Selector("acceptTapped")), button("Decline", Selector("declineTapped")),
      button("Leave", Selector("leaveTapped")), button("End", Selector("endForAllTapped")),
    ])
    toolbar.distribution = .fillEqually
    [stage, statusLabel, noticeLabel, questionLabel, toolbar, roster.view, chat.view].forEach(view.addSubview)
    observation = model.$state.receive(on: DispatchQueue.main).sink { [weak self] state in self?.render(state) }
  }

  // MARK: Buttons

  private func button(_ title: String, _ action: Selector) -> UIButton {
    let button = UIButton(type: .system)
    button.setTitle(title, for: .normal)
    button.addTarget(self, action: action, for: .touchUpInside)
    return button
  }

            func muteTapped() { model.toggleMicrophone() }
            func cameraTapped() { model.toggleCamera() }
            func switchCameraTapped() { model.switchCamera() }
            func shareTapped() { model.toggleSharing() }
            func acceptTapped() { model.answer(true) }
            func declineTapped() { model.answer(false) }
            func leaveTapped() { model.leave() }
            func endForAllTapped() { model.endForAll() }

  // MARK: Drawing

  private func render(_ state: BackStageCallState) {
    statusLabel.text = statusText(state)
    noticeLabel.text = state.notice
    questionLabel.text = state.question
    muteTitle = state.isMicrophoneOn ? "Mute" : "Unmute"
    cameraTitle = state.isCameraOn ? "Camera off" : "Camera on"
    switchTitle = state.isFrontCamera ? "Back camera" : "Front camera"
    shareTitle = state.isSharing ? "Stop sharing" : "Share screen"
    layOutPanels()
    layOut(state.tiles)
  }

  private func statusText(_ state: BackStageCallState) -> String {
    switch state.phase {
    case .idle, .ended: return ""
    case .joining: return "Joining…"
    case .reconnecting: return "Reconnecting…"
    case .leaving: return "Leaving…"
    case .connected:
      if state.isSharing { return "You are sharing your screen" }
      if let presenter = state.presenter { return "\(presenter) is presenting" }
      return state.roster.count > 1 ? "\(state.roster.count) people" : "Waiting for the others…"
    }
  }

  private func layOutPanels() {
    let size = view.bounds.size
    let bar = Self.barHeight
    let left = max(0, size.width - Self.panelWidth)
    let height = max(0, size.height - 4 * bar)
    toolbar.frame = CGRect(x: 0, y: size.height - 3 * bar, width: left, height: bar)
    statusLabel.frame = CGRect(x: 0, y: 0, width: size.width, height: bar)
    stage.frame = CGRect(x: 0, y: bar, width: left, height: height)
    roster.view.frame = CGRect(x: left, y: bar, width: Self.panelWidth, height: height / 2)
    chat.view.frame = CGRect(
      x: left, y: bar + height / 2, width: Self.panelWidth, height: height / 2)
    noticeLabel.frame = CGRect(x: 0, y: size.height - 2 * bar, width: size.width, height: bar)
    questionLabel.frame = CGRect(x: 0, y: size.height - bar, width: size.width, height: bar)
  }

  /// Screens fill the upper half, where there are any.
  private func layOut(_ tiles: [BackStageTile]) {
    for (id, view) in tileViews where !tiles.contains(where: { $0.id == id }) {
      view.stop()
      view.removeFromSuperview()
      tileViews[id] = nil
    }
    let screens = tiles.filter { $0.id.kind == .share }
    let cameras = tiles.filter { $0.id.kind == .camera }
    let (upper, lower) = stage.bounds.divided(atDistance: stage.bounds.height / 2, from: .minYEdge)
    place(screens, in: upper)
    place(cameras, in: screens.isEmpty ? stage.bounds : lower)
  }

  private func place(_ tiles: [BackStageTile], in area: CGRect) {
    guard !tiles.isEmpty else { return }
    let columns = Int(Double(tiles.count).squareRoot().rounded(.up))
    let rows = (tiles.count + columns - 1) / columns
    let width = area.width / CGFloat(columns)
    let height = area.height / CGFloat(rows)
    for (index, tile) in tiles.enumerated() {
      let x = area.minX + CGFloat(index % columns) * width
      let y = area.minY + CGFloat(index / columns) * height
      tileView(for: tile).show(tile, in: CGRect(x: x, y: y, width: width, height: height))
    }
  }

  private func tileView(for tile: BackStageTile) -> BackStageTileView {
    if let view = tileViews[tile.id] { return view }
    let view = BackStageTileView()
    tileViews[tile.id] = view
    stage.addSubview(view)
    return view
  }

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
    case "acceptTapped":
      self.acceptTapped()
      return true
    case "declineTapped":
      self.declineTapped()
      return true
    case "leaveTapped":
      self.leaveTapped()
      return true
    case "endForAllTapped":
      self.endForAllTapped()
      return true
    default: return false
    }
  }
}

/// The messages of the call, and a line to write the next one.
final class BackStageChatViewController: UIViewController, SelectorPerforming {
  var draft = ""
  var lines: [String] { list.lines }

  private let model: BackStageCallModel
  let list = EventListenerApp.LineListView()
  private var observation: AnyCancellable?

  init(model: BackStageCallModel) {
    self.model = model
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("not used: views are made in code") }

  override func loadView() {
    view = list
  }

  override func viewDidLoad() {
    super.viewDidLoad()
    navigationItem.leftBarButtonItem = UIBarButtonItem(
      title: "Earlier", style: .plain, target: self, action: Selector("openTapped"))
    navigationItem.rightBarButtonItem = UIBarButtonItem(
      title: "Send", style: .plain, target: self, action: Selector("sendTapped"))
    observation = model.$state.map(\.messages).removeDuplicates().receive(on: DispatchQueue.main).sink {
      [weak self] messages in
      self?.list.lines = messages.map(\.line)
    }
  }

  /// The listener gets only messages sent from now on; this reads the earlier ones.
        func openTapped() { 
    // koine port: readChatHistory() is left out
    // model.readChatHistory()
  }

        func sendTapped() {
    let text = draft.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !text.isEmpty else { return }
    model.send(text)
    draft = ""
  }

  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "openTapped":
      self.openTapped()
      return true
    case "sendTapped":
      self.sendTapped()
      return true
    default: return false
    }
  }
}

/// Asks for a name and the devices to start with, and shows the call screen while there is a call.
final class BackStageJoinViewController: UIViewController, SelectorPerforming {
  var invitation: EventListenerApp.Ring?
  var name = ""
  var startsWithMicrophone = true
  var startsWithCamera = true
  var message: String? { messageLabel.text }
  private(set) var callScreen: BackStageCallViewController?

  private let model = BackStageCallModel()
  private let messageLabel = UILabel()
            private var joinButton: UIButton!
  private var observation: AnyCancellable?

  override func viewDidLoad() {
    super.viewDidLoad()
    view.backgroundColor = .white
    messageLabel.textColor = .red
    messageLabel.frame = CGRect(x: 20, y: 40, width: 600, height: 24)
    view.addSubview(messageLabel)
    joinButton = UIButton(type: .system)
    joinButton.setTitle("Join", for: .normal)
    joinButton.frame = CGRect(x: 20, y: 80, width: 100, height: 28)
    joinButton.addTarget(self, action: Selector("joinTapped"), for: .touchUpInside)
    view.addSubview(joinButton)
    observation = model.$state.map(\.phase).removeDuplicates().receive(on: DispatchQueue.main)
      .sink { [weak self] phase in self?.follow(phase) }
  }

        func joinTapped() {
    let name = self.name.trimmingCharacters(in: .whitespaces)
    messageLabel.text = nil
    guard let invitation else { return messageLabel.text = "Open the link of your invitation first." }
    guard !name.isEmpty else { return messageLabel.text = "Enter your name." }
    model.join(with: invitation, name: name, microphoneOn: startsWithMicrophone, cameraOn: startsWithCamera)
  }

  private func follow(_ phase: BackStageCallState.Phase) {
    switch phase {
    case .idle:
      break
    case .joining, .connected, .reconnecting, .leaving:
      guard callScreen == nil else { return }
      let screen = BackStageCallViewController(model: model)
      screen.view.frame = view.bounds
      view.addSubview(screen.view)
      callScreen = screen
    case .ended(let text):
      callScreen?.view.removeFromSuperview()
      callScreen = nil
      messageLabel.text = text
    }
  }

  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "joinTapped":
      self.joinTapped()
      return true
    default: return false
    }
  }
}

/// The participants by name, with the host's tools.
final class BackStageRosterViewController: UIViewController {
  private(set) var rows: [EventListenerApp.RosterRow] = []

  private let model: BackStageCallModel
  let list = EventListenerApp.LineListView()
  private var observation: AnyCancellable?

  init(model: BackStageCallModel) {
    self.model = model
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("not used: views are made in code") }

  override func loadView() {
    view = list
  }

  override func viewDidLoad() {
    super.viewDidLoad()
    observation = model.$state.map(\.roster).removeDuplicates().receive(on: DispatchQueue.main).sink {
      [weak self] rows in
      self?.rows = rows
      self?.list.lines = rows.map(\.text)
    }
  }

  func muteTapped(_ row: EventListenerApp.RosterRow) { model.mute(row.id) }
  func askToUnmuteTapped(_ row: EventListenerApp.RosterRow) { model.askToUnmute(row.id) }
  func removeTapped(_ row: EventListenerApp.RosterRow) { model.remove(row.id) }
}

/// A picture with a caption below it, or initials while there is no picture.
final class BackStageTileView: UIView {
  private let video = BackStageStreamView()
  private let initials = UILabel()
  private let caption = UILabel()
  private var track: BackStageStream?

  private static let captionHeight: CGFloat = 20

  override init(frame: CGRect) {
    super.init(frame: frame)
    video.contentMode = .scaleAspectFit
    initials.textColor = .white
    caption.textColor = .white
    [video, initials, caption].forEach(addSubview)
  }

  required init?(coder: NSCoder) { fatalError("not used: views are made in code") }

  func show(_ tile: BackStageTile, in frame: CGRect) {
    self.frame = frame
    let (captionArea, picture) = bounds.divided(atDistance: Self.captionHeight, from: .maxYEdge)
    video.frame = picture
    caption.frame = captionArea
    initials.frame = CGRect(x: picture.midX - 20, y: picture.midY - 10, width: 40, height: 20)
    caption.text = tile.caption
    initials.text = tile.initials
    backgroundColor = tile.isSpeaking ? .green : .darkGray
    if track !== tile.track {
      track?.detach(view: video)
      track = tile.track
      track?.attach(view: video)
    }
    video.isHidden = track == nil
    initials.isHidden = track != nil
  }

  func stop() {
    track?.detach(view: video)
    track = nil
  }
}

extension BackStageCallModel {
  /// Calls the functions above for what the call reports.
  private func handle(_ event: BackStageReport, in call: BackStageCall) {
    switch event {
    case .phaseChanged(let phase):
      stateChanged(meetingState: phase)
    case .joined:
      joined()
    case .left(let code):
      left(reason: code)
    case .failed(let failure):
      failed(error: failure)
    case .personJoined(let person):
      participantJoined(person)
    case .personLeft(let person):
      participantLeft(person)
    case .streamAdded(let stream, let person) where followed.contains(person.id):
      streamAdded(stream, forParticipant: person)
    case .streamRemoved(let stream, let person) where followed.contains(person.id):
      streamRemoved(stream, forParticipant: person)
    case .speakerChanged(let id):
      dominantSpeakerChanged(participantId: id)
    case .presenterChanged(let id):
      presenterChanged(activePresenterId: id)
    case .connectionLost:
      connectionLost(message: "the connection was lost")
    default: break
    }
  }
}

extension BackStageCall {
  func shouldPublish(_ stage: ListenerStage, shouldPublishParticipant participant: VideoSDKRTC.Participant) -> Bool { true }
  func streamsToPublish(
    _ stage: ListenerStage, streamsToPublishForParticipant participant: VideoSDKRTC.Participant
  ) -> [ListenerStage.Stream] {
    [screen?.isOn == true ? screen?.stream : camera, microphone].compactMap { $0 }
  }
  func wantedMedia(
    _ stage: ListenerStage, shouldSubscribeToParticipant participant: VideoSDKRTC.Participant
  ) -> Set<ListenerKind> { received[participant.id] == [.microphone] ? [.microphone] : Set(ListenerKind.allCases) }
  func report(_ event: BackStageReport) { handler?(event, self) }
}

extension BackStageCall {
  func stateChanged(_ stage: ListenerStage, didChange connectionState: MeetingState, withError error: (any Error)?) {
    switch connectionState {
    case .CONNECTING: report(.phaseChanged(hasEntered ? .reconnecting : .connecting))
    case .CONNECTED:
      report(.phaseChanged(.connected))
      if !hasEntered { (hasEntered, _) = (true, report(.joined)) }
    case .CLOSED: end(error)
    default: break
    }
  }
  func participantJoined(_ stage: ListenerStage, participantDidJoin participant: VideoSDKRTC.Participant) {
    let id = participant.id
    guard !participant.isLocal, participants[id] == nil else { return }
    let names = [participant.attributes["username"], participant.attributes["name"], participant.displayName, id]
    let name = names.lazy.compactMap { $0 }.first { !$0.isEmpty } ?? id
    let person = BackStagePerson(id: id, name: name, isLocal: false)
    participants[id] = person
    if isEntering, ListenerStage.capabilities.contains(.subscribe) { expected.insert(id) } else { arrive(person) }
  }
  private func arrive(_ person: BackStagePerson) {
    report(.personJoined(person))
    report(.streamsKnown(person))
  }
  func participantLeft(_ stage: ListenerStage, participantDidLeave participant: VideoSDKRTC.Participant) {
    guard !participant.isLocal, let person = participants[participant.id] else { return }
    remove(person.sources.map(\.source), of: person)
    participants[person.id] = nil
    if expected.remove(person.id) == nil { report(.personLeft(person)) }
  }
  func streamAdded(_ stage: ListenerStage, participant: VideoSDKRTC.Participant, didAdd streams: [ListenerStage.Stream]) {
    guard let person = person(participant) else { return }
    isEntering = false
    if expected.remove(person.id) != nil { arrive(person) }
    for stream in streams {
      let isAudio = stream.kind.isAudio
      // A share of another participant is a video beside the one that came first.
      let isScreen = person.isLocal ? stream === screen?.stream : person.sources.contains { $0.kind == .camera }
      if isAudio, person.sources.contains(where: { $0.kind == .microphone }) { continue }
      let new = BackStageStream(isAudio ? .microphone : isScreen ? .screen : .camera, of: person.id, stream)
      person.sources.append(new)
      set(new, of: person, isSent: !stream.isMuted)
    }
  }
  func streamRemoved(_ stage: ListenerStage, participant: VideoSDKRTC.Participant, didRemove streams: [ListenerStage.Stream]) {
    if let person = person(participant) { remove(streams, of: person) }
  }
  func streamMuted(_ stage: ListenerStage, participant: VideoSDKRTC.Participant, didChangeMutedStreams streams: [ListenerStage.Stream]) {
    guard let person = person(participant) else { return }
    for one in person.sources where streams.contains(where: { $0 === one.source }) {
      set(one, of: person, isSent: !one.source.isMuted)
    }
  }

  private func person(_ info: VideoSDKRTC.Participant) -> BackStagePerson? {
    info.isLocal ? localParticipant : participants[info.id]
  }
  func remove(_ streams: [ListenerStage.Stream], of person: BackStagePerson) {
    for one in person.sources where streams.contains(where: { $0 === one.source }) {
      person.sources.removeAll { $0 === one }
      set(one, of: person, isSent: false)
    }
  }
  private func set(_ stream: BackStageStream, of person: BackStagePerson, isSent: Bool) {
    let key = "\(stream.kind)", before = presenters.last
    guard isSent == (person.streams[key] == nil) else { return }
    person.streams[key] = isSent ? stream : nil
    if stream.kind == .screen { presenters = presenters.filter { $0 != person.id } + (isSent ? [person.id] : []) }
    if presenters.last != before { report(.presenterChanged(presenters.last)) }
    if let device = (stream.source.kind.isAudio ? stream.source : nil) { measure(isSent ? device : nil, device, person.id) }
    report(isSent ? .streamAdded(stream, person) : .streamRemoved(stream, person))
  }
  /// - Parameter sent: nil: the participant sends no sound.
  private func measure(_ sent: (ListenerStage.Stream)?, _ device: ListenerStage.Stream, _ id: String) {
    device.setLevelHandler(sent == nil ? nil : { [weak self] in self?.measure(id, $0) })
    if sent == nil { measure(id, nil) }
  }
  private func measure(_ id: String, _ rms: Float?) {
    let before = meter.speaker
    if let rms, !isOver { report(.levelsChanged([id: rms])) }
    meter.measure(id, rms)
    if meter.speaker != before, !isOver { report(.speakerChanged(meter.speaker)) }
  }
}

extension BackStageCall {
  func switchCamera() { use(side == .front ? .back : .front) }
  func use(_ side: Side) {
    self.side = side
    let position = side == .front ? AVCaptureDevice.Position.front : .back
    let source = cameras?.sources.first { $0.position == position }
    if let source { cameras?.choose(source) }
  }
  /// On any thread. The SDK tries again itself after 1020 to 1022, which it also reports of a device that fails.
  func failed(_ source: ListenerKind?, didEmitError error: any Error) {
    let kind: BackStageStream.Kind? = source == .camera ? .camera : source == .microphone ? .microphone : nil
    let code = (error as NSError).code
    DispatchQueue.main.async { [weak self] in
      guard let self, !isOver else { return }
      if let kind { fail(kind) } else if !(1020...1022).contains(code) { report(.failed(StageFailure(code))) }
    }
  }
}

/// What a stage reports, about one participant at a time.
enum BackStageReport: Sendable {
  case phaseChanged(StagePhase), joined, left(StageEnd), connectionLost, failed(StageFailure)
  case personJoined(BackStagePerson), personLeft(BackStagePerson)
  case streamAdded(BackStageStream, BackStagePerson), streamRemoved(BackStageStream, BackStagePerson)
  case speakerChanged(String?), presenterChanged(String?), levelsChanged([String: Float])
  /// From now on it is known what a participant sends.
  case streamsKnown(BackStagePerson)
}

/// A participant with what it sends now.
final class BackStagePerson: Equatable, @unchecked Sendable {  // used on the main queue only
  let id, name: String, isLocal: Bool
  var streams: [String: BackStageStream] = [:]
  /// What the stage has of it, also while it is muted.
  var sources: [BackStageStream] = []
  init(id: String, name: String, isLocal: Bool) { (self.id, self.name, self.isLocal) = (id, name, isLocal) }
  static func == (one: BackStagePerson, other: BackStagePerson) -> Bool { one === other }
}

/// A microphone, a camera or a shared screen.
final class BackStageStream: Equatable, @unchecked Sendable {  // used on the main queue only
  enum Kind: Sendable, CaseIterable { case microphone, camera, screen }
  let id: String, kind: Kind, source: ListenerStage.Stream
  init(_ kind: Kind, of id: String, _ source: ListenerStage.Stream) {
    (self.id, self.kind, self.source) = ("\(id) \(kind)", kind, source)
  }
  var video: BackStageStream? { kind == .microphone ? nil : self }
  @MainActor func attach(view: BackStageStreamView) { view.device = (source.kind.isVideo ? source : nil) }
  @MainActor func detach(view: BackStageStreamView) { if view.device === source { view.device = nil } }
  static func == (one: BackStageStream, other: BackStageStream) -> Bool { one === other }
}

/// A view that shows one stream after the other. The SDK makes a view for each device.
final class BackStageStreamView: UIView {
  var device: (ListenerStage.Stream)? { didSet { if device !== oldValue { show() } } }
  override var contentMode: UIView.ContentMode { didSet { if contentMode != oldValue { show() } } }
  private func show() {
    subviews.forEach { $0.removeFromSuperview() }
    let mode: UIView.ContentMode = contentMode == .scaleAspectFit ? .scaleAspectFit : .scaleAspectFill
    guard let view = device?.makeView(with: mode) else { return }
    view.frame = bounds
    view.autoresizingMask = [.flexibleWidth, .flexibleHeight]
    addSubview(view)
  }
}

/// The screen, captured for as long as the object is there. The SDK has no capture of its own.
final class BackStageCapture: @unchecked Sendable {  // used on the main queue only
  let stream: ListenerStage.Stream
  private(set) var isOn = false
  private let source: ListenerStage.Feed, recorder: RPScreenRecorder?
  /// - Parameter frames: of the app's own; nil: of the screen.
  init(_ discovery: ListenerStage.Device.Type, _ frames: (ListenerStage.Feed)?) {
    source = frames ?? ListenerStage.Feed()
    (recorder, stream) = (frames == nil ? .shared() : nil, ListenerStage.Stream(device: source))
  }
  deinit { recorder?.stopCapture { _ in } }
  /// - Parameter completion: called on the main queue; `isOn` says whether the capture has begun.
  func start(_ completion: @escaping @Sendable () -> Void) {
    isOn = recorder == nil
    if isOn { completion() }
    recorder?.startCapture { [source] sample, type, _ in
      if type == .video { source.push(sample) }
    } completionHandler: { [weak self] error in
      DispatchQueue.main.async { [weak self] in
        self?.isOn = error == nil
        completion()
      }
    }
  }
}

extension BackStageCall {
  /// Calls the functions above for what the stage reports.
  private func handle(_ report: ListenerStage.Report, in stage: ListenerStage) {
    switch report {
    case .phaseChanged(let phase, let error):
      stateChanged(stage, didChange: phase, withError: error)
      if phase == .CONNECTED { decide(in: stage) }
    case .personJoined(let person):
      participantJoined(stage, participantDidJoin: person)
      if !person.isLocal { decide(about: person, in: stage) }
    case .personLeft(let person):
      participantLeft(stage, participantDidLeave: person)
    case .streamAdded(let stream, let person):
      streamAdded(stage, participant: person, didAdd: [stream])
    case .streamRemoved(let stream, let person):
      streamRemoved(stage, participant: person, didRemove: [stream])
    case .streamMuted(let stream, let person):
      streamMuted(stage, participant: person, didChangeMutedStreams: [stream])
    case .failed(let kind, let error):
      failed(kind, didEmitError: error)
    default: break
    }
  }

  /// Publishes and receives what the functions above decide.
  private func decide(in stage: ListenerStage?) {
    guard let stage, stage.isConnected else { return }
    let local = stage.call.localParticipant
    stage.publish(shouldPublish(stage, shouldPublishParticipant: local) ? { self.streamsToPublish(stage, streamsToPublishForParticipant: local) } : nil)
    for participant in stage.participants { decide(about: participant, in: stage) }
  }

  private func decide(about participant: VideoSDKRTC.Participant, in stage: ListenerStage) {
    stage.receive(wantedMedia(stage, shouldSubscribeToParticipant: participant), of: participant)
  }
}

