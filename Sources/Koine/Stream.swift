/// What one participant publishes: a camera, a microphone, a share. A value as known at one moment.
public struct Stream: Sendable, Hashable, Identifiable {
  /// A stream's name in the room.
  public struct ID: Sendable, Hashable, CustomStringConvertible {
    public let participant: Participant.ID
    /// Unique among the participant's streams; a stream published anew has a new one.
    public let track: String

    public init(participant: Participant.ID, track: String) {
      self.participant = participant
      self.track = track
    }

    public var description: String { "\(participant)/\(track)" }
  }

  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    case microphone, camera, screen, screenSound
    public var isAudio: Bool { self == .microphone || self == .screenSound }
    public var isVideo: Bool { !isAudio }
  }

  public let id: ID
  public let kind: Kind
  /// The publisher sends nothing for now: silence, no pictures.
  public var isMuted: Bool

  public init(id: ID, kind: Kind, isMuted: Bool = false) {
    self.id = id
    self.kind = kind
    self.isMuted = isMuted
  }
}
