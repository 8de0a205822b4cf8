#sourceLocation(file: "Samples/apps/event-listener/CallState.swift", line: 1)
import Foundation
import WebRTC

/// All that the screens show of a call.
struct CallState: Equatable {
  enum Phase: Equatable {
    case idle, joining, connected, reconnecting, leaving
    case ended(String)
  }

  var phase = Phase.idle
  var roster: [RosterRow] = []
  var tiles: [Tile] = []
  var messages: [ChatMessage] = []
  var isMicrophoneOn = false
  var isCameraOn = false
  var isFrontCamera = true
  var isSharing = false
  var presenter: String?
  /// The latest problem that the call has survived.
  var notice: String?
  /// The question of a host to this user.
  var question: String?
}

struct RosterRow: Equatable {
  let id, name: String
  let isLocal, isMuted, isCameraOff, isPresenting, isSpeaking: Bool

  var text: String {
    var words = [isLocal ? "\(name) (you)" : name]
    if isSpeaking { words.append("speaking") }
    if isMuted { words.append("muted") }
    if isCameraOff { words.append("camera off") }
    if isPresenting { words.append("presenting") }
    return words.joined(separator: ", ")
  }
}

struct Tile: Equatable {
  enum Kind { case camera, share }
  struct ID: Hashable {
    let participantID: String
    let kind: Kind
  }

  let id: ID
  let caption: String
  let initials: String
  let isSpeaking: Bool
  /// Nil while the camera is off.
  let track: RTCVideoTrack?
}

struct ChatMessage: Equatable {
  let id, sender, text: String

  var line: String { "\(sender): \(text)" }
}

/// The answer of the app's own server to “let me into this meeting”.
struct Ring {
  let token, meetingID, participantID: String
}
