/// Tracks a participant begins to send. Answered by `accepted` or `failed` with the same request number; all or none.
public struct Publish: Hashable, Sendable {
  /// Chosen by the client; the answer repeats it.
  public var request: Int
  /// Each with its `media`.
  public var tracks: [Track]

  public init(request: Int, tracks: [Track]) {
    (self.request, self.tracks) = (request, tracks)
  }
}

extension Publish: Codable {
  private enum CodingKeys: String, CodingKey { case request, tracks }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      request: try fields.decode(Int.self, forKey: .request),
      tracks: try fields.list(.tracks, limit: SignalingLimits.tracks))
  }
}

/// Asks for the packets of others' tracks. Answered by `subscribed` with the same request number.
public struct Subscribe: Hashable, Sendable {
  public var request: Int
  public var tracks: [TrackReference]
  /// Whether new subscriptions begin paused; nil: no. No packet is sent, and no key frame asked for, before `resume`.
  public var paused: Bool?

  public init(request: Int, tracks: [TrackReference], paused: Bool? = nil) {
    (self.request, self.tracks, self.paused) = (request, tracks, paused)
  }
}

extension Subscribe: Codable {
  private enum CodingKeys: String, CodingKey { case request, tracks, paused }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      request: try fields.decode(Int.self, forKey: .request),
      tracks: try fields.list(.tracks, limit: SignalingLimits.references),
      paused: try fields.decodeIfPresent(Bool.self, forKey: .paused))
  }
}

/// One of others' tracks and how the router sends it to this receiver.
public struct ForwardedTrack: Hashable, Sendable, Codable {
  public var reference: TrackReference
  /// One encoding: the router chooses among the publisher's layers.
  public var media: Media

  public init(reference: TrackReference, media: Media) {
    (self.reference, self.media) = (reference, media)
  }
}

/// The answer to `subscribe`. Packets may arrive before it does.
public struct Subscribed: Hashable, Sendable {
  public var request: Int
  public var tracks: [ForwardedTrack]
  /// Those of the request that do not exist, or no longer.
  public var missing: [TrackReference]

  public init(request: Int, tracks: [ForwardedTrack], missing: [TrackReference] = []) {
    (self.request, self.tracks, self.missing) = (request, tracks, missing)
  }
}

extension Subscribed: Codable {
  private enum CodingKeys: String, CodingKey { case request, tracks, missing }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      request: try fields.decode(Int.self, forKey: .request),
      tracks: try fields.list(.tracks, limit: SignalingLimits.references),
      missing: try fields.list(.missing, limit: SignalingLimits.references))
  }
}

/// What a receiver would like of one subscribed track. Replaces what it said before.
public struct LayerPreference: Hashable, Sendable {
  public var reference: TrackReference
  /// Pins a simulcast layer, 0 the smallest; nil: the best that the path carries.
  public var layer: Int?
  /// In pixels: no larger layer than is needed to fill so many rows.
  public var maxHeight: Int?
  /// Where the path cannot carry all, higher ones are served first.
  public var priority: Int

  public init(reference: TrackReference, layer: Int? = nil, maxHeight: Int? = nil, priority: Int = 0) {
    (self.reference, self.layer, self.maxHeight, self.priority) = (reference, layer, maxHeight, priority)
  }
}

extension LayerPreference: Codable {
  private enum CodingKeys: String, CodingKey { case reference, layer, maxHeight, priority }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      reference: try fields.decode(TrackReference.self, forKey: .reference),
      layer: try fields.decodeIfPresent(Int.self, forKey: .layer),
      maxHeight: try fields.decodeIfPresent(Int.self, forKey: .maxHeight),
      priority: try fields.decodeIfPresent(Int.self, forKey: .priority) ?? 0)
  }
}
