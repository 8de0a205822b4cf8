import Combine
import KoineTesting
import UIKit

@testable import CallAgentApp

/// The reference app of the call-agent style, as `koine port --to koine` has written it, behind the seam.
@MainActor
final class PortedAgentLayer: CallLayer {
  private let model: KoineAgentCallModel
  private let screen: KoineAgentCallViewController
  private let credential: CallAgentCredential
  private let name: String
  private var wantsCall = false
  private var hasBegun = false
  private var subscription: AnyCancellable?

  init(in context: PortingContext) throws {
    name = context.name
    credential = try context.room.credential(.callAgent, for: context.name)
    model = KoineAgentCallModel(clock: context.clock)
    screen = KoineAgentCallViewController(model: model)
    screen.loadViewIfNeeded()
    context.chat = CallAgentLayer.chat
    context.watch(model, "CallModel")
    context.watch(screen, "CallViewController")
    // `@Published` sends before the change, the main queue's next turn is after it.
    subscription = model.$phase.sink { [weak self] _ in onMain { MainActor.assumeIsolated { self?.phaseChanged() } } }
  }

  private func phaseChanged() {
    guard wantsCall else { return }
    if model.phase == .ready {
      wantsCall = false
      model.join(room: credential.roomID)
    } else if model.phase == .signedOut {
      wantsCall = false
    }
  }

  var view: UIView { screen.view }

  func join() {
    hasBegun = true
    wantsCall = true
    model.signIn(token: credential.token, name: name)
  }

  func leave() { model.leave() }
  func setMicrophoneOn(_ isOn: Bool) { model.setMuted(!isOn) }
  func setCameraOn(_ isOn: Bool) { isOn ? model.turnCameraOn() : model.turnCameraOff() }
  func switchCamera() { model.switchCamera() }
  func setSharing(_ isOn: Bool) { isOn ? model.startSharing() : model.stopSharing() }
  func send(_ text: String) { _ = model.chat.send(text) }

  var facts: CallFacts {
    let tiles = model.video.tiles
    return CallFacts(
      phase: phase, end: model.notice.map(CallAgentLayer.caseOf), isMicrophoneOn: !model.isMuted,
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
}
