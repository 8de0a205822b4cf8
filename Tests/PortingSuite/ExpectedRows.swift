import KoineTesting

/// The documented differences between the reference apps and their ports to other vendors' styles. A port to the common layer has none.
enum ExpectedRows {
  /// A difference that some pairs have for the same reason.
  struct Row: Sendable {
    let pairs: [String]
    let fact, step: String
    let comparison: PortingComparison
    let old, new: String
    let reason, source: String

    init(
      _ pairs: [String], _ fact: String, _ step: String, _ comparison: PortingComparison, _ old: String, _ new: String,
      _ reason: String, _ source: String
    ) {
      (self.pairs, self.fact, self.step, self.comparison) = (pairs, fact, step, comparison)
      (self.old, self.new, self.reason, self.source) = (old, new, reason, source)
    }
  }

  static func rows(of pair: String) -> [ExpectedDifference] {
    all.filter { $0.pairs.contains(pair) }.map { row in
      ExpectedDifference(
        pair: pair, fact: row.fact, step: row.step, comparison: row.comparison, old: row.old, new: row.new,
        reason: row.reason, source: row.source)
    }
  }

  private static let faults = "Docs/adopt.md, What goes wrong"
  private static let mutes = "Docs/porting.md, know which participants are muted"
  private static let streams = "Docs/porting.md, choose the received streams"
  private static let endsOfCalls = "Docs/styles/call-agent.md, Ends of a call"

  private static let hungUp = "A removed attendee and one whose meeting is closed both get audioServerHungup."
  private static let rejected = "A refused credential and a missing permission both give audioAuthenticationRejected."
  private static let refusedOrRemoved =
    "A stage reports refusal, missing permission and removal with the one error 1026."
  private static let noLeaving =
    "A stage reports the end before leave() returns: there is no time in which the app is leaving."
  private static let firstLook =
    "A meeting reports an attendee that is muted 200 ms after it has joined, and until then it counts as not muted."
  private static let looks =
    "A meeting looks at its attendees five times a second: the moment decides whether a look is before an attendee's sound."
  private static let patience =
    "A meeting tries for 180 s to come back, and VideoSDK, a stage and a call for 60 s: then the tiles go."
  private static let streamsAtOnce =
    "VideoSDK and a call have the streams of a participant with its arrival; a stage adds them once it has subscribed."
  private static let fullOrForbidden = "A call that is full and one that the user may not join both end with 403."
  private static let signIn = "A sign-in that fails for a missing permission has no code of its own."

  /// At most 25.
  static let all: [Row] = [
    // To a meeting.
    Row(
      ["event-listener → meeting-session"], "people.Cleo.muted", "Cleo joins", .between, "– → yes → no",
      "– → no → yes → no", firstLook, mutes),
    Row(
      ["event-listener → meeting-session"], "people.Bea.muted", "the app joins", .between, "– → yes", "– → no → yes",
      firstLook, mutes),
    Row(
      ["event-listener → meeting-session"], "people.Bea.muted", "Bea gets the network back", .between, "– → yes → no",
      "– → no", firstLook, mutes),
    Row(
      ["event-listener → meeting-session"], "end", "the room is closed", .settled, "closed", "removed", hungUp, faults),
    Row(
      ["event-listener → meeting-session"], "end", "the app joins", .settled, "notPermitted", "refused", rejected,
      faults),
    Row(
      ["stage-strategy → meeting-session"], "end", "the room is closed", .settled, "closed", "refusedOrRemoved", hungUp,
      faults),
    Row(["call-agent → meeting-session"], "end", "the room is closed", .settled, "ended", "removed", hungUp, faults),
    // To a stage.
    Row(
      ["call-agent → meeting-session", "call-agent → stage-strategy"], "end", "the app joins", .settled, "failed",
      "refused",
      "A meeting and a stage have one error for a refused credential and a missing permission; a call agent's sign-in fails.",
      faults
    ),
    Row(
      ["event-listener → stage-strategy", "event-listener → stage-strategy → event-listener"], "end", "the app joins",
      .settled, "notPermitted", "refused", refusedOrRemoved, faults),
    Row(
      ["event-listener → stage-strategy", "call-agent → stage-strategy"], "phase", "the app leaves", .between,
      "inCall → leaving → ended", "inCall → ended", noLeaving,
      "Docs/styles/stage-strategy.md, Where this differs from the vendor's"
    ),
    // To VideoSDK.
    Row(
      ["call-agent → event-listener"], "end", "the app joins", .settled, "failed", "full",
      "VideoSDK takes the token when the app joins: a missing permission ends the call with 403, as a full one. Signing in fails with 0.",
      endsOfCalls
    ),
    // To a call.
    Row(
      ["event-listener → call-agent"], "end", "the app joins", .settled, "full", "notPermitted", fullOrForbidden,
      endsOfCalls),
    Row(
      ["event-listener → call-agent"], "end", "the app joins", .settled, "notPermitted", "failed", signIn, endsOfCalls),
    Row(
      ["stage-strategy → call-agent"], "end", "the app joins", .settled, "full", "refusedOrRemoved", fullOrForbidden,
      endsOfCalls),
    Row(
      ["stage-strategy → call-agent"], "end", "the app joins", .settled, "refusedOrRemoved", "failed", signIn,
      endsOfCalls),
    Row(
      ["meeting-session → call-agent"], "end", "the app joins", .settled, "refused", "failed", signIn, endsOfCalls),
    // From a stage.
    Row(fromStage, "people.Bea.muted", "the app joins", .between, "– → yes → no", "– → no", streamsAtOnce, streams),
    Row(fromStage, "people.Bea.video", "the app joins", .between, "– → no → yes", "– → yes", streamsAtOnce, streams),
    Row(fromStage, "people.Cleo.muted", "the app joins", .between, "– → yes → no", "– → no", streamsAtOnce, streams),
    Row(fromStage, "people.Cleo.video", "the app joins", .between, "– → no → yes", "– → yes", streamsAtOnce, streams),
    Row(fromStage, "people.Cleo.shares", "the app joins", .between, "– → no → yes", "– → yes", streamsAtOnce, streams),
    // From a meeting.
    Row(
      fromMeeting, "the screen shows Bea", "220 s pass", .timing, "– after 189500 ms", "– after 69500 ms", patience,
      faults),
    Row(
      fromMeeting, "the screen shows Cleo", "220 s pass", .timing, "– after 189500 ms", "– after 69500 ms", patience,
      faults),
    Row(
      ["meeting-session → event-listener"], "people.Bea.muted", "Bea gets the network back", .between,
      "– → no → yes → no", "– → no", looks, mutes),
  ]

  private static let fromMeeting = ["meeting-session → event-listener", "meeting-session → call-agent"]
  private static let fromStage = ["stage-strategy → event-listener", "stage-strategy → call-agent"]
}
