// swift-format-ignore-file
// Written by `koine port` from CallModel: the app's calls in the words of the meeting session.

import AVFoundation
import AmazonChimeSDK
import Combine
import Foundation
import UIKit

@testable import EventListenerApp

/// Owns the SDK's objects for one call after the other, and publishes what the screens show.
@MainActor
final class MeetingCallModel: ObservableObject {
  @Published private(set) var state = MeetingCallState()

  private var meeting: MeetingCall?
  /// In the order in which they came; `Meeting.participants` has none.
  private var remoteParticipants: [MeetingPerson] = []
  private var hasJoined = false
  private var speakerID, presenterID, failure: String?
  private var pendingRequest: (accept: () -> Void, reject: () -> Void)?

  private static let chatTopic = "CHAT"

  // MARK: Joining and leaving

  func join(with invitation: EventListenerApp.Ring, name: String, microphoneOn: Bool, cameraOn: Bool) {
    guard meeting == nil else { return }
    credential = invitation.token
    let meeting = MeetingCall(room: invitation.meetingID, credential: credential, participantID: invitation.participantID, name: name, isMicrophoneOn: microphoneOn, isCameraOn: cameraOn, placement: placement)
    self.meeting = meeting
    state = MeetingCallState()
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
    // koine port: the meeting session has no Meeting.end(); the app's own server deletes the meeting (DeleteMeeting); the app is told `audioServerHungup`
    // meeting?.end()
  }

  private func finish(_ text: String) {
    guard let meeting else { return }
    meeting.stopObserving(topic: Self.chatTopic)
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
    state = MeetingCallState()
    state.phase = .ended(text)
  }

  // MARK: Own devices

  func toggleMicrophone() {
    if state.isMicrophoneOn { _ = meeting?.session.audioVideo.realtimeLocalMute() } else { _ = meeting?.session.audioVideo.realtimeLocalUnmute() }
  }

  func toggleCamera() {
    if state.isCameraOn { meeting?.session.audioVideo.stopLocalVideo() } else { meeting?.setStream(kind: .camera, isOn: true) }
  }

  func switchCamera() {
    guard state.isCameraOn else { return }
    meeting?.session.audioVideo.switchCamera()
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
    // koine port: the meeting session has no Participant.disableMic(); an attendee cannot mute another one
    // meeting?.participants[participantID]?.disableMic()
  }
  func askToUnmute(_ participantID: String) { 
    // koine port: the meeting session has no Participant.enableMic(); send a message of the app's own
    // meeting?.participants[participantID]?.enableMic()
  }
  func remove(_ participantID: String) { 
    // koine port: the meeting session has no Participant.remove(); the app's own server deletes the attendee (DeleteAttendee)
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
    meeting?.send(text: text, topic: Self.chatTopic, isPersistent: true)
  }

  func readChatHistory() {
    guard let history = meeting?.messages(topic: Self.chatTopic) else { return }
    state.messages = unknown(history) + state.messages
  }

  private func unknown(_ messages: [MeetingMessage]) -> [EventListenerApp.ChatMessage] {
    let known = Set(state.messages.map(\.id))
    return messages.filter { !known.contains($0.id) }.map { message in
      let isOwn = message.senderID == meeting?.localParticipant.id
      return EventListenerApp.ChatMessage(id: message.id, sender: isOwn ? "You" : message.senderName, text: message.text)
    }
  }

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

  private func row(for participant: MeetingPerson) -> EventListenerApp.RosterRow {
    EventListenerApp.RosterRow(
      id: participant.id, name: participant.name, isLocal: participant.isLocal,
      isMuted: !participant.has(.microphone),
      isCameraOff: !participant.has(.camera),
      isPresenting: participant.has(.screen), isSpeaking: participant.id == speakerID)
  }

  private func tiles(for participant: MeetingPerson) -> [MeetingTile] {
    let name = participant.name
    let camera = MeetingTile(
      id: MeetingTile.ID(participantID: participant.id, kind: .camera),
      caption: participant.has(.microphone) ? name : "\(name) (muted)",
      initials: name.split(separator: " ").compactMap(\.first).prefix(2).map(String.init).joined(),
      isSpeaking: participant.id == speakerID,
      track: participant.videoTrack(.camera))
    // A picture of one's own screen on that screen would repeat itself.
    guard !participant.isLocal, let share = participant.videoTrack(.screen) else { return [camera] }
    let screen = MeetingTile(
      id: MeetingTile.ID(participantID: participant.id, kind: .share), caption: "Screen of \(name)", initials: "",
      isSpeaking: false, track: share)
    return [camera, screen]
  }

  private func name(of participantID: String?) -> String {
    participantID.flatMap { meeting?.participants[$0]?.name } ?? "The host"
  }

  // MARK: For the session

  private var credential: String?
  var placement: MediaPlacement?
  private var followed: Set<String> = []
}

extension MeetingCallModel {
  func joined() {
    guard let meeting else { return }
    hasJoined = true
    failure = nil
    followed.insert(meeting.localParticipant.id)
    meeting.observe(topic: Self.chatTopic)
    if state.phase == .joining { state.phase = .connected }
    refresh()
  }

  func left(reason: MeetingSessionStatusCode) { finish(MeetingCallText.text(for: reason)) }

  func stateChanged(meetingState: MeetingPhase) {
    switch meetingState {
    case .reconnecting:
      if state.phase == .connected { state.phase = .reconnecting }
    case .connected:
      guard state.phase == .reconnecting else { return }
      state.phase = .connected
      state.notice = MeetingCallText.connectionRestored
    case .ended:
      // After a refused join this is the end: onMeetingLeft is not called.
      guard !hasJoined else { return }
      finish(state.phase == .leaving ? MeetingCallText.left : failure ?? MeetingCallText.notJoined)
    default:
      break
    }
  }

  func participantJoined(_ participant: MeetingPerson) {
    followed.insert(participant.id)
    remoteParticipants.removeAll { $0.id == participant.id }
    remoteParticipants.append(participant)
    refresh()
  }

  func participantLeft(_ participant: MeetingPerson) {
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

  // koine port: the meeting session does not report it; MeetingEventListener.onMicRequested(participantId:accept:reject:): send a message of the app's own
  // func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {
  //   pendingRequest = (accept, reject)
  //   state.question = "\(name(of: participantId)) asks you to unmute your microphone."
  // }

  // koine port: the meeting session does not report it; MeetingEventListener.onWebcamRequested(participantId:accept:reject:): send a message of the app's own
  // func onWebcamRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {
  //   pendingRequest = (accept, reject)
  //   state.question = "\(name(of: participantId)) asks you to turn on your camera."
  // }

  func failed(error: MeetingFailure) {
    let text = MeetingCallText.text(for: error)
    failure = text
    state.notice = text
  }

  func connectionLost(message: String) {
    failure = MeetingCallText.connectionLost
    state.notice = MeetingCallText.connectionLost
  }
}

extension MeetingCallModel {
  func streamAdded(_ stream: MeetingStream, forParticipant participant: MeetingPerson) { refresh() }
  func streamRemoved(_ stream: MeetingStream, forParticipant participant: MeetingPerson) { refresh() }
}

extension MeetingCallModel {
  func messageReceived(_ message: MeetingMessage) { state.messages += unknown([message]) }
}

extension MeetingPerson {
  fileprivate func stream(_ kind: MeetingStream.Kind) -> MeetingStream? { streams.values.first { $0.kind == kind } }
  fileprivate func has(_ kind: MeetingStream.Kind) -> Bool { stream(kind) != nil }
  fileprivate func videoTrack(_ kind: MeetingStream.Kind) -> MeetingStream? { stream(kind)?.video }
}

/// All that the screens show of a call.
struct MeetingCallState: Equatable {
  enum Phase: Equatable {
    case idle, joining, connected, reconnecting, leaving
    case ended(String)
  }

  var phase = Phase.idle
  var roster: [EventListenerApp.RosterRow] = []
  var tiles: [MeetingTile] = []
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

struct MeetingTile: Equatable {
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
  let track: MeetingStream?
}

/// The SDK's errors and reasons in words for a person.
enum MeetingCallText {
  static let notJoined = "The meeting could not be joined."
  static let left = "You left the meeting."
  static let connectionRestored = "The connection is back."
  static let connectionLost = "The connection to the meeting was lost."

  static func text(for error: MeetingFailure) -> String {
    switch error {
    case .rejected: "Your invitation is not valid any more. Ask for a new one."
    // koine port: no word for .INVALID_PERMISSIONS
    // case .INVALID_PERMISSIONS: "Your invitation does not allow this."
    // koine port: no word for .INVALID_MEETING_ID
    // case .INVALID_MEETING_ID: "There is no meeting with this number."
    // koine port: no word for .INVALID_PARTICIPANT_ID
    // case .INVALID_PARTICIPANT_ID: "Your user name cannot be used in a meeting."
    case .joinedElsewhere: "You joined this meeting on another device."
    // koine port: no word for .ACCOUNT_DEACTIVATED, .ACCOUNT_DISCONTINUED
    // case .ACCOUNT_DEACTIVATED, .ACCOUNT_DISCONTINUED: "Meetings are not available at present."
    case .full: "The meeting is full."
    // koine port: no word for .MAX_SPEAKER_REACHED
    // case .MAX_SPEAKER_REACHED: "The meeting has no place for another speaker."
    // koine port: no word for .START_RECORDING_FAILED, .STOP_RECORDING_FAILED, .RECORDING_FAILED
    // case .START_RECORDING_FAILED, .STOP_RECORDING_FAILED, .RECORDING_FAILED: "The recording failed."
    // koine port: no word for .START_LIVESTREAM_FAILED, .STOP_LIVESTREAM_FAILED, .INVALID_LIVESTREAM_CONFIG, .LIVESTREAM_FAILED, .START_HLS_FAILED, .STOP_HLS_FAILED, .HLS_FAILED
    // case .START_LIVESTREAM_FAILED, .STOP_LIVESTREAM_FAILED, .INVALID_LIVESTREAM_CONFIG, .LIVESTREAM_FAILED,
    //   .START_HLS_FAILED, .STOP_HLS_FAILED, .HLS_FAILED:
    //   "The live stream failed."
    // koine port: no word for .ERROR_GET_VIDEO_MEDIA
    // case .ERROR_GET_VIDEO_MEDIA: "The camera could not be started."
    case .microphone: "The microphone could not be started."
    case .screen: "The screen could not be shared."
    case .cameraDenied: "Allow the camera for this app in Settings."
    case .microphoneDenied: "Allow the microphone for this app in Settings."
    // koine port: no word for .ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED
    // case .ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED: "Allow screen recording for this app in Settings."
    default: "Something went wrong (\(error.rawValue)). Please try again."
    }
  }

  static func text(for reason: MeetingSessionStatusCode) -> String {
    switch reason {
    case .ok: left
    case .audioServerHungup: "The host removed you from the meeting."
    // koine port: no word for .removePeerViewerModeChanged, .removePeerMediaRelayStop
    // case .removePeerViewerModeChanged, .removePeerMediaRelayStop: "Your part in the meeting has ended."
    // koine port: an earlier case has it
    // case .roomClose, .meetingEndApi: "The host ended the meeting."
    case .audioJoinedFromAnotherDevice: text(for: MeetingFailure.joinedElsewhere)
    case .audioDisconnected: connectionLost
    case .audioInternalServerError, .audioAuthenticationRejected, .audioCallAtCapacity, .audioServiceUnavailable, .audioCallEnded: notJoined
    // koine port: no word for .switchRoom, .switchRoomFailed
    // case .switchRoom, .switchRoomFailed: "You went to another meeting."
    default: "The meeting has ended (\(reason.description))."
    }
  }
}

/// The call: tiles, roster, chat, and a bar that says how things are.
final class MeetingCallViewController: UIViewController, SelectorPerforming {
  let roster: MeetingRosterViewController
  let chat: MeetingChatViewController

  var status: String? { statusLabel.text }
  var notice: String? { noticeLabel.text }
  var question: String? { questionLabel.text }
  private(set) var muteTitle = ""
  private(set) var cameraTitle = ""
  private(set) var switchTitle = ""
  private(set) var shareTitle = ""

  private let model: MeetingCallModel
  private let stage = UIView()
  private let statusLabel = UILabel()
  private let noticeLabel = UILabel()
  private let questionLabel = UILabel()
            private var toolbar: UIStackView!
  private var tileViews: [MeetingTile.ID: MeetingTileView] = [:]
  private var observation: AnyCancellable?

  private static let barHeight: CGFloat = 24
  private static let panelWidth: CGFloat = 280

  init(model: MeetingCallModel) {
    self.model = model
    roster = MeetingRosterViewController(model: model)
    chat = MeetingChatViewController(model: model)
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

  private func render(_ state: MeetingCallState) {
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

  private func statusText(_ state: MeetingCallState) -> String {
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
  private func layOut(_ tiles: [MeetingTile]) {
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

  private func place(_ tiles: [MeetingTile], in area: CGRect) {
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

  private func tileView(for tile: MeetingTile) -> MeetingTileView {
    if let view = tileViews[tile.id] { return view }
    let view = MeetingTileView()
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
final class MeetingChatViewController: UIViewController, SelectorPerforming {
  var draft = ""
  var lines: [String] { list.lines }

  private let model: MeetingCallModel
  let list = EventListenerApp.LineListView()
  private var observation: AnyCancellable?

  init(model: MeetingCallModel) {
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
        func openTapped() { model.readChatHistory() }

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
final class MeetingJoinViewController: UIViewController, SelectorPerforming {
  var invitation: EventListenerApp.Ring?
  var name = ""
  var startsWithMicrophone = true
  var startsWithCamera = true
  var message: String? { messageLabel.text }
  private(set) var callScreen: MeetingCallViewController?

  private let model = MeetingCallModel()
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

  private func follow(_ phase: MeetingCallState.Phase) {
    switch phase {
    case .idle:
      break
    case .joining, .connected, .reconnecting, .leaving:
      guard callScreen == nil else { return }
      let screen = MeetingCallViewController(model: model)
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
final class MeetingRosterViewController: UIViewController {
  private(set) var rows: [EventListenerApp.RosterRow] = []

  private let model: MeetingCallModel
  let list = EventListenerApp.LineListView()
  private var observation: AnyCancellable?

  init(model: MeetingCallModel) {
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
final class MeetingTileView: UIView {
  private let video = DefaultVideoRenderView()
  private let initials = UILabel()
  private let caption = UILabel()
  private var track: MeetingStream?

  private static let captionHeight: CGFloat = 20

  override init(frame: CGRect) {
    super.init(frame: frame)
    video.contentMode = .scaleAspectFit
    initials.textColor = .white
    caption.textColor = .white
    [video, initials, caption].forEach(addSubview)
  }

  required init?(coder: NSCoder) { fatalError("not used: views are made in code") }

  func show(_ tile: MeetingTile, in frame: CGRect) {
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

extension MeetingCallModel {
  /// Calls the functions above for what the call reports.
  private func handle(_ event: MeetingReport, in call: MeetingCall) {
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
    case .messageReceived(let message):
      messageReceived(message)
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
