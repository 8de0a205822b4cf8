import KoineTesting
import Testing
import UIKit

@testable import EventListenerApp

@MainActor @Suite struct EventListenerAppTests {
  @Test(arguments: clocks) func joinedAppAndParticipantSeeAndHearEachOther(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = try Phone(in: room, of: "Ana")
    try ana.join()
    try await room.require("the roster has both names") { ana.roster.map(\.name) == ["Ana", "Bea"] }
    await room.until("Ana's screen shows both") { ana.screen.shows("Ana") && ana.screen.shows("Bea") }
    await room.until("Ana's loudspeaker plays Bea") { room.speaker(of: "Ana").hears("Bea") }
    await room.until("Bea sees and hears Ana") { bea.sees("Ana") && bea.hears("Ana") }
    #expect(bea.others == ["Ana"])
    await room.until("Ana reads how many are there") { ana.call?.status == "2 people" }
    #expect(ana.call?.notice == nil)
  }

  @Test(arguments: clocks) func mutedMicrophonesAreSilentAndMarkedInRoster(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = try Phone(in: room, of: "Ana")
    try ana.join()
    try await room.require("both hear each other") { bea.hears("Ana") && room.speaker.hears("Bea") }
    await room.until("the button mutes") { ana.call?.muteTitle == "Mute" }

    try room.tap("Mute", in: ana.app.view)
    try await room.require("Ana is marked as muted") { ana.row("Ana")?.isMuted == true }
    await room.until("the button unmutes") { ana.call?.muteTitle == "Unmute" }
    await room.until("Bea does not hear Ana") { !bea.hears("Ana") }
    await room.until("Ana still hears Bea") { room.speaker.hears("Bea") }

    await room.until("Bea is the active speaker") { ana.row("Bea")?.isSpeaking == true }
    bea.mute()
    try await room.require("Bea is marked as muted") { ana.row("Bea")?.isMuted == true }
    await room.until("Ana's loudspeaker is silent") { room.speaker.isSilent }
    await room.until("the roster has no active speaker") { !ana.roster.contains(where: \.isSpeaking) }

    bea.unmute()
    try room.tap("Mute", in: ana.app.view)
    await room.until("both are heard again") { bea.hears("Ana") && room.speaker.hears("Bea") }
    await room.until("no mark is left") { !ana.roster.contains(where: \.isMuted) }
  }

  @Test(arguments: clocks) func camerasAreTurnedOffAndOnAndSwitched(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = try Phone(in: room, of: "Ana")
    try ana.join()
    try await room.require("both see each other") { bea.sees("Ana") && ana.screen.shows("Bea") }
    try await room.require("the button turns the camera off") { ana.call?.cameraTitle == "Camera off" }

    try room.tap("Camera", in: ana.app.view)
    try await room.require("Ana's camera is off") { ana.row("Ana")?.isCameraOff == true }
    try await room.require("the button turns the camera on") { ana.call?.cameraTitle == "Camera on" }
    await room.until("Bea and Ana see no picture of Ana") { !bea.sees("Ana") && !ana.screen.shows("Ana") }
    bea.turnCameraOff()
    try await room.require("Bea's camera is off") { ana.row("Bea")?.isCameraOff == true }
    await room.until("the screen shows no picture") { ana.screen.count == 0 }

    let off = room.now
    bea.turnCameraOn()
    try room.tap("Camera", in: ana.app.view)
    await room.until("both see new pictures") {
      bea.sees("Ana", newerThan: off) && ana.screen.shows("Bea", newerThan: off)
        && ana.screen.shows("Ana", newerThan: off)
    }

    try await room.require("the button switches to the back") { ana.call?.switchTitle == "Back camera" }
    try room.tap("Flip", in: ana.app.view)
    await room.until("the button switches to the front") { ana.call?.switchTitle == "Front camera" }
    // Both cameras bear the same stamp: pictures without the front camera can only be those of the back camera.
    room.machine(of: "Ana").unplug("front camera")
    let unplugged = room.now
    await room.until("pictures of the back camera arrive") {
      bea.sees("Ana", newerThan: unplugged + .seconds(1)) && ana.screen.shows("Ana", newerThan: unplugged + .seconds(1))
    }
    room.machine(of: "Ana").unplug("back camera")
    await room.until("no pictures arrive without a camera") { !bea.sees("Ana") }
  }

  @Test(arguments: clocks) func sharedScreensAreShownWithTheirPresenter(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea", camera: nil)
    let ana = try Phone(in: room, of: "Ana")
    try ana.join()
    let cleo = try Phone(in: room, of: "Cleo", camera: false)
    try cleo.join()
    try await room.require("all rosters are full") { ana.roster.count == 3 && cleo.roster.count == 3 }

    try bea.share()
    await room.until("Ana's screen shows Bea's screen") { ana.screen.shows("Bea") }
    await room.until("Bea is named as presenter") { ana.call?.status == "Bea is presenting" }
    await room.until("Bea is marked as presenting") { ana.row("Bea")?.isPresenting == true }
    bea.stopSharing()
    await room.until("Bea's screen is gone") { !ana.screen.shows("Bea") && ana.row("Bea")?.isPresenting == false }

    try await room.require("the button turns the camera off") { ana.call?.cameraTitle == "Camera off" }
    try room.tap("Camera", in: ana.app.view)
    await room.until("Ana's camera is off") { cleo.row("Ana")?.isCameraOff == true && !cleo.screen.shows("Ana") }
    try room.tap("Share", in: ana.app.view)
    await room.until("Ana is told that she shares") { ana.call?.status == "You are sharing your screen" }
    await room.until("Cleo reads the presenter") { cleo.call?.status == "Ana is presenting" }
    await room.until("Cleo's screen shows Ana's screen") { cleo.screen.shows("Ana") }
    try room.tap("Share", in: ana.app.view)
    await room.until("Ana's screen is gone") { !cleo.screen.shows("Ana") && cleo.call?.status == "3 people" }
    await room.until("Ana may share again") { ana.call?.shareTitle == "Share screen" }
  }

  @Test(arguments: clocks) func chatMessagesArriveOnceOnAllSides(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea", camera: nil, microphone: nil)
    let ana = try Phone(in: room, of: "Ana", camera: false)
    try ana.join()
    try await room.require("Ana is in the meeting") { ana.roster.count == 2 && bea.others == ["Ana"] }

    try ana.send("Hello, Bea")
    await room.until("Bea has the message") { bea.texts == ["Hello, Bea"] }
    try bea.send("Hello, Ana", topic: "CHAT")
    await room.until("Ana has both messages") { ana.lines == ["You: Hello, Bea", "Bea: Hello, Ana"] }

    let cleo = try Phone(in: room, of: "Cleo", camera: false)
    try cleo.join()
    await room.until("the latecomer reads the kept message") {
      if let chat = cleo.call?.chat { try? room.tap("Earlier", in: chat.view) }
      return cleo.lines == ["Ana: Hello, Bea"]
    }
    try cleo.send("Hello, both")
    await room.until("all have the third message") {
      bea.texts.last == "Hello, both" && ana.lines.last == "Cleo: Hello, both" && cleo.lines.last == "You: Hello, both"
    }
    await room.run(for: .seconds(1))
    #expect(bea.texts == ["Hello, Bea", "Hello, both"])
    #expect(ana.lines == ["You: Hello, Bea", "Bea: Hello, Ana", "Cleo: Hello, both"])
    #expect(cleo.lines == ["Ana: Hello, Bea", "You: Hello, both"])

    try room.tap("Earlier", in: #require(ana.call).chat.view)
    try room.tap("Earlier", in: #require(cleo.call).chat.view)
    await room.run(for: .seconds(1))
    #expect(ana.lines == ["You: Hello, Bea", "Bea: Hello, Ana", "Cleo: Hello, both"])
    #expect(cleo.lines == ["Ana: Hello, Bea", "You: Hello, both"])
  }

  @Test(arguments: clocks) func joiningAndLeavingParticipantsChangeRosterAndTiles(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let ana = try Phone(in: room, of: "Ana")
    try ana.join()
    try await room.require("Ana is alone") { ana.call?.status == "Waiting for the others…" && ana.screen.shows("Ana") }

    let bea = try await room.join("Bea")
    let dan = try await room.join("Dan", camera: nil)
    try await room.require("all are in the roster") { ana.roster.map(\.name) == ["Ana", "Bea", "Dan"] }
    await room.until("the screen shows both cameras") { Set(ana.screen.names) == ["Ana", "Bea"] }
    #expect(ana.row("Dan")?.text.contains("camera off") == true)

    bea.leave()
    await room.until("Bea is gone") { ana.roster.map(\.name) == ["Ana", "Dan"] && ana.screen.names == ["Ana"] }
    await room.until("Dan is still heard") { room.speaker.heard == ["Dan"] }

    try room.tap("Leave", in: ana.app.view)
    try await room.require("the join screen is back") { ana.call == nil }
    #expect(ana.app.message == "You left the meeting.")
    await room.until("Dan is alone") { dan.others.isEmpty }
    await room.until("the loudspeaker is silent") { room.speaker.isSilent }

    try ana.join()
    try await room.require("Ana is in the meeting again") { ana.roster.map(\.name) == ["Ana", "Dan"] }
    await room.until("Dan hears and Ana sees again") { dan.hears("Ana") && ana.screen.shows("Ana") }
  }

  @Test(arguments: clocks) func serverRestartIsShownAndTheCallRecovers(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = try Phone(in: room, of: "Ana")
    try ana.join()
    try await room.require("both see each other") { bea.sees("Ana") && ana.screen.shows("Bea") }
    try ana.send("before")
    try await room.require("Bea has the message") { bea.texts == ["before"] }

    let restarted = room.now
    room.restartServer()
    try await room.require("Ana's connection is back") { ana.call?.notice == "The connection is back." }
    await room.until("Ana reads how many are there") { ana.call?.status == "2 people" }
    await room.until("both see and hear each other again") {
      bea.sees("Ana", newerThan: restarted) && ana.screen.shows("Bea", newerThan: restarted) && bea.hears("Ana")
        && room.speaker.hears("Bea")
    }
    #expect(ana.roster.map(\.name) == ["Ana", "Bea"])
    try ana.send("after")
    try bea.send("also after", topic: "CHAT")
    await room.until("both have the new messages") { bea.texts.count == 2 && ana.lines.count == 3 }
    await room.run(for: .seconds(1))
    #expect(bea.texts == ["before", "after"])
    #expect(ana.lines.sorted() == ["Bea: also after", "You: after", "You: before"])
    try room.tap("Earlier", in: #require(ana.call).chat.view)
    await room.run(for: .seconds(1))
    #expect(ana.lines.sorted() == ["Bea: also after", "You: after", "You: before"])
  }

  @Test(arguments: clocks) func cutConnectionIsShownAsReconnecting(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = try Phone(in: room, of: "Ana")
    try ana.join()
    try await room.require("both hear each other") { bea.hears("Ana") && room.speaker.hears("Bea") }

    room.cutNetwork(of: "Ana", for: .seconds(120))
    await room.until("the sound is gone") { !bea.hears("Ana") && room.speaker.isSilent }
    try bea.send("Are you there?", topic: "CHAT")
    try await room.require("Ana reads of the loss", within: .seconds(60)) { ana.call?.status == "Reconnecting…" }
    #expect(ana.lines.isEmpty)
    room.cutNetwork(of: "Ana", for: .milliseconds(1))
    try await room.require("Ana's connection is back") { ana.call?.notice == "The connection is back." }
    let back = room.now
    // Pictures towards Ana take some 20 s more, which is too long for a test in real time.
    await room.until("both hear each other again") { bea.hears("Ana") && room.speaker.hears("Bea") }
    await room.until("Bea sees Ana again") { bea.sees("Ana", newerThan: back) }
    await room.until("Ana has the message") { ana.lines == ["Bea: Are you there?"] }
    await room.until("the roster is full") { ana.roster.map(\.name) == ["Ana", "Bea"] }
  }

  @Test(arguments: clocks) func refusedJoinIsExplainedOnTheJoinScreen(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea", camera: nil, microphone: nil)
    let ana = try Phone(in: room, of: "Ana")
    try ana.join(as: " ")
    #expect(ana.app.message == "Enter your name.")

    room.refuse("Ana", .credential)
    try ana.join()
    try await room.require("the credential is refused") {
      ana.app.message == "Your invitation is not valid any more. Ask for a new one."
    }
    #expect(ana.call == nil)

    room.refuse("Ana", .permission)
    try ana.join()
    try await room.require("the permission is refused") { ana.app.message == "Your invitation does not allow this." }
    #expect(ana.call == nil)

    room.refuse("Ana", .failure)
    try ana.join()
    try await room.require("the server fails") { ana.app.message == "Something went wrong (4000). Please try again." }
    #expect(ana.call == nil)

    room.refuse("Ana", nil)
    room.limitParticipants(to: 1)
    try ana.join()
    try await room.require("the room is full") { ana.app.message == "The meeting is full." }
    #expect(ana.call == nil)

    room.limitParticipants(to: nil)
    room.machine(of: "Ana").setPermission(.denied, .camera)
    try ana.join()
    await room.until("Ana is let in") { ana.roster.map(\.name) == ["Ana", "Bea"] && bea.others == ["Ana"] }
    await room.until("Ana reads why the camera is off") {
      ana.call?.notice == "Allow the camera for this app in Settings."
    }

    let other = try Phone(in: room, of: "Ana")
    try other.join()
    try await room.require("the older of two apps of Ana is out") { ana.call == nil }
    #expect(ana.app.message == "You joined this meeting on another device.")
    await room.until("the newer one stays") { other.roster.map(\.name) == ["Ana", "Bea"] }
  }

  @Test(arguments: clocks) func hostMutesAsksToUnmuteAndRemovesAParticipant(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let host = try Phone(in: room, of: "Hana", camera: false)
    try host.join()
    let ana = try Phone(in: room, of: "Ana")
    try ana.join()
    try await room.require("the host hears Ana") { room.speaker(of: "Hana").hears("Ana") && ana.roster.count == 2 }

    host.call?.roster.muteTapped(try #require(host.row("Ana")))
    try await room.require("Ana is muted on both screens") {
      ana.row("Ana")?.isMuted == true && host.row("Ana")?.isMuted == true
    }
    await room.until("the host does not hear Ana") { !room.speaker(of: "Hana").hears("Ana") }

    host.call?.roster.askToUnmuteTapped(try #require(host.row("Ana")))
    try await room.require("Ana is asked for the first time") { ana.call?.question != nil }
    try room.tap("Decline", in: ana.app.view)
    await room.until("the question is gone") { ana.call?.question == nil }
    #expect(ana.row("Ana")?.isMuted == true)

    host.call?.roster.askToUnmuteTapped(try #require(host.row("Ana")))
    try await room.require("Ana is asked again") { ana.call?.question == "Hana asks you to unmute your microphone." }
    try room.tap("Accept", in: ana.app.view)
    await room.until("the question is gone") { ana.call?.question == nil }
    await room.until("the host hears Ana again") { room.speaker(of: "Hana").hears("Ana") }

    host.call?.roster.removeTapped(try #require(host.row("Ana")))
    try await room.require("Ana is out") { ana.call == nil }
    #expect(ana.app.message == "The host removed you from the meeting.")
    await room.until("the host is alone") { host.roster.map(\.name) == ["Hana"] }

    try ana.join()
    try await room.require("Ana is in the meeting again") { ana.roster.count == 2 && host.roster.count == 2 }
    try room.tap("End", in: host.app.view)
    try await room.require("both are out") { ana.call == nil && host.call == nil }
    #expect(ana.app.message == "The host ended the meeting.")
  }
}

/// The app on the telephone of one person.
@MainActor private struct Phone {
  let room: TestRoom
  let name: String
  let app = JoinViewController()

  init(in room: TestRoom, of name: String, camera: Bool = true) throws {
    self.room = room
    self.name = name
    app.view.frame = CGRect(x: 0, y: 0, width: 960, height: 540)
    app.startsWithCamera = camera
    let answer = try room.answer(toAppOf: .eventListener, for: name)
    app.invitation = Ring(token: answer.token, meetingID: answer.room, participantID: answer.participantID)
  }

  func join(as text: String? = nil) throws {
    app.name = text ?? name
    // VideoSDK's objects find their room by its token. In a ported app, the objects of other vendors find it by this person.
    try room.enter(as: name) { try room.tap("Join", in: app.view) }
  }

  func send(_ text: String) throws {
    let chat = try #require(call).chat
    chat.draft = text
    try room.tap("Send", in: chat.view)
  }

  var call: CallViewController? { app.callScreen }
  var screen: TestScreen { room.screen(app.view) }
  var roster: [RosterRow] { call?.roster.rows ?? [] }
  var lines: [String] { call?.chat.lines ?? [] }

  func row(_ name: String) -> RosterRow? { roster.first { $0.name == name } }
}
