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
    for id in reception.receivedIDs { suspend(id) }
    change(to: .connected)
    endKnocks()  // who still waits is told of again
    for participant in present { joined(participant) }
    for id in others.ids where !present.contains(where: { $0.id == id }) { waitFor(id) }
  }

  /// The stream is not received any more, but may be again soon; what is attached to it waits.
  private func suspend(_ id: Track.ID) {
    reception.stop(id, link)
    awaited.suspend(id)
  }

  private func waitFor(_ id: Participant.ID) {
    awaited.wait(for: id, until: later { core in core.left(id, .dropped) })
  }

  private func waitFor(_ id: Track.ID) {
    if !awaited.waits(for: id) { awaited.wait(for: id, until: later { core in core.removed(id) }) }
  }

  private func later(_ work: @escaping @Sendable (SessionCore) -> Void) -> Alarm {
    lane.post(at: scheduler.now + Self.patience) { [weak self] in
      guard let self, !self.state.isEnded else { return }
      work(self)
    }
  }

  /// Somebody who is known is in the room again, or still: tells only what has changed. Streams may follow in a moment.
  func isBack(_ participant: Participant) {
    awaited.end(participant.id)
    guard let known = others[participant.id] else { return }
    if known.attributes != participant.attributes { attributesChanged(participant.id, participant.attributes) }
    for stream in known.tracks { waitFor(stream.id) }
    for stream in participant.tracks { isBack(stream) }
  }

  /// A stream that is known is there again, or a new one has come.
  func isBack(_ stream: Track) {
    awaited.end(stream.id)
    guard others[stream.id] != nil else { return added(stream) }
    muted(stream.id, stream.isMuted)
    if awaited.resume(stream.id) { receive(stream) }
  }
}
