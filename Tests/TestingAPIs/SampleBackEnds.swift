import Foundation
import KoineTestingAPIs

extension TestRoom {
  /// Amazon Chime: `POST /join?title=…&name=…`, as the vendor's demonstration server answers it.
  func meetingBackEnd() throws -> URL {
    try backEnd { [unowned self] request in
      let (title, name) = (request.query("title") ?? "", request.query("name") ?? "")
      let create = #"{"ClientRequestToken":"\#(title)","ExternalMeetingId":"\#(title)","MediaRegion":"us-east-1"}"#
      let meeting = try await api(.chime).send(.post("/meetings", create))
      let attendees = "/meetings/\(try meeting.string("Meeting", "MeetingId"))/attendees"
      let attendee = try await api(.chime).send(.post(attendees, #"{"ExternalUserId":"\#(name)"}"#))
      return .json(#"{"JoinInfo":{"Meeting":\#(meeting.text),"Attendee":\#(attendee.text)}}"#)
    }
  }

  /// Amazon IVS: a new stage and a token for it.
  func stageBackEnd() throws -> URL {
    try backEnd { [unowned self] request in
      let create = #"{"name":"tea","participantTokenConfigurations":[{"userId":"ana"}]}"#
      let made = try await api(.ivs).send(.post("/CreateStage", create))
      let (token, id) = (try made.string("participantTokens", "0", "token"), try made.string("stage", "arn"))
      return .json(#"{"token":"\#(token)","stageArn":"\#(id)"}"#)
    }
  }

  /// Azure: a new user with a token, and a room with that user as its presenter.
  func callBackEnd() throws -> URL {
    try backEnd { [unowned self] request in
      let scopes = #"{"createTokenWithScopes":["voip"]}"#
      let user = try await api(.azure).send(.post("/identities?api-version=2023-10-01", scopes))
      let roster = #"{"participants":{\#(try user.json("identity", "id")):{"role":"Presenter"}}}"#
      let made = try await api(.azure).send(.post("/rooms?api-version=2025-03-13", roster))
      return .json(#"{"user":\#(user.text),"roomId":\#(try made.json("id"))}"#)
    }
  }

  /// VideoSDK: a new room. The vendor's back ends sign tokens themselves, as `credential` does.
  func listenerBackEnd() throws -> URL {
    try backEnd { [unowned self] request in
      let made = try await api(.videoSDK).send(.post("/v2/rooms"))
      let token = try credential(.eventListener, for: "Ana").token
      return .json(#"{"token":"\#(token)","roomId":\#(try made.json("roomId"))}"#)
    }
  }
}
