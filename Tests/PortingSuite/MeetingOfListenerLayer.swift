import AmazonChimeSDK
import KoineAppServers
import KoineTesting
import UIKit

@testable import EventListenerApp

/// The reference app of the event-listener style, as `koine port --to meeting-session` has written it, behind the seam.
@MainActor
final class MeetingOfListenerLayer: CallLayer {
  private let model = MeetingCallModel()
  private let screen: MeetingCallViewController
  private let invitation: EventListenerApp.Ring
  private let name: String

  init(in context: PortingContext) throws {
    let answer = try ServerAnswer(.meetingSession, in: context.room, for: context.name)
    name = context.name
    invitation = EventListenerApp.Ring(token: answer.token, meetingID: answer.room, participantID: answer.participantID)
    screen = MeetingCallViewController(model: model)
    screen.view.frame = CGRect(x: 0, y: 0, width: 960, height: 540)
    context.chat = .topic("CHAT")
    context.watch(model, "CallModel")
    context.watch(screen, "CallViewController")
  }

  var view: UIView { screen.view }
  private var state: MeetingCallState { model.state }
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
      MeetingCallText.left: "left", MeetingCallText.connectionLost: "lost",
      MeetingCallText.connectionRestored: "reconnected",
      MeetingCallText.text(for: MeetingSessionStatusCode.audioServerHungup): "removed",
      MeetingCallText.text(for: MeetingFailure.rejected): "refused",
      MeetingCallText.text(for: MeetingFailure.full): "full",
      MeetingCallText.text(for: MeetingFailure.failed): "failed",
      MeetingCallText.text(for: MeetingFailure.cameraDenied): "cameraDenied",
      MeetingCallText.text(for: MeetingFailure.microphoneDenied): "microphoneDenied",
    ]
    return cases[text] ?? text
  }
}
