import AmazonIVSBroadcast
import Combine
import KoineTesting
import Testing

@testable import StageStrategyApp

@MainActor
@Suite struct StageStrategyAppTests {
  // MARK: - Joining

  @Test(arguments: clocks) func joinedParticipantsReceiveEachOthersMediaUntilOneLeaves(clock: TestRoom.Time)
    async throws
  {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let app = App(in: room)
    #expect(app.message == "Enter the stage with your token.")
    try app.join()
    try await room.require("the call screen shows that Ana is on stage") { app.status == "On stage" }
    try await room.require("Ana sees Bea and herself") { app.pictures == ["Ana", "Bea"] }
    try await room.require("Bea sees Ana") { bea.sees("Ana") }
    try await room.require("Ana and Bea hear each other") { room.speaker.hears("Bea") && bea.hears("Ana") }
    #expect(Set(app.roster) == ["Ana", "Bea"])
    #expect(app.line(of: "Ana").contains("you"))
    #expect(bea.others == ["Ana"])
    #expect(app.notice == nil)

    try room.tap("Leave", in: app.screen.view)
    try await room.require("the join screen is back") { app.message == "You have left the stage." }
    #expect(app.pictures.isEmpty)
    try await room.require("Bea is alone, and Ana hears nothing") { bea.others.isEmpty && room.speaker.isSilent }

    try app.join()
    try await room.require("Ana and Bea meet again") { app.pictures == ["Ana", "Bea"] && bea.sees("Ana") }
  }

  @Test(arguments: clocks) func joiningAndLeavingParticipantsAreAddedAndRemoved(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let app = App(in: room)
    try app.join()
    try await room.require("Ana is alone") { app.roster == ["Ana"] && app.pictures == ["Ana"] }
    let bea = try await room.join("Bea")
    _ = try await room.join("Cleo", camera: nil)
    try await room.require("the roster has Bea and Cleo") { Set(app.roster) == ["Ana", "Bea", "Cleo"] }
    try await room.require("Bea has a tile, Cleo has none") { app.pictures == ["Ana", "Bea"] }
    try await room.require("Bea and Cleo are heard") { Set(room.speaker.heard) == ["Bea", "Cleo"] }
    #expect(app.line(of: "Cleo").contains("camera off"))
    bea.leave()
    try await room.require("Bea's line and tile are gone") {
      Set(app.roster) == ["Ana", "Cleo"] && app.pictures == ["Ana"]
    }
    try await room.require("only Cleo is heard") { room.speaker.heard == ["Cleo"] }
  }

  @Test(arguments: clocks) func refusedTokenIsExplainedAndAnotherTokenIsAccepted(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let app = App(in: room)
    app.screen.tokenText = "not a token"
    try room.tap("Join", in: app.screen.view)
    try await room.require("a malformed token is named") { app.message == "This is not a token for a stage." }

    try app.join(token: room.credential(.stageStrategy(lasting: -60), for: "Ana").token)
    try await room.require("an expired token is named") {
      app.message == "The token has expired. Ask the host for a new one."
    }

    room.refuse("Ana", .credential)
    try app.join()
    try await room.require("a refused token is named") {
      app.message == "The host does not let you in, or has removed you."
    }
    room.refuse("Ana", nil)

    room.limitParticipants(to: 1)
    try app.join()
    try await room.require("a full stage is named") { app.message == "The stage is full." }
    room.limitParticipants(to: nil)
    #expect(bea.others.isEmpty)

    try room.tap("Rejoin", in: app.screen.view)
    try await room.require("Ana is in at last") { app.status == "On stage" && bea.sees("Ana") }
  }

  // MARK: - Microphone and camera

  @Test(arguments: clocks) func mutedParticipantIsMarkedAndNotAnActiveSpeaker(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let cleo = try await room.join("Cleo", camera: nil)
    let app = App(in: room)
    try app.join()
    try await room.require("a participant is marked as speaker") { app.speakers.count == 1 }
    try await room.require("Ana is heard") { bea.hears("Ana") && cleo.hears("Ana") }

    bea.mute()
    try await room.require("Bea is marked as muted, and Cleo speaks") {
      app.line(of: "Bea").contains("muted") && app.speakers == ["Cleo"] && room.speaker.heard == ["Cleo"]
    }
    bea.unmute()
    cleo.mute()
    try await room.require("Cleo is marked as muted, and Bea speaks") {
      app.line(of: "Cleo").contains("muted") && app.speakers == ["Bea"] && room.speaker.heard == ["Bea"]
    }
    #expect(!app.line(of: "Bea").contains("muted"))
    bea.mute()
    try await room.require("the stage is quiet") { app.speakers.isEmpty && room.speaker.isSilent }

    try room.tap("Mute", in: app.screen.view)
    try await room.require("Ana is marked as muted, and silent") {
      app.line(of: "Ana").contains("muted") && app.call.muteLabel.text == "Unmute" && !bea.hears("Ana")
    }
    try room.tap("Mute", in: app.screen.view)
    try await room.require("Ana is heard again") {
      !app.line(of: "Ana").contains("muted") && app.call.muteLabel.text == "Mute" && bea.hears("Ana")
    }
  }

  @Test(arguments: clocks) func cameraTurnedOffRemovesItsTile(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let app = App(in: room)
    try app.join()
    try await room.require("Ana and Bea see each other") { app.pictures == ["Ana", "Bea"] && bea.sees("Ana") }

    bea.turnCameraOff()
    try await room.require("Bea's picture is gone") {
      app.pictures == ["Ana"] && app.line(of: "Bea").contains("camera off")
    }
    bea.turnCameraOn()
    try await room.require("Bea's picture is back") {
      app.pictures == ["Ana", "Bea"] && !app.line(of: "Bea").contains("camera off")
    }

    try room.tap("Camera", in: app.screen.view)
    try await room.require("Ana's picture is gone") {
      app.pictures == ["Bea"] && app.line(of: "Ana").contains("camera off") && !bea.sees("Ana")
    }
    try room.tap("Camera", in: app.screen.view)
    try await room.require("Ana's picture is back") { app.pictures == ["Ana", "Bea"] && bea.sees("Ana") }

    try room.tap("Flip", in: app.screen.view)
    try await room.require("the back camera is chosen") { app.call.cameraLabel.text == "Back camera" }
    let switched = room.now
    try await room.require("Bea sees the back camera") { bea.sees("Ana", newerThan: switched) }
    try room.tap("Flip", in: app.screen.view)
    try await room.require("the front camera is chosen") { app.call.cameraLabel.text == "Front camera" }
  }

  @Test(arguments: clocks) func deniedCameraIsExplainedAndAudioContinues(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    room.machine(of: "Ana").setPermission(.denied, .camera)
    let bea = try await room.join("Bea")
    let app = App(in: room)
    #expect(app.screen.hintLabel.text == "Allow the camera in Settings to be seen.")
    try app.join()
    try await room.require("Ana and Bea hear each other") { room.speaker.hears("Bea") && bea.hears("Ana") }
    #expect(app.notice == "Allow the camera in Settings to be seen.")
    try await room.require("only Bea is seen") { app.pictures == ["Bea"] && !bea.sees("Ana") }
  }

  // MARK: - Shares

  @Test(arguments: clocks) func sharedScreenIsShownOnBothSides(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let app = App(in: room)
    try app.join()
    try await room.require("Ana and Bea see each other") { app.pictures == ["Ana", "Bea"] && bea.sees("Ana") }

    try bea.share()
    try await room.require("Bea's share is beside her camera") { app.pictures == ["Ana", "Bea", "Bea"] }
    #expect(app.line(of: "Bea").contains("sharing"))
    bea.stopSharing()
    try await room.require("Bea's share is gone") {
      app.pictures == ["Ana", "Bea"] && !app.line(of: "Bea").contains("sharing")
    }

    let camera = pictures(of: "Ana", at: bea)
    try room.tap("Share", in: app.screen.view)
    try await room.require("Ana's screen is in her camera's place") {
      pictures(of: "Ana", at: bea).count == 1 && pictures(of: "Ana", at: bea) != camera
    }
    let view = VideoView(frame: CGRect(x: 0, y: 0, width: 160, height: 90))
    for id in pictures(of: "Ana", at: bea) { bea.session?.attach(view, to: id) }
    try await room.require("Bea sees the screen, which is white, and Ana's camera no more") {
      (view.snapshot().color(x: 80, y: 45)?.green ?? 0) > 200 && !bea.sees("Ana")
    }
    try await room.require("Ana is marked as sharing") {
      app.line(of: "Ana").contains("sharing") && app.call.shareLabel.text == "Stop sharing"
    }
    try room.tap("Share", in: app.screen.view)
    let stopped = room.now
    try await room.require("Bea sees Ana's camera again") { bea.sees("Ana", newerThan: stopped) }
    try await room.require("Ana sees her camera again") { app.pictures == ["Ana", "Bea"] }
    #expect(app.recorder.isCapturing == false)
  }

  // MARK: - Trouble and ends

  @Test(arguments: clocks) func serverRestartIsShownAndRecovered(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let app = App(in: room)
    try app.join()
    try await room.require("Ana and Bea see each other") { app.pictures == ["Ana", "Bea"] && bea.sees("Ana") }

    let restarted = room.now
    room.restartServer()
    try await room.require("the app has been reconnecting and is on stage again") {
      app.statuses.contains("Reconnecting…") && app.status == "On stage"
    }
    try await room.require("Ana and Bea see each other again") {
      app.shows("Bea", newerThan: restarted) && bea.sees("Ana", newerThan: restarted)
    }
    try await room.require("Ana and Bea hear each other again") { room.speaker.hears("Bea") && bea.hears("Ana") }
    try await room.require("nothing is there twice") {
      app.roster.sorted() == ["Ana", "Bea"] && app.pictures == ["Ana", "Bea"]
    }
    try await room.require("no notice stays") { app.notice == nil }
  }

  @Test(arguments: clocks) func appInTheBackgroundPlaysAudioAndPublishesNothing(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let app = App(in: room)
    try app.join()
    try await room.require("Ana and Bea meet") { app.pictures == ["Ana", "Bea"] && bea.hears("Ana") }

    room.machine(of: "Ana").moveToBackground()
    try await room.require("Ana is neither seen nor heard") { !bea.sees("Ana") && !bea.hears("Ana") }
    try await room.require("Ana still hears Bea") { room.speaker.hears("Bea") }
    room.machine(of: "Ana").returnToForeground()
    try await room.require("Ana is seen and heard again") { bea.sees("Ana") && bea.hears("Ana") }
    try await room.require("Ana sees Bea again") { app.pictures == ["Ana", "Bea"] }
  }

  @Test(arguments: clocks) func removedParticipantIsShownTheReason(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let app = App(in: room)
    try app.join()
    try await room.require("Ana is on stage") { bea.sees("Ana") }
    room.remove("Ana")
    try await room.require("the join screen gives the reason") {
      app.message == "The host does not let you in, or has removed you."
    }
    try await room.require("Bea is alone, and Ana hears nothing") { bea.others.isEmpty && room.speaker.isSilent }
    #expect(app.pictures.isEmpty)

    try room.tap("Rejoin", in: app.screen.view)
    try await room.require("Ana is on stage again") { bea.sees("Ana") }
    room.close()
    try await room.require("the join screen tells of the end") { app.message == "The host has closed the stage." }
    try await room.require("Bea is out, too") { bea.isOut }
  }
}

// MARK: - Helpers

/// Ana's app, as she sees it.
@MainActor
private final class App {
  let screen: JoinViewController
  let recorder = StillScreen()
  private(set) var statuses: [String] = []
  private let room: TestRoom
  private var subscription: AnyCancellable?

  init(in room: TestRoom) {
    self.room = room
    let recorder = recorder
    let model = room.enter(as: "Ana") { StageModel(recorder: recorder) }
    screen = room.enter(as: "Ana") { JoinViewController(model: model) }
    room.enter(as: "Ana") { screen.loadViewIfNeeded() }
    subscription = model.$phase.sink { [weak self] in self?.statuses.append($0.text) }
  }

  /// - Parameter token: nil: what the app's own server answers.
  func join(token: String? = nil) throws {
    let answer = try room.answer(toAppOf: .stageStrategy, for: "Ana").text(forAppOf: .stageStrategy)
    screen.tokenText = token ?? answer
    try room.tap("Join", in: screen.view)
  }

  var call: CallViewController { screen.callScreen }
  var message: String? { screen.isInCall ? nil : screen.messageLabel.text }
  var status: String? { screen.isInCall ? call.statusLabel.text : nil }
  var notice: String? { call.noticeLabel.text }
  var pictures: [String] { room.screen(screen.view).names.sorted() }
  func shows(_ name: String, newerThan time: Tick) -> Bool { room.screen(screen.view).shows(name, newerThan: time) }

  /// The names, without their marks.
  var roster: [String] { call.roster.lines.map { String($0.prefix { $0 != " " }) } }
  func line(of name: String) -> String { call.roster.lines.first { $0.hasPrefix(name) } ?? "" }
  var speakers: [String] { roster.filter { line(of: $0).contains("speaking") } }
}

/// The camera tracks of a participant that another one receives.
private func pictures(of name: String, at person: Person) -> [Track.ID] {
  person.participant(name)?.tracks.filter { $0.kind == .camera }.map(\.id) ?? []
}

/// A white screen on which nothing moves.
private final class StillScreen: ScreenRecorder {
  private(set) var isCapturing = false

  func startCapture(handler: @escaping (CMSampleBuffer) -> Void) {
    isCapturing = true
    var created: CVPixelBuffer?
    _ = CVPixelBufferCreate(nil, 640, 360, kCVPixelFormatType_32BGRA, nil, &created)
    guard let picture = created else { return }
    CVPixelBufferLockBaseAddress(picture, [])
    if let pixels = CVPixelBufferGetBaseAddress(picture) {
      memset(pixels, 0xff, CVPixelBufferGetBytesPerRow(picture) * CVPixelBufferGetHeight(picture))
    }
    CVPixelBufferUnlockBaseAddress(picture, [])
    handler(CMSampleBuffer(imageBuffer: picture, presentationTimeStamp: .zero))
  }

  func stopCapture() {
    isCapturing = false
  }
}
