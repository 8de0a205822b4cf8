/// Participants and streams that were in a room before it forgot this session, until they are seen again or have been waited for long
/// enough; and the streams among them that are to be received again.
struct PendingRejoin {
  private var participants: [Participant.ID: Alarm] = [:]
  private var streams: [Track.ID: Alarm] = [:]
  private var suspended: Set<Track.ID> = []

  /// Whether the stream was there before, and has not been seen since.
  func contains(_ id: Track.ID) -> Bool { participants[id.participant] != nil || streams[id] != nil }

  /// - Parameter alarm: ends the waiting, and replaces one that was to do so before.
  mutating func wait(for id: Participant.ID, until alarm: Alarm) {
    participants[id]?.cancel()
    participants[id] = alarm
  }

  mutating func wait(for id: Track.ID, until alarm: Alarm) {
    streams[id]?.cancel()
    streams[id] = alarm
  }

  func waits(for id: Track.ID) -> Bool { streams[id] != nil }

  mutating func stopWaiting(for id: Participant.ID) { participants.removeValue(forKey: id)?.cancel() }
  mutating func stopWaiting(for id: Track.ID) { streams.removeValue(forKey: id)?.cancel() }

  /// The stream is to be received once it is there again.
  mutating func suspend(_ id: Track.ID) { suspended.insert(id) }

  /// - Returns: whether the stream was to be received again.
  @discardableResult
  mutating func resume(_ id: Track.ID) -> Bool { suspended.remove(id) != nil }

  mutating func endAll() {
    for alarm in participants.values { alarm.cancel() }
    for alarm in streams.values { alarm.cancel() }
    self = PendingRejoin()
  }
}
