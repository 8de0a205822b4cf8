import AmazonIVSBroadcast
import ReplayKit

/// The handler of a broadcast extension, with the imports that apps write: it publishes every frame of the screen on a stage, copied into a
/// buffer of its own pool.
class ScreenHandler: RPBroadcastSampleHandler {
  private let token: String
  private let source = IVSDeviceDiscovery().createImageSource(withName: "screen")
  private lazy var streams = [IVSLocalStageStream(device: source)]
  private var stage: IVSStage?
  private var pool: CVPixelBufferPool?

  init(token: String) {
    self.token = token
    super.init()
  }

  override func broadcastStarted(withSetupInfo setupInfo: [String: NSObject]?) {
    do {
      stage = try IVSStage(token: token, strategy: self)
      try stage?.join()
    } catch {
      finishBroadcastWithError(error)
    }
  }

  override func broadcastFinished() {
    stage?.leave()
    stage = nil
  }

  override func processSampleBuffer(_ sampleBuffer: CMSampleBuffer, with sampleBufferType: RPSampleBufferType) {
    autoreleasepool {
      switch sampleBufferType {
      case .video:
        guard let image = CMSampleBufferGetImageBuffer(sampleBuffer),
          let copy = copy(image, CMSampleBufferGetPresentationTimeStamp(sampleBuffer))
        else { return }
        if let orientationAttachment = CMGetAttachment(
          sampleBuffer, key: RPVideoSampleOrientationKey as CFString, attachmentModeOut: nil) as? NSNumber
        {
          switch orientationAttachment.uint32Value {
          case 6: source.setHandsetRotation(-(Float.pi / 2))
          case 8: source.setHandsetRotation(Float.pi / 2)
          default: source.setHandsetRotation(0)
          }
        }
        source.onSampleBuffer(copy)
      case .audioApp, .audioMic:
        break
      @unknown default:
        NSLog("unknown samples")
      }
    }
  }

  private func copy(_ image: CVPixelBuffer, _ time: CMTime) -> CMSampleBuffer? {
    if pool == nil {
      let attributes =
        [
          kCVPixelBufferPixelFormatTypeKey: kCVPixelFormatType_420YpCbCr8Planar,
          kCVPixelBufferWidthKey: CVPixelBufferGetWidth(image),
          kCVPixelBufferHeightKey: CVPixelBufferGetHeight(image),
          kCVPixelBufferMetalCompatibilityKey: kCFBooleanTrue!,
          kCVPixelBufferIOSurfacePropertiesKey: [:] as CFDictionary,
        ] as CFDictionary
      CVPixelBufferPoolCreate(kCFAllocatorDefault, nil, attributes, &pool)
    }
    var made: CVPixelBuffer!
    guard let pool, CVPixelBufferPoolCreatePixelBuffer(kCFAllocatorDefault, pool, &made) == kCVReturnSuccess else {
      return nil
    }
    CVPixelBufferLockBaseAddress(image, .readOnly)
    CVPixelBufferLockBaseAddress(made, [])
    for plane in 0..<CVPixelBufferGetPlaneCount(image) {
      guard let from = CVPixelBufferGetBaseAddressOfPlane(image, plane),
        let to = CVPixelBufferGetBaseAddressOfPlane(made, plane)
      else { return nil }
      let (fromRow, toRow) = (
        CVPixelBufferGetBytesPerRowOfPlane(image, plane), CVPixelBufferGetBytesPerRowOfPlane(made, plane)
      )
      for row in 0..<CVPixelBufferGetHeightOfPlane(image, plane) {
        memcpy(to + row * toRow, from + row * fromRow, min(fromRow, toRow))
      }
    }
    CVPixelBufferUnlockBaseAddress(made, [])
    CVPixelBufferUnlockBaseAddress(image, .readOnly)
    var description: CMVideoFormatDescription!
    CMVideoFormatDescriptionCreateForImageBuffer(
      allocator: kCFAllocatorDefault, imageBuffer: made, formatDescriptionOut: &description)
    var timing = CMSampleTimingInfo()
    timing.presentationTimeStamp = time
    var sample: CMSampleBuffer?
    CMSampleBufferCreateReadyWithImageBuffer(
      allocator: kCFAllocatorDefault, imageBuffer: made, formatDescription: description, sampleTiming: &timing,
      sampleBufferOut: &sample)
    return sample
  }
}

extension ScreenHandler: IVSStageStrategy {
  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
    -> [IVSLocalStageStream]
  { streams }
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { true }
  func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo)
    -> IVSStageSubscribeType
  { .none }
}
