public import Foundation
@_exported public import struct KoineCoreMedia.AudioBuffer
@_exported public import struct KoineCoreMedia.AudioBufferList

/// What samples are like.
public enum AVAudioCommonFormat: UInt, Sendable {
  case otherFormat = 0
  case pcmFormatFloat32 = 1
  case pcmFormatFloat64 = 2
  case pcmFormatInt16 = 3
  case pcmFormatInt32 = 4
}

public final class AVAudioFormat: NSObject, Sendable {
  public let commonFormat: AVAudioCommonFormat
  /// In Hz.
  public let sampleRate: Double
  public let channelCount: UInt32
  public let isInterleaved: Bool

  /// - Returns: nil for other than 16-bit or float samples, or without channels.
  public init?(commonFormat format: AVAudioCommonFormat, sampleRate: Double, channels: UInt32, interleaved: Bool) {
    guard format == .pcmFormatInt16 || format == .pcmFormatFloat32, (1...8).contains(channels), sampleRate > 0 else {
      return nil
    }
    (commonFormat, self.sampleRate, channelCount, isInterleaved) = (format, sampleRate, channels, interleaved)
  }

  /// Float samples, each channel on its own.
  public convenience init?(standardFormatWithSampleRate sampleRate: Double, channels: UInt32) {
    self.init(commonFormat: .pcmFormatFloat32, sampleRate: sampleRate, channels: channels, interleaved: false)
  }
}

/// When sound was taken.
public final class AVAudioTime: NSObject, Sendable {
  public let sampleTime: Int64
  public let sampleRate: Double
  public init(sampleTime: Int64, atRate sampleRate: Double) {
    (self.sampleTime, self.sampleRate) = (sampleTime, sampleRate)
  }
}

public typealias AVAudioFrameCount = UInt32
public typealias AVAudioChannelCount = UInt32

/// A buffer of audio in some format. The only kind is `AVAudioPCMBuffer`.
open class AVAudioBuffer: NSObject, @unchecked Sendable {  // as Apple's: handed on
  public let format: AVAudioFormat
  init(format: AVAudioFormat) { self.format = format }
}

/// Memory for sound, written through the channels' pointers, which live as long as the buffer.
public final class AVAudioPCMBuffer: AVAudioBuffer, @unchecked Sendable {  // as Apple's: handed on
  /// In samples per channel.
  public let frameCapacity: UInt32
  /// How many of them hold sound; more than the capacity are none.
  public var frameLength: UInt32 = 0 {
    didSet {
      frameLength = min(frameLength, frameCapacity)
      describePlanes()
    }
  }
  /// The samples, plane by plane. Valid as long as the buffer; `mDataByteSize` follows `frameLength`.
  public let mutableAudioBufferList: UnsafeMutablePointer<AudioBufferList>
  public var audioBufferList: UnsafePointer<AudioBufferList> { UnsafePointer(mutableAudioBufferList) }
  private let memory: UnsafeMutableRawPointer
  private let channels: UnsafeMutableRawPointer

  /// - Returns: nil for more than an hour at once.
  public init?(pcmFormat format: AVAudioFormat, frameCapacity: UInt32) {
    guard Double(frameCapacity) <= format.sampleRate * 3_600 else { return nil }
    self.frameCapacity = frameCapacity
    let size = format.commonFormat == .pcmFormatInt16 ? 2 : 4
    let plane = Int(frameCapacity) * size
    let total = max(plane * Int(format.channelCount), 1)
    memory = .allocate(byteCount: total, alignment: 16)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: total)
    let pointers = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: Int(format.channelCount))
    for channel in 0..<Int(format.channelCount) {
      pointers[channel] = memory + (format.isInterleaved ? channel * size : channel * plane)
    }
    channels = UnsafeMutableRawPointer(pointers)
    let planes = format.isInterleaved ? 1 : Int(format.channelCount)
    let list = UnsafeMutableRawPointer.allocate(
      byteCount: MemoryLayout<AudioBufferList>.size + (planes - 1) * MemoryLayout<AudioBuffer>.stride,
      alignment: MemoryLayout<AudioBufferList>.alignment)
    mutableAudioBufferList = list.bindMemory(to: AudioBufferList.self, capacity: 1)
    super.init(format: format)
    describePlanes()
  }

  private func describePlanes() {
    let planes = format.isInterleaved ? 1 : Int(format.channelCount)
    let sample = format.commonFormat == .pcmFormatInt16 ? 2 : 4
    let inPlane = format.isInterleaved ? format.channelCount : 1
    mutableAudioBufferList.pointee.mNumberBuffers = UInt32(planes)
    let offset = MemoryLayout<AudioBufferList>.size - MemoryLayout<AudioBuffer>.size  // of `mBuffers`, the last member
    let first = UnsafeMutableRawPointer(mutableAudioBufferList) + offset
    for plane in 0..<planes {
      (first + plane * MemoryLayout<AudioBuffer>.stride).storeBytes(
        of: AudioBuffer(
          mNumberChannels: inPlane, mDataByteSize: frameLength * inPlane * UInt32(sample),
          mData: memory + plane * Int(frameCapacity) * sample),
        as: AudioBuffer.self)
    }
  }

  deinit {
    memory.deallocate()
    channels.deallocate()
    mutableAudioBufferList.deallocate()
  }

  /// Between one sample of a channel and the next.
  public var stride: Int { format.isInterleaved ? Int(format.channelCount) : 1 }

  /// One pointer per channel; nil if the samples are no floats.
  public var floatChannelData: UnsafePointer<UnsafeMutablePointer<Float>>? {
    guard format.commonFormat == .pcmFormatFloat32 else { return nil }
    return UnsafePointer(channels.assumingMemoryBound(to: UnsafeMutablePointer<Float>.self))
  }

  /// One pointer per channel; nil if the samples are no 16-bit numbers.
  public var int16ChannelData: UnsafePointer<UnsafeMutablePointer<Int16>>? {
    guard format.commonFormat == .pcmFormatInt16 else { return nil }
    return UnsafePointer(channels.assumingMemoryBound(to: UnsafeMutablePointer<Int16>.self))
  }

  // MARK: Not Apple's

  public var byteCount: Int {
    Int(frameLength) * Int(format.channelCount) * (format.commonFormat == .pcmFormatInt16 ? 2 : 4)
  }

  /// The first two channels, in turns; of one, the same in both.
  public func stereoSamples() -> [Int16] {
    let (sides, stride) = ([0, format.channelCount > 1 ? 1 : 0], stride)
    return (0..<Int(frameLength)).flatMap { index in
      sides.map { channel in
        if let data = int16ChannelData { return data[channel][index * stride] }
        let sample = (floatChannelData?[channel][index * stride] ?? 0) * 32_767
        return Int16(clamping: sample.isFinite ? Int(min(max(sample, -40_000), 40_000)) : 0)
      }
    }
  }

  /// All channels mixed into one.
  public func monoSamples() -> [Int16] {
    let (count, stride) = (Int(format.channelCount), stride)
    return (0..<Int(frameLength)).map { index in
      var sum = 0.0
      for channel in 0..<count {
        if let data = int16ChannelData { sum += Double(data[channel][index * stride]) }
        if let data = floatChannelData { sum += Double(data[channel][index * stride]) * 32_767 }
      }
      return Int16(clamping: Int((sum / Double(count)).isFinite ? sum / Double(count) : 0))
    }
  }
}
