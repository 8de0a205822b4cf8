import CKoineSockets
import Glibc
package import KoineBase

/// The way out of a UDP port, for one thread: several threads may send from one port, each by a sender of its own.
/// Allocates nothing per datagram.
package final class UDPSender {
  private let descriptor: Int32
  /// Datagrams of one size to one address that wait to leave in one call.
  private let run = Bytes(capacity: 60_000)
  @exclusivity(unchecked) private var runSegment = 0
  @exclusivity(unchecked) private var runDestination: SocketAddress?
  /// The kernel has refused to cut runs into datagrams.
  @exclusivity(unchecked) private var sendsSingly = false
  /// Datagrams and runs that could not be sent: refused by the system, empty, or too long.
  @exclusivity(unchecked) package private(set) var failures = 0

  /// - Parameter descriptor: stays its socket's, which must live as long.
  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Collects a datagram; runs of equal size to one address leave in one system call. Call `flush()` at the end.
  package func send(_ datagram: UnsafeRawBufferPointer, to destination: SocketAddress) {
    guard !datagram.isEmpty, datagram.count <= run.capacity else {
      failures += 1
      return
    }
    let fits =
      runDestination == destination && datagram.count <= runSegment && run.count + datagram.count <= run.capacity
    if !fits || run.count % runSegment != 0 || run.count / runSegment >= 60 || sendsSingly { flush() }
    if run.count == 0 {
      runDestination = destination
      runSegment = datagram.count
    }
    run.append(datagram)
  }

  package func flush() {
    guard run.count > 0, let destination = runDestination else { return }
    defer { run.count = 0 }
    var storage = sockaddr_storage()
    let length = destination.fill(&storage)
    let status = transmit(&storage, length, run.readable, segment: runSegment)
    if status == -EIO || status == -EINVAL || status == -EOPNOTSUPP, run.count > runSegment {
      sendsSingly = true
      var offset = 0
      while offset < run.count {
        let part = UnsafeRawBufferPointer(rebasing: run.readable[offset..<min(offset + runSegment, run.count)])
        if transmit(&storage, length, part, segment: part.count) != 0 { failures += 1 }
        offset += runSegment
      }
    } else if status != 0 {
      failures += 1  // the path is full or gone: lost packets are retransmitted, as on any path
    }
  }

  private func transmit(
    _ storage: inout sockaddr_storage, _ length: socklen_t, _ bytes: UnsafeRawBufferPointer, segment: Int
  ) -> Int32 {
    withUnsafePointer(to: &storage) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        koine_send(descriptor, $0, length, bytes.baseAddress, bytes.count, segment)
      }
    }
  }
}
