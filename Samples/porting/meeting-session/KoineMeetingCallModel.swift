// swift-format-ignore-file
// Written by `koine port` from CallModel: the app's calls in the words of the common layer.

import AVFoundation
import Combine
import Foundation
import Koine
import UIKit

@testable import MeetingSessionApp

/// One meeting: owns the objects of the SDK and publishes what the screens show. Lives on the main thread.
final class KoineMeetingCallModel: ObservableObject, @unchecked Sendable {  // used on the main thread
  enum Phase: Equatable {
    case connecting, inMeeting, reconnecting
    case ended(String)
  }

  static let chatTopic = "chat"
  /// Later attendees still read the chat of the last five minutes.
  static let chatLifetimeMs: Int32 = 300_000

  @Published private(set) var phase = Phase.connecting
  @Published private(set) var roster = KoineMeetingRoster()
  @Published private(set) var tiles: [KoineMeetingTile] = []
  @Published private(set) var messages: [MeetingSessionApp.ChatMessage] = []
  @Published private(set) var isMuted = false
  @Published private(set) var isCameraOn = false
  @Published private(set) var usesFrontCamera = true
  @Published private(set) var isSharing = false
  @Published private(set) var hasPoorConnection = false
  @Published private(set) var notice: String?

  let observerId = UUID().uuidString
  // koine port: the common layer has no ConsoleLogger.init(name:level:); the session takes no logger
  // private let logger = ConsoleLogger(name: "MeetingSessionApp", level: .ERROR)
  private let session: RoomMeeting
  private let startsWithCamera: Bool
  private var screenSource: RoomScreen?
  private var audioVideo: RoomMeeting { session }
  private var localAttendeeId: String { session.localParticipant.id }

  init(joining info: KoineMeetingJoinInfo, withCamera: Bool) {
    session = RoomMeeting(info.configuration)
    startsWithCamera = withCamera
  }

  // MARK: Joining and leaving

  func join() {
    observe(.call, in: audioVideo)
    observe(.attendees, in: audioVideo)
    observe(.tiles, in: audioVideo)
    observe(.share, in: audioVideo)
    observe(.speakers, in: audioVideo)
    topics.insert(Self.chatTopic)
    do {
      try audioVideo.start()
      // koine port: the common layer has no AudioVideoControllerFacade.startRemoteVideo(); nothing stands in for it
      // audioVideo.startRemoteVideo()
    } catch { finish(KoineMeetingMeetingText.failure(error)) }
  }

  /// The end is told by `audioSessionDidStopWithStatus`.
  func leave() {
    stopSharing()
    audioVideo.setStream(kind: .camera, isOn: false)
    audioVideo.session?.leave {}
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
    topics.remove(Self.chatTopic)
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
      guard isGranted else { throw Failure(.cameraDenied, "") }
      try audioVideo.startCamera()
      isCameraOn = true
      readCamera()
    } catch { notice = KoineMeetingMeetingText.failure(error) }
  }

  func switchCamera() {
    audioVideo.switchCamera()
    readCamera()
  }

  private func readCamera() { usesFrontCamera = audioVideo.session?.world.machine.current(.camera)?.attachment == .front }

  // MARK: Tiles

  func bind(_ videoView: VideoView, to tile: KoineMeetingTile) {
    audioVideo.bind(view: videoView, tile: tile.state.id)
  }

  func title(of tile: KoineMeetingTile) -> String {
    let name = roster[String(tile.state.attendeeID.prefix { $0 != "#" })]?.name ?? ""
    let title = tile.state.isLocal ? "\(name) (you)" : tile.state.isContent ? "\(name)'s screen" : name
    return tile.state.pause == .none ? title : "\(title), paused"
  }

  // MARK: Sharing the screen

  func startSharing() {
    guard screenSource == nil else { return }
    notice = nil
    let source = RoomScreen(call: audioVideo)
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
      notice = KoineMeetingMeetingText.offline
      return
    }
    do {
      try audioVideo.session?.send(DataMessage(topic: Self.chatTopic, payload: Array(text.utf8), lifetime: .milliseconds(Self.chatLifetimeMs)))
      messages.append(MeetingSessionApp.ChatMessage(sender: "You", text: text, timestampMs: nil))
    } catch { notice = KoineMeetingMeetingText.failure(error) }
  }

  // MARK: For the session

  private var topics: Set<String> = []
  private var observed: Set<Observed> = []
  private var sharedTrack: Track.ID?
  private var isPathPoor: Bool = false
}

extension KoineMeetingCallModel {
  func connecting(reconnecting: Bool) { phase = reconnecting ? .reconnecting : .connecting }

  func joined(reconnecting: Bool) {
    phase = .inMeeting
    if reconnecting {
      notice = KoineMeetingMeetingText.reconnected
    } else if startsWithCamera {
      setCameraOn(true)
    }
  }

  func interrupted() { phase = .reconnecting }

  /// The stop callback, which follows, says why.
  // koine port: the common layer does not report it; AudioVideoObserver.audioSessionDidCancelReconnect(): nothing stands in for it
  // func audioSessionDidCancelReconnect() {}

  func left(sessionStatus: EndReason) {
    // After a failure only the sound has ended; the video side ends with this call.
    if sessionStatus != .left { audioVideo.session?.leave {} }
    finish(KoineMeetingMeetingText.end(sessionStatus))
  }

  func pathBecamePoor() { hasPoorConnection = true }
  func pathRecovered() { hasPoorConnection = false }
  // koine port: nothing has to call it: it does nothing
  // func videoSessionDidStartConnecting() {}

  func videoJoined(sessionStatus: EndReason) {
    if sessionStatus != .left { notice = KoineMeetingMeetingText.end(sessionStatus) }
  }

  func videoLeft(sessionStatus: EndReason) {
    if sessionStatus != .left { notice = KoineMeetingMeetingText.end(sessionStatus) }
  }

  // koine port: nothing has to call it: it does nothing
  // func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) {}
  // koine port: nothing has to call it: it does nothing
  // func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) {}

  func cameraAllowed(available: Bool) {
    notice = available ? nil : KoineMeetingMeetingText.end(.refused(Failure(.camera, "")))
  }
}

extension KoineMeetingCallModel {
  func participantJoined(attendeeInfo: [Participant]) { roster.add(attendeeInfo, localAttendeeId: localAttendeeId) }

  func participantLeft(attendeeInfo: [Participant]) { roster.remove(attendeeInfo) }

  func participantDropped(attendeeInfo: [Participant]) {
    roster.remove(attendeeInfo)
    for attendee in attendeeInfo where !attendee.isContent { notice = "\(attendee.displayName) lost the connection." }
  }

  func participantMuted(attendeeInfo: [Participant]) {
    for attendee in attendeeInfo { roster.update(attendee.id) { $0.isMuted = true } }
  }

  func participantUnmuted(attendeeInfo: [Participant]) {
    for attendee in attendeeInfo { roster.update(attendee.id) { $0.isMuted = false } }
  }

  func speakersChanged(attendeeInfo: [Participant]) { roster.markSpeakers(attendeeInfo) }
  // koine port: nothing has to call it: it does nothing
  // func volumeDidChange(volumeUpdates: [VolumeUpdate]) {}
  // koine port: it handles what the common layer does not report, and does nothing
  // func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
}

extension KoineMeetingCallModel {
  func tileAdded(tileState: RoomTile) { tiles.append(KoineMeetingTile(state: tileState)) }

  func tileRemoved(tileState: RoomTile) {
    audioVideo.unbind(tile: tileState.id)
    tiles.removeAll { $0.state.id == tileState.id }
  }

  func tilePaused(tileState: RoomTile) { objectWillChange.send() }
  func tileResumed(tileState: RoomTile) { objectWillChange.send() }
  // koine port: it handles what the common layer does not report, and does nothing
  // func videoTileSizeDidChange(tileState: VideoTileState) {}
}

extension KoineMeetingCallModel {
  func messageReceived(dataMessage: ReceivedMessage) {
    // koine port: the common layer has no DataMessage.throttled; nothing stands in for it
    // guard !dataMessage.throttled else {
    //   notice = MeetingText.throttled
    //   return
    // }
    guard let text = String(bytes: dataMessage.payload, encoding: .utf8), dataMessage.sender != localAttendeeId else { return }
    let sender = Participant(
      id: dataMessage.sender, name: (audioVideo.name(of: dataMessage.sender) ?? ""))
    let message = MeetingSessionApp.ChatMessage(sender: sender.displayName, text: text, timestampMs: Int64((Date().timeIntervalSince1970 - dataMessage.age / .seconds(1)) * 1_000))
    // After a reconnect the server tells stored messages again.
    if !messages.contains(message) { messages.append(message) }
  }
}

extension KoineMeetingCallModel {
  func captureStarted() {
    guard let screenSource else { return }
    let content = RoomShare()
    content.videoSource = screenSource
    audioVideo.setStream(kind: .screen, isOn: true)
  }

  func captureEnded() { stopSharing() }

  func captureFailed(error: Failure) {
    notice = KoineMeetingMeetingText.failure(error)
    stopSharing()
  }

  func shareStarted() {
    // A share that is not connected yet cannot be stopped: a stop that came too early is made up for here.
    guard screenSource != nil else { return audioVideo.setStream(kind: .screen, isOn: false) }
    isSharing = true
  }

  func shareEnded(status: Failure?) {
    if status != .none { notice = KoineMeetingMeetingText.shareFailed }
    stopSharing()
  }
}

/// The meeting: tiles on the left, roster and chat on the right, a banner above and the state of the devices below.
final class KoineMeetingCallViewController: UIViewController, SelectorPerforming {
  let chatScreen: KoineMeetingChatViewController
  let rosterScreen: KoineMeetingRosterViewController
  private let model: KoineMeetingCallModel
  private let bannerLabel = UILabel(frame: CGRect(x: 0, y: 0, width: 1024, height: 32))
  private let noticeLabel = UILabel(frame: CGRect(x: 0, y: 704, width: 724, height: 32))
  private let stateLabel = UILabel(frame: CGRect(x: 0, y: 736, width: 724, height: 32))
  let stage = UIView(frame: CGRect(x: 0, y: 32, width: 724, height: 672))
  private var tileViews: [KoineMeetingTile.ID: KoineMeetingTileView] = [:]
  private var subscription: AnyCancellable?

  init(model: KoineMeetingCallModel) {
    self.model = model
    rosterScreen = KoineMeetingRosterViewController(model: model)
    chatScreen = KoineMeetingChatViewController(model: model)
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

  private func makeTileView(for tile: KoineMeetingTile) -> KoineMeetingTileView {
    let tileView = KoineMeetingTileView(frame: .zero)
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
final class KoineMeetingTileView: UIView {
  let videoView = VideoView(frame: .zero)
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
    // koine port: the common layer has no DefaultVideoRenderView.mirror; the view's choice
    // videoView.mirror = isMirrored
    titleLabel.frame = CGRect(x: 8, y: bounds.height - 24, width: bounds.width - 16, height: 24)
    titleLabel.text = title
  }
}

/// What the app's own server answers when a user asks to join: the answers of CreateMeeting and CreateAttendee.
struct KoineMeetingJoinInfo: Decodable {
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

  var configuration: JoinRequest {
    let meeting = JoinInfo.Meeting.Meeting
    // koine port: only what has no counterpart needs it
    // let urls = meeting.MediaPlacement
    let attendee = JoinInfo.Attendee.Attendee
    return JoinRequest(room: meeting.MeetingId, credential: attendee.JoinToken, participantID: attendee.AttendeeId, name: attendee.ExternalUserId)
  }
}

/// Asks for the name and the microphone, fetches the join information and hands it on.
final class KoineMeetingJoinViewController: UIViewController, SelectorPerforming {
  var name = ""
  var startsWithCamera = true
  var onJoin: ((KoineMeetingJoinInfo) -> Void)?
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
    guard isGranted else { return show(KoineMeetingMeetingText.failure(Failure(.microphoneDenied, ""))) }
    service.joinInfo(for: name) { [weak self] result in
      do {
        self?.onJoin?(try JSONDecoder().decode(KoineMeetingJoinInfo.self, from: result.get()))
      } catch {
        self?.show(KoineMeetingMeetingText.failure(error))
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
enum KoineMeetingMeetingText {
  static let offline = "Messages can be sent when the meeting is connected."
  static let reconnected = "You are connected again."
  static let throttled = "Too many messages at once: the last one was not sent."
  static let shareFailed = "The screen is no longer shared: the service failed."

  /// Why a meeting is over.
  static func end(_ code: EndReason) -> String {
    switch code {
    case .left: return "You left the meeting."
    case .removed, .removedByService, .roomClosed, .roomClosedByService, .expired: return "The host ended the meeting or removed you."
    case .refused(Failure.Code.ended): return "The meeting is over."
    case .duplicate: return "You joined this meeting on another device."
    case .refused(Failure.Code.unauthorized), .refused(Failure.Code.forbidden): return "Your invitation is not valid. Ask the host for a new one."
    case .refused(Failure.Code.roomFull): return "The meeting is full."
    case .refused(Failure.Code.unreachable): return "The meeting service is not available."
    case .refused(Failure.Code.internal), .refused(Failure.Code.invalidRoom), .refused(Failure.Code.invalidParticipantID), .refused(Failure.Code.denied): return "The meeting service failed. Try again later."
    case .lost: return "The connection was lost."
    // koine port: no word for .audioInputDeviceNotResponding
    // case .audioInputDeviceNotResponding: return "The microphone does not respond."
    // koine port: no word for .audioOutputDeviceNotResponding
    // case .audioOutputDeviceNotResponding: return "The speaker does not respond."
    case .refused(Failure.Code.camera): return "The meeting has no room for another camera."
    // koine port: no word for .unknown
    // case .unknown: return "The meeting ended for an unknown reason."
    default: return "The meeting ended for an unknown reason (\(code.description))."
    }
  }

  /// Why an action did not work.
  static func failure(_ error: Error) -> String {
    switch error {
    case Failure.Code.microphoneDenied: return "Allow the microphone in Settings to join a meeting."
    case Failure.Code.cameraDenied: return "Allow the camera in Settings to be seen."
    case Failure.Code.device, Failure.Code.alreadyJoined: return "The sound could not be started."
    case Failure.Code.tooLarge: return "The message is too long."
    case Failure.Code.tooMany, Failure.Code.notConnected, Failure.Code.forbidden: return "The message could not be sent."
    case Failure.Code.screen: return "The screen could not be shared."
    case is DecodingError: return "The answer of the meeting server is not understood."
    default: return "The meeting server is not reached: \(error.localizedDescription)"
    }
  }
}

/// A panel of text lines that follows the model.
class KoineMeetingPanelViewController: UIViewController {
  fileprivate let model: KoineMeetingCallModel
  private var labels: [UILabel] = []
  private var subscription: AnyCancellable?

  init(model: KoineMeetingCallModel) {
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
final class KoineMeetingRosterViewController: KoineMeetingPanelViewController {
  override fileprivate var lines: [String] { model.roster.entries.map(\.title) }
}

/// The newest lines of the chat.
final class KoineMeetingChatViewController: KoineMeetingPanelViewController, SelectorPerforming {
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
final class KoineMeetingRootViewController: UIViewController {
  let joinScreen: KoineMeetingJoinViewController
  private(set) var callScreen: KoineMeetingCallViewController?
  private var subscription: AnyCancellable?

  init(service: MeetingSessionApp.JoinService) {
    joinScreen = KoineMeetingJoinViewController(service: service)
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("This screen is made in code.") }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 1024, height: 768)
    view.addSubview(joinScreen.view)
    joinScreen.onJoin = { [weak self] in self?.join($0) }
  }

  private func join(_ info: KoineMeetingJoinInfo) {
    guard callScreen == nil else { return }
    let model = KoineMeetingCallModel(joining: info, withCamera: joinScreen.startsWithCamera)
    let screen = KoineMeetingCallViewController(model: model)
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
struct KoineMeetingRoster: Equatable {
  private(set) var entries: [MeetingSessionApp.RosterEntry] = []

  mutating func add(_ attendees: [Participant], localAttendeeId: String) {
    for attendee in attendees where !attendee.isContent && self[attendee.id] == nil {
      let isLocal = attendee.id == localAttendeeId
      entries.append(MeetingSessionApp.RosterEntry(attendeeId: attendee.id, name: attendee.displayName, isLocal: isLocal))
    }
    // The array has no order: a share may be listed before its owner.
    for attendee in attendees where attendee.isContent { update(attendee.baseId) { $0.isSharing = true } }
  }

  mutating func remove(_ attendees: [Participant]) {
    for attendee in attendees where attendee.isContent { update(attendee.baseId) { $0.isSharing = false } }
    entries.removeAll { entry in attendees.contains { $0.id == entry.attendeeId } }
  }

  mutating func update(_ attendeeId: String, _ change: (inout MeetingSessionApp.RosterEntry) -> Void) {
    guard let index = entries.firstIndex(where: { $0.attendeeId == attendeeId }) else { return }
    change(&entries[index])
  }

  mutating func markSpeakers(_ speakers: [Participant]) {
    for index in entries.indices {
      entries[index].isSpeaking = speakers.contains { $0.id == entries[index].attendeeId }
    }
  }

  subscript(attendeeId: String) -> MeetingSessionApp.RosterEntry? { entries.first { $0.attendeeId == attendeeId } }
}

extension Participant {
  /// Whether this attendee is a content share and no person.
  var isContent: Bool { id.hasSuffix("#content") }

  /// For a content share the attendee id of its owner.
  var baseId: String { String(id.prefix { $0 != "#" }) }

  /// The server makes external user ids of the form "id#name", as the vendor's demo server does.
  var displayName: String { name.split(separator: "#").last.map(String.init) ?? name }
}

/// A video tile as the call screen shows it.
struct KoineMeetingTile: Identifiable {
  /// The app's own: the SDK may use a tile id again for a later tile.
  let id = UUID()
  /// The SDK keeps it up to date.
  let state: RoomTile
}

extension KoineMeetingCallModel {
  enum Observed { case call, attendees, speakers, tiles, share }

  private func observe(_ group: Observed, in meeting: RoomMeeting) {
    observed.insert(group)
    meeting.observer = { [weak self, unowned meeting] event in self?.handle(event, in: meeting) }
    meeting.meetingObserver = { [weak self] event in self?.handle(event) }
  }

  private func observe(_ screen: RoomScreen) {
    screen.observer = { [weak self] event in self?.handle(event) }
  }

  /// Calls the functions above for what the session reports.
  private func handle(_ event: SessionEvent, in meeting: RoomMeeting) {
    switch event {
    case .stateChanged(.connecting) where observed.contains(.call):
      connecting(reconnecting: false)
    case .stateChanged(.connected) where observed.contains(.call):
      joined(reconnecting: meeting.hasEntered)
      videoJoined(sessionStatus: .left)
      if !meeting.hasEntered { cameraAllowed(available: true) }
    case .stateChanged(.reconnecting) where observed.contains(.call):
      interrupted()
      connecting(reconnecting: true)
    case .stateChanged(.ended(let reason)) where observed.contains(.call):
      left(sessionStatus: reason)
      if reason == .left || reason == .lost, observed.contains(.call) { videoLeft(sessionStatus: reason) }
    case .qualityChanged(let levels) where observed.contains(.call):
      guard let level = levels[meeting.localParticipant.id], (level != .high) != isPathPoor else { break }
      isPathPoor.toggle()
      if isPathPoor { pathBecamePoor() }
      if !isPathPoor { pathRecovered() }
    case .dominantSpeakerChanged(let id) where observed.contains(.speakers):
      speakersChanged(attendeeInfo: ([meeting.localParticipant.last] + (meeting.session?.participants ?? [])).filter { $0.id == id })
    case .messageReceived(let message) where topics.contains(message.topic):
      messageReceived(dataMessage: message)
    case .publishFailed(let track, let failure) where track.kind == .camera && failure.code == .forbidden && observed.contains(.call):
      cameraAllowed(available: false)
    case .streamPublished(let track) where track.kind == .screen:
      sharedTrack = track.id
      if observed.contains(.share) { shareStarted() }
    case .streamRemoved(let track, _) where track.id == sharedTrack:
      sharedTrack = nil
      if observed.contains(.share) { shareEnded(status: nil) }
    case .publishFailed(let track, let failure) where track.kind == .screen:
      sharedTrack = nil
      if observed.contains(.share) { shareEnded(status: failure) }
    default: break
    }
  }

  /// Calls the functions above for what follows from the session's events.
  private func handle(_ event: MeetingEvent) {
    switch event {
    case .joined(let attendee) where observed.contains(.attendees):
      participantJoined(attendeeInfo: [attendee])
    case .left(let attendee, .dropped) where observed.contains(.attendees):
      participantDropped(attendeeInfo: [attendee])
    case .left(let attendee, _) where observed.contains(.attendees):
      participantLeft(attendeeInfo: [attendee])
    case .muted(let attendee, true) where observed.contains(.attendees):
      participantMuted(attendeeInfo: [attendee])
    case .muted(let attendee, false) where observed.contains(.attendees):
      participantUnmuted(attendeeInfo: [attendee])
    case .tileAdded(let tile) where observed.contains(.tiles):
      tileAdded(tileState: tile)
    case .tileRemoved(let tile) where observed.contains(.tiles):
      tileRemoved(tileState: tile)
    case .tilePaused(let tile, true) where observed.contains(.tiles):
      tilePaused(tileState: tile)
    case .tilePaused(let tile, false) where observed.contains(.tiles):
      tileResumed(tileState: tile)
    case .captureStarted:
      captureStarted()
    case .captureEnded:
      captureEnded()
    case .captureFailed(let code):
      captureFailed(error: code)
    default: break
    }
  }
}
