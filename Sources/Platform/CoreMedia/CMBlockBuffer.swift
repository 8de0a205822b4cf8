import Glibc
public import KoineCoreVideo

public typealias CMBlockBufferFlags = UInt32
/// Memory is allocated when the buffer is made. It always is here.
public let kCMBlockBufferAssureMemoryNowFlag: CMBlockBufferFlags = 1
public let kCMBlockBufferNoErr: OSStatus = 0
public let kCMBlockBufferBadCustomBlockSourceErr: OSStatus = -12_702
public let kCMBlockBufferBadOffsetParameterErr: OSStatus = -12_703
public let kCMBlockBufferBadLengthParameterErr: OSStatus = -12_704

/// Bytes in one piece of memory.
///
/// `@unchecked Sendable`: as with Apple's, a writer passes the buffer on afterwards.
public final class CMBlockBuffer: @unchecked Sendable {
  let base: UnsafeMutableRawPointer
  public let dataLength: Int
  /// Keeps the start of the memory, to be released.
  private let owned: UnsafeMutableRawPointer?

  /// Memory of its own, all zero.
  init(length: Int) {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: max(length, 1), alignment: 16)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: length)
    (base, owned, dataLength) = (memory, memory, length)
  }

  /// - Parameter owned: the memory from `malloc` that is released with the buffer; nil: the caller releases it.
  init(_ base: UnsafeMutableRawPointer, length: Int, owned: UnsafeMutableRawPointer?) {
    (self.base, self.owned, dataLength) = (base, owned, length)
  }

  deinit { free(owned) }
}

/// The most bytes that a block buffer holds.
private let mostBytes = 1 << 30

/// Makes a buffer over memory of the caller's, or over memory of its own.
/// - Parameters:
///   - memoryBlock: nil: the buffer allocates `blockLength` bytes, all zero.
///   - blockAllocator: `kCFAllocatorNull`: the caller releases `memoryBlock` after the buffer. Otherwise the buffer calls `free`.
///   - customBlockSource: must be nil.
@discardableResult
public func CMBlockBufferCreateWithMemoryBlock(
  allocator structureAllocator: CFAllocator?, memoryBlock: UnsafeMutableRawPointer?, blockLength: Int,
  blockAllocator: CFAllocator?, customBlockSource: UnsafeRawPointer?, offsetToData: Int, dataLength: Int,
  flags: CMBlockBufferFlags, blockBufferOut: UnsafeMutablePointer<CMBlockBuffer?>
) -> OSStatus {
  blockBufferOut.pointee = nil
  guard customBlockSource == nil else { return kCMBlockBufferBadCustomBlockSourceErr }
  guard (1...mostBytes).contains(blockLength) else { return kCMBlockBufferBadLengthParameterErr }
  guard (0...blockLength).contains(offsetToData) else { return kCMBlockBufferBadOffsetParameterErr }
  guard (0...blockLength - offsetToData).contains(dataLength) else { return kCMBlockBufferBadLengthParameterErr }
  if let memoryBlock {
    let owned = blockAllocator == kCFAllocatorNull ? nil : memoryBlock
    blockBufferOut.pointee = CMBlockBuffer(memoryBlock + offsetToData, length: dataLength, owned: owned)
  } else {
    blockBufferOut.pointee = CMBlockBuffer(length: dataLength)
  }
  return kCMBlockBufferNoErr
}

public func CMBlockBufferGetDataLength(_ theBuffer: CMBlockBuffer) -> Int { theBuffer.dataLength }

@discardableResult
public func CMBlockBufferReplaceDataBytes(
  with sourceBytes: UnsafeRawPointer, blockBuffer destinationBuffer: CMBlockBuffer,
  offsetIntoDestination: Int, dataLength: Int
) -> OSStatus {
  let status = check(destinationBuffer, offsetIntoDestination, dataLength)
  guard status == kCMBlockBufferNoErr else { return status }
  (destinationBuffer.base + offsetIntoDestination).copyMemory(from: sourceBytes, byteCount: dataLength)
  return kCMBlockBufferNoErr
}

@discardableResult
public func CMBlockBufferCopyDataBytes(
  _ theSourceBuffer: CMBlockBuffer, atOffset offsetToData: Int, dataLength: Int, destination: UnsafeMutableRawPointer
) -> OSStatus {
  let status = check(theSourceBuffer, offsetToData, dataLength)
  guard status == kCMBlockBufferNoErr else { return status }
  destination.copyMemory(from: theSourceBuffer.base + offsetToData, byteCount: dataLength)
  return kCMBlockBufferNoErr
}

/// The pointer is valid as long as the buffer.
@discardableResult
public func CMBlockBufferGetDataPointer(
  _ theBuffer: CMBlockBuffer, atOffset offset: Int, lengthAtOffsetOut: UnsafeMutablePointer<Int>?,
  totalLengthOut: UnsafeMutablePointer<Int>?, dataPointerOut: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> OSStatus {
  let status = check(theBuffer, offset, 0)
  guard status == kCMBlockBufferNoErr else { return status }
  lengthAtOffsetOut?.pointee = theBuffer.dataLength - offset
  totalLengthOut?.pointee = theBuffer.dataLength
  dataPointerOut?.pointee = (theBuffer.base + offset).assumingMemoryBound(to: CChar.self)
  return kCMBlockBufferNoErr
}

private func check(_ buffer: CMBlockBuffer, _ offset: Int, _ length: Int) -> OSStatus {
  guard (0...buffer.dataLength).contains(offset) else { return kCMBlockBufferBadOffsetParameterErr }
  guard (0...buffer.dataLength - offset).contains(length) else { return kCMBlockBufferBadLengthParameterErr }
  return kCMBlockBufferNoErr
}
