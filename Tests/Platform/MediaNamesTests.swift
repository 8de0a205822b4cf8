import Koine
import KoineAVFoundation
import KoineCoreMedia
import KoineCoreVideo
import Testing

@Suite struct MediaNamesTests {
  @Test func cameraPositionsHaveApplesRawValues() {
    #expect(AVCaptureDevice.Position.unspecified.rawValue == 0)
    #expect(AVCaptureDevice.Position.back.rawValue == 1)
    #expect(AVCaptureDevice.Position.front.rawValue == 2)
    #expect(AVCaptureDevice.Position(rawValue: 3) == nil)
  }

  @Test func cmTimesCompareAsRationals() {
    #expect(CMTime(seconds: 1.5, preferredTimescale: 600) == CMTime(value: 900, timescale: 600))
    #expect(CMTime(value: 1, timescale: 2) == CMTime(value: 300, timescale: 600))
    #expect(Set([CMTime(value: 1, timescale: 2), CMTime(value: 2, timescale: 4)]).count == 1)
    #expect(CMTime(value: -1, timescale: 2) < .zero)
    #expect(CMTime(value: 1, timescale: 3) < CMTime(value: 1, timescale: 2))
    #expect(CMTime(value: 1, timescale: 2) != CMTime(value: -1, timescale: 2))
    #expect(CMTime(value: 3, timescale: 2).seconds == 1.5)
    #expect(CMTime.zero.seconds == 0)
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300])
  func unrepresentableSecondsMakeAnInvalidTime(seconds: Double) {
    let time = CMTime(seconds: seconds, preferredTimescale: 600)
    #expect(!time.isValid)
    #expect(time.seconds.isNaN)
    #expect(CMTime(value: .min, timescale: .max) == CMTime(value: .min, timescale: .max))
  }

  @Test func pixelBufferWrapsTheFrame() {
    let frame = FramePool(limit: 0).make(width: 33, height: 17, captured: .zero) { planes in
      for index in 0..<planes.lumaStride * planes.height { planes.y[index] = 100 }
      for index in 0..<planes.chromaStride * planes.chromaHeight {
        planes.u[index] = 128
        planes.v[index] = 128
      }
    }
    let buffer = CVPixelBuffer(frame)
    #expect(CVPixelBufferGetWidth(buffer) == 33)
    #expect(CVPixelBufferGetHeight(buffer) == 17)
    #expect(CVPixelBufferGetPlaneCount(buffer) == 3)
    #expect(CVPixelBufferGetBytesPerRowOfPlane(buffer, 0) >= 33)
    #expect(CVPixelBufferGetBytesPerRowOfPlane(buffer, 2) >= 17)
    let sample = CMSampleBuffer(imageBuffer: buffer, presentationTimeStamp: CMTime(value: 1, timescale: 30))
    #expect(CMSampleBufferGetImageBuffer(sample) === buffer)
    #expect(sample.presentationTimeStamp.timescale == 30)
  }
}
