import KoineBase
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import Logging

// Logs: clients that join, leave and are refused, and never their credentials.

extension RouterHost {
  func log(_ message: IncomingMessage, on line: ConnectionID) {
    guard let join = message.join, let client = signaling?.client(on: line), !loggers.isAdmitted(client) else { return }
    // A further join is refused, and must not rename the client.
    loggers.add(
      logger.with(["connection": "\(client.value)", "room": "\(LogText(join.room))"]), for: client)
  }

  func log(_ message: ServerMessage, to client: ClientID) {
    switch message {
    case .waiting: loggers.setAdmitted(client)
    case .joined(let joined):
      loggers.setAdmitted(client)
      loggers[client]?.info("joined", metadata: ["participant": "\(LogText(joined.participantID))"])
    case .refused(let failure, let places): logRefusal(failure, places, of: client)
    case .ended(let reason):
      loggers.remove(for: client)?.info("left", metadata: ["reason": "\(reason)"])
    default: break
    }
  }

  /// - Parameter places: where the client should go; the room's home first.
  private func logRefusal(_ failure: Failure, _ places: [String], of client: ClientID) {
    // A registration or a second join may be refused while the participant stays in its room, or waits to be admitted.
    // `denied` answers a knock only, and ends the waiting: the client may join another room.
    let isStaying = failure.code != .denied && loggers.isAdmitted(client)
    let own = isStaying ? loggers[client] : loggers.remove(for: client)
    let pass = pass(of: client)
    // The first, the tenth, the hundredth … of an address within a minute.
    guard let count = pass?.countRefusal() ?? (pass == nil ? 1 : nil) else { return }
    var metadata: Logger.Metadata = [
      "reason": "\(failure.code.rawValue)", "message": "\(LogText(failure.message))", "count": "\(count)",
    ]
    if let first = places.first { metadata["place"] = "\(LogText(first))" }
    (own ?? logger.with(["connection": "\(client.value)"])).notice("refused", metadata: metadata)
  }
}

extension IncomingMessage {
  fileprivate var join: Join? {
    switch self {
    case .native(.success(.join(let join))), .browser(.success(.join(let join, _))): join
    default: nil
    }
  }
}
