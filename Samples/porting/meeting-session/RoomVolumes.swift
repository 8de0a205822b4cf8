// Volumes of layers read from the meeting session style: the same file for every app.
import Koine

/// An attendee with a changed volume.
struct RoomVolume: Sendable {
  /// The steps of a meeting, with its numbers.
  enum Level: Int, CaseIterable, CustomStringConvertible, Sendable {
    case muted = -1, notSpeaking, low, medium, high
    var description: String { ["muted", "notSpeaking", "low", "medium", "high"][rawValue + 1] }
    /// - Parameter level: in dBov, as the session has it.
    init(level: Int) {
      self = level < -55 ? .notSpeaking : level < -40 ? .low : level < -25 ? .medium : .high
    }
  }
  let attendee: Participant, level: Level
}
