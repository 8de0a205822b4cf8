import Foundation
import Koine
import KoineTesting
import UIKit

@testable import MeetingSessionApp

/// The reference app of the meeting-session style, as `koine port --to koine` has written it, behind the seam.
@MainActor
final class PortedMeetingLayer: CallLayer {
  private let model: KoineMeetingCallModel
  private let screen: KoineMeetingCallViewController
  private var hasBegun = false

  init(in context: PortingContext) throws {
    let json = try context.room.credential(.meetingSession, for: context.name).joinInfoJSON
    let info = try JSONDecoder().decode(KoineMeetingJoinInfo.self, from: Data(json.utf8))
    model = KoineMeetingCallModel(joining: info, withCamera: false)
    screen = KoineMeetingCallViewController(model: model)
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
    let failed = { (code: Failure.Code) in KoineMeetingMeetingText.end(.refused(Failure(code, ""))) }
    let cases = [
      KoineMeetingMeetingText.end(.left): "left", KoineMeetingMeetingText.end(.removed): "endedOrRemoved",
      failed(.unauthorized): "refused", failed(.roomFull): "full", failed(.internal): "failed",
      KoineMeetingMeetingText.end(.lost): "lost", KoineMeetingMeetingText.reconnected: "reconnected",
      KoineMeetingMeetingText.failure(Failure(.cameraDenied, "")): "cameraDenied",
      KoineMeetingMeetingText.failure(Failure(.microphoneDenied, "")): "microphoneDenied",
    ]
    return cases[text] ?? (text.hasSuffix("lost the connection.") ? "personLost" : text)
  }
}
