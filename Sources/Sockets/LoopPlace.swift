package import KoineBase

/// A client's place on the process's network loop: taken with the first job, given up by `rest`.
///
/// `post` may be called from any thread; everything else only on the loop.
package final class LoopPlace: Sendable {
  private struct Membership {
    var current: (loop: UDPLoop, id: UDPLoop.ClientID)?
    /// Jobs that have been posted and have not begun: the loop is kept for them.
    var pending = 0
  }

  private let membership = Lock(Membership())

  package init() {}

  deinit { if let (_, id) = current { UDPLoop.leave(id) } }

  private var current: (loop: UDPLoop, id: UDPLoop.ClientID)? { membership.withLock { $0.current } }

  /// Joins the loop if need be. The loop holds its client weakly.
  package func post(for client: any UDPLoopClient, _ work: @escaping @Sendable () -> Void) {
    membership.withLock { membership in
      let current = membership.current ?? UDPLoop.join(client)
      membership.current = current
      membership.pending += 1
      current.loop.post { [self] in
        self.membership.withLock { $0.pending -= 1 }
        work()
      }
    }
  }

  /// - Parameter address: with port 0 the system chooses one.
  package func open(_ address: SocketAddress) throws(SocketError) -> SocketAddress {
    guard let (loop, id) = current else { preconditionFailure("called on the loop, which therefore runs") }
    return try loop.open(address, for: id)
  }

  package func close(_ address: SocketAddress) { current?.loop.close(address) }

  package func send(_ datagram: UnsafeRawBufferPointer, from source: SocketAddress, to destination: SocketAddress) {
    current?.loop.send(datagram, from: source, to: destination)
  }

  /// For another thread to send by, until the socket at that address is closed.
  package func makeSender(from source: SocketAddress) -> UDPSender? { current?.loop.makeSender(from: source) }

  /// As `UDPSocket.expect`.
  package func expect(from sources: some Sequence<SocketAddress>, at address: SocketAddress) {
    current?.loop.expect(from: sources, at: address)
  }

  package func flush() { current?.loop.flush() }

  /// How often the loop has woken since it began.
  package var turns: Int { current?.loop.turns ?? 0 }

  package func wake(at deadline: Tick?) { if let (loop, id) = current { loop.wake(id, at: deadline) } }

  /// Gives the place up, unless a job is on its way.
  package func rest() {
    let left = membership.withLock { membership -> (loop: UDPLoop, id: UDPLoop.ClientID)? in
      guard membership.pending == 0 else { return nil }
      defer { membership.current = nil }
      return membership.current
    }
    if let (_, id) = left { UDPLoop.leave(id) }
  }
}
