// swift-format-ignore-file
// Written by `koine port` from CallModel: the app's calls in the words of the call agent.

import AVFoundation
import AzureCommunicationCalling
import Combine
import Foundation
import UIKit

@testable import MeetingSessionApp

/// One meeting: owns the objects of the SDK and publishes what the screens show. Lives on the main thread.
final class AzureMeetingCallModel: ObservableObject, @unchecked Sendable {  // used on the main thread
  enum Phase: Equatable {
    case connecting, inMeeting, reconnecting
    case ended(String)
  }

  static let chatTopic = "chat"
  /// Later attendees still read the chat of the last five minutes.
  static let chatLifetimeMs: Int32 = 300_000

  @Published private(set) var phase = Phase.connecting
  @Published private(set) var roster = AzureMeetingRoster()
  @Published private(set) var tiles: [AzureMeetingTile] = []
  @Published private(set) var messages: [MeetingSessionApp.ChatMessage] = []
  @Published private(set) var isMuted = false
  @Published private(set) var isCameraOn = false
  @Published private(set) var usesFrontCamera = true
  @Published private(set) var isSharing = false
  @Published private(set) var hasPoorConnection = false
  @Published private(set) var notice: String?

  let observerId = UUID().uuidString
  // koine port: the call agent has no ConsoleLogger.init(name:level:); the session takes no logger
  // private let logger = ConsoleLogger(name: "MeetingSessionApp", level: .ERROR)
  private let session: AzureMeeting
  private let startsWithCamera: Bool
  private var screenSource: AzureMeeting.Screen?
  private var audioVideo: AzureMeeting { session }
  private var localAttendeeId: String { session.localParticipant.id }

  init(joining info: AzureMeetingJoinInfo, withCamera: Bool) {
    session = AzureMeeting(info.configuration)
    startsWithCamera = withCamera
  }

  // MARK: Joining and leaving

  func join() {
    observe(.call, in: audioVideo)
    observe(.attendees, in: audioVideo)
    observe(.tiles, in: audioVideo)
    observe(.share, in: audioVideo)
    observe(.speakers, in: audioVideo)
    audioVideo.observe(topic: Self.chatTopic)
    do {
      try audioVideo.start()
      // koine port: the call agent has no AudioVideoControllerFacade.startRemoteVideo(); nothing stands in for it
      // audioVideo.startRemoteVideo()
    } catch { finish(AzureMeetingMeetingText.failure(error)) }
  }

  /// The end is told by `audioSessionDidStopWithStatus`.
  func leave() {
    stopSharing()
    audioVideo.setStream(kind: .camera, isOn: false)
    audioVideo.leave()
  }

  private func finish(_ text: String) {
    stopSharing()
    for tile in tiles { audioVideo.unbind(tile: tile.state.id) }
    tiles = []
    // The session holds its observers, and this observer holds the session.
    observed.remove(.call)
    observed.remove(.attendees)
    observed.remove(.tiles)
    observed.remove(.share)
    observed.remove(.speakers)
    audioVideo.stopObserving(topic: Self.chatTopic)
    phase = .ended(text)
  }

  // MARK: Microphone and camera

  func setMuted(_ muted: Bool) {
    notice = nil
    let isDone = muted ? audioVideo.setMicrophone(isOn: false) : audioVideo.setMicrophone(isOn: true)
    if isDone { isMuted = muted }
  }

  func setCameraOn(_ isOn: Bool) {
    notice = nil
    guard isOn else {
      audioVideo.setStream(kind: .camera, isOn: false)
      isCameraOn = false
      return
    }
    AVCaptureDevice.requestAccess(for: .video) { [weak self] isGranted in
      DispatchQueue.main.async { self?.startCamera(isGranted: isGranted) }
    }
  }

  private func startCamera(isGranted: Bool) {
    do {
      guard isGranted else { throw AzureMeeting.Failure.cameraDenied }
      try audioVideo.startCamera()
      isCameraOn = true
      readCamera()
    } catch { notice = AzureMeetingMeetingText.failure(error) }
  }

  func switchCamera() {
    audioVideo.switchCamera()
    readCamera()
  }

  private func readCamera() { usesFrontCamera = audioVideo.activeCamera?.side == .front }

  // MARK: Tiles

  func bind(_ videoView: AzureVideoView, to tile: AzureMeetingTile) {
    audioVideo.bind(view: videoView, tile: tile.state.id)
  }

  func title(of tile: AzureMeetingTile) -> String {
    let name = roster[String(tile.state.attendeeID.prefix { $0 != "#" })]?.name ?? ""
    let title = tile.state.isLocal ? "\(name) (you)" : tile.state.isContent ? "\(name)'s screen" : name
    return tile.state.pause == .none ? title : "\(title), paused"
  }

  // MARK: Sharing the screen

  func startSharing() {
    guard screenSource == nil else { return }
    notice = nil
    let source = AzureMeeting.Screen(call: audioVideo)
    screenSource = source
    observe(source)
    source.start()
  }

  func stopSharing() {
    guard let source = screenSource else { return }
    screenSource = nil
    source.observer = nil
    source.stop()
    audioVideo.setStream(kind: .screen, isOn: false)
    isSharing = false
  }

  // MARK: Chat

  func send(_ text: String) {
    notice = nil
    // The SDK drops messages outside of a meeting, without an error.
    guard phase == .inMeeting else {
      notice = AzureMeetingMeetingText.offline
      return
    }
    do {
      try audioVideo.send(text: text, topic: Self.chatTopic, lifetime: Self.chatLifetimeMs)
      messages.append(MeetingSessionApp.ChatMessage(sender: "You", text: text, timestampMs: nil))
    } catch { notice = AzureMeetingMeetingText.failure(error) }
  }

  // MARK: For the session

  private var observed: Set<Observed> = []
}

extension AzureMeetingCallModel {
  func connecting(reconnecting: Bool) { phase = reconnecting ? .reconnecting : .connecting }

  func joined(reconnecting: Bool) {
    phase = .inMeeting
    if reconnecting {
      notice = AzureMeetingMeetingText.reconnected
    } else if startsWithCamera {
      setCameraOn(true)
    }
  }

  func interrupted() { phase = .reconnecting }

  /// The stop callback, which follows, says why.
  // koine port: the call agent does not report it; AudioVideoObserver.audioSessionDidCancelReconnect(): the call stays connected: the diagnostic `networkReconnectionQuality` tells of it; for good, the call ends with 490
  // func audioSessionDidCancelReconnect() {}

  func left(sessionStatus: AzureMeeting.End) {
    // After a failure only the sound has ended; the video side ends with this call.
    if sessionStatus != .left { audioVideo.leave() }
    finish(AzureMeetingMeetingText.end(sessionStatus))
  }

  func pathBecamePoor() { hasPoorConnection = true }
  func pathRecovered() { hasPoorConnection = false }
  // koine port: nothing has to call it: it does nothing
  // func videoSessionDidStartConnecting() {}

  func videoJoined(sessionStatus: AzureMeeting.End) {
    if sessionStatus != .left { notice = AzureMeetingMeetingText.end(sessionStatus) }
  }

  func videoLeft(sessionStatus: AzureMeeting.End) {
    if sessionStatus != .left { notice = AzureMeetingMeetingText.end(sessionStatus) }
  }

  // koine port: nothing has to call it: it does nothing
  // func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) {}
  // koine port: nothing has to call it: it does nothing
  // func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) {}

  func cameraAllowed(available: Bool) {
    notice = available ? nil : AzureMeetingMeetingText.end(.cameraRefused)
  }
}

extension AzureMeetingCallModel {
  func participantJoined(attendeeInfo: [AzureMeeting.Attendee]) { roster.add(attendeeInfo, localAttendeeId: localAttendeeId) }

  func participantLeft(attendeeInfo: [AzureMeeting.Attendee]) { roster.remove(attendeeInfo) }

  func participantDropped(attendeeInfo: [AzureMeeting.Attendee]) {
    roster.remove(attendeeInfo)
    for attendee in attendeeInfo where !attendee.isContent { notice = "\(attendee.displayName) lost the connection." }
  }

  func participantMuted(attendeeInfo: [AzureMeeting.Attendee]) {
    for attendee in attendeeInfo { roster.update(attendee.id) { $0.isMuted = true } }
  }

  func participantUnmuted(attendeeInfo: [AzureMeeting.Attendee]) {
    for attendee in attendeeInfo { roster.update(attendee.id) { $0.isMuted = false } }
  }

  func speakersChanged(attendeeInfo: [AzureMeeting.Attendee]) { roster.markSpeakers(attendeeInfo) }
  // koine port: nothing has to call it: it does nothing
  // func volumeDidChange(volumeUpdates: [VolumeUpdate]) {}
  // koine port: it handles what the call agent does not report, and does nothing
  // func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
}

extension AzureMeetingCallModel {
  func tileAdded(tileState: AzureMeeting.Tile) { tiles.append(AzureMeetingTile(state: tileState)) }

  func tileRemoved(tileState: AzureMeeting.Tile) {
    audioVideo.unbind(tile: tileState.id)
    tiles.removeAll { $0.state.id == tileState.id }
  }

  // koine port: the call agent does not report it; VideoTileObserver.videoTileDidPause(tileState:): it stands still
  // func videoTileDidPause(tileState: VideoTileState) { objectWillChange.send() }
  func tileResumed(tileState: AzureMeeting.Tile) { objectWillChange.send() }
  // koine port: it handles what the call agent does not report, and does nothing
  // func videoTileSizeDidChange(tileState: VideoTileState) {}
}

extension AzureMeetingCallModel {
  func messageReceived(dataMessage: AzureMessage) {
    // koine port: the call agent has no DataMessage.throttled; nothing stands in for it
    // guard !dataMessage.throttled else {
    //   notice = MeetingText.throttled
    //   return
    // }
    guard let text = Optional(dataMessage.text), dataMessage.senderID != localAttendeeId else { return }
    let sender = AzureMeeting.Attendee(
      id: dataMessage.senderID, name: dataMessage.senderName)
    let message = MeetingSessionApp.ChatMessage(sender: sender.displayName, text: text, timestampMs: dataMessage.timestampMs)
    // After a reconnect the server tells stored messages again.
    if !messages.contains(message) { messages.append(message) }
  }
}

extension AzureMeetingCallModel {
  func captureStarted() {
    guard let screenSource else { return }
    let content = AzureMeeting.Share()
    content.videoSource = screenSource
    audioVideo.setStream(kind: .screen, isOn: true)
  }

  func captureEnded() { stopSharing() }

  func captureFailed(error: AzureMeeting.Failure) {
    notice = AzureMeetingMeetingText.failure(error)
    stopSharing()
  }

  func shareStarted() {
    // A share that is not connected yet cannot be stopped: a stop that came too early is made up for here.
    guard screenSource != nil else { return audioVideo.setStream(kind: .screen, isOn: false) }
    isSharing = true
  }

  func shareEnded(status: AzureMeeting.Failure?) {
    if status != .none { notice = AzureMeetingMeetingText.shareFailed }
    stopSharing()
  }
}

/// The meeting: tiles on the left, roster and chat on the right, a banner above and the state of the devices below.
final class AzureMeetingCallViewController: UIViewController, SelectorPerforming {
  let chatScreen: AzureMeetingChatViewController
  let rosterScreen: AzureMeetingRosterViewController
  private let model: AzureMeetingCallModel
  private let bannerLabel = UILabel(frame: CGRect(x: 0, y: 0, width: 1024, height: 32))
  private let noticeLabel = UILabel(frame: CGRect(x: 0, y: 704, width: 724, height: 32))
  private let stateLabel = UILabel(frame: CGRect(x: 0, y: 736, width: 724, height: 32))
  let stage = UIView(frame: CGRect(x: 0, y: 32, width: 724, height: 672))
  private var tileViews: [AzureMeetingTile.ID: AzureMeetingTileView] = [:]
  private var subscription: AnyCancellable?

  init(model: AzureMeetingCallModel) {
    self.model = model
    rosterScreen = AzureMeetingRosterViewController(model: model)
    chatScreen = AzureMeetingChatViewController(model: model)
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("This screen is made in code.") }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 1024, height: 768)
    view.backgroundColor = .black
    rosterScreen.view.frame = CGRect(x: 724, y: 32, width: 300, height: 352)
    chatScreen.view.frame = CGRect(x: 724, y: 384, width: 300, height: 352)
    for label in [bannerLabel, noticeLabel, stateLabel] { label.textColor = .white }
    let panels: [UIView] = [rosterScreen.view, chatScreen.view]
    for part in panels + [stage, bannerLabel, noticeLabel, stateLabel] { view.addSubview(part) }
    for (index, (title, action)) in buttons.enumerated() {
      let button = UIButton(frame: CGRect(x: 724 + 60 * CGFloat(index), y: 738, width: 58, height: 28))
      button.setTitle(title, for: .normal)
      button.addTarget(self, action: action, for: .touchUpInside)
      view.addSubview(button)
    }
    subscription = model.objectWillChange.receive(on: DispatchQueue.main).sink { [weak self] _ in self?.render() }
    render()
  }

  private var buttons: [(title: String, action: Selector)] {
    [
      ("Mute", Selector("muteTapped")), ("Camera", Selector("cameraTapped")), ("Flip", Selector("switchCameraTapped")),
      ("Share", Selector("shareTapped")), ("Leave", Selector("leaveTapped")),
    ]
  }

        func muteTapped() { model.setMuted(!model.isMuted) }
        func cameraTapped() { model.setCameraOn(!model.isCameraOn) }
        func switchCameraTapped() { model.switchCamera() }
        func shareTapped() { model.isSharing ? model.stopSharing() : model.startSharing() }
        func leaveTapped() { model.leave() }

  private func render() {
    let camera = model.isCameraOn ? "\(model.usesFrontCamera ? "front" : "back") camera on" : "camera off"
    bannerLabel.text = banner
    noticeLabel.text = model.notice ?? (model.hasPoorConnection ? "Your connection is poor." : nil)
    stateLabel.text = "\(model.isMuted ? "Microphone off" : "Microphone on"), \(camera)"
    renderTiles()
  }

  private var banner: String {
    switch model.phase {
    case .connecting: return "Joining…"
    case .reconnecting: return "Reconnecting…"
    case .ended(let text): return text
    case .inMeeting: return model.isSharing ? "You are sharing your screen." : "In the meeting"
    }
  }

  private func renderTiles() {
    for (id, tileView) in tileViews where !model.tiles.contains(where: { $0.id == id }) {
      tileView.removeFromSuperview()
      tileViews[id] = nil
    }
    let tiles = model.tiles.filter(\.state.isContent) + model.tiles.filter { !$0.state.isContent }
    let columns = tiles.count > 1 ? 2 : 1
    let size = CGSize(width: stage.bounds.width / CGFloat(columns), height: 224)
    for (index, tile) in tiles.enumerated() {
      let tileView = tileViews[tile.id] ?? makeTileView(for: tile)
      let (row, column) = index.quotientAndRemainder(dividingBy: columns)
      tileView.frame = CGRect(
        x: CGFloat(column) * size.width, y: CGFloat(row) * size.height, width: size.width, height: size.height)
      tileView.show(title: model.title(of: tile), isMirrored: tile.state.isLocal && model.usesFrontCamera)
    }
  }

  private func makeTileView(for tile: AzureMeetingTile) -> AzureMeetingTileView {
    let tileView = AzureMeetingTileView(frame: .zero)
    tileViews[tile.id] = tileView
    stage.addSubview(tileView)
    model.bind(tileView.videoView, to: tile)
    return tileView
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
    case "leaveTapped":
      self.leaveTapped()
      return true
    default: return false
    }
  }
}

/// A picture with a name at its lower edge.
final class AzureMeetingTileView: UIView {
  let videoView = AzureVideoView()
  private let titleLabel = UILabel()

  override init(frame: CGRect) {
    super.init(frame: frame)
    videoView.contentMode = .scaleAspectFit
    titleLabel.textColor = .white
    addSubview(videoView)
    addSubview(titleLabel)
  }

  required init?(coder: NSCoder) { fatalError("This view is made in code.") }

  func show(title: String, isMirrored: Bool) {
    videoView.frame = bounds
    // koine port: the call agent has no DefaultVideoRenderView.mirror; nothing stands in for it
    // videoView.mirror = isMirrored
    titleLabel.frame = CGRect(x: 8, y: bounds.height - 24, width: bounds.width - 16, height: 24)
    titleLabel.text = title
  }
}

/// What the app's own server answers when a user asks to join: the answers of CreateMeeting and CreateAttendee.
struct AzureMeetingJoinInfo: Decodable {
  struct MeetingPart: Decodable {
    let MeetingId, MediaRegion: String
    let ExternalMeetingId: String?
    let MediaPlacement: PlacementPart
  }
  struct PlacementPart: Decodable {
    let AudioHostUrl, SignalingUrl: String
    let AudioFallbackUrl, TurnControlUrl: String?
  }
  struct AttendeePart: Decodable { let AttendeeId, ExternalUserId, JoinToken: String }
  struct MeetingAnswer: Decodable { let Meeting: MeetingPart }
  struct AttendeeAnswer: Decodable { let Attendee: AttendeePart }
  struct Answers: Decodable {
    let Meeting: MeetingAnswer
    let Attendee: AttendeeAnswer
  }
  let JoinInfo: Answers

  var configuration: AzureMeeting.Request {
    let meeting = JoinInfo.Meeting.Meeting
    // koine port: only what has no counterpart needs it
    // let urls = meeting.MediaPlacement
    let attendee = JoinInfo.Attendee.Attendee
    return AzureMeeting.Request(room: meeting.MeetingId, credential: attendee.JoinToken, participantID: attendee.AttendeeId, name: attendee.ExternalUserId)
  }
}

/// Asks for the name and the microphone, fetches the join information and hands it on.
final class AzureMeetingJoinViewController: UIViewController, SelectorPerforming {
  var name = ""
  var startsWithCamera = true
  var onJoin: ((AzureMeetingJoinInfo) -> Void)?
  private let service: MeetingSessionApp.JoinService
  private let statusLabel = UILabel(frame: CGRect(x: 24, y: 200, width: 976, height: 40))

  init(service: MeetingSessionApp.JoinService) {
    self.service = service
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("This screen is made in code.") }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 1024, height: 768)
    view.backgroundColor = .white
    view.addSubview(statusLabel)
    let button = UIButton(frame: CGRect(x: 24, y: 260, width: 120, height: 32))
    button.setTitle("Join", for: .normal)
    button.addTarget(self, action: Selector("joinTapped"), for: .touchUpInside)
    view.addSubview(button)
    show("Enter your name and join.")
  }

  func show(_ text: String) { statusLabel.text = text }

        func joinTapped() {
    guard !name.isEmpty else { return show("Enter your name first.") }
    show("Joining…")
    AVAudioSession.sharedInstance().requestRecordPermission { [weak self] isGranted in
      DispatchQueue.main.async { self?.microphoneAnswered(isGranted: isGranted) }
    }
  }

  private func microphoneAnswered(isGranted: Bool) {
    guard isGranted else { return show(AzureMeetingMeetingText.failure(AzureMeeting.Failure.microphoneDenied)) }
    service.joinInfo(for: name) { [weak self] result in
      do {
        self?.onJoin?(try JSONDecoder().decode(AzureMeetingJoinInfo.self, from: result.get()))
      } catch {
        self?.show(AzureMeetingMeetingText.failure(error))
      }
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

/// The texts that a user reads when a meeting ends or an action fails.
enum AzureMeetingMeetingText {
  static let offline = "Messages can be sent when the meeting is connected."
  static let reconnected = "You are connected again."
  static let throttled = "Too many messages at once: the last one was not sent."
  static let shareFailed = "The screen is no longer shared: the service failed."

  /// Why a meeting is over.
  static func end(_ code: AzureMeeting.End) -> String {
    switch code {
    case .left: return "You left the meeting."
    case .removed: return "The host ended the meeting or removed you."
    case .ended: return "The meeting is over."
    case .replaced: return "You joined this meeting on another device."
    case .rejected: return "Your invitation is not valid. Ask the host for a new one."
    case .full: return "The meeting is full."
    case .unreachable: return "The meeting service is not available."
    case .failed: return "The meeting service failed. Try again later."
    case .lost: return "The connection was lost."
    // koine port: no word for .audioInputDeviceNotResponding
    // case .audioInputDeviceNotResponding: return "The microphone does not respond."
    // koine port: no word for .audioOutputDeviceNotResponding
    // case .audioOutputDeviceNotResponding: return "The speaker does not respond."
    case .cameraRefused: return "The meeting has no room for another camera."
    // koine port: no word for .unknown
    // case .unknown: return "The meeting ended for an unknown reason."
    default: return "The meeting ended for an unknown reason (\(code.rawValue))."
    }
  }

  /// Why an action did not work.
  static func failure(_ error: Error) -> String {
    switch error {
    case AzureMeeting.Failure.microphoneDenied: return "Allow the microphone in Settings to join a meeting."
    case AzureMeeting.Failure.cameraDenied: return "Allow the camera in Settings to be seen."
    case AzureMeeting.Failure.device, AzureMeeting.Failure.alreadyJoined: return "The sound could not be started."
    case AzureMeeting.Failure.tooLarge: return "The message is too long."
    case AzureMeeting.Failure.tooMany, AzureMeeting.Failure.notConnected, AzureMeeting.Failure.forbidden: return "The message could not be sent."
    case AzureMeeting.Failure.screen: return "The screen could not be shared."
    case is DecodingError: return "The answer of the meeting server is not understood."
    default: return "The meeting server is not reached: \(error.localizedDescription)"
    }
  }
}

/// A panel of text lines that follows the model.
class AzureMeetingPanelViewController: UIViewController {
  fileprivate let model: AzureMeetingCallModel
  private var labels: [UILabel] = []
  private var subscription: AnyCancellable?

  init(model: AzureMeetingCallModel) {
    self.model = model
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("This screen is made in code.") }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.backgroundColor = .white
    subscription = model.objectWillChange.receive(on: DispatchQueue.main).sink { [weak self] _ in self?.render() }
    render()
  }

  fileprivate var lines: [String] { [] }

  private func render() {
    for label in labels { label.removeFromSuperview() }
    labels = lines.enumerated().map { index, line in
      let label = UILabel(frame: CGRect(x: 8, y: CGFloat(index) * 24, width: 284, height: 24))
      label.text = line
      view.addSubview(label)
      return label
    }
  }
}

/// The attendees with their marks.
final class AzureMeetingRosterViewController: AzureMeetingPanelViewController {
  override fileprivate var lines: [String] { model.roster.entries.map(\.title) }
}

/// The newest lines of the chat.
final class AzureMeetingChatViewController: AzureMeetingPanelViewController, SelectorPerforming {
  var draft = ""

  override fileprivate var lines: [String] { model.messages.suffix(14).map { "\($0.sender): \($0.text)" } }

  override func viewDidLoad() {
    super.viewDidLoad()
    let button = UIButton(frame: CGRect(x: 8, y: 324, width: 80, height: 28))
    button.setTitle("Send", for: .normal)
    button.addTarget(self, action: Selector("sendTapped"), for: .touchUpInside)
    view.addSubview(button)
  }

        func sendTapped() {
    guard !draft.isEmpty else { return }
    model.send(draft)
    draft = ""
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

/// The app's window: the join screen, and the call screen over it while a meeting lasts.
final class AzureMeetingRootViewController: UIViewController {
  let joinScreen: AzureMeetingJoinViewController
  private(set) var callScreen: AzureMeetingCallViewController?
  private var subscription: AnyCancellable?

  init(service: MeetingSessionApp.JoinService) {
    joinScreen = AzureMeetingJoinViewController(service: service)
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("This screen is made in code.") }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 1024, height: 768)
    view.addSubview(joinScreen.view)
    joinScreen.onJoin = { [weak self] in self?.join($0) }
  }

  private func join(_ info: AzureMeetingJoinInfo) {
    guard callScreen == nil else { return }
    let model = AzureMeetingCallModel(joining: info, withCamera: joinScreen.startsWithCamera)
    let screen = AzureMeetingCallViewController(model: model)
    callScreen = screen
    view.addSubview(screen.view)
    joinScreen.view.isHidden = true
    subscription = model.$phase.receive(on: DispatchQueue.main).sink { [weak self] phase in
      if case .ended(let text) = phase { self?.end(text) }
    }
    model.join()
  }

  private func end(_ text: String) {
    callScreen?.view.removeFromSuperview()
    callScreen = nil
    subscription = nil
    joinScreen.view.isHidden = false
    joinScreen.show(text)
  }
}

/// The attendees of a meeting, in the order of their arrival.
struct AzureMeetingRoster: Equatable {
  private(set) var entries: [MeetingSessionApp.RosterEntry] = []

  mutating func add(_ attendees: [AzureMeeting.Attendee], localAttendeeId: String) {
    for attendee in attendees where !attendee.isContent && self[attendee.id] == nil {
      let isLocal = attendee.id == localAttendeeId
      entries.append(MeetingSessionApp.RosterEntry(attendeeId: attendee.id, name: attendee.displayName, isLocal: isLocal))
    }
    // The array has no order: a share may be listed before its owner.
    for attendee in attendees where attendee.isContent { update(attendee.baseId) { $0.isSharing = true } }
  }

  mutating func remove(_ attendees: [AzureMeeting.Attendee]) {
    for attendee in attendees where attendee.isContent { update(attendee.baseId) { $0.isSharing = false } }
    entries.removeAll { entry in attendees.contains { $0.id == entry.attendeeId } }
  }

  mutating func update(_ attendeeId: String, _ change: (inout MeetingSessionApp.RosterEntry) -> Void) {
    guard let index = entries.firstIndex(where: { $0.attendeeId == attendeeId }) else { return }
    change(&entries[index])
  }

  mutating func markSpeakers(_ speakers: [AzureMeeting.Attendee]) {
    for index in entries.indices {
      entries[index].isSpeaking = speakers.contains { $0.id == entries[index].attendeeId }
    }
  }

  subscript(attendeeId: String) -> MeetingSessionApp.RosterEntry? { entries.first { $0.attendeeId == attendeeId } }
}

extension AzureMeeting.Attendee {
  /// Whether this attendee is a content share and no person.
  var isContent: Bool { id.hasSuffix("#content") }

  /// For a content share the attendee id of its owner.
  var baseId: String { String(id.prefix { $0 != "#" }) }

  /// The server makes external user ids of the form "id#name", as the vendor's demo server does.
  var displayName: String { name.split(separator: "#").last.map(String.init) ?? name }
}

/// A video tile as the call screen shows it.
struct AzureMeetingTile: Identifiable {
  /// The app's own: the SDK may use a tile id again for a later tile.
  let id = UUID()
  /// The SDK keeps it up to date.
  let state: AzureMeeting.Tile
}

extension AzureMeetingCallModel {
  enum Observed { case call, attendees, speakers, tiles, share }

  private func observe(_ group: Observed, in meeting: AzureMeeting) {
    observed.insert(group)
    meeting.observer = { [weak self] event in self?.handle(event) }
  }

  private func observe(_ screen: AzureMeeting.Screen) {
    screen.observer = { [weak self] event in self?.handle(event) }
  }

  /// Calls the functions above for what the meeting reports.
  private func handle(_ event: AzureMeeting.Event) {
    switch event {
    case .connecting where observed.contains(.call):
      connecting(reconnecting: false)
    case .joined(let isAgain) where observed.contains(.call):
      joined(reconnecting: isAgain)
      videoJoined(sessionStatus: .left)
      if !isAgain { cameraAllowed(available: true) }
    case .interrupted where observed.contains(.call):
      interrupted()
      connecting(reconnecting: true)
    case .ended(let end) where observed.contains(.call):
      left(sessionStatus: end)
      if end == .left || end == .lost, observed.contains(.call) { videoLeft(sessionStatus: end) }
    case .pathChanged(true) where observed.contains(.call):
      pathBecamePoor()
    case .pathChanged(false) where observed.contains(.call):
      pathRecovered()
    case .attendeeJoined(let attendee) where observed.contains(.attendees):
      participantJoined(attendeeInfo: [attendee])
    case .attendeeLeft(let attendee) where observed.contains(.attendees):
      participantLeft(attendeeInfo: [attendee])
    case .attendeeDropped(let attendee) where observed.contains(.attendees):
      participantDropped(attendeeInfo: [attendee])
    case .muted(let attendee, true) where observed.contains(.attendees):
      participantMuted(attendeeInfo: [attendee])
    case .muted(let attendee, false) where observed.contains(.attendees):
      participantUnmuted(attendeeInfo: [attendee])
    case .speakersChanged(let attendees) where observed.contains(.speakers):
      speakersChanged(attendeeInfo: attendees)
    case .tileAdded(let tile) where observed.contains(.tiles):
      tileAdded(tileState: tile)
    case .tileRemoved(let tile) where observed.contains(.tiles):
      tileRemoved(tileState: tile)
    case .shareStarted where observed.contains(.share):
      shareStarted()
    case .shareEnded(let failure) where observed.contains(.share):
      shareEnded(status: failure)
    case .captureStarted:
      captureStarted()
    case .captureEnded:
      captureEnded()
    case .captureFailed(let failure):
      captureFailed(error: failure)
    case .message(let message):
      messageReceived(dataMessage: message)
    default: break
    }
  }
}
