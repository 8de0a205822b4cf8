public import Foundation
import Koine

/// Messages between participants, by topics. Available after `onMeetingJoined`.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/pubsub)
public class PubSub: @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    var listeners: [String: Listeners<any PubSubMessageListener>] = [:]
    /// What `getMessagesForTopic` gives, of all topics in the order of arrival: what the room kept, and what came while one
    /// was there.
    var messages: [PubSubMessage] = []
    /// Approximate size of `messages`, in bytes.
    var bytes = 0
    /// Names of the participants in the meeting, by id.
    var names: [String: String] = [:]
    var sent = 0
    weak var session: Session?
  }

  /// Most messages returned for one topic: as many as a room keeps.
  private static let kept = 16_384
  /// Limit on the messages of all topics and senders, in bytes. Above it, the oldest are dropped.
  private static let limit = 32 << 20
  private let state = Lock(State())
  private let fail: @Sendable (VideoSDKError) -> Void

  init(fail: @escaping @Sendable (VideoSDKError) -> Void) { self.fail = fail }

  /// - Parameters:
  ///   - options: `"persist"`: a Bool, whether late joiners receive the message. `"sendOnly"`: the ids of its receivers; without
  ///     it, all participants receive the message.
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
    session.world.delivery.deliver { [weak self] in self?.keep(copy, isToBeTold: true) }
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

  /// Forgets the messages of an earlier room. Listeners stay.
  func enter(_ session: Session) {
    state.withLock { state in
      state.session = session
      (state.messages, state.bytes, state.names) = ([], 0, [:])
    }
  }

  func met(_ participant: Koine.Participant) { state.withLock { $0.names[participant.id] = participant.name } }
  func missed(_ participant: Koine.Participant) { state.withLock { $0.names[participant.id] = nil } }

  /// What the room kept is not told to listeners: it is read with `getMessagesForTopic`.
  func receive(_ message: ReceivedMessage) {
    let name = state.withLock { $0.names[message.sender] } ?? ""
    let payload = PubSubPayload(message.payload)
    let copy = PubSubMessage(
      id: String(message.order), topic: message.topic, message: payload.text,
      payload: payload.addition, senderId: message.sender, senderName: name,
      at: Date(timeIntervalSinceNow: -message.age.inSeconds))
    keep(copy, isToBeTold: !message.isHistory)
  }

  private func keep(_ message: PubSubMessage, isToBeTold: Bool) {
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

/// A message of a topic. The SDK does not write to it after it is delivered; an app that changes it synchronizes its
/// own accesses.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/pubsub)
public class PubSubMessage: NSObject, @unchecked Sendable {
  public var id: String
  public var topic: String
  public var message: String
  public var senderId: String
  public var senderName: String
  /// The payload sent with the text; empty if there is none.
  public var payload: [String: Any]
  /// ISO 8601, in UTC.
  public var timestamp: String
  /// The topic as received: an app may change `topic`.
  let keptTopic: String
  /// Approximate memory of the message, in bytes.
  let cost: Int

  init(
    id: String, topic: String, message: String, payload: Data?, senderId: String, senderName: String, at date: Date
  ) {
    self.payload = payload.flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] } ?? [:]
    (self.id, self.topic, self.message, keptTopic) = (id, topic, message, topic)
    cost = 512 + topic.utf8.count + message.utf8.count + senderName.utf8.count + (payload?.count ?? 0) * 4
    (self.senderId, self.senderName) = (senderId, senderName)
    timestamp = date.formatted(.iso8601)
  }
}

/// The bytes of a message: the text, then the byte 0xFF and the payload, if any. 0xFF never occurs in UTF-8. Earlier versions
/// separated the two by a zero byte, which text may contain.
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

/// The payload of a message cannot be written as JSON.
public struct PayloadError: Error, Hashable, Sendable {}

/// Receives the messages of one topic on the delivery queue, including the local participant's. Classes are held weakly.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/pubsub)
public protocol PubSubMessageListener {
  func onMessageReceived(_ message: PubSubMessage)
}
