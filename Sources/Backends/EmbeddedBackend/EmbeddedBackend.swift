public import Koine
import KoineBase
import KoineRoomClient
public import KoineSimulatedNetwork

/// Rooms inside the process: a router of one's own, reached over loopback UDP, or through a simulated network on a virtual
/// clock. Each instance is a world apart: rooms of the same name in two of them have nothing to do with each other.
///
/// Nothing is short-cut: media is SRTP over ICE and DTLS, and signalling crosses the same, possibly impaired, link.
public final class EmbeddedBackend: Backend {
  /// Sees every RTP and RTCP packet before it is protected and after it has been opened, with the name of the end.
  public typealias Trace = @Sendable (_ end: String, _ plaintext: UnsafeRawBufferPointer) -> Void

  public let scheduler: Scheduler
  let hub: Hub

  /// The one that the process uses unless told otherwise.
  public static let shared = EmbeddedBackend()

  public var capabilities: BackendCapabilities {
    [.dataMessages, .attributes, .activeSpeaker, .ringing, .recording]
  }

  /// Over loopback UDP, in real time.
  /// - Parameter network: what each participant's link does to datagrams, in each direction, from the moment of joining.
  public init(network: NetworkSpec? = nil, trace: Trace? = nil) {
    scheduler = .real
    hub = Hub(network: network, random: .system(), trace: trace) { LoopbackLoop(hub: $0) }
  }

  /// In memory, in virtual time: repeats from its seed. Advance it with `World.run`.
  public init(virtual seed: UInt64, network: NetworkSpec? = nil, trace: Trace? = nil) {
    let scheduler = Scheduler.virtual()
    self.scheduler = scheduler
    hub = Hub(network: network, random: SeededRandom(seed: seed), trace: trace) {
      VirtualLoop(scheduler: scheduler, hub: $0)
    }
  }

  /// Nobody is left who could advance a virtual clock: what waits for it, and what is connected, goes with it. In real time
  /// those who are let go of leave by themselves. Completions that wait in a virtual world are then never called.
  deinit {
    guard scheduler.kind == .virtual else { return }
    scheduler.end()
    hub.dissolve()
  }

  public func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> any Link {
    hub.connect(request, receiver: receiver)
  }

  public func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> any EndpointLink {
    hub.register(request, receiver: receiver)
  }
}
