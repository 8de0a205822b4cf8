import AzureCommunicationCalling
import KoineAppServers
import KoineTesting
import UIKit

@testable import EventListenerApp

/// The reference app of the event-listener style, as `koine port --to call-agent` has written it, behind the seam.
@MainActor
final class AzureOfListenerLayer: CallLayer {
  private let model = AzureCallModel()
  private let screen: AzureCallViewController
  private let invitation: EventListenerApp.Ring
  private let name: String

  init(in context: PortingContext) throws {
    let answer = try ServerAnswer(.callAgent, in: context.room, for: context.name)
    name = context.name
    invitation = EventListenerApp.Ring(token: answer.token, meetingID: answer.room, participantID: answer.participantID)
    screen = AzureCallViewController(model: model)
    screen.view.frame = CGRect(x: 0, y: 0, width: 960, height: 540)
    context.chat = Self.chat(topic: "CHAT")
    context.watch(model, "CallModel")
    context.watch(screen, "CallViewController")
  }

  /// The data channel of a topic: a kind, a number of eight bytes, a time of four, the text.
  static func chat(topic: String) -> ChatFormat {
    ChatFormat(
      topic: "koine.channel.\(AzureCall.channel(of: topic))",
      encode: { [UInt8](repeating: 0, count: 13) + Array($0.utf8) },
      decode: { $0.first == 0 && $0.count >= 13 ? String(decoding: $0[13...], as: UTF8.self) : nil })
  }

  var view: UIView { screen.view }
  private var state: AzureCallState { model.state }
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
      AzureCallText.left: "left", AzureCallText.connectionLost: "lost",
      AzureCallText.connectionRestored: "reconnected",
      AzureCallText.text(for: AzureEnd.removed): "removed", AzureCallText.text(for: AzureEnd.closed): "closed",
      AzureCallText.text(for: AzureFailure.rejected): "refused",
      AzureCallText.text(for: AzureFailure.forbidden): "notPermitted",
      AzureCallText.text(for: AzureFailure.failed): "failed",
      AzureCallText.text(for: AzureFailure.camera): "cameraFailed",
      AzureCallText.text(for: AzureFailure.cameraDenied): "cameraDenied",
      AzureCallText.text(for: AzureFailure.microphoneDenied): "microphoneDenied",
    ]
    return cases[text] ?? text
  }
}
