import CallModel
import KoinePorting

/// The functions of a meeting that is ported to a vendor's style: one that begins to observe, and one for what `MeetingSourceHelper` reports.
struct MeetingSourceDispatch {
  /// The facts that the helper reports in every style.
  static let facts: Set<Fact> = [
    .connecting, .joined, .interrupted, .left, .videoConnecting, .videoJoined, .videoLeft, .cameraAllowed,
    .participantJoined, .participantLeft, .participantDropped, .participantMuted, .participantUnmuted, .volumesChanged,
    .tileAdded, .tileRemoved, .sourcesAvailable, .sourcesUnavailable, .shareStarted, .shareEnded, .captureStarted,
    .captureEnded, .captureFailed,
  ]

  private let model: CallModel
  private let writer: VendorWriter

  init(_ model: CallModel, _ writer: VendorWriter) { (self.model, self.writer) = (model, writer) }

  func text(of type: String) -> String {
    let handle = writer.handleName
    let meeting = writer.name(of: "RoomMeeting").text
    let observer = { (object: String) in
      let call = "self?.\(handle)(event)"
      return "    \(object).observer = { [weak self] event in "
        + (writer.isOnMainActor ? "MainActor.assumeIsolated { \(call) }" : call) + " }"
    }
    var lines = [
      "extension \(type) {", "  enum Observed { case call, attendees, speakers, tiles, share }", "",
      "  private func \(writer.free("observe"))(_ group: Observed, in meeting: \(meeting)) {",
      "    \(writer.name(.observed)).insert(group)", observer("meeting"), "  }",
    ]
    let capture = [Fact.captureStarted, .captureEnded, .captureFailed]
    if model.handlers.contains(where: { capture.contains($0.fact) }) {
      lines += [
        "", "  private func \(writer.free("observe"))(_ screen: \(writer.name(of: "RoomScreen").text)) {",
        observer("screen"), "  }",
      ]
    }
    lines += [
      "", "  /// Calls the functions above for what the meeting reports.",
      "  private func \(handle)(_ event: \(meeting).Event) {", "    switch event {",
    ]
    return (lines + cases + ["    default: break", "    }", "  }", "}", ""]).joined(separator: "\n")
  }

  private func calls(_ fact: Fact, _ value: String = "") -> [String] { writer.calls(fact, model, value) }

  /// A case with its calls; nothing if there is no call.
  private func when(_ pattern: String, _ group: String?, _ calls: [String]...) -> [String] {
    let calls = Array(calls.joined())
    if calls.isEmpty { return [] }
    let condition = group.map { " where \(writer.name(.observed)).contains(.\($0))" } ?? ""
    return ["    case .\(pattern)\(condition):"] + calls.map { "      " + $0 }
  }

  private var cases: [String] {
    let text = { (condition: String, calls: [String]) in calls.map { "if \(condition) { \($0) }" } }
    let call =
      when("connecting", "call", calls(.connecting, "false"), calls(.videoConnecting))
      + when(
        "joined(let isAgain)", "call", calls(.joined, "isAgain"), calls(.videoJoined, ".left"),
        text("!isAgain", calls(.cameraAllowed, "true")))
      + when("interrupted", "call", calls(.interrupted), calls(.connecting, "true"), calls(.videoConnecting))
      + when(
        "ended(let end)", "call", calls(.left, "end"),
        // The function above may have ended the observation.
        text("end == .left || end == .lost, \(writer.name(.observed)).contains(.call)", calls(.videoLeft, "end")))
      + when("pathChanged(true)", "call", calls(.pathBecamePoor))
      + when("pathChanged(false)", "call", calls(.pathRecovered))
      + when("sourceAdded(let source)", "call", calls(.sourcesAvailable, "[source]"))
      + when("sourceRemoved(let source)", "call", calls(.sourcesUnavailable, "[source]"))
    let people =
      when("attendeeJoined(let attendee)", "attendees", calls(.participantJoined, "[attendee]"))
      + when("attendeeLeft(let attendee)", "attendees", calls(.participantLeft, "[attendee]"))
      + when("attendeeDropped(let attendee)", "attendees", calls(.participantDropped, "[attendee]"))
      + when("muted(let attendee, true)", "attendees", calls(.participantMuted, "[attendee]"))
      + when("muted(let attendee, false)", "attendees", calls(.participantUnmuted, "[attendee]"))
      + when("volumesChanged(let volumes)", "attendees", calls(.volumesChanged, "volumes"))
      + when("speakersChanged(let attendees)", "speakers", calls(.speakersChanged, "attendees"))
    let media =
      when("tileAdded(let tile)", "tiles", calls(.tileAdded, "tile"))
      + when("tileRemoved(let tile)", "tiles", calls(.tileRemoved, "tile"))
      + when("shareStarted", "share", calls(.shareStarted))
      + when("shareEnded(let failure)", "share", calls(.shareEnded, "failure"))
      + when("captureStarted", nil, calls(.captureStarted)) + when("captureEnded", nil, calls(.captureEnded))
      + when("captureFailed(let failure)", nil, calls(.captureFailed, "failure"))
    return call + people + media + when("message(let message)", nil, calls(.message, "message"))
  }
}
