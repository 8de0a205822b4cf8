#sourceLocation(file: "Samples/apps/call-agent/CallModel+Delegates.swift", line: 1)
import AzureCommunicationCalling

extension CallModel: CallAgentDelegate, IncomingCallDelegate {
  func callAgent(_ callAgent: CallAgent, didRecieveIncomingCall incomingCall: IncomingCall) {
    incomingCall.delegate = self
    onMain { [weak self] in self?.didReceive(incomingCall) }
  }

  func incomingCall(_ incomingCall: IncomingCall, didEnd args: PropertyChangedEventArgs) {
    onMain { [weak self] in self?.didEnd(incomingCall) }
  }
}

extension CallModel: CallDelegate {
  func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {
    onMain { [weak self] in self?.didChangeState(of: call) }
  }

  func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
    let (added, removed) = (args.addedParticipants, args.removedParticipants)
    onMain { [weak self] in self?.didUpdate(added: added, removed: removed) }
  }

  func call(_ call: Call, didUpdateOutgoingAudioState args: PropertyChangedEventArgs) {
    onMain { [weak self] in self?.refresh() }
  }
}

extension CallModel: RemoteParticipantDelegate {
  func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didChangeVideoStreamState args: VideoStreamStateChangedEventArgs
  ) {
    guard let stream = args.stream as? RemoteVideoStream else { return }
    onMain { [weak self] in self?.didChange(stream, of: remoteParticipant) }
  }

  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) {
    onMain { [weak self] in self?.refresh() }
  }
}

extension CallModel: DominantSpeakersCallFeatureDelegate {
  func dominantSpeakersCallFeature(
    _ dominantSpeakersCallFeature: DominantSpeakersCallFeature,
    didChangeDominantSpeakers args: PropertyChangedEventArgs
  ) {
    onMain { [weak self] in self?.refresh() }
  }
}

extension CallModel: DeviceManagerDelegate {
  func deviceManager(_ deviceManager: DeviceManager, didUpdateCameras args: VideoDevicesUpdatedEventArgs) {
    let removed = args.removedVideoDevices
    onMain { [weak self] in self?.didLose(removed) }
  }
}
