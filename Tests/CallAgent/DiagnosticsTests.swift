import AzureCommunicationCalling
import Koine
import KoineEmbeddedBackend
import Testing

/// Diagnostics of the local user: what raises them, and what ends them.
struct DiagnosticsTests {
  private struct Place {
    let telephone: Telephone
    let agents: [CallAgent]
    let hears: [Recorder]
    let call: Call
    let told = DiagnosticsRecorder()
    var machine: Machine { telephone.world.machine }
    var diagnostics: LocalUserDiagnosticsCallFeature { call.feature(Features.localUserDiagnostics) }
    var media: MediaDiagnosticValues { diagnostics.mediaDiagnostics.latest }
    func run(_ duration: Duration) async { await telephone.run(duration) }
  }

  private func place(network: String? = nil, camera: String = "stamp:Cam,320x180@15") async throws -> Place {
    let telephone = try Telephone(network: network, camera: camera)
    var agents: [CallAgent] = []
    var hears: [Recorder] = []
    for user in ["ana", "ben"] {
      let (agent, recorder) = try await telephone.agent(user)
      agent.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { recorder.take($0, $1) }
      agents.append(agent)
      hears.append(recorder)
    }
    await telephone.run(.milliseconds(800))
    let place = Place(telephone: telephone, agents: agents, hears: hears, call: try #require(hears[0].call))
    place.diagnostics.networkDiagnostics.delegate = place.told
    place.diagnostics.mediaDiagnostics.delegate = place.told
    return place
  }

  @Test func nothingIsRaisedInAQuietCall() async throws {
    let place = try await place()
    await place.run(.seconds(20))
    #expect(place.told.words.isEmpty)
    let network = place.diagnostics.networkDiagnostics.latest
    #expect(network.isNetworkUnavailable == nil)
    #expect(network.networkSendQuality == .unknown)
    #expect(network.networkReceiveQuality == .unknown)
    #expect(network.networkReconnectionQuality == .unknown)
    #expect(place.media.isSpeakerNotFunctioning == nil)
    #expect(place.media.isCameraFrozen == nil)
  }

  @Test func lossyPathIsReportedAsPoorAndThenGood() async throws {
    let place = try await place()
    let backend = try #require(place.telephone.world.backend as? EmbeddedBackend)
    backend.setNetwork(try .init("loss=12%"), of: "8:acs:ana")
    await place.run(.seconds(20))
    #expect(place.told.words.contains("networkSendQuality poor"))
    #expect(place.told.words.contains("networkReceiveQuality poor"))
    backend.setNetwork(try .init(""), of: "8:acs:ana")
    await place.run(.seconds(30))
    #expect(place.diagnostics.networkDiagnostics.latest.networkSendQuality == .good)
    #expect(place.diagnostics.networkDiagnostics.latest.networkReceiveQuality == .good)
  }

  @Test func lostConnectionIsBadUntilItIsRestored() async throws {
    let place = try await place()
    let closures = Lock<[DiagnosticQuality]>([])
    place.diagnostics.networkDiagnostics.events.onNetworkReconnectionQualityChanged = { args in
      closures.withLock { $0.append(args.value) }
    }
    let backend = try #require(place.telephone.world.backend as? EmbeddedBackend)
    backend.cutNetwork(of: "8:acs:ana", for: .seconds(25))
    await place.run(.seconds(24))
    #expect(place.diagnostics.networkDiagnostics.latest.networkReconnectionQuality == .bad)
    await place.run(.seconds(20))
    #expect(place.diagnostics.networkDiagnostics.latest.networkReconnectionQuality == .good)
    #expect(closures.withLock { $0 } == [.bad, .good])
    #expect(place.told.words.contains("networkReconnectionQuality bad"))
    #expect(place.diagnostics.networkDiagnostics.latest.isNetworkUnavailable == nil)
  }

  @Test func callThatCannotReachTheRoomReportsNetworkUnavailable() async throws {
    let telephone = try Telephone()
    let (ana, hears) = try await telephone.agent("ana")
    let backend = try #require(telephone.world.backend as? EmbeddedBackend)
    backend.setNetwork(try .init("loss=100%"))
    ana.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { hears.take($0, $1) }
    await telephone.run(.milliseconds(100))
    let told = DiagnosticsRecorder()
    let diagnostics = try #require(hears.call).feature(Features.localUserDiagnostics).networkDiagnostics
    diagnostics.delegate = told
    await telephone.run(.seconds(120))
    #expect(hears.call?.state == .disconnected)
    #expect(told.words == ["isNetworkUnavailable true"])
    #expect(diagnostics.latest.isNetworkUnavailable == true)
  }

  @Test func speechIntoAMutedMicrophoneIsReported() async throws {
    let place = try await place()
    await place.run(.seconds(2))
    #expect(place.told.words.isEmpty)
    place.call.mute { _ in }
    await place.run(.seconds(2))
    #expect(place.told.words == ["isSpeakingWhileMicrophoneIsMuted true"])
    #expect(place.media.isSpeakingWhileMicrophoneIsMuted == true)
    place.machine.plugIn(Machine.Device(id: "quiet", kind: .microphone, name: "Quiet", source: "silence"))
    await place.run(.seconds(4))
    #expect(place.media.isSpeakingWhileMicrophoneIsMuted == false)
    place.machine.plugIn(Machine.Device(id: "loud", kind: .microphone, name: "Loud", source: "tone"))
    await place.run(.seconds(2))
    #expect(place.media.isSpeakingWhileMicrophoneIsMuted == true)
    place.call.unmute { _ in }
    await place.run(.seconds(1))
    #expect(place.media.isSpeakingWhileMicrophoneIsMuted == false)
  }

  @Test func missingMicrophonesAndSpeakersAreReported() async throws {
    let place = try await place()
    place.machine.unplug("built-in microphone")
    place.machine.unplug("built-in speaker")
    await place.run(.milliseconds(100))
    #expect(place.told.words.sorted() == ["isNoMicrophoneDevicesAvailable true", "isNoSpeakerDevicesAvailable true"])
    place.machine.plugIn(Machine.Device(id: "m", kind: .microphone, name: "M", source: "tone"))
    place.machine.plugIn(Machine.Device(id: "s", kind: .loudspeaker, name: "S", source: "none"))
    await place.run(.milliseconds(100))
    #expect(place.media.isNoMicrophoneDevicesAvailable == false)
    #expect(place.media.isNoSpeakerDevicesAvailable == false)
  }

  @Test func interruptionMakesMicrophoneAndSpeakerBusy() async throws {
    let place = try await place()
    place.machine.beginInterruption()
    await place.run(.seconds(10))
    #expect(place.told.words == ["isMicrophoneBusy true", "isSpeakerBusy true"])
    place.machine.endInterruption()
    await place.run(.milliseconds(100))
    #expect(place.media.isMicrophoneBusy == false)
    #expect(place.media.isSpeakerBusy == false)
  }

  @Test func mutedAndSilentSpeakersAreReportedAndTakenBack() async throws {
    let place = try await place()
    let closures = Lock<[String]>([])
    let events = place.diagnostics.mediaDiagnostics.events
    events.onIsSpeakerMutedChanged = { args in closures.withLock { $0.append("muted \(args.value)") } }
    events.onIsSpeakerVolumeZeroChanged = { args in closures.withLock { $0.append("zero \(args.value)") } }
    place.machine.setOutputMuted(true)
    await place.run(.milliseconds(100))
    #expect(place.told.words == ["isSpeakerMuted true"])
    #expect(place.media.isSpeakerMuted == true)
    #expect(place.media.isSpeakerVolumeZero == nil)
    place.machine.setOutputVolume(0)
    await place.run(.milliseconds(100))
    #expect(place.told.words == ["isSpeakerMuted true", "isSpeakerVolumeZero true"])
    place.machine.setOutputMuted(false)
    await place.run(.milliseconds(100))
    #expect(place.media.isSpeakerMuted == false)
    #expect(place.media.isSpeakerVolumeZero == true)
    place.machine.setOutputVolume(0.1)
    await place.run(.milliseconds(100))
    #expect(place.media.isSpeakerVolumeZero == false)
    #expect(closures.withLock { $0 } == ["muted true", "zero true", "muted false", "zero false"])
  }

  @Test func speakerThatIsMutedBeforeTheCallIsReported() async throws {
    let telephone = try Telephone()
    telephone.world.machine.setOutputMuted(true)
    telephone.world.machine.setOutputVolume(0)
    let (ana, hears) = try await telephone.agent("ana")
    ana.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { hears.take($0, $1) }
    await telephone.run(.milliseconds(800))
    let diagnostics = try #require(hears.call).feature(Features.localUserDiagnostics).mediaDiagnostics
    await telephone.run(.milliseconds(100))
    #expect(diagnostics.latest.isSpeakerMuted == true)
    #expect(diagnostics.latest.isSpeakerVolumeZero == true)
  }

  @Test func speakerThatDoesNotOpenIsReported() async throws {
    let place = try await place()
    place.machine.plugIn(Machine.Device(id: "bad", kind: .loudspeaker, name: "Bad", source: "no-such-device"))
    await place.run(.milliseconds(100))
    #expect(place.told.words == ["isSpeakerNotFunctioning true"])
    place.machine.unplug("bad")
    await place.run(.milliseconds(100))
    #expect(place.media.isSpeakerNotFunctioning == false)
  }

  @Test func microphoneThatMayNotBeUsedDoesNotFunction() async throws {
    let place = try await place()
    place.machine.setPermission(.denied, .microphone)
    await place.run(.milliseconds(100))
    #expect(place.told.words == ["isMicrophoneNotFunctioning true"])
    place.machine.setPermission(.granted, .microphone)
    await place.run(.seconds(1))
    #expect(place.media.isMicrophoneNotFunctioning == false)
  }

  @Test func microphoneThatGivesNoAudioDoesNotFunction() async throws {
    Devices.register(microphone: "dead") { _ throws(DeviceError) in DeadMicrophone() }
    let place = try await place()
    place.machine.plugIn(Machine.Device(id: "dead", kind: .microphone, name: "Dead", source: "dead"))
    await place.run(.seconds(6))
    #expect(place.told.words == ["isMicrophoneNotFunctioning true"])
    place.machine.unplug("dead")
    await place.run(.seconds(1))
    #expect(place.media.isMicrophoneNotFunctioning == false)
  }

  @Test func backgroundWithoutAudioModeMutesUnexpectedly() async throws {
    let place = try await place()
    place.machine.moveToBackground()
    await place.run(.milliseconds(100))
    #expect(place.told.words.isEmpty, "nothing says that the app may not")
    place.machine.returnToForeground()
    place.machine.setInformation(
      AppInformation(["NSMicrophoneUsageDescription": "calls", "NSCameraUsageDescription": "calls"]))
    place.machine.moveToBackground()
    await place.run(.seconds(6))
    #expect(place.told.words == ["isMicrophoneMutedUnexpectedly true"])
    place.machine.returnToForeground()
    await place.run(.milliseconds(100))
    #expect(place.media.isMicrophoneMutedUnexpectedly == false)
  }

  @Test func cameraWithoutNewFramesIsFrozen() async throws {
    let place = try await place()
    let camera = try await place.telephone.camera()
    place.call.startVideo(stream: camera) { _ in }
    await place.run(.seconds(5))
    #expect(place.told.words.isEmpty)
    place.machine.moveToBackground()
    await place.run(.seconds(5))
    #expect(place.told.words == ["isCameraFrozen true"])
    #expect(place.media.isCameraFreeze == true)
    place.machine.returnToForeground()
    await place.run(.seconds(2))
    #expect(place.media.isCameraFrozen == false)
  }

  @Test func cameraThatNeverGivesAFrameTimesOut() async throws {
    Devices.register(camera: "dark") { _ throws(DeviceError) in DarkCamera() }
    let place = try await place(camera: "dark")
    let camera = try await place.telephone.camera()
    place.call.startVideo(stream: camera) { _ in }
    await place.run(.seconds(9))
    #expect(place.told.words.isEmpty)
    await place.run(.seconds(3))
    #expect(place.told.words == ["isCameraStartTimedOut true"])
    place.call.stopVideo(stream: camera) { _ in }
    await place.run(.seconds(1))
    #expect(place.media.isCameraStartTimedOut == false)
  }

  @Test func cameraThatMayNotBeUsedFailsToStart() async throws {
    let place = try await place()
    let camera = try await place.telephone.camera()
    place.machine.setPermission(.denied, .camera)
    await place.run(.milliseconds(100))
    #expect(place.told.words == ["isCameraPermissionDenied true"])
    place.call.startVideo(stream: camera) { _ in }
    await place.run(.milliseconds(500))
    #expect(place.media.isCameraStartFailed == true)
    place.machine.setPermission(.granted, .camera)
    place.call.startVideo(stream: camera) { _ in }
    await place.run(.seconds(2))
    #expect(place.media.isCameraPermissionDenied == false)
    #expect(place.media.isCameraStartFailed == false)
  }

  @Test func endedCallRaisesNothing() async throws {
    let place = try await place()
    place.call.hangUp(options: nil) { _ in }
    await place.run(.milliseconds(500))
    place.machine.beginInterruption()
    place.machine.unplug("built-in microphone")
    await place.run(.seconds(5))
    #expect(place.told.words.isEmpty)
  }
}

/// A microphone that starts and gives nothing.
private final class DeadMicrophone: AudioSource, Sendable {
  let channels = 1
  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {}
  func stop() {}
}

/// A camera that starts and gives nothing.
private final class DarkCamera: VideoSource, Sendable {
  let format = VideoFormat()
  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {}
  func stop() {}
}

private final class DiagnosticsRecorder: NSObject, NetworkDiagnosticsDelegate, MediaDiagnosticsDelegate,
  @unchecked Sendable
{
  private let heard = Lock<[String]>([])
  var words: [String] { heard.withLock { $0 } }
  private func note(_ args: DiagnosticFlagChangedEventArgs) {
    heard.withLock { $0.append("\(args.name) \(args.value)") }
  }
  private func note(_ args: DiagnosticQualityChangedEventArgs) {
    heard.withLock { $0.append("\(args.name) \(args.value)") }
  }

  func networkDiagnostics(
    _ diagnostics: NetworkDiagnostics, didChangeIsNetworkUnavailable args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func networkDiagnostics(
    _ diagnostics: NetworkDiagnostics, didChangeIsNetworkRelaysUnreachable args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func networkDiagnostics(
    _ diagnostics: NetworkDiagnostics, didChangeNetworkReconnectionQuality args: DiagnosticQualityChangedEventArgs
  ) { note(args) }
  func networkDiagnostics(
    _ diagnostics: NetworkDiagnostics, didChangeNetworkReceiveQuality args: DiagnosticQualityChangedEventArgs
  ) { note(args) }
  func networkDiagnostics(
    _ diagnostics: NetworkDiagnostics, didChangeNetworkSendQuality args: DiagnosticQualityChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsSpeakerNotFunctioning args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsSpeakerBusy args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsSpeakerMuted args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsSpeakerVolumeZero args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsNoSpeakerDevicesAvailable args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsSpeakingWhileMicrophoneIsMuted args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsNoMicrophoneDevicesAvailable args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsMicrophoneBusy args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsCameraFrozen args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsCameraStartFailed args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsCameraStartTimedOut args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsMicrophoneNotFunctioning args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsMicrophoneMutedUnexpectedly args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
  func mediaDiagnostics(
    _ diagnostics: MediaDiagnostics, didChangeIsCameraPermissionDenied args: DiagnosticFlagChangedEventArgs
  ) { note(args) }
}
