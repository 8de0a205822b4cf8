import AzureCommunicationCalling
import Koine
import KoineBase
import KoineConformanceKit
import KoineCoreVideo
import KoineUIKit

/// Written in the call-agent style; meets the others in a room call.
@MainActor
final class CallAgentDriver: NSObject, KoineDriver {
  let style = Style.callAgent.rawValue
  let id: String
  let name: String
  let recorder: Recorder
  let inexpressible: [Ability: String] = [
    .messages: "data channels carry bytes under a header of their own, which no other style reads",
    .layers: "the vendor chooses how large pictures come", .attributes: "people have names, and nothing else",
    .tokenRoom: "tokens are people's, not rooms'", .history: "the vendor's data channel keeps nothing",
    .secondDevice: "a process has one agent for a user",
    .refusal: "sound comes mixed; one person's cannot be refused",
    .pausing: "the vendor has no pause; renderers are made and disposed of",
  ]
  private let room: String
  private let world: World
  private var client: CallClient?
  private let credential: CommunicationTokenCredential
  private var agent: CallAgent?
  private var devices: DeviceManager?
  private var incoming: IncomingCall?
  private var call: Call?
  private var camera: LocalVideoStream?
  private var screen: HandedScreen?
  private var preview: VideoStreamRenderer?
  private var renderers: [Int32: VideoStreamRenderer] = [:]
  private let sightings: ObservedParticipants
  private var hasLeft = false
  private var isBusy = false
  private(set) var mirror: VideoView?
  private(set) var isOver = false

  init(_ context: DriverContext) throws {
    name = context.name
    room = context.room
    world = context.world
    id = "8:acs:" + name.lowercased()
    recorder = context.recorder
    sightings = ObservedParticipants(recorder)
    credential = try CommunicationTokenCredential(token: Credentials.user(id, context.credential))
    client = World.$current.withValue(context.world) { CallClient() }
  }

  var session: Session? { call?.session }
  var isConnected: Bool { call?.state == .connected }
  var isReachable: Bool { agent != nil && devices != nil }
  var isRung: Bool { incoming != nil }
  var others: [ObservedParticipant] { sightings.seen }
  func view(of id: String) -> VideoView? { sightings.view(of: id) }

  // MARK: Signing in

  func signIn() { signIn {} }

  private func signIn(then go: @escaping @MainActor () -> Void) {
    let options = CallAgentOptions()
    options.displayName = name
    let answer = recorder.asks("agent")
    recorder.calling {
      client?.createCallAgent(userCredential: credential, options: options) { [weak self] agent, error in
        answer(error)
        guard let self, let client = self.client else { return }
        guard let agent else { return refused() }
        if hasLeft { return agent.dispose() }
        self.agent = agent
        agent.delegate = self
        client.getDeviceManager { [weak self] manager, _ in
          self?.devices = manager
          go()
        }
      }
    }
  }

  private var observesAtOnce = true

  private func refused() {
    isOver = true
    recorder.record(.ended)
  }

  // MARK: Entering

  func join() throws {
    guard !isBusy else { return }
    isBusy = true
    signIn { [weak self] in self?.enter() }
  }

  private func enter() {
    guard let agent, !hasLeft else { return }
    let options = JoinCallOptions()
    options.videoOptions = makeVideo()
    let answer = recorder.asks("join")
    recorder.calling {
      agent.join(with: RoomCallLocator(roomId: room), joinCallOptions: options) { [weak self] call, error in
        answer(error)
        self?.follow(call)
      }
    }
  }

  private func makeVideo() -> VideoOptions? {
    guard let device = devices?.cameras.first else { return nil }
    let stream = LocalVideoStream(camera: device)
    camera = stream
    preview = try? VideoStreamRenderer(localVideoStream: stream)
    mirror = try? preview?.createView()
    return VideoOptions(localVideoStreams: [stream])
  }

  func joinObservingLate() throws {
    observesAtOnce = false
    try join()
  }

  private func follow(_ call: Call?) {
    self.call = call
    if observesAtOnce {
      call?.delegate = self
    } else {
      Task { @MainActor in call?.delegate = self }
    }
    if hasLeft { call?.hangUp(options: HangUpOptions()) { _ in } }
  }

  func leave() {
    hasLeft = isBusy
    guard let call else { return }
    let answer = recorder.asks("leave")
    recorder.calling { call.hangUp(options: HangUpOptions()) { answer($0) } }
  }

  func endCallbacks(of end: CallEnd) -> [Set<String>] { [["disconnecting"], ["disconnected"], ["didUpdateCalls"]] }

  /// The delegate is the driver's own; the closures of a call and its agent are a second observer.
  func observeEnd(_ handler: @escaping @MainActor (String) -> Void) -> @MainActor () -> Void {
    let (call, agent) = (call, agent)
    call?.events.onStateChanged = { [weak call] _ in
      MainActor.assumeIsolated {
        if call?.state == .disconnecting || call?.state == .disconnected, let call { handler("\(call.state)") }
      }
    }
    agent?.events.onCallsUpdated = { args in
      MainActor.assumeIsolated { if !args.removedCalls.isEmpty { handler("didUpdateCalls") } }
    }
    return { [weak call, weak agent] in
      call?.events.onStateChanged = nil
      agent?.events.onCallsUpdated = nil
    }
  }

  var readings: [String: String] {
    guard let call else { return [:] }
    var all = [
      "state": "\(call.state)", "end": "\(call.callEndReason.code)", "start": "\(call.startTime)",
      "count": "\(call.totalParticipantCount)", "muted": "\(call.isMuted)",
      "incoming audio muted": "\(call.isIncomingAudioMuted)", "own video": "\(call.localVideoStreams.count)",
      "participants": call.remoteParticipants.map(\.id).sorted().joined(separator: " "),
    ]
    for remote in call.remoteParticipants {
      let name = "participant \(remote.id)"
      all[name + " state"] = "\(remote.state)"
      all[name + " muted"] = "\(remote.isMuted)"
      all[name + " name"] = remote.displayName
      all[name + " speaking"] = "\(remote.isSpeaking)"
      all[name + " videos"] = remote.incomingVideoStreams.map { "\($0.id)" }.sorted().joined(separator: " ")
    }
    return all
  }

  private func callback(_ remote: RemoteParticipant, _ property: String) {
    recorder.callback("\(property) of \(remote.id)", changes: ["participant \(remote.id) \(property)"])
  }

  func forget() {
    client = nil
    agent = nil
    devices = nil
    incoming = nil
    call = nil
    camera = nil
    screen = nil
    preview = nil
    renderers = [:]
  }

  // MARK: Calls

  func ring(_ ids: [String]) {
    guard let agent else { return }
    isBusy = true
    let options = StartCallOptions()
    options.videoOptions = makeVideo()
    let answer = recorder.asks("call")
    let callees = ids.map { CommunicationUserIdentifier($0) }
    recorder.calling {
      agent.startCall(participants: callees, options: options) { [weak self] call, error in
        answer(error)
        self?.follow(call)
      }
    }
  }

  func answer(_ isAccepted: Bool) {
    guard let incoming else { return }
    guard isAccepted else {
      let answer = recorder.asks("reject")
      self.incoming = nil
      return recorder.calling { incoming.reject { answer($0) } }
    }
    isBusy = true
    self.incoming = nil
    let options = AcceptCallOptions()
    options.videoOptions = makeVideo()
    let answer = recorder.asks("accept")
    recorder.calling {
      incoming.accept(options: options) { [weak self] call, error in
        answer(error)
        // In a call already: an app of this style says no.
        if let call { self?.follow(call) } else { incoming.reject { _ in } }
      }
    }
  }

  func cancel() { leave() }

  // MARK: In a call

  func setMicrophoneMuted(_ isMuted: Bool) {
    guard let call else { return }
    let answer = recorder.asks(isMuted ? "mute" : "unmute")
    recorder.calling { isMuted ? call.mute { answer($0) } : call.unmute { answer($0) } }
  }

  func muteFromAnotherThread(_ isMuted: Bool) async {
    guard let call else { return }
    let answer = recorder.asks(isMuted ? "mute" : "unmute")
    await onAnotherThread {
      let done: @Sendable ((any Error)?) -> Void = { error in
        MainActor.assumeIsolated { answer(error) }
      }
      isMuted ? call.mute(completionHandler: done) : call.unmute(completionHandler: done)
    }
  }

  func setCameraOn(_ isOn: Bool) {
    guard let camera, let call else { return }
    let answer = recorder.asks(isOn ? "start video" : "stop video")
    recorder.calling {
      isOn ? call.startVideo(stream: camera) { answer($0) } : call.stopVideo(stream: camera) { answer($0) }
    }
  }

  func setSharing(_ isOn: Bool) {
    guard let call, let screen = isOn ? try? HandedScreen(world) : screen else { return }
    self.screen = isOn ? screen : nil
    let answer = recorder.asks(isOn ? "share" : "stop sharing")
    recorder.calling {
      isOn
        ? call.startVideo(stream: screen.stream) { answer($0) } : call.stopVideo(stream: screen.stream) { answer($0) }
    }
  }

  func want(_ interest: Interest, from id: String) {
    guard let participant = call?.remoteParticipants.first(where: { $0.id == id }) else { return }
    for stream in participant.videoStreams where stream.mediaStreamType == .video {
      recorder.calling { renderers.removeValue(forKey: stream.id)?.dispose() }
      if interest == .everything { show(stream, of: participant) }
    }
  }

  private func show(_ stream: RemoteVideoStream, of participant: RemoteParticipant) {
    do {
      let renderer = try VideoStreamRenderer(remoteVideoStream: stream)
      let view = try renderer.createView()
      renderers[stream.id] = renderer
      if stream.mediaStreamType == .screenSharing {
        return sightings.shareOn(participant.id, in: view)
      }
      let agrees = participant.videoStreams.contains { $0.id == stream.id }
      if sightings.seen.first(where: { $0.id == participant.id })?.hasPicture == true {
        sightings.moved(participant.id, to: view)
      } else {
        sightings.pictureOn(participant.id, in: view, agrees: agrees)
      }
    } catch {
      recorder.failed(error)
    }
  }
}

extension CallAgentDriver: @preconcurrency CallAgentDelegate, @preconcurrency IncomingCallDelegate {
  func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) {
    guard let ended = args.removedCalls.first, call == nil || ended === call else { return }
    recorder.callback("didUpdateCalls")
    recorder.endCallback("didUpdateCalls")
    isOver = true
    sightings.clear()
    recorder.record(.ended, of: nil, "\(ended.callEndReason.code)", agrees: !callAgent.calls.contains { $0 === ended })
    preview?.dispose()
    callAgent.dispose()
  }

  func callAgent(_ callAgent: CallAgent, didReceiveIncomingCall incomingCall: IncomingCall) {
    incoming = incomingCall
    incomingCall.delegate = self
    recorder.record(.rung, of: incomingCall.caller)
  }

  func incomingCall(_ incomingCall: IncomingCall, didEnd args: PropertyChangedEventArgs) {
    if incoming === incomingCall { incoming = nil }
    recorder.record(.ringingEnded, of: incomingCall.caller)
  }
}

extension CallAgentDriver: @preconcurrency CallDelegate, @preconcurrency RemoteParticipantDelegate {
  func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {
    // The reason is known from the first of the two ending states on.
    recorder.callback("\(call.state)", changes: call.state == .disconnecting ? ["state", "end"] : ["state", "start"])
    if call.state == .disconnecting || call.state == .disconnected { recorder.endCallback("\(call.state)") }
    if call.state == .connected { recorder.record(.connected) }
  }

  func call(_ call: Call, didUpdateStartTime args: PropertyChangedEventArgs) {
    recorder.callback("start", changes: ["start", "state"])
  }
  func call(_ call: Call, didChangeTotalParticipantCount args: PropertyChangedEventArgs) {
    recorder.callback("count", changes: ["count"])
  }
  func call(_ call: Call, didUpdateOutgoingAudioState args: PropertyChangedEventArgs) {
    recorder.callback("muted", changes: ["muted"])
  }
  func call(_ call: Call, didChangeMuteState args: PropertyChangedEventArgs) {
    recorder.callback("muted", changes: ["muted"])
  }
  func call(_ call: Call, didUpdateIncomingAudioState args: PropertyChangedEventArgs) {
    recorder.callback("incoming audio", changes: ["incoming audio muted"])
  }
  func call(_ call: Call, didUpdateLocalVideoStreams args: LocalVideoStreamsUpdatedEventArgs) {
    recorder.callback("own video", changes: ["own video"])
  }

  func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
    let changed = (args.addedParticipants + args.removedParticipants).map { "participant \($0.id)" }
    recorder.callback("participants", changes: ["participants"] + changed)
    for participant in args.addedParticipants {
      let agrees = call.remoteParticipants.contains { $0 === participant }
      participant.delegate = self
      sightings.joined(
        participant.id, name: participant.displayName, isMuted: participant.isMuted, agrees: agrees)
      for stream in participant.videoStreams { show(stream, of: participant) }
    }
    for participant in args.removedParticipants {
      sightings.left(
        participant.id, agrees: !call.remoteParticipants.contains { $0 === participant })
    }
  }

  func remoteParticipant(_ participant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs) {
    callback(participant, "videos")
    for stream in args.addedRemoteVideoStreams { show(stream, of: participant) }
    for stream in args.removedRemoteVideoStreams {
      renderers.removeValue(forKey: stream.id)?.dispose()
      let agrees = !participant.videoStreams.contains { $0.id == stream.id }
      if stream.mediaStreamType == .screenSharing {
        sightings.shareOff(participant.id, agrees: agrees)
      } else {
        sightings.pictureOff(participant.id, agrees: agrees)
      }
    }
  }

  func remoteParticipant(_ participant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) {
    callback(participant, "muted")
    sightings.muted(participant.id, participant.isMuted)
  }

  func remoteParticipant(_ participant: RemoteParticipant, didChangeSpeakingState args: PropertyChangedEventArgs) {
    callback(participant, "speaking")
    if participant.isSpeaking { sightings.spoke(participant.id) }
  }

  func remoteParticipant(_ participant: RemoteParticipant, didChangeState args: PropertyChangedEventArgs) {
    callback(participant, "state")
  }

  func remoteParticipant(_ participant: RemoteParticipant, didChangeDisplayName args: PropertyChangedEventArgs) {
    callback(participant, "name")
  }
}
