import CrossVendorConventions
import Koine

// From one meeting to another, with the same `Meeting` object.

extension Meeting {
  /// Leaves this meeting and enters another one. The remote participants' streams are disabled and the participants reported as
  /// left, then the local participant joins the other meeting, and `onMeetingJoined()` follows. Microphone and camera stay on or
  /// off. If the other meeting cannot be joined, the meeting ends, with the reason `LeaveReason.switchRoomFailed`.
  /// - Parameters:
  ///   - meetingId: the id of the other meeting.
  ///   - token: the token for it; empty: the token that is in use.
  public func switchTo(meetingId: String, token: String) { switchRoom(to: meetingId, token, nil) }

  /// The same, with the local participant's mode in the other meeting.
  public func switchTo(meetingId: String, token: String, mode: Mode) { switchRoom(to: meetingId, token, mode) }

  private func switchRoom(to room: String, _ token: String, _ mode: Mode?) {
    guard !room.isEmpty else { return report(.INVALID_MEETING_ID) }
    let (session, isBusy) = state.withLock { state -> (Session?, Bool) in
      guard !state.isSwitching else { return (nil, true) }
      guard state.hasJoined, !state.isOver, !state.isLeaving else { return (nil, false) }
      state.isSwitching = true
      return (state.session, false)
    }
    if isBusy { return report(.UNKNOWN_ERROR) }
    session?.world.delivery.deliver { [self] in leave(session, for: room, token, mode) }
  }

  // MARK: On the delivery queue

  private func leave(_ session: Session?, for room: String, _ token: String, _ mode: Mode?) {
    let isPossible = state.withLock { state in
      state.isSwitching = state.isSwitching && !state.isOver && !state.isLeaving
      return state.isSwitching
    }
    guard isPossible, let session else { return }
    setAttribute(Convention.switching, to: "1")
    state.withLock { $0.observation }?.cancel()
    let next = Session(nextRequest(room, token, mode), in: session.world)
    leaveOutputs()
    for owner in session.participants { departed(owner) }
    localParticipant.disableAll()
    localParticipant.update([:])
    if localParticipant.isPinned, localParticipant.update(.SHARE_AND_CAM, isOn: false) {
      notifyListeners { $0.onPinStateChanged(participantId: localParticipant.id, pinType: .SHARE_AND_CAM) }
    }
    start(next)
    follow(next)
    if let mode, localParticipant.update(mode) {
      notifyListeners { $0.onParticipantModeChanged(participantId: localParticipant.id, mode: mode) }
    }
    // The devices of the old session have stopped by then.
    session.leave { [self] in if !next.state.isEnded { enter(next) } }
    // The app may have left in one of the callbacks.
    if state.withLock({ $0.isLeaving }) { next.leave {} }
  }

  private func nextRequest(_ room: String, _ token: String, _ mode: Mode?) -> JoinRequest {
    state.withLock { state in
      if let mode { state.mode = mode }
      var request = state.request
      request.room = room
      if !token.isEmpty { request.credential = token }
      // The app's own attributes stay. Those that the meeting sets, such as a recording's, belong to the old room.
      request.attributes[Convention.mode] = state.mode == .CONFERENCE ? nil : state.mode.rawValue
      return request
    }
  }

  private func departed(_ owner: Koine.Participant) {
    guard let participant = participant(owner.id) else { return }
    participant.disableAll()
    state.withLock { $0.participants[owner.id] = nil }
    notifyListeners { listener in
      listener.onParticipantLeft(participant)
      listener.onParticipantLeft(participant, reason: .switchRoom)
    }
  }

  /// From now on the meeting is that of the next session, which has not joined yet.
  private func start(_ next: Session) {
    paused.withLock { $0 = [] }
    state.withLock { state in
      state.session = next
      state.request = next.request
      state.attributes = next.request.attributes
      state.participants = [:]
      (state.hasJoined, state.hasToAsk, state.isLimited) = (false, false, false)
      state.transcription = .TRANSCRIPTION_STOPPED
      (state.microphone, state.camera, state.screen) = (nil, nil, nil)
      (state.sharedMicrophone, state.sharedCamera, state.gate) = (nil, nil, nil)
      (state.presenters, state.pinned) = ([], [])
    }
  }
}
