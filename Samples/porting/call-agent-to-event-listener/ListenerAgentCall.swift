// What layers read from the call agent style need for a call (`koine port --to event-listener`): the same for every app.
import AVFoundation
import Foundation
import VideoSDKRTC
import WebRTC

extension ListenerAgent {
  enum State: Sendable { case none, connecting, ringing, inLobby, connected, leaving, ended }

  /// What a call reports, about one person at a time.
  enum Event {
    case stateChanged, microphoneMuted, speakerChanged
    case personJoined(Person), personLeft(Person), muted(Person)
    case streamAdded(Stream, Person), streamRemoved(Stream, Person)
  }

  /// A call as the style has it: with a state of its own, and with ends in numbers.
  final class Call: @unchecked Sendable {
    let session: ListenerCall, id = UUID().uuidString.lowercased()
    private(set) var state = State.none, end: (code: Int32, subcode: Int32) = (0, 0)
    var isMuted: Bool, others: [Person] = []
    /// Participants that have been the dominant speaker, the latest first.
    private(set) var speakers: [String] = []
    var agentHandler: ((Event, Call) -> Void)?, didEnd: ((Call) -> Void)?
    var inboxHandler: ((Inbox, Call) -> Void)?, inboxes: [String: Inbox] = [:]
    let isOneToOne: Bool
    /// Users that are rung, until one of them answers.
    var callees: [String]
    /// Whether it is known what those send who were there first: they are reported with it, and later ones before it.
    var isSettled = false
    var videos: [Video] = [], numbers: [String] = []
    private let room: String?
    private var hasEntered = false, untilItsEnd: Call?
    private var waiting: [(video: Video, completion: Done)] = [], hangUps: [Done] = []

    init(_ session: ListenerCall, room: String?, _ callees: [String], isOneToOne: Bool, _ setup: Setup) {
      (self.session, self.room, self.callees, self.isOneToOne) = (session, room, callees, isOneToOne)
      (isMuted, waiting) = (setup.isMuted, setup.videos.map { (video: $0, completion: { _ in }) })
    }
    func begin(_ ringer: (([String], Call) -> Void)?) {
      guard state == .none else { return }  // the app has left already
      guard room.map(session.isIn) ?? true else { return finish((404, 0)) }
      session.handler = { [weak self] report, _ in self?.receive(report) }
      session.join()
      if !callees.isEmpty { ringer?(callees, self) }
    }
    /// The app's own server says why the users that are rung do not answer: 603 they decline, 486 busy, 480 not there, 408.
    func noAnswer(code: Int32) {
      guard !callees.isEmpty else { return }
      end.code = code
      hangUp { _ in }
    }
    func hangUp(completion: @escaping Done) {
      guard state != .ended else { return onMain { completion(nil) } }
      (untilItsEnd, hangUps) = (self, hangUps + [completion])
      if state == .none { return finish((0, 0)) }
      if !callees.isEmpty, end.code == 0 { end.code = 487 }
      change(to: .leaving)
      session.leave()
    }
    func change(to new: State) {
      guard new != state, state != .ended, state != .leaving || new == .ended else { return }
      state = new
      report(.stateChanged)
    }
    func report(_ event: Event) { agentHandler?(event, self) }

    private func receive(_ event: ListenerReport) {
      switch event {
      case .phaseChanged(.CONNECTING): change(to: .connecting)
      case .phaseChanged(.CONNECTED): change(to: callees.isEmpty ? .connected : .ringing)
      case .phaseChanged(.CLOSED): finish(session.numbersOfEnd)
      case .joined: enter()
      case .personJoined(let one): if isSettled { join(one, isKnown: false) }
      case .streamsKnown(let one): know(one)
      case .levelsChanged: isSettled = true
      case .personLeft(let one): leave(one)
      case .streamAdded(let stream, let one): update(stream, of: one, isSent: true)
      case .streamRemoved(let stream, let one): update(stream, of: one, isSent: false)
      case .failed(let failure): for video in videos { failure.ofVideo(isCamera: video.isCamera).map(video.stop) }
      case .speakerChanged(let speaker):
        for one in others { one.isSpeaking = one.id == speaker }
        guard let speaker else { break }
        speakers = [speaker] + speakers.filter { $0 != speaker }.prefix(4)
        report(.speakerChanged)
      case .messageReceived(let message): receive(message)
      default: break
      }
    }
    private func enter() {
      hasEntered = true
      for (video, completion) in waiting { start(video, completion: completion) }
      waiting = []
    }
    private func finish(_ numbers: (Int32, Int32)) {
      if end.code == 0 { end = numbers }
      for video in videos { video.stop() }
      for (_, completion) in waiting { completion(Failure.ended) }
      for person in others { remove(person) }
      change(to: .ended)
      didEnd?(self)
      for completion in hangUps { completion(nil) }
      (videos, waiting, hangUps, untilItsEnd) = ([], [], [], nil)
    }
    /// Begins once the call is entered.
    func start(_ video: Video, completion: @escaping Done) {
      guard state != .ended, !videos.contains(where: { $0 === video }) else { return onMain { completion(nil) } }
      guard hasEntered else { return waiting.append((video, completion)) }
      videos.append(video)
      video.start(in: session, completion)
    }
    func stop(_ video: Video, completion: @escaping Done) {
      (waiting, videos) = (waiting.filter { $0.video !== video }, videos.filter { $0 !== video })
      video.stop()
      onMain { completion(nil) }
    }
  }
}
