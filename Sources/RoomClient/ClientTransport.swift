package import KoineBase
import KoineTransport

/// Carries one client's signalling and media. Used on the loop only. Reports to `client`, which `ClientLoop` sets.
package protocol ClientTransport: AnyObject {
  var client: (any RoomClient)? { get set }
  /// Of the client's sockets.
  var addresses: [TransportAddress] { get }
  /// Begins to make a connection for signalling, in place of the one there is.
  /// - Parameter place: the server's address, of `ClientTransports.places` or as a server has named it; nil where there are none.
  /// - Throws: any error for a connection that cannot even be begun.
  func connect(to place: String?, at now: Tick) throws
  /// Drops the connection, which the client does not want any more.
  func disconnect()
  /// Whether messages can be sent.
  var isConnected: Bool { get }
  func send(_ message: [UInt8], at now: Tick)
  func send(
    _ datagram: UnsafeRawBufferPointer, from source: TransportAddress, to destination: TransportAddress, at now: Tick)
  /// Takes a datagram that is signalling.
  /// - Returns: false for any other, which is media.
  func takeSignaling(_ datagram: UnsafeRawBufferPointer, from source: TransportAddress, at now: Tick) -> Bool
  /// Sends everything that is due. The last call of a turn.
  func flush(at now: Tick)
  func handleTimeout(at now: Tick)
  var deadline: Tick? { get }
  /// The client has gone: closes connection and sockets.
  func close(at now: Tick)
}

/// What a transport is made for.
package struct ClientDescription: Sendable {
  /// Of the loop.
  package let number: Int
  /// A participant's id and name, or an endpoint's identity; none for a client that is inside with the router.
  package let names: Set<String>
  /// Whether the client is where the router is, with no network between.
  package var isInside = false
  /// Whether the client sends and receives media.
  package var hasMedia = false
}

/// Makes the transports of a loop's clients. Runs their other end, for example an embedded router, if it is on the same loop.
package protocol ClientTransports: AnyObject, Sendable {
  /// The addresses of the servers to which a client connects first, in the order in which they are tried.
  func places(of client: Int) -> [String]
  func makeTransport(for client: ClientDescription, at now: Tick) throws -> any ClientTransport
  /// Takes a datagram for the other end.
  /// - Returns: false for any other.
  func receive(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick) -> Bool
  /// Hands to the transports what the other end sends.
  func poll(at now: Tick)
  func handleTimeout(at now: Tick)
  /// The last client has gone.
  func rest()
  var deadline: Tick? { get }
  var deadlineReason: String { get }
}

extension ClientTransport {
  // Defaults for a transport with separate sockets for signalling and media that does not buffer outgoing data.
  package func takeSignaling(_ datagram: UnsafeRawBufferPointer, from source: TransportAddress, at now: Tick) -> Bool {
    false
  }
  package func flush(at now: Tick) {}
  package func handleTimeout(at now: Tick) {}
  package var deadline: Tick? { nil }
}

extension ClientTransports {
  // Defaults for clients with their other end on another loop or in another process.
  package func receive(
    _ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick
  ) -> Bool { false }
  package func places(of client: Int) -> [String] { [] }
  package func poll(at now: Tick) {}
  package func handleTimeout(at now: Tick) {}
  package func rest() {}
  package var deadline: Tick? { nil }
  package var deadlineReason: String { "none" }
}
