public import KoineCoreVideo

/// A rational time: `value` parts of a second, `timescale` to the second.
public struct CMTime: Sendable, Hashable, Comparable {
  public var value: Int64
  public var timescale: Int32

  public init(value: Int64, timescale: Int32) {
    self.value = value
    self.timescale = timescale
  }

  public init(seconds: Double, preferredTimescale: Int32) {
    self.init(value: Int64((seconds * Double(preferredTimescale)).rounded()), timescale: preferredTimescale)
  }

  public static let zero = CMTime(value: 0, timescale: 1)

  public var seconds: Double { timescale == 0 ? .nan : Double(value) / Double(timescale) }

  public static func < (a: CMTime, b: CMTime) -> Bool { a.seconds < b.seconds }
}

/// A picture with its time.
public final class CMSampleBuffer: Sendable {
  public let imageBuffer: CVPixelBuffer
  public let presentationTimeStamp: CMTime

  public init(imageBuffer: CVPixelBuffer, presentationTimeStamp: CMTime) {
    self.imageBuffer = imageBuffer
    self.presentationTimeStamp = presentationTimeStamp
  }
}
