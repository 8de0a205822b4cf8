import KoineTesting
import VideoSDKRTC

@testable import EventListenerApp

/// The reference app of the event-listener style behind the seam. Its join screen takes the call screen's place after a meeting.
@MainActor
final class ListenerLayer: CallLayer {
  private let model = CallModel()
  private let screen: CallViewController
  private let invitation: EventListenerApp.Ring
  private let name: String

  init(in context: PortingContext) throws {
    let credential = try context.room.credential(.eventListener, for: context.name)
    name = context.name
    invitation = EventListenerApp.Ring(
      token: credential.token, meetingID: credential.meetingID, participantID: credential.participantID)
    screen = CallViewController(model: model)
    screen.view.frame = CGRect(x: 0, y: 0, width: 960, height: 540)
    context.chat = .topic("CHAT")
    context.watch(model, "CallModel")
    context.watch(screen, "CallViewController")
  }

  var view: UIView { screen.view }
  private var state: EventListenerApp.CallState { model.state }
  func join() { model.join(with: invitation, name: name, microphoneOn: true, cameraOn: true) }
  func leave() { model.leave() }
  func setMicrophoneOn(_ isOn: Bool) { if state.isMicrophoneOn != isOn { model.toggleMicrophone() } }
  func setCameraOn(_ isOn: Bool) { if state.isCameraOn != isOn { model.toggleCamera() } }
  func switchCamera() { model.switchCamera() }
  func setSharing(_ isOn: Bool) { if state.isSharing != isOn { model.toggleSharing() } }
  func send(_ text: String) { model.send(text) }

  var facts: CallFacts {
    if case .ended(let text) = state.phase { return CallFacts(phase: "ended", end: Self.caseOf(text)) }
    let others = state.roster.filter { !$0.isLocal }
    return CallFacts(
      phase: phase, end: state.notice.map(Self.caseOf), isMicrophoneOn: state.isMicrophoneOn,
      isCameraOn: state.isCameraOn, isSharing: state.isSharing,
      people: others.map {
        CallFacts.Person(name: $0.name, isMuted: $0.isMuted, hasVideo: !$0.isCameraOff, isSharing: $0.isPresenting)
      },
      messages: state.messages.map { CallFacts.Message(from: $0.sender, text: $0.text) },
      activeSpeaker: others.first(where: \.isSpeaking)?.name)
  }

  private var phase: String {
    switch state.phase {
    case .idle: "idle"
    case .joining: "joining"
    case .connected: "inCall"
    case .reconnecting: "reconnecting"
    case .leaving: "leaving"
    case .ended: "ended"
    }
  }

  private static func caseOf(_ text: String) -> String {
    let cases = [
      CallText.left: "left", CallText.connectionLost: "lost", CallText.connectionRestored: "reconnected",
      CallText.text(for: LeaveReason.removePeer): "removed", CallText.text(for: LeaveReason.roomClose): "closed",
      CallText.text(for: VideoSDKError.INVALID_TOKEN): "refused",
      CallText.text(for: VideoSDKError.INVALID_PERMISSIONS): "notPermitted",
      CallText.text(for: VideoSDKError.MAX_PARTCIPANT_REACHED): "full",
      CallText.text(for: VideoSDKError.UNKNOWN_ERROR): "failed",
      CallText.text(for: VideoSDKError.ERROR_GET_VIDEO_MEDIA): "cameraFailed",
      CallText.text(for: VideoSDKError.ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED): "cameraDenied",
      CallText.text(for: VideoSDKError.ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED): "microphoneDenied",
    ]
    return cases[text] ?? text
  }
}
