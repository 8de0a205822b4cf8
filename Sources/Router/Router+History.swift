import KoineBase
import KoineSignaling

/// How far a participant that joined has been sent what its room keeps for it.
struct HistoryCursor {
  let reader: DataHistory.Reader
  /// Number in the room's order: later messages are sent as they come.
  let through: UInt64
  /// The ages of messages are relative to the join.
  let joined: Tick
  /// Number in the room's order up to which pages are on their way; nil once all are.
  var after: UInt64?
}

// A joining participant gets what its room keeps in pages, each once the one before has been written to its connection: so a
// client that does not read costs one page. Data messages that arrive in the meantime wait until the last page has been sent.

extension Router {
  /// Of data messages that wait for a client's history: beyond, the rest of its pages are sent at once.
  private static let heldLimit = 4 * 1024 * 1024

  /// A message that said that more history follows (`ServerMessage.hasMoreHistory`) has been written: the next page may be
  /// sent. For routers with `pacesPages`.
  package func historyWritten(to id: ClientID) {
    if let client = clients[id] { postHistory(to: client) }
  }

  /// - Returns: false where there is no page to be sent: all are on their way, or the participant has left the room.
  @discardableResult
  func postHistory(to client: Client) -> Bool {
    guard let cursor = client.history, let page = page(for: client, cursor) else { return false }
    client.historyPosted(upTo: page.next)
    outbox.post(.history(page.page), to: client.id)
    return true
  }

  /// All pages, right after `joined`.
  func postWholeHistory(_ cursor: HistoryCursor, to client: Client) {
    var cursor = cursor
    while let page = page(for: client, cursor) {
      cursor.after = page.next
      outbox.post(.history(page.page), to: client.id)
    }
  }

  private func page(for client: Client, _ cursor: HistoryCursor) -> (page: HistoryPage, next: UInt64?)? {
    guard let after = cursor.after, let room = client.member?.room else { return nil }
    let (entries, next) = room.data.page(for: cursor.reader, after: after, through: cursor.through, at: cursor.joined)
    return (HistoryPage(entries, hasMore: next != nil), next)
  }

  /// Looks at each message that is about to be sent for the first time.
  /// - Returns: true where it has to wait for the history.
  func holdsBack(_ message: ServerMessage, of client: Client) -> Bool {
    switch message {
    case .joined: client.beginHistory()
    case .ended: client.endHistory()
    case .history(let page) where !page.hasMore: outbox.postFirst(client.endHistory(), to: client.id)
    case .data where client.history != nil:
      client.hold(message)
      if client.heldBytes > Self.heldLimit {
        while postHistory(to: client) {}
      }
      return true
    default: break
    }
    return false
  }
}
