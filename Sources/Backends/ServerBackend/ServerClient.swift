import Koine
import KoineBase
import KoineRoomClient

/// One participant's or endpoint's connection to the server. Touched on the loop only.
///
///     connecting ─→ open ─→ lost, or over
final class ServerClient {
  let end: ClientEnd
  let addresses: [KoineBase.SocketAddress]
  private let socket: WebSocketClient
  private var hasOpened = false

  init(_ end: ClientEnd, addresses: [KoineBase.SocketAddress], connect: () -> WebSocketClient) {
    self.end = end
    self.addresses = addresses
    socket = connect()
  }

  func take(_ event: WebSocketEvent, at now: Tick) {
    switch event {
    case .opened: hasOpened = true
    case .message(let json): end.handleMessage(json, at: now)
    case .closed(let reason):
      end.end(hasOpened ? .lost : .refused(SessionError(.unreachable, "the server cannot be reached: \(reason)")))
    }
  }

  func sendMessages() {
    guard hasOpened else { return }
    while let message = end.pollMessage() { socket.send(message) }
  }

  func close() { socket.close() }
}
