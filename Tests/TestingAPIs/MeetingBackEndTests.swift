import AmazonChimeSDK
import Foundation
import KoineTestingAPIs
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@MainActor @Suite struct MeetingBackEndTests {
  private func join(_ room: TestRoom, _ url: URL, title: String = "tea", as name: String = "Ana") async throws
    -> (app: MeetingApp, meeting: String)
  {
    let address = url.appendingPathComponent("join").absoluteString + "?title=\(title)&name=\(name)"
    let data = try await room.outside {
      try await BackEnd.load(try #require(URL(string: address)), method: "POST")
    }
    let answer = try JoinAnswer(data)
    let app = try room.enter(as: name) {
      try MeetingApp(createMeeting: answer.createMeeting, createAttendee: answer.createAttendee)
    }
    try app.start()
    return (app, try answer.meetingID)
  }

  @Test(arguments: TestRoom.clocks) func deletedMeetingStopsItsAppAndAdmitsNobody(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let url = try room.meetingBackEnd()
    let (app, meeting) = try await join(room, url)
    let bea = try await room.join("Bea", in: meeting)
    await room.until("they see each other") { room.screen(app.view).shows("Bea") && bea.sees("Ana") }
    let deleted = try await room.api(.chime).send(.delete("/meetings/\(meeting)"))
    #expect(deleted.status == 204)
    await room.until("Ana's app stops", within: .seconds(1)) { app.log.last == "stopped audioServerHungup" }
    await room.until("Bea is out", within: .seconds(1)) { bea.isOut }
    #expect(try await room.api(.chime).send(.get("/meetings/\(meeting)")).status == 404)
    try app.start()
    await room.until("Ana is refused") { app.log.last == "stopped audioCallEnded" }
  }

  @Test(arguments: TestRoom.clocks) func deletedAttendeeIsOutAndTheOthersStay(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let url = try room.meetingBackEnd()
    let (ana, meeting) = try await join(room, url)
    let (ben, same) = try await join(room, url, as: "Ben")
    #expect(same == meeting)
    await room.until("both are in") { ana.attendees.count == 2 && ben.attendees.count == 2 }
    let id = ana.session.configuration.credentials.attendeeId
    #expect(try await room.api(.chime).send(.delete("/meetings/\(meeting)/attendees/\(id)")).status == 204)
    await room.until("Ana is out") { ana.log.last == "stopped audioServerHungup" }
    await room.until("Ben stays without her") { ben.attendees.count == 1 }
    #expect(ben.log.last == "started")
  }

  /// The app asks its back end by a callback and joins when the answer comes; the test only waits.
  @Test func requestOfTheAppIsAnsweredWhileTheTestWaits() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let url = try room.meetingBackEnd()
    var app: MeetingApp?
    room.enter(as: "Ana") {
      var request = URLRequest(url: URL(string: url.absoluteString + "/join?title=tea&name=Ana")!)
      request.httpMethod = "POST"
      URLSession.shared.dataTask(with: request) { data, _, _ in
        DispatchQueue.main.async {
          MainActor.assumeIsolated {
            guard let answer = try? JoinAnswer(data ?? Data()) else { return }
            app = try? MeetingApp(createMeeting: answer.createMeeting, createAttendee: answer.createAttendee)
            try? app?.start()
          }
        }
      }.resume()
    }
    await room.until("Ana is in") { app?.log.last == "started" }
  }

  @Test func emptyMeetingEndsAfterFiveMinutesOfTheRoomsTime() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let create = #"{"ClientRequestToken":"tea","ExternalMeetingId":"tea","MediaRegion":"us-east-1"}"#
    let meeting = try await room.api(.chime).send(.post("/meetings", create)).string("Meeting", "MeetingId")
    await room.run(for: .seconds(295))
    #expect(try await room.api(.chime).send(.get("/meetings/\(meeting)")).status == 200)
    await room.run(for: .seconds(10))
    #expect(try await room.api(.chime).send(.get("/meetings/\(meeting)")).status == 404)
  }

  /// The attendee's id is the back end's, and the room knows nevertheless that the app is Ana's.
  @Test func faultOfAPersonReachesHerApp() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let (ana, meeting) = try await join(room, try room.meetingBackEnd())
    let bea = try await room.join("Bea", in: meeting)
    await room.until("they see each other") { room.screen(ana.view).shows("Bea") && bea.sees("Ana") }
    room.cutNetwork(of: "Ana", for: .seconds(20))
    await room.until("Ana's app drops") { ana.log.last == "dropped" || ana.log.contains("reconnecting") }
    await room.until("Ana is back") { ana.log.last == "restarted" }
  }

  @Test func roomsSideBySideDoNotMix() async throws {
    let rooms = [try await TestRoom(clock: .virtual(seed: 7)), try await TestRoom(clock: .virtual(seed: 7))]
    let urls = try rooms.map { try $0.meetingBackEnd() }
    let (first, meeting) = try await join(rooms[0], urls[0])
    let (second, other) = try await join(rooms[1], urls[1])
    #expect(meeting != other)
    await rooms[0].until { first.log.last == "started" }
    await rooms[1].until { second.log.last == "started" }
    #expect(try await rooms[1].api(.chime).send(.get("/meetings/\(meeting)")).status == 404)
    #expect(try await rooms[1].api(.chime).send(.delete("/meetings/\(meeting)")).status == 404)
    #expect(try await rooms[0].api(.chime).send(.delete("/meetings/\(meeting)")).status == 204)
    await rooms[0].until { first.log.last == "stopped audioServerHungup" }
    await rooms[1].run(for: .seconds(2))
    #expect(second.log.last == "started")
    #expect(first.attendees.count <= 1)
    #expect(second.attendees.count == 1)
  }
}
