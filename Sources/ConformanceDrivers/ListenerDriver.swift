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
  private let sightings: Sightings
  private let ownView = RTCMTLVideoView()
  private(set) var isConnected = false
  private(set) var isOver = false
  private var told: [PubSubMessage] = []

  init(_ casting: Casting) throws {
    name = casting.name
    id = name.lowercased()
    recorder = casting.recorder
    sightings = Sightings(recorder)
    let (id, name) = (id, name)
    meeting = VideoSDK.configured(token: try Credentials.room(casting.papers)) {
      World.$current.withValue(casting.world) {
        VideoSDK.initMeeting(
          meetingId: casting.room, participantId: id, participantName: name, micEnabled: true, webcamEnabled: true)
      }
    }
    meeting?.addEventListener(self)
  }

  var session: Session? { meeting?.session }
  var others: [Seen] { sightings.seen }
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

  func say(_ text: String, lifetime: Int?) throws {
    recorder.calling {
      meeting?.pubsub.publish(topic: Self.topic, message: text, options: ["persist": lifetime != nil])
    }
  }

  /// What the room had kept is asked for, what is said is told.
  var heard: [Heard] {
    let kept = meeting?.pubsub.getMessagesForTopic(Self.topic).filter { message in
      message.senderId != id && !told.contains { $0.id == message.id }
    }
    return ((kept ?? []) + told).map { Heard(sender: $0.senderId, text: $0.message) }
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
  func forget() { meeting = nil }
}

extension ListenerDriver: @preconcurrency MeetingEventListener {
  func onMeetingJoined() {
    isConnected = true
    recorder.told(.connected)
    meeting?.pubsub.subscribe(topic: Self.topic, forListener: self)
    meeting?.localParticipant.addEventListener(self)
  }

  func onParticipantJoined(_ participant: VideoSDKRTC.Participant) {
    let agrees = meeting?.participants[participant.id] == participant
    sightings.joined(participant.id, name: participant.displayName, isMuted: true, agrees: agrees)
    participant.addEventListener(self)
  }

  func onParticipantLeft(_ participant: VideoSDKRTC.Participant) {
    sightings.left(participant.id, agrees: meeting?.participants[participant.id] == nil)
  }

  func onSpeakerChanged(participantId: String?) {
    if let participantId, sightings.contains(participantId) { sightings.spoke(participantId) }
  }

  func onMeetingLeft() { sightings.clear() }

  func onMeetingStateChanged(meetingState: MeetingState) {
    guard meetingState == .CLOSED else { return }
    isConnected = false
    isOver = true
    sightings.clear()
    recorder.told(.ended)
  }
}

extension ListenerDriver: @preconcurrency ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
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
    guard message.senderId != id else { return }  // one hears oneself in this style
    let agrees = meeting?.pubsub.getMessagesForTopic(Self.topic).contains { $0.id == message.id }
    recorder.told(.message, of: message.senderId, message.message, agrees: agrees)
    told.append(message)
  }
}
