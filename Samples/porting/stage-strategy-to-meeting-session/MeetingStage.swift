// What layers read from the stage strategy style need in a meeting (`koine port --to meeting-session`): the same for every app.
import AmazonChimeSDK
import Foundation

/// A meeting that sends and receives what the app decides.
final class MeetingStage: @unchecked Sendable {  // used on the main queue only, where the SDK calls its observers
  let call: MeetingCall
  var handler: ((StageReport, MeetingStage) -> Void)?
  private(set) var participants: [MeetingPerson] = [], isConnected = false
  private var streams: [String: [StageStream]] = [:], sent: [StageStream] = [], isPublishing = false
  private var wanted: [String: Set<MeetingStream.Kind>] = [:], known: Set<String> = []

  private struct Answers: Decodable {
    struct Parts: Decodable {
      let Meeting: CreateMeetingResponse
      let Attendee: CreateAttendeeResponse
    }
    let JoinInfo: Parts
  }
  /// - Parameter token: the answers to CreateMeeting and CreateAttendee, as JSON: `{"JoinInfo": {"Meeting": …, "Attendee": …}}`.
  init(token: String) throws {
    guard let answers = try? JSONDecoder().decode(Answers.self, from: Data(token.utf8)).JoinInfo else {
      throw StageFault.token.error("these are no answers to CreateMeeting and CreateAttendee")
    }
    call = MeetingCall(
      MeetingSessionConfiguration(createMeetingResponse: answers.Meeting, createAttendeeResponse: answers.Attendee))
  }
  func join() throws {
    call.handler = { [weak self] report, _ in self?.receive(report) }
    call.join()
  }
  func leave() { call.leave() }
  private func report(_ report: StageReport) { handler?(report, self) }

  private func receive(_ event: MeetingReport) {
    switch event {
    case .phaseChanged(.ended): end()
    case .phaseChanged(let phase):
      isConnected = phase == .connected
      report(.phaseChanged(phase == .reconnecting ? .connecting : phase, nil))
    case .personJoined(let person):
      participants.append(person)
      report(.personJoined(person))
    case .personLeft(let person):
      for stream in streams.removeValue(forKey: person.id) ?? [] { report(.streamRemoved(stream, person)) }
      (participants, wanted[person.id], _) = (participants.filter { $0 != person }, nil, known.remove(person.id))
      report(.personLeft(person))
    case .streamAdded(let stream, let one), .streamRemoved(let stream, let one): update(stream.kind, of: one)
    case .levelsChanged(let levels):
      for person in participants where levels[person.id] != nil && known.insert(person.id).inserted { update(person) }
      for (id, level) in levels {
        for stream in streams[id] ?? [] where stream.kind == .microphone { stream.levelHandler?(level) }
      }
    case .failed(let failure):
      if !call.isOver { failed(failure == .microphoneDenied ? .microphone : nil) }
    default: break
    }
  }
  private func failed(_ kind: MeetingStream.Kind?) {
    let error = StageFault.media.error("it is not sent")
    if kind != nil { report(.failed(kind, error)) }
    report(.failed(nil, error))
  }
  private func end() {
    isConnected = false
    publish(nil)
    report(.phaseChanged(.ended, call.code.flatMap(StageFault.error)))
  }

  /// Sends the first stream of video and of audio, and no others; nil: the local participant does not take part.
  func publish(_ wanted: (() -> [StageStream])?) {
    let local = call.localParticipant
    if !isPublishing, wanted != nil { (isPublishing, _) = (true, report(.personJoined(local))) }
    let all = wanted?() ?? [], new = [all.first { $0.kind.isVideo }, all.first { $0.kind.isAudio }].compactMap { $0 }
    for stream in sent where !new.contains(where: { $0 === stream }) {
      stream.stop()
      report(.streamRemoved(stream, local))
    }
    let started = new.filter { stream in !sent.contains { $0 === stream } }
    sent = new
    for stream in started {
      stream.muteHandler = { [weak self] in self?.report(.streamMuted($0, local)) }
      if !stream.start(in: call) { failed(stream.kind) }
      report(.publishingChanged(local))
      report(.streamAdded(stream, local))
    }
    if isPublishing, wanted == nil { (isPublishing, _) = (false, report(.personLeft(local))) }
  }
  /// Receives these kinds of streams of a participant, and no others. Its sound comes mixed with that of the others.
  func receive(_ kinds: Set<MeetingStream.Kind>, of person: MeetingPerson) {
    wanted[person.id] = kinds
    if wanted.values.contains(where: { $0.contains(.camera) }) {
      call.media.startRemoteVideo()
    } else {
      call.media.stopRemoteVideo()
    }
    update(person)
  }
  private func update(_ one: MeetingPerson) { MeetingStream.Kind.allCases.forEach { update($0, of: one) } }
  /// Whether an attendee is muted is known with its first volume.
  private func update(_ kind: MeetingStream.Kind, of person: MeetingPerson) {
    guard let wanted = wanted[person.id], known.contains(person.id) else { return }
    let now = person.streams["\(kind)"], old = streams[person.id]?.first { $0.kind == kind }
    guard wanted.contains(kind) else {
      streams[person.id]?.removeAll { $0 === old }
      return old.map { report(.streamRemoved($0, person)) } ?? ()
    }
    if let old, now == nil, kind == .screen {
      streams[person.id]?.removeAll { $0 === old }
      report(.streamRemoved(old, person))
    } else if let old, old.isMuted != (now == nil) {
      old.isMuted = now == nil
      report(.streamMuted(old, person))
    } else if old == nil, kind != .screen || now != nil {
      let stream = StageStream(kind, of: person.id, in: call, isMuted: now == nil)
      streams[person.id, default: []].append(stream)
      report(.streamAdded(stream, person))
    }
  }
}
