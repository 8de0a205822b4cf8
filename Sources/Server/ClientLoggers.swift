import KoineRouter
import Logging

/// The loggers of clients that are in a room or on their way into one. A client has the same logger on all its connections.
struct ClientLoggers {
  private struct Entry {
    let logger: Logger
    /// The router has admitted the client, or has it wait to be admitted.
    var isAdmitted = false
  }

  private var entries: [ClientID: Entry] = [:]

  subscript(client: ClientID) -> Logger? { entries[client]?.logger }

  mutating func add(_ logger: Logger, for client: ClientID) { entries[client] = Entry(logger: logger) }

  @discardableResult mutating func remove(for client: ClientID) -> Logger? {
    entries.removeValue(forKey: client)?.logger
  }

  /// The router has admitted the client, or has it wait to be admitted: a later refusal, of something else, is not its end.
  mutating func setAdmitted(_ client: ClientID) { entries[client]?.isAdmitted = true }

  func isAdmitted(_ client: ClientID) -> Bool { entries[client]?.isAdmitted ?? false }
}
