import AmazonIVSBroadcast
import Foundation
import KoineTesting
import Testing

/// What is drawn is read, and nothing else.
@MainActor
@Suite struct ScreenTests {
  private func picture(of name: String, in room: TestRoom) async throws -> VideoView {
    let view = VideoView(frame: CGRect(x: 0, y: 0, width: 320, height: 180))
    let camera = try Devices.camera("stamp:\(name),320x180@30")
    try camera.start(on: Scheduler.real.lane("camera")) { view.render($0) }
    await Task.yield()
    while view.lastFrame == nil { await Task.yield() }
    camera.stop()
    return view
  }

  @Test func whatIsHiddenCoveredOrTooSmallIsNotThere() async throws {
    let room = try await TestRoom()
    let screen = UIView(frame: CGRect(x: 0, y: 0, width: 640, height: 180))
    let (ana, bea) = (try await picture(of: "Ana", in: room), try await picture(of: "Bea", in: room))
    bea.frame.origin.x = 320
    screen.addSubview(ana)
    screen.addSubview(bea)
    #expect(room.screen(screen).names == ["Ana", "Bea"] && room.screen(screen).count == 2)
    #expect(room.screen(screen).size(of: "Ana") == CGSize(width: 320, height: 180))
    #expect(room.screen(screen).shows("Ana", newerThan: .zero) && !room.screen(screen).shows("Cleo"))

    ana.isHidden = true
    #expect(room.screen(screen).names == ["Bea"])
    ana.isHidden = false
    let cover = UIView(frame: CGRect(x: 0, y: 60, width: 320, height: 60))
    cover.backgroundColor = .gray
    screen.addSubview(cover)
    #expect(room.screen(screen).names == ["Bea"])
    cover.removeFromSuperview()
    for mode in [UIView.ContentMode.scaleAspectFit, .scaleToFill] {
      ana.contentMode = mode
      ana.frame = CGRect(x: 0, y: 0, width: 160, height: 160)
      #expect(room.screen(screen).shows("Ana"), "\(mode)")
    }
    ana.frame = CGRect(x: 0, y: 0, width: 20, height: 12)
    #expect(room.screen(screen).names == ["Bea"])
  }

  /// As nearly every call screen has it: the tile is not 16:9, and the picture fills it.
  @Test(arguments: [(180, 180), (360, 360), (102, 180), (202, 360), (640, 200)])
  func aPictureThatFillsItsTileIsSeen(width: Int, height: Int) async throws {
    let room = try await TestRoom()
    let (ana, bea) = (try await picture(of: "Ana", in: room), try await picture(of: "Bea", in: room))
    for (view, number) in [(ana, 0), (bea, 1)] {
      view.contentMode = .scaleAspectFill
      view.frame = CGRect(x: number * width, y: 0, width: width, height: height)
    }
    let screen = UIView(frame: CGRect(x: 0, y: 0, width: 2 * width, height: height))
    screen.addSubview(ana)
    screen.addSubview(bea)
    #expect(room.screen(screen).names == ["Ana", "Bea"])
    // A few points more are cut by the view around it.
    let tile = UIView(frame: CGRect(x: 0, y: 0, width: width - 6, height: height - 6))
    tile.addSubview(ana)
    ana.frame.origin = CGPoint(x: -3, y: -3)
    screen.insertSubview(tile, at: 0)
    #expect(room.screen(screen).names == ["Ana", "Bea"])
    bea.frame.origin = ana.frame.origin
    tile.addSubview(bea)
    #expect(room.screen(screen).names == ["Bea"], "what is covered is not seen, although the app has been given it")
  }

  @Test func aFailureSaysWhatWasThereAndSavesIt() async throws {
    let room = try await TestRoom()
    try await room.join("Cleo")
    let (ana, bea) = (try await picture(of: "Ana", in: room), try await picture(of: "Bea", in: room))
    let view = UIView(frame: CGRect(x: 0, y: 0, width: 380, height: 180))
    bea.contentMode = .scaleAspectFill
    bea.frame = CGRect(x: 320, y: 0, width: 60, height: 180)
    view.addSubview(ana)
    view.addSubview(bea)
    #expect(room.screen(view).names == ["Ana"])
    let messages = Lock<[String]>([])
    await withKnownIssue {
      await room.until("what never is", within: .seconds(1)) { false }
    } matching: { issue in
      messages.withLock { $0 += issue.comments.map(\.rawValue) }
      return true
    }
    let message = try #require(messages.withLock { $0.first })
    for words in [
      "what never is has not come about within 1.0 seconds", "Screen 1 shows Ana (#",
      "Bea's picture is there, but cut",
      "Heard: nobody.", "In the room: Cleo.", "Told last: ", "Cleo: connected",
    ] { #expect(message.contains(words), "\(message)") }
    let labels = room.labelled(view)
    let pixels = (0..<60).compactMap { labels.color(x: 2 + $0, y: 4) }
    #expect(
      pixels.contains { $0 == (255, 255, 255) } && pixels.contains { $0 == (255, 0, 0) }, "written over Ana's picture")
    let path = try #require(message.split(separator: " ").last.map(String.init))
    #expect(path.contains("ScreenTests-aFailureSaysWhatWasThereAndSavesIt"), "\(path)")
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(data.starts(with: [0x89, 0x50, 0x4E, 0x47]))
  }

  @Test func aTestThatCannotGoOnThrows() async throws {
    let room = try await TestRoom()
    await withKnownIssue {
      await #expect(throws: TestRoomTimeout.self) { try await room.require("nobody comes") { false } }
    }
    #expect(room.now - room.start < .seconds(1), "nothing in the room can change any more")
  }

  @Test func aPersonStaysWithoutAVariableAndCannotComeTwice() async throws {
    let room = try await TestRoom()
    try await room.join("Bea")
    let ana = try await room.join("Ana")
    await room.run(for: .seconds(5))
    #expect(ana.others == ["Bea"] && ana.sees("Bea"))
    let error = await #expect(throws: SessionError.self) { try await room.join("Bea") }
    #expect(error?.code == .alreadyJoined)
    ana.leave()
    let again = try await room.join("Ana")
    await room.run(for: .seconds(1))
    #expect(ana.isOut && again.isInRoom)
  }

  @Test func longNamesAreToldApart() async throws {
    let room = try await TestRoom(media: .stamps)
    let one = try await room.join("Participant One")
    let two = try await room.join("Participant Two")
    await room.until { one.sees("Participant Two") && two.sees("Participant One") && one.hears("Participant Two") }
    #expect(!one.sees("Participant One"))
  }
}

/// The stage's previews draw by their own aspect mode.
@MainActor @Suite struct PreviewScreenTests {
  @Test(arguments: [IVSBroadcastConfiguration.AspectMode.none, .fit, .fill])
  func aStagesPreviewIsSeenInTilesOfAllShapes(_ mode: IVSBroadcastConfiguration.AspectMode) async throws {
    let room = try await TestRoom()
    let view = try room.enter(as: "Ana") {
      let cameras = IVSDeviceDiscovery().listLocalDevices().compactMap { $0 as? any IVSCamera }
      return try #require(cameras.first).previewView(with: mode)
    }
    for (width, height) in [(320, 180), (320, 320), (180, 320), (362, 224)] {
      view.frame = CGRect(x: 0, y: 0, width: width, height: height)
      await room.until("seen in \(width)x\(height)") { room.screen(view).names == ["Ana"] }
    }
  }
}
