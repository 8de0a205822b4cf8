import Foundation
package import Koine
import KoineAVFoundation
import KoineBackends

/// One's presence in a meeting: join, turn devices on and off, listen, leave.
///
/// Calls may come from any thread and return at once; success and failure are known from listener events.
public class Meeting: Equatable, @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    var participants: [String: Participant] = [:]
    var listeners = Listeners<any MeetingEventListener>()
    var hasJoined = false
    var isLeaving = false
    var isOver = false
    var microphone: LocalStream?
    var camera: LocalStream?
    var wantsMicrophone: Bool
    var wantsCamera: Bool
    var customCamera: CustomRTCMediaStream?
    var session: Session?
    var machineObservation: Observation?
  }

  public let id: String
  /// Usable from the start and after leaving.
  public let localParticipant: Participant
  public let meetingMode: Mode?
  private let world: Result<World, BackendAddressError>
  private let request: JoinRequest
  private let state: Lock<State>

  init(
    world: Result<World, BackendAddressError>, join request: JoinRequest, micEnabled: Bool, webcamEnabled: Bool,
    customCamera: CustomRTCMediaStream?, mode: Mode
  ) {
    self.world = world
    self.request = request
    id = request.room
    meetingMode = mode
    localParticipant = Participant(
      Koine.Participant(id: request.participantID ?? "", name: request.name, isLocal: true))
    state = Lock(State(wantsMicrophone: micEnabled, wantsCamera: webcamEnabled, customCamera: customCamera))
  }

  /// The session behind the meeting, once it is being joined; for figures that the style has no word for.
  package var session: Session? { state.withLock { $0.session } }

  var machine: Machine { if case .success(let world) = world { world.machine } else { .current } }

  public static func == (a: Meeting, b: Meeting) -> Bool { a.id == b.id }

  /// The others, keyed by participant id.
  public var participants: [String: Participant] { state.withLock { $0.participants } }

  public func addEventListener(_ meetingEventListener: any MeetingEventListener) {
    state.withLock { $0.listeners.add(meetingEventListener) }
  }

  public func removeEventListener(_ meetingEventListener: any MeetingEventListener) {
    state.withLock { $0.listeners.remove(meetingEventListener) }
  }

  // MARK: Coming and going

  public func join(cameraPosition: AVCaptureDevice.Position) {
    guard let world = usableWorld() else { return }
    let session = Session(request, in: world)
    let isFirst = state.withLock { state in
      guard state.session == nil, !state.isOver else { return false }
      state.session = session
      return true
    }
    guard isFirst else { return }  // joining twice changes nothing
    session.observe { [weak self, weak session] event in
      if let self, let session { self.handle(event, of: session) }
    }
    let observation = world.machine.observe { [weak self] in self?.handle($0) }
    state.withLock { $0.machineObservation = observation }
    if state.withLock({ $0.wantsMicrophone }) { startMicrophone() }
    if state.withLock({ $0.wantsCamera }) { startCamera() }
    session.join { _ in }  // how it went is told by events
  }

  public func join() { join(cameraPosition: .front) }

  public func leave() {
    let session = state.withLock { state -> Session? in
      guard !state.isOver, !state.isLeaving, let session = state.session else { return nil }
      state.isLeaving = true
      return session
    }
    guard let session else { return }  // not joined, or on the way out already
    session.world.delivery.deliver { [weak self] in
      guard let self, !self.state.withLock({ $0.isOver }) else { return }
      self.tell { $0.onMeetingStateChanged(meetingState: .CLOSING) }
    }
    session.leave {}
  }

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
      Delivery.main.deliver { [weak self] in self?.tell { $0.onSocketError(message: error.description) } }
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
      self?.tell { $0.onError(error: error) }
      self?.tell { $0.onMeetingStateChanged(meetingState: .CLOSED) }
    }
  }

  // MARK: Devices

  public func unmuteMic() {
    let (microphone, session) = state.withLock { state in
      state.wantsMicrophone = true
      return (state.microphone, state.session)
    }
    guard session != nil else { return }  // taken on joining
    if let microphone { microphone.setMuted(false) } else { startMicrophone() }
  }

  public func muteMic() {
    state.withLock { state in
      state.wantsMicrophone = false
      return state.microphone
    }?.setMuted(true)
  }

  /// Without an argument the camera given to `initMeeting`, else the machine's.
  public func enableWebcam(customVideoStream: CustomRTCMediaStream? = nil) {
    let session = state.withLock { state in
      state.wantsCamera = true
      if let customVideoStream { state.customCamera = customVideoStream }
      return state.session
    }
    if session != nil { startCamera() }
  }

  public func disableWebcam() {
    state.withLock { state in
      state.wantsCamera = false
      defer { state.camera = nil }
      return state.camera
    }?.unpublish()
  }

  private func startMicrophone() {
    start { session in
      let machine = session.world.machine
      guard machine.permission(.microphone) != .denied else { throw DeviceError.notAllowed("microphone") }
      return try session.publish(microphone: machine.makeMicrophone())
    } keep: { state, stream in
      guard state.microphone == nil, state.wantsMicrophone else { return false }
      state.microphone = stream
      return true
    } failure: { machine in
      machine.permission(.microphone) == .denied ? .ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED : .ERROR_GET_AUDIO_MEDIA
    }
  }

  private func startCamera() {
    let options = state.withLock { ($0.customCamera?.config ?? .h360p_w640p).publishOptions }
    let isCustom = state.withLock { $0.customCamera != nil }
    let side: Machine.Attachment = state.withLock { $0.customCamera?.facing } == .back ? .back : .front
    guard state.withLock({ $0.camera == nil }) else { return }
    start { session in
      let machine = session.world.machine
      guard machine.permission(.camera) != .denied else { throw DeviceError.notAllowed("camera") }
      let device = machine.devices(.camera).first { $0.attachment == side }
      let source = try machine.makeCamera(device?.id)
      return try session.publish(camera: source, options: isCustom ? options : VideoPublishOptions())
    } keep: { state, stream in
      guard state.camera == nil, state.wantsCamera else { return false }
      state.camera = stream
      return true
    } failure: { machine in
      machine.permission(.camera) == .denied ? .ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED : .ERROR_GET_VIDEO_MEDIA
    }
  }

  private func start(
    _ publish: (Session) throws -> LocalStream, keep: (inout State, LocalStream) -> Bool,
    failure: (Machine) -> VideoSDKError
  ) {
    guard let session = state.withLock({ $0.isOver || $0.isLeaving ? nil : $0.session }) else { return }
    do {
      let stream = try publish(session)
      if !state.withLock({ keep(&$0, stream) }) { stream.unpublish() }
    } catch {
      let code = failure(session.world.machine)
      session.world.delivery.deliver { [weak self] in self?.tell { $0.onError(error: code) } }
    }
  }

  // MARK: On the delivery queue

  private func handle(_ event: SessionEvent, of session: Session) {
    switch event {
    case .stateChanged(let new): changed(to: new)
    case .participantJoined(let newcomer):
      let participant = Participant(newcomer)
      state.withLock { $0.participants[newcomer.id] = participant }
      tell { $0.onParticipantJoined(participant) }
    case .participantLeft(let gone, _):
      guard let participant = state.withLock({ $0.participants.removeValue(forKey: gone.id) }) else { return }
      tell { $0.onParticipantLeft(participant) }
    case .streamAdded(let stream, let owner), .streamMuted(let stream, let owner):
      participant(owner)?.update(stream, isThere: true, in: session)
    case .streamRemoved(let stream, let owner):
      participant(owner)?.update(stream, isThere: false, in: session)
    case .dominantSpeakerChanged(let speaker): tell { $0.onSpeakerChanged(participantId: speaker) }
    case .failed(let error):
      tell { $0.onError(error: error.code == .device ? .ERROR_GET_VIDEO_MEDIA : VideoSDKError(error)) }
    case .attributesChanged, .messageReceived, .levelsChanged, .qualityChanged, .tileAdded, .tileChanged, .tileRemoved:
      break  // not in this style's vocabulary so far
    }
  }

  private func participant(_ owner: Koine.Participant) -> Participant? {
    owner.isLocal ? localParticipant : state.withLock { $0.participants[owner.id] }
  }

  private func changed(to new: SessionState) {
    switch new {
    case .idle: break
    case .connecting: tell { $0.onMeetingStateChanged(meetingState: .CONNECTING) }
    case .connected:
      let isFirst = state.withLock { state in
        defer { state.hasJoined = true }
        return !state.hasJoined
      }
      tell { $0.onMeetingStateChanged(meetingState: .CONNECTED) }
      if isFirst { tell { $0.onMeetingJoined() } }
    case .reconnecting: tell { $0.onMeetingStateChanged(meetingState: .RECONNECTING) }
    case .ended(let reason): ended(reason)
    }
  }

  private func ended(_ reason: EndReason) {
    let (hadJoined, others) = state.withLock { state in
      state.isOver = true
      state.machineObservation?.cancel()
      state.machineObservation = nil
      state.microphone = nil
      state.camera = nil
      defer { state.participants = [:] }
      return (state.hasJoined, state.participants)
    }
    for participant in others.values { participant.close() }
    localParticipant.close()
    switch reason {
    case .refused(let error): tell { $0.onError(error: VideoSDKError(error)) }
    case .duplicate: tell { $0.onError(error: .DUPLICATE_PARTICIPANT) }
    case .lost: tell { $0.onSocketError(message: "the connection to the room was lost") }
    case .left, .removed, .roomClosed: break
    }
    if hadJoined { tell { $0.onMeetingLeft() } }
    tell { $0.onMeetingStateChanged(meetingState: .CLOSED) }
  }

  /// A listener removed by another one meanwhile is not called any more.
  func tell(_ call: (any MeetingEventListener) -> Void) {
    for listener in state.withLock({ $0.listeners.all }) where state.withLock({ $0.listeners.contains(listener) }) {
      call(listener)
    }
  }
}
