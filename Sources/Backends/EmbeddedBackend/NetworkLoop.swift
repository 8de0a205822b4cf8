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
  private let hub: @Sendable () -> Hub?
  private let place = LoopPlace()

  init(hub: @escaping @Sendable () -> Hub?) { self.hub = hub }

  var now: Tick { Scheduler.real.now }

  func post(_ work: @escaping @Sendable () -> Void) { place.post(for: self, work) }
  func wake(at deadline: Tick?) { place.wake(at: deadline) }
  func open() throws -> SocketAddress { try place.open(.loopback()) }
  func close(_ address: SocketAddress) { place.close(address) }

  func send(_ datagram: UnsafeRawBufferPointer, from source: SocketAddress, to destination: SocketAddress) {
    place.send(datagram, from: source, to: destination)
  }

  func flush() { place.flush() }
  func rest() { place.rest() }

  // MARK: From the loop

  func handle(_ datagram: Bytes, from source: SocketAddress, to destination: SocketAddress, at now: Tick) {
    hub()?.handle(datagram, from: source, to: destination, at: now)
  }

  func handleTimeout(at now: Tick) { hub()?.handleTimeout(at: now) }
  func endTurn(at now: Tick) { hub()?.endTurn(at: now) }
  var deadlineReason: String { hub()?.deadlineReason ?? "none" }
}
