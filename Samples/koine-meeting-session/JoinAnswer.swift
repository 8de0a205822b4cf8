import AmazonChimeSDK
import Foundation
import KoineSampleSupport

/// What the app's server answers to CreateMeeting and CreateAttendee.
struct JoinAnswer {
  let meeting: CreateMeetingResponse
  let attendee: CreateAttendeeResponse

  /// An answer that the app makes itself, where no server of the app is needed.
  init(room: String, name: String) {
    let meeting = Meeting(
      externalMeetingId: room,
      mediaPlacement: MediaPlacement(
        audioFallbackUrl: "embedded", audioHostUrl: "embedded", signalingUrl: "embedded", turnControlUrl: ""),
      mediaRegion: "here", meetingId: room)
    let attendee = Attendee(attendeeId: UUID().uuidString.lowercased(), externalUserId: name, joinToken: "")
    self.meeting = CreateMeetingResponse(meeting: meeting)
    self.attendee = CreateAttendeeResponse(attendee: attendee)
  }

  /// Both answers in a file each, or, where there is only one file, both in it, as back ends answer their apps and `koine token
  /// meeting-session` prints it.
  init(meeting: String, attendee: String?) throws(SampleExit) {
    if let attendee {
      self.meeting = try Self.read(CreateMeetingResponse.self, from: meeting)
      self.attendee = try Self.read(CreateAttendeeResponse.self, from: attendee)
    } else {
      let both = try Self.read(Both.self, from: meeting).JoinInfo
      (self.meeting, self.attendee) = (both.Meeting, both.Attendee)
    }
  }

  private struct Both: Decodable {
    struct Info: Decodable {
      let Meeting: CreateMeetingResponse
      let Attendee: CreateAttendeeResponse

      /// The vendor's demo server nests the whole answers. Other back ends have the meeting and the attendee themselves.
      init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        let (meeting, attendee) = (Member.Meeting, Member.Attendee)
        if let nested = try? members.nestedContainer(keyedBy: Member.self, forKey: meeting), nested.contains(meeting) {
          Meeting = try members.decode(CreateMeetingResponse.self, forKey: meeting)
          Attendee = try members.decode(CreateAttendeeResponse.self, forKey: attendee)
        } else {
          Meeting = CreateMeetingResponse(meeting: try members.decode(AmazonChimeSDK.Meeting.self, forKey: meeting))
          Attendee = CreateAttendeeResponse(
            attendee: try members.decode(AmazonChimeSDK.Attendee.self, forKey: attendee))
        }
      }

      private enum Member: CodingKey { case Meeting, Attendee }
    }
    let JoinInfo: Info
  }

  private static func read<Answer: Decodable>(_ type: Answer.Type, from path: String) throws(SampleExit) -> Answer {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw SampleExit(code: 66, "cannot read '\(path)'")
    }
    do { return try JSONDecoder().decode(type, from: data) } catch DecodingError.keyNotFound(let key, _) {
      throw SampleExit(code: 65, "'\(path)' says nothing of \(key.stringValue)")
    } catch {
      throw SampleExit(code: 65, "'\(path)' is not what a server answers")
    }
  }
}
