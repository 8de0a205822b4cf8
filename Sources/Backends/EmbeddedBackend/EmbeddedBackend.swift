import KoineAdmissions
public import Koine
import KoineBase
import KoinePeer
import KoineRoomClient
import KoineRouter
import KoineSignaling
public import KoineSimulatedNetwork

/// Rooms inside the process: a router of one's own, reached over loopback UDP, or through a simulated network on a virtual
/// clock. Each instance is a world apart: rooms of the same name in two of them have nothing to do with each other.
///
/// Nothing is short-cut: media is SRTP over ICE and DTLS, and signalling crosses the same, possibly impaired, link.
public final class EmbeddedBackend: Backend {
  /// Sees every RTP and RTCP packet before it is protected and after it has been opened, with the name of the end.
  public typealias Trace = @Sendable (_ end: String, _ plaintext: UnsafeRawBufferPointer) -> Void

  public let scheduler: Scheduler
  let clients: ClientLoop
  let host: EmbeddedRouterHost

  /// The one that the process uses unless told otherwise.
  public static let shared = EmbeddedBackend()

  public var capabilities: BackendCapabilities {
    [.dataMessages, .attributes, .activeSpeaker, .ringing, .recording]
  }

  /// Over loopback UDP, in real time.
  /// - Parameter network: what each participant's link does to datagrams, in each direction, from the moment of joining.
  public convenience init(network: NetworkSpec? = nil, trace: Trace? = nil) {
    self.init(network: network, trace: trace, malformedTokenRefusal: nil)
  }

  /// Over loopback UDP, in real time.
  /// - Parameters:
  ///   - malformedTokenRefusal: the text of the error for a credential that is no token; nil: such a credential counts as none.
  ///   - nodes: of a cluster; nil: there is one router.
  package init(network: NetworkSpec?, trace: Trace?, malformedTokenRefusal: String?, nodes: Int? = nil) {
    scheduler = .real
    clients = ClientLoop(random: .system(), trace: trace) { SocketLoop(client: $0) }
    host = EmbeddedRouterHost(
      clients, network: network, random: .system(), trace: trace,
      authorization: Self.authorization(malformedTokenRefusal), nodes: nodes)
    clients.transports = host
  }

  private static func authorization(_ malformedTokenRefusal: String?) -> Authorization {
    guard let malformedTokenRefusal else { return .embedded }
    return .embedded(refusingMalformed: Failure(.unauthorized, malformedTokenRefusal))
  }

  /// In memory, in virtual time: repeats from its seed. Advance it with `World.run`.
  public convenience init(virtual seed: UInt64, network: NetworkSpec? = nil, trace: Trace? = nil) {
    self.init(virtual: seed, network: network, trace: trace, malformedTokenRefusal: nil)
  }

  /// In memory, in virtual time: a cluster of servers `n1`, `n2` and so on, with a ledger in memory. Clients begin at different nodes.
  public convenience init(virtual seed: UInt64, nodes: Int, network: NetworkSpec? = nil, trace: Trace? = nil) {
    self.init(virtual: seed, network: network, trace: trace, malformedTokenRefusal: nil, nodes: nodes)
  }

  /// In memory, in virtual time.
  /// - Parameters:
  ///   - malformedTokenRefusal: the text of the error for a credential that is no token; nil: such a credential counts as none.
  ///   - nodes: of a cluster; nil: there is one router.
  package init(
    virtual seed: UInt64, network: NetworkSpec?, trace: Trace?, malformedTokenRefusal: String?, nodes: Int? = nil
  ) {
    let scheduler = Scheduler.virtual()
    self.scheduler = scheduler
    var random = SeededRandom(seed: seed)
    clients = ClientLoop(random: random.fork(), trace: trace) { VirtualLoop(scheduler: scheduler, client: $0) }
    host = EmbeddedRouterHost(
      clients, network: network, random: random, trace: trace,
      authorization: Self.authorization(malformedTokenRefusal), nodes: nodes)
    clients.transports = host
  }

  /// After the backend no code can advance its virtual clock, so pending work and connections end with the backend. Completions that
  /// wait in a virtual world are then never called. In real time, released sessions leave by themselves.
  deinit {
    guard scheduler.kind == .virtual else { return }
    scheduler.finish()
    host.dissolve()
    clients.dissolve()
  }

  public func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> any Link {
    clients.connect(request, receiver: receiver)
  }

  public func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> any EndpointLink {
    clients.register(request, receiver: receiver)
  }
}
