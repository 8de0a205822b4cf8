import Koine
import KoineBase
import KoineSockets

/// Where the backend's router and peers run, one job at a time, and how their datagrams travel.
///
/// `post` may be called from any thread; everything else only on the loop.
protocol NetworkLoop: AnyObject, Sendable {
  var now: Tick { get }
  func post(_ work: @escaping @Sendable () -> Void)
  /// Calls the hub's `handleTimeout` at `deadline`; replaces the former wish.
  func wake(at deadline: Tick?)
  /// Opens an address of one's own.
  func open() throws -> SocketAddress
  func close(_ address: SocketAddress)
  func send(_ datagram: UnsafeRawBufferPointer, from source: SocketAddress, to destination: SocketAddress)
  /// Sends out what has been collected; called once per turn.
  func flush()
  /// Nobody is connected any more: threads and descriptors may go until the next `post`.
  func rest()
}

/// Memory instead of sockets, on a virtual clock: every datagram arrives in the same moment, in order.
final class VirtualLoop: NetworkLoop, @unchecked Sendable {  // touched on `lane` only, but for `post`
  private let lane: Lane
  private let hub: @Sendable () -> Hub?
  private var alarm: Alarm?
  private var nextHost: UInt32 = 0x0A00_0001  // 10.0.0.1
  private var addresses: Set<SocketAddress> = []
  private var isTurning = false

  init(scheduler: Scheduler, hub: @escaping @Sendable () -> Hub?) {
    lane = scheduler.lane("network")
    self.hub = hub
  }

  var now: Tick { lane.scheduler.now }

  func post(_ work: @escaping @Sendable () -> Void) { lane.post(work) }

  func wake(at deadline: Tick?) {
    alarm?.cancel()
    alarm = deadline.map { deadline in
      lane.post(at: max(deadline, now)) { [weak self] in
        guard let self else { return }
        hub()?.handleTimeout(at: now)
      }
    }
  }

  func open() -> SocketAddress {
    let address = SocketAddress(ipv4: nextHost, port: 5_000)
    nextHost &+= 1
    addresses.insert(address)
    return address
  }

  func close(_ address: SocketAddress) { addresses.remove(address) }

  func send(_ datagram: UnsafeRawBufferPointer, from source: SocketAddress, to destination: SocketAddress) {
    let copy = Bytes(capacity: UDPSocket.datagramCapacity)
    copy.append(datagram)
    lane.post { [weak self] in
      guard let self, addresses.contains(destination), let hub = hub() else { return }
      hub.handle(copy, from: source, to: destination, at: now)
      hub.endTurn(at: now)
    }
  }

  func flush() {}
  func rest() {}
}

/// Loopback UDP on the process's one network thread, which is joined while anybody is connected.
final class LoopbackLoop: NetworkLoop, UDPLoopClient, Sendable {
  private struct Membership {
    var current: (loop: UDPLoop, id: UDPLoop.ClientID)?
    /// Jobs that have been posted and have not begun: the loop is kept for them.
    var pending = 0
  }

  private let hub: @Sendable () -> Hub?
  private let membership = Lock(Membership())

  init(hub: @escaping @Sendable () -> Hub?) { self.hub = hub }

  deinit { if let (_, id) = current { UDPLoop.leave(id) } }

  var now: Tick { Scheduler.real.now }

  /// Joins the loop if need be.
  func post(_ work: @escaping @Sendable () -> Void) {
    membership.withLock { membership in
      let current = membership.current ?? UDPLoop.join(self)
      membership.current = current
      membership.pending += 1
      current.loop.post { [self] in
        self.membership.withLock { $0.pending -= 1 }
        work()
      }
    }
  }

  private var current: (loop: UDPLoop, id: UDPLoop.ClientID)? { membership.withLock { $0.current } }

  func wake(at deadline: Tick?) { if let (loop, id) = current { loop.wake(id, at: deadline) } }

  func open() throws -> SocketAddress {
    guard let (loop, id) = current else { throw SessionError(.unreachable, "the network loop does not run") }
    return try loop.open(.loopback(), for: id)
  }

  func close(_ address: SocketAddress) { current?.loop.close(address) }

  func send(_ datagram: UnsafeRawBufferPointer, from source: SocketAddress, to destination: SocketAddress) {
    current?.loop.send(datagram, from: source, to: destination)
  }

  func flush() { current?.loop.flush() }

  func rest() {
    let left = membership.withLock { membership -> (loop: UDPLoop, id: UDPLoop.ClientID)? in
      guard membership.pending == 0 else { return nil }
      defer { membership.current = nil }
      return membership.current
    }
    if let (_, id) = left { UDPLoop.leave(id) }
  }

  // MARK: From the loop

  func handle(_ datagram: Bytes, from source: SocketAddress, to destination: SocketAddress, at now: Tick) {
    hub()?.handle(datagram, from: source, to: destination, at: now)
  }

  func handleTimeout(at now: Tick) { hub()?.handleTimeout(at: now) }
  func endTurn(at now: Tick) { hub()?.endTurn(at: now) }
}
