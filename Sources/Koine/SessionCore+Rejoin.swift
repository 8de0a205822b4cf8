// The return to a room that had lost or dropped the local participant. The session updates its state to the room's current
// state, and publishes the local streams again.

extension SessionCore {
  /// How long the session waits for known participants to rejoin before it reports them as gone. After a router restart the
  /// participants rejoin one by one.
  private static let patience = Duration.seconds(45)

  func reentered(as known: Participant, others present: [Participant]) {
    for entry in own {
      link?.unpublish(entry.stream.id)  // the stream may have been published after the link had come back
      link?.publish(entry.stream, options: entry.options)
      entry.setWantedLayers(Array(entry.options.layers.indices))  // until the room says otherwise
    }
    for id in reception.receivedIDs { suspend(id) }
    for id in endedByRoom { pendingRejoin.suspend(id) }  // the credential may permit it now
    endedByRoom = []
    failTranscriptionRequests(Failure(.notConnected, "the room has lost the request"))
    change(to: .connected)
    endKnocks()  // the room reports waiting participants again
    for participant in present { joined(participant) }
    for id in others.ids where !present.contains(where: { $0.id == id }) { waitFor(id) }
  }

  /// Stops receiving a stream that may return soon. Its attached sinks stay attached.
  private func suspend(_ id: Track.ID) {
    reception.stop(id, link)
    pendingRejoin.suspend(id)
  }

  private func waitFor(_ id: Participant.ID) {
    pendingRejoin.wait(for: id, until: later { core in core.left(id, .dropped) })
  }

  private func waitFor(_ id: Track.ID) {
    if !pendingRejoin.waits(for: id) { pendingRejoin.wait(for: id, until: later { core in core.removed(id) }) }
  }

  private func later(_ work: @escaping @Sendable (SessionCore) -> Void) -> Alarm {
    lane.post(at: scheduler.now + Self.patience) { [weak self] in
      guard let self, !self.state.isEnded else { return }
      work(self)
    }
  }

  /// Handles a known participant that is in the room again, or still. Reports only changes. The participant's streams may follow
  /// later.
  func rejoined(_ participant: Participant) {
    pendingRejoin.stopWaiting(for: participant.id)
    guard let known = others[participant.id] else { return }
    if known.attributes != participant.attributes { attributesChanged(participant.id, participant.attributes) }
    for stream in known.tracks { waitFor(stream.id) }
    for stream in participant.tracks { rejoined(stream) }
  }

  /// Handles a known stream that is in the room again, or a new stream.
  func rejoined(_ stream: Track) {
    pendingRejoin.stopWaiting(for: stream.id)
    guard others[stream.id] != nil else { return added(stream) }
    muted(stream.id, stream.isMuted)
    if pendingRejoin.resume(stream.id) {
      receive(stream)
      showPause(of: stream)
    }
  }
}
