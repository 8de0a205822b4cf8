/// A callee's answer to a call.
public enum RingReply: Sendable, Hashable {
  /// The callee accepts and joins the ring's room.
  case accept
  /// The callee declines.
  case decline
  /// The callee declines because of another call.
  case busy
}

/// A signed-in identity's state: idle → registering → registered → ended.
public enum EndpointState: Sendable, Hashable {
  /// Not registered yet.
  case idle
  /// The registration is under way.
  case registering
  /// The identity can ring and be rung.
  case registered
  /// The endpoint has ended; it cannot register again.
  case ended(EndReason)

  /// Whether the endpoint has ended.
  public var isEnded: Bool { if case .ended = self { true } else { false } }
}

/// What an endpoint tells, in order.
public enum EndpointEvent: Sendable {
  /// The endpoint's state has changed.
  case stateChanged(EndpointState)
  /// A caller rings this endpoint.
  case invited(Ring)
  /// The state of an outgoing call has changed for this callee, or an incoming call is over for this endpoint.
  case answered(Ring, callee: String, Ring.State)
  /// A request could not be carried out. The endpoint continues.
  case failed(Failure)
}
