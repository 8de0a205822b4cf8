public import Foundation

/// Where to meet without ringing.
open class JoinMeetingLocator: NSObject {
  /// The room's name; nil when what the app gave makes no sense.
  let room: String?
  let refusal: CallingCommunicationErrors
  init(room: String?, else refusal: CallingCommunicationErrors = []) { (self.room, self.refusal) = (room, refusal) }
}

public final class GroupCallLocator: JoinMeetingLocator {
  public let groupId: UUID

  /// Participants of other styles meet the call in the room that is named like the UUID, in lower case.
  public init(groupId: UUID) {
    self.groupId = groupId
    super.init(room: groupId.uuidString.lowercased())
  }
}

public final class RoomCallLocator: JoinMeetingLocator {
  public let roomId: String

  public init(roomId: String) {
    self.roomId = roomId
    super.init(room: roomId.isEmpty ? nil : roomId)
  }
}

open class JoinTeamsMeetingLocator: JoinMeetingLocator {}

/// The link of a Teams meeting. Participants with the same link meet in one call. Koine does not reach Teams itself.
public final class TeamsMeetingLinkLocator: JoinTeamsMeetingLocator {
  public let meetingLink: String

  public init(meetingLink: String) {
    self.meetingLink = meetingLink
    super.init(room: Self.room(of: meetingLink), else: .invalidMeetingLink)
  }

  /// Host and path, cut to what a room's name may hold; what follows `?` differs from one invitation to the next.
  private static func room(of link: String) -> String? {
    guard let address = URL(string: link), address.scheme == "https", let host = address.host, !host.isEmpty,
      address.path.count > 1
    else { return nil }
    return "teams-" + String(decoding: (host + address.path).utf8.suffix(200), as: UTF8.self)
  }
}

/// A meeting's number and its word.
public final class TeamsMeetingIdLocator: JoinTeamsMeetingLocator {
  public let meetingId: String
  public let passcode: String

  public init(with meetingId: String, passcode: String) {
    (self.meetingId, self.passcode) = (meetingId, passcode)
    let digits = meetingId.filter { !$0.isWhitespace }
    super.init(room: digits.isEmpty ? nil : "teams-\(digits)-\(passcode)", else: .invalidMeetingLink)
  }
}

public final class TeamsMeetingCoordinatesLocator: JoinTeamsMeetingLocator {
  public let threadId: String
  public let organizerId: UUID
  public let tenantId: UUID
  public let messageId: String

  public init(withThreadId threadId: String, organizerId: UUID, tenantId: UUID, messageId: String) {
    (self.threadId, self.organizerId, self.tenantId, self.messageId) = (threadId, organizerId, tenantId, messageId)
    super.init(room: threadId.isEmpty ? nil : "teams-\(threadId)-\(messageId)", else: .invalidMeetingLink)
  }
}
