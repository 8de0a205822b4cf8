package import KoineSignaling

/// What a credential lets a participant do. What is not granted cannot be done.
package struct Grants: Hashable, Sendable {
  /// Overrides what the join asked for; nil leaves it.
  package var participantID: String?
  package var name: String?
  package var externalID: String?
  package var attributes: [String: String]?
  /// Kinds of tracks it may publish.
  package var publish: Set<Track.Kind>
  package var canSubscribe: Bool
  package var canSendData: Bool

  package init(
    participantID: String? = nil, name: String? = nil, externalID: String? = nil, attributes: [String: String]? = nil,
    publish: Set<Track.Kind> = Set(Track.Kind.allCases), canSubscribe: Bool = true, canSendData: Bool = true
  ) {
    (self.participantID, self.name, self.externalID) = (participantID, name, externalID)
    (self.attributes, self.publish) = (attributes, publish)
    (self.canSubscribe, self.canSendData) = (canSubscribe, canSendData)
  }

  package static let everything = Grants()
}

/// Checks what lets a participant in. The router knows nothing of tokens; whoever runs it says what they mean.
package struct Authorization: Sendable {
  /// Called once per join, inline: it must not wait for anything.
  package var check: @Sendable (Join) -> Result<Grants, Failure>

  package init(check: @escaping @Sendable (Join) -> Result<Grants, Failure>) { self.check = check }

  /// Lets everybody in and do everything.
  package static let open = Authorization { _ in .success(.everything) }
}
