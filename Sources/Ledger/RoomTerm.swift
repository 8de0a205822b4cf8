/// One opening of a room by one node, as `8:f3a9`. The ledger makes a new term whenever a room gets a home, also when the home
/// opens the room again.
///
/// Terms are equal or not; no node puts them in order. A term that differs from a node's own is a reason to ask the ledger. The
/// count is for people who read it: after a failover the ledger may repeat it. The nonce is never repeated.
package struct RoomTerm: Hashable, Sendable, CustomStringConvertible {
  package let text: String

  package init(count: UInt64, nonce: String) { text = "\(count):\(nonce)" }

  /// As the ledger has it.
  package init(text: String) { self.text = text }

  package var description: String { text }

  /// How many terms the room has had.
  package var count: UInt64? { text.split(separator: ":", maxSplits: 1).first.flatMap { UInt64($0) } }

  /// The text that the asking node chose: it recognises the answer to a request that it has repeated.
  package var nonce: Substring { text.split(separator: ":", maxSplits: 1).dropFirst().first ?? "" }
}

/// The home of a room, as the ledger has it.
package struct RoomPlace: Hashable, Sendable {
  package var home: NodeID
  package var term: RoomTerm

  package init(home: NodeID, term: RoomTerm) { (self.home, self.term) = (home, term) }
}

/// An acknowledged and kept message of a room, or another fact that the next home needs.
package struct LogEntry: Hashable, Sendable {
  /// The number of the message in the room. Orders rise within a log, with gaps.
  package var order: UInt64
  /// The ledger does not read it.
  package var content: [UInt8]

  package init(order: UInt64, content: [UInt8]) { (self.order, self.content) = (order, content) }
}

/// An entry that was read, with its age.
package struct StoredEntry: Hashable, Sendable {
  package var entry: LogEntry
  /// The time since the entry was stored, by the ledger's clock.
  package var age: Duration

  package init(_ entry: LogEntry, age: Duration) { (self.entry, self.age) = (entry, age) }
}

/// Work for any one node, such as a recording.
package struct LedgerJob: Hashable, Sendable {
  /// The ledger's name for it.
  package var id: String
  package var content: [UInt8]

  package init(id: String, content: [UInt8]) { (self.id, self.content) = (id, content) }
}
