/// What keeps one participant, or one room, from using up the router.
package struct RouterLimits: Hashable, Sendable {
  package var rooms = Int.max
  /// Of one room.
  package var participants = 1000
  /// Who are not seen, beside those.
  package var hiddenParticipants = 16
  /// Who wait to be let into one room.
  package var lobby = 64
  /// Published by one participant.
  package var tracks = 16
  /// Tracks one participant gets.
  package var subscriptions = 256
  /// Of a room, where more speak; the rest are not forwarded until they are louder.
  package var forwardedVoices = 5
  /// Of one participant, in bytes as they are written.
  package var attributeBytes = 16 * 1024
  /// Names, attributes and tracks of all in a room, in bytes as they are written: who comes is told them in one message.
  package var rosterBytes = 2 * 1024 * 1024
  /// Whatever one participant says that others are told of (data, attributes, tracks, mutes, its joining itself): a burst,
  /// then so many a second.
  package var dataBurst = 400.0
  package var dataPerSecond = 200.0
  /// The same in bytes.
  package var dataByteBurst = 4.0 * 1024 * 1024
  package var dataBytesPerSecond = 1024.0 * 1024
  /// Data messages with a lifetime that are kept for late joiners, of one room.
  package var historyCount = 1024
  package var historyBytes = 2 * 1024 * 1024
  /// Those that are kept as long as there is the room: a day's chat.
  package var persistentCount = 16_384
  package var persistentBytes = 8 * 1024 * 1024
  /// Between losing a participant's connection or media path and telling the room that it dropped, where it cannot come back.
  package var dropGrace: Duration = .seconds(2)
  /// The same where it can: how long a lost participant or identity is waited for.
  package var resumeGrace: Duration = .seconds(30)
  /// After a router has lost its memory: how long a room keeps every data message for those of its people who are still on
  /// their way back.
  package var recovery: Duration = .seconds(60)
  /// For a joined participant's first media connection.
  package var connectTimeout: Duration = .seconds(15)

  package init() {}
}
