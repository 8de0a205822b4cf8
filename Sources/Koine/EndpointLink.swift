/// A request to register an endpoint, so that callers can reach its identity.
public struct EndpointRequest: Sendable {
  public var identity: String
  public var name: String
  /// The vendor's token, passed on as it is; the embedded backend takes none too.
  public var credential: String?

  public init(identity: String, name: String = "", credential: String? = nil) {
    self.identity = identity
    self.name = name
    self.credential = credential
  }
}

/// One identity's registration. All calls return at once, from any thread.
public protocol EndpointLink: AnyObject, Sendable {
  func ring(_ invitation: Ring, patience: Duration)
  func cancel(_ invitation: Ring.ID)
  func reply(_ reply: RingReply, to invitation: Ring.ID)
  /// Signs out. `ended` follows, and nothing after it.
  func unregister()
}

/// Hears of a registration. Called on the backend's network loop: must return at once.
public protocol EndpointReceiver: AnyObject, Sendable {
  func endpointDidChange(_ event: EndpointLinkEvent)
}

public enum EndpointLinkEvent: Sendable {
  case registered
  case invited(Ring)
  /// `callee` is nil for an incoming invitation that is over for this endpoint.
  case answered(Ring.ID, callee: String?, Ring.State)
  case failed(Failure)
  /// Over. Nothing follows.
  case ended(EndReason)
}
