import Koine
import KoineBase
import KoineRoomClient

/// One participant's or endpoint's end, and its connection to the server. Touched on the loop only.
///
///     connecting ─→ open ─→ lost ─→ connecting …, or over
final class ServerClient {
  let end: ClientEnd
  let addresses: [TransportAddress]
  /// Makes a connection whose events come with that number.
  private let makeSocket: (_ attempt: Int) -> WebSocketClient
  private var socket: WebSocketClient?
  private var attempt = 0
  private var isOpen = false
  private var hasEverOpened = false

  init(
    _ end: ClientEnd, addresses: [TransportAddress], at now: Tick,
    connect: @escaping (_ attempt: Int) -> WebSocketClient
  ) {
    self.end = end
    self.addresses = addresses
    makeSocket = connect
    end.firstConnectionBegun(at: now)
    socket = connect(attempt)
  }

  func take(_ event: WebSocketEvent, of attempt: Int, at now: Tick) {
    guard attempt == self.attempt else { return }
    switch event {
    case .opened:
      (isOpen, hasEverOpened) = (true, true)
      end.connectionMade(at: now)
    case .message(let json): end.handleMessage(json, at: now)
    case .closed(let reason):
      (isOpen, socket) = (false, nil)
      guard hasEverOpened else {
        return end.end(.refused(Failure(.unreachable, "the server cannot be reached: \(reason)")))
      }
      end.connectionLost(at: now)
    }
  }

  /// Sends what waits to be sent, and opens a new connection when the client's end asks for one.
  func takeTurn(at now: Tick) {
    if isOpen, !end.hasConnection { close() }
    if end.takeConnectionRequest(at: now) {
      close()
      attempt += 1
      socket = makeSocket(attempt)
    }
    guard isOpen else { return }
    while let message = end.pollMessage() { socket?.send(message) }
  }

  func close() {
    socket?.close()
    (isOpen, socket) = (false, nil)
  }
}
