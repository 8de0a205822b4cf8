#sourceLocation(file: "Samples/apps/event-listener/CallModel.swift", line: 1)
import AVFoundation
import Combine
import VideoSDKRTC
import WebRTC

/// Owns the SDK's objects for one call after the other, and publishes what the screens show.
@MainActor
final class CallModel: ObservableObject {
  @Published private(set) var state = CallState()

  private var meeting: Meeting?
  /// In the order in which they came; `Meeting.participants` has none.
  private var remoteParticipants: [Participant] = []
  private var hasJoined = false
  private var speakerID, presenterID, failure: String?
  private var pendingRequest: (accept: () -> Void, reject: () -> Void)?

  private static let chatTopic = "CHAT"

  // MARK: Joining and leaving

  func join(with invitation: Ring, name: String, microphoneOn: Bool, cameraOn: Bool) {
    guard meeting == nil else { return }
    VideoSDK.config(token: invitation.token)
    let meeting = VideoSDK.initMeeting(
      meetingId: invitation.meetingID, participantId: invitation.participantID, participantName: name,
      micEnabled: microphoneOn, webcamEnabled: cameraOn)
    self.meeting = meeting
    state = CallState()
    state.phase = .joining
    meeting.addEventListener(self)
    meeting.join(cameraPosition: .front)
  }

  func leave() {
    guard let meeting else { return }
    state.phase = .leaving
    meeting.leave()
  }

  func endForAll() { meeting?.end() }

  private func finish(_ text: String) {
    guard let meeting else { return }
    meeting.pubsub.unsubscribe(topic: Self.chatTopic, forListener: self)
    remoteParticipants.forEach { $0.removeEventListener(self) }
    meeting.localParticipant.removeEventListener(self)
    meeting.removeEventListener(self)
    self.meeting = nil
    remoteParticipants = []
    hasJoined = false
    speakerID = nil
    presenterID = nil
    failure = nil
    pendingRequest = nil
    state = CallState()
    state.phase = .ended(text)
  }

  // MARK: Own devices

  func toggleMicrophone() {
    if state.isMicrophoneOn { meeting?.muteMic() } else { meeting?.unmuteMic() }
  }

  func toggleCamera() {
    if state.isCameraOn { meeting?.disableWebcam() } else { meeting?.enableWebcam() }
  }

  func switchCamera() {
    guard state.isCameraOn else { return }
    meeting?.switchWebcam()
    state.isFrontCamera.toggle()
  }

  func toggleSharing() {
    guard let meeting else { return }
    let isSharing = state.isSharing
    Task {
      if isSharing { await meeting.disableScreenShare() } else { await meeting.enableScreenShare() }
    }
  }

  // MARK: The host's tools

  func mute(_ participantID: String) { meeting?.participants[participantID]?.disableMic() }
  func askToUnmute(_ participantID: String) { meeting?.participants[participantID]?.enableMic() }
  func remove(_ participantID: String) { meeting?.participants[participantID]?.remove() }

  func answer(_ accepts: Bool) {
    guard let request = pendingRequest else { return }
    pendingRequest = nil
    state.question = nil
    if accepts { request.accept() } else { request.reject() }
  }

  // MARK: Chat

  func send(_ text: String) {
    meeting?.pubsub.publish(topic: Self.chatTopic, message: text, options: ["persist": true])
  }

  func readChatHistory() {
    guard let history = meeting?.pubsub.getMessagesForTopic(Self.chatTopic) else { return }
    state.messages = unknown(history) + state.messages
  }

  private func unknown(_ messages: [PubSubMessage]) -> [ChatMessage] {
    let known = Set(state.messages.map(\.id))
    return messages.filter { !known.contains($0.id) }.map { message in
      let isOwn = message.senderId == meeting?.localParticipant.id
      return ChatMessage(id: message.id, sender: isOwn ? "You" : message.senderName, text: message.message)
    }
  }

  // MARK: From the SDK's objects to the state

  /// Reads everything anew: the SDK has brought `streams` up to date before it calls a listener.
  private func refresh() {
    guard let meeting else { return }
    let local = meeting.localParticipant
    let participants = [local] + remoteParticipants
    var new = state
    new.roster = participants.map(row)
    new.tiles = participants.flatMap(tiles)
    new.isMicrophoneOn = local.has(.state(value: .audio))
    new.isCameraOn = local.has(.state(value: .video))
    new.isSharing = local.has(.share)
    new.presenter = participants.first { $0.id == presenterID }?.displayName
    if new != state { state = new }
  }

  private func row(for participant: Participant) -> RosterRow {
    RosterRow(
      id: participant.id, name: participant.displayName, isLocal: participant.isLocal,
      isMuted: !participant.has(.state(value: .audio)),
      isCameraOff: !participant.has(.state(value: .video)),
      isPresenting: participant.has(.share), isSpeaking: participant.id == speakerID)
  }

  private func tiles(for participant: Participant) -> [Tile] {
    let name = participant.displayName
    let camera = Tile(
      id: Tile.ID(participantID: participant.id, kind: .camera),
      caption: participant.has(.state(value: .audio)) ? name : "\(name) (muted)",
      initials: name.split(separator: " ").compactMap(\.first).prefix(2).map(String.init).joined(),
      isSpeaking: participant.id == speakerID,
      track: participant.videoTrack(.state(value: .video)))
    // A picture of one's own screen on that screen would repeat itself.
    guard !participant.isLocal, let share = participant.videoTrack(.share) else { return [camera] }
    let screen = Tile(
      id: Tile.ID(participantID: participant.id, kind: .share), caption: "Screen of \(name)", initials: "",
      isSpeaking: false, track: share)
    return [camera, screen]
  }

  private func name(of participantID: String?) -> String {
    participantID.flatMap { meeting?.participants[$0]?.displayName } ?? "The host"
  }
}

extension CallModel: @preconcurrency MeetingEventListener {
  func onMeetingJoined() {
    guard let meeting else { return }
    hasJoined = true
    failure = nil
    meeting.localParticipant.addEventListener(self)
    meeting.pubsub.subscribe(topic: Self.chatTopic, forListener: self)
    if state.phase == .joining { state.phase = .connected }
    refresh()
  }

  func onMeetingLeft(reason: LeaveReason) { finish(CallText.text(for: reason)) }

  func onMeetingStateChanged(meetingState: MeetingState) {
    switch meetingState {
    case .RECONNECTING:
      if state.phase == .connected { state.phase = .reconnecting }
    case .CONNECTED:
      guard state.phase == .reconnecting else { return }
      state.phase = .connected
      state.notice = CallText.connectionRestored
    case .CLOSED, .CANCELLED, .DISCONNECTED, .FAILED:
      // After a refused join this is the end: onMeetingLeft is not called.
      guard !hasJoined else { return }
      finish(state.phase == .leaving ? CallText.left : failure ?? CallText.notJoined)
    default:
      break
    }
  }

  func onParticipantJoined(_ participant: Participant) {
    participant.addEventListener(self)
    remoteParticipants.removeAll { $0.id == participant.id }
    remoteParticipants.append(participant)
    refresh()
  }

  func onParticipantLeft(_ participant: Participant) {
    participant.removeEventListener(self)
    remoteParticipants.removeAll { $0.id == participant.id }
    refresh()
  }

  func onSpeakerChanged(participantId: String?) {
    speakerID = participantId
    refresh()
  }

  func onPresenterChanged(activePresenterId: String?) {
    presenterID = activePresenterId
    refresh()
  }

  func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {
    pendingRequest = (accept, reject)
    state.question = "\(name(of: participantId)) asks you to unmute your microphone."
  }

  func onWebcamRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {
    pendingRequest = (accept, reject)
    state.question = "\(name(of: participantId)) asks you to turn on your camera."
  }

  func onError(error: VideoSDKError) {
    let text = CallText.text(for: error)
    failure = text
    state.notice = text
  }

  func onSocketError(message: String) {
    failure = CallText.connectionLost
    state.notice = CallText.connectionLost
  }
}

extension CallModel: @preconcurrency ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant) { refresh() }
  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant) { refresh() }
}

extension CallModel: @preconcurrency PubSubMessageListener {
  func onMessageReceived(_ message: PubSubMessage) { state.messages += unknown([message]) }
}

extension Participant {
  fileprivate func stream(_ kind: MediaType) -> MediaStream? { streams.values.first { $0.kind == kind } }
  fileprivate func has(_ kind: MediaType) -> Bool { stream(kind) != nil }
  fileprivate func videoTrack(_ kind: MediaType) -> RTCVideoTrack? { stream(kind)?.track as? RTCVideoTrack }
}
