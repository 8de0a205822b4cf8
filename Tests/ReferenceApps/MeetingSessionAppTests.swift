import Foundation
import KoineTesting
@testable import MeetingSessionApp
import Testing

@MainActor @Suite struct MeetingSessionAppTests {
  @Test(arguments: clocks) func appAndRemoteParticipantSeeAndHearEachOther(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = Phone(of: "Ana", in: room)
    try await ana.join()
    await room.until("the app shows Bea and its own picture") { ana.screen.shows("Bea") && ana.screen.shows("Ana") }
    await room.until("the app plays Bea") { ana.hears("Bea") }
    await room.until("Bea sees and hears Ana") { bea.sees("Ana") && bea.hears("Ana") }
    #expect(ana.shows("Microphone on, front camera on"))
  }

  @Test(arguments: clocks) func rosterFollowsArrivalsAndDepartures(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = Phone(of: "Ana", in: room)
    try await ana.join()
    await room.until("the roster has Ana and Bea") { Set(ana.roster) == ["Ana", "Bea"] }
    #expect(ana.marks(of: "Ana").contains("you"))
    let cleo = try await room.join("Cleo")
    await room.until("the roster has Cleo") { ana.roster.contains("Cleo") && ana.screen.shows("Cleo") }
    bea.leave()
    await room.until("Bea is off the roster") { Set(ana.roster) == ["Ana", "Cleo"] && !ana.screen.shows("Bea") }
    cleo.leave()
    await room.until("the roster has Ana alone") { ana.roster == ["Ana"] }
  }

  @Test(arguments: clocks) func mutedAndSpeakingParticipantsAreMarkedInRoster(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = Phone(of: "Ana", in: room)
    try await ana.join()
    try await room.require("sound goes both ways") { ana.hears("Bea") && bea.hears("Ana") }

    try ana.tap("Mute")
    await room.until("Bea does not hear Ana") { !bea.hears("Ana") }
    await room.until("the roster marks Ana") { ana.marks(of: "Ana").contains("muted") }
    #expect(ana.shows("Microphone off, front camera on"))
    await room.until("the roster marks Bea as speaking") { ana.marks(of: "Bea") == ["speaking"] }
    bea.mute()
    await room.until("the roster marks Bea") { ana.marks(of: "Bea").contains("muted") && !ana.hears("Bea") }
    await room.until("the roster marks no participant as speaking") {
      ana.marks(of: "Bea") == ["muted"] && ana.marks(of: "Ana") == ["you", "muted"]
    }

    try ana.tap("Mute")
    await room.until("Bea hears Ana again") { bea.hears("Ana") && ana.marks(of: "Ana") == ["you", "speaking"] }
    bea.unmute()
    await room.until("the app plays Bea again") { ana.hears("Bea") && !ana.marks(of: "Bea").contains("muted") }
  }

  @Test(arguments: clocks) func cameraIsTurnedOffAndOnAndSwitched(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = Phone(of: "Ana", in: room)
    try await ana.join()
    try await room.require("pictures go both ways") { ana.screen.shows("Bea") && bea.sees("Ana") }

    try ana.tap("Camera")
    await room.until("Ana is not seen") { !bea.sees("Ana") && !ana.screen.shows("Ana") }
    await room.until("the camera is shown as off") { ana.shows("Microphone on, camera off") }
    try ana.tap("Camera")
    await room.until("Ana is seen again") { bea.sees("Ana") && ana.screen.shows("Ana") }

    try ana.tap("Flip")
    await room.until("the back camera is in use") { ana.shows("Microphone on, back camera on") }
    let switched = room.now
    await room.until("pictures go on") { bea.sees("Ana", newerThan: switched) }

    bea.turnCameraOff()
    await room.until("Bea's tile is gone") { !ana.screen.shows("Bea") && !ana.tiles.contains("Bea") }
    bea.turnCameraOn()
    await room.until("Bea's tile is back") { ana.screen.shows("Bea") && ana.tiles.contains("Bea") }
  }

  @Test(arguments: clocks) func sharedScreensAreShownOnBothSides(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea", camera: nil)
    let ana = Phone(of: "Ana", in: room)
    let dan = Phone(of: "Dan", in: room)
    try await ana.join(withCamera: false)
    try await dan.join(withCamera: false)

    try bea.share()
    await room.until("Bea's screen is shown") { ana.tiles.contains("Bea's screen") && ana.screen.shows("Bea") }
    await room.until("the roster marks Bea") { ana.marks(of: "Bea").contains("sharing") }
    #expect(Set(ana.roster) == ["Ana", "Bea", "Dan"])
    bea.stopSharing()
    await room.until("Bea's screen is gone") { ana.tiles.isEmpty && !ana.marks(of: "Bea").contains("sharing") }

    try ana.tap("Share")
    await room.until("Ana is told of her share") { ana.shows("You are sharing your screen.") }
    await room.until("Ana's screen is shown to Dan") {
      dan.tiles == ["Ana's screen"] && dan.marks(of: "Ana").contains("sharing")
    }
    try ana.tap("Share")
    await room.until("Ana's screen is gone") { dan.tiles.isEmpty && !dan.marks(of: "Ana").contains("sharing") }
    await room.until("Ana is told of the end of her share") { ana.shows("In the meeting") }
  }

  @Test(arguments: clocks) func chatMessagesArriveOnceBothWays(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    try bea.send("before you came", lifetime: .seconds(200))
    let ana = Phone(of: "Ana", in: room)
    try await ana.join()
    await room.until("the stored message is shown") { ana.chat == ["Bea: before you came"] }
    try ana.sendMessage("hello")
    await room.until("Bea has the message") { bea.texts == ["hello"] }
    try bea.send("hello Ana")
    await room.until("the answer is shown") {
      ana.chat == ["Bea: before you came", "You: hello", "Bea: hello Ana"]
    }
    let dan = Phone(of: "Dan", in: room)
    try await dan.join()
    await room.until("the chat is shown to a late participant") {
      dan.chat == ["Bea: before you came", "Ana: hello"]
    }
    try ana.sendMessage(String(repeating: "x", count: 3000))
    await room.until("the length is explained") { ana.shows("The message is too long.") }
    #expect(ana.chat.count == 3)
    #expect(bea.texts == ["hello"])
  }

  @Test(arguments: clocks) func callRecoversAfterAServerRestart(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = Phone(of: "Ana", in: room)
    try await ana.join()
    try await room.require("pictures go both ways") { ana.screen.shows("Bea") && bea.sees("Ana") }
    room.restartServer()
    try await room.require("the app tells of the reconnection") { ana.shows("You are connected again.") }
    let back = room.now
    await room.until("pictures go both ways again") {
      ana.screen.shows("Bea", newerThan: back) && bea.sees("Ana", newerThan: back)
    }
    await room.until("sound goes both ways again") { ana.hears("Bea") && bea.hears("Ana") }
    #expect(ana.shows("In the meeting"))
    #expect(Set(ana.roster) == ["Ana", "Bea"])
    try ana.sendMessage("still there")
    await room.until("Bea has the message once") { bea.texts == ["still there"] }
  }

  @Test(arguments: clocks) func lostNetworkIsShownUntilItRecovers(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = Phone(of: "Ana", in: room)
    try await ana.join()
    try bea.send("once", lifetime: .seconds(200))
    try await room.require("the call runs") { ana.screen.shows("Bea") && ana.chat == ["Bea: once"] }
    try room.setNetwork("loss=100%", of: "Ana")
    try await room.require("the loss is shown") { ana.shows("Reconnecting…") }
    try ana.sendMessage("too early")
    await room.until("the delay is explained") { ana.shows("Messages can be sent when the meeting is connected.") }
    try room.setNetwork("loss=0%", of: "Ana")
    try await room.require("the return is shown") { ana.shows("You are connected again.") }
    let back = room.now
    await room.until("Bea sees Ana again") { bea.sees("Ana", newerThan: back) }
    await room.until("sound goes both ways again") { ana.hears("Bea") && bea.hears("Ana") }
    #expect(ana.shows("In the meeting"))
    #expect(ana.chat == ["Bea: once"])
    #expect(bea.texts == [])
  }

  @Test(arguments: clocks) func refusedJoinIsExplained(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    try await room.join("Bea")
    let ana = Phone(of: "Ana", in: room)
    room.refuse("Ana", .credential)
    try ana.tapJoin()
    await room.until("the invitation is explained") {
      ana.shows("Your invitation is not valid. Ask the host for a new one.")
    }
    room.refuse("Ana", nil)
    room.limitParticipants(to: 1)
    try ana.tapJoin()
    await room.until("the full meeting is explained") { ana.shows("The meeting is full.") }
    room.limitParticipants(to: nil)
    try await ana.join()

    let cleo = Phone(of: "Cleo", in: room)
    room.machine(of: "Cleo").setPermission(.denied, .microphone)
    try cleo.tapJoin()
    await room.until("the microphone is explained") {
      cleo.shows("Allow the microphone in Settings to join a meeting.")
    }
    let dan = Phone(of: "Dan", in: room)
    room.machine(of: "Dan").setPermission(.denied, .camera)
    try await dan.join()
    await room.until("the camera is explained") { dan.shows("Allow the camera in Settings to be seen.") }
    #expect(dan.shows("Microphone on, camera off"))
  }

  @Test(arguments: clocks) func endOfMeetingIsExplained(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = Phone(of: "Ana", in: room)
    try await ana.join()
    try ana.tap("Leave")
    await room.until("leaving is confirmed") { ana.shows("You left the meeting.") }
    await room.until("Bea is alone") { bea.others.isEmpty && ana.screen.count == 0 }

    try await ana.join()
    await room.until("the second meeting has pictures") { ana.screen.shows("Bea") && bea.sees("Ana") }
    room.remove("Ana")
    await room.until("the removal is explained") { ana.shows("The host ended the meeting or removed you.") }
    await room.until("Bea is alone again") { bea.others.isEmpty }

    try await ana.join()
    room.close()
    await room.until("the end is explained") { ana.shows("The host ended the meeting or removed you.") }
    await room.until("Bea is out, too") { bea.isOut }
  }
}

/// The app's own server, which admits every participant.
private struct Server: JoinService {
  let room: TestRoom

  func joinInfo(for name: String, completion: @escaping (Result<Data, Error>) -> Void) {
    completion(Result { Data(try room.answer(toAppOf: .meetingSession, for: name).joinInfo().utf8) })
  }
}

/// The app on the phone of one participant.
@MainActor private final class Phone {
  private let name: String
  private let room: TestRoom
  private let root: RootViewController

  init(of name: String, in room: TestRoom) {
    self.name = name
    self.room = room
    root = room.enter(as: name) { RootViewController(service: Server(room: room)) }
    root.loadViewIfNeeded()
  }

  func tap(_ title: String) throws { try room.tap(title, in: root.view) }

  func tapJoin(withCamera: Bool = true) throws {
    root.joinScreen.name = name
    root.joinScreen.startsWithCamera = withCamera
    try tap("Join")
  }

  func join(withCamera: Bool = true) async throws {
    // The text of an end is shown before the join screen is.
    try await room.require("the join screen is in front") { root.callScreen == nil }
    try tapJoin(withCamera: withCamera)
    try await room.require("\(name) is in the meeting") { shows("In the meeting") }
  }

  func sendMessage(_ text: String) throws {
    root.callScreen?.chatScreen.draft = text
    try tap("Send")
  }

  var screen: TestScreen { room.screen(root.view) }
  func hears(_ other: String) -> Bool { room.speaker(of: name).hears(other) }

  func shows(_ text: String) -> Bool { texts(in: root.view).contains(text) }
  var chat: [String] { texts(in: root.callScreen?.chatScreen.view) }
  var tiles: [String] { texts(in: root.callScreen?.stage) }

  /// The names on the roster, without their marks.
  var roster: [String] { rows.map { String($0.prefix { $0 != "(" }).trimmingCharacters(in: .whitespaces) } }

  /// What the roster has in brackets after a name.
  func marks(of other: String) -> [String] {
    guard let row = rows.first(where: { $0.hasPrefix("\(other) (") }) else { return [] }
    return row.dropFirst(other.count + 2).dropLast().split(separator: ",").map {
      $0.trimmingCharacters(in: .whitespaces)
    }
  }

  private var rows: [String] { texts(in: root.callScreen?.rosterScreen.view) }

  private func texts(in view: UIView?) -> [String] {
    guard let view, !view.isHidden, !(view is UIControl) else { return [] }
    return [(view as? UILabel)?.text].compactMap { $0 } + view.subviews.flatMap { texts(in: $0) }
  }
}
