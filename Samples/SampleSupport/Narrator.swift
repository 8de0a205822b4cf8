import Koine

/// Writes a line for each event of a call, for a person at a terminal: the local participant enters, remote participants join
/// and leave, streams are muted, the server is out of reach, the session is connected again.
final class Narrator: Sendable {
  private let observation = Lock<Observation?>(nil)
  private let wasConnected = Lock(false)
  private let room: String
  private let print: @Sendable (String) -> Void

  /// - Parameter print: takes a line on the world's delivery queue.
  init(_ session: Session, room: String, print: @escaping @Sendable (String) -> Void) {
    (self.room, self.print) = (room, print)
    if session.state == .connected { changed(to: .connected) }
    for participant in session.participants { print("\(participant.name) is here") }
    let new = session.observe { [weak self] event in self?.handle(event) }
    observation.withLock { $0 = new }
  }

  private func changed(to state: SessionState) {
    switch state {
    case .connected:
      let isBack = wasConnected.withLock { was in
        defer { was = true }
        return was
      }
      print(isBack ? "back in the room" : "in the room '\(room)'")
    case .reconnecting: print("the room is out of reach; trying to come back")
    case .idle, .connecting, .ended: break
    }
  }

  private func handle(_ event: SessionEvent) {
    switch event {
    case .stateChanged(let state): changed(to: state)
    case .waitingForAdmission: print("waiting to be let in")
    case .entryRequested(let participant): print("\(participant.name) asks to be let in")
    case .participantJoined(let participant): print("\(participant.name) joined")
    case .participantLeft(let participant, let reason):
      print("\(participant.name) " + (reason == .left ? "left" : reason == .removed ? "was removed" : "was lost"))
    case .streamMuted(let stream, let owner):
      let name = owner.isLocal ? "" : "\(owner.name): "
      print("\(name)\(stream.kind.title) \(stream.isMuted ? "off" : "on")")
    case .publishFailed(let stream, let error): print("the \(stream.kind.title) was not published: \(error.message)")
    case .failed(let error): print(error.message)
    default: break
    }
  }
}

extension Track.Kind {
  fileprivate var title: String {
    switch self {
    case .microphone: "microphone"
    case .camera: "camera"
    case .screen: "screen"
    case .screenSound: "screen's sound"
    }
  }
}
