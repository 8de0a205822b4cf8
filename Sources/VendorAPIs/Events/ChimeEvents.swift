import KoineMedia
import KoineRouter
import KoineSignaling

/// Events of meetings, of the type "Chime Meeting State Change".
///
/// Source: "Understanding Amazon Chime SDK meeting lifecycle events" of the Amazon Chime SDK developer guide. The guide does not say
/// what follows when an attendee joins again elsewhere; here the former stay is dropped after `AttendeeAuthorized`.
final class ChimeEvents: Sendable {
  private struct Presence {
    var externalUserID: String
    /// Kinds of video that it publishes.
    var videos: Set<Track.Kind> = []
  }

  private struct Watched {
    var meeting: ChimeMeeting
    var hasStarted = false
    /// Whether the end is to be announced when the last attendee has left.
    var announcesEnd = false
    var present: [Participant.ID: Presence] = [:]
  }

  private struct Detail: Encodable {
    let version = "0"
    var eventType: String
    /// Milliseconds since 1970.
    var timestamp: Int64
    var meetingId: String
    var attendeeId: String?
    var externalUserId: String?
    var networkType: String?
    var externalMeetingId: String?
    var mediaRegion: String
  }

  private struct Happening {
    /// Without the prefix `chime:`.
    var type: String
    var attendeeID: String?
    var externalUserID: String?
    var hasNetworkType = false
  }

  private let context: APIContext
  private let meetings = Lock<[String: Watched]>([:])

  init(_ context: APIContext) { self.context = context }

  private var isWanted: Bool { context.events.forms.contains(.aws) }

  private func send(_ happenings: [Happening], of meeting: ChimeMeeting, at now: APITime) {
    for happening in happenings {
      let detail = Detail(
        eventType: "chime:" + happening.type, timestamp: now.milliseconds, meetingId: meeting.id,
        attendeeId: happening.attendeeID, externalUserId: happening.externalUserID,
        networkType: happening.hasNetworkType ? "Voip" : nil, externalMeetingId: meeting.externalID,
        mediaRegion: meeting.mediaRegion)
      let event = EventBridgeEvent(
        id: context.identifiers.requestID(), detailType: "Chime Meeting State Change", source: "aws.chime",
        account: meeting.account, time: now.iso8601Seconds, region: meeting.controlRegion, resources: [],
        detail: detail)
      context.send(event, name: detail.eventType, room: meeting.id)
    }
  }

  // MARK: Requests

  /// A meeting in the registry is new or has changed.
  /// - Parameter meeting: nil: it is not there any more.
  func set(_ meeting: ChimeMeeting?, id: String) {
    guard isWanted else { return }
    meetings.withLock { meetings in
      guard let meeting else { return meetings[id] = nil }
      if let known = meetings[id] {
        meetings[id]?.meeting = meeting
        if meeting.hasEnded, known.present.isEmpty { meetings[id] = nil }
      } else if !meeting.hasEnded {
        meetings[id] = Watched(meeting: meeting)
      }
    }
  }

  func added(_ attendee: ChimeAttendee, to meeting: ChimeMeeting) { sendChange("AttendeeAdded", attendee, meeting) }
  func deleted(_ attendee: ChimeAttendee, from meeting: ChimeMeeting) {
    sendChange("AttendeeDeleted", attendee, meeting)
  }

  private func sendChange(_ type: String, _ attendee: ChimeAttendee, _ meeting: ChimeMeeting) {
    guard isWanted else { return }
    send(
      [Happening(type: type, attendeeID: attendee.id, externalUserID: attendee.externalUserID)], of: meeting,
      at: context.clock())
  }

  /// A meeting ends, and its room is closed after the call. The event follows those of the attendees that leave.
  func ended(_ meeting: ChimeMeeting) {
    guard isWanted else { return }
    let isOver = meetings.withLock { meetings in
      guard meetings[meeting.id]?.present.isEmpty == false else {
        meetings[meeting.id] = nil
        return true
      }
      meetings[meeting.id]?.announcesEnd = true
      return false
    }
    if isOver { send([Happening(type: "MeetingEnded")], of: meeting, at: context.clock()) }
  }

  // MARK: The room

  func observe(_ event: RoomEvent, at now: APITime) {
    guard isWanted else { return }
    let found: (meeting: ChimeMeeting, happenings: [Happening])? = meetings.withLock { meetings in
      guard var watched = meetings[event.room] else { return nil }
      let happenings = Self.happenings(event, &watched)
      meetings[event.room] = watched.meeting.hasEnded && watched.present.isEmpty ? nil : watched
      return (watched.meeting, happenings)
    }
    if let found { send(found.happenings, of: found.meeting, at: now) }
  }

  private static func happenings(_ event: RoomEvent, _ watched: inout Watched) -> [Happening] {
    let id = event.participant
    let isContent = id.hasSuffix("#content")
    func happening(_ type: String, _ user: String, hasNetworkType: Bool = false) -> Happening {
      Happening(
        type: (isContent ? "AttendeeContent" : "Attendee") + type, attendeeID: id, externalUserID: user,
        hasNetworkType: hasNetworkType)
    }
    switch event.change {
    case .joined(let participant):
      let user = participant.externalUserID ?? ""
      watched.present[id] = Presence(externalUserID: user)
      let start = watched.hasStarted ? [] : [Happening(type: "MeetingStarted")]
      watched.hasStarted = true
      return start + [happening("Joined", user, hasNetworkType: true)]
    case .left(let reason):
      guard let presence = watched.present.removeValue(forKey: id) else { return [] }
      let user = presence.externalUserID
      let stop = presence.videos.isEmpty ? [] : [happening("VideoStopped", user)]
      let handOver = reason == .duplicate && !isContent ? [happening("Authorized", user)] : []
      let isDropped = reason == .lost || reason == .duplicate
      let end = watched.announcesEnd && watched.present.isEmpty ? [Happening(type: "MeetingEnded")] : []
      return stop + handOver + [happening(isDropped ? "Dropped" : "Left", user, hasNetworkType: true)] + end
    case .published(let kind, let isOn):
      // A screen that is not a content share's own comes from apps of other styles, which do not join by meetings.
      guard var presence = watched.present[id], kind.isVideo else { return [] }
      let before = presence.videos.isEmpty
      if isOn { presence.videos.insert(kind) } else { presence.videos.remove(kind) }
      watched.present[id] = presence
      guard before != presence.videos.isEmpty else { return [] }
      return [happening(isOn ? "VideoStarted" : "VideoStopped", presence.externalUserID)]
    case .subscribed, .refused, .renewed, .recorder: return []
    }
  }
}
