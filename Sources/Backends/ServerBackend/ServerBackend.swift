public import Koine
import KoinePeer
import KoineRoomClient

/// Rooms of a `koine serve` somewhere, or of a cluster of them: signalling over WebSocket, media over one UDP port.
///
/// A server of a cluster names the others, and sends clients to the server that has their room. If a connection breaks, the client tries
/// the servers that it knows in turn.
///
/// What `EmbeddedBackend` does inside the process, over the network, in real time.
public final class ServerBackend: Backend {
  /// The first of `addresses`.
  public var address: ServerAddress { addresses[0] }
  /// The servers to which a client connects first, in the order in which they are tried. At least one.
  public let addresses: [ServerAddress]
  public var scheduler: Scheduler { .real }
  public var capabilities: BackendCapabilities {
    [.dataMessages, .attributes, .activeSpeaker, .ringing, .recording]
  }
  private let clients: ClientLoop

  /// - Parameters:
  ///   - address: of the server.
  ///   - others: addresses of further servers of the same cluster, tried in turn if the first cannot be reached.
  ///   - authorities: a PEM file of certificates to believe a `wss` server; nil: those that the system trusts.
  public init(_ address: ServerAddress, others: [ServerAddress] = [], authorities: String? = nil) {
    addresses = [address] + others
    let sockets = Lock<SocketLoop?>(nil)
    clients = ClientLoop(random: .system()) { client in
      let loop = SocketLoop(client: client)
      sockets.withLock { $0 = loop }
      return loop
    }
    clients.transports = sockets.withLock { $0 }.map {
      ServerTransports(addresses, authorities: authorities, clients: clients, sockets: $0)
    }
  }

  public func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> any Link {
    clients.connect(request, receiver: receiver)
  }

  public func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> any EndpointLink {
    clients.register(request, receiver: receiver)
  }
}

/// Where a server's signalling is: `ws://host:port` or `wss://host:port`, and a path if it is not `/signaling`.
public struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
  /// Whether it is reached by TLS.
  public let isSecure: Bool
  public let host: String
  public let port: Int
  public let path: String

  /// - Returns: nil for anything else.
  public init?(_ text: String) {
    isSecure = text.hasPrefix("wss://")
    guard isSecure || text.hasPrefix("ws://") else { return nil }
    let rest = text.dropFirst(isSecure ? 6 : 5)
    let authority = rest.prefix { $0 != "/" }
    let path = rest[authority.endIndex...]
    self.path = path.isEmpty || path == "/" ? "/signaling" : String(path)
    let colon = authority.lastIndex(of: ":").flatMap { authority[$0...].contains("]") ? nil : $0 }
    let name = authority[..<(colon ?? authority.endIndex)]
    host = String(name.hasPrefix("[") && name.hasSuffix("]") ? name.dropFirst().dropLast() : name)
    guard let port = colon.map({ Int(authority[authority.index(after: $0)...]) }) ?? (isSecure ? 443 : 80) else {
      return nil
    }
    self.port = port
    guard !host.isEmpty, (1...65_535).contains(port), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      !text.contains(where: { $0 == "@" || $0 == "?" || $0 == "#" })
    else { return nil }
  }

  /// What a request names the server by.
  var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  public var description: String { "\(isSecure ? "wss" : "ws")://\(authority)\(path)" }
}
