/// A session's life: idle → connecting → connected ⇄ reconnecting → ended.
public enum SessionState: Sendable, Hashable {
  case idle, connecting, connected, reconnecting
  case ended(EndReason)

  public var isEnded: Bool { if case .ended = self { true } else { false } }
}

/// An event of a session. Events arrive in order, and the session's properties already agree with an event when it arrives.
public enum SessionEvent: Sendable {
  case stateChanged(SessionState)
  /// The local participant waits until a participant in the room admits it. The session stays `connecting` until then.
  case waitingForAdmission
  /// A participant waits for admission: call `admit` or `deny`.
  case entryRequested(Participant)
  /// A participant no longer waits: it was admitted, denied, or, if `admitted` is nil, has left or could not enter. Also reported,
  /// with nil, if the local participant may not decide any more.
  case entryRequestEnded(Participant, admitted: Bool?)
  case participantJoined(Participant)
  case participantLeft(Participant, DepartureReason)
  /// A stream was added. Local streams are reported, too, with the local participant.
  case streamAdded(Track, Participant)
  case streamRemoved(Track, Participant)
  /// A stream was muted or unmuted. Local streams are reported, too, also when a moderator has muted them.
  case streamMuted(Track, Participant)
  /// The room has accepted a local stream. Comes once, after `streamAdded`, which comes immediately.
  case streamPublished(Track)
  /// The room has refused a stream of one's own, or what it was to be made of did not start. If it had been told of,
  /// `streamRemoved` follows; publishing again is trying again.
  case publishFailed(Track, Failure)
  case attributesChanged(Participant)
  case messageReceived(ReceivedMessage)
  case levelsChanged([Participant.ID: Int])
  case dominantSpeakerChanged(Participant.ID?)
  /// The connection quality of these participants has changed. The level is that of the worse direction;
  /// `Session.pathQuality(of:)` has both. The local participant is reported, too.
  case qualityChanged([Participant.ID: ConnectionQuality.Level])
  case tileAdded(Tile)
  /// The size of what it shows, or whether it is paused, has changed.
  case tileChanged(Tile)
  case tileRemoved(Tile)
  /// The room's operator has changed the local participant's permissions. These are all that it has now.
  case permissionsChanged(Set<ParticipantPermission>)
  /// Something the app asked for could not be done; the session goes on.
  case failed(Failure)
}
