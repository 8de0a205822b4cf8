import CKoineSockets
import Glibc
package import KoineBase

/// A failed system call.
package struct SocketError: Error, Hashable, Sendable, CustomStringConvertible {
  package let call: String
  package let code: Int32
  package var description: String { "\(call): \(String(cString: strerror(code)))" }
}

/// One UDP port. One owner, one thread; allocates nothing per datagram.
package final class UDPSocket {
  package let localAddress: SocketAddress
  let descriptor: Int32
  @exclusivity(unchecked) private var slots: [Bytes] = []
  @exclusivity(unchecked) private var lengths = [Int32](repeating: 0, count: Int(koine_batch))
  @exclusivity(unchecked) private var sources = [sockaddr_storage](
    repeating: sockaddr_storage(), count: Int(koine_batch))
  /// Blocks of the last call. By the next one most receivers are done with what they do not keep.
  @exclusivity(unchecked) private var given: [Bytes] = []
  /// Of `slots`.
  @exclusivity(unchecked) private var pointers: [UnsafeMutableRawPointer?] = []
  /// How many datagrams the next call asks for: preparing a large batch costs more than the few datagrams that usually wait.
  @exclusivity(unchecked) private var batch = smallBatch
  private static let smallBatch = 8
  private let sender: UDPSender

  package static let datagramCapacity = 1_600

  /// - Parameter address: with port 0 the system chooses one.
  package init(bindingTo address: SocketAddress) throws(SocketError) {
    let family = address.family == .ipv4 ? AF_INET : AF_INET6
    descriptor = socket(family, Int32(SOCK_DGRAM.rawValue) | 0o4000 | 0o2000000, 0)  // SOCK_NONBLOCK | SOCK_CLOEXEC
    guard descriptor >= 0 else { throw SocketError(call: "socket", code: errno) }
    sender = UDPSender(descriptor)
    var size: Int32 = 2 << 20
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    do throws(SocketError) {
      localAddress = try Self.bind(descriptor, to: address)
    } catch {
      Glibc.close(descriptor)
      throw error
    }
  }

  deinit { Glibc.close(descriptor) }

  private static func bind(_ descriptor: Int32, to address: SocketAddress) throws(SocketError) -> SocketAddress {
    var storage = sockaddr_storage()
    var length = address.fill(&storage)
    let bound = withUnsafePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, length) }
    }
    guard bound == 0 else { throw SocketError(call: "bind to \(address)", code: errno) }
    length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let named = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    guard named == 0, let local = SocketAddress(storage) else { throw SocketError(call: "getsockname", code: errno) }
    return local
  }

  // MARK: Receiving

  /// Hands out the datagrams at hand, at most one batch; each block belongs to `body`, which may keep it.
  /// - Returns: whether there may be more.
  package func receive(pool: inout BytesPool, _ body: (Bytes, SocketAddress) -> Void) -> Bool {
    while let block = given.popLast() { pool.give(consume block) }
    while slots.count < batch {
      slots.append(pool.take())
      pointers.append(slots[slots.count - 1].base)
    }
    let count = pointers.withUnsafeBufferPointer { blocks in
      koine_receive(descriptor, blocks.baseAddress, pool.capacity, &sources, &lengths, Int32(batch))
    }
    guard count > 0 else { return false }
    for index in 0..<Int(count) {
      let datagram = slots[index]
      slots[index] = pool.take()
      pointers[index] = slots[index].base
      datagram.count = Int(lengths[index])
      if datagram.count > 0, let source = SocketAddress(sources[index]) { body(datagram, source) }
      given.append(datagram)
    }
    defer { batch = Int(count) == batch ? Int(koine_batch) : Self.smallBatch }
    return Int(count) == batch
  }

  /// From now on the kernel drops unexpected datagrams before they occupy the receive queue: datagrams that are neither STUN, DTLS
  /// nor RTP (RFC 7983), and datagrams other than STUN from an address that is not in `sources`. The filter may pass a few
  /// datagrams from other addresses; with very many sources it passes all of them.
  package func expect(from sources: some Sequence<SocketAddress>) {
    let family = localAddress.family
    var keys = sources.filter { $0.family == family }
      .map { koine_filter_key(UInt32(truncatingIfNeeded: $0.low), $0.port) }.sorted()
    // A socket for all addresses may receive IPv4 as well, with the source at another offset.
    let count = family == .ipv6 && localAddress.high == 0 && localAddress.low == 0 ? -1 : Int32(keys.count)
    koine_filter(descriptor, family == .ipv6 ? 1 : 0, &keys, count)
  }

  // MARK: Sending

  /// Collects a datagram, on the socket's own thread. Call `flush()` at the end.
  package func send(_ datagram: UnsafeRawBufferPointer, to destination: SocketAddress) {
    sender.send(datagram, to: destination)
  }

  package func flush() { sender.flush() }

  /// Datagrams and runs that could not be sent: refused by the system, empty, or too long.
  package var sendFailures: Int { sender.failures }

  /// For another thread to send by, while this socket lives.
  package func makeSender() -> UDPSender { UDPSender(descriptor) }
}

extension SocketAddress {
  func fill(_ storage: inout sockaddr_storage) -> socklen_t {
    switch family {
    case .ipv4: koine_fill4(&storage, UInt32(truncatingIfNeeded: low), port)
    case .ipv6: koine_fill6(&storage, high, low, port)
    }
  }

  init?(_ storage: sockaddr_storage) {
    var storage = storage
    switch Int32(koine_family(&storage)) {
    case AF_INET:
      let address = koine_in(&storage)
      self.init(ipv4: UInt32(bigEndian: address.sin_addr.s_addr), port: UInt16(bigEndian: address.sin_port))
    case AF_INET6:
      var address = koine_in6(&storage)
      let (high, low) = withUnsafeBytes(of: &address.sin6_addr) {
        (
          UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
          UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
      }
      self.init(ipv6High: high, low: low, port: UInt16(bigEndian: address.sin6_port))
    default: return nil
    }
  }
}
