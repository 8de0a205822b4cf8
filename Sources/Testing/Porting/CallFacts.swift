/// What an app shows of a call at one moment, in the app's own words. ``PortingSuite`` compares the facts of two call layers.
///
/// The app's team writes one function that fills it from the protocol that both call layers conform to. A fact that the app does not show
/// stays at its default in both layers.
public struct CallFacts: Codable, Hashable, Sendable {
  /// A remote participant, as the app shows it.
  public struct Person: Codable, Hashable, Sendable {
    /// The name that the app shows.
    public var name: String
    /// Whether the app shows the participant as muted.
    public var isMuted: Bool
    /// Whether the app shows camera video of the participant.
    public var hasVideo: Bool
    /// Whether the app shows that the participant shares a screen.
    public var isSharing: Bool

    /// Creates a participant as an app shows it.
    public init(name: String, isMuted: Bool = false, hasVideo: Bool = false, isSharing: Bool = false) {
      self.name = name
      self.isMuted = isMuted
      self.hasVideo = hasVideo
      self.isSharing = isSharing
    }
  }

  /// A message, as the app shows it.
  public struct Message: Codable, Hashable, Sendable {
    /// The sender, as the app names it.
    public var from: String
    /// The message's text.
    public var text: String

    /// Creates a message as an app shows it.
    public init(from: String, text: String) {
      self.from = from
      self.text = text
    }
  }

  /// The phase of the call, such as `joining`, `inCall` or `ended`.
  public var phase: String
  /// The case of the error or of the end that the app shows; nil: the app shows none. A case and not a text: `removed`, not "You were
  /// removed from the call."
  public var end: String?
  /// Whether the app shows the microphone as on.
  public var isMicrophoneOn: Bool
  /// Whether the app shows the camera as on.
  public var isCameraOn: Bool
  /// Whether the app shows that it shares its screen.
  public var isSharing: Bool
  /// The remote participants. Their order is not compared; an app with an order of its own puts it into `own`.
  public var people: [Person]
  /// The messages, in the order in which the app shows them, the app's own messages included.
  public var messages: [Message]
  /// The name of the participant that the app marks as speaking; nil: none.
  public var activeSpeaker: String?
  /// Further facts of the app, by names of the app's choice.
  public var own: [String: String]

  /// Creates the facts of a call.
  public init(
    phase: String, end: String? = nil, isMicrophoneOn: Bool = false, isCameraOn: Bool = false, isSharing: Bool = false,
    people: [Person] = [], messages: [Message] = [], activeSpeaker: String? = nil, own: [String: String] = [:]
  ) {
    self.phase = phase
    self.end = end
    self.isMicrophoneOn = isMicrophoneOn
    self.isCameraOn = isCameraOn
    self.isSharing = isSharing
    self.people = people
    self.messages = messages
    self.activeSpeaker = activeSpeaker
    self.own = own
  }
}

extension CallFacts {
  /// The value of a fact that is not there, such as the mute state of a participant that is not in the list.
  static let none = "–"
  /// The name of the fact `activeSpeaker`.
  static let speaker = "activeSpeaker"

  /// Each fact under its name in reports: `phase`, `people`, `people.Bea.muted`, `messages`, `own.KEY`.
  var byName: [String: String] {
    var facts = [
      "phase": phase, "end": end ?? Self.none, "microphone": Self.word(isMicrophoneOn), "camera": Self.word(isCameraOn),
      "share": Self.word(isSharing), Self.speaker: activeSpeaker ?? Self.none,
      "people": people.map(\.name).sorted().joined(separator: ", "),
      "messages": messages.map { "\($0.from): \($0.text)" }.joined(separator: "; "),
    ]
    for person in people {
      facts["people.\(person.name).muted"] = Self.word(person.isMuted)
      facts["people.\(person.name).video"] = Self.word(person.hasVideo)
      facts["people.\(person.name).shares"] = Self.word(person.isSharing)
    }
    for (key, value) in own { facts["own.\(key)"] = value }
    return facts
  }

  static func word(_ value: Bool) -> String { value ? "yes" : "no" }
}
