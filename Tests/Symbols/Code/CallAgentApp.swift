import AzureCommunicationCalling
import AzureCommunicationCommon
import Foundation
import KoineUIKit

// The symbols as an app writes them. None of this is run: it has only to compile, in every mode.

/// Watches everything that can be watched, the way the vendor's tutorial has it.
final class CallWatcher: NSObject, CallAgentDelegate, CallDelegate, IncomingCallDelegate, RemoteParticipantDelegate,
  DeviceManagerDelegate, LocalVideoStreamDelegate, RendererDelegate
{
  private var call: Call?
  private var renderers: [Int32: VideoStreamRenderer] = [:]
  private var names: [String] = []

  func callAgent(_ callAgent: CallAgent, didRecieveIncomingCall incomingCall: IncomingCall) {
    incomingCall.delegate = self
    names.append(incomingCall.callerInfo.displayName)
    guard incomingCall.isVideoEnabled else {
      return incomingCall.reject { error in if let error { print(error) } }
    }
    incomingCall.accept(options: AcceptCallOptions()) { call, error in
      if error == nil { self.call = call }
      self.call?.delegate = self
    }
  }

  func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) {
    if args.removedCalls.contains(where: { $0 === call }) { call = nil }
    for call in args.addedCalls { call.delegate = self }
  }

  func incomingCall(_ incomingCall: IncomingCall, didEnd args: PropertyChangedEventArgs) {
    if let reason = incomingCall.callEndReason { print(reason.code, reason.subcode) }
  }

  func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {
    switch call.state {
    case .none, .earlyMedia, .connecting, .ringing: break
    case .connected: for participant in call.remoteParticipants { participant.delegate = self }
    case .localHold, .remoteHold, .inLobby: break
    case .disconnecting, .disconnected: print(call.callEndReason.code)
    @unknown default: break
    }
  }

  func call(_ call: Call, didChangeId args: PropertyChangedEventArgs) { print(call.id) }
  func call(_ call: Call, didChangeMuteState args: PropertyChangedEventArgs) { print(call.isMuted) }
  func call(_ call: Call, didUpdateOutgoingAudioState args: PropertyChangedEventArgs) {
    print(call.isOutgoingAudioMuted)
  }
  func call(_ call: Call, didChangeTotalParticipantCount args: PropertyChangedEventArgs) {
    print(call.totalParticipantCount - 1)
  }
  func call(_ call: Call, didUpdateLocalVideoStreams args: LocalVideoStreamsUpdatedEventArgs) {
    print(args.addedStreams.count, args.removedStreams.count)
  }
  func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
    for participant in args.removedParticipants { participant.delegate = nil }
    for participant in args.addedParticipants { participant.delegate = self }
  }

  func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs
  ) {
    for stream in args.removedRemoteVideoStreams { renderers.removeValue(forKey: stream.id)?.dispose() }
    for stream in args.addedRemoteVideoStreams where stream.isAvailable {
      renderers[stream.id] = try? VideoStreamRenderer(remoteVideoStream: stream)
      renderers[stream.id]?.delegate = self
    }
  }
  func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didChangeVideoStreamState args: VideoStreamStateChangedEventArgs
  ) {
    if let stream = args.stream as? IncomingVideoStream, stream.state == .notAvailable { print(args.message) }
  }
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeState args: PropertyChangedEventArgs) {
    if remoteParticipant.state == .inLobby { print(remoteParticipant.identifier.rawId) }
  }
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) {}
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeSpeakingState args: PropertyChangedEventArgs)
  {}
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeDisplayName args: PropertyChangedEventArgs) {
    names.append(remoteParticipant.displayName)
  }

  func deviceManager(_ deviceManager: DeviceManager, didUpdateCameras args: VideoDevicesUpdatedEventArgs) {
    print(args.addedVideoDevices.map(\.name), args.removedVideoDevices.map(\.id))
  }
  func localVideoStream(_ localVideoStream: LocalVideoStream, didChangeState args: VideoStreamStateChangedEventArgs) {}
  func videoStreamRenderer(didFailToStart renderer: VideoStreamRenderer) { renderer.dispose() }
  func videoStreamRenderer(didRenderFirstFrame renderer: VideoStreamRenderer) {
    print(String(renderer.size.width) + "x" + String(renderer.size.height))
  }
}

/// Misses everything that may be missed.
final class CallNewcomer: NSObject, CallAgentDelegate, CallDelegate, IncomingCallDelegate, RemoteParticipantDelegate,
  DeviceManagerDelegate, LocalVideoStreamDelegate, RecordingCallFeatureDelegate, TranscriptionCallFeatureDelegate,
  DominantSpeakersCallFeatureDelegate
{}

final class FeatureWatcher: NSObject, RecordingCallFeatureDelegate, TranscriptionCallFeatureDelegate,
  DominantSpeakersCallFeatureDelegate
{
  func recordingCallFeature(
    _ recordingCallFeature: RecordingCallFeature, didChangeRecordingState args: PropertyChangedEventArgs
  ) { print(recordingCallFeature.isRecordingActive) }
  func transcriptionCallFeature(
    _ transcriptionCallFeature: TranscriptionCallFeature, didChangeTranscriptionState args: PropertyChangedEventArgs
  ) { print(transcriptionCallFeature.isTranscriptionActive) }
  func dominantSpeakersCallFeature(
    _ dominantSpeakersCallFeature: DominantSpeakersCallFeature,
    didChangeDominantSpeakers args: PropertyChangedEventArgs
  ) { print(dominantSpeakersCallFeature.dominantSpeakersInfo.speakers.map(\.rawId)) }
}

/// The screen of an app written with completion handlers.
@MainActor
final class CallScreen {
  private var agent: CallAgent?
  private var call: Call?
  private var devices: DeviceManager?
  private var preview: RendererView?
  private let watcher = CallWatcher()
  private let client = CallClient()

  func appear() {
    let refresher: TokenRefresher = { done in done("token", nil) }
    guard
      let credential = try? CommunicationTokenCredential(
        withOptions: CommunicationTokenRefreshOptions(
          initialToken: nil, refreshProactively: true, tokenRefresher: refresher))
    else { return }
    credential.token { token, error in print(token?.token as Any, token?.expiresOn as Any, error as Any) }
    let options = CallAgentOptions()
    options.displayName = "Ana"
    client.createCallAgent(userCredential: credential, options: options) { agent, error in
      guard let agent, error == nil else { return }
      self.agent = agent
      agent.delegate = self.watcher
    }
    client.getDeviceManager { manager, error in
      if error == nil { self.devices = manager }
      manager?.delegate = self.watcher
    }
  }

  func start(_ name: String) {
    let options = StartCallOptions()
    if let camera = devices?.cameras.first(where: { $0.cameraFacing == .front && $0.deviceType == .unknown }) {
      let stream = LocalVideoStream(camera: camera)
      stream.delegate = watcher
      options.videoOptions = VideoOptions(localVideoStreams: [stream])
      show(stream)
    }
    options.audioOptions = AudioOptions()
    options.audioOptions?.muted = true
    let callees: [CommunicationIdentifier] = [
      CommunicationUserIdentifier(name), PhoneNumberIdentifier(phoneNumber: "+15550100"),
      createCommunicationIdentifier(fromRawId: name),
    ]
    agent?.startCall(participants: callees, options: options) { call, error in
      if error == nil { self.call = call }
      self.call?.delegate = self.watcher
    }
  }

  private func show(_ stream: LocalVideoStream) {
    guard let renderer = try? VideoStreamRenderer(localVideoStream: stream) else { return }
    renderer.delegate = watcher
    preview = try? renderer.createView(withOptions: CreateViewOptions(scalingMode: .fit))
    preview?.update(scalingMode: .crop)
    preview?.isHidden = preview?.isRendering() == false
  }

  func toggleVideo(_ stream: LocalVideoStream) {
    if stream.isSending {
      call?.stopVideo(stream: stream) { error in
        if error == nil { self.preview?.dispose() }
      }
    } else {
      call?.startVideo(stream: stream) { error in
        if error == nil { self.show(stream) }
      }
    }
  }

  func join(_ group: UUID) {
    let options = JoinCallOptions()
    options.videoOptions = VideoOptions(localVideoStreams: [])
    agent?.join(with: GroupCallLocator(groupId: group), joinCallOptions: options) { call, _ in self.call = call }
    agent?.join(with: TeamsMeetingLinkLocator(meetingLink: "https://teams.example/l/1"), joinCallOptions: options) {
      call, _ in self.call = call
    }
  }

  func end() {
    let options = HangUpOptions()
    options.forEveryone = true
    call?.hangUp(options: options) { error in
      if error == nil { self.call = nil }
    }
    agent?.dispose()
    client.dispose()
  }
}

/// The screen of an app written with `await`, with the names of 2.15.
@MainActor
final class AwaitingCallScreen {
  private let features = FeatureWatcher()

  func run() async throws {
    let credential = try CommunicationTokenCredential(token: "token")
    let token: CommunicationAccessToken = try await credential.token()
    let options = CallClientOptions()
    options.diagnostics = CallDiagnosticsOptions()
    let client = CallClient(options: options)
    let agent = try await client.createCallAgent(userCredential: credential, options: CallAgentOptions())
    let manager = try await client.getDeviceManager()
    let stream = LocalVideoStream(camera: manager.cameras[0])
    let start = StartCallOptions()
    start.outgoingVideoOptions = OutgoingVideoOptions()
    start.outgoingVideoOptions?.streams = [stream]
    start.outgoingAudioOptions = OutgoingAudioOptions()
    start.outgoingAudioOptions?.muted = true
    start.incomingVideoOptions = IncomingVideoOptions()
    start.incomingVideoOptions?.streamType = .remoteIncoming
    let call = try await agent.startCall(
      participants: [CommunicationUserIdentifier(token.token)], options: start)
    try await run(call, stream, manager.cameras[0])
    let room = try await agent.join(with: RoomCallLocator(roomId: "r"), joinCallOptions: JoinCallOptions())
    try await room.hangUp(options: HangUpOptions())
  }

  private func run(_ call: Call, _ stream: LocalVideoStream, _ camera: VideoDeviceInfo) async throws {
    try await call.startVideo(stream: stream)
    try await stream.switchSource(camera: camera)
    try await call.stopVideo(stream: stream)
    try await call.muteOutgoingAudio()
    try await call.unmuteOutgoingAudio()
    try await call.hold()
    try await call.resume()
    try await call.sendDtmf(tone: .pound)
    if let added = try call.add(participant: CommunicationUserIdentifier("bo")) {
      try await call.remove(participant: added)
    }
    let phone = AddPhoneNumberOptions()
    phone.alternateCallerId = PhoneNumberIdentifier(phoneNumber: "+15550101")
    try call.add(participant: PhoneNumberIdentifier(phoneNumber: "+15550100"), options: phone)
    let recording = call.feature(Features.recording)
    recording.delegate = features
    call.feature(Features.dominantSpeakers).delegate = features
    call.feature(Features.transcription).delegate = features
    print(recording.name, call.outgoingVideoStreams.map(\.direction), call.callerInfo.identifier.rawId)
  }

  func answer(_ incoming: IncomingCall) async throws -> Call {
    let options = AcceptCallOptions()
    options.outgoingAudioOptions = OutgoingAudioOptions()
    return try await incoming.accept(options: options)
  }
}
