import Koine

// What `getAudioStats` and its like tell: taken once a second while in the meeting.

extension Meeting {
  /// Bytes and packets counted for a stream so far.
  private struct Count {
    var bytes = 0, packets = 0
  }

  private static let interval = Duration.seconds(1)

  func followFigures(of session: Session) {
    let lane = session.world.backend.scheduler.lane("figures")
    Self.follow(session, self, [:], lane)
  }

  /// Holds neither, so that letting go of the meeting still leaves it.
  private static func follow(_ session: Session, _ meeting: Meeting, _ counts: [Track.ID: Count], _ lane: Lane) {
    weak let (heldSession, heldMeeting) = (session, meeting)
    lane.post(at: lane.scheduler.now + interval) {
      guard let session = heldSession, !session.state.isEnded else { return }
      session.statistics { figures in
        guard let session = heldSession, let meeting = heldMeeting else { return }
        let next = meeting.update(figures, since: counts)
        follow(session, meeting, next, lane)
      }
    }
  }

  /// On the delivery queue.
  /// - Returns: the counts so far.
  private func update(
    _ figures: SessionStatistics, since counts: [Track.ID: Count]
  ) -> [Track.ID: Count] {
    var next: [Track.ID: Count] = [:]
    var known: [String: [MediaType: [String: Any]]] = [:]
    let own = localParticipant.id
    for stream in figures.streams where stream.stream.kind != .screenSound {
      let (words, count) = Self.words(stream, figures, since: counts[stream.stream.id] ?? Count())
      next[stream.stream.id] = count
      let id = stream.outgoing == nil ? stream.stream.id.participant : own
      known[id, default: [:]][MediaType(stream.stream.kind)] = words
    }
    for participant in [localParticipant] + Array(participants.values) {
      participant.update(known[participant.id] ?? [:])
    }
    return next
  }

  private static func words(
    _ stream: StreamStatistics, _ figures: SessionStatistics, since last: Count
  ) -> ([String: Any], Count) {
    var count = last
    count.bytes = stream.outgoing?.bytes ?? stream.incoming?.bytes ?? 0
    count.packets = stream.outgoing?.packets ?? stream.incoming?.packets ?? 0
    var words: [String: Any] = [
      "jitter": stream.incoming?.jitter ?? 0.0, "bitrate": Double(max(count.bytes - last.bytes, 0)) * 8 / 1_000,
      "totalPackets": count.packets, "rtt": figures.roundTripTime ?? 0.0,
      "packetsLost": stream.incoming?.lost ?? stream.outgoing?.reportedLost ?? 0,
    ]
    if let codec = stream.codec { words["codec"] = codec.rawValue }
    if let sent = stream.sentVideo { words["size"] = ["width": sent.width, "height": sent.height] }
    if let video = stream.video {
      words["size"] = ["width": video.width, "height": video.height, "framerate": video.framesPerSecond]
    }
    return (words, count)
  }
}
