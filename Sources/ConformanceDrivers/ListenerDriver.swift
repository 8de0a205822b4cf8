import KoineBase
import KoineConformanceKit
import Koine
import KoineUIKit
import VideoSDKRTC
import WebRTC

/// Written in the event-listener style.
@MainActor
final class ListenerDriver: KoineDriver {
  let style = Style.eventListener.rawValue
  let id: String
  let name: String
  let recorder: Recorder
  let inexpressible: [Ability: String] = [
    .attributes: "participants have names, and nothing else of the app's",
    .ringing: "the vendor has no calls between people, only meetings",
    .tokenForm: "the app hands over any text; an embedded room takes what says nothing for no token",
  ]
  private static let topic = "chat"
  private var meeting: Meeting?
  private let sightings: ObservedParticipants
  private let ownView = RTCMTLVideoView()
  private(set) var isConnected = false
  private(set) var isOver = false
  private var received: [PubSubMessage] = []

  init(_ context: DriverContext) throws {
    name = context.name
    id = name.lowercased()
    recorder = context.recorder
    sightings = ObservedParticipants(recorder)
    let (id, name) = (id, name)
    meeting = VideoSDK.configured(token: try Credentials.room(context.credential)) {
      World.$current.withValue(context.world) {
        VideoSDK.initMeeting(
          meetingId: context.room, participantId: id, participantName: name, micEnabled: true, webcamEnabled: true)
      }
    }
    meeting?.addEventListener(self)
  }

  var session: Session? { meeting?.session }
  var others: [ObservedParticipant] { sightings.seen }
  var mirror: VideoView? { ownView }
  func view(of id: String) -> VideoView? { sightings.view(of: id) }

  func joinObservingLate() throws {
    meeting?.removeEventListener(self)
    try join()
    Task { @MainActor in meeting?.addEventListener(self) }
  }

  func join() throws { recorder.calling { meeting?.join(cameraPosition: .front) } }
  func leave() { recorder.calling { meeting?.leave() } }

  func setMicrophoneMuted(_ isMuted: Bool) {
    recorder.calling { isMuted ? meeting?.muteMic() : meeting?.unmuteMic() }
  }

  func muteFromAnotherThread(_ isMuted: Bool) async {
    let meeting = meeting
    await onAnotherThread { isMuted ? meeting?.muteMic() : meeting?.unmuteMic() }
  }

  func setCameraOn(_ isOn: Bool) { recorder.calling { isOn ? meeting?.enableWebcam() : meeting?.disableWebcam() } }

  func setSharing(_ isOn: Bool) {
    guard let meeting else { return }
    Task { @MainActor in
      if isOn { await meeting.enableScreenShare() } else { await meeting.disableScreenShare() }
    }
  }

  func sendMessage(_ text: String, lifetime: Int?) throws {
    recorder.calling {
      meeting?.pubsub.publish(topic: Self.topic, message: text, options: ["persist": lifetime != nil])
    }
  }

  /// Messages kept by the room, which the driver queries, followed by live messages, which the listener receives.
  var heard: [ObservedMessage] {
    let kept = meeting?.pubsub.getMessagesForTopic(Self.topic).filter { message in
      message.senderId != id && !received.contains { $0.id == message.id }
    }
    return ((kept ?? []) + received).map { ObservedMessage(sender: $0.senderId, text: $0.message) }
  }

  func want(_ interest: Interest, from id: String) {
    for stream in meeting?.participants[id].map({ Array($0.streams.values) }) ?? [] {
      let isAudio = stream.kind == .state(value: .audio)
      let isWanted = interest == .everything || interest == .sound && isAudio
      recorder.calling { isWanted ? stream.resume() : stream.pause() }
    }
  }

  func want(rows: Int?, of id: String) {
    recorder.calling { meeting?.participants[id]?.setQuality(rows == nil ? .high : .low) }
  }

  var largestMessage: Int { 65_536 }

  func setPicturePaused(_ isPaused: Bool, of id: String) { want(isPaused ? .sound : .everything, from: id) }

  func endCallbacks(of end: CallEnd) -> [Set<String>] {
    switch end {
    case .left: [["CLOSING"], ["CLOSED"], ["onMeetingLeft"]]
    case .replaced: [["onError"], ["CLOSED"], ["onMeetingLeft"]]
    case .connectionLost: [["onSocketError"], ["CLOSED"], ["onMeetingLeft"]]
    }
  }

  let endReachesRemovedObservers = true

  func observeEnd(_ handler: @escaping @MainActor (String) -> Void) -> @MainActor () -> Void {
    let listener = EndListener(handler)
    meeting?.removeEventListener(self)
    meeting?.addEventListener(listener)
    meeting?.addEventListener(self)
    return { [weak meeting] in meeting?.removeEventListener(listener) }
  }

  var readings: [String: String] {
    guard let meeting else { return [:] }
    var all = [
      "participants": meeting.participants.keys.sorted().joined(separator: " "),
      "presenter": meeting.activePresenterId ?? "none",
    ]
    for participant in meeting.participants.values {
      let name = "participant \(participant.id)"
      all[name + " streams"] = participant.streams.values.map { "\($0.kind)" }.sorted().joined(separator: " ")
      all[name + " name"] = participant.displayName
      all[name + " pin"] = "\(participant.pinState)"
      all[name + " mode"] = "\(participant.mode)"
    }
    return all
  }

  func forget() { meeting = nil }
}

extension ListenerDriver: @preconcurrency MeetingEventListener {
  func onMeetingJoined() {
    recorder.callback("onMeetingJoined")
    isConnected = true
    recorder.record(.connected)
    meeting?.pubsub.subscribe(topic: Self.topic, forListener: self)
    meeting?.localParticipant.addEventListener(self)
  }

  func onParticipantJoined(_ participant: VideoSDKRTC.Participant) {
    recorder.callback("onParticipantJoined", changes: ["participants", "participant \(participant.id)"])
    let agrees = meeting?.participants[participant.id] == participant
    sightings.joined(participant.id, name: participant.displayName, isMuted: true, agrees: agrees)
    participant.addEventListener(self)
  }

  func onParticipantLeft(_ participant: VideoSDKRTC.Participant) {
    recorder.callback("onParticipantLeft", changes: ["participants", "participant \(participant.id)"])
    sightings.left(participant.id, agrees: meeting?.participants[participant.id] == nil)
  }

  func onSpeakerChanged(participantId: String?) {
    recorder.callback("onSpeakerChanged")
    if let participantId, sightings.contains(participantId) { sightings.spoke(participantId) }
  }

  func onPresenterChanged(activePresenterId: String?) {
    // One event with the callback of the share's stream: both find what both announce.
    let streams = meeting?.participants.keys.map { "participant \($0) streams" } ?? []
    recorder.callback("onPresenterChanged", changes: ["presenter"] + streams)
  }

  func onMeetingLeft() {
    recorder.endCallback("onMeetingLeft")
    sightings.clear()
  }

  func onError(error: VideoSDKError) { if isConnected { recorder.endCallback("onError") } }
  func onSocketError(message: String) { recorder.endCallback("onSocketError") }

  func onMeetingStateChanged(meetingState: MeetingState) {
    recorder.callback("\(meetingState)")
    if meetingState == .CLOSING || meetingState == .CLOSED { recorder.endCallback("\(meetingState)") }
    guard meetingState == .CLOSED else { return }
    isConnected = false
    isOver = true
    sightings.clear()
    recorder.record(.ended)
  }
}

extension ListenerDriver: @preconcurrency ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
    recorder.callback("onStreamEnabled", changes: ["participant \(participant.id) streams"])
    let agrees = participant.streams[stream.id] == stream
    switch stream.kind {
    case .state(value: .video):
      guard let track = stream.track as? RTCVideoTrack else { return }
      if participant.isLocal { return track.add(ownView) }
      let view = (sightings.view(of: participant.id) as? RTCMTLVideoView) ?? RTCMTLVideoView()
      track.add(view)
      sightings.pictureOn(participant.id, in: view, agrees: agrees)
    case .state(value: .audio): if !participant.isLocal { sightings.muted(participant.id, false, agrees: agrees) }
    case .share:
      guard let track = stream.track as? RTCVideoTrack, !participant.isLocal else { return }
      let view = RTCMTLVideoView()
      track.add(view)
      sightings.shareOn(participant.id, in: view, agrees: agrees)
    }
  }

  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
    recorder.callback("onStreamDisabled", changes: ["participant \(participant.id) streams"])
    guard !participant.isLocal else { return }
    let agrees = participant.streams[stream.id] == nil
    switch stream.kind {
    case .state(value: .video): sightings.pictureOff(participant.id, agrees: agrees)
    case .state(value: .audio): sightings.muted(participant.id, true, agrees: agrees)
    case .share: if stream.track is RTCVideoTrack { sightings.shareOff(participant.id, agrees: agrees) }
    }
  }
}

extension ListenerDriver: @preconcurrency PubSubMessageListener {
  func onMessageReceived(_ message: PubSubMessage) {
    recorder.callback("onMessageReceived")
    guard message.senderId != id else { return }  // this style also delivers the local participant's messages
    let agrees = meeting?.pubsub.getMessagesForTopic(Self.topic).contains { $0.id == message.id }
    recorder.record(.message, of: message.senderId, message.message, agrees: agrees)
    received.append(message)
  }
}

/// A further listener, for the callbacks of the end.
@MainActor
private final class EndListener {
  private let handler: @MainActor (String) -> Void
  init(_ handler: @escaping @MainActor (String) -> Void) { self.handler = handler }
}

extension EndListener: @preconcurrency MeetingEventListener {
  func onMeetingStateChanged(meetingState: MeetingState) {
    if meetingState == .CLOSING || meetingState == .CLOSED { handler("\(meetingState)") }
  }
  func onError(error: VideoSDKError) { handler("onError") }
  func onSocketError(message: String) { handler("onSocketError") }
  func onMeetingLeft() { handler("onMeetingLeft") }
}
