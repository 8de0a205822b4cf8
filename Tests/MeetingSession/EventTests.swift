import AmazonChimeSDK
import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

/// Writes down the events of a meeting, in the order of all its callbacks.
final class EventWatcher: EventAnalyticsObserver, @unchecked Sendable {  // everything mutable is in locks
  struct Event {
    let name: EventName
    let attributes: [EventAttributeName: Any]
  }
  private let received = Lock<[Event]>([])

  var events: [Event] { received.withLock { $0 } }
  var names: [EventName] { events.map(\.name) }
  subscript(name: EventName) -> [EventAttributeName: Any]? { events.last { $0.name == name }?.attributes }

  func eventDidReceive(name: EventName, attributes: [AnyHashable: Any]) {
    let attributes = attributes as? [EventAttributeName: Any] ?? [:]
    received.withLock { $0.append(Event(name: name, attributes: attributes)) }
  }
}

/// The events of a meeting: their order, their attributes, the history.
@Suite struct EventTests {
  private let environment = TestEnvironment()
  private let watcher = EventWatcher()

  private func app(_ name: String = "Ana", joinToken: String? = nil) -> App {
    let app = environment.app(name, joinToken: joinToken)
    app.audioVideo.addEventAnalyticsObserver(observer: watcher)
    return app
  }

  private func history(_ app: App) -> [MeetingHistoryEventName] {
    app.audioVideo.getMeetingHistory().map(\.meetingHistoryEventName)
  }

  @Test func startedAndStoppedMeetingSendsItsEventsInOrder() async throws {
    let app = app()
    try environment.world.delivery.queue.sync {
      try app.audioVideo.start()
      #expect(watcher.names == [], "no event arrives from inside a call")
    }
    await environment.run(.seconds(5))
    app.audioVideo.stop()
    await environment.run()
    let expected: [EventName] = [
      .meetingStartRequested, .videoClientSignalingOpened, .meetingStartSucceeded, .meetingEnded,
    ]
    #expect(watcher.names == expected)
    #expect(history(app).map(\.description) == expected.map(\.description))
    #expect(watcher[.meetingEnded]?[.meetingStatus] as? MeetingSessionStatusCode == .ok)
    let duration = try #require(watcher[.meetingEnded]?[.meetingDurationMs] as? Int64)
    #expect((4_900...5_100).contains(duration))
    let start = try #require(watcher[.meetingStartSucceeded]?[.meetingStartDurationMs] as? Int64)
    #expect(watcher[.videoClientSignalingOpened]?[.signalingOpenDurationMs] as? Int64 == start)
    #expect(start >= 0 && start < 1_000)
    try app.audioVideo.start()
    await environment.run()
    #expect(history(app).count == 7, "the history of a session is never cleared")
    app.audioVideo.removeEventAnalyticsObserver(observer: watcher)
    app.audioVideo.stop()
    await environment.run()
    #expect(watcher.names.last == .meetingStartSucceeded)
    #expect(history(app).last == .meetingEnded)
  }

  @Test func everyEventHasTimeAndStateOfTheApp() async throws {
    let app = app()
    try app.audioVideo.start()
    await environment.run()
    let attributes = try #require(watcher[.meetingStartRequested])
    #expect(
      attributes[.timestampMs] as? Int64 == app.audioVideo.getMeetingHistory().first?.timestampMs)
    #expect(attributes[.appState] as? AppState == .active)
    #expect(attributes[.batteryState] as? BatteryState == .unknown)
    #expect(attributes[.networkConnectionType] as? NetworkConnectionType == .unknown)
    #expect(attributes[.lowPowerModeEnabled] as? Bool == false)
    #expect(attributes[.batteryLevel] == nil)
    #expect(attributes[.meetingDurationMs] == nil, "figures of the meeting are in events about the meeting")
  }

  @Test func batteryMemoryAndNetworkOfTheMachineAreInEvents() async throws {
    let machine = environment.world.machine
    machine.setPower(Machine.Power(level: 0.25, state: .discharging))
    machine.setNetwork(.wifi)
    let reporter = Reporter()
    let session = World.$current.withValue(environment.world) {
      DefaultMeetingSession(
        configuration: App.configuration("Ana"), logger: Quiet(), eventReporterFactory: reporter)
    }
    session.audioVideo.addEventAnalyticsObserver(observer: watcher)
    try session.audioVideo.start()
    await environment.run()
    let attributes = try #require(watcher[.meetingStartRequested])
    #expect((attributes[.batteryLevel] as? NSNumber)?.floatValue == 0.25)
    #expect(attributes[.batteryState] as? BatteryState == .discharging)
    #expect(attributes[.networkConnectionType] as? NetworkConnectionType == .wifi)
    machine.setPower(Machine.Power(level: 1, state: .full))
    machine.setNetwork(.cellular)
    machine.setNetwork(.cellular)
    machine.reportLowMemory()
    await environment.run()
    #expect(!watcher.names.contains(.appMemoryLow), "it goes into the history and to the reporter only")
    let history = session.audioVideo.getMeetingHistory().map(\.meetingHistoryEventName)
    #expect(history.suffix(2) == [.networkConnectionTypeChanged, .appMemoryLow])
    #expect((reporter.attribute(.batteryLevel, of: .appMemoryLow) as? NSNumber)?.floatValue == 1)
    #expect(reporter.attribute(.batteryState, of: .appMemoryLow) as? BatteryState == .full)
    #expect(
      reporter.attribute(.networkConnectionType, of: .networkConnectionTypeChanged) as? NetworkConnectionType
        == .cellular)
    session.audioVideo.stop()
    await environment.run()
    machine.reportLowMemory()
    await environment.run()
    #expect(
      session.audioVideo.getMeetingHistory().last?.meetingHistoryEventName == .meetingEnded,
      "after the meeting the machine is not watched")
  }

  @Test func lostConnectionSendsDroppedSignalingAndReconnection() async throws {
    let app = app()
    try app.audioVideo.start()
    await environment.run()
    let backend = try #require(environment.world.backend as? EmbeddedBackend)
    backend.cutNetwork(of: "ana", for: .seconds(25))
    await environment.run(.seconds(60))
    #expect(watcher.names.suffix(2) == [.videoClientSignalingDropped, .meetingReconnected])
    let dropped = watcher[.videoClientSignalingDropped]
    #expect(dropped?[.signalingDroppedError] as? SignalingDroppedError == .signalingClientDisconnected)
    #expect(dropped?[.retryCount] as? Int == 0)
    #expect(dropped?[.meetingReconnectDurationMs] == nil)
    #expect(watcher[.meetingReconnected]?[.retryCount] as? Int == 1)
    let duration = try #require(watcher[.meetingReconnected]?[.meetingReconnectDurationMs] as? Int64)
    #expect((1_000...40_000).contains(duration))
  }

  @Test func refusedMeetingFailsWithStatusAndMessage() async throws {
    let other = environment.app("Ana")
    try other.audioVideo.start()
    await environment.run()
    let app = app()
    try app.audioVideo.start()  // takes the place of the other one, which has the same attendee id
    await environment.run()
    #expect(other.audioVideo.getMeetingHistory().last?.meetingHistoryEventName == .meetingEnded)
    let room = World(backend: RefusingRoom(), delivery: environment.world.delivery)
    let refused = World.$current.withValue(room) { App("Ben") }
    refused.audioVideo.addEventAnalyticsObserver(observer: watcher)
    try refused.audioVideo.start()
    await room.run(for: .seconds(1))
    let attributes = try #require(watcher[.meetingFailed])
    #expect(attributes[.meetingStatus] as? MeetingSessionStatusCode == .audioCallAtCapacity)
    #expect((attributes[.meetingErrorMessage] as? String)?.contains("full") == true)
    #expect(attributes[.meetingDurationMs] as? Int64 == 0)
  }

  @Test func unreachableBackendFailsToStart() async {
    let session = DefaultMeetingSession(
      App.configuration("Ana"), Quiet(), NoopEventReporterFactory(),
      in: MeetingEnvironment(problem: "no such host", delivery: environment.world.delivery))
    session.audioVideo.addEventAnalyticsObserver(observer: watcher)
    #expect(throws: MediaError.audioFailedToStart) { try session.audioVideo.start() }
    await environment.run()
    #expect(watcher.names == [.meetingStartRequested, .meetingStartFailed])
    #expect(watcher[.meetingStartFailed]?[.meetingStatus] as? MeetingSessionStatusCode == .audioServiceUnavailable)
    #expect(watcher[.meetingStartFailed]?[.meetingErrorMessage] as? String == "no such host")
  }

  @Test func tilesAndPoorConnectionsAreCounted() async throws {
    let (ana, ben) = (app(), environment.app("Ben"))
    for app in [ana, ben] {
      try app.audioVideo.start()
      app.audioVideo.startRemoteVideo()
      try app.audioVideo.startLocalVideo()
    }
    await environment.run(.seconds(3))
    ben.audioVideo.stopLocalVideo()
    await environment.run()
    ana.audioVideo.stop()
    await environment.run()
    #expect(watcher[.meetingEnded]?[.maxVideoTileCount] as? Int == 2)
    #expect(watcher[.meetingEnded]?[.poorConnectionCount] as? Int == 0)
  }

  @Test func missingPermissionsSendInputFailures() async {
    let app = app()
    environment.world.machine.setPermission(.denied, .microphone)
    environment.world.machine.setPermission(.denied, .camera)
    try? app.audioVideo.start()
    try? app.audioVideo.startLocalVideo()
    await environment.run()
    #expect(watcher.names == [.audioInputFailed, .videoInputFailed])
    #expect(watcher[.audioInputFailed]?[.audioInputError] as? PermissionError == .audioPermissionError)
    #expect(watcher[.videoInputFailed]?[.videoInputError] as? PermissionError == .videoPermissionError)
  }

  @Test func chosenDevicesAreInTheHistoryOnly() async throws {
    let app = app()
    try app.audioVideo.start()
    await environment.run()
    let count = watcher.names.count
    app.audioVideo.chooseAudioDevice(mediaDevice: app.audioVideo.listAudioDevices()[1])
    app.audioVideo.switchCamera()
    #expect(history(app).suffix(2) == [.audioInputSelected, .videoInputSelected])
    await environment.run()
    #expect(watcher.names.count == count)
  }

  @Test func missingDevicesSendInputFailures() async throws {
    let app = app()
    let machine = environment.world.machine
    for device in machine.devices where device.kind != .loudspeaker { machine.unplug(device.id) }
    #expect(app.audioVideo.listAudioDevices().count == 1)
    app.audioVideo.switchCamera()
    #expect(app.audioVideo.getActiveCamera() == nil)
    await environment.run()
    #expect(watcher[.audioInputFailed]?[.audioInputError] as? MediaError == .noAudioDevices)
    #expect(watcher[.videoInputFailed]?[.videoInputError] as? MediaError == .noCameraSelected)
  }

  @Test func voiceFocusIsInTheHistory() async throws {
    let app = app()
    _ = app.audioVideo.realtimeSetVoiceFocusEnabled(enabled: true)
    _ = app.audioVideo.realtimeSetVoiceFocusEnabled(enabled: false)
    #expect(history(app) == [.voiceFocusEnableFailed, .voiceFocusDisableFailed])
    try app.audioVideo.start()
    await environment.run()
    _ = app.audioVideo.realtimeSetVoiceFocusEnabled(enabled: true)
    _ = app.audioVideo.realtimeSetVoiceFocusEnabled(enabled: false)
    #expect(history(app).suffix(2) == [.voiceFocusEnabled, .voiceFocusDisabled])
  }

  @Test func interruptionAndBackgroundAreInTheHistory() async throws {
    let app = app()
    let machine = environment.world.machine
    machine.moveToBackground()
    machine.returnToForeground()
    await environment.run()
    #expect(history(app) == [], "states of the app are in the history while a meeting runs")
    try app.audioVideo.start()
    try app.audioVideo.startLocalVideo()
    await environment.run()
    let before = history(app).count
    machine.beginInterruption()
    machine.endInterruption()
    machine.moveToBackground()
    await environment.run()
    let camera = MeetingHistoryEventName.videoInterruptionBegan
    #expect(history(app).dropFirst(before).prefix(2) == [.audioInterruptionBegan, .audioInterruptionEnded])
    #expect(history(app).dropFirst(before + 2).filter { $0 != camera } == [.appStateChanged, .appStateChanged])
    #expect(history(app).filter { $0 == camera }.count == 1)
    app.session.eventAnalyticsController.publishEvent(name: .unknown)
    await environment.run()
    #expect(watcher[.unknown]?[.appState] as? AppState == .background)
    machine.returnToForeground()
    await environment.run()
    #expect(history(app).filter { $0 == .videoInterruptionEnded }.count == 1)
    #expect(history(app).filter { $0 == .appStateChanged }.count == 4)
  }

  @Test func contentShareSendsItsEvents() async throws {
    let app = app()
    let share = ContentShareSource()
    share.videoSource = try Painter("Slides", in: environment.world)
    app.audioVideo.startContentShare(source: share)
    await environment.run(.seconds(2))
    app.audioVideo.stopContentShare()
    await environment.run()
    #expect(
      watcher.names == [
        .contentShareStartRequested, .contentShareSignalingOpened, .contentShareStarted, .contentShareStopped,
      ], "a share without a meeting has a connection of its own")
    try app.audioVideo.start()
    await environment.run()
    let count = watcher.names.count
    app.audioVideo.startContentShare(source: share)
    await environment.run(.seconds(2))
    #expect(watcher.names.dropFirst(count) == [.contentShareStartRequested, .contentShareStarted])
  }

  @Test func failedContentShareSendsTheReason() async throws {
    let room = World(backend: RefusingRoom(), delivery: environment.world.delivery)
    let app = World.$current.withValue(room) { App("Ben") }
    app.audioVideo.addEventAnalyticsObserver(observer: watcher)
    let share = ContentShareSource()
    share.videoSource = try Painter("Slides", in: room)
    app.audioVideo.startContentShare(source: share)
    await room.run(for: .seconds(1))
    #expect(watcher.names == [.contentShareStartRequested, .contentShareFailed])
    #expect(watcher[.contentShareFailed]?[.contentShareError] as? VideoClientFailedError == .other)
  }

  @Test func shareOfItsOwnConnectionReportsDroppedSignaling() async throws {
    let app = app()
    let share = ContentShareSource()
    share.videoSource = try Painter("Slides", in: environment.world)
    app.audioVideo.startContentShare(source: share)
    await environment.run(.seconds(2))
    let backend = try #require(environment.world.backend as? EmbeddedBackend)
    backend.cutNetwork(of: "ana#content", for: .seconds(25))
    await environment.run(.seconds(40))
    #expect(watcher.names.filter { $0 == .contentShareSignalingDropped }.count == 1)
    #expect(
      watcher[.contentShareSignalingDropped]?[.signalingDroppedError] as? SignalingDroppedError
        == .signalingClientDisconnected)
  }

  /// A reporter of the app's own.
  private final class Reporter: EventReporter, EventReporterFactory, @unchecked Sendable {  // `reported` is a lock
    private let reported = Lock<[SDKEvent]>([])
    func createEventReporter() -> (any EventReporter)? { self }
    func report(event: SDKEvent) { reported.withLock { $0.append(event) } }
    func start() {}
    func stop() {}
    func attribute(_ attribute: EventAttributeName, of name: EventName) -> Any? {
      reported.withLock { $0.last { $0.name == name.description }?.eventAttributes[attribute] }
    }
  }

  @Test func eventsOfTheHistoryReachTheReporterWithTheirAttributes() async throws {
    let reporter = Reporter()
    let session = World.$current.withValue(environment.world) {
      DefaultMeetingSession(
        configuration: App.configuration("Ana"), logger: Quiet(), eventReporterFactory: reporter)
    }
    _ = session.audioVideo.realtimeSetVoiceFocusEnabled(enabled: true)
    try session.audioVideo.start()
    try session.audioVideo.startLocalVideo()
    await environment.run()
    session.audioVideo.chooseAudioDevice(mediaDevice: session.audioVideo.listAudioDevices()[1])
    session.audioVideo.switchCamera()
    environment.world.machine.moveToBackground()
    await environment.run()
    #expect(
      reporter.attribute(.voiceFocusError, of: .voiceFocusEnableFailed) as? VoiceFocusError == .audioClientNotStarted)
    #expect(reporter.attribute(.audioDeviceType, of: .audioInputSelected) as? String == "audioBuiltInSpeaker")
    #expect(reporter.attribute(.videoDeviceType, of: .videoInputSelected) as? String == "videoBackCamera")
    #expect(
      reporter.attribute(.videoInterruptionReason, of: .videoInterruptionBegan) as? VideoInterruptionReason
        == .videoDeviceNotAvailableInBackground)
    #expect(reporter.attribute(.appState, of: .appStateChanged) as? AppState == .background)
    #expect(reporter.attribute(.meetingStatus, of: .meetingStartSucceeded) as? MeetingSessionStatusCode == .ok)
  }

  @Test func cameraOfTheAppReportsToTheSessionsController() async throws {
    let app = app()
    let camera = World.$current.withValue(environment.world) {
      DefaultCameraCaptureSource(logger: ConsoleLogger(name: "camera", level: .OFF))
    }
    camera.start()
    camera.stop()
    #expect(history(app) == [])
    camera.setEventAnalyticsController(eventAnalyticsController: app.session.eventAnalyticsController)
    camera.switchCamera()
    camera.device = nil
    camera.start()
    await environment.run()
    #expect(history(app) == [.videoInputSelected, .videoInputFailed])
    #expect(watcher[.videoInputFailed]?[.videoInputError] as? CaptureSourceError == .configurationFailure)
  }

  /// Keeps the attributes of events as the observer of the vendor's guide to meeting events does: a failure has the history.
  private final class FailureLog: EventAnalyticsObserver, @unchecked Sendable {  // a constant and a lock
    private let session: DefaultMeetingSession
    let records = Lock<[[String: String]]>([])
    init(of session: DefaultMeetingSession) { self.session = session }

    func eventDidReceive(name: EventName, attributes: [AnyHashable: Any]) {
      var all = attributes
      switch name {
      case .videoInputFailed, .meetingStartFailed, .meetingFailed:
        all.merge(
          [EventAttributeName.meetingHistory: session.audioVideo.getMeetingHistory()] as [EventAttributeName: Any]
        ) { $1 }
      default: break
      }
      let record = Dictionary(
        uniqueKeysWithValues: all.map { (String(describing: $0.key), String(describing: $0.value)) })
      records.withLock { $0.append(record) }
    }
  }

  @Test func failureInTheObserverOfTheGuideHasTheMeetingHistory() async throws {
    let app = environment.app("Ana")
    let log = FailureLog(of: app.session)
    app.audioVideo.addEventAnalyticsObserver(observer: log)
    try app.audioVideo.start()
    await environment.run()
    environment.world.machine.setPermission(.denied, .camera)
    #expect(throws: PermissionError.videoPermissionError) { try app.audioVideo.startLocalVideo() }
    await environment.run()
    let records = log.records.withLock { $0 }
    let states = app.audioVideo.getMeetingHistory()
    #expect(states.map(\.meetingHistoryEventName).suffix(2) == [.meetingStartSucceeded, .videoInputFailed])
    let expected = states.map { "\($0.meetingHistoryEventName): \($0.timestampMs)" }.joined(separator: ", ")
    #expect(records.last?["meetingHistory"] == "[\(expected)]")
    #expect(records.dropLast().allSatisfy { $0["meetingHistory"] == nil }, "the SDK itself sets it in no event")
    #expect(records.count >= 3)
  }

  @Test func appsOwnEventsAreKeptAndDelivered() async {
    let app = app()
    let controller = app.session.eventAnalyticsController
    controller.publishEvent(name: .unknown, attributes: [EventAttributeName.meetingErrorMessage: "own"])
    controller.publishEvent(name: .audioInputSelected)
    controller.publishEvent(name: .videoInputSelected, attributes: [:], notifyObservers: false)
    controller.pushHistory(historyEventName: .audioInputSelected)
    await environment.run()
    #expect(watcher.names == [.unknown, .audioInputSelected])
    #expect(watcher[.unknown]?[.meetingErrorMessage] as? String == "own")
    #expect(history(app) == [.unknown, .audioInputSelected, .videoInputSelected, .audioInputSelected])
    #expect(controller.getMeetingHistory().count == 4)
  }

  @Test func commonAttributesNameMeetingAttendeeAndMachine() {
    let app = app()
    let attributes = app.audioVideo.getCommonEventAttributes()
    #expect(attributes["meetingId"] as? String == "tea")
    #expect(attributes["attendeeId"] as? String == "ana")
    #expect(attributes["externalUserId"] as? String == "Ana")
    #expect(attributes["externalMeetingId"] == nil)
    #expect(attributes["sdkName"] as? String == "amazon-chime-sdk-ios")
    #expect(attributes["sdkVersion"] as? String == Versioning.sdkVersion())
    #expect(attributes["osName"] as? String == "Linux")
    let version = ProcessInfo.processInfo.operatingSystemVersion
    let model = attributes[EventAttributeName.deviceModel.description] as? String
    #expect(model == "x86_64" || model == "aarch64")
    let expected: [(EventAttributeName, String?)] = [
      (.deviceName, model.map { "Koine \($0)" }), (.deviceManufacturer, "Koine"), (.osName, "Linux"),
      (.osVersion, "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"),
      (.sdkName, "amazon-chime-sdk-ios"), (.sdkVersion, Versioning.sdkVersion()), (.mediaSdkVersion, "unknown"),
    ]
    for (name, value) in expected { #expect(attributes[name.description] as? String == value, "\(name)") }
    #expect(attributes.count == 11)
    #expect(attributes.toJsonString().contains(#""meetingId":"tea""#))
    #expect((["a": 1] as NSDictionary).toJsonString() == #"{"a":"1"}"#)
  }

  @Test func namesOfHistoryAndEventsAgree() {
    #expect(EventName.allCases.count == 32)
    #expect(Set(EventName.allCases.map(\.description)).count == 32)
    #expect(Set(MeetingHistoryEventName.allCases.map(\.description)) == Set(EventName.allCases.map(\.description)))
    #expect(EventName.meetingEnded.rawValue == 9)
    #expect(MeetingHistoryEventName.meetingEnded.rawValue == 7)
    #expect(EventName.networkConnectionTypeChanged.rawValue == 30)
    #expect(EventAttributeName.allCases.count == 37)
    #expect(EventAttributeName.networkConnectionType.description == "networkConnectionType")
    #expect(
      SDKEvent(meetingHistoryEventName: .meetingFailed, eventAttributes: [:]).name
        == SDKEvent(eventName: .meetingFailed, eventAttributes: [:]).name)
    #expect(MeetingHistoryEvent(meetingHistoryEventName: .unknown, timestampMs: 5).description == "unknown: 5")
    #expect(VoiceFocusError(from: 19) == .setParamFailed)
    #expect(VoiceFocusError(from: 2) == .other)
    #expect(SignalingDroppedError.other.rawValue == 11)
    #expect(SignalingDroppedError.signalFrameSendingFailed.description == "signalFrameSendingFailed")
    #expect(ResourceError.notFound.description == "notFound")
    #expect(AppState(from: .inactive) == .inactive)
    #expect(NetworkConnectionType.wiredEthernet.description == "Ethernet")
    #expect(BatteryState.full.description == "Full")
    #expect(VideoInterruptionReason.other.rawValue == 4)
  }
}

/// A backend whose rooms are full.
private final class RefusingRoom: Backend {
  let scheduler = Koine.Scheduler.virtual()
  let capabilities: BackendCapabilities = []
  private let inner = EmbeddedBackend(virtual: 1)

  func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> any Link {
    scheduler.lane("room").post { receiver.linkDidChange(.ended(.refused(Failure(.roomFull, "the room is full")))) }
    return inner.connect(request, receiver: Deaf())
  }

  func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> any EndpointLink {
    preconditionFailure("this style rings nobody")
  }
}

private final class Deaf: LinkReceiver {
  func linkDidChange(_ event: LinkEvent) {}
  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) {}
}
