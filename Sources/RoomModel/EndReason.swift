/// Why a participant's time in a room, or an identity's registration, is over, as that participant is told.
public enum EndReason: Sendable, Hashable {
  /// The app left.
  case left
  /// The room did not admit the participant.
  case refused(Failure)
  /// The connection or the media path broke and did not come back.
  case lost
  /// The room or a participant with that permission removed it.
  case removed
  /// A newer participant joined with the same id.
  case duplicate
  /// The room was closed for all participants.
  case roomClosed
  /// The credential that admitted the participant has expired.
  case expired
  /// The app's back end removed the participant, by a vendor's HTTP API.
  /// - Parameter note: the back end's reason in words, at most 128 characters.
  case removedByService(note: String?)
  /// The app's back end closed the room for all participants, by a vendor's HTTP API.
  case roomClosedByService
}

extension EndReason: Codable {
  private enum CodingKeys: String, CodingKey { case refused }

  private static let names: [(reason: EndReason, name: String)] = [
    (.left, "left"), (.lost, "dropped"), (.removed, "removed"), (.duplicate, "duplicate"), (.roomClosed, "closed"),
    (.expired, "expired"),
  ]

  /// A name that this version does not know counts as `removed`: an app that was removed does not join again by itself.
  public init(from decoder: any Decoder) throws {
    if let name = try? decoder.singleValueContainer().decode(String.self) {
      self = Self.names.first { $0.name == name }?.reason ?? .removed
    } else {
      self = .refused(try decoder.container(keyedBy: CodingKeys.self).decode(Failure.self, forKey: .refused))
    }
  }

  /// The reason without its origin, as clients know it that were built before there were origins.
  public var withoutOrigin: EndReason {
    switch self {
    case .removedByService: .removed
    case .roomClosedByService: .roomClosed
    case .left, .refused, .lost, .removed, .duplicate, .roomClosed, .expired: self
    }
  }

  /// The reason as an end that a vendor's HTTP API asked for; reasons that no API causes stay as they are.
  public func byService(note: String?) -> EndReason {
    switch self {
    case .removed: .removedByService(note: note)
    case .roomClosed: .roomClosedByService
    default: self
    }
  }

  /// Writes the reason without its origin. The message that carries the reason has the origin in members of its own.
  public func encode(to encoder: any Encoder) throws {
    if case .refused(let failure) = self {
      var fields = encoder.container(keyedBy: CodingKeys.self)
      try fields.encode(failure, forKey: .refused)
    } else {
      var text = encoder.singleValueContainer()
      try text.encode(Self.names.first { $0.reason == withoutOrigin }?.name ?? "removed")
    }
  }
}

extension EndReason: CustomStringConvertible {
  /// The reason's name on the wire; of a refusal its code.
  public var description: String {
    if case .refused(let failure) = self { return "refused: \(failure.code.rawValue)" }
    return Self.names.first { $0.reason == withoutOrigin }?.name ?? "removed"
  }
}
