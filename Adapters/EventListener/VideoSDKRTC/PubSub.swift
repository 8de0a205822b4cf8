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

  /// How long a persisted message is asked to be kept; the room sets the bounds.
  private static let lifetime = Duration.seconds(24 * 3600)
  private static let kept = 1_000
  private let state = Lock(State())
  private let fail: @Sendable (VideoSDKError) -> Void

  init(fail: @escaping @Sendable (VideoSDKError) -> Void) { self.fail = fail }

  /// - Parameters:
  ///   - options: `"persist"`: a Bool, whether those who come later get it; `"sendOnly"`: ids of the only participants
  ///     who get it.
  public func publish(topic: String, message: String, options: [String: Any] = [:]) {
    guard let session = state.withLock({ $0.session }) else { return }  // not in the meeting: nothing happens
    let isPersistent = options["persist"] as? Bool ?? false
    let recipients = options["sendOnly"] as? [String]
    do throws(SessionError) {
      try session.send(
        DataMessage(
          topic: topic, payload: Array(message.utf8), to: recipients, lifetime: isPersistent ? Self.lifetime : nil))
    } catch {
      return fail(VideoSDKError(error))
    }
    let own = session.localParticipant
    let number = state.withLock { state in
      state.sent += 1
      return state.sent
    }
    let copy = PubSubMessage(
      id: "\(own.id)-\(number)", topic: topic, message: message, senderId: own.id, senderName: own.name, at: Date())
    session.world.delivery.deliver { [weak self] in self?.take(copy, isToBeTold: true) }
  }

  public func subscribe(topic: String, forListener listener: any PubSubMessageListener) {
    state.withLock { $0.listeners[topic, default: Listeners()].add(listener) }
  }

  public func unsubscribe(topic: String, forListener listener: any PubSubMessageListener) {
    state.withLock { $0.listeners[topic]?.remove(listener) }
  }

  /// In the order of arrival, the newest thousand.
  public func getMessagesForTopic(_ topic: String) -> [PubSubMessage] {
    state.withLock { $0.messages[topic] ?? [] }
  }

  // MARK: On the delivery queue

  func enter(_ session: Session) { state.withLock { $0.session = session } }

  func met(_ participant: Koine.Participant) { state.withLock { $0.names[participant.id] = participant.name } }

  /// What the room kept is not told to listeners: it is read with `getMessagesForTopic`.
  func take(_ message: ReceivedMessage) {
    let name = state.withLock { $0.names[message.sender] } ?? ""
    let copy = PubSubMessage(
      id: String(message.order), topic: message.topic, message: String(decoding: message.payload, as: UTF8.self),
      senderId: message.sender, senderName: name, at: Date(timeIntervalSinceNow: -message.age.inSeconds))
    take(copy, isToBeTold: !message.isHistory)
  }

  private func take(_ message: PubSubMessage, isToBeTold: Bool) {
    let listeners = state.withLock { state in
      state.messages[message.topic, default: []].append(message)
      if state.messages[message.topic, default: []].count > Self.kept { state.messages[message.topic]?.removeFirst() }
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
  /// ISO 8601, in UTC.
  public var timestamp: String

  init(id: String, topic: String, message: String, senderId: String, senderName: String, at date: Date) {
    (self.id, self.topic, self.message) = (id, topic, message)
    (self.senderId, self.senderName) = (senderId, senderName)
    timestamp = date.formatted(.iso8601)
  }
}

/// Hears of one topic's messages, own ones too, on the delivery queue. Classes are held weakly.
public protocol PubSubMessageListener {
  func onMessageReceived(_ message: PubSubMessage)
}
