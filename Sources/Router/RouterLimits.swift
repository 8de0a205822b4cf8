/// Limits that keep one participant or one room from using up the router.
package struct RouterLimits: Hashable, Sendable {
  package var rooms = Int.max
  /// Participants in one room, hidden participants not included.
  package var participants = 1000
  /// Hidden participants in one room, in addition to `participants`.
  package var hiddenParticipants = 16
  /// Participants that wait to be admitted to one room.
  package var lobby = 64
  /// Tracks that one participant publishes.
  package var tracks = 16
  /// Tracks that one participant subscribes to.
  package var subscriptions = 256
  /// Voices of a room that are forwarded at the same time. Further voices are not forwarded until they are louder.
  package var forwardedVoices = 5
  /// Attributes of one participant, in bytes as they are written.
  package var attributeBytes = 16 * 1024
  /// Names, attributes and tracks of all participants in a room, in bytes as they are written. A joining participant gets them in
  /// one message.
  package var rosterBytes = 2 * 1024 * 1024
  /// Messages of one participant that are broadcast to others (data, attributes, tracks, mutes, its joins). After a burst of
  /// `dataBurst` messages, `dataPerSecond` are allowed each second.
  package var dataBurst = 400.0
  package var dataPerSecond = 200.0
  /// The burst limit of broadcast messages in bytes, and the bytes allowed each second after it.
  package var dataByteBurst = 4.0 * 1024 * 1024
  package var dataBytesPerSecond = 1024.0 * 1024
  /// Data messages with a lifetime that are kept for late joiners, of one room.
  package var historyCount = 1024
  package var historyBytes = 2 * 1024 * 1024
  /// Persistent data messages of one room, which are kept as long as the room exists: a day's chat.
  package var persistentCount = 16_384
  package var persistentBytes = 8 * 1024 * 1024
  /// Between losing a participant's connection or media path and telling the room that it dropped, where it cannot come back.
  package var dropGrace: Duration = .seconds(2)
  /// How long the router waits for a lost participant or identity that can come back.
  package var resumeGrace: Duration = .seconds(30)
  /// After a router restart: how long a room keeps every data message for participants that have not rejoined yet.
  package var recovery: Duration = .seconds(60)
  /// For a joined participant's first media connection.
  package var connectTimeout: Duration = .seconds(15)

  package init() {}
}
