public import Foundation

/// Where a composed stream of pictures and sound goes: a file, a server. Takes coded frames as they are made, on engine
/// lanes; must not block for long.
public protocol BroadcastOutput: EncodedFrameSink {
  /// Finishes what was begun; nothing is taken any more.
  /// - Throws: when what was to be written could not be.
  func close() throws
  /// `handler` is called once, from any thread, when it can take no more although nobody has closed it: the disk is full,
  /// the server has hung up. Set before the first frame comes. It must not close the output before it has returned: that waits
  /// for what is being written.
  func onFailure(_ handler: @escaping @Sendable (any Error) -> Void)
  /// `handler` is called once, from any thread, as soon as others can open what has been written so far.
  func onReadable(_ handler: @escaping @Sendable () -> Void)
  /// What pictures are to be coded as; else VP8.
  var pictureCodec: Codec { get }
  /// How often at least a picture is to stand by itself; nil: the first.
  var keyFrameInterval: Duration? { get }
}

extension BroadcastOutput {
  public var pictureCodec: Codec { .vp8 }
  public var keyFrameInterval: Duration? { nil }
  /// For outputs that can be opened from the beginning.
  public func onReadable(_ handler: @escaping @Sendable () -> Void) { handler() }
  /// For outputs that cannot fail before they are closed.
  public func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) {}
}

/// The outputs that can be named by URL. Rooms that can write register theirs at start: `MediaFiles` files ending in `.webm`
/// and `.m3u8`.
public enum BroadcastOutputs {
  public typealias Make = @Sendable (URL) throws -> any BroadcastOutput

  private static let makers = Lock<[String: Make]>([:])

  /// - Parameter ending: of a file URL's path, without the dot; or another URL's scheme with its colon, as in `rtmp:`.
  public static func register(_ ending: String, _ make: @escaping Make) { makers.withLock { $0[ending] = make } }

  /// - Throws: `BroadcastOutputError` where nobody writes there; else what the output throws.
  public static func make(for url: URL) throws -> any BroadcastOutput {
    let name = url.isFileURL ? url.pathExtension : (url.scheme ?? "") + ":"
    let makers = makers.withLock { $0 }
    guard let make = makers[name] else { throw BroadcastOutputError(url: url, known: makers.keys.sorted()) }
    return try make(url)
  }
}

/// Nobody writes to such a place.
public struct BroadcastOutputError: Error, Hashable, Sendable, CustomStringConvertible {
  public let url: URL
  public let known: [String]
  public var description: String {
    "nothing writes to '\(url)'; there is: \(known.isEmpty ? "nothing" : known.joined(separator: ", "))"
  }
}
