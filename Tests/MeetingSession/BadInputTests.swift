import AmazonChimeSDK
import Foundation
import Koine
import Testing

/// Misuse by an app: the vendor's error each time, and the meeting continues.
@Suite struct BadInputTests {
  private let environment = TestEnvironment()

  @Test(arguments: ["", " ", "\t\n"])
  func blankAudioHostURLFailsToStart(blank: String) async throws {
    let session = World.$current.withValue(environment.world) {
      DefaultMeetingSession(
        configuration: App.configuration("Ana", host: blank), logger: ConsoleLogger(name: "", level: .OFF))
    }
    for _ in 1...2 { #expect(throws: MediaError.audioFailedToStart) { try session.audioVideo.start() } }
    session.audioVideo.stop()
    let app = environment.app("Ana")
    try app.audioVideo.start()
    await environment.run()
    #expect(app.lines.contains("audio started"), "another session of the same attendee does")
  }

  @Test func unknownTileIDsAreIgnored() async throws {
    let ana = environment.app("Ana")
    let ben = try environment.native("Ben")
    try ana.audioVideo.start()
    ana.audioVideo.startRemoteVideo()
    await environment.run(.seconds(2))
    let before = try #require(ana.view(of: "ben")).frames
    ana.forget()
    let view = Screen()
    for number in [-1, 0, 4_711, .min, .max] {
      ana.audioVideo.bindVideoView(videoView: view, tileId: number)
      ana.audioVideo.pauseRemoteVideoTile(tileId: number)
      ana.audioVideo.resumeRemoteVideoTile(tileId: number)
      ana.audioVideo.unbindVideoView(tileId: number)
    }
    await environment.run()
    #expect(ana.lines.isEmpty)
    #expect(view.frames == 0)
    #expect(try #require(ana.view(of: "ben")).frames > before + 20, "what is bound goes on")
    withExtendedLifetime(ben) {}
  }

  @Test func secondStartThrowsAndMeetingContinues() async throws {
    let ana = environment.app("Ana")
    try ana.audioVideo.start()
    #expect(throws: MediaError.illegalState) { try ana.audioVideo.start() }
    await environment.run()
    let told = ana.lines
    #expect(told.filter { $0 == "audio started" }.count == 1)
    #expect(throws: MediaError.illegalState) { try ana.audioVideo.start() }
    for _ in 1...2 { try ana.audioVideo.startLocalVideo() }
    await environment.run()
    #expect(ana.lines(of: "tile +ana").count == 1, "starting the camera twice is once")
    #expect(ana.lines.filter { $0.hasPrefix("audio") } == told.filter { $0.hasPrefix("audio") })
  }

  @Test func deniedPermissionThrowsUntilGranted() async throws {
    let ana = environment.app("Ana")
    let machine = environment.world.machine
    machine.setPermission(.denied, .microphone)
    #expect(throws: PermissionError.audioPermissionError) { try ana.audioVideo.start() }
    machine.setPermission(.granted, .microphone)
    machine.setPermission(.denied, .camera)
    try ana.audioVideo.start()
    await environment.run()
    #expect(throws: PermissionError.videoPermissionError) { try ana.audioVideo.startLocalVideo() }
    #expect(ana.tile(of: "ana") == nil)
    #expect(ana.lines.contains("audio started"))
    machine.setPermission(.granted, .camera)
    try ana.audioVideo.startLocalVideo()
    await environment.run()
    #expect(ana.tile(of: "ana") != nil)
  }

  /// An observer that removes itself and others inside its callbacks.
  private final class Leaver: AudioVideoObserver, RealtimeObserver, VideoTileObserver, @unchecked Sendable {
    let app: App
    let told = Lock<[String]>([])
    var others: [Leaver] = []
    init(_ app: App) { self.app = app }

    private func leave(_ line: String) {
      told.withLock { $0.append(line) }
      for leaver in [self] + others {
        app.audioVideo.removeAudioVideoObserver(observer: leaver)
        app.audioVideo.removeRealtimeObserver(observer: leaver)
        app.audioVideo.removeVideoTileObserver(observer: leaver)
      }
    }

    func audioSessionDidStart(reconnecting: Bool) { leave("started") }
    func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) { leave("join") }
    func videoTileDidAdd(tileState: VideoTileState) { leave("tile") }
    func audioSessionDidStartConnecting(reconnecting: Bool) {}
    func audioSessionDidDrop() {}
    func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) { leave("stopped") }
    func audioSessionDidCancelReconnect() {}
    func connectionDidRecover() {}
    func connectionDidBecomePoor() {}
    func videoSessionDidStartConnecting() {}
    func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
    func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {}
    func cameraSendAvailabilityDidChange(available: Bool) {}
    func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) {}
    func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) {}
    func volumeDidChange(volumeUpdates: [VolumeUpdate]) {}
    func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
    func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) {}
    func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) {}
    func attendeesDidMute(attendeeInfo: [AttendeeInfo]) {}
    func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) {}
    func videoTileDidRemove(tileState: VideoTileState) {}
    func videoTileDidPause(tileState: VideoTileState) {}
    func videoTileDidResume(tileState: VideoTileState) {}
    func videoTileSizeDidChange(tileState: VideoTileState) {}
  }

  @Test func observersMayBeRemovedDuringCallbacks() async throws {
    let ana = environment.app("Ana")
    let leavers = (0..<3).map { _ in Leaver(ana) }
    leavers[0].others = [leavers[1]]
    ana.audioVideo.addAudioVideoObserver(observer: leavers[0])
    ana.audioVideo.addAudioVideoObserver(observer: leavers[1])
    ana.audioVideo.addRealtimeObserver(observer: leavers[2])
    try ana.audioVideo.start()
    await environment.run()
    #expect(leavers[0].told.withLock { $0 } == ["started"])
    #expect(leavers[1].told.withLock { $0.count } <= 1, "who was removed hears nothing more")
    #expect(leavers[2].told.withLock { $0 } == ["join"])
    ana.audioVideo.addVideoTileObserver(observer: leavers[0])
    let ben = try environment.native("Ben")
    ana.audioVideo.startRemoteVideo()
    await environment.run(.seconds(2))
    #expect(leavers[0].told.withLock { $0 } == ["started", "tile"])
    #expect(ana.tile(of: "ben") != nil && ana.lines.contains("join ben Ben"), "others are told all of it")
    ana.audioVideo.stop()
    await environment.run()
    #expect(ana.lines.contains("audio stopped ok"))
    #expect(leavers.allSatisfy { !$0.told.withLock { $0.contains("stopped") } })
    withExtendedLifetime(ben) {}
  }
}
