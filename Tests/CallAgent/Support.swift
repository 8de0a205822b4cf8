import AzureCommunicationCalling
import Dispatch
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork

/// A token that names its user, as the vendor's do, without a valid signature.
func accessToken(for user: String, expiresIn seconds: Int = 3_600) -> String {
  let claims = #"{"skypeid":"acs:\#(user)","exp":\#(Int(Date().timeIntervalSince1970) + seconds)}"#
  let part = { (text: String) in
    Data(text.utf8).base64EncodedString().replacingOccurrences(of: "+", with: "-")
      .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
  }
  return [part(#"{"alg":"none"}"#), part(claims), "signature"].joined(separator: ".")
}

func identity(_ user: String) -> CommunicationUserIdentifier { CommunicationUserIdentifier("8:acs:" + user) }

/// Records the callbacks of an agent, its calls and their participants.
final class Recorder: NSObject, CallAgentDelegate, CallDelegate, RemoteParticipantDelegate, IncomingCallDelegate,
  RendererDelegate, @unchecked Sendable
{
  private let heard = Lock<[String]>([])
  /// The delegate keeps the agent, because a released agent signs out.
  private let agent: CallAgent?
  private let latest = Lock<(call: Call?, incoming: IncomingCall?)>((nil, nil))

  init(of agent: CallAgent? = nil) { self.agent = agent }

  var words: [String] { heard.withLock { $0 } }
  var call: Call? { latest.withLock { $0.call } }
  var incoming: IncomingCall? { latest.withLock { $0.incoming } }
  /// Only the states of the call.
  var states: [String] { words.filter { $0.hasPrefix("state ") }.map { String($0.dropFirst(6)) } }

  func note(_ word: String) { heard.withLock { $0.append(word) } }

  func take(_ call: Call?, _ error: (any Error)?) {
    note(call == nil ? "no call \((error as? NSError)?.code ?? -1)" : "call")
    call?.delegate = self
    latest.withLock { $0.call = call }
  }

  func callAgent(_ callAgent: CallAgent, didRecieveIncomingCall incomingCall: IncomingCall) {
    note("rings \(incomingCall.callerInfo.displayName)")
    incomingCall.delegate = self
    latest.withLock { $0.incoming = incomingCall }
  }

  func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) {
    for call in args.addedCalls { note("calls +\(call.direction)") }
    for call in args.removedCalls { note("calls -\(call.direction) \(call.state)") }
  }

  func incomingCall(_ incomingCall: IncomingCall, didEnd args: PropertyChangedEventArgs) {
    note("didEnd \(incomingCall.callEndReason?.code ?? -1)")
  }

  func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) { note("state \(call.state)") }

  func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
    for participant in args.addedParticipants {
      participant.delegate = self
      note("+\(name(participant)) \(participant.state) \(participant.videoStreams.count)")
    }
    for participant in args.removedParticipants { note("-\(name(participant)) \(participant.callEndReason.code)") }
  }

  func call(_ call: Call, didChangeMuteState args: PropertyChangedEventArgs) { note("muted \(call.isMuted)") }

  func call(_ call: Call, didGetMutedByOthers args: PropertyChangedEventArgs) { note("muted by others") }
  func call(_ call: Call, didUpdateIncomingAudioState args: PropertyChangedEventArgs) {
    note("loudspeaker \(!call.isIncomingAudioMuted)")
  }
  func call(_ call: Call, didUpdateLocalVideoStreams args: LocalVideoStreamsUpdatedEventArgs) {
    for _ in args.addedStreams { note("local +video") }
    for _ in args.removedStreams { note("local -video") }
  }

  func remoteParticipant(_ participant: RemoteParticipant, didChangeState args: PropertyChangedEventArgs) {
    note("\(name(participant)) \(participant.state)")
  }

  func remoteParticipant(_ participant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs) {
    for _ in args.addedRemoteVideoStreams { note("\(name(participant)) +video") }
    for _ in args.removedRemoteVideoStreams { note("\(name(participant)) -video") }
  }

  func remoteParticipant(
    _ participant: RemoteParticipant, didChangeVideoStreamState args: VideoStreamStateChangedEventArgs
  ) {
    streamStates.withLock { $0.append("\(args.stream.sourceType) \(args.stream.state)") }
  }
  /// Of remote streams, kept apart from `words`.
  let streamStates = Lock<[String]>([])

  func remoteParticipant(_ participant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) {
    note("\(name(participant)) \(participant.isMuted ? "muted" : "unmuted")")
  }

  func videoStreamRenderer(didFailToStart renderer: VideoStreamRenderer) { note("renderer failed") }
  func videoStreamRenderer(didRenderFirstFrame renderer: VideoStreamRenderer) {
    note("first frame \(renderer.size.width)x\(renderer.size.height)")
  }

  private func name(_ participant: RemoteParticipant) -> String {
    String(participant.identifier.rawId.split(separator: ":").last ?? "")
  }
}

/// Signed-in users in one virtual world.
struct Telephone {
  let world: World

  init(network: String? = nil, camera: String = "stamp:Cam,320x180@15") throws {
    world = World(
      backend: EmbeddedBackend(virtual: 11, network: try network.map { try NetworkSpec($0) }),
      delivery: Delivery(queue: DispatchQueue(label: "delivery")),
      devices: DefaultDevices(camera: camera, microphone: "tone"))
  }

  /// - Parameter token: one that says nothing of `user`, if it is not the usual kind.
  func agent(
    _ user: String, token: String? = nil, client clientOptions: CallClientOptions = CallClientOptions()
  ) async throws -> (agent: CallAgent, recorder: Recorder) {
    let credential = try CommunicationTokenCredential(token: token ?? accessToken(for: user))
    let options = CallAgentOptions()
    options.displayName = user == "ana" ? "Ana" : user
    let client = World.$current.withValue(world) { CallClient(options: clientOptions) }
    let made = Lock<CallAgent?>(nil)
    client.createCallAgent(userCredential: credential, options: options) { agent, _ in made.withLock { $0 = agent } }
    _ = await world.run(until: { made.withLock { $0 != nil } }, limit: .seconds(5))
    guard let agent = made.withLock({ $0 }) else { throw CocoaError(.featureUnsupported) }
    let recorder = Recorder(of: agent)
    agent.delegate = recorder
    return (agent, recorder)
  }

  func camera() async throws -> LocalVideoStream {
    guard let camera = await cameras().first else { throw CocoaError(.featureUnsupported) }
    return LocalVideoStream(camera: camera)
  }

  /// The front camera and the back camera.
  func cameras() async -> [VideoDeviceInfo] {
    let client = World.$current.withValue(world) { CallClient() }
    let manager = Lock<DeviceManager?>(nil)
    client.getDeviceManager { made, _ in manager.withLock { $0 = made } }
    await world.run(for: .milliseconds(10))
    return manager.withLock { $0?.cameras } ?? []
  }

  func run(_ duration: Duration) async { await world.run(for: duration) }
}
