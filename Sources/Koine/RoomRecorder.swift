public import Foundation

/// What is to be recorded, and how.
public struct RecordingRequest: Sendable {
  public enum Layout: String, Sendable, CaseIterable {
    /// All pictures of one size.
    case grid
    /// Whoever leads the conversation is large, the others are in a row below.
    case speaker
  }

  public var room: String
  /// What lets the recorder in: it only subscribes, and should be hidden. Nil where a room lets in anybody.
  public var credential: String?
  /// A share is large while there is one, whatever the layout.
  public var layout = Layout.grid
  public var width = 1_280
  public var height = 720
  public var framesPerSecond = 30.0
  /// Of the pictures, in bit/s.
  public var bitrate = 2_100_000
  /// How many pictures are shown at a time, those first that came first; nil: all.
  public var people: Int?
  /// Each participant's name is drawn into the lower left corner of their video, in letters of ASCII.
  public var showsNames = false
  /// For how long it is tried to come back to a room that is out of reach, before the recording ends with an error: up to a
  /// minute. Meanwhile what was seen last is recorded on.
  public var patience = Duration.seconds(30)

  public init(room: String, credential: String? = nil) { (self.room, self.credential) = (room, credential) }
}

/// A recording under way. It ends by itself when the room closes or puts it out.
public protocol RoomRecording: AnyObject, Sendable {
  var isRunning: Bool { get }
  /// Whether the room is out of reach for now.
  var isInterrupted: Bool { get }
  /// Finishes the file, and leaves the room.
  /// - Throws: when what was to be written could not be; `Failure` when the connection to the room was lost.
  func stop() async throws
}

/// Records rooms: the seam between who wants a recording (an adapter, a server) and who can make one. `Composition` can.
public protocol RoomRecorder: Sendable {
  /// Returns once the room is entered and everything that happens there is recorded.
  func record(_ request: RecordingRequest, to output: any BroadcastOutput, in world: World) async throws
    -> any RoomRecording
}

/// The recorder of this program. A program that links `Composition` says `RoomRecorders.use(ComposingRecorder())`.
public enum RoomRecorders {
  private static let chosen = Lock<(any RoomRecorder)?>(nil)

  public static var current: (any RoomRecorder)? { chosen.withLock { $0 } }
  public static func use(_ recorder: any RoomRecorder) { chosen.withLock { $0 = recorder } }

  /// Records a room into whatever the URL names (`BroadcastOutputs`).
  /// - Throws: `NoRecorder`; `BroadcastOutputError` where nobody writes there; `Failure` where the room does not let
  ///   it in.
  public static func record(_ request: RecordingRequest, to url: URL, in world: World) async throws
    -> any RoomRecording
  {
    guard let recorder = current else { throw NoRecorder() }
    return try await recorder.record(request, to: try BroadcastOutputs.make(for: url), in: world)
  }
}

/// This program can record nothing.
public struct NoRecorder: Error, Hashable, Sendable, CustomStringConvertible {
  public init() {}
  public var description: String { "this program links nothing that records rooms" }
}
