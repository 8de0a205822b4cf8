// What layers read from the stage strategy style need (`koine port --to event-listener`): the same for every app.
import AVFoundation
import Foundation
import VideoSDKRTC
import WebRTC

/// A call that sends and receives what the app decides.
final class ListenerStage: @unchecked Sendable {  // used on the main queue only, where the SDK's callbacks arrive
  /// What a stage's token can deny: here, each participant may publish, and receive the others.
  enum Capability: Sendable, CaseIterable { case publish, subscribe }
  static let capabilities = Set(Capability.allCases)
  let call: ListenerCall
  var handler: ((Report, ListenerStage) -> Void)?
  private(set) var participants: [VideoSDKRTC.Participant] = [], isConnected = false
  private var streams: [String: [Stream]] = [:], sent: [Stream] = [], isPublishing = false
  private var wanted: [String: Set<ListenerKind>] = [:], known: Set<String> = []

  init(token: String) throws {
    guard let call = ListenerCall(token: token) else { throw Fault.token.error("the token cannot be read") }
    self.call = call
  }
  func join() throws {
    call.handler = { [weak self] report, _ in self?.receive(report) }
    call.join()
  }
  func leave() { call.leave() }
  private func report(_ report: Report) { handler?(report, self) }

  private func receive(_ event: ListenerReport) {
    switch event {
    case .phaseChanged(.CLOSED): end()
    case .phaseChanged(let phase):
      isConnected = phase == .CONNECTED
      let isConnecting = phase == .RECONNECTING
      report(.phaseChanged(isConnecting ? .CONNECTING : phase, nil))
    case .personJoined(let person):
      participants.append(person)
      report(.personJoined(person))
    case .personLeft(let person):
      for stream in streams.removeValue(forKey: person.id) ?? [] { report(.streamRemoved(stream, person)) }
      (participants, wanted[person.id], _) = (participants.filter { $0 != person }, nil, known.remove(person.id))
      report(.personLeft(person))
    case .streamsKnown(let person):
      known.insert(person.id)
      update(person)
    case .streamAdded(_, let one), .streamRemoved(_, let one): update(one)
    case .levelsChanged(let levels):
      for (id, level) in levels {
        for stream in streams[id] ?? [] where stream.kind == .microphone { stream.levelHandler?(level) }
      }
    case .failed(let failure):
      if !call.isOver { failed(failure.kind) }
    default: break
    }
  }
  private func failed(_ kind: ListenerKind?) {
    let error = Fault.media.error("it is not sent")
    if kind != nil { report(.failed(kind, error)) }
    report(.failed(nil, error))
  }
  private func end() {
    isConnected = false
    publish(nil)
    report(.phaseChanged(.CLOSED, call.fault))
  }

  /// Sends the first stream of video and of audio, and no others; nil: the local participant does not take part.
  func publish(_ wanted: (() -> [Stream])?) {
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
  /// Receives these kinds of streams of a participant, and no others.
  func receive(_ kinds: Set<ListenerKind>, of person: VideoSDKRTC.Participant) {
    wanted[person.id] = kinds
    call.receive(wanted)
    update(person)
  }
  private func update(_ one: VideoSDKRTC.Participant) { ListenerKind.allCases.forEach { update($0, of: one) } }
  private func update(_ kind: ListenerKind, of person: VideoSDKRTC.Participant) {
    guard let wanted = wanted[person.id], known.contains(person.id) else { return }
    let isSent = call.isSent(kind, by: person), old = streams[person.id]?.first { $0.kind == kind }
    guard wanted.contains(kind) else {
      streams[person.id]?.removeAll { $0 === old }
      return old.map { report(.streamRemoved($0, person)) } ?? ()
    }
    if let old, !isSent, kind == .screen {
      streams[person.id]?.removeAll { $0 === old }
      report(.streamRemoved(old, person))
    } else if let old, old.isMuted == isSent {
      old.isMuted = !isSent
      report(.streamMuted(old, person))
    } else if old == nil, kind != .screen || isSent {
      let stream = Stream(kind, of: person.id, in: call, isMuted: !isSent)
      streams[person.id, default: []].append(stream)
      report(.streamAdded(stream, person))
    }
  }
}
