/// Notified of a meeting, on the delivery queue (main unless the app chose another). All methods are optional.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/events)
public protocol MeetingEventListener: AnyObject {
  func onMeetingJoined()
  /// Called in addition to `onMeetingJoined()`, as in later versions of the vendor's SDK.
  /// - Parameter switchMeetingId: the id of the meeting after `Meeting.switchTo`; nil after `join`.
  func onMeetingJoined(switchMeetingId: String?)
  func onMeetingLeft()
  func onParticipantJoined(_ participant: Participant)
  func onParticipantLeft(_ participant: Participant)
  func onSpeakerChanged(participantId: String?)
  func onSocketError(message: String)
  func onMeetingStateChanged(meetingState: MeetingState)
  func onError(error: VideoSDKError)
  /// Another microphone is in use, by choice or because one was plugged in or out.
  func onMicChanged(selectedDevice: String)
  /// Called in addition to `onMeetingLeft()`, as in later versions of the vendor's SDK.
  func onMeetingLeft(reason: LeaveReason)
  func onParticipantLeft(_ participant: Participant, reason: LeaveReason)
  /// Another participant asks the local one to unmute. The microphone stays muted unless the app calls `accept`.
  func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void)
  func onWebcamRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void)
  /// The participant that shares its screen has changed; nil: no screen is shared any more.
  func onPresenterChanged(activePresenterId: String?)
  /// A recording has started, by any participant. The next callbacks also report the outputs of all participants.
  func onRecordingStarted()
  /// As the vendor spelt it up to 2.5.
  func onRecordingStoppped()
  func onRecordingStopped()
  func onLivestreamStarted()
  func onLivestreamStopped()
  func onRecordingStateChanged(state: RecordingState)
  func onLivestreamStateChanged(state: LiveStreamState)
  func onHlsStateChanged(state: HLSState, hlsUrl: HLSUrl?)
  func onPinStateChanged(participantId: String, pinType: PinType)
  func onParticipantModeChanged(participantId: String, mode: Mode)
  /// The local participant's available bitrate is too low, or sufficient again. `type` is `CONGESTION`, `timestamp` is in milliseconds
  /// since 1970. The vendor added it in 2.4.
  func onQualityLimitation(type: QualityLimitationType, state: QualityLimitationState, timestamp: String)
  /// The same, as in releases from 3.0 on.
  func onQualityLimitation(type: QualityLimitationType, state: QualityLimitationState, timestamp: Int)
  /// A participant's microphone (`audio`) or camera (`video`) has been turned on or off.
  func onMediaStatusChanged(peerId: String, kind: String, newStatus: Bool)
  /// A participant waits for admission. Called on clients with a token that permits the decision. The participant keeps waiting
  /// until the app calls `allow` or `deny`.
  func onEntryRequested(id: String, name: String, allow: @escaping () -> Void, deny: @escaping () -> Void)
  /// A participant's admission has been decided: `decision` is `allowed` or `denied`. Called on the client of that participant
  /// and on clients that may decide.
  func onEntryResponded(id: String, decision: String)
  /// The room's live text has started or stopped, for any participant. A late joiner receives the present state.
  func onTranscriptionStateChanged(state: TranscriptionState)
  /// A participant, local or remote, has said something.
  func onTranscriptionText(_ data: TranscriptionText)
  /// `Meeting.pauseAllStreams` has paused the remote participants' streams: `audio`, `video`, `share`, or `all` of them.
  func onPausedAllStreams(kind: String)
  /// `Meeting.resumeAllStreams` has resumed them.
  func onResumedAllStreams(kind: String)
}

extension MeetingEventListener {
  public func onMeetingJoined() {}
  public func onMeetingJoined(switchMeetingId: String?) {}
  public func onMeetingLeft() {}
  public func onParticipantJoined(_ participant: Participant) {}
  public func onParticipantLeft(_ participant: Participant) {}
  public func onSpeakerChanged(participantId: String?) {}
  public func onSocketError(message: String) {}
  public func onMeetingStateChanged(meetingState: MeetingState) {}
  public func onError(error: VideoSDKError) {}
  public func onMicChanged(selectedDevice: String) {}
  public func onMeetingLeft(reason: LeaveReason) {}
  public func onParticipantLeft(_ participant: Participant, reason: LeaveReason) {}
  public func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {}
  public func onWebcamRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {}
  public func onPresenterChanged(activePresenterId: String?) {}
  public func onRecordingStarted() {}
  public func onRecordingStoppped() {}
  public func onRecordingStopped() {}
  public func onLivestreamStarted() {}
  public func onLivestreamStopped() {}
  public func onRecordingStateChanged(state: RecordingState) {}
  public func onLivestreamStateChanged(state: LiveStreamState) {}
  public func onHlsStateChanged(state: HLSState, hlsUrl: HLSUrl?) {}
  public func onPinStateChanged(participantId: String, pinType: PinType) {}
  public func onParticipantModeChanged(participantId: String, mode: Mode) {}
  public func onQualityLimitation(type: QualityLimitationType, state: QualityLimitationState, timestamp: String) {}
  public func onQualityLimitation(type: QualityLimitationType, state: QualityLimitationState, timestamp: Int) {}
  public func onMediaStatusChanged(peerId: String, kind: String, newStatus: Bool) {}
  public func onEntryRequested(id: String, name: String, allow: @escaping () -> Void, deny: @escaping () -> Void) {}
  public func onEntryResponded(id: String, decision: String) {}
  public func onTranscriptionStateChanged(state: TranscriptionState) {}
  public func onTranscriptionText(_ data: TranscriptionText) {}
  public func onPausedAllStreams(kind: String) {}
  public func onResumedAllStreams(kind: String) {}
}

/// Notified of one participant's streams, on the delivery queue.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/participant-class/events)
public protocol ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant)
  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant)
  /// The participant's microphone or camera has been turned on or off. The vendor added it in 3.0.
  func onMediaStatusChanged(peerId: String, kind: MediaType, newStatus: Bool)
}

extension ParticipantEventListener {
  public func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant) {}
  public func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant) {}
  public func onMediaStatusChanged(peerId: String, kind: MediaType, newStatus: Bool) {}
}

/// Event listeners. Classes are held weakly and once. A value cannot be told apart from another, so it is held for good, and
/// removing it does nothing.
struct Listeners<Listener> {
  private struct Entry {
    weak var object: AnyObject?
    let value: Listener?
  }

  private var entries: [Entry] = []

  mutating func add(_ listener: Listener) {
    entries.removeAll { $0.value == nil && $0.object == nil }
    guard type(of: listener as Any) is AnyClass else { return entries.append(Entry(object: nil, value: listener)) }
    let object = listener as AnyObject
    if !entries.contains(where: { $0.object === object }) { entries.append(Entry(object: object, value: nil)) }
  }

  /// Adds the listeners of an earlier state of this list that have been removed since, in front. Removed values stay away.
  mutating func restore(_ earlier: Listeners) {
    let removed = earlier.entries.filter { entry in
      entry.object != nil && !entries.contains { $0.object === entry.object }
    }
    entries = removed + entries
  }

  mutating func remove(_ listener: Listener) {
    guard type(of: listener as Any) is AnyClass else { return }
    entries.removeAll { $0.object === (listener as AnyObject) }
  }

  mutating func removeAll() { entries = [] }

  var all: [Listener] { entries.compactMap { $0.value ?? ($0.object as? Listener) } }

  func contains(_ listener: Listener) -> Bool {
    guard type(of: listener as Any) is AnyClass else { return true }
    return entries.contains { $0.object === (listener as AnyObject) }
  }
}
