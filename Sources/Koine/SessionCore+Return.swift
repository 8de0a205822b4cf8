// Back in a room that had forgotten us, or had given us up: what is known of it is made to agree with what it says now,
// and what it should know of us is said anew.

extension SessionCore {
  /// For so long those who were there before are waited for: a room that has lost its memory fills again one by one.
  private static let patience = Duration.seconds(45)

  func reentered(as known: Participant, others present: [Participant]) {
    for entry in own {
      link?.unpublish(entry.stream.id)  // it may have been said after the link had come back
      link?.publish(entry.stream, options: entry.options)
      entry.setWantedLayers(Array(entry.options.layers.indices))  // until the room says otherwise
    }
    for id in received.keys.sorted(by: { $0.description < $1.description }) { suspend(id) }
    change(to: .connected)
    for participant in knocks.values.sorted(by: { $0.id < $1.id }) {
      visible.tell(.entryRequestEnded(participant, admitted: nil))
    }
    knocks = [:]  // who still waits is told of again
    for participant in present { joined(participant) }
    for id in others.keys.sorted() where !present.contains(where: { $0.id == id }) { waitFor(id) }
  }

  /// The stream is not received any more, but may be again soon; what is attached to it waits.
  private func suspend(_ id: Track.ID) {
    if let sinks = received[id]?.sinks, !sinks.isEmpty { waitingSinks[id, default: StreamSinks()].add(sinks) }
    stopReceiving(id)
    suspended.insert(id)
  }

  private func waitFor(_ id: Participant.ID) {
    awaited[id]?.cancel()
    awaited[id] = later { core in core.left(id, .dropped) }
  }

  private func waitFor(_ id: Track.ID) {
    guard awaitedStreams[id] == nil else { return }
    awaitedStreams[id] = later { core in core.removed(id) }
  }

  private func later(_ work: @escaping @Sendable (SessionCore) -> Void) -> Alarm {
    lane.post(at: scheduler.now + Self.patience) { [weak self] in
      guard let self, !self.state.isEnded else { return }
      work(self)
    }
  }

  /// Whether it was there before the room forgot us, and has not been seen since.
  func isAwaited(_ id: Track.ID) -> Bool { awaited[id.participant] != nil || awaitedStreams[id] != nil }

  /// Somebody who is known is in the room again, or still: tells only what has changed. Streams may follow in a moment.
  func isBack(_ participant: Participant) {
    awaited.removeValue(forKey: participant.id)?.cancel()
    guard let known = others[participant.id] else { return }
    if known.attributes != participant.attributes { attributesChanged(participant.id, participant.attributes) }
    for stream in known.tracks { waitFor(stream.id) }
    for stream in participant.tracks { isBack(stream) }
  }

  /// A stream that is known is there again, or a new one has come.
  func isBack(_ stream: Track) {
    awaitedStreams.removeValue(forKey: stream.id)?.cancel()
    guard others[stream.id.participant]?.tracks.contains(where: { $0.id == stream.id }) == true else {
      return added(stream)
    }
    muted(stream.id, stream.isMuted)
    if suspended.remove(stream.id) != nil { receive(stream) }
  }

  func stopWaiting() {
    for alarm in awaited.values { alarm.cancel() }
    for alarm in awaitedStreams.values { alarm.cancel() }
    (awaited, awaitedStreams, suspended) = ([:], [:], [])
  }
}
