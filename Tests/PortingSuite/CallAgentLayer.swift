import AzureCommunicationCalling
import Combine
import KoineTesting

@testable import CallAgentApp

/// The reference app of the call-agent style behind the seam. Its tabs stay on screen after a call.
@MainActor
final class CallAgentLayer: CallLayer {
  private let model: CallModel
  private let screen: CallViewController
  private let credential: CallAgentCredential
  private let name: String
  private var wantsCall = false
  private var hasBegun = false
  private var subscription: AnyCancellable?

  /// The app's data channel 20: a kind, a number of eight bytes, a time of four, the text.
  static let chat = ChatFormat(
    topic: "koine.channel.20", encode: { [UInt8](repeating: 0, count: 13) + Array($0.utf8) },
    decode: { $0.first == 0 && $0.count >= 13 ? String(decoding: $0[13...], as: UTF8.self) : nil })

  init(in context: PortingContext) throws {
    name = context.name
    credential = try context.room.credential(.callAgent, for: context.name)
    model = CallModel(clock: context.clock)
    screen = CallViewController(model: model)
    screen.loadViewIfNeeded()
    context.chat = Self.chat
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
    case .inCall(.disconnecting), .inCall(.disconnected): "leaving"
    case .inCall: "joining"
    }
  }

  static func caseOf(_ notice: String) -> String {
    let cases = [
      "You were removed from the call.": "removed", "The call has ended.": "ended",
      "The call is full, or you are not allowed to join it.": "full", "The camera was unplugged.": "cameraUnplugged",
      "The connection was lost. Please check your network and call again.": "lost",
      "Signing in has failed: The sign-in data is not accepted. Please sign in again.": "refused",
    ]
    if let known = cases[notice] { return known }
    if notice.hasPrefix("Signing in has failed") { return "failed" }
    if notice.hasPrefix("Turning on the camera") || notice.hasSuffix("The picture does not start.") {
      return "cameraFailed"
    }
    return notice
  }
}
