import KoineSignaling

/// What styles tell each other of things that the room itself has no word for: names of attributes and topics of messages.
///
/// Adapters know nothing of each other; whoever is muted, lowered or recorded should be so in every style all the same.
package enum RoomWord {
  /// Everything that begins so is between adapters, and nothing that an app has said.
  package static let prefix = "koine."

  // MARK: Attributes of a participant

  /// "1": has put the call on hold.
  package static let hold = "koine.hold"
  /// When the hand was raised, counted over the room: a number, rising.
  package static let hand = "koine.hand"
  /// "1": others shall look at this participant.
  package static let spotlight = "koine.spotlight"
  /// While the participant records the room: how far that is, in the words of whoever does.
  package static let recording = "koine.recording"
  /// The same for sending the room on to a live stream, and for making a playlist of it.
  package static let livestream = "koine.livestream"
  package static let playlist = "koine.playlist"
  /// How the participant takes part, where a style has more than one way.
  package static let mode = "koine.mode"

  // MARK: Topics of messages: orders, which the room passes on only from those who may moderate

  /// The addressees mute their microphones.
  package static let mute = DataOrder.prefix + "mute"
  /// The addressees stop their cameras.
  package static let stopCamera = DataOrder.prefix + "stop-camera"
  /// The addressees stop what one of the attributes above says; the payload is its name.
  package static let stop = DataOrder.prefix + "stop"
  /// The addressees lower their hands.
  package static let lowerHand = DataOrder.prefix + "lower-hand"
  /// The addressees set ("1") or take away ("0") their spotlight.
  package static let setSpotlight = DataOrder.prefix + "set-spotlight"

  // MARK: Topics of messages that everybody may send

  /// Asks the addressees whether they would unmute, or start their cameras.
  package static let askMicrophone = "koine.ask-microphone"
  package static let askCamera = "koine.ask-camera"
  /// Who is pinned, and how.
  package static let pin = "koine.pin"
  /// What the recorder beside the router does, where there is one: its names there (`Session.attendants`). A
  /// `RecordingWish` as a message of such a name, addressed to it, asks for it, and `stop` ends it. What becomes of it the
  /// recorder says in messages from and of that name (`RecorderWords`): to all, and to each who comes later.
  package static let ofRecorder = [recording, livestream, playlist]
  /// Text as it is typed.
  package static let text = "koine.text"
  /// Before the number of a data channel.
  package static let channel = "koine.channel."
}
