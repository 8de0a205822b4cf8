/// The version of the vendor's SDK that Koine implements.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/Versioning.html)
public final class Versioning {
  public static func sdkVersion() -> String { "0.27.2" }
}

/// Video bit rates of the vendor's SDK, in kbit/s.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/VideoBitrateConstants.html)
public final class VideoBitrateConstants {
  public let videoHighResolutionBitrateKbps: UInt32 = 2_500
  public let contentHighResolutionBitrateKbps: UInt32 = 2_500
  public init() {}
}
