public import Foundation
import Koine
import KoineCallKit

/// The content of a push notification about a call.
///
/// Recognized keys are `callId`, `displayName`, `from`, `to`, `videoCall` and `eventId`, at the top level or under
/// `data`.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acspushnotificationinfo)
public final class PushNotificationInfo: NSObject, @unchecked Sendable {  // constant; identifiers are
  public let callId: UUID
  public let fromDisplayName: String
  public let incomingWithVideo: Bool
  public let from: any CommunicationIdentifier
  public let to: any CommunicationIdentifier
  public let eventType: PushNotificationEventType
  /// Whether it could be read at all.
  let isValid: Bool

  private init(_ payload: [AnyHashable: Any]) {
    let values = payload["data"] as? [AnyHashable: Any] ?? payload
    let callId = (values["callId"] as? String).flatMap(UUID.init(uuidString:))
    let from = values["from"] as? String
    isValid = callId != nil && from != nil
    self.callId = callId ?? UUID()
    fromDisplayName = values["displayName"] as? String ?? ""
    incomingWithVideo = values["videoCall"] as? Bool ?? (values["videoCall"] as? String == "true")
    self.from = createCommunicationIdentifier(fromRawId: from ?? "")
    to = createCommunicationIdentifier(fromRawId: values["to"] as? String ?? "")
    let number = values["eventId"] as? Int ?? (values["eventId"] as? String).flatMap { Int($0) }
    eventType = number.flatMap(PushNotificationEventType.init) ?? .incomingCall
  }

  public class func fromDictionary(_ payload: [AnyHashable: Any]) -> PushNotificationInfo {
    PushNotificationInfo(payload)
  }
}

extension CallAgent {
  /// Lets calls reach the machine by push notifications (`Machine.phone`) while the app is not running, also after `dispose()`.
  ///
  /// The registration lasts until `unregisterPushNotification`, or for the options' `pushNotificationTtl`; a further call renews it.
  /// - Parameter deviceToken: the token from `PKPushRegistry`. Calls for another token reach no machine; that is logged.
  public func registerPushNotifications(deviceToken: Data, completionHandler: @escaping ((any Error)?) -> Void) {
    guard !deviceToken.isEmpty else {
      return answer(
        completionHandler,
        CallingCommunicationErrors.invalidPushNotificationDeviceRegistrationToken.error("the token is empty"))
    }
    guard !isDisposed else { return answer(completionHandler) }
    guard deviceToken == world.machine.phone.pushToken else {
      NoEffect.complain("registerPushNotifications: the token is not from PKPushRegistry; no push will arrive")
      return answer(completionHandler)
    }
    let handler = Handler(completionHandler)
    credential.token { [self] token, error in
      guard let token else { return world.delivery.deliver { handler(error) } }
      PushRegistration.begin(for: endpoint, token: token.token, agent: self) { handler($0) }
    }
  }

  /// Ends the registration of `registerPushNotifications`.
  public func unregisterPushNotification(completionHandler: @escaping ((any Error)?) -> Void) {
    if !isDisposed { world.machine.phone.setPushSource(nil, for: endpoint.identity) }
    answer(completionHandler)
  }

  /// Lets the call of a push notification ring at the agent, unless it rings already.
  ///
  /// The handler gets error 4 for an invalid payload, and error 8 for a call that is over or unknown.
  public func handlePush(notification: PushNotificationInfo, completionHandler: @escaping ((any Error)?) -> Void) {
    guard notification.isValid else {
      return answer(
        completionHandler,
        CallingCommunicationErrors.receivedInvalidPushNotificationPayload.error("callId or from is missing"))
    }
    guard !isDisposed else { return answer(completionHandler) }
    let handler = Handler(completionHandler)
    world.delivery.deliver { [self] in
      let id = notification.callId.uuidString.lowercased()
      if isRinging(id) { return handler(nil) }
      let registration = world.machine.phone.pushSource(for: endpoint.identity) as? PushRegistration
      if let registration, registration.ring(id, at: self) { return handler(nil) }
      callKit?.isOver(notification.callId)
      handler(CallingCommunicationErrors.failedToProcessPushNotificationPayload.error("the call is over, or unknown"))
    }
  }

  nonisolated(nonsending) public func registerPushNotifications(deviceToken: Data) async throws {
    try await completion { registerPushNotifications(deviceToken: deviceToken, completionHandler: $0) }
  }
  nonisolated(nonsending) public func unregisterPushNotification() async throws {
    try await completion { unregisterPushNotification(completionHandler: $0) }
  }
  nonisolated(nonsending) public func handlePush(notification: PushNotificationInfo) async throws {
    try await completion { handlePush(notification: notification, completionHandler: $0) }
  }

  private func answer(_ completionHandler: @escaping ((any Error)?) -> Void, _ error: NSError? = nil) {
    let handler = Handler(completionHandler)
    let error =
      error ?? (isDisposed ? CallingCommunicationErrors([]).error("the agent is disposed") : nil)
    world.delivery.deliver { handler(error) }
  }
}

/// An identity that is reachable by push notifications. The phone keeps it while the app is not running.
///
/// It is a registration of its own, as that of the vendor's push service: it rings together with the agent.
final class PushRegistration: Sendable {
  private struct State {
    var rings: [Ring.ID: Ring] = [:]
    var end: Alarm?
    weak var agent: CallAgent?
  }
  private let endpoint: Endpoint
  private let phone: Phone
  private let state: Lock<State>

  private init(_ endpoint: Endpoint, agent: CallAgent) {
    self.endpoint = endpoint
    phone = endpoint.world.machine.phone
    state = Lock(State(agent: agent))
  }

  /// - Parameter done: called once, on the delivery queue.
  static func begin(
    for present: Endpoint, token: String, agent: CallAgent, done: @escaping @Sendable (NSError?) -> Void
  ) {
    let world = present.world
    let phone = world.machine.phone
    if let known = phone.pushSource(for: present.identity) as? PushRegistration {
      known.expire(after: agent.pushLifetime)
      return world.delivery.deliver { done(nil) }
    }
    let lifetime = agent.pushLifetime
    let endpoint = Endpoint(identity: present.identity, name: present.name, credential: token, in: world)
    let registration = PushRegistration(endpoint, agent: agent)
    endpoint.observe { [weak registration] in registration?.handle($0) }
    endpoint.register { outcome in
      switch outcome {
      case .success:
        phone.setPushSource(registration, for: endpoint.identity)
        registration.expire(after: lifetime)
        done(nil)
      case .failure(let error): done(NSError(error))
      }
    }
  }

  deinit { state.withLock { $0.end }?.cancel() }

  /// Ends the registration after a time, instead of an earlier time for its end.
  private func expire(after lifetime: Duration) {
    let scheduler = endpoint.world.backend.scheduler
    let alarm = scheduler.lane("push registration").post(at: scheduler.now + lifetime) { [weak self] in
      guard let self, phone.pushSource(for: endpoint.identity) === self else { return }
      phone.setPushSource(nil, for: endpoint.identity)
    }
    let old = state.withLock { state in
      defer { state.end = alarm }
      return state.end
    }
    old?.cancel()
  }

  /// On the delivery queue.
  /// - Returns: false if no such call rings.
  func ring(_ id: Ring.ID, at agent: CallAgent) -> Bool {
    let ring = state.withLock { state in
      state.agent = agent
      return state.rings[id]
    }
    guard let ring else { return false }
    agent.rings(ring, at: endpoint)
    return true
  }

  /// On the delivery queue.
  private func handle(_ event: EndpointEvent) {
    switch event {
    case .invited(let ring):
      state.withLock { $0.rings[ring.id] = ring }
      let data: [String: any Sendable] = [
        "callId": ring.id, "displayName": ring.callerName, "from": ParticipantIdentifiers.rawId(of: ring.caller),
        "to": endpoint.identity, "videoCall": ring.hasVideo,
        "eventId": ring.callees.count == 1
          ? PushNotificationEventType.incomingCall.rawValue
          : PushNotificationEventType.incomingGroupCall.rawValue,
      ]
      phone.push(["data": data])
    case .answered(let ring, _, let answer):
      guard answer.isOver else { return }
      let agent = state.withLock { state in
        state.rings[ring.id] = nil
        return state.agent
      }
      agent?.ended(ring, at: endpoint, answer)
    case .stateChanged, .failed: break
    }
  }
}
