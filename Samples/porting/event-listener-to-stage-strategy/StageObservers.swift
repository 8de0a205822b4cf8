// The SDK's questions and callbacks (`koine port --to stage-strategy`): the same file for every app.
import AmazonIVSBroadcast
import Foundation

extension StageCall: IVSStageStrategy {
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { true }
  func stage(
    _ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo
  ) -> [IVSLocalStageStream] {
    [screen?.isOn == true ? screen?.stream : camera, microphone].compactMap { $0 }
  }
  func stage(
    _ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo
  ) -> IVSStageSubscribeType { received[participant.participantId] == [.microphone] ? .audioOnly : .audioVideo }
  func report(_ event: StageReport) { handler?(event, self) }
}

extension StageCall: IVSStageRenderer {
  func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?) {
    switch connectionState {
    case .connecting: report(.phaseChanged(hasEntered ? .reconnecting : .connecting))
    case .connected:
      report(.phaseChanged(.connected))
      if !hasEntered { (hasEntered, _) = (true, report(.joined)) }
    case .disconnected: end(error)
    @unknown default: break
    }
  }
  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
    let id = participant.participantId
    guard !participant.isLocal, participants[id] == nil else { return }
    let names = [participant.attributes["username"], participant.attributes["name"], participant.userId, id]
    let name = names.lazy.compactMap { $0 }.first { !$0.isEmpty } ?? id
    let person = StagePerson(id: id, name: name, isLocal: false)
    participants[id] = person
    if isEntering, participant.capabilities.contains(.subscribe) { expected.insert(id) } else { arrive(person) }
  }
  private func arrive(_ person: StagePerson) {
    report(.personJoined(person))
    report(.streamsKnown(person))
  }
  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    guard !participant.isLocal, let person = participants[participant.participantId] else { return }
    remove(person.sources.map(\.source), of: person)
    participants[person.id] = nil
    if expected.remove(person.id) == nil { report(.personLeft(person)) }
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
    guard let person = person(participant) else { return }
    isEntering = false
    if expected.remove(person.id) != nil { arrive(person) }
    for stream in streams {
      let isAudio = stream.device is any IVSAudioDevice
      // A share of another participant is a video beside the one that came first.
      let isScreen = person.isLocal ? stream === screen?.stream : person.sources.contains { $0.kind == .camera }
      if isAudio, person.sources.contains(where: { $0.kind == .microphone }) { continue }
      let new = StageStream(isAudio ? .microphone : isScreen ? .screen : .camera, of: person.id, stream)
      person.sources.append(new)
      set(new, of: person, isSent: !stream.isMuted)
    }
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
    if let person = person(participant) { remove(streams, of: person) }
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]) {
    guard let person = person(participant) else { return }
    for one in person.sources where streams.contains(where: { $0 === one.source }) {
      set(one, of: person, isSent: !one.source.isMuted)
    }
  }

  private func person(_ info: IVSParticipantInfo) -> StagePerson? {
    info.isLocal ? localParticipant : participants[info.participantId]
  }
  func remove(_ streams: [IVSStageStream], of person: StagePerson) {
    for one in person.sources where streams.contains(where: { $0 === one.source }) {
      person.sources.removeAll { $0 === one }
      set(one, of: person, isSent: false)
    }
  }
  private func set(_ stream: StageStream, of person: StagePerson, isSent: Bool) {
    let key = "\(stream.kind)", before = presenters.last
    guard isSent == (person.streams[key] == nil) else { return }
    person.streams[key] = isSent ? stream : nil
    if stream.kind == .screen { presenters = presenters.filter { $0 != person.id } + (isSent ? [person.id] : []) }
    if presenters.last != before { report(.presenterChanged(presenters.last)) }
    if let device = stream.source.device as? any IVSAudioDevice { measure(isSent ? device : nil, device, person.id) }
    report(isSent ? .streamAdded(stream, person) : .streamRemoved(stream, person))
  }
  /// - Parameter sent: nil: the participant sends no sound.
  private func measure(_ sent: (any IVSAudioDevice)?, _ device: any IVSAudioDevice, _ id: String) {
    device.setStatsCallback(sent == nil ? nil : { [weak self] in self?.measure(id, $0.rms) })
    if sent == nil { measure(id, nil) }
  }
  private func measure(_ id: String, _ rms: Float?) {
    let before = meter.speaker
    if let rms, !isOver { report(.levelsChanged([id: rms])) }
    meter.measure(id, rms)
    if meter.speaker != before, !isOver { report(.speakerChanged(meter.speaker)) }
  }
}

extension StageCall: IVSErrorDelegate {
  func switchCamera() { use(side == .front ? .back : .front) }
  func use(_ side: Side) {
    self.side = side
    let position = side == .front ? IVSDevicePosition.front : .back
    let source = cameras?.listAvailableInputSources().first { $0.position == position }
    if let source { cameras?.setPreferredInputSource(source) }
  }
  /// On any thread. The SDK tries again itself after 1020 to 1022, which it also reports of a device that fails.
  func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
    let kind: StageStream.Kind? = source is IVSCamera ? .camera : source is IVSMicrophone ? .microphone : nil
    let code = (error as NSError).code
    DispatchQueue.main.async { [weak self] in
      guard let self, !isOver else { return }
      if let kind { fail(kind) } else if !(1020...1022).contains(code) { report(.failed(StageFailure(code))) }
    }
  }
}
