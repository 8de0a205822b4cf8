// What layers that `koine port` writes of the call agent style need for a call: the same file for every app.
import Foundation
import Koine

/// A call as the style has it: with a state of its own, and with ends in numbers.
final class AgentCall: RoomCall, @unchecked Sendable {
  private(set) var state = AgentCallState.none, isMuted: Bool, end: (code: Int32, subcode: Int32) = (0, 0)
  /// Whether the latest event has changed the state, or the microphone.
  private(set) var hasNewState = false, hasNewMute = false
  /// Participants that have been the dominant speaker, the latest first.
  private(set) var speakers: [String] = []
  var agentHandler: ((SessionEvent, AgentCall) -> Void)?, inboxHandler: ((RoomInbox, AgentCall) -> Void)?
  var didEnd: ((AgentCall) -> Void)?
  let id = UUID().uuidString.lowercased()
  private let endpoint: Endpoint
  private var ring: Ring?, isOneToOne = false
  private var videos: [RoomVideo] = [], numbers: [Track.ID] = [], inboxes: [String: RoomInbox] = [:]

  init(_ room: String, _ endpoint: Endpoint, _ token: String, isMuted: Bool) {
    (self.endpoint, self.isMuted) = (endpoint, isMuted)
    super.init(
      room: room, credential: token, participantID: endpoint.identity, name: endpoint.name, isMicrophoneOn: !isMuted,
      isCameraOn: false, in: endpoint.world)
  }
  func begin(_ callees: [String], isOneToOne: Bool, _ videos: [RoomVideo]) {
    self.isOneToOne = isOneToOne
    join()
    for video in videos { start(video) { _ in } }
    guard !callees.isEmpty else { return }
    endpoint.observe { [weak self] event in
      if case .answered(let ring, _, let answer) = event { self?.answered(ring, answer) }
    }
    ring = endpoint.invite(callees, to: session?.request.room, hasVideo: !videos.isEmpty)
  }
  private func answered(_ ring: Ring, _ answer: Ring.State) {
    guard ring.id == self.ring?.id, [.none, .connecting, .ringing].contains(state) else { return }
    if answer == .ringing { change(to: .ringing) }
    let codes = ring.callees.compactMap { ring.answers[$0].flatMap { Self.codes[$0] } }
    guard codes.count == ring.callees.count, let code = Self.codes[answer] else { return }
    end.code = code
    session?.leave {}
  }
  private static let codes: [Ring.State: Int32] = [
    .declined: 603, .handledElsewhere: 603, .busy: 486, .unanswered: 408, .unreachable: 480, .cancelled: 487,
  ]
  private func change(to new: AgentCallState, by event: SessionEvent? = nil) {
    (hasNewState, state) = (new != state, new)
    let event = event ?? .stateChanged(session?.state ?? .idle)
    super.receive(event)
    agentHandler?(event, self)
    if hasNewState, new == .ended { didEnd?(self) }
  }

  override func receive(_ event: SessionEvent) {
    var new = state
    hasNewMute = false
    switch event {
    case .waitingForAdmission: new = .inLobby
    case .stateChanged(.connecting): new = .connecting
    case .stateChanged(.connected) where ring == nil && state != .leaving: new = .connected
    case .participantJoined where state != .leaving: new = .connected
    case .participantLeft where isOneToOne && others.isEmpty: (_, new) = (hangUp { _ in }, state)
    case .stateChanged(.ended(let reason)):
      if end.code == 0 { end = Self.numbers(of: reason) }
      for video in videos { video.stop() }
      for one in session?.participants ?? [] { change(to: state, by: .participantLeft(one, .left)) }
      new = .ended
    case .streamAdded(let track, let owner) where owner.isLocal, .streamMuted(let track, let owner) where owner.isLocal:
      if track.kind == .microphone { (hasNewMute, isMuted) = (track.isMuted != isMuted, track.isMuted) }
      videos.first { $0.isOf(track) }?.started()
    case .publishFailed(let track, let failure): videos.first { $0.isOf(track) }?.stop(failure)
    case .dominantSpeakerChanged(let speaker?): speakers = [speaker] + speakers.filter { $0 != speaker }.prefix(4)
    case .messageReceived(let message): received(message)
    default: break
    }
    change(to: new, by: event)
  }
  private func received(_ message: ReceivedMessage) {
    guard let channel = RoomChannel.number(of: message) else { return }
    let inbox = inboxes[message.sender + message.topic] ?? RoomInbox(channel: channel, sender: message.sender)
    if inboxes.updateValue(inbox, forKey: message.sender + message.topic) == nil { inboxHandler?(inbox, self) }
    inbox.receive(message)
  }
  /// A small number for a stream, the same for all of the call.
  func number(of track: Track.ID) -> Int32 {
    if !numbers.contains(track) { numbers.append(track) }
    return Int32(numbers.firstIndex(of: track)!) + 1
  }
  private static let refusals: [Failure.Code: Int32] = [
    .unauthorized: 401, .forbidden: 403, .roomFull: 403, .invalidRoom: 404, .ended: 404,
  ]
  private static func numbers(of reason: EndReason) -> (Int32, Int32) {
    switch reason {
    case .left, .roomClosed, .roomClosedByService: (0, 0)
    case .removed: (0, 5300)
    case .duplicate, .removedByService: (0, 5000)
    case .lost: (490, 0)
    case .expired: (401, 0)
    case .refused(let failure): failure.code == .denied ? (0, 5854) : (refusals[failure.code] ?? 500, 0)
    }
  }
  func start(_ video: RoomVideo, completion: @escaping RoomDone) {
    guard let session, !videos.contains(where: { $0 === video && !$0.isOver }) else {
      return endpoint.world.tell(completion)
    }
    videos = videos.filter { $0 !== video && !$0.isOver } + [video]
    video.start(in: session, completion)
  }
  func stop(_ video: RoomVideo, completion: @escaping RoomDone) {
    video.stop()
    endpoint.world.tell(completion)
  }
  func hangUp(completion: @escaping RoomDone) {
    guard state != .ended, state != .leaving else { return endpoint.world.tell(completion) }
    if let ring, state != .connected { (end.code, _) = (487, endpoint.cancel(ring.id)) }
    change(to: .leaving)
    nonisolated(unsafe) let done = completion
    session?.leave { [self] in endpoint.world.tell(done) }
  }
}
