import AmazonChimeSDK
import KoineTesting

@testable import MeetingSessionApp

/// The reference app of the meeting-session style behind the seam. Its join screen takes the call screen's place after a meeting.
@MainActor
final class MeetingLayer: CallLayer {
  private let model: CallModel
  private let screen: CallViewController
  private var hasBegun = false

  init(in context: PortingContext) throws {
    let json = try context.room.credential(.meetingSession, for: context.name).joinInfoJSON
    let info = try JSONDecoder().decode(JoinInfo.self, from: Data(json.utf8))
    model = CallModel(joining: info, withCamera: false)
    screen = CallViewController(model: model)
    screen.loadViewIfNeeded()
    context.watch(model, "CallModel")
    context.watch(screen, "CallViewController")
  }

  var view: UIView { screen.view }

  func join() {
    hasBegun = true
    model.join()
  }

  func leave() { model.leave() }
  func setMicrophoneOn(_ isOn: Bool) { model.setMuted(!isOn) }
  func setCameraOn(_ isOn: Bool) { model.setCameraOn(isOn) }
  func switchCamera() { model.switchCamera() }
  func setSharing(_ isOn: Bool) { isOn ? model.startSharing() : model.stopSharing() }
  func send(_ text: String) { model.send(text) }

  var facts: CallFacts {
    guard phase != "idle" else { return CallFacts(phase: "idle") }
    if case .ended(let text) = model.phase { return CallFacts(phase: "ended", end: Self.caseOf(text)) }
    let others = model.roster.entries.filter { !$0.isLocal }
    let titles = model.tiles.map(model.title)
    return CallFacts(
      phase: phase, end: model.notice.map(Self.caseOf), isMicrophoneOn: !model.isMuted, isCameraOn: model.isCameraOn,
      isSharing: model.isSharing,
      people: others.map {
        CallFacts.Person(
          name: $0.name, isMuted: $0.isMuted, hasVideo: titles.contains($0.name), isSharing: $0.isSharing)
      },
      messages: model.messages.map { CallFacts.Message(from: $0.sender, text: $0.text) },
      activeSpeaker: others.first(where: \.isSpeaking)?.name)
  }

  private var phase: String {
    switch model.phase {
    case .connecting: hasBegun ? "joining" : "idle"
    case .inMeeting: "inCall"
    case .reconnecting: "reconnecting"
    case .ended: "ended"
    }
  }

  private static func caseOf(_ text: String) -> String {
    let cases = [
      MeetingText.end(.ok): "left", MeetingText.end(.audioServerHungup): "endedOrRemoved",
      MeetingText.end(.audioAuthenticationRejected): "refused", MeetingText.end(.audioCallAtCapacity): "full",
      MeetingText.end(.audioInternalServerError): "failed", MeetingText.end(.audioDisconnected): "lost",
      MeetingText.reconnected: "reconnected", MeetingText.failure(PermissionError.videoPermissionError): "cameraDenied",
      MeetingText.failure(PermissionError.audioPermissionError): "microphoneDenied",
    ]
    return cases[text] ?? (text.hasSuffix("lost the connection.") ? "personLost" : text)
  }
}
