import Koine
import KoineAVFoundation
import KoineCoreMedia
import KoineCoreVideo
import Testing

/// Sample buffers with audio and with pictures, made by Apple's functions.
@Suite struct SampleBufferTests {
  private func describe(_ flags: AudioFormatFlags, bits: UInt32, channels: UInt32) throws -> CMAudioFormatDescription {
    let interleaved = flags & kAudioFormatFlagIsNonInterleaved == 0
    let frame = bits / 8 * (interleaved ? channels : 1)
    var audio = AudioStreamBasicDescription(
      mSampleRate: 44_100, mFormatID: kAudioFormatLinearPCM, mFormatFlags: flags | kAudioFormatFlagIsPacked,
      mBytesPerPacket: frame, mFramesPerPacket: 1, mBytesPerFrame: frame, mChannelsPerFrame: channels,
      mBitsPerChannel: bits, mReserved: 0)
    var description: CMAudioFormatDescription?
    #expect(
      CMAudioFormatDescriptionCreate(
        allocator: kCFAllocatorDefault, asbd: &audio, layoutSize: 0, layout: nil, magicCookieSize: 0, magicCookie: nil,
        extensions: nil, formatDescriptionOut: &description) == noErr)
    return try #require(description)
  }

  /// - Returns: nil and the status where it fails.
  private func make<Sample: BitwiseCopyable>(_ description: CMAudioFormatDescription, _ bytes: [Sample], count: Int)
    -> (
      CMSampleBuffer?, OSStatus
    )
  {
    var block: CMBlockBuffer?
    let size = bytes.count * MemoryLayout<Sample>.size
    #expect(
      CMBlockBufferCreateWithMemoryBlock(
        allocator: nil, memoryBlock: nil, blockLength: size, blockAllocator: nil, customBlockSource: nil,
        offsetToData: 0, dataLength: size, flags: kCMBlockBufferAssureMemoryNowFlag, blockBufferOut: &block) == noErr)
    if let block {
      #expect(
        CMBlockBufferReplaceDataBytes(with: bytes, blockBuffer: block, offsetIntoDestination: 0, dataLength: size)
          == noErr)
    }
    var timing = CMSampleTimingInfo(
      duration: CMTime(value: 1, timescale: 44_100), presentationTimeStamp: CMTime(value: 5, timescale: 10),
      decodeTimeStamp: .invalid)
    var sample: CMSampleBuffer?
    let status = CMSampleBufferCreateReady(
      allocator: nil, dataBuffer: block, formatDescription: description, sampleCount: count,
      sampleTimingEntryCount: 1, sampleTimingArray: &timing, sampleSizeEntryCount: 0, sampleSizeArray: nil,
      sampleBufferOut: &sample)
    return (sample, status)
  }

  @Test func integersOfEitherByteOrderBecomeSamples() throws {
    let little = try describe(kAudioFormatFlagIsSignedInteger, bits: 16, channels: 2)
    let sample = try #require(make(little, [Int16(1).littleEndian, -2, 300, 400], count: 2).0)
    #expect(sample.stereoSamples() == [1, -2, 300, 400])
    #expect(sample.numSamples == 2)
    #expect(sample.duration == CMTime(value: 2, timescale: 44_100))
    #expect(CMSampleBufferGetPresentationTimeStamp(sample).seconds == 0.5)
    #expect(CMSampleBufferGetImageBuffer(sample) == nil)
    let big = try describe(kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsBigEndian, bits: 16, channels: 1)
    #expect(make(big, [Int16(258).bigEndian], count: 1).0?.stereoSamples() == [258, 258])
    let wide = try describe(kAudioFormatFlagIsSignedInteger, bits: 32, channels: 1)
    #expect(make(wide, [Int32(-7) << 16], count: 1).0?.stereoSamples() == [-7, -7])
  }

  @Test func planesOfFloatsBecomeSamples() throws {
    let planar = try describe(kAudioFormatFlagIsFloat | kAudioFormatFlagIsNonInterleaved, bits: 32, channels: 2)
    let sample = try #require(make(planar, [Float(0.5), 2, -1, .nan], count: 2).0)
    #expect(sample.stereoSamples() == [16_383, -32_767, 32_767, 0])
    let description = try #require(CMSampleBufferGetFormatDescription(sample))
    #expect(CMFormatDescriptionGetMediaType(description) == kCMMediaType_Audio)
    #expect(CMAudioFormatDescriptionGetStreamBasicDescription(description)?.pointee.mSampleRate == 44_100)
  }

  @Test func tooLittleDataIsRefused() throws {
    let description = try describe(kAudioFormatFlagIsSignedInteger, bits: 16, channels: 2)
    let (sample, status) = make(description, [Int16(1), 2, 3], count: 2)
    #expect(sample == nil)
    #expect(status == kCMSampleBufferError_InvalidSampleData)
    let compressed = try describe(0, bits: 16, channels: 2)  // neither integers nor floats
    #expect(make(compressed, [Int16(1), 2], count: 1).0?.stereoSamples() == nil)
  }

  @Test func audioBufferListFillsASampleBuffer() throws {
    let format = try #require(AVAudioFormat(standardFormatWithSampleRate: 44_100, channels: 2))
    let pcm = try #require(AVAudioPCMBuffer(pcmFormat: format, frameCapacity: 2))
    pcm.frameLength = 2
    let channels = try #require(pcm.floatChannelData)
    (channels[0][0], channels[0][1], channels[1][0], channels[1][1]) = (0.25, 0, -0.25, 1)
    let description = try describe(
      kAudioFormatFlagIsFloat | kAudioFormatFlagIsNonInterleaved, bits: 32, channels: 2)
    var timing = CMSampleTimingInfo()
    timing.presentationTimeStamp = .zero
    var made: CMSampleBuffer?
    #expect(
      CMSampleBufferCreate(
        allocator: nil, dataBuffer: nil, dataReady: false, makeDataReadyCallback: nil, refcon: nil,
        formatDescription: description, sampleCount: 2, sampleTimingEntryCount: 1, sampleTimingArray: &timing,
        sampleSizeEntryCount: 0, sampleSizeArray: nil, sampleBufferOut: &made) == noErr)
    let sample = try #require(made)
    #expect(!CMSampleBufferDataIsReady(sample))
    func fill() -> OSStatus {
      CMSampleBufferSetDataBufferFromAudioBufferList(
        sample, blockBufferAllocator: nil, blockBufferMemoryAllocator: nil, flags: 0,
        bufferList: pcm.audioBufferList)
    }
    #expect(fill() == noErr)
    #expect(sample.stereoSamples() == [8_191, -8_191, 0, 32_767])
    #expect(fill() == kCMSampleBufferError_AlreadyHasDataBuffer)
  }

  @Test func blockBufferOverMemoryOfTheCallerReadsIt() throws {
    var bytes: [UInt8] = [1, 2, 3, 4]
    try bytes.withUnsafeMutableBytes { memory in
      var block: CMBlockBuffer?
      #expect(
        CMBlockBufferCreateWithMemoryBlock(
          allocator: nil, memoryBlock: memory.baseAddress, blockLength: 4, blockAllocator: kCFAllocatorNull,
          customBlockSource: nil, offsetToData: 1, dataLength: 3, flags: 0, blockBufferOut: &block) == noErr)
      let buffer = try #require(block)
      #expect(CMBlockBufferGetDataLength(buffer) == 3)
      var copy: [UInt8] = [0, 0]
      #expect(CMBlockBufferCopyDataBytes(buffer, atOffset: 1, dataLength: 2, destination: &copy) == noErr)
      #expect(copy == [3, 4])
      #expect(
        CMBlockBufferCopyDataBytes(buffer, atOffset: 2, dataLength: 2, destination: &copy)
          == kCMBlockBufferBadLengthParameterErr)
      var (length, pointer) = (0, UnsafeMutablePointer<CChar>?.none)
      #expect(
        CMBlockBufferGetDataPointer(
          buffer, atOffset: 2, lengthAtOffsetOut: &length, totalLengthOut: nil, dataPointerOut: &pointer) == noErr)
      #expect(length == 1)
      #expect(pointer?.pointee == 4)
    }
  }

  @Test func pictureNeedsItsOwnDescription() throws {
    var pixels: CVPixelBuffer?
    var others: CVPixelBuffer?
    #expect(CVPixelBufferCreate(nil, 32, 16, kCVPixelFormatType_32BGRA, nil, &pixels) == kCVReturnSuccess)
    #expect(CVPixelBufferCreate(nil, 16, 16, kCVPixelFormatType_32BGRA, nil, &others) == kCVReturnSuccess)
    let (picture, other) = (try #require(pixels), try #require(others))
    var described: CMVideoFormatDescription?
    #expect(
      CMVideoFormatDescriptionCreateForImageBuffer(
        allocator: nil, imageBuffer: picture, formatDescriptionOut: &described) == noErr)
    let description = try #require(described)
    #expect(CMVideoFormatDescriptionGetDimensions(description) == CMVideoDimensions(width: 32, height: 16))
    var timing = CMSampleTimingInfo()
    timing.presentationTimeStamp = CMTimeMake(value: 1, timescale: 30)
    var sample: CMSampleBuffer?
    #expect(
      CMSampleBufferCreateReadyWithImageBuffer(
        allocator: nil, imageBuffer: other, formatDescription: description, sampleTiming: &timing,
        sampleBufferOut: &sample) == kCMSampleBufferError_InvalidMediaFormat)
    #expect(
      CMSampleBufferCreateForImageBuffer(
        allocator: nil, imageBuffer: picture, dataReady: true, makeDataReadyCallback: nil, refcon: nil,
        formatDescription: description, sampleTiming: &timing, sampleBufferOut: &sample) == noErr)
    let made = try #require(sample)
    CMSetAttachment(made, key: "turn", value: 6, attachmentMode: kCMAttachmentMode_ShouldPropagate)
    CMPropagateAttachments(made, destination: other)
    #expect(CMGetAttachment(other, key: "turn", attachmentModeOut: nil) as? Int == 6)
    CMRemoveAttachment(made, key: "turn")
    #expect(CMGetAttachment(made, key: "turn", attachmentModeOut: nil) == nil)
  }
}
