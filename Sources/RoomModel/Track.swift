/// What one participant publishes: a camera, a microphone, a shared screen or its audio. A value as known at one moment.
public struct Track: Sendable, Hashable, Identifiable {
  /// A track's name in its room.
  public struct ID: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The participant that publishes the track.
    public let participant: Participant.ID
    /// Unique among the participant's tracks. A track that is published again has a new one.
    public let track: String

    /// Creates an id.
    public init(participant: Participant.ID, track: String) {
      self.participant = participant
      self.track = track
    }

    public var description: String { "\(participant)/\(track)" }
  }

  /// The kind of a track.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// Audio of a microphone.
    case microphone
    /// Video of a camera.
    case camera
    /// Video of a shared screen.
    case screen
    /// Audio of a shared screen.
    case screenSound
    /// Whether the track is audio.
    public var isAudio: Bool { self == .microphone || self == .screenSound }
    /// Whether the track is video.
    public var isVideo: Bool { !isAudio }
  }

  /// One simulcast layer, as its publisher announced it; nil where the publisher did not say.
  public struct Layer: Sendable, Hashable, Codable {
    /// In bit/s.
    public var maximumBitrate: Int?
    /// Width of the layer's frames, in pixels.
    public var width: Int?
    /// Height of the layer's frames, in pixels.
    public var height: Int?
    /// In frames per second.
    public var maximumFramesPerSecond: Double?

    /// Creates a layer.
    public init(
      maximumBitrate: Int? = nil, width: Int? = nil, height: Int? = nil, maximumFramesPerSecond: Double? = nil
    ) {
      (self.maximumBitrate, self.maximumFramesPerSecond) = (maximumBitrate, maximumFramesPerSecond)
      (self.width, self.height) = (width, height)
    }

    private enum CodingKeys: String, CodingKey {
      case width, height
      case maximumBitrate = "maxBitrate"
      case maximumFramesPerSecond = "maxFramerate"
    }
  }

  public let id: ID
  /// The kind of the track.
  public let kind: Kind
  /// Whether the publisher sends no media for now: silence, no video frames.
  public var isMuted: Bool
  /// The simulcast layers of a video track, the smallest first; `LayerPreference.layer` counts them from 0. Empty where there is
  /// only one.
  public var layers: [Layer]

  /// Creates a track.
  public init(id: ID, kind: Kind, isMuted: Bool = false, layers: [Layer] = []) {
    self.id = id
    self.kind = kind
    self.isMuted = isMuted
    self.layers = layers
  }
}

extension Track: Codable {
  private enum CodingKeys: String, CodingKey { case participant, id, kind, muted, layers }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      id: ID(
        participant: try fields.decode(String.self, forKey: .participant),
        track: try fields.decode(String.self, forKey: .id)),
      kind: try fields.decode(Kind.self, forKey: .kind),
      isMuted: try fields.decodeIfPresent(Bool.self, forKey: .muted) ?? false,
      layers: try fields.decodeIfPresent([Layer].self, forKey: .layers) ?? [])
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(id.participant, forKey: .participant)
    try fields.encode(id.track, forKey: .id)
    try fields.encode(kind, forKey: .kind)
    try fields.encode(isMuted, forKey: .muted)
    if !layers.isEmpty { try fields.encode(layers, forKey: .layers) }
  }
}

/// Tracks as they are written where the participant that publishes them is named beside them.
package struct OwnedTracks: Codable {
  private struct Entry: Codable {
    var id: String
    var kind: String
    var muted: Bool?
    var layers: [Track.Layer]?
  }

  private let entries: [Entry]

  package init(_ tracks: [Track]) {
    entries = tracks.map {
      Entry(
        id: $0.id.track, kind: $0.kind.rawValue, muted: $0.isMuted, layers: $0.layers.isEmpty ? nil : $0.layers)
    }
  }

  package init(from decoder: any Decoder) throws { entries = try [Entry](from: decoder) }

  package func encode(to encoder: any Encoder) throws { try entries.encode(to: encoder) }

  /// Without tracks of a kind that this version does not know: a newer program may publish more kinds.
  package func tracks(of participant: Participant.ID) -> [Track] {
    entries.compactMap { entry in
      guard let kind = Track.Kind(rawValue: entry.kind) else { return nil }
      return Track(
        id: Track.ID(participant: participant, track: entry.id), kind: kind, isMuted: entry.muted ?? false,
        layers: entry.layers ?? [])
    }
  }
}
