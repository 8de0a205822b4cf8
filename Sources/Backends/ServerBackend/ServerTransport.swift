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
  private let makeSocket: (_ address: ServerAddress, _ attempt: Int) -> WebSocketClient
  private var socket: WebSocketClient?
  private var attempt = 0
  private(set) var isConnected = false

  init(
    addresses: [TransportAddress], sockets: SocketLoop,
    makeSocket: @escaping (_ address: ServerAddress, _ attempt: Int) -> WebSocketClient
  ) {
    (self.addresses, self.sockets, self.makeSocket) = (addresses, sockets, makeSocket)
  }

  func connect(to place: String?, at now: Tick) throws {
    disconnect()
    guard let place, let address = ServerAddress(place) else {
      throw Failure(.unreachable, "no server's address: '\(place ?? "")'")
    }
    socket = makeSocket(address, attempt)
  }

  func handle(_ event: WebSocketEvent, of attempt: Int, at now: Tick) {
    guard attempt == self.attempt else { return }
    switch event {
    case .opened:
      isConnected = true
      client?.connectionMade(at: now)
    case .message(let json):
      client?.handleMessage(json, at: now)
      if let times = client?.signaling.times { socket?.setSilenceLimit(times.silence) }
    case .closed(let reason, let silence):
      let wasConnected = isConnected
      (isConnected, socket) = (false, nil)
      let loss: SignalingClient.Loss =
        if let silence { .silent(silence) } else if wasConnected { .broken } else { .notMade(reason) }
      client?.connectionLost(at: now, because: loss)
    }
  }

  func disconnect() {
    attempt += 1  // that the socket is closed is no loss: the client knows when it wants the next connection
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
