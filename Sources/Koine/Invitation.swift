/// What somebody says who answers a call.
public enum RingReply: Sendable, Hashable {
  case accept
  case decline
  /// As `decline`, because of another call.
  case busy
}

/// A signed-in identity's state: idle → registering → registered → ended.
public enum EndpointState: Sendable, Hashable {
  case idle, registering, registered
  case ended(EndReason)

  public var isEnded: Bool { if case .ended = self { true } else { false } }
}

/// What an endpoint tells, in order.
public enum EndpointEvent: Sendable {
  case stateChanged(EndpointState)
  /// Somebody rings.
  case invited(Ring)
  /// One's own call has got on with this callee, or somebody else's is over for this endpoint.
  case answered(Ring, callee: String, Ring.State)
  case failed(Failure)
}
