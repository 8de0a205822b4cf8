#sourceLocation(file: "Samples/apps/meeting-session/JoinInfo.swift", line: 1)
import AmazonChimeSDK
import Foundation

/// What the app's own server answers when a user asks to join: the answers of CreateMeeting and CreateAttendee.
struct JoinInfo: Decodable {
  struct MeetingPart: Decodable {
    let MeetingId, MediaRegion: String
    let ExternalMeetingId: String?
    let MediaPlacement: PlacementPart
  }
  struct PlacementPart: Decodable {
    let AudioHostUrl, SignalingUrl: String
    let AudioFallbackUrl, TurnControlUrl: String?
  }
  struct AttendeePart: Decodable { let AttendeeId, ExternalUserId, JoinToken: String }
  struct MeetingAnswer: Decodable { let Meeting: MeetingPart }
  struct AttendeeAnswer: Decodable { let Attendee: AttendeePart }
  struct Answers: Decodable {
    let Meeting: MeetingAnswer
    let Attendee: AttendeeAnswer
  }
  let JoinInfo: Answers

  var configuration: MeetingSessionConfiguration {
    let meeting = JoinInfo.Meeting.Meeting
    let urls = meeting.MediaPlacement
    let attendee = JoinInfo.Attendee.Attendee
    return MeetingSessionConfiguration(
      createMeetingResponse: CreateMeetingResponse(
        meeting: Meeting(
          externalMeetingId: meeting.ExternalMeetingId,
          mediaPlacement: MediaPlacement(
            audioFallbackUrl: urls.AudioFallbackUrl ?? urls.AudioHostUrl, audioHostUrl: urls.AudioHostUrl,
            signalingUrl: urls.SignalingUrl, turnControlUrl: urls.TurnControlUrl ?? ""),
          mediaRegion: meeting.MediaRegion, meetingId: meeting.MeetingId)),
      createAttendeeResponse: CreateAttendeeResponse(
        attendee: Attendee(
          attendeeId: attendee.AttendeeId, externalUserId: attendee.ExternalUserId, joinToken: attendee.JoinToken)))
  }
}

/// The app's own server.
protocol JoinService {
  /// - Parameter completion: is called on the main queue with the server's JSON.
  func joinInfo(for name: String, completion: @escaping (Result<Data, Error>) -> Void)
}
