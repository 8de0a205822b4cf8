// How recordings look. The grid's size counts; the rest is kept.

/// Participants that a recording's layout shows first: speakers or pinned participants. It has no effect in Koine.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum ConfigLayoutPriority: String, Sendable { case SPEAKER, PIN }

/// Layout of a recording. It has no effect in Koine: recordings have a grid.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum ConfigLayoutGrid: String, Sendable { case GRID, SPOTLIGHT, SIDEBAR }

/// Color theme of a recording. It has no effect in Koine.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum ConfigTheme: String, Sendable { case DEFAULT, LIGHT, DARK }

/// Whether a recording has video and audio or only audio. It has no effect in Koine.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum ConfigMode: String, Sendable {
  case video_and_audio = "video-and-audio"
  case audio
}

/// Quality of a recording. It has no effect in Koine.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum ConfigQuality: String, Sendable { case high, med, low }

/// Orientation of a recording. It has no effect in Koine.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum ConfigOrientation: String, Sendable { case landscape, portrait }

/// The names of the first releases.
public typealias HLSLayout = ConfigLayout
public typealias HLSLayoutPriority = ConfigLayoutPriority
public typealias HLSLayoutGrid = ConfigLayoutGrid
public typealias HLSTheme = ConfigTheme
public typealias HLSMode = ConfigMode
public typealias HLSQuality = ConfigQuality
public typealias HLSOrientation = ConfigOrientation

/// Layout of a recording: type, priority and grid size. Only the grid size has an effect in Koine.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public class ConfigLayout {
  public var type: ConfigLayoutGrid
  public var priority: ConfigLayoutPriority
  /// How many people are shown at most, 1...25.
  public var gridSize: Int

  public init(type: ConfigLayoutGrid, priority: ConfigLayoutPriority, gridSize: Int) {
    (self.type, self.priority, self.gridSize) = (type, priority, gridSize)
  }

  public func toJson() -> [String: Any] {
    ["type": type.rawValue, "priority": priority.rawValue, "gridSize": gridSize]
  }
}

/// Settings of a recording. Only the grid size has an effect in Koine.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public class RecordingConfig {
  public var layout: ConfigLayout
  public var theme: ConfigTheme
  public var mode: ConfigMode
  public var quality: ConfigQuality
  public var orientation: ConfigOrientation

  public init(
    layout: ConfigLayout, theme: ConfigTheme, mode: ConfigMode, quality: ConfigQuality, orientation: ConfigOrientation
  ) {
    (self.layout, self.theme, self.mode, self.quality) = (layout, theme, mode, quality)
    self.orientation = orientation
  }

  public func toJson() -> [String: Any] {
    [
      "layout": layout.toJson(), "theme": theme.rawValue, "mode": mode.rawValue, "quality": quality.rawValue,
      "orientation": orientation.rawValue,
    ]
  }
}

/// Settings of an HLS stream. Only the grid size has an effect in Koine.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public class HLSConfig: RecordingConfig {}

/// Addresses of an HLS stream. An absent address is an empty string.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/properties)
public class HLSUrl {
  public var downstreamUrl: String
  public var playbackHlsUrl: String
  public var livestreamUrl: String

  public init(downstreamUrl: String? = nil, playbackHlsUrl: String? = nil, livestreamUrl: String? = nil) {
    (self.downstreamUrl, self.playbackHlsUrl) = (downstreamUrl ?? "", playbackHlsUrl ?? "")
    self.livestreamUrl = livestreamUrl ?? ""
  }

  public func toJson() -> [String: Any] {
    ["downstreamUrl": downstreamUrl, "playbackHlsUrl": playbackHlsUrl, "livestreamUrl": livestreamUrl]
  }
}
