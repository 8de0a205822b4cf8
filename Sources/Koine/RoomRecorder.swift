public import Foundation

/// A request to record a room, with the layout and the format of the recording.
public struct RecordingRequest: Sendable {
  public enum Layout: String, Sendable, CaseIterable {
    /// All videos have the same size.
    case grid
    /// The dominant speaker is large; the other participants are in a row below.
    case speaker
  }

  public var room: String
  /// The recorder's credential. The recorder only subscribes, and should be a hidden participant. Nil for an open room.
  public var credential: String?
  /// The layout of the videos. A screen share is always large.
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
  /// How long the recorder tries to return to a room that is out of reach, before the recording ends with an error; at most a
  /// minute. In the meantime the recording continues with the last video frames.
  public var patience = Duration.seconds(30)

  public init(room: String, credential: String? = nil) { (self.room, self.credential) = (room, credential) }
}

/// A recording under way. It ends by itself when the room closes or puts it out.
public protocol RoomRecording: AnyObject, Sendable {
  var isRunning: Bool { get }
  /// Whether the room is out of reach for now.
  var isInterrupted: Bool { get }
  /// Finishes the file, and leaves the room.
  /// - Throws: an error of the output if the file could not be written; `Failure` if the connection to the room was lost.
  func stop() async throws
}

/// A recorder of rooms. Adapters and the server request recordings through this protocol. The `Composition` module implements
/// it.
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

  /// Records a room to the output that is registered for the URL (`BroadcastOutputs`).
  /// - Throws: `NoRecorder`; `BroadcastOutputError` if no output is registered for such a URL; `Failure` if the room does not
  ///   admit the recorder.
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
