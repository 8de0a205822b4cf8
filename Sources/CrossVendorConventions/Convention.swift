import KoineSignaling

/// Names of attributes and topics of messages by which apps of different vendors' styles understand each other where a room has no
/// feature of its own: a call on hold, a raised hand, a request to mute. For authors of styles.
///
/// Adapters do not depend on each other. When one adapter mutes a participant or lowers its hand, the participant is muted, or its
/// hand is lowered, in every style that follows these conventions.
public enum Convention {
  /// The prefix of all these names. An app's own attributes and topics do not begin with it.
  public static let prefix = "koine."

  // MARK: Attributes of a participant

  /// "1": the participant has put the call on hold.
  public static let hold = "koine.hold"
  /// The position of the raised hand among all that have been raised in the room: a number, rising.
  public static let hand = "koine.hand"
  /// "1": the participant is in the spotlight.
  public static let spotlight = "koine.spotlight"
  /// While the participant records the room: the progress of the recording, in the words of the recording app's style. It is also the
  /// name of the co-located recording service.
  public static let recording = "koine.recording"
  /// As `recording`, for a live stream of the room.
  public static let livestream = "koine.livestream"
  /// As `recording`, for a playlist (HLS) of the room.
  public static let playlist = "koine.playlist"
  /// The participant's mode, in styles that have several.
  public static let mode = "koine.mode"
  /// The app's data of the participant, as JSON.
  public static let metaData = "koine.metadata"
  /// The participant's role in a room whose back end gives roles: `presenter`, `collaborator`, `attendee` or `consumer`. A participant
  /// cannot set it: it comes from the token or from the server.
  public static let role = RoleAttribute.name
  /// "1": the participant is leaving for another room.
  public static let switching = "koine.switching"

  // MARK: Topics of messages that a room accepts only from participants that may moderate

  /// The addressees mute their microphones.
  public static let mute = DataOrder.prefix + "mute"
  /// The addressees stop their cameras.
  public static let stopCamera = DataOrder.prefix + "stop-camera"
  /// The addressees stop the output (`recording`, `livestream` or `playlist`) that the payload names.
  public static let stop = DataOrder.stop
  /// The addressees lower their hands.
  public static let lowerHand = DataOrder.prefix + "lower-hand"
  /// The addressees set (payload "1") or remove ("0") their spotlight.
  public static let setSpotlight = DataOrder.prefix + "set-spotlight"

  // MARK: Topics of messages of any participant

  /// Asks the addressees to unmute their microphones. Each decides.
  public static let askMicrophone = "koine.ask-microphone"
  /// Asks the addressees to start their cameras. Each decides.
  public static let askCamera = "koine.ask-camera"
  /// The pinned participant, and how it is pinned.
  public static let pin = "koine.pin"
  /// Real-time text, while it is typed.
  public static let text = "koine.text"
  /// The prefix of the topic of a value that the participants share: a retained message (`DataMessage.isRetained`). The value's key
  /// follows. The payload is a number of the sender's choice, a space, and the value as UTF-8; an empty payload removes the value.
  public static let store = "koine.store."
  /// The prefix of a data channel's topic; the channel's number follows.
  public static let channel = "koine.channel."

  /// Names of the co-located recording service (`Session.services`), where there is one. An `OutputRequest` to such a name, under
  /// the name as its topic, starts an output; `stop` ends it. The service reports in messages from and of that name
  /// (`RecorderStatus`): to all, and to each participant that joins later.
  public static let recordingServices = [recording, livestream, playlist]
}
