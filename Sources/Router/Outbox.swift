import KoineSignaling

/// Messages that wait to be polled, in the order in which they were said; keeps its memory.
final class Outbox {
  struct Item {
    let to: ConnectionID
    let message: ServerMessage
    /// Said before, on a line that broke: it is kept already.
    var isRepeated = false
    /// The last message of a page of repeated ones: what the page weighs in bytes.
    var endsPage: Int?
  }

  private var items: [Item] = []
  private var head = 0

  var count: Int { items.count - head }

  func post(_ message: ServerMessage, to connection: ConnectionID?) {
    guard let connection else { return }  // it is gone already
    items.append(Item(to: connection, message: message))
  }

  /// Before everything that waits.
  func postFirst(_ messages: [ServerMessage], to connection: ConnectionID) {
    items.insert(contentsOf: messages.map { Item(to: connection, message: $0) }, at: head)
  }

  /// A page of messages that were said before: before everything that waits.
  func repeatFirst(_ page: ArraySlice<ServerMessage>, to connection: ConnectionID) {
    var page = page.map { Item(to: connection, message: $0, isRepeated: true) }
    if !page.isEmpty { page[page.count - 1].endsPage = page.reduce(0) { $0 + $1.message.weight } }
    items.insert(contentsOf: page, at: head)
  }

  /// What waits for one connection and was not said before.
  func waiting(for connection: ConnectionID) -> [ServerMessage] {
    items[head...].filter { $0.to == connection && !$0.isRepeated }.map(\.message)
  }

  /// Takes back what waits for one connection: it will be repeated.
  func withdraw(for connection: ConnectionID) -> [ServerMessage] {
    let waiting = waiting(for: connection)
    items = items[head...].filter { $0.to != connection }
    head = 0
    return waiting
  }

  func popFirst() -> Item? {
    guard head < items.count else {
      items.removeAll(keepingCapacity: true)
      head = 0
      return nil
    }
    defer { head += 1 }
    return items[head]
  }
}
