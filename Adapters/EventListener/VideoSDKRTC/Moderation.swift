import CrossVendorConventions
import Foundation
import Koine
import KoineTokens

// Requests of one participant to another.

extension Meeting {
  /// Whether the token, if it is one of this style, lets its bearer decide about others.
  var mayModerate: Bool {
    guard let token = request.credential, let claims = try? JSONWebToken.parse(token).claims(as: VideoSDKToken.self)
    else {
      return true
    }
    return claims.permissions.contains(.moderate)
  }

  /// Ends the meeting for all participants.
  public func end() {
    guard let session = state.withLock({ $0.isOver ? nil : $0.session }) else { return }
    session.closeRoom()
  }

  func ask(_ participant: Participant, _ topic: String, needsRight: Bool = true, _ payload: String = "") {
    guard let session = state.withLock({ $0.isOver ? nil : $0.session }) else { return }
    guard !needsRight || mayModerate else { return report(.INVALID_PERMISSIONS) }
    do throws(Failure) {
      try session.send(DataMessage(topic: topic, payload: Array(payload.utf8), to: [participant.id]))
    } catch {
      report(VideoSDKError(error))
    }
  }

  /// Needs the right to moderate. Notifies the participant's app with a message on `topic`. The room also mutes the streams of
  /// this kind, even if that app ignores the message.
  func mute(_ participant: Participant, _ kind: Track.Kind, _ topic: String) {
    ask(participant, topic)
    guard let session = state.withLock({ $0.isOver ? nil : $0.session }), mayModerate else { return }
    for stream in session.participants.first(where: { $0.id == participant.id })?.tracks ?? []
    where stream.kind == kind && !stream.isMuted {
      session.mute(stream.id)
    }
  }

  func putOut(_ participant: Participant) {
    guard let session = state.withLock({ $0.isOver ? nil : $0.session }) else { return }
    guard mayModerate else { return report(.INVALID_PERMISSIONS) }
    session.remove(participant.id)
  }

  func report(_ error: VideoSDKError) {
    delivery.deliver { [weak self] in self?.notifyListeners { $0.onError(error: error) } }
  }

  /// On the delivery queue: handles a message from another participant or a recorder.
  func asked(_ message: ReceivedMessage, in session: Session) {
    let sender = message.sender
    switch message.topic {
    case Convention.mute: muteMic()
    case Convention.stopCamera: disableWebcam()
    case Convention.askMicrophone:
      notifyListeners { listener in
        listener.onMicRequested(participantId: sender, accept: { [weak self] in self?.unmuteMic() }, reject: {})
      }
    case Convention.askCamera:
      notifyListeners { listener in
        listener.onWebcamRequested(participantId: sender, accept: { [weak self] in self?.enableWebcam() }, reject: {})
      }
    case Convention.stop: stopOutput(named: String(decoding: message.payload, as: UTF8.self))
    case Convention.pin: if let change = PinChange(message.payload) { pinned(change) }
    default:
      guard let kind = Output.Kind(rawValue: message.topic),
        let words = RecorderStatus(message, from: session.services)
      else { return }  // another style's
      recorderSaid(kind, words, as: sender)
    }
  }
}

// Admission of waiting participants. On the delivery queue.
extension Meeting {
  func entryRequested(by guest: Koine.Participant, in session: Session) {
    notifyListeners { listener in
      listener.onEntryRequested(
        id: guest.id, name: guest.name, allow: { [weak session] in session?.admit(guest.id) },
        deny: { [weak session] in session?.deny(guest.id) })
    }
  }

  func entryResponded(_ id: String, _ admitted: Bool) {
    notifyListeners { $0.onEntryResponded(id: id, decision: admitted ? "allowed" : "denied") }
  }

  /// The local participant's own admission has been decided.
  func entryDecided(_ admitted: Bool) {
    let hadToAsk = state.withLock { state in
      defer { state.hasToAsk = false }
      return state.hasToAsk
    }
    if hadToAsk { entryResponded(localParticipant.id, admitted) }
  }
}

extension Participant {
  /// Unmutes the local participant's microphone. A remote participant's app is asked to unmute.
  public func enableMic() {
    if isLocal { meeting?.unmuteMic() } else { meeting?.ask(self, Convention.askMicrophone) }
  }

  /// Mutes the participant's microphone. A remote participant is muted without its consent.
  public func disableMic() {
    if isLocal { meeting?.muteMic() } else { meeting?.mute(self, .microphone, Convention.mute) }
  }

  public func enableWebcam() {
    if isLocal { meeting?.enableWebcam() } else { meeting?.ask(self, Convention.askCamera) }
  }

  public func disableWebcam() {
    if isLocal { meeting?.disableWebcam() } else { meeting?.mute(self, .camera, Convention.stopCamera) }
  }

  /// Removes a remote participant from the meeting. For the local participant, leaves the meeting.
  public func remove() {
    if isLocal { meeting?.leave() } else { meeting?.putOut(self) }
  }

  /// Sets the size in which this participant's video is received. For the local participant it changes `videoQuality` only:
  /// local video is sent in all sizes.
  public func setQuality(_ quality: VideoQuality) {
    update(quality)
    guard !isLocal, let session = meeting?.session else { return }
    for stream in videoSources { session.setPreference(Self.preference(for: quality), for: stream) }
  }

  static func preference(for quality: VideoQuality) -> LayerPreference {
    switch quality {
    case .high: LayerPreference()
    case .medium: LayerPreference(maximumHeight: 270)
    case .low: LayerPreference(maximumHeight: 180)
    }
  }
}
