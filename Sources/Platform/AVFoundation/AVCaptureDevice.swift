public import Foundation

/// A camera as vendor code names it. Which source stands behind it is the world's choice (`KOINE_CAMERA`).
public class AVCaptureDevice: NSObject {
  public enum Position: Int, Sendable {
    case unspecified = 0
    case back = 1
    case front = 2
  }
}
