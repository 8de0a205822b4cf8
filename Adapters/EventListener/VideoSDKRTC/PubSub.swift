public import Foundation
import Koine

/// Text of the app's own, by topics. Call it after `onMeetingJoined`.
public class PubSub: @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    var listeners: [String: Listeners<any PubSubMessageListener>] = [:]
    /// What `getMessagesForTopic` gives, of all topics in the order of arrival: what the room kept, and what came while one
    /// was there.
    var messages: [PubSubMessage] = []
    /// Of `messages`.
    var bytes = 0
    /// Of those who are there.
    var names: [String: String] = [:]
    var sent = 0
    weak var session: Session?
  }

  /// Of one topic, as many as a room keeps.
  private static let kept = 16_384
  /// Of all topics, whoever sends them, in bytes; then the oldest go.
  private static let limit = 32 << 20
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

  private func send(_ topic: String, _ message: String, _ options: [String: Any], _ payload: Data?) throws(Failure) {
    guard let session = state.withLock({ $0.session }) else {
      throw Failure(.notConnected, "messages can be sent once the meeting is joined")
    }
    let isPersistent = options["persist"] as? Bool ?? false
    let recipients = options["sendOnly"] as? [String]
    try session.send(
      DataMessage(
        topic: topic, payload: PubSubPayload(text: message, addition: payload).bytes, to: recipients,
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

  /// In the order of arrival, the newest 16,384, as far as 32 MiB of all topics reach.
  public func getMessagesForTopic(_ topic: String) -> [PubSubMessage] {
    state.withLock { $0.messages.filter { $0.keptTopic == topic } }.suffix(Self.kept)
  }

  // MARK: On the delivery queue

  func enter(_ session: Session) { state.withLock { $0.session = session } }

  func met(_ participant: Koine.Participant) { state.withLock { $0.names[participant.id] = participant.name } }
  func missed(_ participant: Koine.Participant) { state.withLock { $0.names[participant.id] = nil } }

  /// What the room kept is not told to listeners: it is read with `getMessagesForTopic`.
  func take(_ message: ReceivedMessage) {
    let name = state.withLock { $0.names[message.sender] } ?? ""
    let payload = PubSubPayload(message.payload)
    let copy = PubSubMessage(
      id: String(message.order), topic: message.topic, message: payload.text,
      payload: payload.addition, senderId: message.sender, senderName: name,
      at: Date(timeIntervalSinceNow: -message.age.inSeconds))
    take(copy, isToBeTold: !message.isHistory)
  }

  private func take(_ message: PubSubMessage, isToBeTold: Bool) {
    let listeners = state.withLock { state in
      state.messages.append(message)
      state.bytes += message.cost
      if state.bytes > Self.limit {  // by eighths: taking away the first of many is dear
        var count = 0
        while state.bytes > Self.limit / 8 * 7 {
          state.bytes -= state.messages[count].cost
          count += 1
        }
        state.messages.removeFirst(count)
      }
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
  /// As it came: an app may write into the others.
  let keptTopic: String
  /// What keeping it takes, in bytes, about.
  let cost: Int

  init(
    id: String, topic: String, message: String, payload: Data?, senderId: String, senderName: String, at date: Date
  ) {
    self.payload = payload.flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] }
    (self.id, self.topic, self.message, keptTopic) = (id, topic, message, topic)
    cost = 512 + topic.utf8.count + message.utf8.count + senderName.utf8.count + (payload?.count ?? 0) * 4
    (self.senderId, self.senderName) = (senderId, senderName)
    timestamp = date.formatted(.iso8601)
  }
}

/// What is sent: the text, and what comes with it after the byte 0xFF, which is nowhere in UTF-8. Earlier versions had a
/// zero there, which is a sign of text, too.
struct PubSubPayload {
  var text: String
  var addition: Data?

  init(text: String, addition: Data?) { (self.text, self.addition) = (text, addition) }

  init(_ bytes: [UInt8]) {
    let old = bytes.firstIndex(of: 0).flatMap { bytes[($0 + 1)...].first == UInt8(ascii: "{") ? $0 : nil }
    let end = bytes.firstIndex(of: 0xFF) ?? old ?? bytes.endIndex
    text = String(decoding: bytes[..<end], as: UTF8.self)
    addition = end + 1 < bytes.endIndex ? Data(bytes[(end + 1)...]) : nil
  }

  var bytes: [UInt8] {
    let hasZero = text.utf8.contains(0)
    return Array(text.utf8) + (addition != nil || hasZero ? [0xFF] : []) + (addition.map { Array($0) } ?? [])
  }
}

/// What was to go with a message is nothing that JSON can write.
public struct PayloadError: Error, Hashable, Sendable {}

/// Hears of one topic's messages, own ones too, on the delivery queue. Classes are held weakly.
public protocol PubSubMessageListener {
  func onMessageReceived(_ message: PubSubMessage)
}
