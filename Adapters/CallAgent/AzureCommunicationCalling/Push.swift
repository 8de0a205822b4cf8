public import Foundation
import Koine

/// The content of a push notification about a call. Koine has no push service; apps can parse payloads that they
/// transport themselves.
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
  /// Kept: there is no push service, and calls ring while the agent is there.
  public func registerPushNotifications(deviceToken: Data, completionHandler: @escaping ((any Error)?) -> Void) {
    let error =
      deviceToken.isEmpty
      ? CallingCommunicationErrors.invalidPushNotificationDeviceRegistrationToken.error("the token is empty") : nil
    if error == nil { NoEffect.push.log() }
    answer(completionHandler, error)
  }

  public func unregisterPushNotification(completionHandler: @escaping ((any Error)?) -> Void) {
    NoEffect.push.log()
    answer(completionHandler)
  }

  /// Reports whether the payload is a valid push notification. The call itself rings without it.
  public func handlePush(notification: PushNotificationInfo, completionHandler: @escaping ((any Error)?) -> Void) {
    NoEffect.push.log()
    answer(
      completionHandler,
      notification.isValid
        ? nil
        : CallingCommunicationErrors.receivedInvalidPushNotificationPayload.error("callId or from is missing"))
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
