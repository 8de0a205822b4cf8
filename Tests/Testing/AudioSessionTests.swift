import AmazonIVSBroadcast
import Foundation
import Koine
import KoineAVFoundation
import KoineTesting
import Testing

/// The app's audio session decides which directions of audio flow, once the app has used it.
@MainActor
@Suite struct AudioSessionTests {
  enum Style: CaseIterable { case callAgent, eventListener, meetingSession, stageStrategy }

  private let room: TestRoom
  private let bea: Person
  private let session: AVAudioSession

  init() async throws {
    room = try await TestRoom(clock: .virtual(seed: 7))
    bea = try await room.join("Bea")
    session = room.enter(as: "Ana") { AVAudioSession.sharedInstance() }
  }

  /// Ana's app of a style, in the room with Bea.
  private func startApp(_ style: Style) async throws -> AnyObject {
    switch style {
    case .callAgent:
      let app = CallApp()
      let token = try room.credential(.callAgent, for: "Ana").token
      try await room.run { [room] in
        try await room.enter(as: "Ana") {
          try await app.signIn(with: token)
          try await app.join(room: room.id)
        }
      }
      return app
    case .eventListener:
      let pass = try room.credential(.eventListener, for: "Ana")
      let app = ListenerApp(meetingID: pass.meetingID, participantID: pass.participantID)
      app.join()
      return app
    case .meetingSession:
      let pass = try room.credential(.meetingSession, for: "Ana")
      let app = try MeetingApp(
        createMeeting: Data(pass.createMeetingJSON.utf8), createAttendee: Data(pass.createAttendeeJSON.utf8))
      try app.start()
      return app
    case .stageStrategy:
      let app = StageApp()
      try room.enter(as: "Ana") { try app.join(with: room.credential(.stageStrategy, for: "Ana").token) }
      return app
    }
  }

  private var anaIsHeard: Bool { bea.hears("Ana") }
  private var beaIsHeard: Bool { room.speaker.hears("Bea") }

  @Test(arguments: Style.allCases) func categoryWithoutRecordingSilencesTheMicrophoneOnly(_ style: Style) async throws {
    let app = try await startApp(style)
    await room.until("they hear each other") { anaIsHeard && beaIsHeard }
    try session.setCategory(.playback)
    await room.until("Ana is silent") { !anaIsHeard }
    #expect(beaIsHeard)
    try session.setCategory(.record)
    await room.until("Bea is silent") { !beaIsHeard && anaIsHeard }
    try session.setCategory(.playAndRecord, mode: .videoChat, options: [.defaultToSpeaker, .allowBluetooth])
    await room.until("they hear each other again") { anaIsHeard && beaIsHeard }
    withExtendedLifetime(app) {}
  }

  @Test(arguments: Style.allCases) func inactiveSessionStopsBothDirectionsUntilItIsActiveAgain(_ style: Style)
    async throws
  {
    let app = try await startApp(style)
    await room.until("they hear each other") { anaIsHeard && beaIsHeard }
    try session.setCategory(.playAndRecord)
    try session.setActive(false, options: .notifyOthersOnDeactivation)
    await room.until("both are silent") { !anaIsHeard && !beaIsHeard }
    try session.setActive(true)
    await room.until("they hear each other again") { anaIsHeard && beaIsHeard }
    withExtendedLifetime(app) {}
  }

  @Test func interruptionOfAUsedSessionLastsUntilTheAppActivatesIt() async throws {
    let app = try await startApp(.stageStrategy)
    let machine = room.machine(of: "Ana")
    try session.setCategory(.playAndRecord)
    await room.until("they hear each other") { anaIsHeard && beaIsHeard }
    machine.beginInterruption()
    await room.until("both are silent") { !anaIsHeard && !beaIsHeard }
    let refused = #expect(throws: NSError.self) { try session.setActive(true) }
    #expect(refused?.code == 561_017_449)
    machine.endInterruption()
    await room.run(for: .seconds(1))
    #expect(!anaIsHeard)
    #expect(!beaIsHeard)
    try session.setActive(true)
    await room.until("they hear each other again") { anaIsHeard && beaIsHeard }
    withExtendedLifetime(app) {}
  }

  /// A preset of IVS leaves the session to the SDK.
  @Test(arguments: [false, true]) func interruptionOfASessionWithAPresetEndsByItself(mayResume: Bool) async throws {
    let manager = room.enter(as: "Ana") { IVSStageAudioManager.sharedInstance() }
    manager.setPreset(.videoChat)
    let app = try await startApp(.stageStrategy)
    let machine = room.machine(of: "Ana")
    await room.until("they hear each other") { anaIsHeard && beaIsHeard }
    for _ in 0..<2 {
      machine.beginInterruption()
      await room.until("both are silent") { !anaIsHeard && !beaIsHeard }
      machine.endInterruption(mayResume: mayResume)
      await room.until("they hear each other again") { anaIsHeard && beaIsHeard }
    }
    machine.beginInterruption()
    manager.setPreset(.studio)
    machine.endInterruption(mayResume: mayResume)
    await room.until("a preset during the interruption counts after it") { anaIsHeard && beaIsHeard }
    try session.setCategory(.playAndRecord)
    machine.beginInterruption()
    await room.until("both are silent") { !anaIsHeard && !beaIsHeard }
    machine.endInterruption(mayResume: mayResume)
    await room.run(for: .seconds(1))
    #expect(!anaIsHeard, "the app has set the session itself, and has to activate it")
    withExtendedLifetime(app) {}
  }

  @Test func interruptionOfAnUnusedSessionEndsByItself() async throws {
    let app = try await startApp(.meetingSession)
    let machine = room.machine(of: "Ana")
    await room.until("they hear each other") { anaIsHeard && beaIsHeard }
    machine.beginInterruption()
    await room.until("both are silent") { !anaIsHeard && !beaIsHeard }
    machine.endInterruption()
    await room.until("they hear each other again") { anaIsHeard && beaIsHeard }
    withExtendedLifetime(app) {}
  }

  /// The category that each SDK sets when its audio starts; the Amazon Chime SDK leaves it to the app.
  @Test(arguments: Style.allCases) func categoryAfterTheStartIsTheOneThatTheSDKSets(_ style: Style) async throws {
    #expect(session.category == .soloAmbient)
    let app = try await startApp(style)
    await room.until("they hear each other") { anaIsHeard && beaIsHeard }
    #expect(session.category == (style == .meetingSession ? .soloAmbient : .playAndRecord))
    #expect(session.mode == (style == .meetingSession ? .default : style == .stageStrategy ? .videoChat : .voiceChat))
    withExtendedLifetime(app) {}
  }

  @Test func categoryOfTheAppIsReplacedWhenTheSDKSetsItsOwn() async throws {
    try session.setCategory(.ambient)
    let app = try await startApp(.eventListener)
    await room.until("they hear each other") { anaIsHeard && beaIsHeard }
    #expect(session.category == .playAndRecord)
    withExtendedLifetime(app) {}
  }

  @Test func loudspeakerPlaysAtTheVolumeOfTheUser() async throws {
    let app = try await startApp(.meetingSession)
    await room.until("Ana hears Bea") { beaIsHeard }
    room.machine(of: "Ana").setOutputVolume(0)
    #expect(session.outputVolume == 0)
    await room.until("Ana's loudspeaker is silent") { room.speaker.isSilent }
    room.machine(of: "Ana").setOutputVolume(0.5)
    await room.until("Ana hears Bea again") { beaIsHeard }
    room.machine(of: "Ana").setOutputMuted(true)
    await room.until("the mute switch silences her loudspeaker") { room.speaker.isSilent }
    #expect(session.outputVolume == 0.5)
    room.machine(of: "Ana").setOutputMuted(false)
    await room.until("Ana hears Bea again") { beaIsHeard }
    withExtendedLifetime(app) {}
  }
}
