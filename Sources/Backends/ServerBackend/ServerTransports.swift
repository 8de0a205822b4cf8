import Koine
import KoineBase
import KoinePeer
import KoineRoomClient
import KoineTransport

/// Makes the transports of the clients that this process has on one server, or on the servers of a cluster.
///
/// `@unchecked Sendable`: used on the loop only.
final class ServerTransports: ClientTransports, @unchecked Sendable {
  private let places: [String]
  private let authorities: String?
  /// Owns this.
  private unowned let clients: ClientLoop
  private let sockets: SocketLoop

  init(_ addresses: [ServerAddress], authorities: String?, clients: ClientLoop, sockets: SocketLoop) {
    (places, self.authorities) = (addresses.map(\.description), authorities)
    (self.clients, self.sockets) = (clients, sockets)
  }

  func places(of client: Int) -> [String] { places }

  /// An endpoint has no media, and a client that takes part in rooms has one socket for each family, on an address that the system
  /// chooses for every datagram: so the route may change while the call goes on.
  func makeTransport(for client: ClientDescription, at now: Tick) -> any ClientTransport {
    let number = client.number
    let local = client.hasMedia ? [SocketAddress(ipv4: 0, port: 0), SocketAddress(ipv6High: 0, low: 0, port: 0)] : []
    return ServerTransport(
      addresses: local.compactMap { try? sockets.open($0) }, sockets: sockets
    ) { [clients, authorities] address, attempt in
      WebSocketClient(address, authorities: authorities) { [weak clients] event in
        clients?.performOnTransport(number) { ($0 as? ServerTransport)?.handle(event, of: attempt, at: $1) }
      }
    }
  }
}
