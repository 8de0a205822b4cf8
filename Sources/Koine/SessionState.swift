/// A session's life: idle → connecting → connected ⇄ reconnecting → ended.
public enum SessionState: Sendable, Hashable {
  case idle, connecting, connected, reconnecting
  case ended(EndReason)

  public var isEnded: Bool { if case .ended = self { true } else { false } }
}

/// What a session tells, in order. Whatever an event says, the session's properties already agree with it.
public enum SessionEvent: Sendable {
  case stateChanged(SessionState)
  /// Somebody in the room has to let us in; the session stays `connecting` until then.
  case waitingForAdmission
  /// Somebody waits to be let in: `admit` or `deny`.
  case entryRequested(Participant)
  /// Somebody waits no longer: let in, not let in, or, where `admitted` is nil, gone.
  case entryRequestEnded(Participant, admitted: Bool?)
  case participantJoined(Participant)
  case participantLeft(Participant, DepartureReason)
  /// Own streams come too, with the local participant.
  case streamAdded(Track, Participant)
  case streamRemoved(Track, Participant)
  /// Own streams too, by oneself or by somebody who may.
  case streamMuted(Track, Participant)
  /// The room has taken a stream of one's own. Comes once, after `streamAdded`, which comes at once.
  case streamPublished(Track)
  /// The room has refused a stream of one's own, or what it was to be made of did not start. If it had been told of,
  /// `streamRemoved` follows; publishing again is trying again.
  case publishFailed(Track, Failure)
  case attributesChanged(Participant)
  case messageReceived(ReceivedMessage)
  case levelsChanged([Participant.ID: Int])
  case dominantSpeakerChanged(Participant.ID?)
  /// Whose path has become better or worse, one's own too; the worse of its two ways. `Session.pathQuality(of:)` has both.
  case qualityChanged([Participant.ID: ConnectionQuality.Level])
  case tileAdded(Tile)
  /// The size of what it shows, or whether it is paused, has changed.
  case tileChanged(Tile)
  case tileRemoved(Tile)
  /// Something the app asked for could not be done; the session goes on.
  case failed(Failure)
}
