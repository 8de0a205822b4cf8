import AmazonIVSBroadcast
import KoineAppServers
import KoineTesting
import UIKit

@testable import EventListenerApp

/// The reference app of the event-listener style, as `koine port --to stage-strategy` has written it, behind the seam.
@MainActor
final class StageOfListenerLayer: CallLayer {
  private let model = StageCallModel()
  private let screen: StageCallViewController
  private let invitation: EventListenerApp.Ring
  private let name: String

  init(in context: PortingContext) throws {
    let answer = try ServerAnswer(.stageStrategy, in: context.room, for: context.name)
    name = context.name
    invitation = EventListenerApp.Ring(token: answer.token, meetingID: answer.room, participantID: answer.participantID)
    screen = StageCallViewController(model: model)
    screen.view.frame = CGRect(x: 0, y: 0, width: 960, height: 540)
    context.chat = .topic("CHAT")
    context.watch(model, "CallModel")
    context.watch(screen, "CallViewController")
  }

  var view: UIView { screen.view }
  private var state: StageCallState { model.state }
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

  /// The text of an end or a problem, as a case. The layer that was ported back has the same texts.
  static func caseOf(_ text: String) -> String {
    let cases = [
      StageCallText.left: "left", StageCallText.connectionLost: "lost", StageCallText.connectionRestored: "reconnected",
      StageCallText.text(for: StageEnd.removed): "removed", StageCallText.text(for: StageEnd.closed): "closed",
      StageCallText.text(for: StageFailure.rejected): "refused", StageCallText.text(for: StageFailure.full): "full",
      StageCallText.text(for: StageFailure.failed): "failed",
      StageCallText.text(for: StageFailure.camera): "cameraFailed",
      StageCallText.text(for: StageFailure.cameraDenied): "cameraDenied",
      StageCallText.text(for: StageFailure.microphoneDenied): "microphoneDenied",
    ]
    return cases[text] ?? text
  }
}
