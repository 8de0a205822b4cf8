#sourceLocation(file: "Samples/apps/meeting-session/Roster.swift", line: 1)
import AmazonChimeSDK

/// An attendee as the roster shows it.
struct RosterEntry: Equatable {
  let attendeeId, name: String
  let isLocal: Bool
  var isMuted = false
  var isSpeaking = false
  var isSharing = false

  /// The name with its marks, as "Ana (you, muted)".
  var title: String {
    let marks = [
      isLocal ? "you" : nil, isMuted ? "muted" : nil, isSpeaking ? "speaking" : nil, isSharing ? "sharing" : nil,
    ].compactMap { $0 }
    return marks.isEmpty ? name : "\(name) (\(marks.joined(separator: ", ")))"
  }
}

/// The attendees of a meeting, in the order of their arrival.
struct Roster: Equatable {
  private(set) var entries: [RosterEntry] = []

  mutating func add(_ attendees: [AttendeeInfo], localAttendeeId: String) {
    for attendee in attendees where !attendee.isContent && self[attendee.attendeeId] == nil {
      let isLocal = attendee.attendeeId == localAttendeeId
      entries.append(RosterEntry(attendeeId: attendee.attendeeId, name: attendee.displayName, isLocal: isLocal))
    }
    // The array has no order: a share may be listed before its owner.
    for attendee in attendees where attendee.isContent { update(attendee.baseId) { $0.isSharing = true } }
  }

  mutating func remove(_ attendees: [AttendeeInfo]) {
    for attendee in attendees where attendee.isContent { update(attendee.baseId) { $0.isSharing = false } }
    entries.removeAll { entry in attendees.contains { $0.attendeeId == entry.attendeeId } }
  }

  mutating func update(_ attendeeId: String, _ change: (inout RosterEntry) -> Void) {
    guard let index = entries.firstIndex(where: { $0.attendeeId == attendeeId }) else { return }
    change(&entries[index])
  }

  mutating func markSpeakers(_ speakers: [AttendeeInfo]) {
    for index in entries.indices {
      entries[index].isSpeaking = speakers.contains { $0.attendeeId == entries[index].attendeeId }
    }
  }

  subscript(attendeeId: String) -> RosterEntry? { entries.first { $0.attendeeId == attendeeId } }
}

extension AttendeeInfo {
  /// Whether this attendee is a content share and no person.
  var isContent: Bool { DefaultModality(id: attendeeId).isOfType(type: .content) }

  /// For a content share the attendee id of its owner.
  var baseId: String { DefaultModality(id: attendeeId).base }

  /// The server makes external user ids of the form "id#name", as the vendor's demo server does.
  var displayName: String { externalUserId.split(separator: "#").last.map(String.init) ?? externalUserId }
}
