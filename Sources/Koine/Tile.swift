/// A place for pictures: one per video stream, own ones included, with a number that is never used again in a session.
public struct Tile: Sendable, Hashable, Identifiable {
  /// The reason why a tile shows no moving video.
  public enum Pause: String, Sendable {
    /// The publisher sends nothing for now.
    case muted
    /// The session does not receive the stream.
    case notSubscribed
    /// `Session.pause` was called.
    case requested
    /// The path does not even carry the smallest of what the publisher sends; it goes on as soon as it does.
    case poorPath
  }

  public let id: Int
  /// Id of the stream that the tile shows.
  public let stream: Track.ID
  /// The kind of the stream.
  public let kind: Track.Kind
  /// Whether the stream is local.
  public let isLocal: Bool
  /// Width of the arriving frames, in pixels; zero before the first frame.
  public var width = 0
  /// Height of the arriving frames, in pixels; zero before the first frame.
  public var height = 0
  /// Why nothing moves, if so.
  public var pause: Pause?
}
