/// A track that a participant begins to send, and how it sends it.
public struct TrackOffer: Hashable, Sendable {
  /// Given by the publisher, unique among its tracks.
  public var id: String
  public var kind: Track.Kind
  public var isMuted: Bool
  /// An offer without media, or with media of a codec that the router does not know, is refused.
  public var media: StreamParameters?

  public init(id: String, kind: Track.Kind, isMuted: Bool = false, media: StreamParameters? = nil) {
    (self.id, self.kind, self.isMuted, self.media) = (id, kind, isMuted, media)
  }
}

extension TrackOffer: Codable {
  private enum CodingKeys: String, CodingKey {
    case id, kind, media
    case isMuted = "muted"
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      id: try fields.text(.id), kind: try fields.decode(Track.Kind.self, forKey: .kind),
      isMuted: try fields.decodeIfPresent(Bool.self, forKey: .isMuted) ?? false,
      media: try fields.media(.media))
  }
}

/// Tracks a participant begins to send. Answered by `accepted` or `failed` with the same request number; all or none.
public struct Publish: Hashable, Sendable {
  /// Chosen by the client; the answer repeats it.
  public var request: Int
  public var tracks: [TrackOffer]

  public init(request: Int, tracks: [TrackOffer]) {
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
  public var tracks: [Track.ID]
  /// Whether new subscriptions begin paused; nil: no. No packet is sent, and no key frame asked for, before `resume`.
  public var paused: Bool?

  public init(request: Int, tracks: [Track.ID], paused: Bool? = nil) {
    (self.request, self.tracks, self.paused) = (request, tracks, paused)
  }
}

extension Subscribe: Codable {
  private enum CodingKeys: String, CodingKey { case request, tracks, paused }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      request: try fields.decode(Int.self, forKey: .request),
      tracks: try fields.sizedList(.tracks, limit: SignalingLimits.references),
      paused: try fields.decodeIfPresent(Bool.self, forKey: .paused))
  }
}

/// One of others' tracks and how the router sends it to this receiver.
public struct ForwardedTrack: Hashable, Sendable {
  public var reference: Track.ID
  /// nil: the router does not name it, or names one that this version does not know.
  public var kind: Track.Kind?
  /// One encoding: the router chooses among the publisher's layers. nil: of a codec that this version does not know.
  public var media: StreamParameters?

  public init(reference: Track.ID, kind: Track.Kind? = nil, media: StreamParameters?) {
    (self.reference, self.kind, self.media) = (reference, kind, media)
  }
}

extension ForwardedTrack: Codable {
  private enum CodingKeys: String, CodingKey { case reference, kind, media }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      reference: try fields.sized(.reference),
      kind: try fields.decodeIfPresent(String.self, forKey: .kind).flatMap { Track.Kind(rawValue: $0) },
      media: try fields.media(.media))
  }
}

/// The answer to `subscribe`. Packets may arrive before it does.
public struct Subscribed: Hashable, Sendable {
  public var request: Int
  public var tracks: [ForwardedTrack]
  /// Those of the request that do not exist, or no longer.
  public var missing: [Track.ID]

  public init(request: Int, tracks: [ForwardedTrack], missing: [Track.ID] = []) {
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
      missing: try fields.sizedList(.missing, limit: SignalingLimits.references))
  }
}

/// Which part of one subscribed track the receiver wants.
public struct TrackPreference: Hashable, Sendable {
  public var track: Track.ID
  public var preference: LayerPreference

  public init(_ preference: LayerPreference, of track: Track.ID) { (self.track, self.preference) = (track, preference) }
}

extension TrackPreference: Codable {
  private enum CodingKeys: String, CodingKey { case reference }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(try LayerPreference(from: decoder), of: try fields.decode(Track.ID.self, forKey: .reference))
    try checkSize("reference")
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(track, forKey: .reference)
    try preference.encode(to: encoder)
  }
}
