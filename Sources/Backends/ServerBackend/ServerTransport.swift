import Koine
import KoineBase
import KoinePeer
import KoineRoomClient
import KoineTransport

/// A client's sockets for media, and its WebSocket to the server.
///
///     connecting ─→ open ─→ lost ─→ connecting …, or over
final class ServerTransport: ClientTransport {
  weak var client: (any RoomClient)?
  let addresses: [TransportAddress]
  private let sockets: SocketLoop
  /// Makes a connection that reports its events with that number.
  private let makeSocket: (_ attempt: Int) -> WebSocketClient
  private var socket: WebSocketClient?
  private var attempt = 0
  private(set) var isConnected = false
  private var hasEverOpened = false

  init(addresses: [TransportAddress], sockets: SocketLoop, makeSocket: @escaping (_ attempt: Int) -> WebSocketClient) {
    (self.addresses, self.sockets, self.makeSocket) = (addresses, sockets, makeSocket)
  }

  func connect(at now: Tick) {
    disconnect()
    attempt += 1
    socket = makeSocket(attempt)
  }

  func handle(_ event: WebSocketEvent, of attempt: Int, at now: Tick) {
    guard attempt == self.attempt else { return }
    switch event {
    case .opened:
      (isConnected, hasEverOpened) = (true, true)
      client?.connectionMade(at: now)
    case .message(let json): client?.handleMessage(json, at: now)
    case .closed(let reason):
      (isConnected, socket) = (false, nil)
      guard hasEverOpened else {
        client?.finish(.refused(Failure(.unreachable, "the server cannot be reached: \(reason)")), at: now)
        return
      }
      client?.connectionLost(at: now)
    }
  }

  func disconnect() {
    socket?.close()
    (isConnected, socket) = (false, nil)
  }

  func send(_ message: [UInt8], at now: Tick) { socket?.send(message) }

  func send(
    _ datagram: UnsafeRawBufferPointer, from source: TransportAddress, to destination: TransportAddress, at now: Tick
  ) {
    sockets.send(datagram, from: source, to: destination)
  }

  func close(at now: Tick) {
    disconnect()
    for address in addresses { sockets.close(address) }
  }
}
