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

  @Test func aFailureLeavesAPicture() async throws {
    let room = try await TestRoom()
    let view = try await picture(of: "Ana", in: room)
    #expect(room.screen(view).shows("Ana"))
    await withKnownIssue { _ = await room.until("what never is", within: .seconds(1)) { false } }
    let folder = FileManager.default.currentDirectoryPath + "/.build/screens"
    let name = "aFailureLeavesAPicture---\(room.id.suffix(4))-screen1.png"
    let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
    #expect(data.starts(with: [0x89, 0x50, 0x4E, 0x47]))
  }

  @Test func longNamesAreToldApart() async throws {
    let room = try await TestRoom(media: .stamps)
    let one = try await room.join("Participant One")
    let two = try await room.join("Participant Two")
    await room.until { one.sees("Participant Two") && two.sees("Participant One") && one.hears("Participant Two") }
    #expect(!one.sees("Participant One"))
  }
}
