public import Koine

/// How an output of a recording service looks, as far as a request chooses. Written as words, such as `layout=sidebar audio`.
public struct OutputLook: Hashable, Sendable {
  /// Width and height of a video, in pixels.
  public struct Size: Hashable, Sendable {
    public var width, height: Int
    /// Creates a size.
    public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
  }

  /// Nil: the service's own layout.
  public var layout: RecordingRequest.Layout?
  /// The video that is large, or shown where not all are.
  public var priority = RecordingRequest.Priority.speaker
  /// The color around the videos, as 0xRRGGBB; nil: the service's own.
  public var backgroundColor: UInt32?
  /// 16...4,096 pixels each; nil: the service's own. A service may refuse large ones.
  public var size: Size?
  /// Whether the output has video. If not, it has audio only.
  public var hasVideo = true

  /// Creates the service's own look.
  public init() {}

  /// - Returns: nil for a known word with a value that cannot be used. Unknown words are ignored.
  init?(words: some Sequence<Substring>) {
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard read(parts[0], parts.count > 1 ? String(parts[1]) : "") else { return nil }
    }
  }

  private mutating func read(_ name: Substring, _ value: String) -> Bool {
    switch name {
    case "audio": hasVideo = false
    case "layout":
      guard let layout = RecordingRequest.Layout(rawValue: value) else { return false }
      self.layout = layout
    case "priority":
      guard let priority = RecordingRequest.Priority(rawValue: value) else { return false }
      self.priority = priority
    case "background":
      guard let color = UInt32(value, radix: 16), color <= 0xFFFFFF else { return false }
      backgroundColor = color
    case "size":
      let numbers = value.split(separator: "x").map { Int($0) ?? 0 }
      guard numbers.count == 2, numbers.allSatisfy((16...4_096).contains) else { return false }
      size = Size(width: numbers[0], height: numbers[1])
    default: break
    }
    return true
  }

  var words: [String] {
    var words: [String] = []
    if let layout { words.append("layout=\(layout.rawValue)") }
    if priority != .speaker { words.append("priority=\(priority.rawValue)") }
    if let backgroundColor { words.append("background=" + String(backgroundColor, radix: 16)) }
    if let size { words.append("size=\(size.width)x\(size.height)") }
    if !hasVideo { words.append("audio") }
    return words
  }

  /// Changes a request accordingly. The bitrate of the video follows its size: 2.1 Mbit/s for 1,280×720 pixels.
  public func apply(to request: inout RecordingRequest) {
    if let layout { request.layout = layout }
    request.priority = priority
    if let backgroundColor { request.backgroundColor = backgroundColor }
    request.recordsVideo = hasVideo
    guard let size else { return }
    (request.width, request.height) = (size.width, size.height)
    request.bitrate = max(2_100_000 * size.width * size.height / (1_280 * 720), 200_000)
  }
}
