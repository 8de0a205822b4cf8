import Foundation
import Koine

/// Data messages: checks and limits for sending, and delivery to the observers of each topic.
final class DataMessages: @unchecked Sendable {  // everything mutable is in `state`
  /// An attendee may send `burst` messages at once and `perSecond` messages each second. The vendor publishes no limits.
  static let burst = 100.0
  static let perSecond = 50.0
  static let largest = 2_048
  static let longestLifetime = Duration.seconds(300)

  private struct State {
    var observers: [String: Observers<any DataMessageObserver>] = [:]
    var lastTimestamp: Int64 = 0
    var credit = burst
    var creditAt: Tick?
  }
  private let environment: MeetingEnvironment
  private let state = Lock(State())

  init(_ environment: MeetingEnvironment) { self.environment = environment }

  func add(_ observer: any DataMessageObserver, topic: String) {
    state.withLock { state in
      let observers = state.observers[topic] ?? Observers(environment.delivery)
      state.observers[topic] = observers
      return observers
    }.add(observer)
  }

  func removeObservers(of topic: String) {
    let removed = state.withLock { $0.observers.removeValue(forKey: topic) }
    removed?.removeAll()
  }

  /// - Throws: `SendDataMessageError`, checked in the vendor's order.
  func message(topic: String, data: Any, lifetimeMs: Int32) throws -> Koine.DataMessage {
    guard lifetimeMs >= 0 else { throw SendDataMessageError.negativeLifetimeParameter }
    guard (1...36).contains(topic.utf8.count), topic.utf8.allSatisfy(Self.isTopicByte) else {
      throw SendDataMessageError.invalidTopic
    }
    let payload: [UInt8]
    switch data {
    case let text as String: payload = Array(text.utf8)
    case let bytes as [UInt8]: payload = bytes
    case let bytes as Data: payload = Array(bytes)
    default:
      guard JSONSerialization.isValidJSONObject(data), let json = try? JSONSerialization.data(withJSONObject: data)
      else { throw SendDataMessageError.invalidData }
      payload = Array(json)
    }
    guard payload.count <= Self.largest else { throw SendDataMessageError.invalidDataLength }
    let lifetime: Duration? =
      lifetimeMs == 0 ? nil : min(.milliseconds(Int64(lifetimeMs)), Self.longestLifetime)
    return Koine.DataMessage(topic: topic, payload: payload, lifetime: lifetime)
  }

  private static func isTopicByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// Whether one more message may be sent now; counts it if so.
  func takeCredit() -> Bool {
    let now = environment.now
    return state.withLock { state in
      let passed = state.creditAt.map { (now - $0).inSeconds } ?? 0
      state.credit = min(Self.burst, state.credit + passed * Self.perSecond)
      state.creditAt = now
      guard state.credit >= 1 else { return false }
      state.credit -= 1
      return true
    }
  }

  /// Delivers a message to the topic's observers. `age` is how long the room has kept it.
  func receive(topic: String, payload: [UInt8], from sender: AttendeeInfo, age: Duration, throttled: Bool = false) {
    let now = environment.timestampMs
    let (observers, timestamp) = state.withLock { state in
      state.lastTimestamp = max(state.lastTimestamp, now - age.nanoseconds / 1_000_000)
      return (state.observers[topic], state.lastTimestamp)
    }
    let message = DataMessage(
      topic: topic, data: Data(payload), senderAttendeeId: sender.attendeeId,
      senderExternalUserId: sender.externalUserId, timestampMs: timestamp, throttled: throttled)
    observers?.notify { $0.dataMessageDidReceived(dataMessage: message) }
  }
}
