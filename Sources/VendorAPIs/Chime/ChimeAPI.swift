import KoineAdmissions
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens

/// Amazon Chime SDK Meetings.
///
/// Source: the reference of the API `chime-sdk-meetings` and its service model 2021-07-15.
struct ChimeAPI: VendorService {
  let context: APIContext
  let watch = ChimeMeetingWatch()
  let events: ChimeEvents

  init(_ context: APIContext) { (self.context, events) = (context, ChimeEvents(context)) }

  /// The signing names of the service and of its predecessor.
  private static let services: Set<String> = ["chime"]

  /// Whether the path belongs to Chime SDK Media Pipelines, which have the same signing name.
  private static func isOfMediaPipelines(_ path: Substring) -> Bool {
    ["/sdk-media-", "/media-insights-pipeline", "/media-pipeline-kinesis-video-stream-pools"].contains(
      where: path.hasPrefix)
  }

  func owns(method: String, target: String) -> Bool {
    let path = target.prefix { $0 != "?" }
    if path == "/meetings" || path.hasPrefix("/meetings/") || Self.isOfMediaPipelines(path) { return true }
    return path == "/tags" && target.contains("?")
  }

  func answer(_ request: APIRequest, access: APIAccess) async -> APIResponse {
    let requestID = context.identifiers.requestID()
    let caller: AWSCaller
    do throws(AWSRefusal) {
      caller = try AWSCaller.authenticate(
        request, for: Self.services, access: access,
        at: request.signatureTime ?? context.clock())
    } catch {
      let (status, code, message) = error.response
      return failure(AWSError(status, code, message), requestID)
    }
    do throws(AWSError) {
      return try await perform(request, for: caller, requestID)
    } catch {
      return failure(error, requestID)
    }
  }

  private func failure(_ error: AWSError, _ requestID: String) -> APIResponse {
    let ending = "Exception"
    let code = error.code.hasSuffix(ending) ? String(error.code.dropLast(ending.count)) : error.code
    return .aws(
      error: error, body: ChimeErrorBody(Code: code, Message: error.message, RequestId: requestID),
      requestID: requestID)
  }

  private func perform(
    _ request: APIRequest, for caller: AWSCaller, _ requestID: String
  ) async throws(AWSError) -> APIResponse {
    func ok(_ body: any Encodable) -> APIResponse { .aws(200, body, requestID: requestID) }
    let nothing = APIResponse.aws(204, nil, requestID: requestID)
    guard let path = request.segments else { throw ChimeChecks.fail("the path cannot be decoded") }
    if Self.isOfMediaPipelines(request.path[...]) {
      context.log("\(request.method) \(request.path) of Amazon Chime SDK Media Pipelines is not served")
      throw AWSError(400, "UnsupportedOperation", "\(request.method) \(request.path) is not served here")
    }
    let operation = request.parameter("operation")
    switch (request.method, path.count, path.first, path.dropFirst(2).first, operation) {
    case ("POST", 1, "meetings", nil, nil):
      let meeting = try await createMeeting(body(request), for: caller)
      return ok(ChimeMeetingAnswer(Meeting: answer(meeting, to: request)))
    case ("POST", 1, "meetings", nil, "create-attendees"):
      return ok(try await createMeetingWithAttendees(body(request), request, for: caller))
    case ("GET", 2, "meetings", nil, _):
      return ok(ChimeMeetingAnswer(Meeting: answer(try await meeting(path[1], of: caller), to: request)))
    case ("DELETE", 2, "meetings", nil, _):
      do throws(AWSError) {
        try await end(try await meeting(path[1], of: caller), subject: caller.accessKey)
      } catch {
        try await repeatEnd(of: path[1], caller)
        throw error
      }
      return nothing
    case ("POST", 3, "meetings", "attendees", nil):
      let meeting = try await meeting(path[1], of: caller)
      let attendee = try await createAttendee(body(request), in: meeting)
      return ok(ChimeAttendeeAnswer(Attendee: try answer(attendee, in: meeting)))
    case ("POST", 3, "meetings", "attendees", "batch-create"):
      let batch: ChimeBatch = try body(request)
      let meeting = try await meeting(path[1], of: caller)
      let (attendees, faults) = try await createAttendees(batch.Attendees, atMost: 100, in: meeting)
      return ok(ChimeAttendeesAnswer(Attendees: attendees, Errors: faults))
    case ("GET", 3, "meetings", "attendees", _):
      return ok(try await listAttendees(request, in: try await meeting(path[1], of: caller)))
    case ("PUT", 4, "meetings", "attendees", "batch-update-except") where path[3] == "capabilities":
      try await updateAllCapabilities(
        body(request), in: try await meeting(path[1], of: caller), subject: caller.accessKey)
      return .aws(200, nil, requestID: requestID)
    case ("GET", 4, "meetings", "attendees", _):
      let meeting = try await meeting(path[1], of: caller)
      return ok(ChimeAttendeeAnswer(Attendee: try answer(try await attendee(path[3], in: meeting), in: meeting)))
    case ("DELETE", 4, "meetings", "attendees", _):
      let meeting = try await meeting(path[1], of: caller)
      do throws(AWSError) { try await delete(path[3], in: meeting, subject: caller.accessKey) } catch {
        // The answer to the first request may have been lost before the attendee was removed.
        if error.status == 404, context.rules.refusal(of: path[3], room: meeting.id) != nil {
          await remove(path[3], from: meeting, subject: caller.accessKey)
        }
        throw error
      }
      return nothing
    case ("PUT", 5, "meetings", "attendees", _) where path[4] == "capabilities":
      let meeting = try await meeting(path[1], of: caller)
      let update: ChimeCapabilitiesUpdate = try body(request)
      let capabilities = try ChimeChecks.capabilities(update.Capabilities ?? .init(), in: meeting.features)
      let changed = try await set(capabilities, of: path[3], in: meeting, subject: caller.accessKey)
      return ok(ChimeAttendeeAnswer(Attendee: try answer(changed, in: meeting)))
    case ("POST", 3, "meetings", "transcription", _):
      throw AWSError(
        400, "UnsupportedOperation",
        "transcription by a cloud engine is not served; Koine's transcripts are a service of the room")
    case ("GET", 1, "meetings", nil, _):
      throw AWSError(400, "UnsupportedOperation", "ListMeetings of the former API is not served")
    case ("GET", 1, "tags", nil, _):
      return ok(ChimeTagsAnswer(Tags: try await taggedMeeting(request.parameter("arn"), of: caller).tags))
    case ("POST", 1, "tags", nil, "tag-resource"), ("POST", 1, "tags", nil, "untag-resource"):
      try await changeTags(body(request), for: caller)
      return nothing
    default:
      throw AWSError(404, "UnknownOperationException", "there is no operation \(request.method) \(request.path)")
    }
  }

  private func body<Body: Decodable>(_ request: APIRequest) throws(AWSError) -> Body {
    do throws(BodyFault) { return try decodeBody(Body.self, request.body) } catch {
      throw ChimeChecks.fail(error.text)
    }
  }

  // MARK: Answers

  func answer(_ meeting: ChimeMeeting, to request: APIRequest) -> ChimeJoinInfo.Meeting {
    let authority = context.settings.publicAuthority ?? request.header("Host") ?? "localhost"
    let (http, webSocket) = request.isEncrypted ? ("https", "wss") : ("http", "ws")
    let signaling = "\(webSocket)://\(authority)/signaling"
    var placement = ChimeJoinInfo.MediaPlacement(
      audioHostURL: authority, signalingURL: signaling, audioFallbackURL: signaling,
      turnControlURL: "\(http)://\(authority)/turn", eventIngestionURL: "\(http)://\(authority)/events")
    placement.screenDataURL = signaling
    placement.screenViewingURL = signaling
    placement.screenSharingURL = signaling
    var answer = ChimeJoinInfo.Meeting(
      meetingID: meeting.id, mediaPlacement: placement, mediaRegion: meeting.mediaRegion,
      externalMeetingID: meeting.externalID, features: meeting.features)
    (answer.meetingHostID, answer.tenantIDs, answer.meetingARN) = (meeting.hostID, meeting.tenantIDs, meeting.arn)
    return answer
  }

  func answer(_ attendee: ChimeAttendee, in meeting: ChimeMeeting) throws(AWSError) -> ChimeJoinInfo.Attendee {
    let issued = NumericDate(Double(attendee.created.seconds))
    let token = MeetingJoinToken(
      meetingID: meeting.id, attendeeID: attendee.id, externalUserID: attendee.externalUserID,
      capabilities: attendee.tokenCapabilities, issued: issued,
      expires: issued + Double(context.settings.meetingSeconds))
    do throws(TokenError) {
      return ChimeJoinInfo.Attendee(
        attendeeID: attendee.id, externalUserID: attendee.externalUserID,
        joinToken: try token.signed(with: context.keys.secret), capabilities: attendee.capabilities)
    } catch { throw AWSError(500, "ServiceFailureException", "the join token could not be signed") }
  }

  // MARK: Rules

  var prefixesOfRules: [String] { [ChimeMeeting.prefix, ChimeDeletedAttendee.prefix, ChimeAttendee.prefix] }

  func apply(_ change: RegistryChange, to rules: AdmissionRules) {
    if change.key.hasPrefix(ChimeMeeting.prefix) {
      guard let value = change.value, let meeting = try? decodeEntity(ChimeMeeting.self, value) else {
        // The last token for the meeting has expired.
        guard let id = PercentEncoding.decode(change.key.dropFirst(ChimeMeeting.prefix.count)) else { return }
        watch.remove(id)
        events.set(nil, id: id)
        return rules.set(nil as AdmissionRules.RoomRule?, room: id, version: change.version)
      }
      rules.set(
        AdmissionRules.RoomRule(
          kind: .meetingSession, refusal: meeting.hasEnded ? Failure(.ended, "the meeting has ended") : nil,
          limit: meeting.features?.attendeeMaxCount),
        room: meeting.id, version: change.version)
      watch.set(meeting, at: context.clock())
      events.set(meeting, id: meeting.id)
    } else if change.key.hasPrefix(ChimeDeletedAttendee.prefix) {
      guard let (meeting, attendee) = RegistryKey.pair(change.key, after: ChimeDeletedAttendee.prefix) else { return }
      rules.set(
        refusal: change.value.map { _ in Failure(.unauthorized, "the attendee has been deleted") },
        participant: attendee, room: meeting, version: change.version)
    } else if change.key.hasPrefix(ChimeAttendee.prefix) {
      guard let (meeting, id) = RegistryKey.pair(change.key, after: ChimeAttendee.prefix) else { return }
      let attendee = change.value.flatMap { try? decodeEntity(ChimeAttendee.self, $0) }
      rules.set(
        attendee.flatMap { $0.hasChanged ? $0.capabilities.rule : nil }, participant: id, room: meeting,
        version: change.version)
    }
  }

  // MARK: The room's life

  func observe(_ event: RoomEvent, at now: APITime) async {
    watch.observe(event, at: now)
    events.observe(event, at: now)
  }

  func handleTimeout() async {
    for id in watch.due(at: context.clock(), context.settings) {
      guard let meeting = try? await context.registry.read(ChimeMeeting.self, ChimeMeeting.key(id))?.value,
        !meeting.hasEnded
      else { continue }
      // Its participants may be at another node, or on their way to one.
      let isOver = meeting.created.adding(seconds: context.settings.meetingSeconds) <= context.clock()
      if !isOver, await context.homes?.isElsewhere(id) == true {
        watch.postpone(id, at: context.clock())
        continue
      }
      try? await end(meeting, subject: "koine: the meeting's time is over")
    }
  }
}

extension ChimeJoinInfo.Capabilities {
  /// A participant's rule with these capabilities, whatever the capabilities in its token are.
  var rule: AdmissionRules.ParticipantRule {
    AdmissionRules.ParticipantRule(
      publish: Track.Kind.kinds(of: media(\.sends)), receive: Track.Kind.kinds(of: media(\.receives)),
      replacesToken: true)
  }
}

/// Which meetings are due to end: those that are too old, and those without participants for too long.
final class ChimeMeetingWatch: Sendable {
  private struct Watched {
    var created: APITime
    var emptySince: APITime?
    var participants: Set<Participant.ID> = []
  }

  private let meetings = Lock<[String: Watched]>([:])

  func set(_ meeting: ChimeMeeting, at now: APITime) {
    meetings.withLock { meetings in
      if meeting.hasEnded {
        meetings[meeting.id] = nil
      } else if meetings[meeting.id] == nil {
        meetings[meeting.id] = Watched(created: meeting.created, emptySince: now)
      }
    }
  }

  func remove(_ id: String) { meetings.withLock { $0[id] = nil } }

  /// The room's home sees when it is empty.
  func postpone(_ id: String, at now: APITime) { meetings.withLock { $0[id]?.emptySince = now } }

  func observe(_ event: RoomEvent, at now: APITime) {
    meetings.withLock { meetings in
      guard var meeting = meetings[event.room] else { return }
      switch event.change {
      case .joined: meeting.participants.insert(event.participant)
      case .left: meeting.participants.remove(event.participant)
      case .published, .subscribed, .refused, .renewed, .recorder: return
      }
      if !meeting.participants.isEmpty {
        meeting.emptySince = nil
      } else if meeting.emptySince == nil {
        meeting.emptySince = now
      }
      meetings[event.room] = meeting
    }
  }

  func due(at now: APITime, _ settings: APISettings) -> [String] {
    meetings.withLock { meetings in
      meetings.filter { _, meeting in
        meeting.created.adding(seconds: settings.meetingSeconds) <= now
          || meeting.emptySince.map { $0.adding(seconds: settings.emptyMeetingSeconds) <= now } ?? false
      }
      .map(\.key).sorted()
    }
  }
}
