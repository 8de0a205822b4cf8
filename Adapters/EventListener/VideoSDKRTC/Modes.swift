import CrossVendorConventions
import Koine

// Participant modes and pins.

/// How a participant takes part in the meeting. The first two cases are the older names.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/participant-class/properties)
public enum Mode: String, Sendable {
  case CONFERENCE, VIEWER, SEND_AND_RECV, SIGNALLING_ONLY, RECV_ONLY

  var sends: Bool { self == .CONFERENCE || self == .SEND_AND_RECV }
  var receives: Bool { sends || self == .RECV_ONLY }
}

/// The pinned streams of a participant: camera, screen share or both.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/participant-class/methods)
public enum PinType: String, Sendable { case SHARE_AND_CAM, CAM, SHARE }

/// Whether a participant's camera and screen share are pinned.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/participant-class/properties)
public struct ParticipantPinState: Codable, Sendable, Hashable {
  public let cam: Bool?
  public let share: Bool?

  init(cam: Bool? = nil, share: Bool? = nil) { (self.cam, self.share) = (cam, share) }
}

extension Meeting {
  /// Changes the local participant's mode: sends and receives accordingly from now on. All participants are notified.
  public func changeMode(_ mode: Mode) {
    guard let session = state.withLock({ $0.isOver ? nil : $0.session }) else { return }
    let (old, streams) = state.withLock { state in
      let old = state.mode
      state.mode = mode
      let streams = [state.microphone, state.camera, state.screen]
      if !mode.sends { (state.microphone, state.camera, state.screen) = (nil, nil, nil) }
      return (old, mode.sends ? [] : streams.compactMap { $0 })
    }
    guard old != mode else { return }
    for stream in streams { stream.unpublish() }
    setAttribute(Convention.mode, to: mode.rawValue)
    if mode.sends, !old.sends { startDevices() }
    session.world.delivery.deliver { [self] in if mode.receives != old.receives { receive(mode.receives) } }
  }

  public var meetingMode: Mode? { state.withLock { $0.mode } }

  /// On the delivery queue: receives the remote participants' streams again, or stops receiving them.
  private func receive(_ isReceiving: Bool) {
    guard let session else { return }
    for owner in session.participants {
      for stream in owner.tracks {
        if isReceiving { session.subscribe(to: stream.id) } else { session.unsubscribe(from: stream.id) }
        participant(owner)?.update(stream, isThere: isReceiving, in: session)
      }
    }
  }

  /// On the delivery queue.
  func changedMode(_ owner: Koine.Participant) {
    guard let mode = owner.attributes[Convention.mode].flatMap(Mode.init), let participant = participant(owner),
      participant.update(mode)
    else { return }
    notifyListeners { $0.onParticipantModeChanged(participantId: owner.id, mode: mode) }
  }

  /// Sets one attribute of the local participant in the room and keeps the other attributes. Nil removes it.
  func setAttribute(_ name: String, to value: String?) {
    guard let session = state.withLock({ $0.isOver ? nil : $0.session }) else { return }
    let attributes = state.withLock { state in
      state.attributes[name] = value
      return state.attributes
    }
    session.setAttributes(attributes)
  }

  // MARK: Pins

  public var pinnedParticipants: [String: ParticipantPinState] {
    let all = [localParticipant] + Array(participants.values)
    return all.reduce(into: [:]) { pins, participant in
      if participant.isPinned { pins[participant.id] = participant.pinState }
    }
  }

  /// Notifies all participants of a pin, and for one hour also late joiners.
  func pin(_ participant: Participant, _ type: PinType, _ isOn: Bool) {
    guard let session = state.withLock({ $0.isOver ? nil : $0.session }) else { return }
    let change = PinChange(participant.id, isPinned: isOn, kind: type.rawValue)
    do throws(Failure) {
      try session.send(DataMessage(topic: Convention.pin, payload: change.payload, lifetime: .seconds(3_600)))
    } catch {
      return report(VideoSDKError(error))
    }
    session.world.delivery.deliver { [weak self] in self?.pinned(change) }
  }

  func participant(_ id: String) -> Participant? { id == localParticipant.id ? localParticipant : participants[id] }

  /// On the delivery queue.
  func pinned(_ change: PinChange) {
    state.withLock { change.apply(to: &$0.pinned) }
    guard let type = PinType(rawValue: change.kind), let found = participant(change.participant),
      found.update(type, isOn: change.isPinned)
    else { return }
    notifyListeners { $0.onPinStateChanged(participantId: found.id, pinType: type) }
    for output in outputs { output.layOut() }
  }
}

extension Participant {
  /// - Parameter peerId: id of the participant to pin; empty: this participant.
  public func pin(_ peerId: String = "", _ pinType: PinType = .SHARE_AND_CAM) {
    guard let meeting else { return }
    guard let who = peerId.isEmpty || peerId == id ? self : meeting.participant(peerId) else {
      return meeting.report(.INVALID_PARTICIPANT_ID)
    }
    meeting.pin(who, pinType, true)
  }
  public func pin(_ pinType: PinType) { meeting?.pin(self, pinType, true) }
  public func unpin(_ pinType: PinType = .SHARE_AND_CAM) { meeting?.pin(self, pinType, false) }
}
