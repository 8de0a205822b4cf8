import KoineTesting

/// The documented differences between the reference apps and the hand-written layer over the common layer (`all`), and between an app and
/// its port to another style.
enum ExpectedRows {
  static func all() throws -> ExpectedDifferences { try ExpectedDifferences(callAgent + meeting + stage) }

  private static let faults = "Docs/adopt.md, What goes wrong"

  private static func row(
    _ app: ReferenceApp, _ fact: String, _ step: String, _ old: String, _ new: String, _ reason: String,
    _ source: String = faults
  ) -> ExpectedDifference {
    row(app, fact, step, .settled, old, new, reason, source)
  }

  private static func row(
    _ app: ReferenceApp, _ fact: String, _ step: String, _ comparison: PortingComparison, _ old: String,
    _ new: String, _ reason: String, _ source: String = faults
  ) -> ExpectedDifference {
    ExpectedDifference(
      pair: app.pair, fact: fact, step: step, comparison: comparison, old: old, new: new, reason: reason, source: source
    )
  }

  private static let notTold = "An Azure call reports no interrupted connection; the common layer does."
  private static let agentRoom = "Azure gives a closed call the code 0, as the end of a call that the user left."
  private static let agentError =
    "Azure's error for a missing permission has the code 0, which no app can tell from a failure."
  private static let callAgent = [
    row(.callAgent, "phase", "20 s pass", "inCall", "reconnecting", notTold),
    row(.callAgent, "phase", "220 s pass", .between, "inCall → ended", "inCall → reconnecting → ended", notTold),
    row(
      .callAgent, "phase", "the server restarts", .between, "inCall", "inCall → reconnecting → inCall", notTold),
    row(
      .callAgent, "phase", "the network address changes", .between, "inCall", "inCall → reconnecting → inCall", notTold),
    row(.callAgent, "end", "the room is closed", "ended", "closed", agentRoom),
    row(.callAgent, "end", "the app joins", "failed", "notPermitted", agentError),
  ]

  private static let hungUp = "A removed attendee and one whose meeting is closed both get audioServerHungup."
  private static let rejected = "A refused credential and a missing permission both give audioAuthenticationRejected."
  private static let unmuted = "An attendee without a mute callback is not muted; attendeesDidMute may follow."
  private static let tileLater = "A meeting's tile is added with its first picture."
  private static let patience = "A meeting tries to reconnect for 195 s, the common layer for 75 s."
  private static let mutes = "Docs/porting.md, know which participants are muted"
  private static let firstPicture = "Docs/porting.md, know that the first picture is drawn"
  private static let meeting = [
    row(.meetingSession, "end", "the app is removed", "endedOrRemoved", "removed", hungUp),
    row(.meetingSession, "end", "the room is closed", "endedOrRemoved", "closed", hungUp),
    row(.meetingSession, "end", "the app joins", "refused", "notPermitted", rejected),
    row(
      .meetingSession, "people.Bea.muted", "the app joins", .between, "– → no → yes", "– → yes", unmuted, mutes),
    row(
      .meetingSession, "people.Cleo.muted", "Cleo joins", .between, "– → no → yes → no", "– → yes → no", unmuted,
      mutes),
    row(
      .meetingSession, "people.Bea.muted", "Bea gets the network back", .between, "– → no → yes → no", "– → yes → no",
      unmuted, mutes),
    row(
      .meetingSession, "people.Bea.muted", "Bea gets the network back", .between, "– → no", "– → yes → no", unmuted,
      mutes),
    row(
      .meetingSession, "people.Bea.video", "the app joins", .between, "– → no → yes", "– → yes", tileLater,
      firstPicture),
    row(
      .meetingSession, "people.Cleo.video", "the app joins", .between, "– → no → yes", "– → yes", tileLater,
      firstPicture),
    row(
      .meetingSession, "the screen shows Bea", "220 s pass", .timing, "– after 189500 ms", "– after 69500 ms", patience,
      "Docs/adopt.md, Outages"),
    row(
      .meetingSession, "the screen shows Cleo", "220 s pass", .timing, "– after 189500 ms", "– after 69500 ms",
      patience, "Docs/adopt.md, Outages"),
  ]

  private static let refusedOrRemoved =
    "A stage reports refusal, missing permission and removal with the one error 1026."
  private static let streamsLater = "A stage reports the participant first and adds the streams once it has subscribed."
  private static let stageStyle = "Docs/porting.md, choose the received streams"
  private static let stage = [
    row(.stageStrategy, "end", "the app is removed", "refusedOrRemoved", "removed", refusedOrRemoved),
    row(.stageStrategy, "end", "the app joins", "refusedOrRemoved", "notPermitted", refusedOrRemoved),
    row(.stageStrategy, "end", "the app joins", "refusedOrRemoved", "refused", refusedOrRemoved),
    row(
      .stageStrategy, "people.Bea.muted", "the app joins", .between, "– → yes → no", "– → no", streamsLater, stageStyle),
    row(
      .stageStrategy, "people.Bea.video", "the app joins", .between, "– → no → yes", "– → yes", streamsLater, stageStyle
    ),
    row(
      .stageStrategy, "people.Cleo.muted", "the app joins", .between, "– → yes → no", "– → no", streamsLater, stageStyle
    ),
    row(
      .stageStrategy, "people.Cleo.shares", "the app joins", .between, "– → no → yes", "– → yes", streamsLater,
      stageStyle),
    row(
      .stageStrategy, "people.Cleo.video", "the app joins", .between, "– → no → yes", "– → yes", streamsLater,
      stageStyle),
  ]

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
}
