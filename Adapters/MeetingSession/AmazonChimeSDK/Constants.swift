/// Which version's API this is.
public final class Versioning {
  public static func sdkVersion() -> String { "0.27.2" }
}

/// In kbit/s, as the vendor names them.
public final class VideoBitrateConstants {
  public let videoHighResolutionBitrateKbps: UInt32 = 2_500
  public let contentHighResolutionBitrateKbps: UInt32 = 2_500
  public init() {}
}
