/// A place for pictures: one per video stream, own ones included, with a number that is never used again in a session.
public struct Tile: Sendable, Hashable, Identifiable {
  public enum Pause: String, Sendable {
    /// The publisher sends nothing for now.
    case muted
    case notSubscribed
    /// `Session.pause` was called.
    case requested
    /// The path does not even carry the smallest of what the publisher sends; it goes on as soon as it does.
    case poorPath
  }

  public let id: Int
  public let stream: Track.ID
  public let kind: Track.Kind
  public let isLocal: Bool
  /// Of the pictures that arrive, in pixels; zero before the first.
  public var width = 0
  public var height = 0
  /// Why nothing moves, if so.
  public var pause: Pause?
}
