import CrossVendorConventions
import Foundation
package import Koine
import KoineAVFoundation
import KoineBackends
import KoineComposition

/// The local participant's meeting: join and leave it, enable and disable devices, and register listeners.
///
/// Calls may come from any thread and return at once. Listener events report success and failure.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/introduction)
public class Meeting: Equatable, @unchecked Sendable {  // everything mutable sits in `state`
  struct State {
    var participants: [String: Participant] = [:]
    var listeners = Listeners<any MeetingEventListener>()
    var hasJoined = false
    var isLeaving = false
    /// The listeners that were called with `CLOSING`.
    var listenersAtEnd = Listeners<any MeetingEventListener>()
    var isOver = false
    /// Keeps the meeting from `leave()` to its end: an app that releases it at once is still told of the end.
    var untilItsEnd: Alarm?
    /// The room, its credential and the local participant, as requested.
    var request: JoinRequest
    /// The meeting is on its way to another room, until that room has admitted the local participant.
    var isSwitching = false
    var observation: Observation?
    /// The local participant waits for admission, and no participant has decided yet.
    var hasToAsk = false
    /// What listeners were told last; before joining, and after the end, `CLOSED`.
    var told = MeetingState.CLOSED
    /// Given to `leave(reason:)`.
    var leaveReason = LeaveReason.manualLeaveCalled
    /// The state of the transcription that listeners were told last.
    var transcription = TranscriptionState.TRANSCRIPTION_STOPPED
    /// The local participant's available bitrate is too low.
    var isLimited = false
    var microphone: LocalStream?
    var camera: LocalStream?
    var wantsMicrophone: Bool
    var wantsCamera: Bool
    var side = Machine.Attachment.front
    /// What `switchWebcam` changes under the publication.
    var sharedCamera: SharedCamera?
    var customCamera: CustomRTCMediaStream?
    var customMicrophone: CustomRTCMediaStream?
    /// Kinds of remote streams that the room does not forward for now.
    var pausedKinds: Set<StreamKind> = []
    /// Whether the machine's own camera is sent in two sizes, so that each receiver gets the size that fits.
    var isMultiStream: Bool
    var session: Session?
    var machineObservation: Observation?
    /// The microphone's audio for uses besides the room, such as a composition.
    var sharedMicrophone: SharedMicrophone?
    var gate: MicrophoneGate?
    var screen: LocalStream?
    var presenters: [String] = []
    /// The pinned participants' ids, the one pinned last at the end.
    var pinned: [String] = []
    var mode: Mode
    /// The local participant's attributes in the room.
    var attributes: [String: String]
    var outputs: [Output.Kind: Output] = [:]
    /// The last report on each kind of output, with the participant or recorder that makes it.
    var stages: [Output.Kind: Output.Report] = [:]
  }

  /// The meeting's id; after `switchTo`, that of the new meeting.
  public var id: String { request.room }
  /// Usable from the start and after leaving.
  public let localParticipant: Participant
  public let pubsub: PubSub
  /// Values that the participants of the meeting share. The vendor added it in 2.2.7.
  public let realtimeStore = RealtimeStore()
  /// As given to `initMeeting`. Without effect: ICE chooses the path.
  public let preferredProtocol: PreferredProtocol
  /// As given to `initMeeting`. Without effect: `KOINE_BACKEND` is the address.
  public let signalingBaseUrl: String?
  /// The app's processor of the camera's frames; empty: none.
  let cameraEffects = VideoChain()
  /// Remote streams that the room does not forward for now.
  let paused = Lock<Set<Track.ID>>([])
  private let world: Result<World, BackendAddressError>
  var request: JoinRequest { state.withLock { $0.request } }
  let state: Lock<State>

  init(
    world: Result<World, BackendAddressError>, join request: JoinRequest, micEnabled: Bool, webcamEnabled: Bool,
    customCamera: CustomRTCMediaStream?, customMicrophone: CustomRTCMediaStream?, isMultiStream: Bool, mode: Mode,
    preferredProtocol: PreferredProtocol, signalingBaseUrl: String?
  ) {
    (self.world, self.preferredProtocol, self.signalingBaseUrl) = (world, preferredProtocol, signalingBaseUrl)
    localParticipant = Participant(
      Koine.Participant(
        id: request.participantID ?? "", name: request.name, attributes: request.attributes, isLocal: true), mode: mode)
    state = Lock(
      State(
        request: request, wantsMicrophone: micEnabled, wantsCamera: webcamEnabled, customCamera: customCamera,
        customMicrophone: customMicrophone, isMultiStream: isMultiStream, mode: mode, attributes: request.attributes))
    let report = Lock<@Sendable (VideoSDKError) -> Void>({ _ in })
    pubsub = PubSub { error in report.withLock { $0 }(error) }
    localParticipant.meeting = self
    report.withLock { $0 = { [weak self] error in self?.report(error) } }
  }

  /// The session behind the meeting, once it is being joined; for figures that the style has no word for.
  package var session: Session? { state.withLock { $0.session } }

  /// Where one is told, in a meeting or not.
  var delivery: Delivery { if case .success(let world) = world { world.delivery } else { .main } }
  var machine: Machine { if case .success(let world) = world { world.machine } else { .current } }

  public static func == (a: Meeting, b: Meeting) -> Bool { a.id == b.id }

  /// The state that listeners were told last; `CLOSED` before joining.
  public var meetingState: MeetingState { state.withLock { $0.told } }

  /// The state of the room's live text that listeners were told last.
  public var transcriptionState: TranscriptionState { state.withLock { $0.transcription } }

  /// The others, keyed by participant id.
  public var participants: [String: Participant] { state.withLock { $0.participants } }

  public func addEventListener(_ meetingEventListener: any MeetingEventListener) {
    state.withLock { $0.listeners.add(meetingEventListener) }
  }

  public func removeEventListener(_ meetingEventListener: any MeetingEventListener) {
    state.withLock { $0.listeners.remove(meetingEventListener) }
  }

  public func removeAllEventListeners() { state.withLock { $0.listeners.removeAll() } }

  // MARK: Coming and going

  public func join(cameraPosition: AVCaptureDevice.Position) {
    guard let world = usableWorld() else { return }
    state.withLock { state in
      let position = state.customCamera?.camera?.facing ?? cameraPosition
      state.side = position == .back ? .back : .front
    }
    RecordingService.serve(world)
    let session = Session(request, in: world)
    let isFirst = state.withLock { state in
      guard state.session == nil, !state.isOver else { return false }
      state.session = session
      return true
    }
    guard isFirst else { return }  // joining twice changes nothing
    let observation = world.machine.observe { [weak self] in self?.handle($0) }
    state.withLock { $0.machineObservation = observation }
    follow(session)
    enter(session)
  }

  func follow(_ session: Session) {
    let observation = session.observe { [weak self, weak session] event in
      if let self, let session { self.handle(event, of: session) }
    }
    state.withLock { $0.observation = observation }
  }

  /// Joins the session's room with the local participant's devices.
  func enter(_ session: Session) {
    pubsub.enter(session)
    realtimeStore.enter(session)
    startDevices()
    followFigures(of: session)
    AVAudioSession.of(session.world.machine).startCallAudio(
      category: .playAndRecord, mode: .voiceChat, options: .allowBluetooth)
    session.join { _ in }  // how it went is told by events
  }

  public func join() { join(cameraPosition: .front) }

  /// - Parameter reason: what the local listeners' `onMeetingLeft(reason:)` is called with.
  public func leave(reason: LeaveReason) {
    let session = state.withLock { state -> Session? in
      guard !state.isOver, !state.isLeaving, let session = state.session else { return nil }
      (state.isLeaving, state.leaveReason) = (true, reason)
      state.untilItsEnd = session.world.keep(self)
      return session
    }
    guard let session else { return }  // not joined, or on the way out already
    session.world.delivery.deliver { [self] in
      guard !state.withLock({ $0.isOver }) else { return }
      let listeners = state.withLock { state in
        state.listenersAtEnd = state.listeners
        return state.listeners.all
      }
      tell(.CLOSING, to: listeners)
    }
    session.leave {}
  }

  public func leave() { leave(reason: .manualLeaveCalled) }

  /// Finds the faults that keep a meeting from being joined at all; they are told like every other.
  private func usableWorld() -> World? {
    let fault: VideoSDKError?
    if request.room.isEmpty {
      fault = .INVALID_MEETING_ID
    } else if request.participantID?.contains(where: \.isWhitespace) == true {
      fault = .INVALID_PARTICIPANT_ID
    } else {
      fault = nil
    }
    switch world {
    case .success(let world):
      guard let fault else { return world }
      fail(fault, on: world.delivery)
    case .failure(let error):
      Delivery.main.deliver { [weak self] in self?.notifyListeners { $0.onSocketError(message: error.description) } }
      fail(.UNKNOWN_ERROR, on: .main)
    }
    return nil
  }

  private func fail(_ error: VideoSDKError, on delivery: Delivery) {
    let isFirst = state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
    guard isFirst else { return }
    delivery.deliver { [weak self] in
      self?.notifyListeners { $0.onError(error: error) }
      self?.tell(.CLOSED)
    }
  }

  // MARK: On the delivery queue

  private func handle(_ event: SessionEvent, of session: Session) {
    switch event {
    case .stateChanged(let new): changed(to: new)
    case .participantJoined(let newcomer):
      let participant = Participant(newcomer, mode: .CONFERENCE)
      participant.meeting = self
      pubsub.met(newcomer)
      state.withLock { $0.participants[newcomer.id] = participant }
      notifyListeners { $0.onParticipantJoined(participant) }
      outputsChanged(newcomer)
    case .participantLeft(let gone, let reason):
      pubsub.missed(gone)
      guard let participant = state.withLock({ $0.participants.removeValue(forKey: gone.id) }) else { return }
      notifyListeners { listener in
        listener.onParticipantLeft(participant)
        listener.onParticipantLeft(participant, reason: LeaveReason(reason, of: gone))
      }
      outputsChanged(gone, isGone: true)
    case .streamAdded(let stream, let owner), .streamMuted(let stream, let owner):
      guard owner.isLocal || state.withLock({ $0.mode.receives }) else { return session.unsubscribe(from: stream.id) }
      if !owner.isLocal { pauseIfWanted(stream, in: session) }
      participant(owner)?.update(stream, isThere: true, in: session)
      for output in outputs { output.changed(stream, isThere: true) }
    case .streamRemoved(let stream, let owner):
      participant(owner)?.update(stream, isThere: false, in: session)
      for output in outputs { output.changed(stream, isThere: false) }
    case .qualityChanged(let qualities): if let own = qualities[session.localParticipant.id] { qualityChanged(to: own) }
    case .attributesChanged(let participant):
      changedMode(participant)
      outputsChanged(participant)
    case .messageReceived(let message):
      if message.topic.hasPrefix(Convention.store) {
        realtimeStore.receive(message, in: session)
      } else if message.topic.hasPrefix(Convention.prefix) {
        asked(message, in: session)
      } else {
        pubsub.receive(message)
      }
    case .dominantSpeakerChanged(let speaker):
      for output in outputs { output.layOut() }
      notifyListeners { $0.onSpeakerChanged(participantId: speaker) }
    case .waitingForAdmission: state.withLock { $0.hasToAsk = true }
    case .entryRequested(let guest): entryRequested(by: guest, in: session)
    case .entryRequestEnded(let guest, let admitted):
      if let admitted { entryResponded(guest.id, admitted) }
    case .transcriptionChanged(let new): transcriptionChanged(to: new)
    case .transcribed(let segment): transcribed(segment, in: session)
    case .transcriptionFailed: notifyListeners { $0.onError(error: .TRANSCRIPTION_FAILED) }
    case .publishFailed(let stream, let error): publishingFailed(stream, error)
    case .failed(let error):  // of devices, the loudspeaker alone: a microphone says so itself
      notifyListeners { $0.onError(error: error.code == .device ? .ERROR_GET_AUDIO_MEDIA : VideoSDKError(error)) }
    case .levelsChanged, .tileAdded, .tileChanged, .tileRemoved, .streamPublished, .permissionsChanged:
      break  // the style has no words for it, or none here (Docs/styles/event-listener.md)
    }
  }

  private func qualityChanged(to quality: ConnectionQuality.Level) {
    let isLimited = quality != .high
    let isNew = state.withLock { state in
      defer { state.isLimited = isLimited }
      return state.isLimited != isLimited
    }
    guard isNew else { return }
    let time = Int(Date().timeIntervalSince1970 * 1_000)
    let new = isLimited ? QualityLimitationState.DETECTED : .RESOLVED
    notifyListeners { listener in
      listener.onQualityLimitation(type: .CONGESTION, state: new, timestamp: String(time))
      listener.onQualityLimitation(type: .CONGESTION, state: new, timestamp: time)
    }
  }

  func participant(_ owner: Koine.Participant) -> Participant? {
    owner.isLocal ? localParticipant : state.withLock { $0.participants[owner.id] }
  }

  private func changed(to new: SessionState) {
    switch new {
    case .idle: break
    case .connecting: tell(.CONNECTING)
    case .connected:
      let (isFirst, newRoom) = state.withLock { state in
        defer { (state.hasJoined, state.isSwitching) = (true, false) }
        return (!state.hasJoined, state.isSwitching ? state.request.room : nil)
      }
      entryDecided(true)
      tell(.CONNECTED)
      guard isFirst else { return }
      notifyListeners { listener in
        listener.onMeetingJoined()
        listener.onMeetingJoined(switchMeetingId: newRoom)
      }
    case .reconnecting: tell(.RECONNECTING)
    case .ended(let reason): ended(reason)
    }
  }

  /// The end is told to every listener that was registered when it began, with `CLOSING` where the app leaves, even if it is
  /// removed in one of these callbacks: apps remove their listener in `onMeetingLeft`, and others in the state `CLOSED`.
  private func ended(_ reason: EndReason) {
    let (hadJoined, isSwitching, others, listeners) = state.withLock { state in
      state.isOver = true
      state.observation = nil
      state.machineObservation?.cancel()
      state.machineObservation = nil
      state.microphone = nil
      state.transcription = .TRANSCRIPTION_STOPPED
      (state.camera, state.screen, state.sharedMicrophone, state.sharedCamera) = (nil, nil, nil, nil)
      defer { state.participants = [:] }
      var listeners = state.listeners
      listeners.restore(state.listenersAtEnd)
      defer { state.isSwitching = false }
      return (state.hasJoined || state.isSwitching, state.isSwitching, state.participants, listeners.all)
    }
    endOutputs()
    realtimeStore.close()
    for participant in others.values { participant.close() }
    localParticipant.close()
    switch reason {
    case .refused(let error) where error.code == .denied: entryDecided(false)
    case .refused(let error): notifyListeners { $0.onError(error: VideoSDKError(error)) }
    case .duplicate: notifyListeners { $0.onError(error: .DUPLICATE_PARTICIPANT) }
    case .expired: notifyListeners { $0.onError(error: VideoSDKError(Failure(.unauthorized, "the token has expired"))) }
    case .lost: notifyListeners { $0.onSocketError(message: "the connection to the room was lost") }
    case .left, .removed, .removedByService, .roomClosed, .roomClosedByService: break
    }
    tell(.CLOSED, to: listeners)
    if hadJoined {
      let code = reason == .left ? state.withLock { $0.leaveReason } : LeaveReason(reason, isSwitching: isSwitching)
      for listener in listeners {
        listener.onMeetingLeft()
        listener.onMeetingLeft(reason: code)
      }
    }
    state.withLock { $0.untilItsEnd }?.cancel()
  }

  /// - Parameter listeners: nil: those that are registered now.
  private func tell(_ new: MeetingState, to listeners: [any MeetingEventListener]? = nil) {
    state.withLock { $0.told = new }
    guard let listeners else { return notifyListeners { $0.onMeetingStateChanged(meetingState: new) } }
    for listener in listeners { listener.onMeetingStateChanged(meetingState: new) }
  }

  /// A listener removed by another one meanwhile is not called any more.
  func notifyListeners(_ call: (any MeetingEventListener) -> Void) {
    for listener in state.withLock({ $0.listeners.all }) where state.withLock({ $0.listeners.contains(listener) }) {
      call(listener)
    }
  }
}
