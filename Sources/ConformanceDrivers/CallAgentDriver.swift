import AzureCommunicationCalling
import Koine
import KoineTokens
import KoineUIKit

/// Written in the call-agent style; meets the others in a room call.
@MainActor
final class CallAgentDriver: NSObject, Driver {
  let style = Style.callAgent
  let id: Koine.Participant.ID
  let name: String
  private let room: String
  private let client: CallClient
  private let credential: CommunicationTokenCredential
  private var agent: CallAgent?
  private var call: Call?
  private var camera: LocalVideoStream?
  private var preview: VideoStreamRenderer?
  private var renderers: [Int32: VideoStreamRenderer] = [:]
  private var sightings = Sightings()
  private(set) var mirror: VideoView?
  private(set) var isOver = false
  let heard: [String] = []

  init(name: String, room: String, in world: World) throws {
    self.name = name
    self.room = room
    id = "8:acs:" + name.lowercased()
    let now = NumericDate.ofSystemClock()
    let token = CommunicationUserToken(identity: id, issued: now, expires: now + 3_600)
    credential = try CommunicationTokenCredential(token: token.signed(with: SigningKey(generating: .p256)))
    client = World.$current.withValue(world) { CallClient() }
  }

  var session: Session? { call?.session }
  var isConnected: Bool { call?.state == .connected }
  var others: [Seen] { sightings.seen }

  func join() {
    let options = CallAgentOptions()
    options.displayName = name
    client.createCallAgent(userCredential: credential, options: options) { [self] agent, _ in
      self.agent = agent
      agent?.delegate = self
      client.getDeviceManager { [self] manager, _ in enter(with: manager?.cameras.first) }
    }
  }

  private func enter(with device: VideoDeviceInfo?) {
    let options = JoinCallOptions()
    if let device {
      let stream = LocalVideoStream(camera: device)
      camera = stream
      options.videoOptions = VideoOptions(localVideoStreams: [stream])
      preview = try? VideoStreamRenderer(localVideoStream: stream)
      mirror = try? preview?.createView()
    }
    agent?.join(with: RoomCallLocator(roomId: room), joinCallOptions: options) { [self] call, _ in
      self.call = call
      call?.delegate = self
    }
  }

  func leave() { call?.hangUp(options: HangUpOptions()) { _ in } }

  func setMicrophoneMuted(_ isMuted: Bool) {
    if isMuted { call?.mute { _ in } } else { call?.unmute { _ in } }
  }

  func setCameraOn(_ isOn: Bool) {
    guard let camera else { return }
    if isOn { call?.startVideo(stream: camera) { _ in } } else { call?.stopVideo(stream: camera) { _ in } }
  }

  func say(_ text: String) -> Bool { false }

  private func show(_ stream: RemoteVideoStream, of participant: RemoteParticipant) {
    guard let renderer = try? VideoStreamRenderer(remoteVideoStream: stream), let view = try? renderer.createView()
    else {
      return
    }
    renderers[stream.id] = renderer
    sightings.change(participant.identifier.rawId) {
      $0.view = view
      $0.hasPicture = true
    }
  }
}

extension CallAgentDriver: @preconcurrency CallAgentDelegate, @preconcurrency CallDelegate,
  @preconcurrency RemoteParticipantDelegate
{
  func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) {
    guard !args.removedCalls.isEmpty else { return }
    isOver = true
    preview?.dispose()
    callAgent.dispose()
  }

  func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
    for participant in args.addedParticipants {
      participant.delegate = self
      sightings.add(
        participant.identifier.rawId,
        Sighting(name: participant.displayName, isMicrophoneMuted: participant.isMuted))
      for stream in participant.videoStreams { show(stream, of: participant) }
    }
    for participant in args.removedParticipants { sightings.remove(participant.identifier.rawId) }
  }

  func remoteParticipant(_ participant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs) {
    for stream in args.addedRemoteVideoStreams { show(stream, of: participant) }
    for stream in args.removedRemoteVideoStreams {
      renderers.removeValue(forKey: stream.id)?.dispose()
      sightings.change(participant.identifier.rawId) { $0.hasPicture = false }
    }
  }

  func remoteParticipant(_ participant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) {
    sightings.change(participant.identifier.rawId) { $0.isMicrophoneMuted = participant.isMuted }
  }

  func remoteParticipant(_ participant: RemoteParticipant, didChangeSpeakingState args: PropertyChangedEventArgs) {
    if participant.isSpeaking { sightings.change(participant.identifier.rawId) { $0.hasSpoken = true } }
  }
}
