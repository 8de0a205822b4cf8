/// What the publisher allows the engine.
public struct PublishOptions: Sendable, Hashable {
  /// The codec of all layers.
  public var codec: Codec
  /// One per simulcast layer, the smallest first; at least one.
  public var layers: [LayerLimits]
  /// Audio only: whether packets repeat earlier packets while the path loses some (RED, RFC 2198), if the other end takes that.
  public var usesRedundancy = true
  /// In bit/s, all layers together.
  public var maximumBitrate: Int { layers.reduce(0) { $0 + min(max($1.maximumBitrate, 0), 1_000_000_000) } }

  /// Limits of one simulcast layer.
  public struct LayerLimits: Sendable, Hashable {
    /// In bit/s.
    public var maximumBitrate: Int
    /// In pixels; nil for sound.
    public var maximumHeight: Int?
    /// In pixels; nil for sound.
    public var maximumWidth: Int?
    /// In frames per second; nil for sound.
    public var maximumFramesPerSecond: Double?

    /// Creates limits.
    public init(
      maximumBitrate: Int, maximumHeight: Int? = nil, maximumWidth: Int? = nil, maximumFramesPerSecond: Double? = nil
    ) {
      self.maximumBitrate = maximumBitrate
      self.maximumHeight = maximumHeight
      self.maximumWidth = maximumWidth
      self.maximumFramesPerSecond = maximumFramesPerSecond
    }
  }

  /// Creates options.
  public init(codec: Codec, layers: [LayerLimits]) {
    self.codec = codec
    self.layers = layers
  }
}
