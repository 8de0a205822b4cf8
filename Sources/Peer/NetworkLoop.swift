package import KoineBase
import KoineSockets

/// Where peers run, one job at a time, and how their datagrams travel.
///
/// `post` may be called from any thread; everything else only on the loop.
package protocol NetworkLoop: AnyObject, Sendable {
  var now: Tick { get }
  func post(_ work: @escaping @Sendable () -> Void)
  /// Calls the client's `handleTimeout` at `deadline`; replaces the deadline before.
  func wake(at deadline: Tick?)
  /// Opens a new address.
  func open() throws -> TransportAddress
  func close(_ address: TransportAddress)
  func send(_ datagram: UnsafeRawBufferPointer, from source: TransportAddress, to destination: TransportAddress)
  /// Sends the collected datagrams; called once per turn.
  func flush()
  /// Threads and descriptors may go until the next `post`.
  func rest()
}

/// Receives a loop's datagrams and its time, on the loop.
package protocol NetworkLoopClient: AnyObject, Sendable {
  /// The block belongs to the client, which may decrypt in it and keep it.
  func handle(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick)
  func handleTimeout(at now: Tick)
  /// All datagrams at hand have been handled.
  func endTurn(at now: Tick)
  /// What the deadline given last waits for; asked for only when the loop spins.
  var deadlineReason: String { get }
}

/// Memory instead of sockets, on a virtual clock: every datagram arrives in the same moment, in order.
package final class VirtualLoop: NetworkLoop, @unchecked Sendable {  // touched on `lane` only, but for `post`
  private let lane: Lane
  private let client: @Sendable () -> (any NetworkLoopClient)?
  private var alarm: Alarm?
  private var nextHost: UInt32 = 0x0A00_0001  // 10.0.0.1
  private var addresses: Set<TransportAddress> = []

  /// - Parameter client: receives the datagrams; nil once it is gone.
  package init(scheduler: Scheduler, client: @escaping @Sendable () -> (any NetworkLoopClient)?) {
    lane = scheduler.lane("network")
    self.client = client
  }

  package var now: Tick { lane.scheduler.now }

  package func post(_ work: @escaping @Sendable () -> Void) { lane.post(work) }

  package func wake(at deadline: Tick?) {
    alarm?.cancel()
    alarm = deadline.map { deadline in
      lane.post(at: max(deadline, now)) { [weak self] in
        guard let self else { return }
        client()?.handleTimeout(at: now)
      }
    }
  }

  package func open() -> TransportAddress {
    let address = TransportAddress(udp: SocketAddress(ipv4: nextHost, port: 5_000))
    nextHost &+= 1
    addresses.insert(address)
    return address
  }

  package func close(_ address: TransportAddress) { addresses.remove(address) }

  package func send(_ datagram: UnsafeRawBufferPointer, from source: TransportAddress, to destination: TransportAddress)
  {
    let copy = Bytes(capacity: UDPSocket.datagramCapacity)
    copy.append(datagram)
    lane.post { [weak self] in
      guard let self, addresses.contains(destination), let client = client() else { return }
      client.handle(copy, from: source, to: destination, at: now)
      client.endTurn(at: now)
    }
  }

  package func flush() {}
  package func rest() {}
}

/// UDP sockets on the process's one network thread, which is joined while there is something to do.
package final class SocketLoop: NetworkLoop, UDPLoopClient, Sendable {
  private let local: SocketAddress
  private let client: @Sendable () -> (any NetworkLoopClient)?
  private let place = LoopPlace()

  /// - Parameters:
  ///   - local: each socket is bound to this address; with port 0 the system chooses a port.
  ///   - client: receives the datagrams; nil once it is gone.
  package init(local: SocketAddress = .loopback(), client: @escaping @Sendable () -> (any NetworkLoopClient)?) {
    (self.local, self.client) = (local, client)
  }

  package var now: Tick { Scheduler.real.now }

  package func post(_ work: @escaping @Sendable () -> Void) { place.post(for: self, work) }
  package func wake(at deadline: Tick?) { place.wake(at: deadline) }
  package func open() throws -> TransportAddress { try open(local) }
  /// Opens a socket on another address than the loop's own.
  package func open(_ local: SocketAddress) throws -> TransportAddress { TransportAddress(udp: try place.open(local)) }
  package func close(_ address: TransportAddress) { place.close(address.socketAddress) }

  package func send(_ datagram: UnsafeRawBufferPointer, from source: TransportAddress, to destination: TransportAddress)
  {
    place.send(datagram, from: source.socketAddress, to: destination.socketAddress)
  }

  package func flush() { place.flush() }
  package func rest() { place.rest() }

  // MARK: From the loop

  package func handle(_ datagram: Bytes, from source: SocketAddress, to destination: SocketAddress, at now: Tick) {
    client()?.handle(
      datagram, from: TransportAddress(udp: source), to: TransportAddress(udp: destination), at: now)
  }

  package func handleTimeout(at now: Tick) { client()?.handleTimeout(at: now) }
  package func endTurn(at now: Tick) { client()?.endTurn(at: now) }
  package var deadlineReason: String { client()?.deadlineReason ?? "none" }
}
