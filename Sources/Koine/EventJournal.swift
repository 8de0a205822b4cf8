/// The newest events that a world's sessions have told, for messages about tests that fail.
package final class EventJournal: Sendable {
  package struct Entry: Sendable {
    package let time: Tick
    /// The name of the session's local participant.
    package let teller: String
    package let text: String
  }

  private let limit: Int
  private let kept = Lock<[Entry]>([])
  /// Names of participants with a connected session, by room and id.
  private let present = Lock<[String: [Participant.ID: String]]>([:])

  package init(limit: Int = 12) { self.limit = limit }

  package var entries: [Entry] { kept.withLock { $0 } }

  /// Names of the participants with a connected session, by id.
  package func people(in room: String) -> [Participant.ID: String] { present.withLock { $0[room] ?? [:] } }

  /// The rooms with a connected session, sorted.
  package var rooms: [String] { present.withLock { $0.filter { !$0.value.isEmpty }.keys.sorted() } }

  /// Adds an event that no session tells, such as a network cut.
  package func add(_ text: String, of teller: String, at time: Tick) {
    kept.withLock { kept in
      if kept.count == limit { kept.removeFirst() }
      kept.append(Entry(time: time, teller: teller, text: text))
    }
  }

  func add(_ event: SessionEvent, of teller: Participant, in room: String, at time: Tick) {
    switch event {
    case .stateChanged(.connected): present.withLock { $0[room, default: [:]][teller.id] = teller.name }
    case .stateChanged(.ended): present.withLock { $0[room]?[teller.id] = nil }
    default: break
    }
    if let text = event.headline { add(text, of: teller.name, at: time) }
  }
}

extension SessionEvent {
  /// Nil for events that come many times a second.
  fileprivate var headline: String? {
    switch self {
    case .stateChanged(let state): "\(state)"
    case .waitingForAdmission: "waits to be let in"
    case .participantJoined(let one): "\(one.name) joined"
    case .participantLeft(let one, let reason): "\(one.name) left (\(reason))"
    case .streamAdded(let stream, let owner): "\(stream.kind) of \(owner.name) added"
    case .streamRemoved(let stream, let owner): "\(stream.kind) of \(owner.name) removed"
    case .streamMuted(let stream, let owner):
      "\(stream.kind) of \(owner.name) \(stream.isMuted ? "muted" : "unmuted")"
    case .publishFailed(let stream, let error): "\(stream.kind) not published: \(error)"
    case .messageReceived(let message): "message from \(message.sender)"
    case .failed(let error): "failed: \(error)"
    case .entryRequested(let guest): "\(guest.name) asks to be let in"
    case .entryRequestEnded(let guest, _): "\(guest.name) no longer asks to be let in"
    case .permissionsChanged(let permissions):
      "may now: \(permissions.map(\.rawValue).sorted().joined(separator: ", "))"
    case .transcriptionChanged(let new):
      "transcription \(new.state)\(new.interruption.map { ", interrupted: \($0)" } ?? "")"
    case .transcribed(let segment): segment.isFinal ? "\(segment.participant) said “\(segment.text)”" : nil
    case .transcriptionFailed(let error): "transcription failed: \(error)"
    case .streamPublished, .attributesChanged, .levelsChanged, .dominantSpeakerChanged, .qualityChanged, .tileAdded,
      .tileChanged, .tileRemoved:
      nil
    }
  }
}
