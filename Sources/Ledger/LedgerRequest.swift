/// A request to the ledger. Each is one atomic step there: a script.
///
/// All requests may be repeated with the same values, and a request whose answer was lost may be executed late, after its
/// repetition. Neither does harm.
package enum LedgerRequest: Hashable, Sendable {
  /// Begins the lease of a node. → `registered`, or `nameTaken` if another incarnation of the name is alive.
  case register(NodeRecord)
  /// Continues the lease with the node's new state and load. → `done`, or `evicted` if the lease has ended.
  case heartbeat(NodeRecord)
  /// Ends the lease of the asking node, which exits. → `done`
  case unregister(NodeID)
  /// Ends the lease of a node that is suspected to be dead. → `done` if the node has no lease any more; `alive` if less than two
  /// heartbeats are missing (`LedgerTimes.suspicion`).
  case evict(NodeID)
  /// → `nodes`
  case nodes
  /// → `placed`, or `gone` if the candidate is needed and not alive.
  case place(PlaceRequest)
  /// The home gives a room to another node, which opens it at the first join. → `placed`, `fenced`, or `gone` if the other node is
  /// not alive.
  case handOver(room: String, term: RoomTerm, to: NodeID, nonce: String)
  /// → `appended`, `fenced` or `behind`
  case append(AppendRequest)
  /// Entries of a room's log in order: those with `after` < order ≤ `through`. A page has at most 512 entries and 1 MiB, but at
  /// least one entry. → `page` or `fenced`
  case read(room: String, term: RoomTerm, after: UInt64, through: UInt64)
  /// The room has ended: deletes its log and its home. → `done` or `fenced`
  case close(room: String, term: RoomTerm)
  /// Sends bytes to the nodes that listen now: at most once. → `done`
  case publish(LedgerChannel, [UInt8])
  /// → `jobs`, or `done`
  case jobs(JobsRequest)
  /// Rooms with their homes, for listings: a page of any size, in no order. `cursor` is nil for the first page. → `rooms`
  case rooms(cursor: String?)
  /// Where a room is, without making a home for it. → `found`
  case find(room: String)
  /// The registry of the vendors' HTTP APIs. → `registry`
  case registry(RegistryRequest)
}

/// Asks for a room's home, and makes one if there is none alive.
///
/// | the ledger has | `isOpening` | answer |
/// |---|---|---|
/// | a term with this nonce | | that term: the request was repeated |
/// | a living home other than the candidate | | that home, `isNew` false |
/// | the candidate as home, alive | false | that home, `isNew` false |
/// | the candidate as home, alive | true | the candidate with a new term |
/// | no home, or a dead one | | the candidate with a new term; `gone` if the candidate is not alive |
package struct PlaceRequest: Hashable, Sendable {
  package var room: String
  package var candidate: NodeID
  /// Random; part of the term if the request makes one.
  package var nonce: String
  /// The candidate itself asks and is about to open the room, which it has not open under any term. Each opening has a term of
  /// its own, because numbers that an earlier one used without storing them must not be used again.
  package var isOpening: Bool
  /// The highest number of the room that the asking node knows, from its own memory or from participants. A new term begins
  /// above it, even if the ledger has forgotten it, but no more than `LedgerTimes.aboveLimit` ahead of the ledger's clock.
  package var above: UInt64

  package init(room: String, candidate: NodeID, nonce: String, isOpening: Bool, above: UInt64 = 0) {
    (self.room, self.candidate, self.nonce) = (room, candidate, nonce)
    (self.isOpening, self.above) = (isOpening, above)
  }
}

/// Stores entries of a room. The ledger compares the term first (`fenced`), then `previous` (`behind`), and then stores those entries
/// that are above the last order of the log; it has the others already.
package struct AppendRequest: Hashable, Sendable {
  package var room: String
  package var term: RoomTerm
  /// The order that precedes the first of `entries` in the log: of the entry before, or where the term's numbers begin. If the
  /// log's last order is lower, an earlier request was lost.
  package var previous: UInt64
  /// In rising order; may be empty. The home asks so after each new connection, and once in an hour: rooms and logs of which a
  /// ledger has heard nothing for a week expire.
  package var entries: [LogEntry]
  /// Orders of entries that the log need not keep any longer.
  package var removing: [UInt64]

  package init(
    room: String, term: RoomTerm, previous: UInt64, entries: [LogEntry] = [], removing: [UInt64] = []
  ) {
    (self.room, self.term, self.previous) = (room, term, previous)
    (self.entries, self.removing) = (entries, removing)
  }

  /// The order that the ledger has confirmed when it answers with `appended`.
  package var last: UInt64 { entries.last?.order ?? previous }
}

package enum LedgerChannel: Hashable, Sendable {
  case node(NodeID)
  /// All nodes, the sender too.
  case all
}

package enum JobsRequest: Hashable, Sendable {
  /// → `jobs` with the new one
  case add([UInt8])
  /// Takes a job that no node has, or one of a node that has not renewed it for `LedgerTimes.jobPatience`. → `jobs` with at most one
  case take(by: NodeID)
  /// Says that the node still works on it. → `jobs` with it; without, if another node has it or it is finished
  case renew(id: String, by: NodeID)
  /// → `done`
  case finish(id: String)
}

/// The times that all nodes and the ledger agree on.
package enum LedgerTimes {
  /// Between a node's heartbeats.
  package static let heartbeat = Duration.milliseconds(500)
  /// How long a lease lasts after a heartbeat.
  package static let lease = Duration.seconds(5)
  /// The silence after which a node may be evicted: two missing heartbeats. (Redis: PTTL < 4,000.)
  package static let suspicion = Duration.milliseconds(1000)
  /// A connection to the ledger is broken when its oldest request has had no answer for so long.
  package static let answer = Duration.seconds(2)
  /// Between attempts to connect to the ledger, at most.
  package static let backoff = Duration.seconds(1)
  /// How far `PlaceRequest.above` may be ahead of the ledger's clock.
  package static let aboveLimit = Duration.seconds(3600)
  /// The time after which another node takes over a job.
  package static let jobPatience = Duration.seconds(10)
  /// The time after which a room of which the ledger hears nothing expires, with its log.
  package static let orphan = Duration.seconds(7 * 86_400)
  /// As `orphan`, for a room that was placed and is opened by nobody.
  package static let unopened = Duration.seconds(60)
}
