// What layers that `koine port --to meeting-session` writes need beside the SDK: the same file for every app.
import AmazonChimeSDK
import Foundation

/// A meeting, its attendees, and what they send.
final class MeetingCall: @unchecked Sendable {  // used on the main queue only, where the SDK calls its observers
  enum Side { case front, back }
  let session: DefaultMeetingSession, localParticipant: MeetingPerson, observerId = UUID().uuidString
  var handler: ((MeetingReport, MeetingCall) -> Void)?
  var participants: [String: MeetingPerson] = [:]
  var views: [String: any VideoRenderView] = [:], tiles: [String: Int] = [:]
  var sources: [String: RemoteVideoSource] = [:]
  /// The kinds of streams that the app wants to receive, by participants; of other participants, all kinds.
  var received: [String: Set<MeetingStream.Kind>] = [:], hasChosen = false
  var wanted: Set<MeetingStream.Kind>, presenters: [String] = []
  var messages: [MeetingMessage] = [], topics: Set<String> = [], known: Set<String> = []
  var screen: (any VideoSource)?, isShareStarting = false, hasEntered = false
  /// Why the meeting is over.
  private(set) var code: MeetingSessionStatusCode?
  var isOver: Bool { code != nil }
  var media: any AudioVideoFacade { session.audioVideo }

  init(_ configuration: MeetingSessionConfiguration, isMicrophoneOn: Bool = false, isCameraOn: Bool = false) {
    session = DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: "meeting", level: .ERROR))
    let attendee = configuration.credentials
    localParticipant = MeetingPerson(id: attendee.attendeeId, name: attendee.externalUserId, isLocal: true)
    wanted = Set((isMicrophoneOn ? [MeetingStream.Kind.microphone] : []) + (isCameraOn ? [.camera] : []))
  }
  /// - Parameter placement: of the answer to CreateMeeting. Without it the addresses reach no service of the vendor's.
  convenience init(
    room: String, credential: String?, participantID: String = "", name: String = "Guest", isMicrophoneOn: Bool = true,
    isCameraOn: Bool = true, placement: MediaPlacement? = nil
  ) {
    let (none, id) = ("https://meeting.invalid", participantID.isEmpty ? UUID().uuidString : participantID)
    let addresses = MediaPlacement(
      audioFallbackUrl: none, audioHostUrl: none, signalingUrl: none, turnControlUrl: none)
    let meeting = AmazonChimeSDK.Meeting(
      externalMeetingId: nil, mediaPlacement: placement ?? addresses, mediaRegion: "", meetingId: room)
    let attendee = AmazonChimeSDK.Attendee(attendeeId: id, externalUserId: name, joinToken: credential ?? "")
    let configuration = MeetingSessionConfiguration(
      createMeetingResponse: CreateMeetingResponse(meeting: meeting),
      createAttendeeResponse: CreateAttendeeResponse(attendee: attendee))
    self.init(configuration, isMicrophoneOn: isMicrophoneOn, isCameraOn: isCameraOn)
  }

  func join(side: Side = .front) {
    media.addAudioVideoObserver(observer: self)
    media.addRealtimeObserver(observer: self)
    media.addVideoTileObserver(observer: self)
    media.addContentShareObserver(observer: self)
    media.addActiveSpeakerObserver(policy: DefaultActiveSpeakerPolicy(), observer: self)
    do {
      do { try start(.inputAndOutput) } catch PermissionError.audioPermissionError {
        wanted.remove(.microphone)
        report(.failed(.microphoneDenied))
        try start(.outputOnly)
      }
    } catch { return end(.audioServiceUnavailable) }
    media.startRemoteVideo()
    if side == .back { media.switchCamera() }
    if !wanted.contains(.microphone) { _ = media.realtimeLocalMute() }
    if wanted.contains(.camera) { setStream(kind: .camera, isOn: true) }
  }
  private func start(_ devices: AudioDeviceCapabilities) throws {
    try media.start(
      audioVideoConfiguration: AudioVideoConfiguration(
        audioMode: .stereo48K, audioDeviceCapabilities: devices, callKitEnabled: false, enableAudioRedundancy: true,
        videoMaxResolution: .videoResolutionHD, reconnectTimeoutMs: 60_000))
  }
  func leave() {
    setStream(kind: .screen, isOn: false)
    media.stop()
  }
  func end(_ code: MeetingSessionStatusCode) {
    guard !isOver else { return }
    self.code = code
    leave()  // after a failure only the sound has ended
    switch code {
    case .ok, .audioServerHungup: break
    case .audioDisconnected: report(.connectionLost)
    case .audioAuthenticationRejected: report(.failed(.rejected))
    case .audioCallAtCapacity: report(.failed(.full))
    case .audioJoinedFromAnotherDevice: report(.failed(.joinedElsewhere))
    case .audioInputDeviceNotResponding: report(.failed(.microphone))
    default: report(.failed(.failed))
    }
    report(.phaseChanged(.ended))
    if hasEntered { report(.left(code)) }
    media.removeAudioVideoObserver(observer: self)
    media.removeRealtimeObserver(observer: self)
    media.removeVideoTileObserver(observer: self)
    media.removeActiveSpeakerObserver(observer: self)
    if !isShareStarting { media.removeContentShareObserver(observer: self) }
    for topic in topics { media.removeRealtimeDataMessageObserverFromTopic(topic: topic) }
  }
  func report(_ event: MeetingReport) { handler?(event, self) }

  func setStream(kind: MeetingStream.Kind, isOn: Bool) {
    switch (kind, isOn) {
    case (.microphone, _): _ = isOn ? media.realtimeLocalUnmute() : media.realtimeLocalMute()
    case (.camera, true): do { try media.startLocalVideo() } catch { report(.failed(.cameraDenied)) }
    case (.camera, false): media.stopLocalVideo()
    case (.screen, true):
      guard screen == nil, hasEntered, !isOver else { return }
      let source = InAppScreenCaptureSource(logger: session.logger)
      screen = source
      source.addCaptureSourceObserver(observer: self)
      source.start()
    case (.screen, false):
      guard let source = screen else { return }
      screen = nil
      (source as? InAppScreenCaptureSource)?.removeCaptureSourceObserver(observer: self)
      (source as? InAppScreenCaptureSource)?.stop()
      media.stopContentShare()
    }
  }
}
