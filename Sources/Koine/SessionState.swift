/// A session's life: idle → connecting → connected ⇄ reconnecting → ended.
public enum SessionState: Sendable, Hashable {
  /// The session has not joined yet.
  case idle
  /// The session is joining, or waits for admission.
  case connecting
  /// The session is in the room.
  case connected
  /// The connection is interrupted, and the session tries to restore it.
  case reconnecting
  /// The session has ended. It cannot join again.
  case ended(EndReason)

  /// Whether the session has ended.
  public var isEnded: Bool { if case .ended = self { true } else { false } }
}

/// An event of a session. Events arrive in order, and the session's properties already agree with an event when it arrives.
public enum SessionEvent: Sendable {
  /// The session's state has changed.
  case stateChanged(SessionState)
  /// The local participant waits until a participant in the room admits it. The session stays `connecting` until then.
  case waitingForAdmission
  /// A participant waits for admission: call `admit` or `deny`.
  case entryRequested(Participant)
  /// A participant no longer waits: it was admitted, denied, or, if `admitted` is nil, has left or could not enter. Also reported,
  /// with nil, if the local participant may not decide any more.
  case entryRequestEnded(Participant, admitted: Bool?)
  /// A remote participant joined. Its streams follow.
  case participantJoined(Participant)
  /// A remote participant left, after its streams were removed.
  case participantLeft(Participant, DepartureReason)
  /// A stream was added. Local streams are reported, too, with the local participant.
  case streamAdded(Track, Participant)
  /// A stream was removed. Local streams are reported, too.
  case streamRemoved(Track, Participant)
  /// A stream was muted or unmuted. Local streams are reported, too, also when a moderator has muted them.
  case streamMuted(Track, Participant)
  /// The room has accepted a local stream. Comes once, after `streamAdded`, which comes immediately.
  case streamPublished(Track)
  /// The room has refused a stream of one's own, or what it was to be made of did not start. If it had been told of,
  /// `streamRemoved` follows; publishing again is trying again.
  case publishFailed(Track, Failure)
  /// A participant's attributes have changed. The local participant is reported, too.
  case attributesChanged(Participant)
  /// A data message arrived.
  case messageReceived(ReceivedMessage)
  /// Audio levels have changed, in dBov, for the participants in the dictionary.
  case levelsChanged([Participant.ID: Int])
  /// The dominant speaker has changed; nil: the room is quiet.
  case dominantSpeakerChanged(Participant.ID?)
  /// The connection quality of these participants has changed. The level is that of the worse direction;
  /// `Session.pathQuality(of:)` has both. The local participant is reported, too.
  case qualityChanged([Participant.ID: ConnectionQuality.Level])
  /// A tile was added, after its stream.
  case tileAdded(Tile)
  /// The size of what it shows, or whether it is paused, has changed.
  case tileChanged(Tile)
  /// A tile was removed, with its stream.
  case tileRemoved(Tile)
  /// The room's operator has changed the local participant's permissions. These are all that it has now.
  case permissionsChanged(Set<ParticipantPermission>)
  /// The room's transcription has started, has stopped, or has another language. `Session.transcription` has the same value. Late
  /// joiners get the present state.
  case transcriptionChanged(RoomTranscription)
  /// A participant, local or remote, has said something. A segment replaces earlier segments with its id. Late joiners get no earlier
  /// segments.
  case transcribed(TranscriptSegment)
  /// The transcript service cannot transcribe the room, or one of its participants.
  case transcriptionFailed(Failure)
  /// Something the app asked for could not be done; the session goes on.
  case failed(Failure)
}
