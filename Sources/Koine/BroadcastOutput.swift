public import Foundation

/// Where a composed stream of pictures and sound goes: a file, a server. Takes coded frames as they are made, on engine
/// lanes; must not block for long.
public protocol BroadcastOutput: EncodedFrameSink {
  /// Called once, before anything comes.
  func start(_ plan: BroadcastPlan)
  /// Finishes the output. It accepts no more frames.
  /// - Throws: if frames could not be written.
  func close() throws
  /// Sets a handler that is called once, from any thread, when the output fails before `close`: the disk is full, or the server
  /// has disconnected. Set before the first frame. The handler must not close the output before it has returned, because
  /// `close` waits for pending writes.
  func onFailure(_ handler: @escaping @Sendable (any Error) -> Void)
  /// Sets a handler that is called once, from any thread, as soon as players can open the output: a playlist has its first
  /// segment, or a server has answered. Set before the first frame.
  func onReadable(_ handler: @escaping @Sendable () -> Void)
  /// The codec for video frames; VP8 by default.
  var pictureCodec: Codec { get }
  /// How often at least a picture is to stand by itself; nil: the first.
  var keyFrameInterval: Duration? { get }
}

extension BroadcastOutput {
  /// For outputs that need not know.
  public func start(_ plan: BroadcastPlan) {}
  public var pictureCodec: Codec { .vp8 }
  public var keyFrameInterval: Duration? { nil }
  /// For outputs that can be opened from the beginning.
  public func onReadable(_ handler: @escaping @Sendable () -> Void) { handler() }
  /// For outputs that cannot fail before they are closed.
  public func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) {}
}

/// An output that codes by itself, because its place takes none of a call's formats: H.264 and AAC for RTMP, say. It is given
/// pictures and sound as they are, on engine lanes, and no coded frames.
public protocol RawBroadcastOutput: BroadcastOutput, VideoSink, AudioSink {
  /// Returns once all frames received so far are written. In virtual time the composition waits for this, so that no frame is
  /// dropped.
  func flush()
}

extension RawBroadcastOutput {
  public func receive(_ frame: EncodedFrame) {
    preconditionFailure("an output that encodes by itself gets no encoded frames")
  }
}

/// What a broadcast is to be like.
public struct BroadcastPlan: Sendable, Hashable {
  /// In pixels.
  public var width, height: Int
  /// Video frames per second; default 30.
  public var framesPerSecond: Double
  /// Bitrate of the video, in bit/s.
  public var bitrate: Int
  /// In bit/s.
  public var soundBitrate: Int
  /// Number of audio channels: 1 or 2.
  public var channels: Int
  /// Between two pictures that stand for themselves.
  public var keyFrameInterval: Duration
  /// Whether encoders may use frames that depend on later ones (B frames) where the codec has them, as H.264: better video at the same
  /// bitrate, and two frames more of delay. VP8 has none.
  public var usesBFrames = false
  /// How hard the audio encoder works for quality at the same bitrate: 0 (least) to 10. Nil (the default): the encoder's own choice. Opus has
  /// all steps; AAC has two, with the limit at 5.
  public var audioComplexity: Int?
  /// The limits within which the bitrate of the video follows the speed at which a server takes a live stream, in bit/s. Nil (the
  /// default): the bitrate stays. Files, and outputs that get encoded frames, ignore it.
  public var bitrateLimits: ClosedRange<Int>?
  /// Whether a bitrate that follows a server rises by 20 % after each two calm seconds, and not by 8 % after each five.
  public var increasesBitrateQuickly = false
  /// Whether video comes. If not, `width`, `height` and `framesPerSecond` have no meaning.
  public var hasVideo = true

  /// Creates a plan for video of this size, in pixels.
  public init(
    width: Int, height: Int, framesPerSecond: Double = 30, bitrate: Int = 2_100_000, soundBitrate: Int = 96_000,
    keyFrameInterval: Duration = .seconds(2), channels: Int = 1
  ) {
    self.channels = min(max(channels, 1), 2)
    (self.width, self.height, self.framesPerSecond) = (width, height, framesPerSecond)
    (self.bitrate, self.soundBitrate, self.keyFrameInterval) = (bitrate, soundBitrate, keyFrameInterval)
  }
}

/// The outputs that can be named by URL. Modules that can write register theirs at start: `MediaFiles` files ending in `.webm`,
/// `.mp4` and `.m3u8`, and RTMP servers.
public enum BroadcastOutputs {
  /// Creates an output for a URL. Throws the output's own error.
  public typealias Make = @Sendable (URL) throws -> any BroadcastOutput

  private static let makers = Lock<[String: Make]>([:])
  /// Outputs of the current task. They take precedence over registered ones, so that tests that run in parallel can
  /// have their own.
  @TaskLocal public static var own: [String: Make] = [:]

  /// Registers an output for file URLs of an ending, or for URLs of a scheme. It replaces an earlier one. Any thread
  /// may call it.
  /// - Parameter ending: of a file URL's path, without the dot; or another URL's scheme with its colon, as in `rtmp:`.
  public static func register(_ ending: String, _ make: @escaping Make) { makers.withLock { $0[ending] = make } }

  private static let reserved = Lock<[URL: [String: Make]]>([:])

  /// Lets the next output that is made for a URL, in whichever task, be one of this task's own (`own`).
  public static func reserve(_ url: URL) {
    guard !own.isEmpty else { return }
    reserved.withLock { $0[url] = own }
  }

  /// Creates the output for a URL.
  /// - Throws: `BroadcastOutputError` if no output is registered for such a URL; otherwise the output's own errors.
  public static func make(for url: URL) throws -> any BroadcastOutput {
    let name = url.isFileURL ? url.pathExtension : (url.scheme ?? "") + ":"
    let own = reserved.withLock { $0.removeValue(forKey: url) } ?? own
    let makers = makers.withLock { $0 }.merging(own) { $1 }
    guard let make = makers[name] else { throw BroadcastOutputError(url: url, known: makers.keys.sorted()) }
    return try make(url)
  }
}

/// No output is registered for such a URL. `known` holds the registered file endings and URL schemes.
public struct BroadcastOutputError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The URL without an output.
  public let url: URL
  /// The registered file endings and URL schemes.
  public let known: [String]
  public var description: String {
    "nothing writes to '\(place)'; there is: \(known.isEmpty ? "nothing" : known.joined(separator: ", "))"
  }

  /// Of a server nothing that lets one stream there: that is its address's last part, or a query.
  private var place: String {
    guard !url.isFileURL else { return url.absoluteString }
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return "\(url.scheme ?? ""):" }
    (parts.user, parts.password, parts.query, parts.fragment) = (nil, nil, nil, nil)
    parts.percentEncodedPath = parts.percentEncodedPath.split(separator: "/").dropLast().map { "/" + $0 }.joined()
    return parts.string ?? "\(url.scheme ?? ""):"
  }
}
