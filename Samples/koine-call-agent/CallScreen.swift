import AzureCommunicationCalling
import Foundation
import Koine
import KoineSampleSupport
import KoineTokens
import KoineUIKit

/// The screen of the sample, written as the vendor's quickstart writes it: an agent, a call, and a renderer for each
/// stream that appears.
@MainActor
final class CallScreen: UIViewController, SampleScreen {
  /// How a call begins.
  enum Way {
    case room(String)
    case group(UUID)
    case call([String])
    case answer
  }

  static let hold = Command("hold", key: "h")

  private let name: String
  /// What the app's server gave; nil: one is made here, for `name`.
  private let token: String?
  private var sendsVideo: Bool
  private let callClient = CallClient()
  private var callAgent: CallAgent?
  private var deviceManager: DeviceManager?
  private var localVideoStream: LocalVideoStream?
  private var preview: Tile?
  private var remotes: [Int32: Tile] = [:]
  private var call: Call?
  private(set) var problem: String?
  var trace: (String) -> Void = { _ in }
  /// Told with one's own identity, once the agent is there.
  var isReady: (String) -> Void = { _ in }
  private var answers = false
  var callBegan: () -> Void = {}
  var callEnded: () -> Void = {}

  private struct Tile {
    let renderer: VideoStreamRenderer
    let view: RendererView
  }

  init(name: String, token: String? = nil, startsWithVideo: Bool) {
    self.name = name
    self.token = token
    sendsVideo = startsWithVideo
    super.init()
    loadViewIfNeeded()
  }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 960, height: 540)
    view.backgroundColor = .black
  }

  var session: Session? { call?.session }
  var people: [String] { [name] + (call?.remoteParticipants.map(\.displayName) ?? []) }

  // MARK: Beginning

  func begin(_ way: Way) {
    if case .answer = way { answers = true }
    do {
      let id = try token.map { try AzureUserToken.reading($0).identity ?? "" } ?? identity(of: name)
      let credential = try CommunicationTokenCredential(token: token ?? developmentToken(for: id))
      let options = CallAgentOptions()
      options.displayName = name
      callClient.createCallAgent(userCredential: credential, options: options) { [self] agent, error in
        guard let agent else { return fail("no call agent: \(text(error))") }
        trace("callAgent \(id)")
        callAgent = agent
        agent.delegate = self
        callClient.getDeviceManager { [self] manager, _ in
          deviceManager = manager
          isReady(id)
          start(way)
        }
      }
    } catch {
      fail("no credential: \(text(error))")
    }
  }

  private func start(_ way: Way) {
    if sendsVideo { turnPreviewOn() }
    switch way {
    case .call(let identities):
      let options = StartCallOptions()
      options.videoOptions = videoOptions
      let callees = identities.map { createCommunicationIdentifier(fromRawId: $0) }
      callAgent?.startCall(participants: callees, options: options) { [self] in take($0, $1) }
    case .room(let id): join(RoomCallLocator(roomId: id))
    case .group(let id): join(GroupCallLocator(groupId: id))
    case .answer: break  // `didReceiveIncomingCall` begins it
    }
  }

  private var videoOptions: VideoOptions? { localVideoStream.map { VideoOptions(localVideoStreams: [$0]) } }

  private func join(_ locator: JoinMeetingLocator) {
    let options = JoinCallOptions()
    options.videoOptions = videoOptions
    callAgent?.join(with: locator, joinCallOptions: options) { [self] in take($0, $1) }
  }

  private func take(_ call: Call?, _ error: (any Error)?) {
    guard let call else { return fail("no call: \(text(error))") }
    self.call = call
    call.delegate = self
    callBegan()
  }

  private func fail(_ reason: String) {
    problem = reason
    callEnded()
  }

  private func text(_ error: (any Error)?) -> String {
    (error as? TokenError).map { "\($0)" } ?? (error as NSError?).map {
      "\($0.localizedDescription) (error \($0.code))"
    } ?? "unknown"
  }

  // MARK: What keys and scripts do

  func toggleMicrophone() {
    guard let call else { return }
    let done: ((any Error)?) -> Void = { [self] error in
      trace("isMuted: \(call.isMuted) \(error.map { "\($0)" } ?? "")")
    }
    if call.isMuted { call.unmute(completionHandler: done) } else { call.mute(completionHandler: done) }
  }

  func toggleCamera() {
    guard let call else { return }
    if let stream = localVideoStream {
      call.stopVideo(stream: stream) { [self] _ in turnPreviewOff() }
    } else {
      turnPreviewOn()
      guard let stream = localVideoStream else { return }
      call.startVideo(stream: stream) { [self] error in if let error { trace("startVideo: \(error)") } }
    }
  }

  func carryOut(_ command: Command) { if command == Self.hold { toggleHold() } }

  private func toggleHold() {
    guard let call else { return }
    let done: ((any Error)?) -> Void = { [self] error in if let error { trace("hold: \(error)") } }
    if call.state == .localHold { call.resume(completionHandler: done) } else { call.hold(completionHandler: done) }
  }

  func leave() {
    guard call != nil else { return callEnded() }
    call?.hangUp(options: HangUpOptions()) { [self] error in if let error { fail(text(error)) } }
  }

  // MARK: Pictures

  private func turnPreviewOn() {
    guard let camera = deviceManager?.cameras.first else { return }
    let stream = LocalVideoStream(camera: camera)
    localVideoStream = stream
    preview = show(try? VideoStreamRenderer(localVideoStream: stream), named: name)
  }

  private func turnPreviewOff() {
    if let preview { hide(preview) }
    preview = nil
    localVideoStream = nil
  }

  private func show(_ renderer: VideoStreamRenderer?, named name: String) -> Tile? {
    guard let renderer, let view = try? renderer.createView(withOptions: CreateViewOptions(scalingMode: .fit)) else {
      return nil
    }
    renderer.delegate = self
    let label = UILabel(frame: CGRect(x: 8, y: 8, width: 300, height: 20))
    label.text = name
    label.textColor = .white
    view.addSubview(label)
    self.view.addSubview(view)
    layOut()
    return Tile(renderer: renderer, view: view)
  }

  private func hide(_ tile: Tile) {
    tile.renderer.dispose()
    tile.view.removeFromSuperview()
    layOut()
  }

  /// As square a grid as fits; the preview is one of the tiles.
  private func layOut() {
    let tiles = view.subviews
    let columns = max(1, Int(Double(tiles.count).squareRoot().rounded(.up)))
    let rows = max(1, (tiles.count + columns - 1) / columns)
    let size = CGSize(width: 960 / CGFloat(columns), height: 540 / CGFloat(rows))
    for (index, tile) in tiles.enumerated() {
      tile.frame = CGRect(
        x: CGFloat(index % columns) * size.width, y: CGFloat(index / columns) * size.height, width: size.width,
        height: size.height)
    }
  }

  private func show(_ stream: RemoteVideoStream, of participant: RemoteParticipant) {
    remotes[stream.id] = show(try? VideoStreamRenderer(remoteVideoStream: stream), named: participant.displayName)
  }

  private func hide(_ stream: RemoteVideoStream) {
    if let tile = remotes.removeValue(forKey: stream.id) { hide(tile) }
  }
}

// Everything is told on the main queue.

extension CallScreen: @preconcurrency CallAgentDelegate {
  func callAgent(_ callAgent: CallAgent, didReceiveIncomingCall incomingCall: IncomingCall) {
    trace("didReceiveIncomingCall from \(incomingCall.callerInfo.displayName)")
    guard answers, call == nil else {
      return incomingCall.reject { [self] error in if let error { trace("reject: \(error)") } }
    }
    let options = AcceptCallOptions()
    options.videoOptions = videoOptions
    incomingCall.accept(options: options) { [self] in take($0, $1) }
  }

  func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) {
    trace("didUpdateCalls +\(args.addedCalls.count) -\(args.removedCalls.count)")
    guard let removed = args.removedCalls.first else { return }
    let reason = removed.callEndReason
    trace("callEndReason \(reason.code), subcode \(reason.subcode)")
    if reason.code != 0 { problem = "the call ended with code \(reason.code), subcode \(reason.subcode)" }
    callEnded()
  }
}

extension CallScreen: @preconcurrency CallDelegate {
  func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) { trace("didChangeState \(call.state)") }

  func call(_ call: Call, didChangeRole args: PropertyChangedEventArgs) {
    trace("didChangeRole \(call.callParticipantRole)")
  }

  func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
    for participant in args.addedParticipants {
      trace("didUpdateRemoteParticipant +\(participant.identifier.rawId)")
      participant.delegate = self
      for stream in participant.videoStreams { show(stream, of: participant) }
    }
    for participant in args.removedParticipants {
      trace("didUpdateRemoteParticipant -\(participant.identifier.rawId)")
    }
  }
}

extension CallScreen: @preconcurrency RemoteParticipantDelegate {
  func remoteParticipant(_ participant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs) {
    trace(
      "didUpdateVideoStreams \(participant.displayName) +\(args.addedRemoteVideoStreams.count) "
        + "-\(args.removedRemoteVideoStreams.count)")
    for stream in args.addedRemoteVideoStreams { show(stream, of: participant) }
    for stream in args.removedRemoteVideoStreams { hide(stream) }
  }

  func remoteParticipant(_ participant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) {
    trace("didChangeMuteState \(participant.displayName) \(participant.isMuted)")
  }

  func remoteParticipant(_ participant: RemoteParticipant, didChangeRole args: PropertyChangedEventArgs) {
    trace("didChangeRole of \(participant.displayName) \(participant.callParticipantRole)")
  }

  func remoteParticipant(_ participant: RemoteParticipant, didChangeState args: PropertyChangedEventArgs) {
    trace("didChangeState \(participant.displayName) \(participant.state)")
  }
}

extension CallScreen: @preconcurrency RendererDelegate {
  func videoStreamRenderer(didRenderFirstFrame renderer: VideoStreamRenderer) {
    trace("didRenderFirstFrame \(renderer.size.width)x\(renderer.size.height)")
  }

  func videoStreamRenderer(didFailToStart renderer: VideoStreamRenderer) { trace("didFailToStart") }
}

/// A token as the vendor's servers give them, good for the embedded backend, which asks for no signature.
private func developmentToken(for identity: String) throws -> String {
  let now = NumericDate.ofSystemClock()
  let token = AzureUserToken(identity: identity, issued: now, expires: now + 86_400)
  return try token.signed(with: SigningKey(generating: .p256))
}

private func identity(of user: String) -> String {
  "8:acs:" + String(user.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
}
