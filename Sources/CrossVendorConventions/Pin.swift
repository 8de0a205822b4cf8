public import Koine

/// The payload of a message with the topic `Convention.pin`: a participant is pinned, or no longer.
public struct PinChange: Hashable, Sendable {
  /// Whether the participant is pinned from now on.
  public var isPinned: Bool
  /// What is pinned of the participant, in the words of the pinning app's style.
  public var kind: String
  /// The participant that is pinned, or no longer.
  public var participant: Participant.ID

  /// Creates a change.
  public init(_ participant: Participant.ID, isPinned: Bool, kind: String) {
    (self.participant, self.isPinned, self.kind) = (participant, isPinned, kind)
  }

  /// Parses a payload.
  /// - Returns: nil for a payload that is none.
  public init?(_ payload: [UInt8]) {
    let words = String(decoding: payload, as: UTF8.self).split(separator: " ", maxSplits: 2).map(String.init)
    guard words.count == 3 else { return nil }
    self.init(words[2], isPinned: words[0] == "1", kind: words[1])
  }

  /// The payload of the message.
  public var payload: [UInt8] { Array("\(isPinned ? "1" : "0") \(kind) \(participant)".utf8) }

  /// Updates a list of pinned participants, the one pinned last at the end.
  /// - Parameter limit: most participants in the list. Above it, the one pinned first is dropped.
  public func apply(to pinned: inout [Participant.ID], limit: Int = 1_024) {
    pinned.removeAll { $0 == participant }
    if isPinned { pinned.append(participant) }
    if pinned.count > limit { pinned.removeFirst(pinned.count - limit) }
  }
}
