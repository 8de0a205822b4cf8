// Names of before 0.1.0, which stay for one release (CHANGELOG.md).

@available(*, deprecated, renamed: "Track") public typealias Stream = Track
@available(*, deprecated, renamed: "Failure") public typealias SessionError = Failure
@available(*, deprecated, renamed: "Ring") public typealias Invitation = Ring
@available(*, deprecated, renamed: "RingReply") public typealias InvitationReply = RingReply
@available(*, deprecated, renamed: "LayerPreference") public typealias ReceivePreference = LayerPreference
@available(*, deprecated, renamed: "ConnectionQuality.Level") public typealias SignalQuality = ConnectionQuality.Level
@available(*, deprecated, renamed: "ConnectionQuality") public typealias PathQuality = ConnectionQuality

extension Ring {
  @available(*, deprecated, renamed: "State") public typealias Answer = State
}

extension Participant {
  @available(*, deprecated, renamed: "tracks")
  public var streams: [Track] {
    get { tracks }
    set { tracks = newValue }
  }

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
  @available(*, deprecated, renamed: "unauthorized") public static var invalidCredential: Self { .unauthorized }
  @available(*, deprecated, renamed: "forbidden") public static var notPermitted: Self { .forbidden }
}

@available(*, deprecated, message: "use OutgoingStatistics and IncomingStatistics")
public enum LinkStatistics {
  public typealias Outgoing = OutgoingStatistics
  public typealias Incoming = IncomingStatistics
}
