/// A request to register an endpoint, so that callers can reach its identity.
public struct EndpointRequest: Sendable {
  /// The identity to register.
  public var identity: String
  /// The display name that callees see.
  public var name: String
  /// The vendor's token, passed on as it is; the embedded backend takes none too.
  public var credential: String?

  /// Creates a request.
  public init(identity: String, name: String = "", credential: String? = nil) {
    self.identity = identity
    self.name = name
    self.credential = credential
  }
}

/// One identity's registration. All calls return at once, from any thread.
public protocol EndpointLink: AnyObject, Sendable {
  /// Rings the callees of an outgoing ring, for at most `patience`.
  func ring(_ invitation: Ring, patience: Duration)
  /// Cancels an outgoing ring.
  func cancel(_ invitation: Ring.ID)
  /// Answers an incoming ring.
  func reply(_ reply: RingReply, to invitation: Ring.ID)
  /// Signs out. `ended` follows, and nothing after it.
  func unregister()
}

/// Hears of a registration. Called on the backend's network loop: must return at once.
public protocol EndpointReceiver: AnyObject, Sendable {
  /// Called for each event, in order. Must return at once.
  func endpointDidChange(_ event: EndpointLinkEvent)
}

/// An event of an endpoint's link, in the order in which it happened.
public enum EndpointLinkEvent: Sendable {
  /// The identity is registered and can be rung.
  case registered
  /// A caller rings the identity.
  case invited(Ring)
  /// `callee` is nil for an incoming invitation that is over for this endpoint.
  case answered(Ring.ID, callee: String?, Ring.State)
  /// A request could not be carried out. The link stays open.
  case failed(Failure)
  /// Over. Nothing follows.
  case ended(EndReason)
}
