import Foundation
public import KoineTesting
import KoineTokens

/// The vendors, by the styles of their APIs.
public enum Vendor: String, Sendable {
  case callAgent = "call-agent", eventListener = "event-listener"
  case meetingSession = "meeting-session", stageStrategy = "stage-strategy"
}

/// The answer of a reference app's own server to a request to join a room. A ported app has the same server, with another vendor behind it:
/// each app reads the values in the form that it had before.
public struct ServerAnswer {
  /// The vendor that the server has asked.
  public let vendor: Vendor
  public let token, room, participantID: String
  private let name: String
  private let text: String

  /// - Throws: errors of signing.
  public init(_ vendor: Vendor, in room: TestRoom, for name: String) throws {
    (self.vendor, self.name) = (vendor, name)
    switch vendor {
    case .callAgent:
      let credential = try room.credential(.callAgent, for: name)
      (token, self.room, participantID) = (credential.token, credential.roomID, credential.identity)
      text = try Self.json(["token": token, "roomId": self.room, "id": participantID, "name": name])
    case .eventListener:
      let credential = try room.credential(.eventListener, for: name)
      (token, self.room, participantID) = (credential.token, credential.meetingID, credential.participantID)
      text = try Self.json(["token": token, "meetingId": self.room, "participantId": participantID, "name": name])
    case .stageStrategy:
      let credential = try room.credential(.stageStrategy, for: name)
      (token, self.room, participantID) = (credential.token, room.id, credential.participantID)
      text = try Self.json(["token": token, "stage": self.room, "participantId": participantID, "name": name])
    case .meetingSession:
      let credential = try room.credential(.meetingSession, for: name)
      (token, self.room, participantID) =
        (credential.pass.attendee.joinToken, credential.pass.meeting.meetingID, credential.pass.attendee.attendeeID)
      text = credential.joinInfoJSON
    }
  }

  /// For an app that hands one text to its SDK: the token of its first vendor; of another vendor, all values as JSON.
  public func text(forAppOf first: Vendor) -> String { vendor == first ? token : text }

  /// For an app of the meeting-session style, which reads a meeting and an attendee. Of another vendor, its values have the same places.
  /// - Throws: errors of the encoder.
  public func joinInfo() throws -> String {
    if vendor == .meetingSession { return text }
    let meeting: [String: Any] = [
      "MeetingId": room, "MediaRegion": "", "MediaPlacement": ["AudioHostUrl": "", "SignalingUrl": ""],
    ]
    let attendee = ["AttendeeId": participantID, "ExternalUserId": name, "JoinToken": token]
    return try Self.json(["JoinInfo": ["Meeting": ["Meeting": meeting], "Attendee": ["Attendee": attendee]]])
  }

  private static func json(_ values: [String: Any]) throws -> String {
    String(decoding: try JSONSerialization.data(withJSONObject: values), as: UTF8.self)
  }
}
