// What layers that `koine port --to call-agent` writes need beside the SDK: the same file for every app.
import AVFoundation
import AzureCommunicationCalling
import AzureCommunicationCommon
import Foundation

/// A call in a room, its participants, and what they send.
final class AzureCall: NSObject, @unchecked Sendable {  // used on the main queue only: see `onMain`
  let room: String, localParticipant: AzurePerson
  var handler: ((AzureReport, AzureCall) -> Void)?
  var participants: [String: AzurePerson] = [:], presenters: [String] = [], speaker: String?
  var views: [String: AzureVideoView] = [:], received: [String: Set<AzureStream.Kind>] = [:]
  var messages: [AzureMessage] = [], topics: Set<String> = [], senders: [String: DataChannelSender] = [:]
  var receivers: [DataChannelReceiver] = []
  /// What is sent beside the microphone. A feed has the camera's place.
  var camera: LocalVideoStream?, screen: AzureFeed?, feed: AzureFeed?
  var side = CameraFacing.front, wanted: Set<AzureStream.Kind>
  /// The app may have a type of this name.
  typealias Call = AzureCommunicationCalling.Call
  private(set) var call: Call?, devices: DeviceManager?, hasMicrophone = true, hasEntered = false
  var isPathLost = false, isPathPoor = false
  private let token: String, client = CallClient()
  private var agent: CallAgent?, isLeaving = false
  /// Why the call is over, and what has ended it.
  private(set) var reason: AzureEnd?, failure: AzureFailure?
  var isOver: Bool { reason != nil }

  /// - Parameters:
  ///   - room: the id of a room, or the UUID of a group call.
  ///   - credential: a user access token.
  ///   - participantID: the raw id of the token's user, which the answer to the request for the token has, too.
  init(
    room: String, credential: String?, participantID: String = "", name: String = "Guest", isMicrophoneOn: Bool = true,
    isCameraOn: Bool = true
  ) {
    let id = participantID.isEmpty ? UUID().uuidString : participantID
    (self.room, token, localParticipant) = (room, credential ?? "", AzurePerson(id: id, localName: name))
    wanted = Set((isMicrophoneOn ? [AzureStream.Kind.microphone] : []) + (isCameraOn ? [.camera] : []))
  }

  func join(side: CameraFacing = .front) {
    self.side = side
    report(.phaseChanged(.connecting))
    guard let credential = try? CommunicationTokenCredential(token: token) else { return end(.refused, .rejected) }
    let options = CallAgentOptions()
    options.displayName = localParticipant.name
    client.createCallAgent(userCredential: credential, options: options) { [weak self] agent, error in
      self?.onMain { $0.signedIn(agent, error) }
    }
  }
  private func signedIn(_ agent: CallAgent?, _ error: (any Error)?) {
    self.agent = agent
    if isLeaving { return end(.left) }
    if agent == nil { return end(.refused, AzureFailure(error)) }
    client.getDeviceManager { [weak self] devices, _ in
      AVCaptureDevice.requestAccess(for: .audio) { [weak self] isGranted in
        self?.onMain { $0.enter(devices, hasMicrophone: isGranted) }
      }
    }
  }
  private func enter(_ devices: DeviceManager?, hasMicrophone: Bool) {
    if isLeaving { return end(.left) }
    (self.devices, self.hasMicrophone) = (devices, hasMicrophone)
    let options = JoinCallOptions(), audio = OutgoingAudioOptions(), video = IncomingVideoOptions()
    audio.muted = !wanted.contains(.microphone)
    if !hasMicrophone {
      // Without the permission, a call takes sound of the app's only.
      audio.stream = RawOutgoingAudioStream(options: RawOutgoingAudioStreamOptions())
      report(.failed(.microphoneDenied))
    }
    video.streamType = .remoteIncoming
    (options.outgoingAudioOptions, options.incomingVideoOptions) = (audio, video)
    let locator = UUID(uuidString: room).map { GroupCallLocator(groupId: $0) } ?? RoomCallLocator(roomId: room)
    agent?.join(with: locator, joinCallOptions: options) { [weak self] call, error in
      // Before the change of queues: what comes without a delegate is lost.
      if let call { self?.observe(call) }
      self?.onMain { $0.begin(call, error) }
    }
  }
  private func begin(_ call: Call?, _ error: (any Error)?) {
    self.call = call
    if call == nil { return end(.refused, AzureFailure(error)) }
    if isLeaving { leave() } else { update() }
  }
  func leave() { leave(forEveryone: false) }
  func endForAll() { leave(forEveryone: true) }
  private func leave(forEveryone: Bool) {
    isLeaving = true
    let options = HangUpOptions()
    options.forEveryone = forEveryone
    call?.hangUp(options: options) { _ in }
  }
  func entered() {
    hasEntered = true
    report(.phaseChanged(.connected))
    report(.joined)
    for kind in [AzureStream.Kind.microphone, .camera] { setStream(kind: kind, isOn: wanted.contains(kind)) }
  }
  func ended(_ reason: CallEndReason) {
    let numbers = (reason.code, reason.subcode)
    let end = AzureEnd(numbers, isLeaving: isLeaving, hasEntered: hasEntered)
    self.end(end, end == .refused || end == .failed ? AzureFailure(numbers) : nil)
  }
  func end(_ reason: AzureEnd, _ failure: AzureFailure? = nil) {
    guard !isOver else { return }
    (self.reason, self.failure, screen, camera, feed) = (reason, failure, nil, nil, nil)
    views.values.forEach { $0.show(nil) }
    senders.values.forEach { $0.closeSender() }
    if reason == .lost { report(.connectionLost) } else if let failure { report(.failed(failure)) }
    report(.phaseChanged(.ended))
    if hasEntered { report(.left(reason)) }
    agent?.dispose()
    (agent, call, devices) = (nil, nil, nil)
  }
  func report(_ event: AzureReport) { handler?(event, self) }
}
