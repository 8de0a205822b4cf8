import AzureCommunicationCalling

/// A small app of the call-agent style. It signs in, makes and receives calls, and shows the remote participants' video.
@MainActor
final class CallApp: NSObject {
  let view = UIView(frame: CGRect(x: 0, y: 0, width: 320, height: 180))
  private(set) var incoming: IncomingCall?
  private(set) var call: Call?
  private(set) var states: [CallState] = []
  /// Plugged in and out.
  private(set) var cameras: [String] = []
  private(set) var failedPreviews = 0
  private var client: CallClient?
  private var agent: CallAgent?
  private var camera: LocalVideoStream?
  private var devices: DeviceManager?
  private var preview: VideoStreamRenderer?
  private var renderers: [Int32: VideoStreamRenderer] = [:]

  func signIn(with token: String) async throws {
    let client = CallClient()
    let options = CallAgentOptions()
    options.displayName = "Ana"
    agent = try await client.createCallAgent(
      userCredential: CommunicationTokenCredential(token: token), options: options)
    agent?.delegate = self
    devices = try await client.getDeviceManager()
    devices?.delegate = self
    camera = devices?.cameras.first.map(LocalVideoStream.init(camera:))
    self.client = client
  }

  private var video: VideoOptions? { camera.map { VideoOptions(localVideoStreams: [$0]) } }

  func ring(_ identity: String) async throws {
    let options = StartCallOptions()
    options.videoOptions = video
    follow(
      try await agent?.startCall(
        participants: [createCommunicationIdentifier(fromRawId: identity)], options: options))
  }

  func join(room: String) async throws {
    let options = JoinCallOptions()
    options.videoOptions = video
    follow(try await agent?.join(with: RoomCallLocator(roomId: room), joinCallOptions: options))
    preview = try camera.map(VideoStreamRenderer.init(localVideoStream:))
    preview?.delegate = self
    _ = try preview?.createView()
  }

  func answer() async throws {
    let options = AcceptCallOptions()
    options.videoOptions = video
    follow(try await incoming?.accept(options: options))
  }

  func hangUp() async throws { try await call?.hangUp(options: nil) }

  private func follow(_ call: Call?) {
    call?.delegate = self
    self.call = call
    guard let call else { return }
    states.append(call.state)
    call.remoteParticipants.forEach(meet)  // participants that joined before the delegate was set
  }

  private func meet(_ participant: RemoteParticipant) {
    participant.delegate = self
    participant.videoStreams.forEach(show)
  }

  private func show(_ stream: RemoteVideoStream) {
    guard renderers[stream.id] == nil, let renderer = try? VideoStreamRenderer(remoteVideoStream: stream),
      let picture = try? renderer.createView()
    else { return }
    renderers[stream.id] = renderer
    picture.frame = view.bounds
    view.addSubview(picture)
  }
}

extension CallApp: @preconcurrency CallAgentDelegate {
  func callAgent(_ callAgent: CallAgent, didRecieveIncomingCall incomingCall: IncomingCall) { incoming = incomingCall }
}

extension CallApp: @preconcurrency CallDelegate {
  func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) { states.append(call.state) }
  func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
    args.addedParticipants.forEach(meet)
  }
}

extension CallApp: @preconcurrency RemoteParticipantDelegate {
  func remoteParticipant(_ participant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs) {
    args.addedRemoteVideoStreams.forEach(show)
    for stream in args.removedRemoteVideoStreams { renderers.removeValue(forKey: stream.id)?.dispose() }
  }
}

extension CallApp: @preconcurrency DeviceManagerDelegate {
  func deviceManager(_ deviceManager: DeviceManager, didUpdateCameras args: VideoDevicesUpdatedEventArgs) {
    cameras += args.addedVideoDevices.map { "+\($0.name)" } + args.removedVideoDevices.map { "-\($0.name)" }
  }
}

extension CallApp: @preconcurrency RendererDelegate {
  func videoStreamRenderer(didRenderFirstFrame renderer: VideoStreamRenderer) {}
  func videoStreamRenderer(didFailToStart renderer: VideoStreamRenderer) { failedPreviews += 1 }
}
