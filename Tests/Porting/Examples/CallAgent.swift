import AzureCommunicationCalling

/// What Docs/porting.md shows in the words of the call agent.
@MainActor
final class CallAgentExample: NSObject {
  let view = UIView(frame: CGRect(x: 0, y: 0, width: 320, height: 180))
  private(set) var people: [String] = []
  private(set) var muted: Set<String> = []
  private(set) var speaker: String?
  private(set) var texts: [String] = []
  private(set) var isRecorded = false
  private let client = CallClient()
  private var agent: CallAgent!
  private var call: Call!
  private var camera: LocalVideoStream?
  private var screen: ScreenShareOutgoingVideoStream?
  private var renderers: [Int32: VideoStreamRenderer] = [:]
  private var sender: DataChannelSender?

  // example: join
  func enter(_ room: String, as name: String, with token: String) async throws {
    let options = CallAgentOptions()
    options.displayName = name
    let credential = try CommunicationTokenCredential(token: token)
    agent = try await client.createCallAgent(userCredential: credential, options: options)
    call = try await agent.join(with: RoomCallLocator(roomId: room), joinCallOptions: JoinCallOptions())
    call.delegate = self
    call.remoteParticipants.forEach(meet)  // those who are there already
  }

  func goAway() async throws {
    try await call.hangUp(options: HangUpOptions())
    agent.dispose()
  }
  // end

  private func meet(_ participant: RemoteParticipant) {
    guard !people.contains(participant.displayName) else { return }
    participant.delegate = self
    people.append(participant.displayName)
    if participant.isMuted { muted.insert(participant.displayName) }
    participant.videoStreams.forEach(show)
  }

  // example: mute
  func setMuted(_ isMuted: Bool) async throws {
    if isMuted { try await call.mute() } else { try await call.unmute() }
  }
  // end

  // example: speaker
  func followSpeakers() {
    call.feature(Features.dominantSpeakers).delegate = self
  }
  // end

  // example: camera
  func setCameraOn(_ isOn: Bool) async throws {
    if isOn, let device = try await client.getDeviceManager().cameras.first {
      let stream = LocalVideoStream(camera: device)
      try await call.startVideo(stream: stream)
      camera = stream
    } else if let stream = camera {
      try await call.stopVideo(stream: stream)  // the very stream that was started
      camera = nil
    }
  }
  // end

  // example: quality
  func smallVideo() -> OutgoingVideoOptions {
    let constraints = OutgoingVideoConstraints()
    constraints.maxHeight = 180
    constraints.maxFrameRate = 15
    constraints.maxBitRate = 300_000
    let options = OutgoingVideoOptions()
    options.constraints = constraints
    return options  // the join options' `outgoingVideoOptions`
  }
  // end

  // example: render
  func show(_ stream: RemoteVideoStream) {
    guard renderers[stream.id] == nil, let renderer = try? VideoStreamRenderer(remoteVideoStream: stream),
      let picture = try? renderer.createView(withOptions: CreateViewOptions(scalingMode: .fit))
    else { return }
    renderers[stream.id] = renderer
    picture.frame = view.bounds
    view.addSubview(picture)
  }

  func hide(_ stream: RemoteVideoStream) {
    renderers.removeValue(forKey: stream.id)?.dispose()
  }
  // end

  // example: share
  func startSharing() async throws {
    let format = VideoStreamFormat()
    format.resolution = .p360
    let options = RawOutgoingVideoStreamOptions()
    options.formats = [format]
    let stream = ScreenShareOutgoingVideoStream(videoStreamOptions: options)
    stream.delegate = self  // its state `started`: send frames
    try await call.startVideo(stream: stream)
    screen = stream
  }

  func stopSharing() async throws {
    if let screen { try await call.stopVideo(stream: screen) }
  }

  func isShare(_ stream: RemoteVideoStream) -> Bool { stream.mediaStreamType == .screenSharing }
  // end

  // example: chat
  func openChat() {
    let channel = call.feature(Features.dataChannel)
    channel.delegate = self
    let options = DataChannelSenderOptions()
    options.channelId = 7
    sender = channel.getDataChannelSender(options: options)
  }

  func say(_ text: String) {
    sender?.sendMessage(data: Data(text.utf8))
  }
  // end

  // example: record
  func followRecording() {
    call.feature(Features.recording).delegate = self  // one's own server starts and stops it
  }
  // end
}

extension CallAgentExample: @preconcurrency CallDelegate, @preconcurrency RemoteParticipantDelegate {
  // example: people
  func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
    args.addedParticipants.forEach(meet)
    for participant in args.removedParticipants { people.removeAll { $0 == participant.displayName } }
  }
  // end

  // example: mute
  func remoteParticipant(_ participant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) {
    if participant.isMuted { muted.insert(participant.displayName) } else { muted.remove(participant.displayName) }
  }
  // end

  // example: render
  func remoteParticipant(_ participant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs) {
    args.addedRemoteVideoStreams.forEach(show)
    args.removedRemoteVideoStreams.forEach(hide)
  }
  // end
}

extension CallAgentExample: @preconcurrency DominantSpeakersCallFeatureDelegate {
  // example: speaker
  func dominantSpeakersCallFeature(
    _ feature: DominantSpeakersCallFeature, didChangeDominantSpeakers args: PropertyChangedEventArgs
  ) {
    let loudest = feature.dominantSpeakersInfo.speakers.first
    speaker = call.remoteParticipants.first { $0.identifier.rawId == loudest?.rawId }?.displayName
  }
  // end
}

extension CallAgentExample: @preconcurrency DataChannelCallFeatureDelegate, @preconcurrency DataChannelReceiverDelegate
{
  // example: chat
  func dataChannelCallFeature(
    _ feature: DataChannelCallFeature, didCreateReceiver args: DataChannelReceiverCreatedEventArgs
  ) {
    args.receiver.delegate = self
  }

  func dataChannelReceiver(_ receiver: DataChannelReceiver, didReceiveMessage args: PropertyChangedEventArgs) {
    while let message = receiver.receiveMessage() { texts.append(String(decoding: message.data, as: UTF8.self)) }
  }
  // end
}

extension CallAgentExample: @preconcurrency RecordingCallFeatureDelegate {
  // example: record
  func recordingCallFeature(
    _ feature: RecordingCallFeature, didChangeRecordingState args: PropertyChangedEventArgs
  ) {
    isRecorded = feature.isRecordingActive
  }
  // end
}

extension CallAgentExample: ScreenShareOutgoingVideoStreamDelegate {}
