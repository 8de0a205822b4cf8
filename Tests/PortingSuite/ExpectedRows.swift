import KoineTesting

/// The documented differences between the reference apps and their ports to other vendors' styles. A port to the common layer has none.
enum ExpectedRows {
  /// Of all pairs: at most 25.
  static let all =
    meetingOfAgent + meetingOfListener + stageOfListener + meetingOfStage + listenerOfStage
    + listenerOfAgent + stageOfAgent
    + azureOfListener + azureOfStage

  private static let faults = "Docs/adopt.md, What goes wrong"
  private static let mutes = "Docs/porting.md, know which participants are muted"
  private static let hungUp = "A removed attendee and one whose meeting is closed both get audioServerHungup."
  private static let rejected = "A refused credential and a missing permission both give audioAuthenticationRejected."

  private static let refusedOrRemoved =
    "A stage reports refusal, missing permission and removal with the one error 1026."
  private static let noLeaving =
    "A stage reports the end before leave() returns: there is no time in which the app is leaving."
  private static let stageDiffers = "Docs/styles/stage-strategy.md, Where this differs from the vendor's"

  static let meetingOfListenerPair = "event-listener → meeting-session"
  private static let firstLook =
    "A meeting reports an attendee that is muted 200 ms after it has joined, and until then it counts as not muted."

  /// The documented differences between the reference app of the event listener style and its port to the meeting session style.
  static let meetingOfListener = [
    (
      "people.Cleo.muted", "Cleo joins", PortingComparison.between, "– → yes → no", "– → no → yes → no", firstLook,
      mutes
    ),
    ("people.Bea.muted", "the app joins", .between, "– → yes", "– → no → yes", firstLook, mutes),
    ("people.Bea.muted", "Bea gets the network back", .between, "– → yes → no", "– → no", firstLook, mutes),
    ("end", "the room is closed", .settled, "closed", "removed", hungUp, faults),
    ("end", "the app joins", .settled, "notPermitted", "refused", rejected, faults),
  ].map { fact, step, comparison, old, new, reason, source in
    ExpectedDifference(
      pair: meetingOfListenerPair, fact: fact, step: step, comparison: comparison, old: old, new: new, reason: reason,
      source: source)
  }

  static let meetingOfStagePair = "stage-strategy → meeting-session"
  private static let otherSize =
    "A meeting chooses the size of its video itself: of other packets others are lost, so that a picture freezes at another time."

  /// The documented differences between the reference app of the stage strategy style and its port to the meeting session style.
  static let meetingOfStage = [
    ExpectedDifference(
      pair: meetingOfStagePair, fact: "Bea sees the app", step: "Bea mutes", comparison: .timing, old: "stays yes",
      new: "– after 2000 ms", reason: otherSize, source: "Docs/porting.md, To the meeting session style"),
    ExpectedDifference(
      pair: meetingOfStagePair, fact: "end", step: "the room is closed", comparison: .settled, old: "closed",
      new: "refusedOrRemoved", reason: hungUp, source: faults),
  ]

  static let meetingOfAgentPair = "call-agent → meeting-session"

  /// The documented differences between the reference app of the call agent style and its port to the meeting session style.
  static let meetingOfAgent = [
    ("end", "the room is closed", "ended", "removed", hungUp), ("end", "the app joins", "failed", "refused", rejected),
  ].map { fact, step, old, new, reason in
    ExpectedDifference(
      pair: meetingOfAgentPair, fact: fact, step: step, comparison: .settled, old: old, new: new, reason: reason,
      source: faults)
  }

  static let stageOfListenerPair = "event-listener → stage-strategy"

  /// The documented differences between the reference app of the event listener style and its port to the stage strategy style.
  static let stageOfListener = [
    ExpectedDifference(
      pair: stageOfListenerPair, fact: "phase", step: "the app leaves", comparison: .between,
      old: "inCall → leaving → ended", new: "inCall → ended",
      reason: noLeaving, source: stageDiffers),
    ExpectedDifference(
      pair: stageOfListenerPair, fact: "end", step: "the app joins", comparison: .settled, old: "notPermitted",
      new: "refused", reason: refusedOrRemoved, source: faults),
  ]

  static let listenerOfStagePair = "stage-strategy → event-listener"

  /// None.
  static let listenerOfStage: [ExpectedDifference] = []

  static let listenerOfAgentPair = "call-agent → event-listener"

  /// The documented differences between the reference app of the call agent style and its port to the event listener style.
  static let listenerOfAgent = [
    ExpectedDifference(
      pair: listenerOfAgentPair, fact: "end", step: "the app joins", comparison: .settled, old: "failed", new: "full",
      reason:
        "VideoSDK takes the token when the app joins: a missing permission ends the call with 403, as a full one. Signing in fails with 0.",
      source: "Docs/styles/call-agent.md, Ends of a call")
  ]

  static let stageOfAgentPair = "call-agent → stage-strategy"

  /// The documented differences between the reference app of the call agent style and its port to the stage strategy style.
  static let stageOfAgent = [
    ExpectedDifference(
      pair: stageOfAgentPair, fact: "end", step: "the app joins", comparison: .settled, old: "failed", new: "refused",
      reason: refusedOrRemoved, source: faults),
    ExpectedDifference(
      pair: stageOfAgentPair, fact: "phase", step: "the app leaves", comparison: .between,
      old: "inCall → leaving → ended", new: "inCall → ended", reason: noLeaving, source: stageDiffers),
  ]
  static let azureOfListenerPair = "event-listener → call-agent"

  /// The documented differences between the reference app of the event listener style and its port to the call agent style.
  static let azureOfListener = azureRefusals(azureOfListenerPair, full: "notPermitted", refused: "notPermitted")

  private static func azureRefusals(_ pair: String, full: String, refused: String) -> [ExpectedDifference] {
    [
      ("full", full, "A call that is full and one that the user may not join both end with 403."),
      (refused, "failed", "A sign-in that fails for a missing permission has no code of its own."),
    ].map { old, new, reason in
      ExpectedDifference(
        pair: pair, fact: "end", step: "the app joins", comparison: .settled, old: old, new: new, reason: reason,
        source: "Docs/styles/call-agent.md, Ends of a call")
    }
  }

  static let azureOfStagePair = "stage-strategy → call-agent"

  /// The documented differences between the reference app of the stage strategy style and its port to the call agent style.
  static let azureOfStage = azureRefusals(azureOfStagePair, full: "refusedOrRemoved", refused: "refusedOrRemoved")
}
