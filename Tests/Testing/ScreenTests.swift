import AmazonIVSBroadcast
import Foundation
import Koine
import KoineTesting
import Testing

/// `TestScreen` reads exactly the frames that are visible in a view.
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

  @Test func hiddenCoveredOrTooSmallFramesAreNotVisible() async throws {
    let room = try await TestRoom()
    let screen = UIView(frame: CGRect(x: 0, y: 0, width: 640, height: 180))
    let (ana, bea) = (try await picture(of: "Ana", in: room), try await picture(of: "Bea", in: room))
    bea.frame.origin.x = 320
    screen.addSubview(ana)
    screen.addSubview(bea)
    #expect(room.screen(screen).names == ["Ana", "Bea"])
    #expect(room.screen(screen).count == 2)
    #expect(room.screen(screen).size(of: "Ana") == CGSize(width: 320, height: 180))
    #expect(room.screen(screen).shows("Ana", newerThan: .zero))
    #expect(!room.screen(screen).shows("Cleo"))

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

  /// The tile of a usual call screen is not 16:9, and the video fills it.
  @Test(arguments: [(180, 180), (360, 360), (102, 180), (202, 360), (640, 200)])
  func frameThatFillsItsTileIsVisible(width: Int, height: Int) async throws {
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

  @Test func failureDescribesTheScreenAndSavesIt() async throws {
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
    #expect(path.contains("ScreenTests-failureDescribesTheScreenAndSavesIt"), "\(path)")
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(data.starts(with: [0x89, 0x50, 0x4E, 0x47]))
  }

  @Test func textsThatCanBeReadAreListedFromBackToFront() async throws {
    let room = try await TestRoom()
    let view = UIView(frame: CGRect(x: 0, y: 0, width: 320, height: 180))
    let (label, hidden, button) = (UILabel(), UILabel(), UIButton(type: .system))
    let (field, password) = (UITextField(), UITextField())
    (label.text, hidden.text, field.text, password.text) = ("In the call", "Reconnecting…", "Hello", "secret")
    button.setTitle("Mute", for: .normal)
    password.isSecureTextEntry = true
    let box = UIView()
    box.addSubview(hidden)
    box.isHidden = true
    let segments = UISegmentedControl(items: ["All", "Raised"])
    for part in [label, box, button, field, password, segments] { view.addSubview(part) }
    #expect(room.screen(view).texts == ["In the call", "Mute", "Hello", "All", "Raised"])
    box.isHidden = false
    #expect(room.screen(view).texts.contains("Reconnecting…"))
  }

  /// The text of an expectation that fails now.
  private func failure(in room: TestRoom) async throws -> String {
    let messages = Lock<[String]>([])
    await withKnownIssue {
      await room.until("what never is", within: .milliseconds(10)) { false }
    } matching: { issue in
      messages.withLock { $0 += issue.comments.map(\.rawValue) }
      return true
    }
    return try #require(messages.withLock { $0.first })
  }

  @Test func failureNamesScreensByTheirAppsAndFramesWithoutStamps() async throws {
    let room = try await TestRoom()
    let (view, other) = room.enter(as: "Ana") {
      (
        VideoView(frame: CGRect(x: 0, y: 0, width: 320, height: 180)),
        UIView(frame: CGRect(x: 0, y: 0, width: 9, height: 9))
      )
    }
    let camera = try Devices.camera("pattern:64x48@30")
    try camera.start(on: Scheduler.real.lane("camera")) { view.render($0) }
    while view.lastFrame == nil { await Task.yield() }
    camera.stop()
    #expect(room.screen(view).names.isEmpty)
    var message = try await failure(in: room)
    #expect(message.contains("Ana's screen shows a frame of 64x48 without a stamp."), "\(message)")
    #expect("\(room.screen(view).testDescription)" == "Ana's screen that shows a frame of 64x48 without a stamp")
    #expect(room.screen(other).count == 0)
    message = try await failure(in: room)
    #expect(message.contains("Ana's screen 2 shows no picture."), "\(message)")
  }

  @Test func failureNamesTheRoomWhereAnAppIsInstead() async throws {
    let (room, second) = (try await TestRoom(), try await TestRoom())
    let session = Session(JoinRequest(room: "tea", participantID: "ana", name: "Ana"), in: room.world(of: "Ana"))
    session.join { _ in }
    let lost = Session(JoinRequest(room: second.id, participantID: "cleo", name: "Cleo"), in: second.world(of: "Cleo"))
    lost.join { _ in }
    try await second.join("Dan")
    await room.until { session.state == .connected && lost.state == .connected }
    let message = try await failure(in: room)
    for words in [
      "In the room: nobody.", "Elsewhere: Ana in the room “tea”, while this room is “\(room.id)”.",
      "Cleo's app is in another test room, “\(second.id)”",
    ] { #expect(message.contains(words), "\(message)") }
    #expect(!message.contains("Dan"), "a participant of the test's own is meant to be there")
  }

  @Test func failureListsNetworkAndServerChanges() async throws {
    let room = try await TestRoom()
    try await room.join("Bea")
    room.cutNetwork(of: "Bea", for: .seconds(3))
    await room.run(for: .seconds(4))
    room.restoreNetwork()
    try room.setNetwork("loss=1%", of: "Bea")
    room.changeNetwork(of: "Bea")
    room.restartServer()
    let message = try await failure(in: room)
    for words in [
      "Bea: network cut for 3.0 seconds", "everybody: network restored", "Bea: network becomes “loss=1%”",
      "Bea: network address changed", "everybody: server restarted",
    ] { #expect(message.contains(words), "\(message)") }
  }

  @Test func failureNamesTheStampOfADisplayName() async throws {
    let room = try await TestRoom()
    try await room.join("Bea")
    _ = room.world(of: "Ana")
    let session = Session(
      JoinRequest(room: room.id, participantID: "ana", name: "Dr. Smith"), in: room.world(of: "Ana"))
    session.join { _ in }
    await room.until { session.state == .connected }
    let message = try await failure(in: room)
    #expect(message.contains("In the room: Bea, Dr. Smith (with the stamp and tone of Ana)."), "\(message)")
  }

  @Test func unmetRequirementThrows() async throws {
    let room = try await TestRoom()
    await withKnownIssue {
      await #expect(throws: TestRoomTimeout.self) { try await room.require("nobody comes") { false } }
    }
    #expect(room.now - room.start < .seconds(1), "nothing in the room can change any more")
  }

  @Test func participantStaysWithoutAVariableAndCannotJoinTwice() async throws {
    let room = try await TestRoom()
    try await room.join("Bea")
    let ana = try await room.join("Ana")
    await room.run(for: .seconds(5))
    #expect(ana.others == ["Bea"])
    #expect(ana.sees("Bea"))
    let error = await #expect(throws: Failure.self) { try await room.join("Bea") }
    #expect(error?.code == .alreadyJoined)
    ana.leave()
    let again = try await room.join("Ana")
    await room.run(for: .seconds(1))
    #expect(ana.isOut)
    #expect(again.isInRoom)
  }

  @Test func longNamesAreDistinguished() async throws {
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
  func stagePreviewIsVisibleInTilesOfAllShapes(_ mode: IVSBroadcastConfiguration.AspectMode) async throws {
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
