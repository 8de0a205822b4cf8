import AmazonChimeSDK
import Foundation
import Koine
import KoineUIKit

/// Written in the meeting-session style.
@MainActor
final class MeetingDriver: Driver {
  let style = Style.meeting
  let id: Koine.Participant.ID
  let name: String
  private let meeting: DefaultMeetingSession
  private var sightings = Sightings()
  private var tiles: [Int: Koine.Participant.ID] = [:]
  private let ownView = DefaultVideoRenderView()
  private(set) var isConnected = false
  private(set) var isOver = false
  private(set) var heard: [String] = []

  init(name: String, room: String, in world: World) {
    self.name = name
    id = name.lowercased()
    let placement = MediaPlacement(
      audioFallbackUrl: "embedded", audioHostUrl: "embedded", signalingUrl: "embedded", turnControlUrl: "")
    let configuration = MeetingSessionConfiguration(
      createMeetingResponse: CreateMeetingResponse(
        meeting: Meeting(
          externalMeetingId: room, mediaPlacement: placement, mediaRegion: "here", meetingId: room)),
      createAttendeeResponse: CreateAttendeeResponse(
        attendee: Attendee(attendeeId: id, externalUserId: name, joinToken: "")))
    meeting = World.$current.withValue(world) {
      DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: name, level: .OFF))
    }
    meeting.audioVideo.addAudioVideoObserver(observer: self)
    meeting.audioVideo.addRealtimeObserver(observer: self)
    meeting.audioVideo.addVideoTileObserver(observer: self)
    meeting.audioVideo.addRealtimeDataMessageObserver(topic: "chat", observer: self)
  }

  var session: Session? { meeting.session }
  var others: [Seen] { sightings.seen }
  var mirror: VideoView? { ownView }

  func join() throws {
    try meeting.audioVideo.start()
    try meeting.audioVideo.startLocalVideo()
    meeting.audioVideo.startRemoteVideo()
  }

  func leave() { meeting.audioVideo.stop() }

  func setMicrophoneMuted(_ isMuted: Bool) {
    _ = isMuted ? meeting.audioVideo.realtimeLocalMute() : meeting.audioVideo.realtimeLocalUnmute()
  }

  func setCameraOn(_ isOn: Bool) {
    if isOn { try? meeting.audioVideo.startLocalVideo() } else { meeting.audioVideo.stopLocalVideo() }
  }

  func say(_ text: String) -> Bool {
    (try? meeting.audioVideo.realtimeSendDataMessage(topic: "chat", data: text, lifetimeMs: 0)) != nil
  }
}

extension MeetingDriver: @preconcurrency AudioVideoObserver {
  func audioSessionDidStartConnecting(reconnecting: Bool) {}
  func audioSessionDidStart(reconnecting: Bool) { isConnected = true }
  func audioSessionDidDrop() {}
  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    isConnected = false
    isOver = true
  }
  func audioSessionDidCancelReconnect() {}
  func connectionDidRecover() {}
  func connectionDidBecomePoor() {}
  func videoSessionDidStartConnecting() {}
  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {}
}

extension MeetingDriver: @preconcurrency RealtimeObserver {
  func volumeDidChange(volumeUpdates: [VolumeUpdate]) {
    for update in volumeUpdates where update.volumeLevel.rawValue > VolumeLevel.notSpeaking.rawValue {
      sightings.change(update.attendeeInfo.attendeeId) { $0.hasSpoken = true }
    }
  }
  func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}

  func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) {
    for attendee in attendeeInfo where attendee.attendeeId != id {
      sightings.add(attendee.attendeeId, Sighting(name: attendee.externalUserId, isMicrophoneMuted: false))
    }
  }

  func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) {
    for attendee in attendeeInfo { sightings.remove(attendee.attendeeId) }
  }
  func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) {
    for attendee in attendeeInfo { sightings.remove(attendee.attendeeId) }
  }

  func attendeesDidMute(attendeeInfo: [AttendeeInfo]) {
    for attendee in attendeeInfo { sightings.change(attendee.attendeeId) { $0.isMicrophoneMuted = true } }
  }
  func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) {
    for attendee in attendeeInfo { sightings.change(attendee.attendeeId) { $0.isMicrophoneMuted = false } }
  }
}

extension MeetingDriver: @preconcurrency VideoTileObserver {
  func videoTileDidAdd(tileState: VideoTileState) {
    if tileState.isLocalTile {
      return meeting.audioVideo.bindVideoView(videoView: ownView, tileId: tileState.tileId)
    }
    let view = (sightings[tileState.attendeeId]?.view as? DefaultVideoRenderView) ?? DefaultVideoRenderView()
    meeting.audioVideo.bindVideoView(videoView: view, tileId: tileState.tileId)
    tiles[tileState.tileId] = tileState.attendeeId
    sightings.change(tileState.attendeeId) {
      $0.view = view
      $0.hasPicture = true
    }
  }

  func videoTileDidRemove(tileState: VideoTileState) {
    meeting.audioVideo.unbindVideoView(tileId: tileState.tileId)
    guard let attendee = tiles.removeValue(forKey: tileState.tileId) else { return }
    sightings.change(attendee) { $0.hasPicture = false }
  }

  func videoTileDidPause(tileState: VideoTileState) {}
  func videoTileDidResume(tileState: VideoTileState) {}
  func videoTileSizeDidChange(tileState: VideoTileState) {}
}

extension MeetingDriver: @preconcurrency DataMessageObserver {
  func dataMessageDidReceived(dataMessage: AmazonChimeSDK.DataMessage) { heard.append(dataMessage.text() ?? "") }
}
