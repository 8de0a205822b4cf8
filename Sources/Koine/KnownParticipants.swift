/// The remote participants of a session's room, with their streams. Each mutating method returns the event to report, if the
/// state has changed.
struct KnownParticipants {
  private var participants: [Participant.ID: Participant] = [:]

  subscript(id: Participant.ID) -> Participant? { participants[id] }
  subscript(id: Track.ID) -> Track? { participants[id.participant]?.tracks.first { $0.id == id } }

  /// In the order of the alphabet.
  var ids: [Participant.ID] { participants.keys.sorted() }

  /// - Returns: whether the participant is new.
  mutating func add(_ participant: Participant) -> Bool {
    guard participants[participant.id] == nil else { return false }
    participants[participant.id] = participant
    return true
  }

  mutating func remove(_ id: Participant.ID) -> Participant? { participants.removeValue(forKey: id) }

  /// - Returns: the owner.
  mutating func add(_ stream: Track) -> Participant? {
    if self[stream.id] == nil { participants[stream.id.participant]?.tracks.append(stream) }
    return participants[stream.id.participant]
  }

  /// - Returns: the stream, and its owner without it.
  mutating func remove(_ id: Track.ID) -> (Track, Participant)? {
    guard let stream = self[id] else { return nil }
    participants[id.participant]?.tracks.removeAll { $0.id == id }
    return participants[id.participant].map { (stream, $0) }
  }

  mutating func setMuted(_ isMuted: Bool, _ id: Track.ID) -> (Track, Participant)? {
    guard let index = participants[id.participant]?.tracks.firstIndex(where: { $0.id == id }),
      participants[id.participant]?.tracks[index].isMuted != isMuted
    else { return nil }
    participants[id.participant]?.tracks[index].isMuted = isMuted
    return participants[id.participant].map { ($0.tracks[index], $0) }
  }

  mutating func setAttributes(_ attributes: [String: String], of id: Participant.ID) -> Participant? {
    participants[id]?.attributes = attributes
    return participants[id]
  }
}
