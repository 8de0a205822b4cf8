// The SDK's callbacks as reports about one participant (`koine port --to call-agent`): the same file for every app.
import AzureCommunicationCalling
import Foundation

extension AzureCall {
  /// The SDK promises no queue for its callbacks.
  func onMain(_ work: @escaping (AzureCall) -> Void) {
    nonisolated(unsafe) let work = work
    DispatchQueue.main.async { [weak self] in if let self { work(self) } }
  }
  func observe(_ call: Call) {
    call.delegate = self
    call.feature(Features.dominantSpeakers).delegate = self
    call.feature(Features.dataChannel).delegate = self
    call.feature(Features.localUserDiagnostics).networkDiagnostics.delegate = self
  }

  /// Reports how the call differs from what has been reported.
  func update() {
    guard let call, !isOver else { return }
    if call.state == .disconnected { return ended(call.callEndReason) }
    guard [.connected, .localHold, .remoteHold].contains(call.state) else { return }
    if !hasEntered { entered() }
    let present = call.remoteParticipants.filter { [.connected, .hold].contains($0.state) }
    for person in participants.values where !present.contains(where: { $0 === person.remote }) { remove(person) }
    for remote in present where participants[remote.identifier.rawId] == nil { add(remote) }
    for person in Array(participants.values) { update(person) }
    updateLocal(call)
    updateSpeaker(call)
  }
  private func add(_ remote: RemoteParticipant) {
    let person = AzurePerson(remote, in: self)
    participants[person.id] = person
    remote.delegate = self
    report(.personJoined(person))
    report(.streamsKnown(person))
  }
  private func remove(_ person: AzurePerson) {
    for stream in Array(person.streams.values) { set(stream.kind, of: person, nil, isSent: false) }
    participants[person.id] = nil
    report(.personLeft(person))
  }
  private func update(_ person: AzurePerson) {
    guard let remote = person.remote else { return }
    set(.microphone, of: person, nil, isSent: !remote.isMuted)
    for (kind, type) in [(AzureStream.Kind.camera, VideoStreamSourceType.video), (.screen, .screenSharing)] {
      let stream = remote.incomingVideoStreams.last { $0.sourceType == type && $0.state != .notAvailable }
      set(kind, of: person, stream, isSent: stream != nil)
    }
  }
  private func updateLocal(_ call: Call) {
    set(.microphone, of: localParticipant, nil, isSent: hasMicrophone && !call.isOutgoingAudioMuted)
    let video: CallVideoStream? = camera ?? feed?.stream, share = screen?.stream
    set(.camera, of: localParticipant, video, isSent: video?.state == .started)
    set(.screen, of: localParticipant, share, isSent: share?.state == .started)
  }
  private func set(_ kind: AzureStream.Kind, of person: AzurePerson, _ source: CallVideoStream?, isSent: Bool) {
    let key = "\(kind)", old = person.streams[key], before = presenters.last
    if isSent == (old != nil), old?.source === source || !isSent { return }
    let new = isSent ? AzureStream(kind, of: person.id, source, in: self) : nil
    person.streams[key] = new
    if kind == .screen { presenters = presenters.filter { $0 != person.id } + (isSent ? [person.id] : []) }
    if presenters.last != before { report(.presenterChanged(presenters.last)) }
    if let old {
      views[old.id]?.show(nil)
      report(.streamRemoved(old, person))
    }
    if let new {
      views[new.id]?.show(video(kind, of: person))
      report(.streamAdded(new, person))
    }
  }
}

extension AzureCall: CallDelegate, RemoteParticipantDelegate, LocalVideoStreamDelegate {
  func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) { onMain { $0.update() } }
  func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) { onMain { $0.update() } }
  func call(_ call: Call, didUpdateOutgoingAudioState args: PropertyChangedEventArgs) { onMain { $0.update() } }
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeState args: PropertyChangedEventArgs) {
    onMain { $0.update() }
  }
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) {
    onMain { $0.update() }
  }
  func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didChangeVideoStreamState args: VideoStreamStateChangedEventArgs
  ) { onMain { $0.update() } }
  /// The SDK says whether a participant speaks, and measures no level: in dBov, as one that is heard or silent.
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeSpeakingState args: PropertyChangedEventArgs)
  {
    let level = [remoteParticipant.identifier.rawId: remoteParticipant.isSpeaking ? Float(-20) : -127]
    onMain { if !$0.isOver { $0.report(.levelsChanged(level)) } }
  }
  func localVideoStream(_ localVideoStream: LocalVideoStream, didChangeState args: VideoStreamStateChangedEventArgs) {
    onMain { $0.update() }
  }
}
