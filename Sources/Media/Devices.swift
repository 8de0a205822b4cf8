/// A source of video frames, such as a camera, a file or a test pattern.
public protocol VideoSource: AnyObject, Sendable {
  /// What the source means to deliver; frames may differ and say so themselves.
  var format: VideoFormat { get }
  /// Begins to deliver frames from `lane`, on that lane's clock. Called once, or again after `stop()`.
  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws
  /// Once it has returned, nothing more is delivered from jobs that begin later.
  func stop()
}

/// A source of audio, such as a microphone, a file or a tone. It delivers a block every 10 ms.
public protocol AudioSource: AnyObject, Sendable {
  var channels: Int { get }
  /// The processing of the source's audio unless the app sets another: removal of echo and noise for a real microphone, nil (no
  /// processing) for a file or a tone.
  var usualProcessing: AudioProcessing? { get }
  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws
  func stop()
}

extension AudioSource {
  public var usualProcessing: AudioProcessing? { nil }
}

/// A consumer of video frames, such as a view. Called on an engine lane, one frame at a time; must not block.
public protocol VideoSink: AnyObject, Sendable {
  func render(_ frame: VideoFrame)
}

/// A consumer of audio, such as a loudspeaker. It gets a block every 10 ms on an engine lane, and must not block.
public protocol AudioSink: AnyObject, Sendable {
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

public struct VideoFormat: Sendable, Hashable {
  public var width, height: Int
  public var framesPerSecond: Double

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
/// Built in are `pattern`, `stamp` (cameras), `tone`, `silence` (microphones) and `none` (loudspeaker); other modules
/// register more at start.
public enum Devices {
  public typealias MakeVideo = @Sendable (_ argument: String?) throws(DeviceError) -> any VideoSource
  public typealias MakeAudio = @Sendable (_ argument: String?) throws(DeviceError) -> any AudioSource
  public typealias MakeLoudspeaker = @Sendable (_ argument: String?) throws(DeviceError) -> any AudioSink

  private struct Registry {
    var video: [String: MakeVideo] = [:]
    var audio: [String: MakeAudio] = [:]
    var loudspeakers: [String: MakeLoudspeaker] = [:]
  }
  private static let registry = Lock(
    Registry(video: BuiltInDevices.video, audio: BuiltInDevices.audio, loudspeakers: BuiltInDevices.loudspeakers))

  public static func register(camera name: String, _ make: @escaping MakeVideo) {
    registry.withLock { $0.video[name] = make }
  }

  public static func register(microphone name: String, _ make: @escaping MakeAudio) {
    registry.withLock { $0.audio[name] = make }
  }

  public static func register(loudspeaker name: String, _ make: @escaping MakeLoudspeaker) {
    registry.withLock { $0.loudspeakers[name] = make }
  }

  public static func camera(_ text: String) throws(DeviceError) -> any VideoSource {
    let (name, argument) = split(text)
    let cameras = registry.withLock { $0.video }
    guard let make = cameras[name] else { throw .unknown(name, known: cameras.keys.sorted()) }
    return try make(argument)
  }

  public static func microphone(_ text: String) throws(DeviceError) -> any AudioSource {
    let (name, argument) = split(text)
    let microphones = registry.withLock { $0.audio }
    guard let make = microphones[name] else { throw .unknown(name, known: microphones.keys.sorted()) }
    return try make(argument)
  }

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
