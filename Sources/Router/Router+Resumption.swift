package import KoineBase
import KoineSignaling

// Connections that break and come back.

extension Router {
  /// The line broke. If the client can come back, its participant stays in the room for the grace, and what it is told
  /// waits for it; if not, the connection is closed.
  /// - Parameter permit: kept for as long as the connection is lost.
  /// - Returns: the connection that waits for its client.
  @discardableResult package func lose(
    _ line: ConnectionID, keeping permit: (any AnyObject & Sendable)? = nil, at now: Tick
  ) -> ConnectionID? {
    guard let connection = connections.holder(on: line) else { return nil }
    guard connection.isResumable else {
      close(line, at: now)
      return nil
    }
    connections.lose(connection, until: now + configuration.limits.resumeGrace, keeping: permit)
    return connection.id
  }

  /// Ends the wait for a client whose connection is lost.
  package func giveUp(_ id: ConnectionID, at now: Tick) {
    guard let connection = connections[id], connection.line == nil else { return }
    close(connection, grace: .zero, at: now)
  }

  func heard(from connection: Connection, isCounted: Bool) {
    if let told = connection.conversation.hear(isCounted: isCounted) { outbox.post(.heard(told), to: connection.id) }
  }

  /// A client resumes its conversation on a new line. The conversation that it began on the new line is dropped, and its old line
  /// is closed if that is still open.
  func takeUp(_ key: String, heard: Int, on line: ConnectionID, instead new: Connection) {
    guard new.member == nil, let connection = connections.holder(withKey: key), connection !== new,
      connection.conversation.takenUp(heard: heard) != nil
    else {
      return outbox.post(
        .refused(Failure(.unknownConversation, "this conversation is not known, or no longer")), to: new.id)
    }
    // Messages that wait follow those that were sent and not acknowledged.
    let waiting = outbox.withdraw(for: connection.id)
    stopWaiting(new)
    switchboard.close(new.id)
    if let old = connection.line { configuration.closeLine?(old) }
    connections.move(connection, to: line)
    connection.repeating = heard
    outbox.post(.resumed(heard: connection.conversation.heard), to: connection.id)
    for message in waiting { outbox.post(message, to: connection.id) }
    postHistory(to: connection)
  }

  /// The last message of a page (`Outgoing.endsPage`) has been written: the next page may be sent. For routers with `pacesPages`.
  package func pageWritten(on line: ConnectionID) {
    if let connection = connections.holder(on: line) { repeatPage(to: connection) }
  }

  /// Says the next page again of what a client that is back has not heard, before everything that waits: so a client that does
  /// not read costs one page.
  func repeatPage(to connection: Connection) {
    guard let number = connection.repeating else { return }
    guard let page = connection.conversation.page(from: number, within: configuration.pacesPages ? .page : .unlimited)
    else {
      // Too much was said meanwhile, and some of it has been forgotten.
      if let line = connection.line { configuration.closeLine?(line) }
      return
    }
    let next = number + page.count
    connection.repeating = next < connection.conversation.said ? next : nil
    outbox.repeatFirst(page, to: connection.id)
  }

  /// Before the answer that first makes a connection worth coming back to.
  func offerResumption(on connection: Connection) {
    guard let key = connections.makeKey(for: connection) else { return }
    outbox.post(.resumable(key: key, graceSeconds: configuration.limits.resumeGrace.inSeconds), to: connection.id)
  }
}
