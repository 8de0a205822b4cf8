// What layers in the stage strategy style need beside `Session` (`koine port --to koine`): the same for every app.
import Foundation
import Koine
import KoineBackends
import KoineTokens

/// A session that publishes and receives what the app decides. It reports participants while they publish, and no other tracks.
final class RoomStage: @unchecked Sendable {  // used on the main queue only, where the session's events arrive
  private(set) var session: Session
  var handler: ((SessionEvent, RoomStage) -> Void)?
  private(set) var participants: [Participant] = []  // the others, while they publish
  private var streams: [Track.ID: RoomStream] = [:], sent: [RoomStream] = [], wanted: [String: Set<Track.Kind>] = [:]
  private var isPublishing = false, isOver = false, observation: Observation?
  private let expiry: NumericDate?
  /// - Throws: if the token, a stage's or one of Koine's, does not name a room and a participant.
  init(token: String) throws {
    let text = try? JSONWebToken.parse(token), stage = try? text?.claims(as: IVSStageToken.self)
    let claims = stage?.admission ?? (try? text?.claims(as: KoineToken.self))?.admission
    guard let claims, let room = claims.room, let id = claims.participantID else { throw RoomFault.token.error("none") }
    let (tags, world) = (claims.attributes, try Backends.world(room: room, participant: id))
    let name = [tags["username"], tags["name"], claims.displayName, claims.externalID].first { $0?.isEmpty == false }
    let shown = (name ?? nil) ?? id
    let join = JoinRequest(room: room, credential: token, participantID: id, name: shown, attributes: tags)
    (session, expiry) = (Session(join, in: world, options: .ofStage), claims.expiry)
  }
  func join() throws {
    if let expiry, expiry <= .ofSystemClock() { throw RoomFault.expired.error("the token has expired") }
    if isOver { (session, isOver) = (Session(session.request, in: session.world, options: .ofStage), false) }
    observation = session.observe { [weak self] in self?.receive($0) }
    session.join { _ in }  // the events report how it goes
  }
  func leave() { end(.left) }
  func stream(_ track: Track) -> RoomStream? { streams[track.id] }
  private func report(_ event: SessionEvent) { handler?(event, self) }
  private func receive(_ event: SessionEvent) {
    switch event {
    case .participantJoined: break  // see `update`
    case .participantLeft(let owner, _): update(owner, isSettled: true)
    case .streamAdded(_, let owner), .streamRemoved(_, let owner): if !owner.isLocal { update(owner, isSettled: false) }
    case .stateChanged(.ended(let reason)): end(reason)
    case .streamPublished(let track): [event, .streamAdded(track, session.localParticipant)].forEach(report)
    case .publishFailed(let track, _):
      sent.removeAll { $0.id == track.id }
      for event in [.streamRemoved(track, session.localParticipant), event] { report(event) }
      streams[track.id] = nil
    case .streamMuted(let track, _):
      streams[track.id]?.track.isMuted = track.isMuted
      report(event)
    case .attributesChanged(let participant):
      participants = participants.map { $0.id == participant.id ? participant : $0 }
      report(event)
    case .levelsChanged(let levels):
      for (id, one) in streams { levels[id.participant].map { one.levelHandler?(Float($0)) } }
    default: report(event)
    }
  }
  private func end(_ reason: EndReason) {
    guard !isOver else { return }
    isOver = true
    for participant in participants { update(participant, isSettled: true) }
    publish(nil)
    report(.stateChanged(.ended(reason)))
    observation?.cancel()
    session.leave {}
  }
  /// Publishes the first stream of video and of audio, and no others; nil: the local participant does not take part.
  func publish(_ wanted: (() -> [RoomStream])?) {
    if !isPublishing, wanted != nil { (isPublishing, _) = (true, report(.participantJoined(session.localParticipant))) }
    let all = wanted?() ?? [], new = [all.first { $0.kind.isVideo }, all.first { $0.kind.isAudio }].compactMap { $0 }
    for stream in sent where !new.contains(where: { $0 === stream }) {
      stream.unpublish()
      report(.streamRemoved(stream.track, session.localParticipant))
      streams[stream.id] = nil
    }
    for stream in new where !sent.contains(where: { $0 === stream }) {
      let failure = stream.publish(in: session), track = stream.track
      streams[track.id] = stream
      if let failure { session.world.delivery.deliver { [weak self] in self?.receive(.publishFailed(track, failure)) } }
    }
    sent = new
    if isPublishing, wanted == nil { report(.participantLeft(session.localParticipant, .left)) }
    isPublishing = isPublishing && wanted != nil
  }
  /// Receives these kinds of tracks of a participant, and no others.
  func receive(_ kinds: Set<Track.Kind>, of participant: Participant) {
    update(participant, isSettled: wanted.updateValue(kinds, forKey: participant.id) != nil)
  }
  private func update(_ owner: Participant, isSettled: Bool) {
    let tracks = isOver ? [] : session.participants.first { $0.id == owner.id }?.tracks ?? []
    let isKnown = participants.contains { $0.id == owner.id }
    if !isKnown, !tracks.isEmpty {
      participants.append(owner)
      return report(.participantJoined(owner))
    }
    let kept = tracks.filter { wanted[owner.id]?.contains($0.kind) == true }
    for track in kept where streams[track.id] == nil {
      streams[track.id] = RoomStream(track, in: session)
      session.subscribe(to: track.id)
    }
    guard isSettled else {
      let (lane, delivery) = (session.world.backend.scheduler.lane("stage"), session.world.delivery)
      lane.post(at: lane.scheduler.now + .milliseconds(10)) { [weak self] in  // those that come together are one report
        delivery.deliver { [weak self] in self?.update(owner, isSettled: true) }
      }
      return
    }
    for (id, stream) in streams where id.participant == owner.id && !kept.contains(where: { $0.id == id }) {
      session.unsubscribe(from: id)
      report(.streamRemoved(stream.track, owner))
      streams[id] = nil
    }
    for stream in kept.compactMap({ streams[$0.id] }) where !stream.isReported {
      stream.isReported = true
      report(.streamAdded(stream.track, owner))
    }
    guard isKnown, tracks.isEmpty else { return }
    (participants, wanted[owner.id]) = (participants.filter { $0.id != owner.id }, nil)
    report(.participantLeft(owner, .left))
  }
}
