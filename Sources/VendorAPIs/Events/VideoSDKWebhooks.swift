import KoineBase
import KoineJSONCodec
import KoineMedia
import KoineRouter
import KoineSignaling

/// Webhooks of VideoSDK: which events of its rooms are sent, and to where.
///
/// Source: "Webhooks List" and "Webhook Verification" of VideoSDK's REST API reference. The vendor's sample code checks the signature
/// over the body that it has parsed and written again, so the body has no spaces and the members stay in their order.
final class VideoSDKWebhooks: Sendable {
  /// The path at which receivers get the public key. Without authentication, as at the vendor.
  static let keyPath = "/v2/public/rsa-public-key"

  private struct State {
    var webhooks: [String: VideoSDKWebhook] = [:]
    /// Names of the participants that are present, by room.
    var names: [String: [Participant.ID: String]] = [:]
    /// Gives the key, or fails.
    var key: Task<Result<WebhookKey, RegistryError>, Never>?
    /// A key that has been made, and is perhaps not in the registry.
    var candidate: WebhookKey?
  }

  private let context: APIContext
  private let makeKey: @Sendable () -> WebhookKey?
  private let state = Lock(State())

  /// - Parameter makeKey: makes a new key; nil if that fails.
  init(_ context: APIContext, makeKey: @escaping @Sendable () -> WebhookKey? = WebhookKey.generate) {
    (self.context, self.makeKey) = (context, makeKey)
  }

  /// Names of present participants that are kept, for tests.
  var nameCount: Int { state.withLock { $0.names.values.reduce(0) { $0 + $1.count } } }

  // MARK: The key

  /// The key of the registry, which is made when it is first needed: once, as everyone may ask for the public key at the same time.
  /// - Throws: `RegistryError` if the store does not answer.
  private func key() async throws(RegistryError) -> WebhookKey {
    let task = state.withLock { state in
      let task = state.key ?? Task { await self.readKey() }
      state.key = task
      return task
    }
    let result = await task.value
    if case .failure = result { state.withLock { if $0.key == task { $0.key = nil } } }
    return try result.get()
  }

  private func readKey() async -> Result<WebhookKey, RegistryError> {
    do throws(RegistryError) { return .success(try await storedKey()) } catch { return .failure(error) }
  }

  private func storedKey() async throws(RegistryError) -> WebhookKey {
    var stored = try await context.registry.read(StoredWebhookKey.self, StoredWebhookKey.key)?.value
    if stored == nil {
      // Kept until it is written: a registry that cannot be written must not have every request make another key.
      guard let new = state.withLock({ $0.candidate }) ?? makeKey() else {
        throw .unavailable("no key for webhooks could be made")
      }
      state.withLock { $0.candidate = new }
      let own = StoredWebhookKey(der: Base64.encode(new.der))
      stored = try await context.registry.create(StoredWebhookKey.key, own) ?? own
    }
    guard let der = stored.flatMap({ Base64.decode($0.der.utf8) }), let key = WebhookKey(der: der) else {
      throw .unavailable("the key for webhooks cannot be read")
    }
    return key
  }

  private struct KeyAnswer: Encodable { var publicKey: String }

  /// - Returns: nil for a request for something else.
  func answer(_ request: APIRequest) async -> APIResponse? {
    guard request.method == "GET", request.path == Self.keyPath else { return nil }
    var response = APIResponse(status: 503)
    do throws(RegistryError) {
      let answer = KeyAnswer(publicKey: try await key().publicPEM)
      response = APIResponse(status: 200, body: (try? JSONCodec.encode(answer)) ?? [])
    } catch { context.log("no public key for webhooks: \(error)") }
    response.headers = [
      ("Content-Type", "application/json; charset=utf-8"), ("Access-Control-Allow-Origin", "*"),
    ]
    return response
  }

  // MARK: Rooms

  func apply(_ change: RegistryChange) {
    guard change.key.hasPrefix(VideoSDKRoom.prefix),
      let roomID = PercentEncoding.decode(change.key.dropFirst(VideoSDKRoom.prefix.count))
    else { return }
    let room = change.value.flatMap { try? decodeEntity(VideoSDKRoom.self, $0) }
    state.withLock { $0.webhooks[roomID] = room?.webhook }
  }

  /// A session of a room, as the API numbers it.
  struct Session: Sendable, Equatable {
    var id: String
    var start: APITime
  }

  /// The session of a room, and whether the participant of an event is in it. Participants without the session's API key may be in the
  /// same room.
  struct Presence: Sendable, Equatable {
    var session: Session
    var hasParticipant: Bool
  }

  /// Sends what an event means for sessions and participants. Each `participant-joined` is followed by a `participant-left` of the same
  /// session, and participants of other API keys have neither.
  /// - Parameters:
  ///   - before: the session that was on before the event.
  ///   - after: the session that is on after it.
  func observe(_ event: RoomEvent, before: Presence?, after: Presence?, at now: APITime) async {
    switch event.change {
    case .joined(let participant):
      guard let after, after.hasParticipant, before?.hasParticipant != true else { return }
      state.withLock { $0.names[event.room, default: [:]][participant.id] = participant.name }
      let session = after.session
      if before == nil { await send("session-started", session, event.room) { SessionData(session, event.room) } }
      await send("participant-joined", session, event.room) {
        ParticipantData(session, event.room, participant.id, participant.name)
      }
    case .left:
      guard let before, before.hasParticipant else { return }
      let (name, session) = (removeName(event) ?? "", before.session)
      await send("participant-left", session, event.room) {
        ParticipantData(session, event.room, event.participant, name)
      }
      if after == nil {
        await send("session-ended", session, event.room) { SessionData(session, event.room, end: now) }
      }
    case .published, .subscribed, .refused, .renewed, .recorder: break
    }
  }

  private func removeName(_ event: RoomEvent) -> String? {
    state.withLock { state in
      defer { if state.names[event.room]?.isEmpty == true { state.names[event.room] = nil } }
      return state.names[event.room]?.removeValue(forKey: event.participant)
    }
  }

  // MARK: Events

  private struct Body<Data: Encodable>: Encodable {
    var webhookType: String
    var data: Data
  }

  private struct SessionData: Encodable {
    var sessionId: String
    var meetingId: String
    var start: String
    var end: String?

    init(_ session: Session, _ room: String, end: APITime? = nil) {
      (sessionId, meetingId) = (session.id, room)
      (start, self.end) = (session.start.iso8601Offset, end?.iso8601Offset)
    }
  }

  private struct ParticipantData: Encodable {
    var meetingId: String
    var sessionId: String
    var participantId: String
    var participantName: String

    init(_ session: Session, _ room: String, _ id: String, _ name: String) {
      (meetingId, sessionId, participantId, participantName) = (room, session.id, id, name)
    }
  }

  private func send(_ type: String, _ session: Session, _ room: String, _ data: () -> some Encodable) async {
    let webhook = state.withLock { $0.webhooks[room] }
    let url = webhook.flatMap { $0.wants(type) ? $0.endPoint : nil }
    guard url != nil || context.events.forms.contains(.videosdk) else { return }
    do {
      let body = try JSONCodec.encode(Body(webhookType: type, data: data()))
      guard let signature = try await key().sign(body) else {
        return context.log("an event of VideoSDK is not sent: it cannot be signed")
      }
      context.events.send(
        BackEndEvent(.videosdk, room: room, name: type, webhook: url, signature: signature, body: body))
    } catch { context.log("an event of VideoSDK is not sent: \(error)") }
  }
}

/// A webhook that a back end has registered with a room.
struct VideoSDKWebhook: Codable, Sendable, Equatable {
  var endPoint: String?
  /// Names of events, also with `*` at the end for all that begin so. Nil: all.
  var events: [String]?

  /// Bytes of the address, and the number of names.
  static let limits = (endPoint: 512, events: 64)

  /// Why it cannot be registered, in words; nil: it can.
  var fault: String? {
    guard let endPoint, endPoint.utf8.count <= Self.limits.endPoint, EventURL(endPoint) != nil else {
      return "webhook.endPoint is not an http or https URL of at most \(Self.limits.endPoint) characters"
    }
    guard let events else { return nil }
    guard (1...Self.limits.events).contains(events.count),
      events.allSatisfy({ (1...64).contains($0.utf8.count) })
    else {
      return "webhook.events has 1 to \(Self.limits.events) names of 1 to 64 characters"
    }
    return nil
  }

  func wants(_ type: String) -> Bool {
    guard let events else { return true }
    return events.contains { $0.hasSuffix("*") ? type.hasPrefix($0.dropLast()) : $0 == type }
  }
}

extension VideoSDKAPI {
  /// The session that is on in the room of an event; nil: there is none, as no participant of an API key is in the room.
  func presence(in event: RoomEvent) -> VideoSDKWebhooks.Presence? {
    live.live(event.room).map { live in
      .init(
        session: .init(id: live.session, start: live.start),
        hasParticipant: live.participants.contains(event.participant))
    }
  }
}
