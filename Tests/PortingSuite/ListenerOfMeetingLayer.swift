import Foundation
import Koine
import KoineAppServers
import KoineBackends
import KoineTesting
import UIKit

@testable import MeetingSessionApp

/// The reference app of the meeting-session style, as `koine port --to event-listener` has written it, behind the seam.
@MainActor
final class ListenerOfMeetingLayer: CallLayer {
  private let model: ListenerMeetingCallModel
  private let screen: ListenerMeetingCallViewController
  private var hasBegun = false

  init(in context: PortingContext) throws {
    let json = try ServerAnswer(.eventListener, in: context.room, for: context.name).joinInfo()
    let info = try JSONDecoder().decode(ListenerMeetingJoinInfo.self, from: Data(json.utf8))
    model = try ListenerMeeting.$after.withValue(context.room.waiting(for: context.name)) {
      ListenerMeetingCallModel(joining: info, withCamera: false)
    }
    screen = ListenerMeetingCallViewController(model: model)
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
    let end = { (end: ListenerMeeting.End) in ListenerMeetingMeetingText.end(end) }
    let failure = { (failure: ListenerMeeting.Failure) in ListenerMeetingMeetingText.failure(failure) }
    let cases = [
      end(.left): "left", end(.removed): "endedOrRemoved", end(.rejected): "refused", end(.full): "full",
      end(.failed): "failed", end(.lost): "lost", ListenerMeetingMeetingText.reconnected: "reconnected",
      failure(.cameraDenied): "cameraDenied", failure(.microphoneDenied): "microphoneDenied",
    ]
    return cases[text] ?? (text.hasSuffix("lost the connection.") ? "personLost" : text)
  }
}

extension TestRoom {
  /// Waits by the room's time, and then calls a function on the main queue.
  func waiting(for name: String) throws -> @Sendable (Double, @escaping @Sendable () -> Void) -> Void {
    let world = try enter(as: name) { try Backends.world(room: id) }
    return { seconds, work in
      let lane = world.backend.scheduler.lane("waiting")
      lane.post(at: lane.scheduler.now + .milliseconds(Int(seconds * 1_000))) { world.delivery.deliver(work) }
    }
  }
}
