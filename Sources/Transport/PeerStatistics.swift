/// What a peer counts, since each stream began.
public struct PeerStatistics: Sendable, Hashable, Codable {
  public struct Outgoing: Sendable, Hashable, Codable {
    public var packets = 0
    /// Of payloads.
    public var bytes = 0
    public var frames = 0
    public var keyFrames = 0
    public var retransmitted = 0
    /// Packets asked for again.
    public var nacksReceived = 0
    /// Key frames asked for.
    public var keyFrameRequests = 0
    /// As the other side last reported of the layer that loses most, 0...1.
    public var reportedLoss = 0.0
    /// Packets that never came, as the other side last reported of each layer; those sent again in time have come.
    public var reportedLost = 0
    /// As the other side last reported, in milliseconds.
    public var reportedJitter = 0.0
    /// Nil before the first report that tells.
    public var roundTrip: Duration?

    public init() {}
  }

  public struct Incoming: Sendable, Hashable, Codable {
    public var packets = 0
    /// Of payloads.
    public var bytes = 0
    public var frames = 0
    public var keyFrames = 0
    /// Packets that never came, retransmissions counted as arrived.
    public var lost = 0
    /// Of what was expected between the last two reports, 0...1.
    public var fractionLost = 0.0
    /// Packets that came only because they were asked for again, or as a copy in a later packet (RFC 2198).
    public var recovered = 0
    /// Packets asked for again, each time counted.
    public var nacksSent = 0
    public var keyFrameRequests = 0
    /// In milliseconds (RFC 3550, 6.4.1).
    public var jitter = 0.0

    public init() {}
  }

  public var outgoing: [SenderID: Outgoing] = [:]
  public var incoming: [ReceiverID: Incoming] = [:]
  /// Smoothed; nil before the first measurement.
  public var roundTrip: Duration?
  /// What the way out carries, in bit/s.
  public var availableBitrate = 0
  /// Datagrams that were not understood, not opened, or of no stream.
  public var dropped = 0

  public init() {}
}
