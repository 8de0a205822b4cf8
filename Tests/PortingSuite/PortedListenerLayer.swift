import Koine
import KoineTesting
import UIKit

@testable import EventListenerApp

/// The reference app of the event-listener style, as `koine port --to koine` has written it, behind the seam.
@MainActor
final class PortedListenerLayer: CallLayer {
  private let model = KoineCallModel()
  private let screen: KoineCallViewController
  private let invitation: EventListenerApp.Ring
  private let name: String

  init(in context: PortingContext) throws {
    let credential = try context.room.credential(.eventListener, for: context.name)
    name = context.name
    invitation = EventListenerApp.Ring(
      token: credential.token, meetingID: credential.meetingID, participantID: credential.participantID)
    screen = KoineCallViewController(model: model)
    screen.view.frame = CGRect(x: 0, y: 0, width: 960, height: 540)
    context.chat = .topic("CHAT")
    context.watch(model, "CallModel")
    context.watch(screen, "CallViewController")
  }

  var view: UIView { screen.view }
  private var state: KoineCallState { model.state }
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
      KoineCallText.left: "left", KoineCallText.connectionLost: "lost", KoineCallText.connectionRestored: "reconnected",
      KoineCallText.text(for: EndReason.removed): "removed", KoineCallText.text(for: EndReason.roomClosed): "closed",
      KoineCallText.text(for: Failure.Code.unauthorized): "refused",
      KoineCallText.text(for: Failure.Code.forbidden): "notPermitted",
      KoineCallText.text(for: Failure.Code.roomFull): "full",
      KoineCallText.text(for: Failure.Code.internal): "failed",
      KoineCallText.text(for: Failure.Code.camera): "cameraFailed",
      KoineCallText.text(for: Failure.Code.cameraDenied): "cameraDenied",
      KoineCallText.text(for: Failure.Code.microphoneDenied): "microphoneDenied",
    ]
    return cases[text] ?? text
  }
}
