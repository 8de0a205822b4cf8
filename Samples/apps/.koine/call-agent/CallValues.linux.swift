#sourceLocation(file: "Samples/apps/call-agent/CallValues.swift", line: 1)
import AzureCommunicationCalling

enum CallPhase: Equatable {
  case signedOut, signingIn, ready
  case inCall(CallState)
}

/// A line of the roster.
struct RosterEntry: Equatable {
  let name: String
  let isMuted: Bool

  var text: String { isMuted ? "\(name), muted" : name }
}

extension RemoteParticipant {
  /// Guests without a display name are listed by their identifier.
  var nameForDisplay: String { displayName.isEmpty ? identifier.rawId : displayName }
  var rosterEntry: RosterEntry { RosterEntry(name: nameForDisplay, isMuted: isMuted) }
}

/// A picture of the call screen.
struct Tile {
  /// The stream's; nil for the preview of the own camera.
  let id: Int32?
  let title: String
  let isShare: Bool
  let picture: RendererView
}
