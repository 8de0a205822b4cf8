import KoineAppServers
import KoineTesting
import UIKit

@testable import EventListenerApp

/// The reference app of the event-listener style, ported to the stage strategy style and from there back, behind the seam.
@MainActor
final class BackFromStageLayer: CallLayer {
  private let model = BackStageCallModel()
  private let screen: BackStageCallViewController
  private let invitation: EventListenerApp.Ring
  private let name: String

  init(in context: PortingContext) throws {
    let answer = try ServerAnswer(.eventListener, in: context.room, for: context.name)
    name = context.name
    // A stage's token names the stage, and so did the text that took its place.
    invitation = EventListenerApp.Ring(
      token: answer.text(forAppOf: .stageStrategy), meetingID: answer.room, participantID: answer.participantID)
    screen = BackStageCallViewController(model: model)
    screen.view.frame = CGRect(x: 0, y: 0, width: 960, height: 540)
    context.chat = .topic("CHAT")
    context.watch(model, "CallModel")
    context.watch(screen, "CallViewController")
  }

  var view: UIView { screen.view }
  private var state: BackStageCallState { model.state }
  func join() { model.join(with: invitation, name: name, microphoneOn: true, cameraOn: true) }
  func leave() { model.leave() }
  func setMicrophoneOn(_ isOn: Bool) { if state.isMicrophoneOn != isOn { model.toggleMicrophone() } }
  func setCameraOn(_ isOn: Bool) { if state.isCameraOn != isOn { model.toggleCamera() } }
  func switchCamera() { model.switchCamera() }
  func setSharing(_ isOn: Bool) { if state.isSharing != isOn { model.toggleSharing() } }
  func send(_ text: String) { model.send(text) }

  var facts: CallFacts {
    if case .ended(let text) = state.phase { return CallFacts(phase: "ended", end: StageOfListenerLayer.caseOf(text)) }
    let others = state.roster.filter { !$0.isLocal }
    return CallFacts(
      phase: phase, end: state.notice.map(StageOfListenerLayer.caseOf), isMicrophoneOn: state.isMicrophoneOn,
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
}
