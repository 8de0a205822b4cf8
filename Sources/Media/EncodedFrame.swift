/// The unit between the media engine and the transport: one coded picture, or one packet's worth of sound.
public struct EncodedFrame: Sendable {
  /// The codec of the data.
  public var codec: Codec
  /// The coded bytes. Immutable once the frame is handed on; the last to use them may give them back to their pool.
  public var data: Bytes
  /// When the frame was captured: on the sender's clock when sending; translated to the receiver's clock from sender
  /// reports when received (before the first report: arrival time).
  public var captured: Tick
  /// In units of the codec's RTP clock.
  public var rtpTimestamp: UInt32
  /// Whether the frame can be decoded without earlier frames.
  public var isKey: Bool
  /// Simulcast layer, 0 the smallest.
  public var layer: UInt8
  /// The temporal layer; 0 is the lowest.
  public var temporalLayer: UInt8
  /// How many of them the stream has, as its encoder makes it; of use when sending.
  public var temporalLayers: UInt8 = 1
  /// VP8/VP9: may be dropped without harm to later frames.
  public var isDiscardable: Bool
  /// Clockwise quarter turns a renderer must apply, 0...3 (3GPP TS 26.114 video orientation).
  public var quarterTurns: UInt8
  /// RFC 6464: -127...0 dBov, 0 the loudest; nil where unknown.
  public var audioLevel: Int8?
  /// Whether the audio contains a voice (RFC 6464).
  public var voiceActivity: Bool
  /// Received sound only: number within the stream, gaps are losses. (RTP sequence number, extended.)
  public var sequence: Int64
  /// When the last packet of the frame arrived (receiver's clock); equals `captured` when sending.
  public var arrived: Tick

  /// Creates a frame.
  public init(
    codec: Codec, data: Bytes, captured: Tick, rtpTimestamp: UInt32, isKey: Bool = false, layer: UInt8 = 0,
    temporalLayer: UInt8 = 0, isDiscardable: Bool = false, quarterTurns: UInt8 = 0, audioLevel: Int8? = nil,
    voiceActivity: Bool = false, sequence: Int64 = 0, arrived: Tick? = nil
  ) {
    self.codec = codec
    self.data = data
    self.captured = captured
    self.rtpTimestamp = rtpTimestamp
    self.isKey = isKey
    self.layer = layer
    self.temporalLayer = temporalLayer
    self.isDiscardable = isDiscardable
    self.quarterTurns = quarterTurns
    self.audioLevel = audioLevel
    self.voiceActivity = voiceActivity
    self.sequence = sequence
    self.arrived = arrived ?? captured
  }
}
