// Names of before 0.1.0, which stay for one release (CHANGELOG.md).

/// The former name of `Track`.
@available(*, deprecated, renamed: "Track") public typealias Stream = Track
/// The former name of `Failure`.
@available(*, deprecated, renamed: "Failure") public typealias SessionError = Failure
/// The former name of `Ring`.
@available(*, deprecated, renamed: "Ring") public typealias Invitation = Ring
/// The former name of `RingReply`.
@available(*, deprecated, renamed: "RingReply") public typealias InvitationReply = RingReply
/// The former name of `LayerPreference`.
@available(*, deprecated, renamed: "LayerPreference") public typealias ReceivePreference = LayerPreference
/// The former name of `ConnectionQuality.Level`.
@available(*, deprecated, renamed: "ConnectionQuality.Level") public typealias SignalQuality = ConnectionQuality.Level
/// The former name of `ConnectionQuality`.
@available(*, deprecated, renamed: "ConnectionQuality") public typealias PathQuality = ConnectionQuality

extension Ring {
  /// The former name of `Ring.State`.
  @available(*, deprecated, renamed: "State") public typealias Answer = State
}

extension Participant {
  /// The former name of `tracks`.
  @available(*, deprecated, renamed: "tracks")
  public var streams: [Track] {
    get { tracks }
    set { tracks = newValue }
  }

  /// Creates a participant with the former name of `tracks`.
  @available(*, deprecated, renamed: "init(id:name:externalUserID:attributes:isLocal:tracks:joinedOrder:)")
  public init(
    id: ID, name: String, externalUserID: String? = nil, attributes: [String: String] = [:], isLocal: Bool = false,
    streams: [Track]
  ) {
    self.init(
      id: id, name: name, externalUserID: externalUserID, attributes: attributes, isLocal: isLocal, tracks: streams)
  }
}

extension Failure.Code {
  /// The former name of `unauthorized`.
  @available(*, deprecated, renamed: "unauthorized") public static var invalidCredential: Self { .unauthorized }
  /// The former name of `forbidden`.
  @available(*, deprecated, renamed: "forbidden") public static var notPermitted: Self { .forbidden }
}

/// The former namespace of stream statistics.
@available(*, deprecated, message: "use OutgoingStatistics and IncomingStatistics")
public enum LinkStatistics {
  /// The former name of `OutgoingStatistics`.
  public typealias Outgoing = OutgoingStatistics
  /// The former name of `IncomingStatistics`.
  public typealias Incoming = IncomingStatistics
}
