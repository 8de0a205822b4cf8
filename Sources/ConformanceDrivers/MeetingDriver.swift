import AmazonChimeSDK
import Foundation
import Koine
import KoineBase
import KoineConformanceKit
import KoineUIKit

/// Written in the meeting-session style.
@MainActor
final class MeetingDriver: KoineDriver {
  let style = Style.meetingSession.rawValue
  let id: String
  let name: String
  let recorder: Recorder
  let inexpressible: [Ability: String] = [
    .attributes: "attendees have an id of the app's, and nothing else",
    .refusal: "sound comes mixed; one person's cannot be refused",
    .ringing: "the vendor has no calls between people, only meetings",
    .tokenForm: "the app hands over any text; an embedded room takes what says nothing for no token",
  ]
  private let world: World
  private var meeting: DefaultMeetingSession?
  private let sightings: ObservedParticipants
  private var tiles: [Int: String] = [:]
  private var tileStates: [VideoTileState] = []
  private var sources: [String: RemoteVideoSource] = [:]
  private var screen: InAppScreenCaptureSource?
  private let ownView = DefaultVideoRenderView()
  private(set) var isConnected = false
  private(set) var isOver = false
  private(set) var heard: [ObservedMessage] = []

  init(_ context: DriverContext) throws {
    name = context.name
    id = name.lowercased()
    world = context.world
    recorder = context.recorder
    sightings = ObservedParticipants(recorder)
    let placement = MediaPlacement(
      audioFallbackUrl: "embedded", audioHostUrl: "embedded", signalingUrl: "embedded", turnControlUrl: "")
    let configuration = MeetingSessionConfiguration(
      createMeetingResponse: CreateMeetingResponse(
        meeting: Meeting(
          externalMeetingId: context.room, mediaPlacement: placement, mediaRegion: "here", meetingId: context.room)),
      createAttendeeResponse: CreateAttendeeResponse(
        attendee: Attendee(
          attendeeId: id, externalUserId: name,
          joinToken: try Credentials.meeting(context.room, id, name, context.credential))))
    let name = name
    meeting = World.$current.withValue(context.world) {
      DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: name, level: .OFF))
    }
    observe()
  }

  private func observe() {
    audioVideo?.addAudioVideoObserver(observer: self)
    audioVideo?.addRealtimeObserver(observer: self)
    audioVideo?.addVideoTileObserver(observer: self)
    audioVideo?.addRealtimeDataMessageObserver(topic: "chat", observer: self)
  }

  func joinObservingLate() throws {
    audioVideo?.removeAudioVideoObserver(observer: self)
    audioVideo?.removeRealtimeObserver(observer: self)
    audioVideo?.removeVideoTileObserver(observer: self)
    audioVideo?.removeRealtimeDataMessageObserverFromTopic(topic: "chat")
    try join()
    Task { @MainActor in observe() }
  }

  private var audioVideo: (any AudioVideoFacade)? { meeting?.audioVideo }
  var session: Session? { meeting?.session }
  var others: [ObservedParticipant] { sightings.seen }
  var mirror: VideoView? { ownView }
  func view(of id: String) -> VideoView? { sightings.view(of: id) }

  func join() throws {
    try recorder.calling {
      try audioVideo?.start()
      try audioVideo?.startLocalVideo()
      audioVideo?.startRemoteVideo()
    }
  }

  func leave() {
    recorder.calling {
      audioVideo?.stopContentShare()  // else it would go on without the meeting
      audioVideo?.stop()
    }
  }

  func setMicrophoneMuted(_ isMuted: Bool) {
    recorder.calling { _ = isMuted ? audioVideo?.realtimeLocalMute() : audioVideo?.realtimeLocalUnmute() }
  }

  func muteFromAnotherThread(_ isMuted: Bool) async {
    nonisolated(unsafe) let audioVideo = audioVideo
    await onAnotherThread { _ = isMuted ? audioVideo?.realtimeLocalMute() : audioVideo?.realtimeLocalUnmute() }
  }

  func setCameraOn(_ isOn: Bool) {
    recorder.calling {
      if isOn { try? audioVideo?.startLocalVideo() } else { audioVideo?.stopLocalVideo() }
    }
  }

  func setSharing(_ isOn: Bool) {
    guard isOn else {
      screen?.stop()
      return recorder.calling { audioVideo?.stopContentShare() }
    }
    let screen = World.$current.withValue(world) {
      InAppScreenCaptureSource(logger: ConsoleLogger(name: name, level: .OFF))
    }
    let source = ContentShareSource()
    source.videoSource = screen
    self.screen = screen
    recorder.calling {
      screen.start()
      audioVideo?.startContentShare(source: source)
    }
  }

  func sendMessage(_ text: String, lifetime: Int?) throws {
    try recorder.calling {
      try audioVideo?.realtimeSendDataMessage(topic: "chat", data: text, lifetimeMs: Int32(lifetime ?? 0))
    }
  }

  func want(_ interest: Interest, from id: String) {
    guard let source = sources[id] else { return }
    recorder.calling {
      if interest == .everything {
        audioVideo?.updateVideoSourceSubscriptions(
          addedOrUpdated: [source: VideoSubscriptionConfiguration()], removed: [])
      } else {
        audioVideo?.updateVideoSourceSubscriptions(addedOrUpdated: [:], removed: [source])
      }
    }
  }

  func want(rows: Int?, of id: String) {
    guard let source = sources[id] else { return }
    let configuration = VideoSubscriptionConfiguration()
    configuration.targetResolution = rows == nil ? .high : .low
    recorder.calling {
      audioVideo?.updateVideoSourceSubscriptions(addedOrUpdated: [source: configuration], removed: [])
    }
  }

  func setPicturePaused(_ isPaused: Bool, of id: String) {
    guard let tile = tiles.first(where: { $0.value == id })?.key else { return }
    recorder.calling {
      if isPaused {
        audioVideo?.pauseRemoteVideoTile(tileId: tile)
      } else {
        audioVideo?.resumeRemoteVideoTile(tileId: tile)
      }
    }
  }

  func endCallbacks(of end: CallEnd) -> [Set<String>] {
    switch end {
    case .left: [["audioSessionDidStop", "videoSessionDidStop"]]  // the two sides know nothing of each other
    case .replaced: [["audioSessionDidStop"]]
    case .connectionLost: [["audioSessionDidCancelReconnect"], ["audioSessionDidStop", "videoSessionDidStop"]]
    }
  }

  func observeEnd(_ handler: @escaping @MainActor (String) -> Void) -> @MainActor () -> Void {
    let observer = EndObserver(handler)
    audioVideo?.removeAudioVideoObserver(observer: self)
    audioVideo?.addAudioVideoObserver(observer: observer)
    audioVideo?.addAudioVideoObserver(observer: self)
    return { [weak self] in self?.audioVideo?.removeAudioVideoObserver(observer: observer) }
  }

  var readings: [String: String] {
    guard let audioVideo else { return [:] }
    var all = ["device": audioVideo.getActiveAudioDevice()?.label ?? "none"]
    for tile in tileStates {
      all["tile \(tile.tileId) size"] = "\(tile.videoStreamContentWidth)x\(tile.videoStreamContentHeight)"
      all["tile \(tile.tileId) pause"] = "\(tile.pauseState)"
    }
    return all
  }

  func forget() {
    meeting = nil
    tileStates = []
    screen = nil
  }
}

extension MeetingDriver: @preconcurrency AudioVideoObserver {
  func audioSessionDidStartConnecting(reconnecting: Bool) {
    recorder.callback("audioSessionDidStartConnecting")
    if reconnecting { recorder.record(.reconnecting) }
  }
  func audioSessionDidStart(reconnecting: Bool) {
    recorder.callback("audioSessionDidStart", changes: ["device"])
    isConnected = true
    recorder.record(reconnecting ? .reconnected : .connected)
  }
  func audioSessionDidDrop() {
    recorder.callback("audioSessionDidDrop")
    recorder.record(.reconnecting)
  }
  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    recorder.callback("audioSessionDidStop", changes: ["device"])
    recorder.endCallback("audioSessionDidStop")
    isConnected = false
    isOver = true
    sightings.clear()
    recorder.record(.ended, of: nil, "\(sessionStatus.statusCode)")
  }
  func audioSessionDidCancelReconnect() {
    recorder.callback("audioSessionDidCancelReconnect")
    recorder.endCallback("audioSessionDidCancelReconnect")
  }
  func connectionDidRecover() { recorder.callback("connectionDidRecover") }
  func connectionDidBecomePoor() { recorder.callback("connectionDidBecomePoor") }
  func videoSessionDidStartConnecting() { recorder.callback("videoSessionDidStartConnecting") }
  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) { recorder.callback("videoSessionDidStart") }
  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    recorder.callback("videoSessionDidStop")
    recorder.endCallback("videoSessionDidStop")
  }

  func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) {
    recorder.callback("remoteVideoSourcesDidBecomeAvailable")
    for source in sources { self.sources[source.attendeeId] = source }
  }
}

extension MeetingDriver: @preconcurrency RealtimeObserver {
  func volumeDidChange(volumeUpdates: [VolumeUpdate]) {
    for update in volumeUpdates where update.volumeLevel.rawValue > VolumeLevel.notSpeaking.rawValue {
      if sightings.contains(update.attendeeInfo.attendeeId) { sightings.spoke(update.attendeeInfo.attendeeId) }
    }
  }
  func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}

  /// The remote attendees, without the attendees that stand for a content share.
  private func people(_ attendees: [AttendeeInfo]) -> [AttendeeInfo] {
    attendees.filter { $0.attendeeId != id && !$0.attendeeId.hasSuffix("#content") }
  }

  func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) {
    recorder.callback("attendeesDidJoin")
    for attendee in people(attendeeInfo) {
      sightings.joined(attendee.attendeeId, name: attendee.externalUserId, isMuted: false)
    }
  }

  func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) {
    recorder.callback("attendeesDidLeave")
    for attendee in people(attendeeInfo) { sightings.left(attendee.attendeeId) }
  }

  func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) {
    recorder.callback("attendeesDidDrop")
    for attendee in people(attendeeInfo) { sightings.left(attendee.attendeeId) }
  }

  func attendeesDidMute(attendeeInfo: [AttendeeInfo]) {
    recorder.callback("attendeesDidMute")
    for attendee in people(attendeeInfo) { sightings.muted(attendee.attendeeId, true) }
  }

  func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) {
    recorder.callback("attendeesDidUnmute")
    for attendee in people(attendeeInfo) { sightings.muted(attendee.attendeeId, false) }
  }
}

extension MeetingDriver: @preconcurrency VideoTileObserver {
  func videoTileDidAdd(tileState: VideoTileState) {
    tileStates.append(tileState)
    recorder.callback("videoTileDidAdd", changes: ["tile \(tileState.tileId)"])
    if tileState.isLocalTile {
      audioVideo?.bindVideoView(videoView: ownView, tileId: tileState.tileId)
      return
    }
    if tileState.isContent {
      let view = DefaultVideoRenderView()
      audioVideo?.bindVideoView(videoView: view, tileId: tileState.tileId)
      return sightings.shareOn(owner(of: tileState), in: view)
    }
    let view = (sightings.view(of: tileState.attendeeId) as? DefaultVideoRenderView) ?? DefaultVideoRenderView()
    audioVideo?.bindVideoView(videoView: view, tileId: tileState.tileId)
    tiles[tileState.tileId] = tileState.attendeeId
    sightings.pictureOn(tileState.attendeeId, in: view)
  }

  func videoTileDidRemove(tileState: VideoTileState) {
    tileStates.removeAll { $0 === tileState }
    recorder.callback("videoTileDidRemove", changes: ["tile \(tileState.tileId)"])
    audioVideo?.unbindVideoView(tileId: tileState.tileId)
    if tileState.isLocalTile { return }
    if tileState.isContent { return sightings.shareOff(owner(of: tileState)) }
    tiles[tileState.tileId] = nil
    sightings.pictureOff(tileState.attendeeId)
  }

  private func owner(of tile: VideoTileState) -> String {
    String(tile.attendeeId.prefix { $0 != "#" })
  }

  func videoTileDidPause(tileState: VideoTileState) {
    recorder.callback("videoTileDidPause", changes: ["tile \(tileState.tileId) pause"])
  }
  func videoTileDidResume(tileState: VideoTileState) {
    recorder.callback("videoTileDidResume", changes: ["tile \(tileState.tileId) pause"])
  }
  func videoTileSizeDidChange(tileState: VideoTileState) {
    recorder.callback("videoTileSizeDidChange", changes: ["tile \(tileState.tileId) size"])
  }
}

extension MeetingDriver: @preconcurrency DataMessageObserver {
  func dataMessageDidReceived(dataMessage: AmazonChimeSDK.DataMessage) {
    recorder.callback("dataMessageDidReceived")
    let text = dataMessage.text() ?? ""
    recorder.record(.message, of: dataMessage.senderAttendeeId, text)
    heard.append(ObservedMessage(sender: dataMessage.senderAttendeeId, text: text))
  }
}

/// A further observer, for the callbacks of the end.
@MainActor
private final class EndObserver {
  private let handler: @MainActor (String) -> Void
  init(_ handler: @escaping @MainActor (String) -> Void) { self.handler = handler }
}

extension EndObserver: @preconcurrency AudioVideoObserver {
  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) { handler("audioSessionDidStop") }
  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) { handler("videoSessionDidStop") }
  func audioSessionDidCancelReconnect() { handler("audioSessionDidCancelReconnect") }
  func audioSessionDidStartConnecting(reconnecting: Bool) {}
  func audioSessionDidStart(reconnecting: Bool) {}
  func audioSessionDidDrop() {}
  func connectionDidRecover() {}
  func connectionDidBecomePoor() {}
  func videoSessionDidStartConnecting() {}
  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
}
