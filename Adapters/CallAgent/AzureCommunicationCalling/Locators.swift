public import Foundation

/// The meeting that a call joins without ringing a participant. Apps use a subclass.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsjoinmeetinglocator)
open class JoinMeetingLocator: NSObject {
  /// The room's name; nil when what the app gave makes no sense.
  let room: String?
  let refusal: CallingCommunicationErrors
  init(room: String?, else refusal: CallingCommunicationErrors = []) { (self.room, self.refusal) = (room, refusal) }
}

/// A group call, named by a UUID.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsgroupcalllocator)
public final class GroupCallLocator: JoinMeetingLocator {
  public let groupId: UUID

  /// Participants of other styles meet the call in the room that is named like the UUID, in lower case.
  public init(groupId: UUID) {
    self.groupId = groupId
    super.init(room: groupId.uuidString.lowercased())
  }
}

/// A room, named by its id. Participants of all styles meet in the room of this name.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsroomcalllocator)
public final class RoomCallLocator: JoinMeetingLocator {
  public let roomId: String

  public init(roomId: String) {
    self.roomId = roomId
    super.init(room: roomId.isEmpty ? nil : roomId)
  }
}

/// Superclass of the locators of Teams meetings.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsjoinmeetinglocator)
open class JoinTeamsMeetingLocator: JoinMeetingLocator {}

/// The link of a Teams meeting. Participants with the same link meet in one call. Koine does not reach Teams itself.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsteamsmeetinglinklocator)
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

/// The id and the passcode of a Teams meeting. Koine does not reach Teams itself.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsjoinmeetinglocator)
public final class TeamsMeetingIdLocator: JoinTeamsMeetingLocator {
  public let meetingId: String
  public let passcode: String

  public init(with meetingId: String, passcode: String) {
    (self.meetingId, self.passcode) = (meetingId, passcode)
    let digits = meetingId.filter { !$0.isWhitespace }
    super.init(room: digits.isEmpty ? nil : "teams-\(digits)-\(passcode)", else: .invalidMeetingLink)
  }
}

/// A Teams meeting, named by its thread, organizer, tenant and message. Koine does not reach Teams itself.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsteamsmeetingcoordinateslocator)
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
