/// Rules that tests take out, one at a time, to see that their checks find what follows.
package struct ClusterRules: Hashable, Sendable {
  /// After the end of its lease a node asks the ledger about each of its rooms.
  package var heedsEviction = true

  package init() {}
}

/// Times and sizes of a node's part in the cluster. Those that the ledger must know, too, are in `LedgerTimes`.
package struct ClusterLimits: Hashable, Sendable {
  /// The time without an answer of the ledger after which a node no longer trusts its lease.
  package var uncertain = Duration.seconds(4)
  /// How long a node waits for another one of its name to be gone.
  package var namePatience = Duration.seconds(10)
  /// Between readings of the list of nodes.
  package var listInterval = Duration.seconds(1)
  /// The silence after which a node in the list is not taken for alive any more.
  package var seen = Duration.seconds(2)
  /// After an outage of the ledger, living nodes may be missing from the list of nodes for so long, until they register again.
  package var settling = Duration.seconds(2)
  /// The load that is expected of a room that was placed a short time ago, as a part of a node's capacity.
  package var expectedLoad = 0.01
  /// How long the expected load counts beside the reported one.
  package var rampUp = Duration.seconds(20)
  /// After which a node counts a room that was placed on it itself.
  package var roomCounted = Duration.seconds(3)
  /// How long a node believes what the ledger has said of a room's home. Two nodes that take each other for the home send a
  /// participant to and fro for no longer.
  package var homeKnown = Duration.seconds(2)
  /// Rooms of which a node remembers the home.
  package var knownRooms = 16_384
  /// Rooms of which a node is the home, at most.
  package var rooms = Int.max
  /// How long after its opening a room is opened again for a participant that has seen higher numbers, and how often in a row.
  package var recovery = Duration.seconds(60)
  package var reopenings = 3
  /// How long a join waits for the ledger.
  package var joinPatience = Duration.seconds(10)
  /// How long a receipt waits for the ledger.
  package var receiptPatience = Duration.seconds(10)
  /// Requests of one room on their way to the ledger, and the size of each.
  package var requests = 4
  package var entriesOfRequest = 64
  package var bytesOfRequest = 256 * 1024
  /// All that waits for the ledger at a node.
  package var waitingBytes = 16 * 1024 * 1024
  /// An entry that the room needs no longer stays in the log for so long: by then no sender repeats it.
  package var removalDelay = Duration.seconds(120)
  /// How often a home tells the ledger that a quiet room exists.
  package var renewal = Duration.seconds(3600)
  /// How long a node waits for a suspected home to be silent for `LedgerTimes.suspicion`.
  package var takeoverPatience = Duration.seconds(2)
  package var takeoverRetry = Duration.milliseconds(200)

  package init() {}
}
