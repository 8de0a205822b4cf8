// Attendees, what they send, and messages (`koine port --to meeting-session`): the same file for every app.
import AmazonChimeSDK
import Foundation

/// What a meeting reports, about one attendee at a time.
enum MeetingReport: Sendable {
  case phaseChanged(MeetingPhase), joined, left(MeetingSessionStatusCode), connectionLost, failed(MeetingFailure)
  case personJoined(MeetingPerson), personLeft(MeetingPerson), messageReceived(MeetingMessage)
  case streamAdded(MeetingStream, MeetingPerson), streamRemoved(MeetingStream, MeetingPerson)
  case speakerChanged(String?), presenterChanged(String?), levelsChanged([String: Float])
  /// From now on it is known what a participant sends.
  case streamsKnown(MeetingPerson)
}
enum MeetingPhase: Sendable { case connecting, connected, reconnecting, ended }
enum MeetingFailure: String, Error {
  case rejected, full, joinedElsewhere, microphone, microphoneDenied, cameraDenied, screen, message, failed
}
struct MeetingMessage: Sendable { let id, topic, senderID, senderName, text: String }

/// An attendee with what it sends now. A share is a stream of its owner's.
final class MeetingPerson: Equatable, @unchecked Sendable {  // used on the main queue only
  let id, name: String, isLocal: Bool
  var streams: [String: MeetingStream] = [:]
  /// A meeting has an attendee's name only: it is there under the keys of the stage vendor's samples.
  var attributes: [String: String] { ["name": name, "username": name] }
  init(id: String, name: String, isLocal: Bool) { (self.id, self.name, self.isLocal) = (id, name, isLocal) }
  static func == (one: MeetingPerson, other: MeetingPerson) -> Bool { one === other }
}

/// A microphone, a camera or a shared screen, which views show from its first tile on.
final class MeetingStream: Equatable, @unchecked Sendable {  // used on the main queue only
  enum Kind: Sendable, CaseIterable {
    case microphone, camera, screen
    var isVideo: Bool { self != .microphone }
    var isAudio: Bool { self == .microphone }
  }
  let id: String, kind: Kind
  private weak var call: MeetingCall?
  init(_ kind: Kind, of id: String, in call: MeetingCall) {
    (self.id, self.kind, self.call) = (id + (kind == .screen ? "#content" : ""), kind, call)
  }
  var video: MeetingStream? { kind == .microphone ? nil : self }
  /// In dBov, from the five steps of a meeting's volumes.
  static func level(of volume: VolumeLevel) -> Float {
    switch volume {
    case .muted, .notSpeaking: -127
    case .low: -48
    case .medium: -33
    case .high: -20
    }
  }
  func attach(view: any VideoRenderView) { call?.show(view, id) }
  func detach(view: any VideoRenderView) {
    guard let call, call.views[id] === view else { return }
    call.views[id] = nil
    if let tile = call.tiles[id] { call.media.unbindVideoView(tileId: tile) }
  }
  static func == (one: MeetingStream, other: MeetingStream) -> Bool { one === other }
}

extension MeetingCall {
  func show(_ view: any VideoRenderView, _ stream: String) {
    views[stream] = view
    if let tile = tiles[stream] { media.bindVideoView(videoView: view, tileId: tile) }
  }
  func update(_ sources: [RemoteVideoSource], areSent: Bool) {
    for source in sources {
      self.sources[source.attendeeId] = areSent ? source : nil
      let modality = DefaultModality(id: source.attendeeId)
      set(modality.isOfType(type: .content) ? .screen : .camera, of: modality.base, isSent: areSent)
    }
    if areSent { select() }
  }
  /// A meeting receives all videos until an app chooses some.
  func select() {
    let isWanted = { (id: String) in self.received[DefaultModality(id: id).base]?.contains(.camera) ?? true }
    let (chosen, left) = (sources.filter { isWanted($0.key) }.values, sources.filter { !isWanted($0.key) }.values)
    guard hasChosen || !left.isEmpty else { return }
    hasChosen = true
    let added = chosen.map { ($0, VideoSubscriptionConfiguration()) }
    media.updateVideoSourceSubscriptions(addedOrUpdated: Dictionary(uniqueKeysWithValues: added), removed: Array(left))
  }
  func set(_ kind: MeetingStream.Kind, of id: String, isSent: Bool) {
    guard let person = id == localParticipant.id ? localParticipant : participants[id] else { return }
    let key = "\(kind)", (old, before) = (person.streams[key], presenters.last)
    guard isSent == (old == nil) else { return }
    let stream = old ?? MeetingStream(kind, of: id, in: self)
    person.streams[key] = isSent ? stream : nil
    if kind == .screen { presenters = presenters.filter { $0 != id } + (isSent ? [id] : []) }
    if presenters.last != before { report(.presenterChanged(presenters.last)) }
    report(isSent ? .streamAdded(stream, person) : .streamRemoved(stream, person))
  }
  func observe(topic: String) {
    if topics.insert(topic).inserted { media.addRealtimeDataMessageObserver(topic: topic, observer: self) }
  }
  func stopObserving(topic: String) {
    if topics.remove(topic) != nil { media.removeRealtimeDataMessageObserverFromTopic(topic: topic) }
  }
  /// A meeting does not send a message back to its sender, and keeps it for five minutes at most.
  func send(text: String, topic: String, isPersistent: Bool = false) {
    guard hasEntered, !isOver else { return }
    do {
      try media.realtimeSendDataMessage(topic: topic, data: text, lifetimeMs: isPersistent ? 300_000 : 0)
    } catch { return report(.failed(.message)) }
    let sender = (id: localParticipant.id, name: localParticipant.name)
    receive(
      MeetingMessage(
        id: UUID().uuidString, topic: topic, senderID: sender.id, senderName: sender.name, text: text))
  }
  func receive(_ message: MeetingMessage) {
    messages.append(message)
    if topics.contains(message.topic) { report(.messageReceived(message)) }
  }
  func messages(topic: String) -> [MeetingMessage] { messages.filter { $0.topic == topic } }
}
