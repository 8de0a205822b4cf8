public import Foundation

/// A request to record a room, with the layout and the format of the recording.
public struct RecordingRequest: Sendable {
  /// The layout of the participants.
  public enum Layout: String, Sendable, CaseIterable {
    /// All videos have the same size.
    case grid
    /// The dominant speaker is large; the other participants are in a row below.
    case speaker
    /// The video that has priority fills the frame; no other is shown.
    case spotlight
    /// The video that has priority is large; the other participants are in a column on the right, or in a frame that is higher than
    /// wide in a row below.
    case sidebar
  }

  /// The video that is large, or shown at all where not all are.
  public enum Priority: String, Sendable, CaseIterable {
    /// The dominant speaker's.
    case speaker
    /// The pinned participants', the one pinned last first; without any, the dominant speaker's. Apps pin participants by messages
    /// (`PinChange` in `CrossVendorConventions`).
    case pinned
  }

  /// The room to record.
  public var room: String
  /// The recorder's credential. The recorder only subscribes, and should be a hidden participant. Nil for an open room.
  public var credential: String?
  /// The layout of the videos. A screen share is always large.
  public var layout = Layout.grid
  /// The video that has priority. No effect in a grid that shows all videos.
  public var priority = Priority.speaker
  /// The color around the videos, as 0xRRGGBB. Black by default.
  public var backgroundColor: UInt32 = 0x000000
  /// Whether video is recorded. If not, the recording has audio only.
  public var recordsVideo = true
  /// Width of the video, in pixels.
  public var width = 1_280
  /// Height of the video, in pixels.
  public var height = 720
  /// Frames per second of the video.
  public var framesPerSecond = 30.0
  /// Bitrate of the video, in bit/s.
  public var bitrate = 2_100_000
  /// How many pictures are shown at a time, those first that came first; nil: all.
  public var people: Int?
  /// Each participant's name is drawn into the lower left corner of their video, in letters of ASCII.
  public var showsNames = false
  /// How long the recorder tries to return to a room that is out of reach, before the recording ends with an error; at most a
  /// minute. In the meantime the recording continues with the last video frames.
  public var patience = Duration.seconds(30)

  /// Creates a request with default settings.
  public init(room: String, credential: String? = nil) { (self.room, self.credential) = (room, credential) }
}

/// A recording under way. It ends by itself when the room closes or puts it out.
public protocol RoomRecording: AnyObject, Sendable {
  /// Whether the recording has not ended yet.
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
  /// - Throws: if the room cannot be entered, or the output cannot be started.
  func record(_ request: RecordingRequest, to output: any BroadcastOutput, in world: World) async throws
    -> any RoomRecording
}

/// The recorder of this program. A program that links `Composition` says `RoomRecorders.use(ComposingRecorder())`.
public enum RoomRecorders {
  private static let chosen = Lock<(any RoomRecorder)?>(nil)

  /// The recorder of this process; nil if the program has chosen none.
  public static var current: (any RoomRecorder)? { chosen.withLock { $0 } }
  /// Sets the recorder of this process. Any thread may call it.
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
  /// Creates the error.
  public init() {}
  public var description: String { "this program links nothing that records rooms" }
}
