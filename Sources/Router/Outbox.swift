import KoineSignaling

/// Messages that wait to be polled, in the order in which they were said; keeps its memory.
final class Outbox {
  private var items: [(ConnectionID, ServerMessage)] = []
  private var head = 0

  func post(_ message: ServerMessage, to connection: ConnectionID?) {
    guard let connection else { return }  // it is gone already
    items.append((connection, message))
  }

  func popFirst() -> (ConnectionID, ServerMessage)? {
    guard head < items.count else {
      items.removeAll(keepingCapacity: true)
      head = 0
      return nil
    }
    defer { head += 1 }
    return items[head]
  }
}
