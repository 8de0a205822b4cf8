/// A callee's answer to a call.
public enum RingReply: Sendable, Hashable {
  case accept
  case decline
  /// The callee declines because of another call.
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
  /// A caller rings this endpoint.
  case invited(Ring)
  /// The state of an outgoing call has changed for this callee, or an incoming call is over for this endpoint.
  case answered(Ring, callee: String, Ring.State)
  case failed(Failure)
}
