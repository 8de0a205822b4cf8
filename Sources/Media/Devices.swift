/// A source of video frames, such as a camera, a file or a test pattern.
public protocol VideoSource: AnyObject, Sendable {
  /// What the source means to deliver; frames may differ and say so themselves.
  var format: VideoFormat { get }
  /// Begins to deliver frames from `lane`, on that lane's clock. Called once, or again after `stop()`.
  /// - Throws: if the source cannot be started.
  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws
  /// Once it has returned, nothing more is delivered from jobs that begin later.
  func stop()
}

/// A source of audio, such as a microphone, a file or a tone. It delivers a block every 10 ms.
public protocol AudioSource: AnyObject, Sendable {
  /// Number of channels: 1 or 2.
  var channels: Int { get }
  /// The processing of the source's audio unless the app sets another: removal of echo and noise for a real microphone, nil (no
  /// processing) for a file or a tone.
  var usualProcessing: AudioProcessing? { get }
  /// Starts the source. It calls `deliver` on `lane` for each block.
  /// - Throws: if the source cannot be started.
  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws
  /// Stops the source. It may be started again.
  func stop()
}

extension AudioSource {
  public var usualProcessing: AudioProcessing? { nil }
}

/// A consumer of video frames, such as a view. Called on an engine lane, one frame at a time; must not block.
public protocol VideoSink: AnyObject, Sendable {
  /// Called for each frame. Must return soon: later frames wait, or are dropped.
  func render(_ frame: VideoFrame)
}

/// A consumer of audio, such as a loudspeaker. It gets a block every 10 ms on an engine lane, and must not block.
public protocol AudioSink: AnyObject, Sendable {
  /// Called for each block of 10 ms. Must return soon.
  func play(_ block: AudioBlock)
  /// From `play` until the block is heard: where an echo canceller begins to look. Nought unless the device knows it.
  var playoutDelay: Duration { get }
}

extension AudioSink {
  public var playoutDelay: Duration { .zero }
}

/// A loudspeaker that may be missing for a while: nothing is mixed for it then, and nothing of it can echo.
package protocol IntermittentSink: AudioSink {
  var isListening: Bool { get }
}

/// The format of a video source.
public struct VideoFormat: Sendable, Hashable {
  /// Width, in pixels.
  public var width: Int
  /// Height, in pixels.
  public var height: Int
  /// Frames per second.
  public var framesPerSecond: Double

  /// Creates a format.
  public init(width: Int = 640, height: Int = 360, framesPerSecond: Double = 30) {
    self.width = width
    self.height = height
    self.framesPerSecond = framesPerSecond
  }

  /// The time between frames; a rate that is none, or beyond 0.1...1,000 a second, is taken for the nearest that is one.
  package static func interval(_ framesPerSecond: Double) -> Duration {
    .nanoseconds(Int64(1e9 / min(max(framesPerSecond.isNaN ? 0 : framesPerSecond, 0.1), 1_000)))
  }
}

/// Why a source's text did not lead to a source.
public enum DeviceError: Error, Hashable, CustomStringConvertible {
  /// No device of this name is registered.
  case unknown(String, known: [String])
  /// The words after the colon make no sense.
  case invalid(String, reason: String)
  /// The file or device is missing or cannot be read.
  case unreadable(String, reason: String)
  /// The machine's owner does not let apps use it.
  case notAllowed(String)

  public var description: String {
    switch self {
    case .unknown(let text, let known): "no source is called '\(text)'; there are: \(known.joined(separator: ", "))"
    case .invalid(let text, let reason): "'\(text)': \(reason)"
    case .unreadable(let path, let reason): "cannot read '\(path)': \(reason)"
    case .notAllowed(let kind): "the \(kind) may not be used"
    }
  }
}

/// The devices that can be named in text, as `name[:argument]`: `pattern:640x360@30`, `tone:440`, `file:talk.webm`.
///
/// Built in are `pattern`, `portrait`, `stamp` (cameras), `tone`, `silence` (microphones) and `none` (loudspeaker); other modules
/// register more at start.
public enum Devices {
  /// Creates a camera from the text after the colon; nil without one.
  public typealias MakeVideo = @Sendable (_ argument: String?) throws(DeviceError) -> any VideoSource
  /// Creates a microphone from the text after the colon; nil without one.
  public typealias MakeAudio = @Sendable (_ argument: String?) throws(DeviceError) -> any AudioSource
  /// Creates a loudspeaker from the text after the colon; nil without one.
  public typealias MakeLoudspeaker = @Sendable (_ argument: String?) throws(DeviceError) -> any AudioSink

  private struct Registry {
    var video: [String: MakeVideo] = [:]
    var audio: [String: MakeAudio] = [:]
    var loudspeakers: [String: MakeLoudspeaker] = [:]
  }
  private static let registry = Lock(
    Registry(video: BuiltInDevices.video, audio: BuiltInDevices.audio, loudspeakers: BuiltInDevices.loudspeakers))

  /// Registers cameras of a name. A later registration replaces an earlier one. Any thread may call it.
  public static func register(camera name: String, _ make: @escaping MakeVideo) {
    registry.withLock { $0.video[name] = make }
  }

  /// Registers microphones of a name. A later registration replaces an earlier one. Any thread may call it.
  public static func register(microphone name: String, _ make: @escaping MakeAudio) {
    registry.withLock { $0.audio[name] = make }
  }

  /// Registers loudspeakers of a name. A later registration replaces an earlier one. Any thread may call it.
  public static func register(loudspeaker name: String, _ make: @escaping MakeLoudspeaker) {
    registry.withLock { $0.loudspeakers[name] = make }
  }

  /// Creates the camera of a specification, `name` or `name:argument`.
  /// - Throws: `DeviceError` if the name is unknown, or the device cannot be made.
  public static func camera(_ text: String) throws(DeviceError) -> any VideoSource {
    let (name, argument) = split(text)
    let cameras = registry.withLock { $0.video }
    guard let make = cameras[name] else { throw .unknown(name, known: cameras.keys.sorted()) }
    return try make(argument)
  }

  /// Creates the microphone of a specification, `name` or `name:argument`.
  /// - Throws: `DeviceError` if the name is unknown, or the device cannot be made.
  public static func microphone(_ text: String) throws(DeviceError) -> any AudioSource {
    let (name, argument) = split(text)
    let microphones = registry.withLock { $0.audio }
    guard let make = microphones[name] else { throw .unknown(name, known: microphones.keys.sorted()) }
    return try make(argument)
  }

  /// Creates the loudspeaker of a specification, `name` or `name:argument`.
  /// - Throws: `DeviceError` if the name is unknown, or the device cannot be made.
  public static func loudspeaker(_ text: String) throws(DeviceError) -> any AudioSink {
    let (name, argument) = split(text)
    let loudspeakers = registry.withLock { $0.loudspeakers }
    guard let make = loudspeakers[name] else { throw .unknown(name, known: loudspeakers.keys.sorted()) }
    return try make(argument)
  }

  private static func split(_ text: String) -> (name: String, argument: String?) {
    guard let colon = text.firstIndex(of: ":") else { return (text, nil) }
    return (String(text[..<colon]), String(text[text.index(after: colon)...]))
  }
}
