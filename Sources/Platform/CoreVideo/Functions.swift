// Core Video's functions on pixel buffers, with their names, labels and codes.

/// Planar 4:2:0, limited range; the engine's own.
public let kCVPixelFormatType_420YpCbCr8Planar: OSType = 0x7934_3230  // "y420"
/// Luma, then a plane of Cb and Cr in turns, limited range.
public let kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange: OSType = 0x3432_3076  // "420v"
/// Luma, then a plane of Cb and Cr in turns, full range: the conversion to the engine's limited range is exact to rounding.
public let kCVPixelFormatType_420YpCbCr8BiPlanarFullRange: OSType = 0x3432_3066  // "420f"
/// Four bytes a pixel: alpha, red, green, blue.
public let kCVPixelFormatType_32ARGB: OSType = 0x0000_0020
/// Four bytes a pixel: blue, green, red, alpha.
public let kCVPixelFormatType_32BGRA: OSType = 0x4247_5241  // "BGRA"

public let kCVReturnSuccess: CVReturn = 0
public let kCVReturnInvalidArgument: CVReturn = -6_661
public let kCVReturnInvalidPixelFormat: CVReturn = -6_680
public let kCVReturnInvalidSize: CVReturn = -6_681
public let kCVReturnInvalidPixelBufferAttributes: CVReturn = -6_682
public let kCVReturnWouldExceedAllocationThreshold: CVReturn = -6_689
public let kCVReturnInvalidPoolAttributes: CVReturn = -6_691

/// Memory comes from the system's allocator. The type is there to be passed, and to say that memory is not to be released.
public struct CFAllocator: Sendable, Hashable {
  private let releases: Bool
  fileprivate init(releases: Bool) { self.releases = releases }
}
public let kCFAllocatorDefault: CFAllocator? = nil
public let kCFAllocatorMalloc: CFAllocator! = CFAllocator(releases: true)
/// Releases nothing.
public let kCFAllocatorNull: CFAllocator! = CFAllocator(releases: false)
public typealias CFDictionary = [String: Any]
public typealias CFString = String
public typealias CFTypeRef = Any
public typealias CFBoolean = Bool
public let kCFBooleanTrue: CFBoolean! = true
public let kCFBooleanFalse: CFBoolean! = false

// Keys of a pixel buffer's attributes. Pools read the format and the size. The others say how memory is shared with a GPU or with
// another framework of Apple's: buffers here are plain memory, which any code can read.
public let kCVPixelBufferPixelFormatTypeKey: CFString = "PixelFormatType"
public let kCVPixelBufferWidthKey: CFString = "Width"
public let kCVPixelBufferHeightKey: CFString = "Height"
public let kCVPixelBufferCGImageCompatibilityKey: CFString = "CGImageCompatibility"
public let kCVPixelBufferCGBitmapContextCompatibilityKey: CFString = "CGBitmapContextCompatibility"
public let kCVPixelBufferIOSurfacePropertiesKey: CFString = "IOSurfaceProperties"
public let kCVPixelBufferMetalCompatibilityKey: CFString = "MetalCompatibility"

public struct CVPixelBufferLockFlags: OptionSet, Sendable {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
  public static let readOnly = CVPixelBufferLockFlags(rawValue: 1)
}

/// Makes a black (in 4:2:0: green, all bytes being zero) picture. Attributes say how memory is shared with a GPU, and have
/// nothing to say here.
@discardableResult
public func CVPixelBufferCreate(
  _ allocator: CFAllocator?, _ width: Int, _ height: Int, _ pixelFormatType: OSType, _ attributes: CFDictionary?,
  _ pixelBufferOut: UnsafeMutablePointer<CVPixelBuffer?>
) -> CVReturn {
  pixelBufferOut.pointee = nil
  guard (1...16_384).contains(width), (1...16_384).contains(height) else { return kCVReturnInvalidSize }
  guard let planes = PixelPlanes(format: pixelFormatType, width: width, height: height) else {
    return kCVReturnInvalidPixelFormat
  }
  pixelBufferOut.pointee = CVPixelBuffer(planes)
  return kCVReturnSuccess
}

/// Without `.readOnly` the pixels may be written from now on; a frame that the engine shares is copied first, so ask for
/// addresses after locking.
@discardableResult
public func CVPixelBufferLockBaseAddress(_ buffer: CVPixelBuffer, _ flags: CVPixelBufferLockFlags) -> CVReturn {
  if !flags.contains(.readOnly) { buffer.prepareForWriting() }
  return kCVReturnSuccess
}

@discardableResult
public func CVPixelBufferUnlockBaseAddress(_ buffer: CVPixelBuffer, _ flags: CVPixelBufferLockFlags) -> CVReturn {
  kCVReturnSuccess
}

public func CVPixelBufferGetWidth(_ buffer: CVPixelBuffer) -> Int { buffer.width }
public func CVPixelBufferGetHeight(_ buffer: CVPixelBuffer) -> Int { buffer.height }
public func CVPixelBufferGetPixelFormatType(_ buffer: CVPixelBuffer) -> OSType { buffer.format }
/// As with Apple's, a picture that is not planar has none.
public func CVPixelBufferGetPlaneCount(_ buffer: CVPixelBuffer) -> Int {
  CVPixelBufferIsPlanar(buffer) ? buffer.layout.count : 0
}
public func CVPixelBufferIsPlanar(_ buffer: CVPixelBuffer) -> Bool { buffer.layout.count > 1 }

/// Of pixels that are not planar; nil for planes, which have addresses of their own.
public func CVPixelBufferGetBaseAddress(_ buffer: CVPixelBuffer) -> UnsafeMutableRawPointer? {
  CVPixelBufferIsPlanar(buffer) ? nil : buffer.layout.first?.base
}

/// Of the first plane, where there are several.
public func CVPixelBufferGetBytesPerRow(_ buffer: CVPixelBuffer) -> Int { buffer.layout.first?.bytesPerRow ?? 0 }

/// Plane 0 is luma; nil or 0 for a plane that there is not.
public func CVPixelBufferGetBaseAddressOfPlane(_ buffer: CVPixelBuffer, _ plane: Int) -> UnsafeMutableRawPointer? {
  buffer.plane(plane)?.base
}
public func CVPixelBufferGetBytesPerRowOfPlane(_ buffer: CVPixelBuffer, _ plane: Int) -> Int {
  buffer.plane(plane)?.bytesPerRow ?? 0
}
public func CVPixelBufferGetWidthOfPlane(_ buffer: CVPixelBuffer, _ plane: Int) -> Int {
  buffer.plane(plane)?.width ?? 0
}
public func CVPixelBufferGetHeightOfPlane(_ buffer: CVPixelBuffer, _ plane: Int) -> Int {
  buffer.plane(plane)?.height ?? 0
}

extension CVPixelBuffer {
  fileprivate func plane(_ index: Int) -> PixelPlanes.Plane? {
    let layout = layout
    return layout.indices.contains(index) ? layout[index] : nil
  }
}
