public import KoineCoreVideo

public typealias CMMediaType = UInt32
public let kCMMediaType_Audio: CMMediaType = 0x736F_756E  // "soun"
public let kCMMediaType_Video: CMMediaType = 0x7669_6465  // "vide"
public let kCMFormatDescriptionError_InvalidParameter: OSStatus = -12_710

/// Width and height, in pixels.
public struct CMVideoDimensions: Sendable, Hashable {
  public var width, height: Int32
  public init(width: Int32, height: Int32) { (self.width, self.height) = (width, height) }
}

public typealias CMAudioFormatDescription = CMFormatDescription
public typealias CMVideoFormatDescription = CMFormatDescription

/// What a sample buffer holds: pixels of a format and a size, or audio.
public final class CMFormatDescription: @unchecked Sendable {  // the memory is written before `init` returns
  private let audio: UnsafePointer<AudioStreamBasicDescription>?
  let mediaType: CMMediaType
  let subType: UInt32
  /// Zero for audio.
  public let dimensions: CMVideoDimensions

  init(audio description: AudioStreamBasicDescription) {
    let memory = UnsafeMutablePointer<AudioStreamBasicDescription>.allocate(capacity: 1)
    memory.initialize(to: description)
    audio = UnsafePointer(memory)
    (mediaType, subType) = (kCMMediaType_Audio, description.mFormatID)
    dimensions = CMVideoDimensions(width: 0, height: 0)
  }

  init(video buffer: CVPixelBuffer) {
    audio = nil
    (mediaType, subType) = (kCMMediaType_Video, CVPixelBufferGetPixelFormatType(buffer))
    dimensions = CMVideoDimensions(width: Int32(buffer.width), height: Int32(buffer.height))
  }

  deinit { audio?.deallocate() }

  /// Nil for pixels. The pointer is valid as long as the description.
  var audioPointer: UnsafePointer<AudioStreamBasicDescription>? { audio }
  public var audioStreamBasicDescription: AudioStreamBasicDescription? { audio?.pointee }
}

public func CMFormatDescriptionGetMediaType(_ desc: CMFormatDescription) -> CMMediaType { desc.mediaType }
/// The pixel format, or the format of the audio.
public func CMFormatDescriptionGetMediaSubType(_ desc: CMFormatDescription) -> UInt32 { desc.subType }

/// Describes audio. The layout of channels, the magic cookie and the extensions are for compressed formats and more than two
/// channels: with any of these the function fails.
/// - Returns: `kCMFormatDescriptionError_InvalidParameter` for audio without channels or without a sample rate.
@discardableResult
public func CMAudioFormatDescriptionCreate(
  allocator: CFAllocator?, asbd: UnsafePointer<AudioStreamBasicDescription>, layoutSize: Int,
  layout: UnsafeRawPointer?, magicCookieSize: Int, magicCookie: UnsafeRawPointer?, extensions: CFDictionary?,
  formatDescriptionOut: UnsafeMutablePointer<CMAudioFormatDescription?>
) -> OSStatus {
  formatDescriptionOut.pointee = nil
  let description = asbd.pointee
  guard description.mChannelsPerFrame > 0, description.mSampleRate > 0, description.mSampleRate.isFinite,
    layout == nil, magicCookie == nil, extensions?.isEmpty ?? true
  else { return kCMFormatDescriptionError_InvalidParameter }
  formatDescriptionOut.pointee = CMFormatDescription(audio: description)
  return noErr
}

public func CMAudioFormatDescriptionGetStreamBasicDescription(
  _ desc: CMAudioFormatDescription
) -> UnsafePointer<AudioStreamBasicDescription>? { desc.audioPointer }

@discardableResult
public func CMVideoFormatDescriptionCreateForImageBuffer(
  allocator: CFAllocator?, imageBuffer: CVImageBuffer,
  formatDescriptionOut: UnsafeMutablePointer<CMVideoFormatDescription?>
) -> OSStatus {
  formatDescriptionOut.pointee = CMFormatDescription(video: imageBuffer)
  return noErr
}

public func CMVideoFormatDescriptionGetDimensions(_ videoDesc: CMVideoFormatDescription) -> CMVideoDimensions {
  videoDesc.dimensions
}
