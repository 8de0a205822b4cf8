import Foundation

/// Notified of a meeting's events, on the delivery queue.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/EventAnalyticsObserver.html)
public protocol EventAnalyticsObserver: AnyObject {
  /// - Parameter attributes: keyed by `EventAttributeName`.
  func eventDidReceive(name: EventName, attributes: [AnyHashable: Any])
}

/// A meeting's events for observers, and its history.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/EventAnalyticsFacade.html)
public protocol EventAnalyticsFacade: AnyObject {
  func addEventAnalyticsObserver(observer: any EventAnalyticsObserver)
  func removeEventAnalyticsObserver(observer: any EventAnalyticsObserver)
  /// All events since the session was made, in the order in which they happened.
  func getMeetingHistory() -> [MeetingHistoryEvent]
  /// Attributes of every event, keyed by the descriptions of `EventAttributeName`.
  func getCommonEventAttributes() -> [AnyHashable: Any]
}

/// Takes events: keeps them in the history, hands them to the reporter, and notifies observers.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/EventAnalyticsController.html)
public protocol EventAnalyticsController: AnyObject {
  func publishEvent(name: EventName)
  func publishEvent(name: EventName, attributes: [AnyHashable: Any])
  /// - Parameter notifyObservers: false: the event goes into the history and to the reporter only.
  func publishEvent(name: EventName, attributes: [AnyHashable: Any], notifyObservers: Bool)
  /// Adds an event without attributes to the history and hands it to the reporter.
  func pushHistory(historyEventName: MeetingHistoryEventName)
  func addEventAnalyticsObserver(observer: any EventAnalyticsObserver)
  func removeEventAnalyticsObserver(observer: any EventAnalyticsObserver)
  func getMeetingHistory() -> [MeetingHistoryEvent]
  func getCommonEventAttributes() -> [AnyHashable: Any]
}

/// An event in a meeting's history.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/MeetingHistoryEvent.html)
public final class MeetingHistoryEvent: CustomStringConvertible, Sendable {
  public let meetingHistoryEventName: MeetingHistoryEventName
  /// Milliseconds since 1970.
  public let timestampMs: Int64

  public init(meetingHistoryEventName: MeetingHistoryEventName, timestampMs: Int64) {
    self.meetingHistoryEventName = meetingHistoryEventName
    self.timestampMs = timestampMs
  }

  public var description: String { "\(meetingHistoryEventName): \(timestampMs)" }
}

/// An event as an `EventReporter` gets it.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/SDKEvent.html)
public final class SDKEvent {
  public let name: String
  /// Keyed by `EventAttributeName`.
  public let eventAttributes: [AnyHashable: Any]

  public init(eventName: EventName, eventAttributes: [AnyHashable: Any]) {
    name = eventName.description
    self.eventAttributes = eventAttributes
  }

  public init(meetingHistoryEventName: MeetingHistoryEventName, eventAttributes: [AnyHashable: Any]) {
    name = meetingHistoryEventName.description
    self.eventAttributes = eventAttributes
  }
}

extension Dictionary where Key == AnyHashable, Value == Any {
  /// One JSON object of the descriptions of all keys and values, sorted by key.
  public func toJsonString() -> String {
    let texts = Dictionary<String, String>(map { ("\($0.key)", "\($0.value)") }) { first, _ in first }
    guard let data = try? JSONSerialization.data(withJSONObject: texts, options: .sortedKeys) else { return "{}" }
    return String(decoding: data, as: UTF8.self)
  }
}

extension NSDictionary {
  /// One JSON object of the descriptions of all keys and values, sorted by key.
  public func toJsonString() -> String {
    let pairs = allKeys.compactMap { key in
      (key as? AnyHashable).flatMap { name in object(forKey: key).map { (name, $0) } }
    }
    return Dictionary<AnyHashable, Any>(pairs) { first, _ in first }.toJsonString()
  }
}
