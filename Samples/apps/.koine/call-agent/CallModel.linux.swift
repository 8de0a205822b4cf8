#sourceLocation(file: "Samples/apps/call-agent/CallModel.swift", line: 1)
import AVFoundation
import AzureCommunicationCalling
import AzureCommunicationCommon
import Combine
import Foundation

/// Owns the objects of the calling SDK and publishes what the screens show. Used on the main thread.
final class CallModel: NSObject, ObservableObject {
  @Published private(set) var phase = CallPhase.signedOut
  /// The caller's name while an incoming call rings.
  @Published private(set) var caller: String?
  @Published private(set) var roster: [RosterEntry] = []
  @Published private(set) var activeSpeaker: String?
  @Published private(set) var isMuted = false
  /// The name of the camera that is on.
  @Published private(set) var camera: String?
  @Published private(set) var isSharing = false
  /// The last failure, or the reason for the end of the last call.
  @Published private(set) var notice: String?

  let video = VideoTiles()
  let chat = ChatChannel()

  private let clock: any Clock<Duration>
  private var name = ""
  private var client: CallClient?
  private var agent: CallAgent?
  private var deviceManager: DeviceManager?
  private var call: Call?
  private var incomingCall: IncomingCall?
  private var cameraStream: LocalVideoStream?
  private var slides: SlideShare?

  init(clock: any Clock<Duration> = ContinuousClock()) {
    self.clock = clock
    super.init()
    video.didFail = { [weak self] tile in
      self?.notice = "\(tile.title): The picture does not start."
      if tile.id == nil { self?.turnCameraOff() }
    }
    chat.nameOf = { [weak self] sender in
      self?.call?.remoteParticipants.first { $0.identifier.rawId == sender.rawId }?.nameForDisplay
    }
  }

  // MARK: Signing in

  func askForPermissions() {
    AVAudioSession.sharedInstance().requestRecordPermission { _ in
      AVCaptureDevice.requestAccess(for: .video) { _ in }
    }
  }

  func signIn(token: String, name: String) {
    guard phase == .signedOut else { return }
    notice = nil
    guard let credential = try? CommunicationTokenCredential(token: token) else {
      return tell("The sign-in data is damaged. Please sign in again.")
    }
    phase = .signingIn
    self.name = name
    let options = CallAgentOptions()
    options.displayName = name
    let client = CallClient()
    self.client = client
    client.createCallAgent(userCredential: credential, options: options) { [weak self] agent, error in
      agent?.delegate = self
      onMain { self?.didSignIn(agent, error) }
    }
  }

  private func didSignIn(_ agent: CallAgent?, _ error: Error?) {
    guard let agent else {
      phase = .signedOut
      return tell(CallText.ofError(error, during: "Signing in"))
    }
    self.agent = agent
    client?.getDeviceManager { [weak self] manager, _ in
      onMain {
        manager?.delegate = self
        self?.deviceManager = manager
        self?.phase = .ready
      }
    }
  }

  // MARK: Calls

  func join(room: String) {
    guard let agent, begin() else { return }
    let options = JoinCallOptions()
    prepare(options)
    agent.join(with: RoomCallLocator(roomId: room), joinCallOptions: options, completionHandler: take("Joining"))
  }

  func ring(_ callee: String) {
    guard let agent, begin() else { return }
    let options = StartCallOptions()
    prepare(options)
    let callees = [CommunicationUserIdentifier(callee)]
    agent.startCall(participants: callees, options: options, completionHandler: take("Calling"))
  }

  func accept() {
    guard let incomingCall, begin() else { return }
    let options = AcceptCallOptions()
    prepare(options)
    incomingCall.accept(options: options, completionHandler: take("Answering"))
    forgetIncomingCall()
  }

  func decline() {
    incomingCall?.reject(completionHandler: reporting("Declining"))
    forgetIncomingCall()
  }

  func leave() {
    guard case .inCall = phase else { return }
    phase = call == nil ? .ready : .inCall(.disconnecting)
    call?.hangUp(options: HangUpOptions(), completionHandler: reporting("Leaving"))
  }

  /// - Returns: whether there is time for a call.
  private func begin() -> Bool {
    guard phase == .ready, call == nil else {
      tell("Please leave this call first.")
      return false
    }
    notice = nil
    phase = .inCall(.none)
    return true
  }

  private func prepare(_ options: CallOptions) {
    options.outgoingAudioOptions = OutgoingAudioOptions()
    options.outgoingAudioOptions?.muted = isMuted
    options.incomingVideoOptions = IncomingVideoOptions()
    options.incomingVideoOptions?.streamType = .remoteIncoming
    guard let cameraStream else { return }
    options.outgoingVideoOptions = OutgoingVideoOptions()
    options.outgoingVideoOptions?.streams = [cameraStream]
  }

  private func take(_ action: String) -> (Call?, Error?) -> Void {
    { [weak self] call, error in
      // Before the change of threads: events that come without a delegate are lost.
      call?.delegate = self
      onMain { self?.didTake(call, error, during: action) }
    }
  }

  private func didTake(_ call: Call?, _ error: Error?, during action: String) {
    guard let call else {
      phase = .ready
      return tell(CallText.ofError(error, during: action))
    }
    guard case .inCall = phase else {
      // The user has left before the call was there.
      return call.hangUp(options: HangUpOptions()) { _ in }
    }
    self.call = call
    chat.open(in: call)
    call.feature(Features.dominantSpeakers).delegate = self
    didChangeState(of: call)
  }

  func didChangeState(of call: Call) {
    guard call === self.call else { return }
    guard call.state != .disconnected else { return didEnd(call) }
    // Reconnecting is not shown: the state stays `connected` until the call goes on or ends, and the SDK's word for an
    // interrupted connection, `Features.localUserDiagnostics`, is not available here.
    phase = .inCall(call.state)
    didUpdate(added: call.remoteParticipants, removed: [])
  }

  private func didEnd(_ call: Call) {
    self.call = nil
    phase = .ready
    notice = CallText.ofEnd(code: call.callEndReason.code, subcode: call.callEndReason.subcode)
    chat.close()
    forgetShare()
    forgetCamera()
    for tile in video.tiles { video.hide(tile.id) }
    isMuted = false
    roster = []
    activeSpeaker = nil
  }

  private func tell(_ notice: String) { self.notice = notice }

  /// A completion handler. If the action fails, it shows the error and calls `undo`.
  private func reporting(_ action: String, undo: ((CallModel) -> Void)? = nil) -> (Error?) -> Void {
    { [weak self] error in
      guard let error, let self else { return }
      onMain {
        self.notice = CallText.ofError(error, during: action)
        undo?(self)
      }
    }
  }

  // MARK: Incoming calls

  func didReceive(_ incomingCall: IncomingCall) {
    // There is one banner.
    guard self.incomingCall == nil else { return incomingCall.reject { _ in } }
    self.incomingCall = incomingCall
    let name = incomingCall.callerInfo.displayName
    caller = name.isEmpty ? incomingCall.callerInfo.identifier.rawId : name
  }

  func didEnd(_ incomingCall: IncomingCall) {
    guard incomingCall === self.incomingCall else { return }
    notice = "You missed a call of \(caller ?? "an unknown caller")."
    forgetIncomingCall()
  }

  private func forgetIncomingCall() {
    incomingCall = nil
    caller = nil
  }

  // MARK: Participants

  func didUpdate(added: [RemoteParticipant], removed: [RemoteParticipant]) {
    for participant in removed {
      for stream in participant.incomingVideoStreams { video.hide(stream.id) }
    }
    for participant in added {
      participant.delegate = self
      for case let stream as RemoteVideoStream in participant.incomingVideoStreams {
        didChange(stream, of: participant)
      }
    }
    refresh()
  }

  func didChange(_ stream: RemoteVideoStream, of participant: RemoteParticipant) {
    guard call != nil, stream.state == .available || stream.state == .started else {
      return video.hide(stream.id)
    }
    do {
      try video.show(stream, of: participant.nameForDisplay)
    } catch {
      notice = CallText.ofError(error, during: "Showing \(participant.nameForDisplay)")
    }
  }

  func refresh() {
    guard let call else { return }
    isMuted = call.isOutgoingAudioMuted
    roster = [RosterEntry(name: "\(name) (you)", isMuted: isMuted)] + call.remoteParticipants.map(\.rosterEntry)
    // The list keeps muted speakers. It is read here, too, as it may change before its delegate is set.
    let speakers = call.feature(Features.dominantSpeakers).dominantSpeakersInfo.speakers.map(\.rawId)
    let loudest = speakers.lazy.compactMap { id in call.remoteParticipants.first { $0.identifier.rawId == id } }
    activeSpeaker = loudest.first { !$0.isMuted }?.nameForDisplay
  }

  // MARK: Microphone, camera, screen

  func setMuted(_ isMuted: Bool) {
    guard let call else { return self.isMuted = isMuted }
    let completion = reporting(isMuted ? "Muting" : "Unmuting")
    isMuted
      ? call.muteOutgoingAudio(completionHandler: completion) : call.unmuteOutgoingAudio(completionHandler: completion)
  }

  func turnCameraOn() {
    notice = nil
    let cameras = deviceManager?.cameras ?? []
    guard let device = cameras.first(where: { $0.cameraFacing == .front }) ?? cameras.first else {
      return tell("There is no camera.")
    }
    let stream = LocalVideoStream(camera: device)
    do {
      try video.showPreview(of: stream)
    } catch {
      return tell(CallText.ofError(error, during: "Turning on the camera"))
    }
    cameraStream = stream
    camera = device.name
    call?.startVideo(stream: stream, completionHandler: reporting("Turning on the camera") { $0.forgetCamera() })
  }

  func turnCameraOff() {
    guard let stream = cameraStream else { return }
    call?.stopVideo(stream: stream, completionHandler: reporting("Turning off the camera"))
    forgetCamera()
  }

  private func forgetCamera() {
    video.hide(nil)
    cameraStream = nil
    camera = nil
  }

  func didLose(_ cameras: [VideoDeviceInfo]) {
    guard cameras.contains(where: { $0.id == cameraStream?.source.id }) else { return }
    tell("The camera was unplugged.")
    turnCameraOff()
  }

  func switchCamera() {
    guard let stream = cameraStream else { return }
    let cameras = deviceManager?.cameras ?? []
    let index = cameras.firstIndex { $0.id == stream.source.id } ?? -1
    guard cameras.count > 1 else { return tell("There is no other camera.") }
    stream.switchSource(camera: cameras[(index + 1) % cameras.count]) { [weak self] error in
      onMain {
        if let error { self?.notice = CallText.ofError(error, during: "Switching the camera") }
        if self?.cameraStream === stream { self?.camera = stream.source.name }
      }
    }
  }

  func startSharing() {
    guard let call, slides == nil, let share = SlideShare(luma: 200, clock: clock) else { return }
    slides = share
    isSharing = true
    call.startVideo(stream: share.stream, completionHandler: reporting("Sharing") { $0.forgetShare() })
  }

  func stopSharing() {
    guard let share = slides else { return }
    call?.stopVideo(stream: share.stream, completionHandler: reporting("Ending the share"))
    forgetShare()
  }

  private func forgetShare() {
    slides?.stopSending()
    slides = nil
    isSharing = false
  }
}
