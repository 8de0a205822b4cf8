public import Koine

/// Which videos of a room are shown, and where: a value, computed from the room's state.
///
/// A shared screen is large in every layout. Otherwise the video with priority is large, in layouts with a large one.
public struct RoomArrangement: Sendable, Hashable {
  /// What decides about the videos, besides the videos themselves.
  public struct Rules: Sendable, Hashable {
    /// The shape of the layout.
    public var layout: RecordingRequest.Layout
    /// The video that is large, or shown where not all are.
    public var priority: RecordingRequest.Priority
    /// Most videos that are shown at a time; nil: all.
    public var limit: Int?

    /// Creates rules. The default is a grid of all videos.
    public init(
      layout: RecordingRequest.Layout = .grid, priority: RecordingRequest.Priority = .speaker, limit: Int? = nil
    ) {
      (self.layout, self.priority, self.limit) = (layout, priority, limit)
    }
  }

  /// A video with its place.
  public struct Place: Sendable, Hashable {
    /// The video.
    public let track: Track
    /// Its place in the frame.
    public let tile: TileLayout.Tile
  }

  /// The videos that are shown. The first one is large, if one is.
  public let places: [Place]

  /// Arranges the videos of a room.
  /// - Parameters:
  ///   - videos: the videos of the room, in the order in which they began.
  ///   - speaker: the dominant speaker.
  ///   - pinned: the pinned participants, the one pinned last at the end.
  ///   - width, height: of the frame, in pixels.
  public init(
    of videos: [Track], by rules: Rules, speaker: Participant.ID?, pinned: [Participant.ID] = [], width: Double,
    height: Double
  ) {
    let speakers = [speaker].compactMap { $0 }
    let favorites = rules.priority == .pinned ? pinned.reversed() + speakers : speakers
    let preferred = favorites.compactMap { id in videos.first { $0.id.participant == id } }
    let large = videos.last { $0.kind == .screen } ?? (rules.layout == .grid ? nil : preferred.first ?? videos.first)
    let limit = rules.layout == .spotlight ? 1 : rules.limit ?? .max
    var shown = Self.chosen([large].compactMap { $0 } + preferred, of: videos, limit)
    if let large { shown = [large] + shown.filter { $0.id != large.id } }
    let shape: TileLayout.Shape =
      large == nil || shown.count < 2 ? .grid : rules.layout == .sidebar ? .columnBeside : .rowBelow
    let tiles = TileLayout(shape, width: width, height: height, count: shown.count).all
    places = zip(shown, tiles).map { Place(track: $0, tile: $1) }
  }

  /// At most so many of the videos, the first ones before others, in the order in which they began. A video keeps its place while
  /// others change.
  private static func chosen(_ first: [Track], of videos: [Track], _ limit: Int) -> [Track] {
    var ids: [Track.ID] = []
    for video in first + videos where ids.count < limit && !ids.contains(video.id) { ids.append(video.id) }
    return videos.filter { ids.contains($0.id) }
  }
}
