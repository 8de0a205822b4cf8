/// The answer to a request: what the ledger has done, why it has not, or why that is unknown.
package enum LedgerAnswer: Hashable, Sendable {
  case done
  /// The lease has begun. `clock`: the ledger's, in microseconds since 1970.
  case registered(clock: UInt64)
  case nodes([ListedNode])
  case placed(Placed)
  /// All entries up to the request's last are stored.
  case appended
  case page(LogPage)
  case jobs([LedgerJob])
  case rooms([RoomListing], next: String?)
  /// nil: the room has no home. `isAlive`: whether the home has a lease.
  case found(RoomPlace?, isAlive: Bool)
  case registry(RegistryAnswer)

  // Refusals: nothing was changed.

  /// A living node has the name.
  case nameTaken(by: NodeID)
  /// The node has no lease.
  case evicted
  /// The node cannot be evicted: its last heartbeat is too recent.
  case alive
  /// The node that was to become the home has no lease.
  case gone(NodeID)
  /// The room has another term, or none (nil): the asking node is not its home any more.
  case fenced(RoomPlace?)
  /// The log ends with this order, before `AppendRequest.previous`.
  case behind(last: UInt64)

  /// The request may have been executed, may be executed later, or is lost.
  case failed(LedgerFailure)
}

package enum LedgerFailure: Hashable, Sendable {
  /// The ledger cannot be reached, did not answer in time, or cannot work (memory full, loading, read-only copy). The text is for
  /// the log.
  case away(String)
  /// Too many bytes wait for the ledger already. The request was not sent.
  case tooMany
}

package struct Placed: Hashable, Sendable {
  package var place: RoomPlace
  /// The term is the request's own.
  package var isNew: Bool
  /// The last order of the log. A new term begins its numbers at the ledger's clock (microseconds since 1970), if that is higher
  /// than the last order and `PlaceRequest.above`: no earlier term can have used such numbers, even one that the ledger has
  /// forgotten. Therefore the numbers of the term are above `last`, and its history is what the log has up to `last`.
  package var last: UInt64

  package init(_ place: RoomPlace, isNew: Bool, last: UInt64) {
    (self.place, self.isNew, self.last) = (place, isNew, last)
  }
}

package struct LogPage: Hashable, Sendable {
  package var entries: [StoredEntry]
  /// Whether the log has no further entries up to `through`.
  package var isLast: Bool

  package init(_ entries: [StoredEntry], isLast: Bool) { (self.entries, self.isLast) = (entries, isLast) }
}

package struct RoomListing: Hashable, Sendable {
  package var room: String
  package var place: RoomPlace

  package init(room: String, place: RoomPlace) { (self.room, self.place) = (room, place) }
}
