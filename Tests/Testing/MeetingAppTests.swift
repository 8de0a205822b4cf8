import KoineTesting
import XCTest

/// A meeting app's own tests, in XCTest with `async`.
@MainActor
final class MeetingAppTests: XCTestCase {
  func testAnaMeetsBea() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), network: "loss=2%")
    let pass = try room.credential(.meetingSession, for: "Ana")
    let app = try MeetingApp(
      createMeeting: Data(pass.createMeetingJSON.utf8), createAttendee: Data(pass.createAttendeeJSON.utf8))
    try app.start()
    let bea = try await room.join("Bea")
    await room.until("Ana sees Bea and herself") { Set(room.screen(app.view).names) == ["Ana", "Bea"] }
    await room.until("they hear each other") { room.speaker.hears("Bea") && bea.hears("Ana") }
    XCTAssertEqual(app.log, ["connecting", "started"])
    XCTAssertEqual(app.attendees, ["ana", "bea"])
    try app.sendMessage("hello")
    try bea.send("hello, Ana")
    bea.mute()
    await room.until("messages have come") { bea.texts == ["hello"] && app.log.contains("chat hello, Ana") }
    await room.until("Ana is told that Bea is muted") { app.log.contains("muted bea") }
    bea.leave()
    await room.until("Bea has gone") { app.attendees == ["ana"] && room.screen(app.view).names == ["Ana"] }
    app.stop()
    await room.until("the meeting has ended") { app.log.last == "stopped ok" }
  }
}
