public import Foundation
import Koine

/// Text of the app's own, by topics. Call it after `onMeetingJoined`.
public class PubSub: @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    var listeners: [String: Listeners<any PubSubMessageListener>] = [:]
    /// What `getMessagesForTopic` gives: what the room kept, and what came while one was there.
    var messages: [String: [PubSubMessage]] = [:]
    var names: [String: String] = [:]
    var sent = 0
    weak var session: Session?
  }

  /// Of one topic, as many as a room keeps.
  private static let kept = 16_384
  private let state = Lock(State())
  private let fail: @Sendable (VideoSDKError) -> Void

  init(fail: @escaping @Sendable (VideoSDKError) -> Void) { self.fail = fail }

  /// - Parameters:
  ///   - options: `"persist"`: a Bool, whether those who come later get it; `"sendOnly"`: ids of the only participants
  ///     who get it.
  public func publish(topic: String, message: String, options: [String: Any] = [:]) {
    do { try send(topic, message, options, nil) } catch { fail(VideoSDKError(error)) }
  }

  /// The same, with something besides the text that JSON can write.
  /// - Throws: when it cannot be written as JSON, and what keeps it from being sent.
  nonisolated(nonsending) public func publish(
    topic: String, message: String, options: [String: Any] = [:], payload: [String: Any]?
  ) async throws {
    guard let payload else { return try send(topic, message, options, nil) }
    guard JSONSerialization.isValidJSONObject(payload) else { throw PayloadError() }
    try send(topic, message, options, JSONSerialization.data(withJSONObject: payload, options: .sortedKeys))
  }

  private func send(_ topic: String, _ message: String, _ options: [String: Any], _ payload: Data?) throws(SessionError)
  {
    guard let session = state.withLock({ $0.session }) else { return }  // not in the meeting: nothing happens
    let isPersistent = options["persist"] as? Bool ?? false
    let recipients = options["sendOnly"] as? [String]
    try session.send(
      DataMessage(
        topic: topic, payload: Array(message.utf8) + (payload.map { [0] + Array($0) } ?? []), to: recipients,
        isPersistent: isPersistent))
    let own = session.localParticipant
    let number = state.withLock { state in
      state.sent += 1
      return state.sent
    }
    let copy = PubSubMessage(
      id: "\(own.id)-\(number)", topic: topic, message: message, payload: payload, senderId: own.id,
      senderName: own.name,
      at: Date())
    session.world.delivery.deliver { [weak self] in self?.take(copy, isToBeTold: true) }
  }

  public func subscribe(topic: String, forListener listener: any PubSubMessageListener) {
    state.withLock { $0.listeners[topic, default: Listeners()].add(listener) }
  }

  public func unsubscribe(topic: String, forListener listener: any PubSubMessageListener) {
    state.withLock { $0.listeners[topic]?.remove(listener) }
  }

  /// In the order of arrival, the newest 16,384.
  public func getMessagesForTopic(_ topic: String) -> [PubSubMessage] {
    state.withLock { $0.messages[topic].map { Array($0.suffix(Self.kept)) } ?? [] }
  }

  // MARK: On the delivery queue

  func enter(_ session: Session) { state.withLock { $0.session = session } }

  func met(_ participant: Koine.Participant) { state.withLock { $0.names[participant.id] = participant.name } }

  /// What the room kept is not told to listeners: it is read with `getMessagesForTopic`.
  func take(_ message: ReceivedMessage) {
    let name = state.withLock { $0.names[message.sender] } ?? ""
    // What comes with the text follows it, after a byte that no text has.
    let parts = message.payload.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    let copy = PubSubMessage(
      id: String(message.order), topic: message.topic, message: String(decoding: parts[0], as: UTF8.self),
      payload: parts.count > 1 ? Data(parts[1]) : nil, senderId: message.sender, senderName: name,
      at: Date(timeIntervalSinceNow: -message.age.inSeconds))
    take(copy, isToBeTold: !message.isHistory)
  }

  private func take(_ message: PubSubMessage, isToBeTold: Bool) {
    let listeners = state.withLock { state in
      let count = state.messages[message.topic, default: []].count
      if count >= Self.kept * 2 { state.messages[message.topic]?.removeFirst(count - Self.kept) }
      state.messages[message.topic, default: []].append(message)
      return isToBeTold ? state.listeners[message.topic]?.all ?? [] : []
    }
    for listener in listeners where state.withLock({ $0.listeners[message.topic]?.contains(listener) == true }) {
      listener.onMessageReceived(message)
    }
  }
}

/// `@unchecked Sendable`: made here and then only read; what an app writes into it is the app's to guard.
public class PubSubMessage: NSObject, @unchecked Sendable {
  public var id: String
  public var topic: String
  public var message: String
  public var senderId: String
  public var senderName: String
  /// What was sent with the text; nil for nothing.
  public var payload: [String: Any]?
  /// ISO 8601, in UTC.
  public var timestamp: String

  init(
    id: String, topic: String, message: String, payload: Data?, senderId: String, senderName: String, at date: Date
  ) {
    self.payload = payload.flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] }
    (self.id, self.topic, self.message) = (id, topic, message)
    (self.senderId, self.senderName) = (senderId, senderName)
    timestamp = date.formatted(.iso8601)
  }
}

/// What was to go with a message is nothing that JSON can write.
public struct PayloadError: Error, Hashable, Sendable {}

/// Hears of one topic's messages, own ones too, on the delivery queue. Classes are held weakly.
public protocol PubSubMessageListener {
  func onMessageReceived(_ message: PubSubMessage)
}
