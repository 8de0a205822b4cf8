// What layers that `koine port` writes of the call agent style need for a call: the same file for every app.
import Foundation
import Koine

enum AgentCallState { case none, connecting, ringing, inLobby, connected, leaving, ended }

/// A call as the style has it: with a state of its own, and with ends in numbers.
final class AgentCall: RoomCall, @unchecked Sendable {
  private(set) var state = AgentCallState.none, isMuted: Bool, end: (code: Int32, subcode: Int32) = (0, 0)
  /// Whether the latest event has changed the state, or the microphone.
  private(set) var hasNewState = false, hasNewMute = false
  private let endpoint: Endpoint
  private var ring: Ring?, isOneToOne = false
  private var videos: [RoomVideo] = [], numbers: [Track.ID] = [], inboxes: [String: RoomInbox] = [:]
  /// Participants that have been the dominant speaker, the latest first.
  private(set) var speakers: [String] = []
  var agentHandler: ((SessionEvent, AgentCall) -> Void)?
  var inboxHandler: ((RoomInbox, AgentCall) -> Void)?

  init(_ room: String, _ endpoint: Endpoint, _ token: String, _ setup: CallSetup) {
    (self.endpoint, isMuted) = (endpoint, setup.isMuted)
    super.init(
      room: room, credential: token, participantID: endpoint.identity, name: endpoint.name,
      isMicrophoneOn: !setup.isMuted, isCameraOn: false, in: endpoint.world)
  }
  func begin(_ callees: [String], isOneToOne: Bool, _ videos: [RoomVideo]) {
    self.isOneToOne = isOneToOne
    join()
    for video in videos { start(video) { _ in } }
    guard !callees.isEmpty else { return }
    endpoint.observe { [weak self] event in if case .answered(let ring, _, let state) = event { self?.answered(ring, state) } }
    ring = endpoint.invite(callees, to: session?.request.room, hasVideo: !videos.isEmpty)
  }
  private func answered(_ ring: Ring, _ answer: Ring.State) {
    guard ring.id == self.ring?.id, [.none, .connecting, .ringing].contains(state) else { return }
    let codes: [Ring.State: Int32] = [
      .declined: 603, .handledElsewhere: 603, .busy: 486, .unanswered: 408, .unreachable: 480, .cancelled: 487,
    ]
    if answer == .ringing { change(to: .ringing) }
    guard let code = codes[answer], ring.callees.allSatisfy({ ring.answers[$0].map { codes[$0] != nil } ?? false }) else { return }
    end.code = code
    session?.leave {}
  }
  private func change(to new: AgentCallState, by event: SessionEvent? = nil) {
    hasNewState = new != state
    state = new
    let event = event ?? .stateChanged(session?.state ?? .idle)
    super.receive(event)
    agentHandler?(event, self)
  }

  override func receive(_ event: SessionEvent) {
    var new = state
    hasNewMute = false
    switch event {
    case .waitingForAdmission: new = .inLobby
    case .stateChanged(.connecting): new = .connecting
    case .stateChanged(.connected) where ring == nil && state != .leaving: new = .connected
    case .participantJoined where state != .leaving: new = .connected
    case .participantLeft where isOneToOne && session?.participants.isEmpty ?? true: hangUp { _ in }
    case .stateChanged(.ended(let reason)):
      if end.code == 0 { end = Self.numbers(of: reason) }
      for video in videos { video.stop() }
      new = .ended
    case .streamAdded(let track, let owner) where owner.isLocal, .streamMuted(let track, let owner) where owner.isLocal:
      if track.kind == .microphone { (hasNewMute, isMuted) = (track.isMuted != isMuted, track.isMuted) }
      videos.first { $0.isOf(track) }?.started()
    case .publishFailed(let track, let failure):
      videos.first { $0.isOf(track) }?.stop(failure)
    case .dominantSpeakerChanged(let speaker?): speakers = [speaker] + speakers.filter { $0 != speaker }.prefix(4)
    case .messageReceived(let message): received(message)
    default: break
    }
    change(to: new, by: event)
  }
  private func received(_ message: ReceivedMessage) {
    guard let channel = RoomChannel.number(of: message) else { return }
    let key = "\(message.sender) \(channel)"
    let inbox = inboxes[key] ?? RoomInbox(channel: channel, sender: message.sender)
    if inboxes.updateValue(inbox, forKey: key) == nil { inboxHandler?(inbox, self) }
    inbox.receive(message)
  }
  func channel(setup: CallSetup) -> RoomChannel { RoomChannel(self, setup: setup) }
  var others: [RoomParticipant] { (session?.participants ?? []).map { RoomParticipant(call: self, last: $0) } }
  /// A small number for a stream, the same for all of the call.
  func number(of track: Track.ID) -> Int32 {
    if !numbers.contains(track) { numbers.append(track) }
    return Int32(numbers.firstIndex(of: track)!) + 1
  }
  /// The numbers of the style.
  private static func numbers(of reason: EndReason) -> (Int32, Int32) {
    switch reason {
    case .left, .roomClosed, .roomClosedByService: return (0, 0)
    case .removed: return (0, 5300)
    case .duplicate, .removedByService: return (0, 5000)
    case .lost: return (490, 0)
    case .expired: return (401, 0)
    case .refused(let failure):
      let codes: [Failure.Code: Int32] = [.unauthorized: 401, .forbidden: 403, .roomFull: 403, .invalidRoom: 404, .ended: 404]
      return failure.code == .denied ? (0, 5854) : (codes[failure.code] ?? 500, 0)
    }
  }
  func setMuted(_ isMuted: Bool, completion: @escaping ((any Error)?) -> Void) {
    setStream(kind: .microphone, isOn: !isMuted)
    tell(completion)
  }
  func start(_ video: RoomVideo, completion: @escaping ((any Error)?) -> Void) {
    guard let session, !videos.contains(where: { $0 === video && !$0.isOver }) else { return tell(completion) }
    videos.append(video)
    video.start(in: session, completion)
  }
  func stop(_ video: RoomVideo, completion: @escaping ((any Error)?) -> Void) {
    videos.removeAll { $0 === video }
    video.stop()
    tell(completion)
  }
  func hangUp(completion: @escaping ((any Error)?) -> Void) {
    guard state != .ended, state != .leaving else { return tell(completion) }
    if let ring, state != .connected { endpoint.cancel(ring.id) }
    change(to: .leaving)
    nonisolated(unsafe) let done = completion
    session?.leave { [self] in withExtendedLifetime(self) { done(nil) } }
  }
  private func tell(_ completion: @escaping ((any Error)?) -> Void) {
    nonisolated(unsafe) let done = completion
    endpoint.world.delivery.deliver { done(nil) }
  }
}
