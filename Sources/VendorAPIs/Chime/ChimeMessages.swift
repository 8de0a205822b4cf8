import KoineTokens

// Bodies of requests and answers, with the member names of the service's model (chime-sdk-meetings 2021-07-15).

struct ChimeCreateMeeting: Decodable {
  var ClientRequestToken: String?
  var MediaRegion: String?
  var ExternalMeetingId: String?
  var MeetingHostId: String?
  var MeetingFeatures: ChimeJoinInfo.Features?
  var PrimaryMeetingId: String?
  var TenantIds: [String]?
  var Tags: [ChimeTag]?
  var Attendees: [ChimeAttendeeRequest]?
}

struct ChimeAttendeeRequest: Decodable {
  var ExternalUserId: String?
  var Capabilities: ChimeCapabilities?
}

/// Directions as texts, so that an unknown one is named in the error.
struct ChimeCapabilities: Decodable {
  var Audio: String?
  var Video: String?
  var Content: String?
}

struct ChimeBatch: Decodable { var Attendees: [ChimeAttendeeRequest]? }

struct ChimeCapabilitiesUpdate: Decodable {
  struct Excluded: Decodable { var AttendeeId: String? }
  var Capabilities: ChimeCapabilities?
  var ExcludedAttendeeIds: [Excluded]?
}

struct ChimeTagRequest: Decodable {
  var ResourceARN: String?
  var Tags: [ChimeTag]?
  var TagKeys: [String]?
}

struct ChimeMeetingAnswer: Encodable { var Meeting: ChimeJoinInfo.Meeting }
struct ChimeAttendeeAnswer: Encodable { var Attendee: ChimeJoinInfo.Attendee }

struct ChimeMeetingWithAttendeesAnswer: Encodable {
  var Meeting: ChimeJoinInfo.Meeting
  var Attendees: [ChimeJoinInfo.Attendee]
  var Errors: [ChimeAttendeeFault]
}

struct ChimeAttendeesAnswer: Encodable {
  var Attendees: [ChimeJoinInfo.Attendee]
  var Errors: [ChimeAttendeeFault]
}

struct ChimeAttendeeFault: Encodable {
  var ExternalUserId: String?
  var ErrorCode: String
  var ErrorMessage: String
}

struct ChimeAttendeeList: Encodable {
  var Attendees: [ChimeJoinInfo.Attendee]
  var NextToken: String?
}

struct ChimeTagsAnswer: Encodable { var Tags: [ChimeTag] }

struct ChimeErrorBody: Encodable {
  /// Without the ending `Exception`.
  var Code: String
  var Message: String
  var RequestId: String
  var ResourceName: String?
}
