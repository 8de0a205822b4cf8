import KoineSignaling

/// Messages that wait to be polled, each with its recipients, in the order in which they were posted; keeps its memory.
///
/// A message to several recipients is kept once, and its copies come out one after the other with one number: the owner encodes it
/// once for all of them.
final class Outbox {
  /// A message for one recipient.
  struct Copy {
    let recipient: ClientID
    let message: ServerMessage
    /// Of the message: equal for the copies of one, and for no others.
    let number: UInt64
  }

  private struct Item {
    let number: UInt64
    let message: ServerMessage
    let first: ClientID
    /// Empty for most messages, which takes no memory.
    var others: [ClientID] = []
    /// Recipients that have been polled, or are gone: 1 stands for `first` alone.
    var polled = 0

    var waiting: Int { others.count + 1 - polled }

    func isWaiting(for client: ClientID) -> Bool {
      polled == 0 && first == client || others.dropFirst(max(polled - 1, 0)).contains(client)
    }

    var next: ClientID { polled == 0 ? first : others[polled - 1] }
  }

  @exclusivity(unchecked) private var items: [Item] = []
  @exclusivity(unchecked) private var head = 0
  @exclusivity(unchecked) private var lastNumber: UInt64 = 0

  /// Copies that wait.
  var count: Int { items[head...].reduce(0) { $0 + $1.waiting } }

  private func makeItem(_ message: ServerMessage, _ first: ClientID) -> Item {
    lastNumber += 1
    return Item(number: lastNumber, message: message, first: first)
  }

  func post(_ message: ServerMessage, to client: ClientID?) {
    guard let client else { return }  // it is gone already
    items.append(makeItem(message, client))
  }

  /// One message to several recipients.
  func post(_ message: ServerMessage, to clients: some Sequence<ClientID>) {
    var others = Array(clients)
    guard let first = others.first else { return }
    others.removeFirst()
    var item = makeItem(message, first)
    item.others = others
    items.append(item)
  }

  /// Before everything that waits.
  func postFirst(_ messages: [ServerMessage], to client: ClientID) {
    items.insert(contentsOf: messages.map { makeItem($0, client) }, at: head)
  }

  /// Messages that wait for one client.
  func waiting(for client: ClientID) -> [ServerMessage] {
    items[head...].filter { $0.isWaiting(for: client) }.map(\.message)
  }

  func popFirst() -> Copy? {
    guard head < items.count else {
      guard head > 0 else { return nil }
      items.removeAll(keepingCapacity: true)
      head = 0
      return nil
    }
    let item = items[head]
    if item.waiting == 1 { head += 1 } else { items[head].polled += 1 }
    return Copy(recipient: item.next, message: item.message, number: item.number)
  }
}
