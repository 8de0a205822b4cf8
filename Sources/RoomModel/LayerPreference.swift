/// Which part of one video track a receiver wants. Replaces the receiver's earlier preference.
public struct LayerPreference: Sendable, Hashable, Codable {
  /// A fixed simulcast layer, 0 the smallest; nil: the best that the path carries.
  public var layer: Int?
  /// In pixels: no layer larger than is needed to fill so many rows.
  public var maximumHeight: Int?
  /// Where the path cannot carry all tracks, those with the higher number are served first. 0 by default.
  public var priority: Int

  /// Creates a preference; nil sets no limit.
  public init(layer: Int? = nil, maximumHeight: Int? = nil, priority: Int = 0) {
    self.layer = layer
    self.maximumHeight = maximumHeight
    self.priority = priority
  }

  private enum CodingKeys: String, CodingKey {
    case layer, priority
    case maximumHeight = "maxHeight"
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      layer: try fields.decodeIfPresent(Int.self, forKey: .layer),
      maximumHeight: try fields.decodeIfPresent(Int.self, forKey: .maximumHeight),
      priority: try fields.decodeIfPresent(Int.self, forKey: .priority) ?? 0)
  }
}
