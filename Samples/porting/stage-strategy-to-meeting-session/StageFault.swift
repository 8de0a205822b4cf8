// Errors and settings of layers read from the stage strategy style, in a meeting: the same for every app.
import AmazonChimeSDK
import Foundation

/// Errors with the numbers that apps in the stage strategy style know.
enum StageFault: Int {
  case token = 1000, media = 1020, full = 1024, refused = 1026, closed = 1027
  case answer = 1203, lost = 1300, device = 10101

  static let domain = "StageFault"
  func error(_ message: String) -> NSError {
    NSError(domain: Self.domain, code: rawValue, userInfo: [NSLocalizedDescriptionKey: message])
  }
  /// Nil: the user has left, or joins on another device.
  static func error(of code: MeetingSessionStatusCode) -> NSError? {
    let fault: StageFault? =
      switch code {
      case .ok, .audioJoinedFromAnotherDevice: nil
      case .audioAuthenticationRejected, .audioServerHungup: .refused
      case .audioCallAtCapacity: .full
      case .audioCallEnded: .closed
      case .audioDisconnected, .audioServiceUnavailable: .lost
      default: .answer
      }
    return fault?.error(code.description)
  }
}

/// What an app wants of its video. The SDK keeps to the bitrate, and chooses size and rate of the frames itself.
struct StageVideo {
  var minimumBitrate = 0, maximumBitrate = 900_000, maximumFramesPerSecond = 15
  var maximumWidth = 360, maximumHeight = 640
}
