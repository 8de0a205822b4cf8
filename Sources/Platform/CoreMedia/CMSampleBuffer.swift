public import KoineCoreVideo

public typealias CMItemCount = Int
public let kCMSampleBufferError_RequiredParameterMissing: OSStatus = -12_731
public let kCMSampleBufferError_AlreadyHasDataBuffer: OSStatus = -12_732
public let kCMSampleBufferError_InvalidEntryCount: OSStatus = -12_738
public let kCMSampleBufferError_SampleTimingInfoInvalid: OSStatus = -12_740
public let kCMSampleBufferError_InvalidMediaTypeForOperation: OSStatus = -12_741
public let kCMSampleBufferError_InvalidSampleData: OSStatus = -12_742
public let kCMSampleBufferError_InvalidMediaFormat: OSStatus = -12_743

/// When a sample is shown or played.
public struct CMSampleTimingInfo: Sendable, Hashable {
  /// Of one sample.
  public var duration: CMTime
  public var presentationTimeStamp: CMTime
  public var decodeTimeStamp: CMTime

  public init() { self.init(duration: .invalid, presentationTimeStamp: .invalid, decodeTimeStamp: .invalid) }

  public init(duration: CMTime, presentationTimeStamp: CMTime, decodeTimeStamp: CMTime) {
    (self.duration, self.presentationTimeStamp) = (duration, presentationTimeStamp)
    self.decodeTimeStamp = decodeTimeStamp
  }
}

/// A picture, or a piece of audio, with its time.
///
/// `@unchecked Sendable`: as with Apple's, a buffer is passed on after its data was set. The rest is constant.
public final class CMSampleBuffer: AttachmentBearer, @unchecked Sendable {
  /// Nil for audio.
  public let imageBuffer: CVPixelBuffer?
  /// Nil for a picture, and for audio whose data is not set yet.
  public private(set) var dataBuffer: CMBlockBuffer?
  public let formatDescription: CMFormatDescription?
  /// 1 for a picture; the number of samples per channel for audio.
  public let numSamples: CMItemCount
  let timing: CMSampleTimingInfo
  public let attachmentList = AttachmentList()

  init(
    imageBuffer: CVPixelBuffer?, dataBuffer: CMBlockBuffer?, _ description: CMFormatDescription?,
    _ timing: CMSampleTimingInfo, count: CMItemCount
  ) {
    (self.imageBuffer, self.dataBuffer, formatDescription) = (imageBuffer, dataBuffer, description)
    (self.timing, numSamples) = (timing, count)
  }

  /// A picture. Here only; `CMSampleBufferCreateReadyWithImageBuffer` is Apple's.
  public convenience init(imageBuffer: CVPixelBuffer, presentationTimeStamp: CMTime) {
    self.init(
      imageBuffer: imageBuffer, dataBuffer: nil, CMFormatDescription(video: imageBuffer),
      CMSampleTimingInfo(
        duration: .invalid, presentationTimeStamp: presentationTimeStamp, decodeTimeStamp: .invalid), count: 1)
  }

  public var presentationTimeStamp: CMTime { timing.presentationTimeStamp }
  public var decodeTimeStamp: CMTime { timing.decodeTimeStamp }
  /// Of all samples.
  public var duration: CMTime {
    let one = timing.duration
    let (value, isTooLarge) = one.value.multipliedReportingOverflow(by: Int64(numSamples))
    return one.isValid && !isTooLarge ? CMTime(value: value, timescale: one.timescale) : .invalid
  }

  func setData(_ buffer: CMBlockBuffer) { dataBuffer = buffer }
}

public func CMSampleBufferGetImageBuffer(_ sbuf: CMSampleBuffer) -> CVImageBuffer? { sbuf.imageBuffer }
public func CMSampleBufferGetDataBuffer(_ sbuf: CMSampleBuffer) -> CMBlockBuffer? { sbuf.dataBuffer }
public func CMSampleBufferGetFormatDescription(_ sbuf: CMSampleBuffer) -> CMFormatDescription? {
  sbuf.formatDescription
}
public func CMSampleBufferGetNumSamples(_ sbuf: CMSampleBuffer) -> CMItemCount { sbuf.numSamples }
public func CMSampleBufferGetPresentationTimeStamp(_ sbuf: CMSampleBuffer) -> CMTime { sbuf.presentationTimeStamp }
public func CMSampleBufferGetDecodeTimeStamp(_ sbuf: CMSampleBuffer) -> CMTime { sbuf.decodeTimeStamp }
public func CMSampleBufferGetDuration(_ sbuf: CMSampleBuffer) -> CMTime { sbuf.duration }
/// Nothing invalidates a sample buffer here.
public func CMSampleBufferIsValid(_ sbuf: CMSampleBuffer) -> Bool { true }
public func CMSampleBufferDataIsReady(_ sbuf: CMSampleBuffer) -> Bool {
  sbuf.imageBuffer != nil || sbuf.dataBuffer != nil
}

// MARK: Making

/// - Returns: `kCMSampleBufferError_InvalidMediaFormat` if the description is not of such a picture.
@discardableResult
public func CMSampleBufferCreateReadyWithImageBuffer(
  allocator: CFAllocator?, imageBuffer: CVImageBuffer, formatDescription: CMVideoFormatDescription,
  sampleTiming: UnsafePointer<CMSampleTimingInfo>, sampleBufferOut: UnsafeMutablePointer<CMSampleBuffer?>
) -> OSStatus {
  sampleBufferOut.pointee = nil
  guard formatDescription.mediaType == kCMMediaType_Video,
    formatDescription.subType == CVPixelBufferGetPixelFormatType(imageBuffer),
    formatDescription.dimensions.width == imageBuffer.width,
    formatDescription.dimensions.height == imageBuffer.height
  else { return kCMSampleBufferError_InvalidMediaFormat }
  sampleBufferOut.pointee = CMSampleBuffer(
    imageBuffer: imageBuffer, dataBuffer: nil, formatDescription, sampleTiming.pointee, count: 1)
  return noErr
}

/// As `CMSampleBufferCreateReadyWithImageBuffer`.
/// - Parameter makeDataReadyCallback: must be nil, because a picture is ready here.
@discardableResult
public func CMSampleBufferCreateForImageBuffer(
  allocator: CFAllocator?, imageBuffer: CVImageBuffer, dataReady: Bool,
  makeDataReadyCallback: ((CMSampleBuffer, UnsafeMutableRawPointer?) -> OSStatus)?, refcon: UnsafeMutableRawPointer?,
  formatDescription: CMVideoFormatDescription, sampleTiming: UnsafePointer<CMSampleTimingInfo>,
  sampleBufferOut: UnsafeMutablePointer<CMSampleBuffer?>
) -> OSStatus {
  sampleBufferOut.pointee = nil
  guard dataReady, makeDataReadyCallback == nil else { return kCMSampleBufferError_InvalidMediaTypeForOperation }
  return CMSampleBufferCreateReadyWithImageBuffer(
    allocator: allocator, imageBuffer: imageBuffer, formatDescription: formatDescription, sampleTiming: sampleTiming,
    sampleBufferOut: sampleBufferOut)
}

/// Makes a buffer of audio samples without compression.
/// - Parameters:
///   - dataBuffer: nil: `CMSampleBufferSetDataBufferFromAudioBufferList` sets it later.
///   - sampleCount: samples per channel.
///   - sampleTimingArray: one entry: the time of the first sample, and the duration of each.
///   - sampleSizeArray: the size of a sample; may be left out, as the format tells it.
/// - Returns: `kCMSampleBufferError_InvalidSampleData` if the data buffer has fewer bytes than the samples need.
@discardableResult
public func CMSampleBufferCreate(
  allocator: CFAllocator?, dataBuffer: CMBlockBuffer?, dataReady: Bool,
  makeDataReadyCallback: ((CMSampleBuffer, UnsafeMutableRawPointer?) -> OSStatus)?, refcon: UnsafeMutableRawPointer?,
  formatDescription: CMFormatDescription?, sampleCount: CMItemCount, sampleTimingEntryCount: CMItemCount,
  sampleTimingArray: UnsafePointer<CMSampleTimingInfo>?, sampleSizeEntryCount: CMItemCount,
  sampleSizeArray: UnsafePointer<Int>?, sampleBufferOut: UnsafeMutablePointer<CMSampleBuffer?>
) -> OSStatus {
  sampleBufferOut.pointee = nil
  guard makeDataReadyCallback == nil else { return kCMSampleBufferError_InvalidMediaTypeForOperation }
  guard let formatDescription, let timing = sampleTimingArray?.pointee else {
    return kCMSampleBufferError_RequiredParameterMissing
  }
  guard let audio = formatDescription.audioStreamBasicDescription else {
    return kCMSampleBufferError_InvalidMediaTypeForOperation
  }
  guard sampleCount > 0, sampleTimingEntryCount == 1, (0...1).contains(sampleSizeEntryCount) else {
    return kCMSampleBufferError_InvalidEntryCount
  }
  guard timing.presentationTimeStamp.isValid else { return kCMSampleBufferError_SampleTimingInfoInvalid }
  guard dataBuffer.map({ $0.dataLength >= audio.byteCount(sampleCount) }) ?? true else {
    return kCMSampleBufferError_InvalidSampleData
  }
  sampleBufferOut.pointee = CMSampleBuffer(
    imageBuffer: nil, dataBuffer: dataBuffer, formatDescription, timing, count: sampleCount)
  return noErr
}

/// As `CMSampleBufferCreate` with data.
@discardableResult
public func CMSampleBufferCreateReady(
  allocator: CFAllocator?, dataBuffer: CMBlockBuffer?, formatDescription: CMFormatDescription?,
  sampleCount: CMItemCount, sampleTimingEntryCount: CMItemCount,
  sampleTimingArray: UnsafePointer<CMSampleTimingInfo>?, sampleSizeEntryCount: CMItemCount,
  sampleSizeArray: UnsafePointer<Int>?, sampleBufferOut: UnsafeMutablePointer<CMSampleBuffer?>
) -> OSStatus {
  sampleBufferOut.pointee = nil
  guard dataBuffer != nil else { return kCMSampleBufferError_RequiredParameterMissing }
  return CMSampleBufferCreate(
    allocator: allocator, dataBuffer: dataBuffer, dataReady: true, makeDataReadyCallback: nil, refcon: nil,
    formatDescription: formatDescription, sampleCount: sampleCount, sampleTimingEntryCount: sampleTimingEntryCount,
    sampleTimingArray: sampleTimingArray, sampleSizeEntryCount: sampleSizeEntryCount, sampleSizeArray: sampleSizeArray,
    sampleBufferOut: sampleBufferOut)
}

/// Copies audio into a buffer without data, plane after plane.
/// - Returns: `kCMSampleBufferError_InvalidSampleData` if the planes do not have the number and the size that the format says.
@discardableResult
public func CMSampleBufferSetDataBufferFromAudioBufferList(
  _ sbuf: CMSampleBuffer, blockBufferAllocator: CFAllocator?, blockBufferMemoryAllocator: CFAllocator?,
  flags: UInt32, bufferList: UnsafePointer<AudioBufferList>
) -> OSStatus {
  guard sbuf.dataBuffer == nil else { return kCMSampleBufferError_AlreadyHasDataBuffer }
  guard let audio = sbuf.formatDescription?.audioStreamBasicDescription else {
    return kCMSampleBufferError_InvalidMediaTypeForOperation
  }
  let planes = audio.planes
  guard bufferList.pointee.mNumberBuffers == planes else { return kCMSampleBufferError_InvalidSampleData }
  let size = audio.byteCount(sbuf.numSamples) / planes
  let buffer = CMBlockBuffer(length: size * planes)
  let offset = MemoryLayout<AudioBufferList>.size - MemoryLayout<AudioBuffer>.size  // of `mBuffers`, the last member
  for plane in 0..<planes {
    let from = (UnsafeRawPointer(bufferList) + offset + plane * MemoryLayout<AudioBuffer>.stride)
      .load(as: AudioBuffer.self)
    guard let data = from.mData, from.mDataByteSize >= size else { return kCMSampleBufferError_InvalidSampleData }
    (buffer.base + plane * size).copyMemory(from: data, byteCount: size)
  }
  sbuf.setData(buffer)
  return noErr
}

// MARK: Attachments

public typealias CMAttachmentBearer = AttachmentBearer
public typealias CMAttachmentMode = UInt32
public let kCMAttachmentMode_ShouldNotPropagate: CMAttachmentMode = 0
public let kCMAttachmentMode_ShouldPropagate: CMAttachmentMode = 1

public func CMSetAttachment(
  _ target: any CMAttachmentBearer, key: CFString, value: CFTypeRef?, attachmentMode: CMAttachmentMode
) {
  guard let value else { return CMRemoveAttachment(target, key: key) }
  target.attachmentList.set(value, for: key, propagates: attachmentMode == kCMAttachmentMode_ShouldPropagate)
}

public func CMGetAttachment(
  _ target: any CMAttachmentBearer, key: CFString, attachmentModeOut: UnsafeMutablePointer<CMAttachmentMode>?
) -> CFTypeRef? {
  guard let attachment = target.attachmentList[key] else { return nil }
  attachmentModeOut?.pointee =
    attachment.propagates ? kCMAttachmentMode_ShouldPropagate : kCMAttachmentMode_ShouldNotPropagate
  return attachment.value
}

public func CMRemoveAttachment(_ target: any CMAttachmentBearer, key: CFString) {
  target.attachmentList.remove(key)
}

/// Copies the attachments that propagate.
public func CMPropagateAttachments(_ source: any CMAttachmentBearer, destination: any CMAttachmentBearer) {
  source.attachmentList.propagate(to: destination.attachmentList)
}
