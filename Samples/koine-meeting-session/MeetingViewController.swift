import AmazonChimeSDK
import Foundation

/// The screen of the sample, written as the vendor's guide writes it: observe, start, and bind a view to each tile.
///
/// The remote tile that was added last is large. The other tiles are small along the lower edge. The local tile is mirrored.
@MainActor
final class MeetingViewController: UIViewController {
  private(set) var meetingSession: DefaultMeetingSession?
  private(set) var roster: [AttendeeInfo] = []
  private(set) var isMuted = false
  private(set) var isVideoOn = true
  private var status = MeetingSessionStatusCode.ok
  private var views: [(tile: VideoTileState, view: DefaultVideoRenderView, name: UILabel)] = []
  private var screenSource: InAppScreenCaptureSource?
  var sharesAtOnce = false
  /// How many people are shown at a time; nil: all.
  var pageSize: Int?
  private var page = 0
  private var sources: [RemoteVideoSource] = []
  private var speakers: Set<String> = []
  var trace: (String) -> Void = { _ in }
  var stopped: (MeetingSessionStatusCode) -> Void = { _ in }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 960, height: 540)
    view.backgroundColor = .black
  }

  func startMeeting(_ answer: JoinAnswer) throws {
    loadViewIfNeeded()
    let logger = ConsoleLogger(name: "koine-meeting-session", level: .ERROR)
    let configuration = MeetingSessionConfiguration(
      createMeetingResponse: answer.meeting, createAttendeeResponse: answer.attendee)
    let meetingSession = DefaultMeetingSession(configuration: configuration, logger: logger)
    self.meetingSession = meetingSession

    meetingSession.audioVideo.addAudioVideoObserver(observer: self)
    meetingSession.audioVideo.addRealtimeObserver(observer: self)
    meetingSession.audioVideo.addVideoTileObserver(observer: self)
    meetingSession.audioVideo.addActiveSpeakerObserver(policy: DefaultActiveSpeakerPolicy(), observer: self)
    meetingSession.audioVideo.addRealtimeDataMessageObserver(topic: "chat", observer: self)

    try meetingSession.audioVideo.start()
    try meetingSession.audioVideo.startLocalVideo()
    meetingSession.audioVideo.startRemoteVideo()
  }

  func toggleMicrophone() {
    isMuted.toggle()
    let done =
      isMuted ? meetingSession?.audioVideo.realtimeLocalMute() : meetingSession?.audioVideo.realtimeLocalUnmute()
    if done != true { isMuted.toggle() }
  }

  func toggleCamera() {
    isVideoOn.toggle()
    do {
      if isVideoOn {
        try meetingSession?.audioVideo.startLocalVideo()
      } else {
        meetingSession?.audioVideo.stopLocalVideo()
      }
    } catch {
      trace("startLocalVideo: \(error)")
    }
  }

  func endMeeting() { meetingSession?.audioVideo.stop() }

  // MARK: Sharing, talking, pages

  func toggleShare() {
    guard let meetingSession else { return }
    if let screenSource {
      meetingSession.audioVideo.stopContentShare()
      screenSource.stop()
      self.screenSource = nil
    } else {
      let screenSource = InAppScreenCaptureSource(logger: meetingSession.logger)
      let contentShareSource = ContentShareSource()
      contentShareSource.videoSource = screenSource
      screenSource.start()
      meetingSession.audioVideo.startContentShare(source: contentShareSource)
      self.screenSource = screenSource
    }
  }

  func say(_ text: String) {
    do {
      try meetingSession?.audioVideo.realtimeSendDataMessage(topic: "chat", data: text, lifetimeMs: 300_000)
    } catch {
      trace("realtimeSendDataMessage: \(error)")
    }
  }

  func turnPage() {
    guard let pageSize, !sources.isEmpty else { return }
    page = (page + 1) % ((sources.count + pageSize - 1) / pageSize)
    showPage()
  }

  /// Subscribes to the videos on the page, and removes the subscriptions to all others.
  private func showPage() {
    guard let pageSize else { return }
    let shown = sources.dropFirst(page * pageSize).prefix(pageSize)
    var wanted: [RemoteVideoSource: VideoSubscriptionConfiguration] = [:]
    for source in shown { wanted[source] = VideoSubscriptionConfiguration() }
    trace("page \(page + 1): \(shown.map { name(of: $0.attendeeId) })")
    meetingSession?.audioVideo.updateVideoSourceSubscriptions(
      addedOrUpdated: wanted, removed: sources.filter { !shown.contains($0) })
  }

  private func markSpeakers() {
    for entry in views {
      let name = name(of: entry.tile.attendeeId)
      entry.name.text = speakers.contains(entry.tile.attendeeId) ? "● " + name : name
    }
  }

  func name(of attendeeId: String) -> String {
    roster.first { $0.attendeeId == attendeeId }?.externalUserId ?? attendeeId
  }

  /// The last remote tile fills the screen, the others stand in a row.
  private func layOut() {
    let large = views.last { !$0.tile.isLocalTile } ?? views.last
    var left = 16.0
    for entry in views { for part in [entry.view, entry.name] { part.removeFromSuperview() } }
    if let large { place(large.view, large.name, CGRect(x: 0, y: 0, width: 960, height: 540)) }
    for entry in views where entry.view !== large?.view {
      place(entry.view, entry.name, CGRect(x: left, y: 389, width: 240, height: 135))
      left += 256
    }
  }

  private func place(_ video: DefaultVideoRenderView, _ name: UILabel, _ frame: CGRect) {
    video.frame = frame
    name.frame = CGRect(x: frame.minX + 8, y: frame.minY + 8, width: frame.width - 16, height: 20)
    view.addSubview(video)
    view.addSubview(name)
  }
}

extension MeetingViewController: @preconcurrency VideoTileObserver {
  func videoTileDidAdd(tileState: VideoTileState) {
    trace("videoTileDidAdd(\(words(tileState)))")
    let video = DefaultVideoRenderView()
    video.contentMode = .scaleAspectFit
    video.mirror = tileState.isLocalTile
    let label = UILabel(frame: .zero)
    label.text = name(of: tileState.attendeeId)
    label.textColor = .white
    views.append((tileState, video, label))
    meetingSession?.audioVideo.bindVideoView(videoView: video, tileId: tileState.tileId)
    layOut()
  }

  func videoTileDidRemove(tileState: VideoTileState) {
    trace("videoTileDidRemove(\(words(tileState)))")
    meetingSession?.audioVideo.unbindVideoView(tileId: tileState.tileId)
    for entry in views where entry.tile.tileId == tileState.tileId {
      for part in [entry.view, entry.name] { part.removeFromSuperview() }
    }
    views.removeAll { $0.tile.tileId == tileState.tileId }
    layOut()
  }

  func videoTileDidPause(tileState: VideoTileState) { trace("videoTileDidPause(\(words(tileState)))") }
  func videoTileDidResume(tileState: VideoTileState) { trace("videoTileDidResume(\(words(tileState)))") }
  func videoTileSizeDidChange(tileState: VideoTileState) {
    let size = "\(tileState.videoStreamContentWidth)x\(tileState.videoStreamContentHeight)"
    trace("videoTileSizeDidChange(\(words(tileState)) \(size))")
  }

  private func words(_ tile: VideoTileState) -> String {
    "\(tile.tileId) \(name(of: tile.attendeeId))\(tile.isLocalTile ? " local" : "")\(tile.isContent ? " content" : "")"
  }
}

extension MeetingViewController: @preconcurrency RealtimeObserver {
  func volumeDidChange(volumeUpdates: [VolumeUpdate]) {
    for update in volumeUpdates {
      trace("volumeDidChange(\(update.attendeeInfo.externalUserId) \(update.volumeLevel))")
    }
  }

  func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {
    for update in signalUpdates {
      trace("signalStrengthDidChange(\(update.attendeeInfo.externalUserId) \(update.signalStrength))")
    }
  }

  func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) {
    trace("attendeesDidJoin(\(names(attendeeInfo)))")
    roster += attendeeInfo.filter { !roster.contains($0) }
  }

  func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) {
    trace("attendeesDidLeave(\(names(attendeeInfo)))")
    roster.removeAll { attendeeInfo.contains($0) }
  }

  func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) {
    trace("attendeesDidDrop(\(names(attendeeInfo)))")
    roster.removeAll { attendeeInfo.contains($0) }
  }

  func attendeesDidMute(attendeeInfo: [AttendeeInfo]) { trace("attendeesDidMute(\(names(attendeeInfo)))") }
  func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) { trace("attendeesDidUnmute(\(names(attendeeInfo)))") }

  private func names(_ attendees: [AttendeeInfo]) -> String {
    attendees.map(\.externalUserId).joined(separator: ", ")
  }
}

extension MeetingViewController: @preconcurrency AudioVideoObserver {
  func audioSessionDidStartConnecting(reconnecting: Bool) {
    trace("audioSessionDidStartConnecting(reconnecting: \(reconnecting))")
  }
  func audioSessionDidStart(reconnecting: Bool) {
    trace("audioSessionDidStart(reconnecting: \(reconnecting))")
    if sharesAtOnce, screenSource == nil { toggleShare() }
  }
  func audioSessionDidDrop() { trace("audioSessionDidDrop()") }

  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    trace("audioSessionDidStopWithStatus(\(sessionStatus.statusCode))")
    status = sessionStatus.statusCode
    if status != .ok { endMeeting() }  // the room ended it: the video side is ours to stop
  }

  func audioSessionDidCancelReconnect() { trace("audioSessionDidCancelReconnect()") }
  func connectionDidRecover() { trace("connectionDidRecover()") }
  func connectionDidBecomePoor() { trace("connectionDidBecomePoor()") }
  func videoSessionDidStartConnecting() { trace("videoSessionDidStartConnecting()") }
  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {
    trace("videoSessionDidStartWithStatus(\(sessionStatus.statusCode))")
  }

  func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) {
    self.sources += sources.filter { !self.sources.contains($0) }
    showPage()
  }

  func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) {
    self.sources.removeAll { sources.contains($0) }
    showPage()
  }

  /// Observers are held until removed: the meeting is over.
  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    trace("videoSessionDidStopWithStatus(\(sessionStatus.statusCode))")
    meetingSession?.audioVideo.removeAudioVideoObserver(observer: self)
    meetingSession?.audioVideo.removeRealtimeObserver(observer: self)
    meetingSession?.audioVideo.removeVideoTileObserver(observer: self)
    meetingSession?.audioVideo.removeActiveSpeakerObserver(observer: self)
    meetingSession?.audioVideo.removeRealtimeDataMessageObserverFromTopic(topic: "chat")
    stopped(status)
  }
}

extension MeetingViewController: @preconcurrency ActiveSpeakerObserver {
  var observerId: String { "MeetingViewController" }
  func activeSpeakerDidDetect(attendeeInfo: [AttendeeInfo]) {
    trace("activeSpeakerDidDetect(\(attendeeInfo.map(\.externalUserId)))")
    speakers = Set(attendeeInfo.map(\.attendeeId))
    markSpeakers()
  }
}

extension MeetingViewController: @preconcurrency DataMessageObserver {
  func dataMessageDidReceived(dataMessage: DataMessage) {
    trace("dataMessageDidReceived(\(dataMessage.senderExternalUserId): \(dataMessage.text() ?? "?"))")
  }
}
