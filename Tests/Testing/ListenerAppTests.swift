import KoineTesting
import XCTest

/// A listener app's own tests, in XCTest without `async`: the main thread serves the main queue while it waits. (A test
/// class for such tests bears no `@MainActor` on Linux.)
final class ListenerAppTests: XCTestCase {
  func testAnaMeetsBea() throws {
    try MainActor.assumeIsolated {
      let room = try TestRoom(clock: .virtual(seed: 7), network: "loss=2%")
      let bea = try room.join("Bea")
      let pass = try room.credential(.eventListener, for: "Ana")
      let app = ListenerApp(meetingID: pass.meetingID, participantID: pass.participantID)
      app.join()
      room.until("Ana sees Bea and herself") { Set(room.screen(app.view).names) == ["Ana", "Bea"] }
      room.until("they hear each other") { room.speaker.hears("Bea") && bea.hears("Ana") }
      XCTAssertEqual(app.log, ["joined", "+Bea"])
      bea.turnCameraOff()
      room.until("Bea's picture is gone") { room.screen(app.view).names == ["Ana"] }
      bea.leave()
      room.until("Bea has gone") { app.log.last == "-Bea" }
      app.leave()
      room.until("the meeting has been left") { app.log.last == "left" }
    }
  }

  /// Expectations are waited for in the room's time, too, as long as the room goes on meanwhile.
  func testAnExpectationIsFulfilled() throws {
    try MainActor.assumeIsolated {
      let room = try TestRoom(media: .stamps)
      let pass = try room.credential(.eventListener, for: "Ana")
      let app = ListenerApp(meetingID: pass.meetingID, participantID: pass.participantID)
      let joined = expectation(description: "joined")
      app.onJoined = { joined.fulfill() }
      app.join()
      room.run(for: .seconds(2))
      wait(for: [joined], timeout: 1)
      app.leave()
      room.until { app.log.last == "left" }
    }
  }
}
