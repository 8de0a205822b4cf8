import Foundation

// What a call tells: its delegate first, then its closures. On the delivery queue.

extension Call {
  func tellState() {
    let args = PropertyChangedEventArgs()
    delegate?.call(self, didChangeState: args)
    events.onStateChanged?(args)
  }

  func tellStart() {
    let args = PropertyChangedEventArgs()
    delegate?.call(self, didUpdateStartTime: args)
    events.onStartTimeUpdated?(args)
  }

  func notifyDelegate(added: [RemoteParticipant] = [], removed: [RemoteParticipant] = []) {
    let args = ParticipantsUpdatedEventArgs(added: added, removed: removed)
    delegate?.call(self, didUpdateRemoteParticipant: args)
    events.onRemoteParticipantsUpdated?(args)
  }

  func tellCount() {
    let args = PropertyChangedEventArgs()
    delegate?.call(self, didChangeTotalParticipantCount: args)
    events.onTotalParticipantCountChanged?(args)
  }

  /// The microphone, in the older words and in the newer.
  func tellMicrophone() {
    let args = PropertyChangedEventArgs()
    delegate?.call(self, didChangeMuteState: args)
    delegate?.call(self, didUpdateOutgoingAudioState: args)
    events.onIsMutedChanged?(args)
    events.onOutgoingAudioStateChanged?(args)
  }

  func tellLoudspeaker() {
    let args = PropertyChangedEventArgs()
    delegate?.call(self, didUpdateIncomingAudioState: args)
    events.onIncomingAudioStateChanged?(args)
  }

  func tellMutedByOthers() {
    let args = PropertyChangedEventArgs()
    delegate?.call(self, didGetMutedByOthers: args)
    events.onMutedByOthers?(args)
  }

  func notifyDelegate(added: LocalVideoStream? = nil, removed: LocalVideoStream? = nil) {
    guard added != nil || removed != nil else { return }
    let args = LocalVideoStreamsUpdatedEventArgs(added: added.map { [$0] } ?? [], removed: removed.map { [$0] } ?? [])
    delegate?.call(self, didUpdateLocalVideoStreams: args)
    events.onLocalVideoStreamsUpdated?(args)
  }
}
