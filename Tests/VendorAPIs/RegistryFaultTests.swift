import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

/// Histories of requests by two servers over one registry that delays and loses answers. As an SDK does, a caller repeats a request
/// that is answered with 503.
@Suite struct RegistryFaultTests {
  private struct Meeting: Decodable {
    struct Members: Decodable { var MeetingId: String }
    var Meeting: Members
  }
  private struct Attendee: Decodable {
    struct Members: Decodable {
      var AttendeeId: String
      var JoinToken: String
    }
    var Attendee: Members
  }
  private struct Attendees: Decodable { var Attendees: [Attendee.Members] }
  private struct Stage: Decodable {
    struct Members: Decodable { var arn: String }
    var stage: Members
  }

  /// Two servers with the same keys over one store.
  private final class World {
    let servers: [APIHarness]
    var random: SeededRandom

    init(seed: UInt64) throws {
      let shared = MemoryRegistry(clock: { APITime(milliseconds: 0) })
      let keys = try APITokenKeys.makeTemporary()
      servers = try (0..<2).map { number in
        try APIHarness(keys: keys, seed: seed &+ UInt64(number)) { _ in
          FaultyRegistry(shared, seed: seed &* 2 &+ UInt64(number))
        }
      }
      random = SeededRandom(seed: seed)
    }

    /// - Returns: the answer, and whether the request was repeated.
    func send(_ method: String, _ target: String, _ body: String = "", service: String = "chime") async
      -> (answer: APIResponse, isRepeated: Bool)
    {
      for attempt in 0..<200 {
        let server = servers[Int.random(in: 0..<2, using: &random)]
        let answer = await server.aws(method, target, body, service: service)
        guard answer.status == 503 else { return (answer, attempt > 0) }
        #expect(answer.header("x-amzn-ErrorType") != nil)
      }
      Issue.record("never answered: \(method) \(target)")
      return (APIResponse(status: 503), true)
    }

    func refuses(_ participant: String, in room: String) -> [Bool] {
      servers.map { server in
        server.apis.rules.roomRule(room)?.refusal != nil
          || server.apis.rules.refusal(of: participant, room: room) != nil
      }
    }
  }

  @Test(arguments: 1...20) func meetingsKeepTheirPromises(seed: UInt64) async throws {
    let world = try World(seed: seed)
    /// By request token and user.
    var meetings: [Int: String] = [:]
    var attendees: [String: [String: Attendee.Members]] = [:]
    for _ in 0..<60 {
      let token = Int.random(in: 0..<3, using: &world.random)
      let user = "user\(Int.random(in: 0..<3, using: &world.random))"
      switch Int.random(in: 0..<6, using: &world.random) {
      case 0, 1:
        let body =
          #"{"ClientRequestToken":"token\#(token)","MediaRegion":"eu-west-1","ExternalMeetingId":"m\#(token)"}"#
        let id = try await world.send("POST", "/meetings", body).answer.decoded(Meeting.self).Meeting.MeetingId
        if let known = meetings[token] { #expect(id == known) }
        meetings[token] = id
      case 2, 3:
        guard let meeting = meetings[token] else { continue }
        let answer = await world.send("POST", "/meetings/\(meeting)/attendees", #"{"ExternalUserId":"\#(user)"}"#)
          .answer
        let made = try answer.decoded(Attendee.self).Attendee
        if let known = attendees[meeting]?[user] {
          #expect(made.AttendeeId == known.AttendeeId)
          #expect(made.JoinToken == known.JoinToken)
        }
        attendees[meeting, default: [:]][user] = made
        #expect(world.refuses(made.AttendeeId, in: meeting) == [false, false])
      case 4:
        guard let meeting = meetings[token], let known = attendees[meeting]?[user] else { continue }
        let (answer, isRepeated) = await world.send("DELETE", "/meetings/\(meeting)/attendees/\(known.AttendeeId)")
        #expect(answer.status == 204 || isRepeated && answer.status == 404)
        #expect(world.refuses(known.AttendeeId, in: meeting) == [true, true])
        attendees[meeting]?[user] = nil
      default:
        guard let meeting = meetings[token], Int.random(in: 0..<3, using: &world.random) == 0 else { continue }
        let (answer, isRepeated) = await world.send("DELETE", "/meetings/\(meeting)")
        #expect(answer.status == 204 || isRepeated && answer.status == 404)
        #expect(world.refuses("anyone", in: meeting) == [true, true])
        meetings[token] = nil
        attendees[meeting] = nil
      }
    }
    for meeting in meetings.values {
      let listed = try await world.send("GET", "/meetings/\(meeting)/attendees").answer.decoded(Attendees.self)
      let known = attendees[meeting, default: [:]].values.map(\.AttendeeId)
      #expect(Set(listed.Attendees.map(\.AttendeeId)) == Set(known))
      #expect(listed.Attendees.count == known.count)
    }
  }

  @Test(arguments: 1...10) func sameRequestAtTheSameTimeMakesOneMeetingAndOneAttendee(seed: UInt64) async throws {
    let world = try World(seed: seed)
    let servers = world.servers
    @Sendable func send(_ number: Int, _ target: String, _ body: String) async -> APIResponse {
      while true {
        let answer = await servers[number % 2].aws("POST", target, body)
        guard [503, 409, 429].contains(answer.status) else { return answer }
      }
    }
    func all(_ target: String, _ body: String) async -> [APIResponse] {
      await withTaskGroup(of: APIResponse.self) { group in
        for number in 0..<8 { group.addTask { await send(number, target, body) } }
        return await group.reduce(into: []) { $0.append($1) }
      }
    }
    let body = #"{"ClientRequestToken":"token","MediaRegion":"eu-west-1","ExternalMeetingId":"tea"}"#
    let meetings = try await all("/meetings", body).map { try $0.decoded(Meeting.self).Meeting.MeetingId }
    #expect(Set(meetings).count == 1)
    let made = try await all("/meetings/\(meetings[0])/attendees", #"{"ExternalUserId":"ana"}"#).map {
      try $0.decoded(Attendee.self).Attendee.AttendeeId
    }
    #expect(Set(made).count == 1)
  }

  @Test(arguments: 1...10) func stagesStayDeletedAndParticipantsDisconnected(seed: UInt64) async throws {
    let world = try World(seed: seed)
    for number in 0..<10 {
      let created = await world.send("POST", "/CreateStage", "{}", service: "ivs").answer
      let arn = try created.decoded(Stage.self).stage.arn
      let stage = String(arn.split(separator: "/").last ?? "")
      let body = #"{"stageArn":"\#(arn)","participantId":"p\#(number)"}"#
      #expect(await world.send("POST", "/DisconnectParticipant", body, service: "ivs").answer.status == 200)
      #expect(world.refuses("p\(number)", in: stage) == [true, true])
      #expect(world.refuses("other", in: stage) == [false, false])
      let (answer, isRepeated) = await world.send("POST", "/DeleteStage", #"{"arn":"\#(arn)"}"#, service: "ivs")
      #expect(answer.status == 200 || isRepeated && answer.status == 404)
      #expect(world.refuses("other", in: stage) == [true, true])
    }
  }
}
