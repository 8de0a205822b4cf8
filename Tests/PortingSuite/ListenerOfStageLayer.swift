import Foundation
import KoineAppServers
import KoineTesting
import UIKit

@testable import StageStrategyApp

/// The reference app of the stage-strategy style, as `koine port --to event-listener` has written it, behind the seam.
@MainActor
final class ListenerOfStageLayer: CallLayer {
  private let model: ListenerStageStageModel
  private let screen: ListenerStageCallViewController
  private let token: String

  init(in context: PortingContext) throws {
    token = try ServerAnswer(.eventListener, in: context.room, for: context.name).text(forAppOf: .stageStrategy)
    model = ListenerStageStageModel()
    screen = ListenerStageCallViewController(model: model)
    screen.loadViewIfNeeded()
    context.watch(model, "StageModel")
    context.watch(screen, "ListenerStageCallViewController")
  }

  var view: UIView { screen.view }
  func join() { model.join(token: token) }
  func leave() { model.leave() }
  func setMicrophoneOn(_ isOn: Bool) { if model.isMuted == isOn { model.toggleMute() } }
  func setCameraOn(_ isOn: Bool) { if model.isCameraOff == isOn { model.toggleCamera() } }
  func switchCamera() { model.switchCamera() }
  func setSharing(_ isOn: Bool) { if model.isSharing != isOn { model.toggleShare() } }
  func send(_ text: String) {}

  var facts: CallFacts {
    guard phase != "idle" else { return CallFacts(phase: "idle") }
    if case .ended(let text) = model.phase { return CallFacts(phase: "ended", end: Self.caseOf(text)) }
    let others = model.members.filter { !$0.isLocal }
    return CallFacts(
      phase: phase, end: model.notice.map(Self.caseOf), isMicrophoneOn: !model.isMuted, isCameraOn: !model.isCameraOff,
      isSharing: model.isSharing,
      people: others.map {
        CallFacts.Person(name: $0.name, isMuted: $0.isMuted, hasVideo: !$0.isCameraOff, isSharing: $0.isSharing)
      }, activeSpeaker: others.first(where: \.isSpeaking)?.name)
  }

  private var phase: String {
    switch model.phase {
    case .idle: "idle"
    case .connecting: "joining"
    case .connected: "inCall"
    case .reconnecting: "reconnecting"
    case .ended: "ended"
    }
  }

  private static func caseOf(_ text: String) -> String {
    let cases = [
      ListenerStageStageText.left: "left", ListenerStageStageText.replaced: "replaced",
      ListenerStageStageText.cameraFails: "cameraFailed",
      ListenerStageStageText.microphoneFails: "microphoneFailed", ListenerStageStageText.noCamera: "noCamera",
      ListenerStageStageText.cameraDenied: "cameraDenied", "The stage is full.": "full",
      "The host does not let you in, or has removed you.": "refusedOrRemoved",
      "The host has closed the stage.": "closed", "The connection to the stage is lost.": "lost",
      "The stage does not answer as it should. Try again later.": "failed",
    ]
    return cases[text] ?? text
  }
}
