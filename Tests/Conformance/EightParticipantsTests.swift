import Dispatch
import Foundation
import Koine
import KoineConformanceDrivers
@testable import KoineConformanceKit
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import Testing
import VideoSDKRTC

/// One room with all four vendors' styles: eight participants, one minute, and after each action all eight see the
/// same. Media are stamps; with real codecs: `KOINE_ROUNDS=1 swift test --filter EightParticipantsTests`.
@MainActor
@Suite(.serialized)
struct EightParticipantsTests {
  nonisolated private static let isLong = ProcessInfo.processInfo.environment["KOINE_ROUNDS"] != nil

  /// Expected state of one participant, the same for every viewer.
  private struct Fact: Equatable {
    var isMuted = false
    var hasPicture = true
    var isSharing = false
  }

  /// The participants' actions so far, and the state that every app must show because of them.
  @MainActor
  private final class ExpectedRoom {
    let context: ScenarioContext
    let world: World
    private let venue: KoineEnvironment
    private(set) var present: [any Driver] = []
    private var facts: [String: Fact] = [:]
    private var said: [ObservedMessage] = []
    /// By participant id: the number of messages in `said` when the participant joined.
    private var came: [String: Int] = [:]
    private(set) var steps = 0

    init(isReal: Bool = EightParticipantsTests.isLong) {
      world = World(
        backend: EmbeddedBackend(virtual: 8),
        devices: DefaultDevices(camera: "stamp:Somebody,320x180@15", microphone: "tone", screen: "pattern:320x180@5"),
        stamps: isReal ? nil : StampedMedia())
      venue = KoineEnvironment(world, isVirtual: true)
      context = ScenarioContext("meeting", "listener", at: venue)
    }

    func join(_ name: String, _ style: Style) async throws -> any Driver {
      let driver = try await context.joined(name, style: style.rawValue)
      present.append(driver)
      facts[driver.id] = Fact()
      came[driver.id] = said.count
      try await settle("\(name) comes")
      return driver
    }

    func leave(_ driver: any Driver) async throws {
      driver.leave()
      present.removeAll { $0 === driver }
      facts[driver.id] = nil
      try await settle("\(driver.name) goes")
    }

    func mute(_ isMuted: Bool, _ drivers: any Driver...) async throws {
      for driver in drivers {
        driver.setMicrophoneMuted(isMuted)
        facts[driver.id]?.isMuted = isMuted
      }
      try await settle("\(drivers.map(\.name)) \(isMuted ? "mute" : "unmute")")
    }

    func camera(_ isOn: Bool, _ driver: any Driver) async throws {
      driver.setCameraOn(isOn)
      facts[driver.id]?.hasPicture = isOn
      try await settle("\(driver.name)'s camera is \(isOn ? "on" : "off")")
    }

    func share(_ isOn: Bool, _ driver: any Driver) async throws {
      driver.setSharing(isOn)
      facts[driver.id]?.isSharing = isOn
      try await settle("\(driver.name) \(isOn ? "shows" : "shows no longer") a screen")
    }

    func sendMessage(_ text: String, _ driver: any Driver) async throws {
      try driver.sendMessage(text, lifetime: nil)
      said.append(ObservedMessage(sender: driver.id, text: text))
      try await settle("\(driver.name) says \(text)")
    }

    /// Waits until all participants see the expected state, and checks that they still see it for a further 1.6 s.
    private func settle(_ what: String) async throws {
      steps += 1
      var wrong: [String] = []
      do {
        try await context.until(what, within: 3_000) {
          wrong = disagreements()
          return wrong.isEmpty
        }
      } catch {
        throw ScenarioContext.ConditionFailed(description: "\(what): \(wrong.joined(separator: "; "))")
      }
      let shown = drawn()
      try await context.always(what, for: 1_600) {
        wrong = disagreements()
        return wrong.isEmpty
      }
      for (pair, count) in drawn() where count - (shown[pair] ?? 0) < 8 {
        throw ScenarioContext.ConditionFailed(description: "\(what): \(pair) stands still")
      }
    }

    private func disagreements() -> [String] {
      present.flatMap { viewer -> [String] in
        var wrong: [String] = []
        let others = present.filter { $0 !== viewer }
        if Set(viewer.others.map(\.id)) != Set(others.map(\.id)) || viewer.others.count != others.count {
          wrong.append("\(viewer.name) knows \(viewer.others.map(\.id).sorted())")
        }
        for other in others {
          guard let seen = viewer.sees(other), let fact = facts[other.id] else { continue }
          let told = Fact(
            isMuted: seen.isMicrophoneMuted ?? fact.isMuted, hasPicture: seen.hasPicture, isSharing: seen.isSharing)
          if told != fact { wrong.append("\(viewer.name) of \(other.name): \(told), not \(fact)") }
          if seen.name != other.name { wrong.append("\(viewer.name) calls \(other.name) \(seen.name)") }
          if fact.hasPicture, (seen.width, seen.height) != (320, 180) {
            wrong.append("\(viewer.name) sees \(other.name) in \(seen.width)x\(seen.height)")
          }
        }
        if viewer.inexpressible[.messages] == nil {
          let due = said.dropFirst(came[viewer.id] ?? 0).filter { $0.sender != viewer.id }
          if viewer.heard != Array(due) { wrong.append("\(viewer.name) has heard \(viewer.heard)") }
        }
        return wrong
      }
    }

    /// Number of frames drawn so far, for each viewer and each remote participant with the camera on.
    private func drawn() -> [String: Int] {
      var counts: [String: Int] = [:]
      for viewer in present {
        for other in present where other !== viewer && facts[other.id]?.hasPicture == true {
          counts["\(other.name) at \(viewer.name)'s"] = viewer.sees(other)?.pictures ?? 0
        }
      }
      return counts
    }
  }

  @Test func eightParticipantsOfFourStylesSeeTheSameState() async throws {
    let room = ExpectedRoom()
    let ana = try await room.join("Ana", .callAgent)
    let ben = try await room.join("Ben", .stageStrategy)
    let cleo = try await room.join("Cleo", .meetingSession)
    let dan = try await room.join("Dan", .eventListener)
    let eva = try await room.join("Eva", .callAgent)
    let finn = try await room.join("Finn", .stageStrategy)
    let gil = try await room.join("Gil", .meetingSession)
    let hana = try await room.join("Hana", .eventListener)
    try await room.sendMessage("Good morning", cleo)
    try await room.sendMessage("Good morning, all", dan)
    try await room.share(true, gil)
    try await room.mute(true, ana, ben, hana)
    try await room.sendMessage("Is this my screen?", gil)
    try await room.camera(false, finn)
    try await room.mute(true, cleo)
    try await room.mute(false, ana)
    try await room.share(false, gil)
    try await room.share(true, dan)
    try await room.camera(false, eva)
    try await room.camera(true, finn)
    try await room.camera(false, gil)
    try await room.mute(false, ben, cleo)
    try await room.camera(true, eva)
    try await room.leave(ana)
    let ida = try await room.join("Ida", .callAgent)
    try await room.sendMessage("Hello, Ida", hana)
    try await room.share(false, dan)
    try await room.share(true, ida)
    try await room.camera(true, gil)
    try await room.mute(false, hana)
    try await room.leave(ben)
    try await room.sendMessage("I have to go as well", dan)
    try await room.leave(dan)
    try await room.leave(ida)
    #expect(room.present.count == 5)
    #expect(room.steps == 34)
    let rest = 60_000 - room.context.environment.now
    if rest > 0 { await room.context.run(milliseconds: rest) }
    #expect(room.context.environment.now >= 60_000)
    for driver in [cleo, eva, finn, gil] { try await room.leave(driver) }
    await room.context.close()
    for recorder in room.context.recorders {
      #expect(Law.violations(in: recorder.entries, isComplete: true).isEmpty, "\(recorder.who)")
    }
  }

  /// Records the states of recording and playlist.
  private final class ListenerRecorder: MeetingEventListener, @unchecked Sendable {  // on the main queue
    private(set) var told: [String] = []
    func onRecordingStateChanged(state: RecordingState) { told.append(state.rawValue) }
    func onHlsStateChanged(state: HLSState, hlsUrl: HLSUrl?) { told.append(state.rawValue) }
    func onError(error: VideoSDKError) { told.append("\(error)") }
  }

  /// Recording and playlist run at once, started by one participant of eight, with real codecs.
  @Test func roomOfFourStylesIsRecordedAndStreamed() async throws {
    MediaFiles.register()
    let folder = try Folder()
    let room = ExpectedRoom(isReal: true)
    let (world, seconds) = (room.world, Self.isLong ? 60 : 4)
    let styles: [Style] = [
      .callAgent, .stageStrategy, .meetingSession, .eventListener, .callAgent, .stageStrategy, .meetingSession,
    ]
    var people: [any Driver] = []
    for (number, style) in styles.enumerated() {
      let driver = try room.context.person("P\(number)", style: style.rawValue)
      try driver.join()
      people.append(driver)
    }
    let hana = VideoSDK.configured(token: "") {
      World.$current.withValue(world) {
        VideoSDK.initMeeting(meetingId: "tea", participantId: "hana", participantName: "Hana")
      }
    }
    let ear = ListenerRecorder()
    hana.addEventListener(ear)
    hana.join()
    await world.run(for: .seconds(1))
    people[6].setSharing(true)
    hana.startRecording(webhookUrl: "", awsDirPath: folder.path)
    hana.startHLS()
    await world.run(for: .seconds(3))
    try await room.context.until("it can be opened", within: 20_000) { hana.hlsState == .HLS_PLAYABLE }
    #expect(hana.recordingState == .RECORDING_STARTED)
    #expect(hana.participants.count == 7)
    let playlist = try #require(URL(string: hana.hlsUrls?.playbackHlsUrl ?? ""))
    defer { try? FileManager.default.removeItem(at: playlist.deletingLastPathComponent()) }
    await world.run(for: .seconds(seconds - 3))
    hana.stopRecording()
    hana.stopHLS()
    await world.run(for: .seconds(1))
    #expect(
      ear.told.filter { $0.hasPrefix("RECORDING") }
        == ["STARTING", "STARTED", "STOPPING", "STOPPED"].map { "RECORDING_" + $0 })
    #expect(ear.told.contains("HLS_PLAYABLE"))
    #expect(ear.told.last == "HLS_STOPPED")
    let film = try #require(folder.names.first { $0.hasSuffix(".webm") })
    for path in [folder.file(film), playlist.path] {
      let length = try await Command(
        "ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", path
      ).run()
      #expect(abs((Double(length.split(separator: "\n").first ?? "") ?? 0) - Double(seconds)) < 1, "\(path): \(length)")
      let errors = try await Command("sh", "-c", "ffmpeg -v error -i '\(path)' -f null - 2>&1").run()
      #expect(errors == "", "\(path): \(errors)")
    }
    hana.leave()
    await room.context.close()
  }
}
