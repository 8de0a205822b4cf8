// How recordings look. The grid's size counts; the rest is kept.

public enum ConfigLayoutPriority: String, Sendable { case SPEAKER, PIN }
public enum ConfigLayoutGrid: String, Sendable { case GRID, SPOTLIGHT, SIDEBAR }
public enum ConfigTheme: String, Sendable { case DEFAULT, LIGHT, DARK }
public enum ConfigMode: String, Sendable {
  case video_and_audio = "video-and-audio"
  case audio
}
public enum ConfigQuality: String, Sendable { case high, med, low }
public enum ConfigOrientation: String, Sendable { case landscape, portrait }

/// The names of the first releases.
public typealias HLSLayout = ConfigLayout
public typealias HLSLayoutPriority = ConfigLayoutPriority
public typealias HLSLayoutGrid = ConfigLayoutGrid
public typealias HLSTheme = ConfigTheme
public typealias HLSMode = ConfigMode
public typealias HLSQuality = ConfigQuality
public typealias HLSOrientation = ConfigOrientation

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

public class HLSConfig: RecordingConfig {}

/// Empty where there is none.
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
