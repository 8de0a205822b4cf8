import AmazonChimeSDK
import Dispatch
import Koine
import Testing

/// A backend that delivers the events of the test.
private final class ScriptedRoom: Backend, @unchecked Sendable {  // `receiver` is guarded
  let scheduler = Koine.Scheduler.virtual()
  let capabilities: BackendCapabilities = [.dataMessages]
  private let receiver = Lock<(any LinkReceiver)?>(nil)

  func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> any Link {
    self.receiver.withLock { $0 = receiver }
    return ScriptedLink { receiver.linkDidChange(.ended(.left)) }
  }

  func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> any EndpointLink {
    preconditionFailure("this style rings nobody")
  }

  func deliver(_ event: LinkEvent) { receiver.withLock { $0 }?.linkDidChange(event) }
}

private final class ScriptedLink: Link {
  private let left: @Sendable () -> Void
  init(left: @escaping @Sendable () -> Void) { self.left = left }

  func publish(_ track: Track, options: PublishOptions) {}
  func unpublish(_ track: Track.ID) {}
  func setMuted(_ muted: Bool, _ track: Track.ID) {}
  func send(_ frame: EncodedFrame, of track: Track.ID) {}
  func subscribe(to track: Track.ID) {}
  func unsubscribe(from track: Track.ID) {}
  func requestKeyFrame(of track: Track.ID) {}
  func setPaused(_ paused: Bool, _ track: Track.ID) {}
  func setPreference(_ preference: LayerPreference, of track: Track.ID) {}
  func send(_ message: Koine.DataMessage) {}
  func setAttributes(_ attributes: [String: String]) {}
  func remove(_ participant: Participant.ID) {}
  func answerKnock(of participant: Participant.ID, admitting: Bool) {}
  func mute(_ stream: Track.ID) {}
  func renew(credential: String) {}
  func closeRoom() {}
  func statistics(_ completion: @escaping @Sendable (MediaStatistics<Track.ID, Track.ID>) -> Void) {
    completion(MediaStatistics())
  }
  func leave() { left() }
}

/// A meeting's callbacks about its connection, for each transition.
@Suite struct ConnectionTests {
  private let room = ScriptedRoom()
  private let world: World
  private let app: App

  init() throws {
    let world = World(
      backend: room, delivery: Delivery(queue: DispatchQueue(label: "delivery")),
      devices: DefaultDevices(camera: "pattern:160x90@30", microphone: "tone"))
    self.world = world
    app = World.$current.withValue(world) { App("Ana") }
    try app.audioVideo.start()
  }

  private func callbacks(after events: LinkEvent...) async -> [String] {
    await world.run(for: .milliseconds(10))
    app.forget()
    for event in events { room.deliver(event) }
    await world.run(for: .milliseconds(500))
    return app.lines
  }

  private let entered = LinkEvent.joined(
    as: Participant(id: "ana", name: "Ana", externalUserID: "Ana", isLocal: true),
    others: [Participant(id: "ben", name: "Ben", externalUserID: "b-1")])

  @Test(arguments: [
    (EndReason.refused(Failure(.unauthorized, "")), "audioAuthenticationRejected"),
    (.refused(Failure(.roomFull, "")), "audioCallAtCapacity"),
    (.refused(Failure(.unreachable, "")), "audioServiceUnavailable"),
    (.refused(Failure(.invalidRoom, "")), "audioInternalServerError"),
    (.duplicate, "audioJoinedFromAnotherDevice"),
  ])
  func refusedMeetingStopsWithStatus(reason: EndReason, status: String) async throws {
    #expect(await callbacks(after: .ended(reason)) == ["audio stopped \(status)"])
    try app.audioVideo.start()
    #expect(
      await callbacks(after: entered).prefix(2) == ["audio started", "video started ok"], "and may be tried again")
  }

  @Test func lostConnectionReportsDropAndReconnect() async {
    _ = await callbacks(after: entered)
    let dropped = ["audio dropped", "audio connecting again", "video connecting"]
    #expect(
      await callbacks(after: .reconnecting, .reconnected) == dropped + ["audio started again", "video started ok"])
    #expect(
      await callbacks(after: .reconnecting, .reconnected) == dropped + ["audio started again", "video started ok"])
    #expect(
      await callbacks(after: .reconnecting, .ended(.lost))
        == dropped + ["audio cancelled", "audio stopped audioDisconnected", "video stopped videoServiceUnavailable"])
    app.audioVideo.stop()
    #expect(await callbacks() == [], "nothing is left to stop")
  }

  @Test func stopDuringReconnectionCancelsIt() async {
    _ = await callbacks(after: entered)
    _ = await callbacks(after: .reconnecting)
    app.audioVideo.stop()
    await world.run(for: .milliseconds(10))
    #expect(app.lines.suffix(3) == ["audio cancelled", "audio stopped ok", "video stopped ok"])
  }

  @Test func droppedAttendeeIsReportedDifferentlyFromLeavingOne() async {
    _ = await callbacks(after: entered)
    #expect(await callbacks(after: .participantLeft("ben", .dropped)) == ["drop ben b-1"])
    let again = Participant(id: "ben", name: "Ben", externalUserID: "b-1")
    #expect(
      await callbacks(after: .participantJoined(again), .participantLeft("ben", .left)) == [
        "join ben b-1", "leave ben b-1",
      ])
    #expect(
      await callbacks(after: .participantJoined(again)).prefix(2) == ["join ben b-1", "mute ben b-1"],
      "without a microphone one is muted")
    #expect(await callbacks(after: .participantLeft("ben", .removed)) == ["leave ben b-1"])
  }

  @Test func connectionHealthAndSignalStrengthAreReportedOnChange() async {
    let first = await callbacks(after: entered)
    #expect(first.contains("signal ana high"))
    #expect(first.contains("signal ben high"))
    #expect(await callbacks(after: .quality(["ben": ConnectionQuality(sending: .low)])) == ["signal ben low"])
    #expect(
      await callbacks(after: .quality(["ana": ConnectionQuality(receiving: .low)])) == ["poor", "signal ana low"])
    #expect(await callbacks(after: .quality(["ana": ConnectionQuality(sending: .none)])) == ["signal ana none"])
    #expect(
      await callbacks(after: .quality(["ana": ConnectionQuality(), "ben": ConnectionQuality()])).first == "recovered")
    #expect(await callbacks(after: .quality(["ana": ConnectionQuality()])) == [])
  }

  @Test func volumesAreReportedOnChange() async {
    _ = await callbacks(after: entered)
    let stream = Track(id: .init(participant: "ben", track: "m"), kind: .microphone)
    app.told.withLock { $0.volumes = [:] }
    #expect(await callbacks(after: .streamAdded(stream)) == ["unmute ben b-1"])
    for level in [-90, -50, -48, -30, -10, -12, -127] {
      _ = await callbacks(after: .speakers(Speakers(levels: ["ben": level], dominant: nil)))
    }
    _ = await callbacks(after: .streamMuted(stream.id, true))
    #expect(
      app.told.withLock { $0.volumes["ben"] } == [.notSpeaking, .low, .medium, .high, .notSpeaking, .muted])
  }

  /// The room reports changed levels only, and a brief mute ends before its next report.
  @Test func volumeIsKnownAgainAfterBriefMute() async {
    _ = await callbacks(after: entered)
    let stream = Track(id: .init(participant: "ben", track: "m"), kind: .microphone)
    _ = await callbacks(after: .streamAdded(stream))
    _ = await callbacks(after: .speakers(Speakers(levels: ["ben": -10], dominant: nil)))
    for isMuted in [true, false] { _ = await callbacks(after: .streamMuted(stream.id, isMuted)) }
    #expect(app.told.withLock { $0.volumes["ben"]?.suffix(3) } == [.high, .muted, .high])
  }
}
