// What layers read from the call agent style need for participants and options (`koine port --to meeting-session`): the same for every app.
import AmazonChimeSDK
import Foundation

extension MeetingAgent {
  /// What a user, a call or a channel begins with. The token has the user's name.
  final class Setup {
    var name = "", channel: Int32 = 0
    /// The options of the microphone and those of the sent videos, where the app makes them apart.
    var audio: Setup?, sent: Setup?
    private var ownMute = false, ownVideos: [Video] = []
    var isMuted: Bool {
      get { audio?.isMuted ?? ownMute }
      set { if let audio { audio.isMuted = newValue } else { ownMute = newValue } }
    }
    var videos: [Video] {
      get { sent?.videos ?? ownVideos }
      set { if let sent { sent.videos = newValue } else { ownVideos = newValue } }
    }
    var video: [Video]? {
      get { videos }
      set { videos = newValue ?? [] }
    }
  }

  /// Another participant, with what it has sent so far.
  final class Person: @unchecked Sendable {
    let id, name: String
    fileprivate(set) var streams: [Stream] = [], isKnown = false
    fileprivate(set) var state = State.connected
    var isSpeaking = false
    init(id: String, name: String) { (self.id, self.name) = (id, name) }
    var isMuted: Bool { !streams.contains { $0.kind == .microphone && $0.isSent } }
    var videos: [Stream] { streams.filter { $0.kind != .microphone && $0.isSent } }
  }

  /// A stream of another participant. The call gives it a number, which it keeps.
  final class Stream: @unchecked Sendable {
    let kind: MeetingStream.Kind, number: Int32
    fileprivate(set) var sent: MeetingStream?
    init(_ kind: MeetingStream.Kind, number: Int32) { (self.kind, self.number) = (kind, number) }
    var isSent: Bool { sent != nil }
    var video: Stream? { kind == .microphone ? nil : self }
  }
}

extension MeetingAgent.Call {
  private typealias Person = MeetingAgent.Person

  func join(_ one: MeetingPerson, isKnown: Bool) {
    let person = Person(id: one.id, name: one.name)
    person.isKnown = isKnown
    if isKnown { for sent in one.streams.values { stream(sent.kind, of: person).sent = sent } }
    others.append(person)
    report(.personJoined(person))
    callees = []
    change(to: .connected)
  }
  /// From now on it is known what a participant sends.
  func know(_ one: MeetingPerson) {
    guard let person = others.first(where: { $0.id == one.id }) else { return join(one, isKnown: true) }
    person.isKnown = true
    for sent in one.streams.values { update(sent, of: one, isSent: true) }
  }
  func leave(_ one: MeetingPerson) {
    guard let person = others.first(where: { $0.id == one.id }) else { return }
    remove(person)
    if isOneToOne, others.isEmpty { hangUp { _ in } }
  }
  func remove(_ person: MeetingAgent.Person) {
    others = others.filter { $0 !== person }
    person.state = .ended
    report(.personLeft(person))
  }
  func update(_ sent: MeetingStream, of one: MeetingPerson, isSent: Bool) {
    let kind = sent.kind
    if one.isLocal { return updateLocal(kind, isSent: isSent) }
    guard let person = others.first(where: { $0.id == one.id }), person.isKnown else { return }
    let stream = stream(kind, of: person)
    stream.sent = isSent ? sent : nil
    if kind == .microphone { return report(.muted(person)) }
    report(isSent ? .streamAdded(stream, person) : .streamRemoved(stream, person))
  }
  private func updateLocal(_ kind: MeetingStream.Kind, isSent: Bool) {
    if kind == .microphone {
      // What is withdrawn with the call was not muted.
      guard state != .leaving else { return }
      let isNew = isMuted == isSent
      isMuted = !isSent
      if isNew { report(.microphoneMuted) }
    } else if isSent {
      videos.first { $0.isCamera == (kind == .camera) }?.started()
    }
  }
  private func stream(_ kind: MeetingStream.Kind, of person: Person) -> MeetingAgent.Stream {
    if let known = person.streams.first(where: { $0.kind == kind }) { return known }
    let key = "\(person.id) \(kind)"
    if !numbers.contains(key) { numbers.append(key) }
    let stream = MeetingAgent.Stream(kind, number: Int32(numbers.firstIndex(of: key)!) + 1)
    person.streams.append(stream)
    return stream
  }
  func setMuted(_ isMuted: Bool, completion: @escaping MeetingAgent.Done) {
    session.setStream(kind: .microphone, isOn: !isMuted)
    MeetingAgent.onMain { completion(nil) }
  }
}
