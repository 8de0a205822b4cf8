#sourceLocation(file: "Samples/apps/stage-strategy/Values.swift", line: 1)
import Foundation

/// Where the app is between the join screen and the end of the call.
enum StagePhase: Equatable {
  case idle
  case connecting
  case connected
  case reconnecting
  /// With a text for the reason.
  case ended(String)

  var isInCall: Bool {
    if case .ended = self { return false }
    return self != .idle
  }

  var text: String {
    switch self {
    case .idle: return "Enter the stage with your token."
    case .connecting: return "Connecting…"
    case .connected: return "On stage"
    case .reconnecting: return "Reconnecting…"
    case .ended(let reason): return reason
    }
  }
}

/// One line of the roster.
struct Member: Identifiable, Equatable {
  let id: String
  let name: String
  let isLocal: Bool
  let isMuted: Bool
  let isCameraOff: Bool
  let isSharing: Bool
  let isSpeaking: Bool

  var line: String {
    let marks = [
      (isLocal, "you"), (isMuted, "muted"), (isCameraOff, "camera off"), (isSharing, "sharing"),
      (isSpeaking, "speaking"),
    ].filter(\.0).map(\.1)
    return marks.isEmpty ? name : "\(name) (\(marks.joined(separator: ", ")))"
  }
}

/// One picture of the call screen.
struct Tile: Identifiable, Equatable {
  /// The URN of the image device, which stays the same from `didAdd` to `didRemove`.
  let id: String
  let memberID: String
  let caption: String
  let isShare: Bool
  let isOff: Bool
  let isSpeaking: Bool
}
