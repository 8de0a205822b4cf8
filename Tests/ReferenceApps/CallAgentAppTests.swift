import KoineTesting
import Testing

@testable import CallAgentApp

@MainActor @Suite struct CallAgentAppTests {
  @Test(arguments: clocks)
  func joinedAppShowsHearsAndListsRemoteParticipants(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = try Phone("Ana", in: room)
    #expect(ana.join.statusLabel.text == "Sign in to make calls.")
    try await ana.enterCall()
    await room.until("Ana sees Bea") { ana.sees("Bea") }
    await room.until("Ana and Bea hear each other") { room.speaker(of: "Ana").hears("Bea") && bea.hears("Ana") }
    await room.until("the roster has Bea") { ana.people == ["Ana (you)", "Bea"] }
    #expect(ana.tiles == ["Bea"])
    #expect(bea.others == ["Ana"])

    let cleo = try await room.join("Cleo")
    await room.until("the roster has Cleo") { ana.people == ["Ana (you)", "Bea", "Cleo"] }
    await room.until("Ana sees Cleo") { ana.sees("Bea") && ana.sees("Cleo") }
    cleo.leave()
    await room.until("the roster is without Cleo") { ana.people == ["Ana (you)", "Bea"] }
    await room.until("the tile of Cleo is gone") { ana.tiles == ["Bea"] }
  }

  @Test(arguments: clocks)
  func mutedParticipantIsMarkedInRosterAndNotHeard(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = try Phone("Ana", in: room)
    try await ana.enterCall()
    try await room.require("Ana and Bea hear each other") { room.speaker(of: "Ana").hears("Bea") && bea.hears("Ana") }

    // Of two that talk steadily, either may be the room's speaker.
    try room.tap("Mute", in: ana.call.view)
    await room.until("Ana is marked as muted") { ana.people == ["Ana (you), muted", "Bea"] }
    #expect(ana.call.microphoneLabel.text == "Muted")
    await room.until("Bea does not hear Ana") { !bea.hears("Ana") }
    await room.until("Bea is the speaker") { ana.call.speakerLabel.text == "Bea speaks" }

    bea.mute()
    await room.until("Bea is marked as muted") { ana.people == ["Ana (you), muted", "Bea, muted"] }
    await room.until("Ana does not hear Bea") { !room.speaker(of: "Ana").hears("Bea") }
    await room.until("Bea is not the speaker any more") { ana.call.speakerLabel.text == nil }
    bea.unmute()
    await room.until("Bea is not marked any more") { ana.people == ["Ana (you), muted", "Bea"] }
    await room.until("Ana hears Bea") { room.speaker(of: "Ana").hears("Bea") }

    try room.tap("Mute", in: ana.call.view)
    await room.until("Bea hears Ana") { bea.hears("Ana") }
    #expect(ana.call.microphoneLabel.text == "Microphone on")
    #expect(ana.people == ["Ana (you)", "Bea"])
  }

  @Test(arguments: clocks)
  func cameraIsTurnedOnSwitchedAndTurnedOff(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    room.machine(of: "Ana").plugIn(
      Machine.Device(id: "desk", kind: .camera, name: "Desk camera", source: "stamp:Desk,320x180@5"))
    let ana = try Phone("Ana", in: room)
    try await ana.enterCall()
    #expect(ana.call.cameraLabel.text == "Camera off")
    try room.tap("Camera", in: ana.call.view)
    await room.until("Bea sees Ana") { bea.sees("Ana") }
    await room.until("Ana sees the preview") { ana.sees("Ana") }
    #expect(ana.tiles.contains("You"))
    #expect(ana.call.cameraLabel.text == "Front camera")

    try room.tap("Flip", in: ana.call.view)
    await room.until("the back camera is on") { ana.call.cameraLabel.text == "Back camera" }
    try room.tap("Flip", in: ana.call.view)
    await room.until("the camera on the desk is on") { ana.call.cameraLabel.text == "Desk camera" }
    await room.until("Bea sees the desk instead of Ana") { bea.sees("Desk") && !bea.sees("Ana") }
    await room.until("Ana sees the desk in the preview") { ana.sees("Desk") && !ana.sees("Ana") }
    try room.tap("Flip", in: ana.call.view)
    await room.until("the front camera is on again") { ana.call.cameraLabel.text == "Front camera" }
    await room.until("Bea sees Ana again") { bea.sees("Ana") && !bea.sees("Desk") }
    #expect(ana.notice == nil)

    try room.tap("Camera", in: ana.call.view)
    await room.until("Bea does not see Ana") { !bea.sees("Ana") }
    #expect(ana.tiles == ["Bea"])
    #expect(ana.call.cameraLabel.text == "Camera off")

    try room.tap("Camera", in: ana.call.view)
    await room.until("Bea sees Ana a second time") { bea.sees("Ana") }
    room.machine(of: "Ana").unplug("front camera")
    await room.until("Ana reads of the unplugged camera") { ana.notice == "The camera was unplugged." }
    #expect(ana.tiles == ["Bea"])

    bea.turnCameraOff()
    await room.until("the tile of Bea is gone") { ana.tiles == [] }
    bea.turnCameraOn()
    await room.until("Ana sees Bea") { ana.sees("Bea") }
  }

  @Test(arguments: clocks)
  func sharedScreenIsShownUntilItEnds(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea", camera: nil)
    let ana = try Phone("Ana", in: room)
    try await ana.enterCall()
    let ben = try Phone("Ben", in: room)
    try await ben.enterCall()
    try bea.share()
    await room.until("Ana sees the screen of Bea") { ana.tiles == ["Bea’s screen"] && ana.sees("Bea") }
    #expect(room.screen(ana.call.view).size(of: "Bea")?.width == 640)
    bea.stopSharing()
    await room.until("the share of Bea has ended") { ana.tiles == [] }

    try room.tap("Share", in: ana.call.view)
    await room.until("Ben has the screen of Ana") { ben.tiles == ["Ana’s screen"] }
    await room.until("the slide is drawn on the screen of Ben") { ben.shareBrightness > 180 }
    #expect(ana.call.shareLabel.text == "You share your screen")
    await room.until("Bea knows of the share") {
      bea.participant("Ana")?.tracks.contains { $0.kind == .screen } == true
    }
    try room.tap("Share", in: ana.call.view)
    await room.until("the share of Ana has ended") { ben.tiles == [] }
    #expect(ana.call.shareLabel.text == nil)
    #expect(ana.call.noticeLabel.text == nil)
  }

  @Test(arguments: clocks)
  func chatTextArrivesOnceOnBothSides(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let ana = try Phone("Ana", in: room)
    let ben = try Phone("Ben", in: room)
    try await ana.enterCall()
    try await ben.enterCall()
    try await room.require("both are in the roster") { ana.people.count == 2 && ben.people.count == 2 }
    try ana.sendMessage("Hello Ben")
    await room.until("Ben reads it") { ben.texts == ["Ana: Hello Ben"] }
    try ben.sendMessage("Hello Ana")
    try ben.sendMessage("How are you?")
    await room.until("Ana reads both") { ana.texts == ["You: Hello Ben", "Ben: Hello Ana", "Ben: How are you?"] }
    await room.run(for: .seconds(1))
    #expect(ana.texts == ["You: Hello Ben", "Ben: Hello Ana", "Ben: How are you?"])
    #expect(ben.texts == ["Ana: Hello Ben", "You: Hello Ana", "You: How are you?"])
  }

  @Test(arguments: clocks)
  func outgoingCallRingsUntilTheCalleeAnswersOrDeclines(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.signIn("Bea")
    let ana = try Phone("Ana", in: room)
    try await ana.signIn()
    ana.join.callee = bea.identity

    try room.tap("Call", in: ana.join.view)
    await room.until("Ana is told that it rings") { ana.status == "Ringing…" }
    try await room.require("Bea is rung") { bea.isRung }
    try bea.decline()
    await room.until("Ana reads that Bea has declined") { ana.notice == "The call was declined." }
    #expect(ana.status == "Ready for calls.")

    try room.tap("Call", in: ana.join.view)
    try await room.require("Bea is rung again") { bea.isRung }
    try await bea.answer()
    await room.until("Ana is in the call") { ana.status == "In the call." && ana.people == ["Ana (you)", "Bea"] }
    await room.until("Ana and Bea hear each other") { room.speaker(of: "Ana").hears("Bea") && bea.hears("Ana") }
    bea.leave()
    await room.until("Ana reads that the call has ended") { ana.notice == "The call has ended." }
    #expect(ana.people == [])

    try room.tap("Call", in: ana.join.view)
    try await room.require("Bea is rung a third time") { bea.isRung }
    try room.tap("Leave", in: ana.call.view)
    await room.until("Ana reads that the call is cancelled") { ana.notice == "The call was cancelled." }
    await room.until("Bea is not rung any more") { !bea.isRung }

    ana.join.callee = room.identity(of: "Cleo")
    try room.tap("Call", in: ana.join.view)
    await room.until("Ana reads that Cleo is away") { ana.notice == "The person you call is not available." }
  }

  @Test(arguments: clocks)
  func incomingCallIsAcceptedDeclinedOrMissed(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.signIn("Bea")
    let (ana, ben) = (try Phone("Ana", in: room), try Phone("Ben", in: room))
    try await ana.signIn()
    try await ben.signIn()

    try await bea.ring("Ana")
    try await room.require("Bea rings Ana") { ana.join.callerLabel.text == "Bea is calling…" }
    bea.cancelRinging()
    await room.until("Ana reads of the missed call") { ana.notice == "You missed a call of Bea." }
    #expect(ana.join.callerLabel.text == nil)

    ben.join.callee = room.identity(of: "Ana")
    try room.tap("Call", in: ben.join.view)
    try await room.require("Ben rings Ana") { ana.join.callerLabel.text == "Ben is calling…" }
    try room.tap("Decline", in: ana.join.view)
    await room.until("Ben reads that Ana has declined") { ben.notice == "The call was declined." }
    #expect(ana.status == "Ready for calls.")

    try room.tap("Call", in: ben.join.view)
    try await room.require("Ben rings Ana again") { ana.join.callerLabel.text == "Ben is calling…" }
    try room.tap("Accept", in: ana.join.view)
    await room.until("Ana and Ben are in the call") {
      ana.people == ["Ana (you)", "Ben"] && ben.people == ["Ben (you)", "Ana"]
    }
    await room.until("Ana and Ben hear each other") {
      room.speaker(of: "Ana").hears("Ben") && room.speaker(of: "Ben").hears("Ana")
    }
    try room.tap("Leave", in: ana.call.view)
    await room.until("Ana is out") { ana.status == "Ready for calls." }
    await room.until("Ben reads that the call has ended") { ben.notice == "The call has ended." }
  }

  @Test(arguments: clocks)
  func interruptedCallRecoversAndLostCallEndsWithAMessage(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = try Phone("Ana", in: room)
    try await ana.enterCall()
    try room.tap("Camera", in: ana.call.view)
    try await room.require("Ana and Bea see each other") { ana.sees("Bea") && bea.sees("Ana") }

    room.restartServer()
    let restarted = room.now
    await room.until("both see each other after the restart") {
      ana.sees("Bea", newerThan: restarted + .seconds(1)) && bea.sees("Ana", newerThan: restarted + .seconds(1))
    }
    #expect(ana.status == "In the call.")
    #expect(ana.people == ["Ana (you)", "Bea"])

    room.cutNetwork(of: "Ana", for: .seconds(3))
    let cut = room.now
    await room.until("both see each other after the cut") {
      ana.sees("Bea", newerThan: cut + .seconds(3)) && bea.sees("Ana", newerThan: cut + .seconds(3))
    }
    #expect(ana.status == "In the call.")
    #expect(ana.call.noticeLabel.text == nil)

    // A connection is given up after more than a minute.
    guard case .virtual = clock else { return }
    room.cutNetwork(of: "Ana", for: .seconds(600))
    await room.until("Ana reads that the connection is lost", within: .seconds(120)) {
      ana.notice == "The connection was lost. Please check your network and call again."
    }
    #expect(ana.people == [])
    #expect(ana.tiles == [])
  }

  @Test(arguments: clocks)
  func refusedOrRemovedUserIsShownTheReason(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = try Phone("Ana", in: room)

    let token = ana.join.token
    ana.join.token = "damaged"
    try room.tap("Sign in", in: ana.join.view)
    #expect(ana.notice == "The sign-in data is damaged. Please sign in again.")
    ana.join.token = token
    room.refuse("Ana", .credential)
    try room.tap("Sign in", in: ana.join.view)
    await room.until("Ana reads that the credential is refused") {
      ana.notice == "Signing in has failed: The sign-in data is not accepted. Please sign in again."
    }
    #expect(ana.status == "Sign in to make calls.")
    room.refuse("Ana", nil)

    try await ana.signIn()
    room.machine(of: "Ana").setPermission(.denied, .microphone)
    try room.tap("Join", in: ana.join.view)
    await room.until("Ana reads that the microphone is denied") {
      ana.notice == "Joining has failed: Please allow the microphone in Settings."
    }
    room.machine(of: "Ana").setPermission(.granted, .microphone)

    room.limitParticipants(to: 1)
    try room.tap("Join", in: ana.join.view)
    await room.until("Ana reads that the call is full") {
      ana.notice == "The call is full, or you are not allowed to join it."
    }
    room.limitParticipants(to: nil)

    try room.tap("Join", in: ana.join.view)
    try await room.require("Ana is in the call") { ana.status == "In the call." && bea.others == ["Ana"] }
    room.remove("Ana")
    await room.until("Ana reads of the removal") { ana.notice == "You were removed from the call." }
    #expect(ana.status == "Ready for calls.")
    await room.until("Bea is alone") { bea.others == [] }
  }

  @Test(arguments: clocks)
  func leavingEndsTheCallOnOneSideOnly(clock: TestRoom.Time) async throws {
    let room = try await TestRoom(clock: clock)
    let bea = try await room.join("Bea")
    let ana = try Phone("Ana", in: room)
    try await ana.enterCall()
    try room.tap("Camera", in: ana.call.view)
    try await room.require("Ana and Bea see each other") { ana.sees("Bea") && bea.sees("Ana") }
    try room.tap("Leave", in: ana.call.view)
    await room.until("Bea is alone") { bea.others == [] }
    await room.until("Ana is out") { ana.status == "Ready for calls." && ana.notice == "The call has ended." }
    #expect(ana.tiles == [])
    #expect(ana.people == [])
    #expect(bea.isInRoom)

    try room.tap("Join", in: ana.join.view)
    try await room.require("Ana is back") { ana.status == "In the call." && ana.sees("Bea") }
    bea.leave()
    await room.until("Ana is alone") { ana.people == ["Ana (you)"] && ana.tiles == [] }
    #expect(ana.status == "In the call.")
  }
}

/// The app of one person, with the views that this person looks at.
@MainActor private final class Phone {
  let join: JoinViewController
  let call: CallViewController
  let roster: RosterViewController
  let chat: ChatViewController
  private let name: String
  private let room: TestRoom

  init(_ name: String, in room: TestRoom) throws {
    self.name = name
    self.room = room
    let answer = try room.answer(toAppOf: .callAgent, for: name)
    let model = CallModel(clock: room.clock)
    join = JoinViewController(model: model)
    call = CallViewController(model: model)
    roster = RosterViewController(model: model)
    chat = ChatViewController(model: model)
    join.name = name
    join.token = answer.text(forAppOf: .callAgent)
    join.room = answer.room
    room.enter(as: name) {
      for screen in [join, call, roster, chat] { screen.loadViewIfNeeded() }
    }
  }

  func signIn() async throws {
    try room.tap("Sign in", in: join.view)
    try await room.require("\(name) is signed in") { status == "Ready for calls." }
  }

  func enterCall() async throws {
    try await signIn()
    try room.tap("Join", in: join.view)
    try await room.require("\(name) is in the call") { status == "In the call." }
  }

  func sendMessage(_ text: String) throws {
    chat.draft = text
    try room.tap("Send", in: chat.view)
  }

  func sees(_ person: String, newerThan time: Tick? = nil) -> Bool {
    room.screen(call.view).shows(person, newerThan: time)
  }

  var status: String? { join.statusLabel.text }
  var notice: String? { join.noticeLabel.text }
  var people: [String?] { roster.rows.map(\.text) }
  var texts: [String?] { chat.rows.map(\.text) }
  var tiles: [String?] { call.tileViews.map(\.titleLabel.text) }

  /// Of the first tile's middle, 0...255.
  var shareBrightness: UInt8 { call.view.snapshot().color(x: 195, y: 220)?.green ?? 0 }
}
