import KoineSignaling

/// Messages that wait to be polled, each with its recipients, in the order in which they were posted; keeps its memory.
///
/// A message to several recipients is kept once, and its copies come out one after the other with one number: the owner encodes it
/// once for all of them.
final class Outbox {
  /// A message for one recipient.
  struct Copy {
    let recipient: ConnectionID
    let message: ServerMessage
    /// Of the message: equal for the copies of one, and for no others.
    let number: UInt64
    /// Sent before, on a line that broke: the recipient's conversation has it already.
    let isRepeated: Bool
    /// Of the last message of a page of repeated ones: what the page weighs in bytes.
    let endsPage: Int?
  }

  private struct Item {
    let number: UInt64
    let message: ServerMessage
    let first: ConnectionID
    /// Empty for most messages, which takes no memory.
    var others: [ConnectionID] = []
    /// Recipients that have been polled, or are gone: 1 stands for `first` alone.
    var polled = 0
    var isRepeated = false
    var endsPage: Int?

    var waiting: Int { others.count + 1 - polled }

    func isWaiting(for connection: ConnectionID) -> Bool {
      polled == 0 && first == connection || others.dropFirst(max(polled - 1, 0)).contains(connection)
    }

    var next: ConnectionID { polled == 0 ? first : others[polled - 1] }
  }

  private var items: [Item] = []
  private var head = 0
  private var lastNumber: UInt64 = 0

  /// Copies that wait.
  var count: Int { items[head...].reduce(0) { $0 + $1.waiting } }

  private func makeItem(_ message: ServerMessage, _ first: ConnectionID) -> Item {
    lastNumber += 1
    return Item(number: lastNumber, message: message, first: first)
  }

  func post(_ message: ServerMessage, to connection: ConnectionID?) {
    guard let connection else { return }  // it is gone already
    items.append(makeItem(message, connection))
  }

  /// One message to several recipients.
  func post(_ message: ServerMessage, to connections: some Sequence<ConnectionID>) {
    var others = Array(connections)
    guard let first = others.first else { return }
    others.removeFirst()
    var item = makeItem(message, first)
    item.others = others
    items.append(item)
  }

  /// Before everything that waits.
  func postFirst(_ messages: [ServerMessage], to connection: ConnectionID) {
    items.insert(contentsOf: messages.map { makeItem($0, connection) }, at: head)
  }

  /// A page of messages that were sent before: before everything that waits.
  func repeatFirst(_ page: ArraySlice<ServerMessage>, to connection: ConnectionID) {
    var page = page.map { message in
      var item = makeItem(message, connection)
      item.isRepeated = true
      return item
    }
    if !page.isEmpty { page[page.count - 1].endsPage = page.reduce(0) { $0 + $1.message.weight } }
    items.insert(contentsOf: page, at: head)
  }

  /// What waits for one connection and was not sent before.
  func waiting(for connection: ConnectionID) -> [ServerMessage] {
    items[head...].filter { $0.isWaiting(for: connection) && !$0.isRepeated }.map(\.message)
  }

  /// Takes back what waits for one connection: it will be repeated.
  func withdraw(for connection: ConnectionID) -> [ServerMessage] {
    let waiting = waiting(for: connection)
    items = items[head...].compactMap { item in
      guard item.isWaiting(for: connection) else { return item }
      var rest = ([item.first] + item.others).dropFirst(item.polled).filter { $0 != connection }
      guard !rest.isEmpty else { return nil }
      var left = Item(number: item.number, message: item.message, first: rest.removeFirst())
      (left.others, left.isRepeated, left.endsPage) = (rest, item.isRepeated, item.endsPage)
      return left
    }
    head = 0
    return waiting
  }

  func popFirst() -> Copy? {
    guard head < items.count else {
      items.removeAll(keepingCapacity: true)
      head = 0
      return nil
    }
    let item = items[head]
    if item.waiting == 1 { head += 1 } else { items[head].polled += 1 }
    return Copy(
      recipient: item.next, message: item.message, number: item.number, isRepeated: item.isRepeated,
      endsPage: item.endsPage)
  }
}
