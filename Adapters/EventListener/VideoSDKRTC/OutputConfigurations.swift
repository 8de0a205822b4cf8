import CrossVendorConventions
import Koine

// How recordings and playlists look.

/// The video that is large, or shown where not all are: the active speaker's, or the pinned participants'.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum ConfigLayoutPriority: String, Sendable { case SPEAKER, PIN }

/// `GRID`: tiles of the same size. `SPOTLIGHT`: the video with priority alone. `SIDEBAR`: the video with priority is large, with the
/// others in a column on the right (in `portrait`, in a row below). A shared screen is large in each of them.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum ConfigLayoutGrid: String, Sendable { case GRID, SPOTLIGHT, SIDEBAR }

/// The color around the videos: black, white, or dark grey.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum ConfigTheme: String, Sendable { case DEFAULT, LIGHT, DARK }

/// Whether a recording has video and audio or only audio.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum ConfigMode: String, Sendable {
  case video_and_audio = "video-and-audio"
  case audio
}

/// The size of the video: 1,920×1,080 (`high`), 1,280×720 (`med`) or 640×360 pixels (`low`).
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum ConfigQuality: String, Sendable { case high, med, low }

/// Whether the video is wider than high, or higher than wide.
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

/// Settings of an HLS stream.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public class HLSConfig: RecordingConfig {}

extension RecordingConfig {
  var look: OutputLook {
    var look = OutputLook()
    look.layout =
      switch layout.type {
      case .GRID: .grid
      case .SPOTLIGHT: .spotlight
      case .SIDEBAR: .sidebar
      }
    look.priority = layout.priority == .PIN ? .pinned : .speaker
    look.backgroundColor =
      switch theme {
      case .DEFAULT: 0x000000
      case .LIGHT: 0xFFFFFF
      case .DARK: 0x202124
      }
    let (long, short) =
      switch quality {
      case .high: (1_920, 1_080)
      case .med: (1_280, 720)
      case .low: (640, 360)
      }
    look.size =
      orientation == .portrait ? .init(width: short, height: long) : .init(width: long, height: short)
    look.hasVideo = mode != .audio
    return look
  }
}

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
