import CrossVendorConventions
public import Foundation
import Koine

/// Values that all participants of a meeting share: text by keys. A change reaches the participants in the same order, and
/// participants that join later find the values. The room keeps them as long as it exists.
///
/// All calls need a joined meeting. https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/realtimeStore
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public class RealtimeStore: @unchecked Sendable {  // everything mutable sits in `state`
  private struct Request {
    let number: Int
    let completion: @Sendable (Result<Void, RealtimeStoreError>) -> Void
    var timeout: Alarm?
  }

  private struct State {
    var values: [String: String] = [:]
    var listeners: [String: Listeners<any RealtimeStoreEventListener>] = [:]
    /// Requests that the room has not confirmed, by topic, the oldest first.
    var requests: [String: [Request]] = [:]
    var requestsSoFar = 0
    weak var session: Session?
  }

  /// Size of a value, in bytes of UTF-8.
  static let valueLimit = 1_024
  /// Most keys with a value that one meeting has.
  static let keyLimit = 100
  /// Size of a key, in bytes of UTF-8: what a message's topic has space for.
  static let keySize = 256 - Convention.store.utf8.count
  /// The number of values that are remembered, even if a participant sets more than it may.
  private static let rememberedKeys = 1_024
  /// How long a request waits for its confirmation.
  private static let patience = Duration.seconds(10)
  private let state = Lock(State())

  init() {}

  /// Sets the value of a key for all participants. Returns once the room has confirmed it.
  /// - Parameters:
  ///   - key: 1...244 bytes of UTF-8.
  ///   - value: at most 1,024 bytes of UTF-8; nil removes the key.
  /// - Throws: `RealtimeStoreError`: for a key or value beyond these limits, for the 101st key of a meeting, outside of a joined
  ///   meeting, and if the room does not confirm it within 10 s.
  nonisolated(nonsending) public func set(key: String, value: String?) async throws {
    try Self.check(key)
    if let value, value.utf8.count > Self.valueLimit { throw RealtimeStoreError.valueTooLarge }
    let topic = Convention.store + key
    let isFull = state.withLock { state in
      value != nil && state.values[key] == nil && state.values.count >= Self.keyLimit
    }
    if isFull { throw RealtimeStoreError.operationFailed("a meeting stores at most \(Self.keyLimit) keys") }
    try await request(topic) { number in
      var message = DataMessage(topic: topic, payload: value.map { Array("\(number) \($0)".utf8) } ?? [])
      (message.isRetained, message.returnsToSender) = (true, true)
      return message
    }
  }

  /// The value of a key, after all changes that the room has confirmed so far.
  /// - Returns: nil if the key has no value.
  /// - Throws: `RealtimeStoreError`: for an invalid key, outside of a joined meeting, and if the room does not answer within 10 s.
  nonisolated(nonsending) public func get(key: String) async throws -> String? {
    try Self.check(key)
    let own = state.withLock { $0.session }?.localParticipant.id ?? ""
    // A message to the local participant itself: it returns after all changes before it.
    try await request(Convention.store) { number in
      DataMessage(topic: Convention.store, payload: Array("\(number) ".utf8), to: [own])
    }
    return state.withLock { $0.values[key] }
  }

  /// Notifies the listener of each later change of a key, by any participant. Adding a listener twice has no effect. The listener
  /// is held weakly if it is a class.
  /// - Throws: `RealtimeStoreError`: for an invalid key, and outside of a joined meeting.
  nonisolated(nonsending) public func observe(
    key: String, forListener listener: any RealtimeStoreEventListener
  ) async throws {
    try Self.check(key)
    _ = try joinedSession()
    state.withLock { $0.listeners[key, default: Listeners()].add(listener) }
  }

  /// Ends `observe`. Harmless for a listener that does not observe the key, and outside of a meeting.
  /// - Throws: nothing; the declaration is the vendor's.
  nonisolated(nonsending) public func stopObserving(
    key: String, forListener listener: any RealtimeStoreEventListener
  ) async throws {
    state.withLock { state in
      state.listeners[key]?.remove(listener)
      if state.listeners[key]?.all.isEmpty == true { state.listeners[key] = nil }
    }
  }

  private static func check(_ key: String) throws(RealtimeStoreError) {
    guard (1...keySize).contains(key.utf8.count) else { throw .invalidKey }
  }

  // MARK: Requests

  private func joinedSession() throws(RealtimeStoreError) -> Session {
    guard let session = state.withLock({ $0.session }), session.state == .connected else {
      throw .operationFailed("the meeting is not joined")
    }
    return session
  }

  /// Sends a message that returns to this client, and waits for it.
  nonisolated(nonsending) private func request(
    _ topic: String, _ makeMessage: (_ number: Int) -> DataMessage
  ) async throws {
    let session = try joinedSession()
    let number = state.withLock { state in
      state.requestsSoFar += 1
      return state.requestsSoFar
    }
    let message = makeMessage(number)
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      begin(number, topic) { continuation.resume(with: $0.mapError { $0 }) }
      do throws(Failure) {
        try session.send(message)
        startTimeout(number, topic, session)
      } catch {
        complete(number, topic, .failure(.operationFailed(error.description)))
      }
    }
  }

  private func begin(
    _ number: Int, _ topic: String, _ completion: @escaping @Sendable (Result<Void, RealtimeStoreError>) -> Void
  ) {
    state.withLock { $0.requests[topic, default: []].append(Request(number: number, completion: completion)) }
  }

  private func startTimeout(_ number: Int, _ topic: String, _ session: Session) {
    let lane = session.world.backend.scheduler.lane("realtime store")
    let timeout = lane.post(at: lane.scheduler.now + Self.patience) { [weak self] in
      self?.complete(number, topic, .failure(.operationFailed("the room has not answered")))
    }
    let isWanted = state.withLock { state in
      guard let index = state.requests[topic]?.firstIndex(where: { $0.number == number }) else { return false }
      state.requests[topic]?[index].timeout = timeout
      return true
    }
    if !isWanted { timeout.cancel() }
  }

  private func complete(_ number: Int, _ topic: String, _ outcome: Result<Void, RealtimeStoreError>) {
    let request = state.withLock { state -> Request? in
      guard let index = state.requests[topic]?.firstIndex(where: { $0.number == number }) else { return nil }
      defer { if state.requests[topic]?.isEmpty == true { state.requests[topic] = nil } }
      return state.requests[topic]?.remove(at: index)
    }
    request?.timeout?.cancel()
    request?.completion(outcome)
  }

  // MARK: On the delivery queue

  /// The meeting enters a room, perhaps another one. Observers stay.
  func enter(_ session: Session) {
    close()
    state.withLock { state in
      state.session = session
      state.values = [:]
    }
  }

  /// The room has been left: requests without an answer fail.
  func close() {
    let requests = state.withLock { state in
      defer { (state.requests, state.session) = ([:], nil) }
      return state.requests.values.flatMap { $0 }.sorted { $0.number < $1.number }
    }
    for request in requests {
      request.timeout?.cancel()
      request.completion(.failure(.operationFailed("the meeting has been left")))
    }
  }

  func receive(_ message: ReceivedMessage, in session: Session) {
    let isOwn = message.sender == session.localParticipant.id
    let key = String(message.topic.dropFirst(Convention.store.count))
    guard let change = StoredValue(message.payload) else { return }
    if !key.isEmpty, !message.isDirected { apply(change.value, key, message) }
    guard isOwn else { return }
    // A request without a value has no number. Any two of a key have the same effect.
    let number = change.number ?? state.withLock { $0.requests[message.topic]?.first?.number }
    if let number { complete(number, message.topic, .success(())) }
  }

  private func apply(_ value: String?, _ key: String, _ message: ReceivedMessage) {
    let listeners = state.withLock { state in
      let old = state.values[key]
      guard old != nil || value == nil || state.values.count < Self.rememberedKeys else {
        return [any RealtimeStoreEventListener]()
      }
      state.values[key] = value
      guard !message.isHistory || old != value else { return [] }
      return state.listeners[key]?.all ?? []
    }
    for listener in listeners where state.withLock({ $0.listeners[key]?.contains(listener) == true }) {
      listener.onValueChanged(key: key, value: value, updatedBy: message.sender)
    }
  }
}

/// The payload of a message of the store (`Convention.store`).
private struct StoredValue {
  var number: Int?
  var value: String?

  /// - Returns: nil for a payload that is no message of the store.
  init?(_ payload: [UInt8]) {
    guard !payload.isEmpty else { return }
    let words = payload.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
    guard words.count == 2, let number = Int(String(decoding: words[0], as: UTF8.self)),
      words[1].count <= RealtimeStore.valueLimit
    else { return nil }
    (self.number, value) = (number, String(decoding: words[1], as: UTF8.self))
  }
}

/// Why the store has not done what it was asked for.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum RealtimeStoreError: Error, LocalizedError, Hashable, Sendable {
  /// The room has refused it or has not answered, or the meeting is not joined. The text says which.
  case operationFailed(String)
  /// Never thrown here: `get` returns nil for a key without a value.
  case keyNotFound
  /// The key is empty or too long.
  case invalidKey
  /// The value has more than 1,024 bytes.
  case valueTooLarge

  public var errorDescription: String? {
    switch self {
    case .operationFailed(let text): text
    case .keyNotFound: "the key has no value"
    case .invalidKey: "a key has 1...\(RealtimeStore.keySize) bytes"
    case .valueTooLarge: "a value has at most \(RealtimeStore.valueLimit) bytes"
    }
  }
}

/// Receives the changes of a key on the delivery queue, including the local participant's. Classes are held weakly.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public protocol RealtimeStoreEventListener {
  /// - Parameters:
  ///   - value: nil if the key has no value any more.
  ///   - updatedBy: the id of the participant that has set the value.
  func onValueChanged(key: String, value: String?, updatedBy: String)
}

extension RealtimeStoreEventListener {
  public func onValueChanged(key: String, value: String?, updatedBy: String) {}
}
