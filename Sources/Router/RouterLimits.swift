/// What keeps one participant, or one room, from using up the router.
package struct RouterLimits: Hashable, Sendable {
  package var rooms = Int.max
  /// Of one room.
  package var participants = 1000
  /// Published by one participant.
  package var tracks = 16
  /// Tracks one participant gets.
  package var subscriptions = 256
  /// Of a room, where more speak; the rest are not forwarded until they are louder.
  package var forwardedVoices = 5
  /// Data messages of one participant: a burst, then so many a second.
  package var dataBurst = 400.0
  package var dataPerSecond = 200.0
  /// Data messages kept for late joiners, of one room.
  package var historyCount = 256
  package var historyBytes = 256 * 1024
  /// Between losing a participant's connection or media path and telling the room that it dropped.
  package var dropGrace: Duration = .seconds(2)
  /// For a joined participant's first media connection.
  package var connectTimeout: Duration = .seconds(15)

  package init() {}
}
