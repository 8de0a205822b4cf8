// What layers that `koine port --to event-listener` writes need beside the SDK: the same file for every app.
import AVFoundation
import VideoSDKRTC
import WebRTC

/// A meeting with one handler for what its listeners are told.
final class ListenerCall: @unchecked Sendable {  // used on the main queue only, where the SDK calls its listeners
  typealias Meeting = VideoSDKRTC.Meeting
  typealias Participant = VideoSDKRTC.Participant
  let meeting: Meeting
  var handler: ((ListenerReport, ListenerCall) -> Void)?
  var hasEntered = false, isLost = false, topics: Set<String> = []
  /// Why the participant is gone that is reported to have left.
  var departure: LeaveReason?
  private var isLeaving = false
  /// Why the meeting is over, and the error that has ended it.
  private(set) var reason: LeaveReason?
  var failure: VideoSDKError?
  /// Where the camera is that is on.
  var side: AVCaptureDevice.Position?
  private var views: [String: RTCMTLVideoView] = [:], wanted: [String: Set<ListenerKind>]?
  var isOver: Bool { reason != nil }
  var localParticipant: Participant { meeting.localParticipant }
  var participants: [String: Participant] { meeting.participants }

  init(
    room: String, credential: String?, participantID: String = "", name: String = "Guest", isMicrophoneOn: Bool = true,
    isCameraOn: Bool = true
  ) {
    if let credential { VideoSDK.config(token: credential) }
    meeting = VideoSDK.initMeeting(
      meetingId: room, participantId: participantID, participantName: name, micEnabled: isMicrophoneOn,
      webcamEnabled: isCameraOn)
  }
  func join(side: AVCaptureDevice.Position = .front) {
    meeting.addEventListener(self)
    meeting.localParticipant.addEventListener(self)
    meeting.join(cameraPosition: side)
  }
  func leave() {
    isLeaving = true
    meeting.leave()
  }
  /// - Parameter reason: nil: the meeting has not told it, because it was never joined.
  func end(_ reason: LeaveReason?) {
    guard !isOver else { return }
    self.reason =
      reason ?? (isLeaving ? .manualLeaveCalled : isLost ? .websocketConnectionAttemptsExhausted : .joinRoomFailed)
    if let failure { report(.failed(failure)) }
    report(.phaseChanged(.CLOSED))
    if let reason { report(.left(reason)) }
    meeting.localParticipant.removeEventListener(self)
    meeting.removeEventListener(self)
  }
  func report(_ event: ListenerReport) { handler?(event, self) }

  func setStream(kind: ListenerKind, isOn: Bool) {
    switch (kind, isOn) {
    case (.microphone, true): meeting.unmuteMic()
    case (.microphone, false): meeting.muteMic()
    case (.camera, true): meeting.enableWebcam()
    case (.camera, false): meeting.disableWebcam()
    case (.screen, true): Task { @MainActor [meeting] in await meeting.enableScreenShare() }
    case (.screen, false): Task { @MainActor [meeting] in await meeting.disableScreenShare() }
    }
  }
  /// A topic can be subscribed to once the meeting is joined.
  func observe(topic: String) {
    if topics.insert(topic).inserted, hasEntered { meeting.pubsub.subscribe(topic: topic, forListener: self) }
  }
  func stopObserving(topic: String) {
    if topics.remove(topic) != nil, hasEntered { meeting.pubsub.unsubscribe(topic: topic, forListener: self) }
  }
  func send(text: String, topic: String, isPersistent: Bool = false) {
    meeting.pubsub.publish(topic: topic, message: text, options: ["persist": isPersistent])
  }
  func messages(topic: String) -> [PubSubMessage] { meeting.pubsub.getMessagesForTopic(topic) }

  // MARK: Streams

  /// The stream that a participant sends now.
  func stream(_ kind: ListenerKind, of person: Participant) -> MediaStream? {
    person.streams.values.first { ListenerKind($0.kind) == kind }
  }
  func isSent(_ kind: ListenerKind, by person: Participant) -> Bool { stream(kind, of: person) != nil }
  private func track(_ kind: ListenerKind, of person: String) -> RTCVideoTrack? {
    let owner = person == localParticipant.id ? localParticipant : participants[person]
    return owner.flatMap { stream(kind, of: $0) }?.track as? RTCVideoTrack
  }
  /// Shows a participant's video, also that which comes after a pause: the SDK makes a new track each time.
  func show(_ view: RTCMTLVideoView, _ kind: ListenerKind, of person: String) {
    let old = views.updateValue(view, forKey: "\(person) \(kind)"), track = track(kind, of: person)
    if let old { track?.remove(old) }
    track?.add(view)
  }
  func hide(_ view: RTCMTLVideoView, _ kind: ListenerKind, of person: String) {
    if views["\(person) \(kind)"] === view { views["\(person) \(kind)"] = nil }
    track(kind, of: person)?.remove(view)
  }
  func begin(_ stream: MediaStream, of person: Participant) {
    let kind = ListenerKind(stream.kind)
    if let view = views["\(person.id) \(kind)"] { (stream.track as? RTCVideoTrack)?.add(view) }
    update(stream, of: person)
    report(.streamAdded(stream, person))
  }
  /// Receives these kinds of streams, by participants, and no others.
  func receive(_ wanted: [String: Set<ListenerKind>]) {
    self.wanted = wanted
    for person in participants.values { person.streams.values.forEach { update($0, of: person) } }
  }
  private func update(_ stream: MediaStream, of person: Participant) {
    guard let wanted, !person.isLocal else { return }
    if wanted[person.id]?.contains(ListenerKind(stream.kind)) == true { stream.resume() } else { stream.pause() }
  }
}
