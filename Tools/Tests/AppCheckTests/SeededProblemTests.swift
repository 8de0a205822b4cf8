import AppCheck
import Foundation
import Testing

/// Problems of all kinds, each put into a line of a reference app: `koine check` finds each, at its line, and nothing else.
@Suite struct SeededProblemTests {
  struct Seed: Sendable, CustomTestStringConvertible {
    let app, file, anchor, code, finding: String
    var testDescription: String { code }

    /// - Parameters:
    ///   - anchor: a text of the line behind which the code is put.
    ///   - finding: a part of the message.
    init(_ app: String, _ file: String, after anchor: String, _ code: String, _ finding: String) {
      (self.app, self.file, self.anchor, self.code, self.finding) = (app, file, anchor, code, finding)
    }
  }

  private static let stage = "  func leave() {"
  private static let azure = "  func leave() {"
  private static let chime = "  func leave() {"
  private static let video = "  func leave() {"
  private static let screen = "    super.viewDidLoad()"

  static let seeds: [Seed] = [
    // Members that a vendor's type does not have, by receivers of all forms.
    Seed("stage-strategy", "StageModel.swift", after: stage, "    stage?.leaveStage()", "IVSStage has no 'leaveStage'"),
    Seed("stage-strategy", "StageModel.swift", after: stage, "    devices.camera?.zoom(2)", "IVSCamera has no 'zoom'"),
    Seed(
      "stage-strategy", "StageModel.swift", after: stage, "    participants.first?.kick()",
      "IVSParticipantInfo has no 'kick'"),
    Seed(
      "stage-strategy", "StageModel.swift", after: stage, "    for one in participants { one.ban() }",
      "IVSParticipantInfo has no 'ban'"),
    Seed(
      "stage-strategy", "StageModel.swift", after: stage, "    streams.values.forEach { $0.first?.pause() }",
      "IVSStageStream has no 'pause'"),
    Seed(
      "stage-strategy", "StageModel.swift", after: stage, "    if let held = self.stage { held.finish() }",
      "IVSStage has no 'finish'"),
    Seed(
      "stage-strategy", "StageModel.swift", after: stage,
      "    let all: Dictionary<String, IVSStage> = [:]; all[\"a\"]?.finish()", "IVSStage has no 'finish'"),
    Seed(
      "stage-strategy", "StageModel.swift", after: stage,
      "    let some: Array<AmazonIVSBroadcast.IVSStage> = []; some.last?.end()", "IVSStage has no 'end'"),
    Seed(
      "stage-strategy", "LocalDevices.swift", after: "  init() {",
      "    IVSStageAudioManager.sharedInstance().setVolume(3)", "IVSStageAudioManager has no 'setVolume'"),
    Seed("call-agent", "CallModel.swift", after: azure, "    call?.muteEveryone()", "Call has no 'muteEveryone'"),
    Seed(
      "call-agent", "CallModel.swift", after: azure, "    call?.remoteParticipants.first?.videoStreams.first?.freeze()",
      "RemoteVideoStream has no 'freeze'"),
    Seed(
      "call-agent", "CallModel.swift", after: azure, "    incomingCall?.callerInfo.phone()", "CallerInfo has no 'phone'"
    ),
    Seed("call-agent", "CallModel.swift", after: azure, "    agent?.calls.map { $0.renew() }", "Call has no 'renew'"),
    Seed(
      "meeting-session", "CallModel.swift", after: chime, "    audioVideo.pauseAll()",
      "AudioVideoFacade has no 'pauseAll'"),
    Seed(
      "meeting-session", "CallModel.swift", after: chime, "    session.configuration.renew()",
      "MeetingSessionConfiguration has no 'renew'"),
    Seed("event-listener", "CallModel.swift", after: video, "    meeting?.muteAll()", "Meeting has no 'muteAll'"),
    Seed(
      "event-listener", "CallModel.swift", after: video, "    meeting?.localParticipant.promote()",
      "Participant has no 'promote'"),
    Seed(
      "event-listener", "CallModel.swift", after: video, "    remoteParticipants[0].demote()",
      "Participant has no 'demote'"),
    Seed("event-listener", "CallModel.swift", after: video, "    VideoSDK.prepare()", "VideoSDK has no 'prepare'"),
    // Symbols that cannot be had.
    Seed("call-agent", "CallModel.swift", after: azure, "    _ = BackgroundBlurEffect()", "BackgroundBlurEffect"),
    Seed("call-agent", "CallModel.swift", after: azure, "    _ = TeamsCallAgentOptions()", "TeamsCallAgentOptions"),
    Seed("call-agent", "CallModel.swift", after: azure, "    _ = EmergencyCallOptions()", "EmergencyCallOptions"),
    Seed(
      "meeting-session", "CallModel.swift", after: chime, "    _ = BackgroundBlurConfiguration()",
      "BackgroundBlurConfiguration"),
    Seed(
      "event-listener", "CallModel.swift", after: video, "    meeting?.startWhiteboard()", "Meeting.startWhiteboard()"),
    Seed(
      "event-listener", "CallModel.swift", after: video, "    let blur: VideoSDKBackgroundProcessor? = nil",
      "VideoSDKBackgroundProcessor"),
    // Vendor types that no catalogue has.
    Seed("stage-strategy", "StageModel.swift", after: stage, "    _ = IVSStagePlanner()", "IVSStagePlanner"),
    // Types and members of Apple's that are not here.
    Seed(
      "stage-strategy", "CallViewController.swift", after: screen, "    view.addSubview(UIVisualEffectView())",
      "UIVisualEffectView"),
    Seed(
      "event-listener", "CallViewController.swift", after: screen, "    let picker = UIPickerView(frame: .zero)",
      "UIPickerView"),
    Seed(
      "meeting-session", "CallViewController.swift", after: screen, "    let layer: AVCaptureVideoPreviewLayer? = nil",
      "AVCaptureVideoPreviewLayer"),
    Seed(
      "meeting-session", "CallViewController.swift", after: screen, "    setNeedsUpdateOfHomeIndicatorAutoHidden()",
      "setNeedsUpdateOfHomeIndicatorAutoHidden"),
    Seed(
      "stage-strategy", "CallViewController.swift", after: screen, "    self.splitViewController?.show()",
      "splitViewController"),
    Seed(
      "call-agent", "CallViewController.swift", after: screen,
      "    statusLabel.allowsDefaultTighteningForTruncation = true", "allowsDefaultTighteningForTruncation"),
    Seed(
      "event-listener", "CallViewController.swift", after: screen, "    view.layer.filters = []",
      "CALayer has no 'filters'"),
    // Callbacks that are never called.
    Seed(
      "stage-strategy", "StageModel.swift", after: "extension StageModel: IVSStageRenderer {",
      "  func stage(_ stage: IVSStage, participantDidJoined participant: IVSParticipantInfo) {}", "is not called"),
    Seed(
      "meeting-session", "CallModel.swift", after: "  // MARK: Joining and leaving",
      "  func audioSessionDidStart(isReconnecting: Bool) {}", "is not called"),
    Seed(
      "event-listener", "CallModel.swift", after: "  // MARK: Joining and leaving",
      "  func onMeetingJoined(meeting: Meeting) {}", "is not called"),
    // What Linux does not have.
    Seed("call-agent", "CallModel.swift", after: "import Foundation", "import SwiftUI", "import SwiftUI"),
    Seed("meeting-session", "CallModel.swift", after: "import Combine", "import Metal", "import Metal"),
    Seed("stage-strategy", "StageModel.swift", after: stage, "    let path = #keyPath(IVSStage.strategy)", "#keyPath"),
    Seed(
      "event-listener", "CallViewController.swift", after: screen,
      "    let board = UIStoryboard(name: \"Main\", bundle: nil)", "UIStoryboard"),
  ]

  private func sources(of app: String) throws -> [(path: String, source: String)] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let folder = root.appendingPathComponent("Samples/apps/" + app)
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }.sorted()
      .map { ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)) }
  }

  @Test func thereAreFortySeeds() { #expect(Self.seeds.count == 40) }

  @Test(arguments: ["call-agent", "event-listener", "meeting-session", "stage-strategy"])
  func referenceAppHasNoProblem(app: String) throws {
    let check = AppCheck(AppSources(sources: try sources(of: app)), path: app)
    #expect(check.problems.map { "\($0.location): \($0.what)" } == [])
  }

  @Test(arguments: seeds) func seededProblemIsFoundAtItsLineAndNoOther(seed: Seed) throws {
    var sources = try sources(of: seed.app)
    let number = try #require(sources.firstIndex { $0.path == seed.file })
    var lines = sources[number].source.components(separatedBy: "\n")
    let line = try #require(lines.firstIndex { $0.contains(seed.anchor) }) + 1
    lines.insert(seed.code, at: line)
    sources[number].source = lines.joined(separator: "\n")
    let check = AppCheck(AppSources(sources: sources), path: seed.app)
    #expect(Set(check.problems.map { "\($0.location.file):\($0.location.line)" }) == ["\(seed.file):\(line + 1)"])
    #expect(check.problems.contains { $0.what.contains(seed.finding) }, "\(check.problems.map(\.what))")
  }
}
