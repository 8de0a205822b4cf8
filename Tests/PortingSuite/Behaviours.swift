import Koine
import KoineTesting

extension ReferenceApp {
  /// What the app does with a vendor's SDK, as a layer over the common layer has to do it.
  @MainActor var behaviour: NativeLayer.Behaviour {
    switch self {
    case .callAgent:
      NativeLayer.Behaviour(
        showsLeaving: true, followsCamera: true, staysAfterCall: true, chat: CallAgentLayer.chat,
        caseOf: Self.callAgentCase)
    case .stageStrategy: NativeLayer.Behaviour(startsWithCamera: true, caseOf: Self.plainCase)
    case .meetingSession:
      NativeLayer.Behaviour(
        noticesReturn: true, noticesLostPeople: true, clearsNotice: true, asksForCamera: true, caseOf: Self.plainCase)
    case .eventListener:
      NativeLayer.Behaviour(
        startsWithCamera: true, showsLeaving: true, noticesReturn: true, showsDevicesOnceInCall: true,
        chat: .topic("CHAT"), caseOf: Self.plainCase)
    }
  }

  @MainActor private static func plainCase(_ reason: EndReason) -> String {
    switch reason {
    case .left: "left"
    case .refused(let failure):
      switch failure.code {
      case .unauthorized: "refused"
      case .forbidden: "notPermitted"
      case .roomFull: "full"
      default: "failed"
      }
    case .lost: "lost"
    case .removed, .removedByService: "removed"
    case .duplicate: "replaced"
    case .roomClosed, .roomClosedByService: "closed"
    case .expired: "expired"
    }
  }

  @MainActor private static func callAgentCase(_ reason: EndReason) -> String {
    reason == .left ? "ended" : plainCase(reason)
  }

  /// The name of the pair of the app's layer and the layer over the common layer.
  var pair: String { "\(rawValue) → koine" }

  /// Scenarios that the hand-written layer does not port: their differences could not be excused.
  /// - `background` of the stage style: the app stops publishing and receives audio only. The hand-written layer does not do that.
  private var notPorted: Set<String> {
    switch self {
    case .callAgent, .eventListener, .meetingSession: []
    case .stageStrategy: ["background"]
    }
  }

  var portedScenarios: [PortingScenario] { PortingScenario.all.filter { !notPorted.contains($0.id) } }

  /// What the app shows. Of several people that speak at once, each vendor marks another one by its own measure, so the mark is compared
  /// only where both layers get it from the room.
  @MainActor func facts(of layer: any CallLayer) -> CallFacts {
    var facts = layer.facts
    if self != .eventListener { facts.activeSpeaker = nil }
    return facts
  }
}
