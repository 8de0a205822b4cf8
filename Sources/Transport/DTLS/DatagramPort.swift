import CKoineOpenSSL

/// OpenSSL's view of the network: a BIO on which one write is one datagram out and one read one datagram in.
///
/// OpenSSL's own memory BIO glues a flight into one blob and loses borders on the way in. The port outlives the `SSL`
/// that owns the BIO, so the BIO may point back here without counting.
final class DatagramPort {
  /// The longest datagram in bytes of UDP payload: what Chromium sends too, and what fits through every tunnel seen.
  static let maximumSize = 1200

  private var incoming = UnsafeRawBufferPointer(start: nil, count: 0)
  private var written: [[UInt8]] = []

  /// A new BIO on this port, or nil without memory. The `SSL` it is given to owns it.
  func makeBIO() -> OpaquePointer? {
    guard let method = Self.method.pointer, let bio = BIO_new(method) else { return nil }
    BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    BIO_set_init(bio, 1)
    return bio
  }

  /// While `body` runs, the next read yields this datagram, once; the reads after it find nothing.
  func withIncoming(_ datagram: UnsafeRawBufferPointer, _ body: () -> Void) {
    incoming = datagram
    body()
    incoming = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// The datagrams written since the last call, in order.
  func takeWritten() -> [[UInt8]] {
    defer { written = [] }
    return written
  }

  private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    guard !incoming.isEmpty else { return nil }
    let count = min(incoming.count, buffer.count)  // a datagram that does not fit is cut, as a socket would
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: incoming[..<count]))
    incoming = UnsafeRawBufferPointer(start: nil, count: 0)
    return count
  }

  // MARK: The C side

  /// The method table, made once for the process.
  /// `@unchecked Sendable`: filled before it is shared, never changed after.
  private struct Method: @unchecked Sendable {
    let pointer: OpaquePointer?
  }

  private static let method: Method = {
    let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "koine datagrams")
    BIO_meth_set_write(method) { bio, bytes, count in
      guard let bio, let bytes, count > 0, let port = DatagramPort.of(bio) else { return -1 }
      koine_bio_clear_retry(bio)
      port.written.append([UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(count))))
      return count
    }
    BIO_meth_set_read(method) { bio, bytes, count in
      guard let bio, let bytes, count > 0, let port = DatagramPort.of(bio) else { return -1 }
      koine_bio_clear_retry(bio)
      if let read = port.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))) {
        return Int32(truncatingIfNeeded: read)
      }
      koine_bio_set_retry_read(bio)
      return -1
    }
    BIO_meth_set_ctrl(method) { _, command, _, _ in
      switch command {
      case BIO_CTRL_DGRAM_QUERY_MTU, BIO_CTRL_DGRAM_GET_FALLBACK_MTU: DatagramPort.maximumSize
      case BIO_CTRL_DGRAM_GET_MTU_OVERHEAD: 28  // IPv4 and UDP headers
      case BIO_CTRL_FLUSH: 1  // every write is out at once
      default: 0
      }
    }
    return Method(pointer: method)
  }()

  private static func of(_ bio: OpaquePointer) -> DatagramPort? {
    BIO_get_data(bio).map { Unmanaged<DatagramPort>.fromOpaque($0).takeUnretainedValue() }
  }
}
