/// A permission of a participant in its room. The participant's credential gives it; the room's operator may change it while the
/// participant is in the room.
public enum ParticipantPermission: String, Sendable, Hashable, Codable, CaseIterable {
  /// Permission to publish microphone audio.
  case microphone
  /// Permission to publish camera video.
  case camera
  /// Permission to publish screen video.
  case screen
  /// Permission to publish the audio of a shared screen.
  case screenSound
  /// Permission to receive other participants' tracks.
  case subscribe
  /// Permission to send data messages.
  case data
  /// Permission to remove participants, to mute their tracks, and to close the room.
  case moderate
  /// Permission to admit and to refuse participants that wait for admission.
  case admit
  /// Permission to have a co-located recorder record the room.
  case record
}
