import Koine

/// Values that apps and frameworks attach to a pixel buffer or a sample buffer, by key.
public final class AttachmentList: Sendable {
  /// A value, and whether a copy of the buffer's content inherits it.
  public struct Attachment: @unchecked Sendable {  // as Apple's: the app answers for the value
    public let value: Any
    public let propagates: Bool
  }

  private let values = Lock<[String: Attachment]>([:])

  public init() {}

  public subscript(key: String) -> Attachment? { values.withLock { $0[key] } }

  public func set(_ value: Any, for key: String, propagates: Bool) {
    let old = values.withLock { $0.updateValue(Attachment(value: value, propagates: propagates), forKey: key) }
    withExtendedLifetime(old) {}  // let go of outside the lock
  }

  public func remove(_ key: String) {
    let old = values.withLock { $0.removeValue(forKey: key) }
    withExtendedLifetime(old) {}
  }

  public func removeAll() {
    let old = values.withLock { values in
      defer { values = [:] }
      return values
    }
    withExtendedLifetime(old) {}
  }

  /// The values of one kind.
  public func all(propagating: Bool) -> [String: Any] {
    values.withLock { $0.filter { $0.value.propagates == propagating } }.mapValues(\.value)
  }

  /// Copies the values that propagate.
  public func propagate(to other: AttachmentList) {
    for (key, value) in all(propagating: true) { other.set(value, for: key, propagates: true) }
  }
}

/// A pixel buffer or a sample buffer. Koine's own name for what Apple's functions take.
public protocol AttachmentBearer: AnyObject {
  var attachmentList: AttachmentList { get }
}

public typealias CVBuffer = CVPixelBuffer

/// Whether an attachment is copied by `CVBufferPropagateAttachments`.
public enum CVAttachmentMode: UInt32, Sendable {
  case shouldNotPropagate = 0
  case shouldPropagate = 1
}

/// A value as `CVBufferGetAttachment` returns it: Swift's `Unmanaged` holds objects only, and values here may be strings.
public struct UnmanagedAttachment {
  fileprivate let value: CFTypeRef
  public func takeUnretainedValue() -> CFTypeRef { value }
}

public func CVBufferSetAttachment(
  _ buffer: CVBuffer, _ key: CFString, _ value: CFTypeRef, _ attachmentMode: CVAttachmentMode
) {
  buffer.attachmentList.set(value, for: key, propagates: attachmentMode == .shouldPropagate)
}

public func CVBufferSetAttachments(
  _ buffer: CVBuffer, _ theAttachments: CFDictionary, _ attachmentMode: CVAttachmentMode
) {
  for (key, value) in theAttachments { CVBufferSetAttachment(buffer, key, value, attachmentMode) }
}

public func CVBufferCopyAttachment(
  _ buffer: CVBuffer, _ key: CFString, _ attachmentMode: UnsafeMutablePointer<CVAttachmentMode>?
) -> CFTypeRef? {
  guard let attachment = buffer.attachmentList[key] else { return nil }
  attachmentMode?.pointee = attachment.propagates ? .shouldPropagate : .shouldNotPropagate
  return attachment.value
}

public func CVBufferGetAttachment(
  _ buffer: CVBuffer, _ key: CFString, _ attachmentMode: UnsafeMutablePointer<CVAttachmentMode>?
) -> UnmanagedAttachment? {
  CVBufferCopyAttachment(buffer, key, attachmentMode).map(UnmanagedAttachment.init)
}

/// - Returns: nil if there is no attachment of this mode.
public func CVBufferCopyAttachments(_ buffer: CVBuffer, _ attachmentMode: CVAttachmentMode) -> CFDictionary? {
  let all = buffer.attachmentList.all(propagating: attachmentMode == .shouldPropagate)
  return all.isEmpty ? nil : all
}

public func CVBufferHasAttachment(_ buffer: CVBuffer, _ key: CFString) -> Bool { buffer.attachmentList[key] != nil }
public func CVBufferRemoveAttachment(_ buffer: CVBuffer, _ key: CFString) { buffer.attachmentList.remove(key) }
public func CVBufferRemoveAllAttachments(_ buffer: CVBuffer) { buffer.attachmentList.removeAll() }

/// Copies the attachments of mode `shouldPropagate`.
public func CVBufferPropagateAttachments(_ sourceBuffer: CVBuffer, _ destinationBuffer: CVBuffer) {
  sourceBuffer.attachmentList.propagate(to: destinationBuffer.attachmentList)
}
