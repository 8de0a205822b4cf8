import Combine
import Foundation
import KoineAppServers
import KoineTesting
import UIKit

@testable import CallAgentApp

/// The reference app of the call-agent style, as `koine port --to stage-strategy` has written it, behind the seam.
@MainActor
final class StageOfAgentLayer: CallLayer {
  private let model: StageAgentCallModel
  private let screen: StageAgentCallViewController
  private let token: String, room: String, name: String
  private var wantsCall = false
  private var hasBegun = false
  private var subscription: AnyCancellable?

  init(in context: PortingContext) throws {
    name = context.name
    let answer = try ServerAnswer(.stageStrategy, in: context.room, for: context.name)
    (token, room) = (answer.text(forAppOf: .callAgent), answer.room)
    model = StageAgentCallModel(clock: context.clock)
    screen = StageAgentCallViewController(model: model)
    screen.loadViewIfNeeded()
    context.chat = .topic("channel-20")
    context.watch(model, "CallModel")
    context.watch(screen, "CallViewController")
    // `@Published` sends before the change, the main queue's next turn is after it.
    subscription = model.$phase.sink { [weak self] _ in onMain { MainActor.assumeIsolated { self?.phaseChanged() } } }
  }

  private func phaseChanged() {
    guard wantsCall else { return }
    if model.phase == .ready {
      wantsCall = false
      model.join(room: room)
    } else if model.phase == .signedOut {
      wantsCall = false
    }
  }

  var view: UIView { screen.view }

  func join() {
    hasBegun = true
    wantsCall = true
    model.signIn(token: token, name: name)
  }

  func leave() { model.leave() }
  func setMicrophoneOn(_ isOn: Bool) { model.setMuted(!isOn) }
  func setCameraOn(_ isOn: Bool) { isOn ? model.turnCameraOn() : model.turnCameraOff() }
  func switchCamera() { model.switchCamera() }
  func setSharing(_ isOn: Bool) { isOn ? model.startSharing() : model.stopSharing() }
  /// A stage has no messages.
  func send(_ text: String) {}

  var facts: CallFacts {
    let tiles = model.video.tiles
    return CallFacts(
      phase: phase, end: model.notice.map(Self.caseOf), isMicrophoneOn: !model.isMuted,
      isCameraOn: model.camera != nil, isSharing: model.isSharing,
      people: model.roster.dropFirst().map { entry in
        CallFacts.Person(
          name: entry.name, isMuted: entry.isMuted, hasVideo: tiles.contains { $0.title == entry.name && !$0.isShare },
          isSharing: tiles.contains { $0.title == "\(entry.name)’s screen" && $0.isShare })
      },
      messages: model.chat.lines.map(message), activeSpeaker: model.activeSpeaker)
  }

  private var phase: String {
    switch model.phase {
    case .signedOut: hasBegun ? "ended" : "idle"
    case .signingIn: "joining"
    case .ready: wantsCall ? "joining" : "ended"
    case .inCall(.connected): "inCall"
    case .inCall(.leaving), .inCall(.ended): "leaving"
    case .inCall: "joining"
    }
  }

  private static func caseOf(_ notice: String) -> String {
    // A stage takes the token when the app joins, not when it signs in.
    let cases = [
      "The sign-in data is not accepted. Please sign in again.": "refused",
      "The service has a problem. Please try again later.": "failed",
    ]
    return cases[notice] ?? CallAgentLayer.caseOf(notice)
  }
}
