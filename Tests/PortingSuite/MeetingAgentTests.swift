import AmazonChimeSDK
import CoreVideo
import Foundation
import Koine
import KoineTesting
import Testing
import UIKit

/// The files that layers ported from the call agent style to the meeting session style need, without an app: calls, rings of the app's own
/// server, videos, views, and data channels.
@MainActor @Suite struct MeetingAgentTests {
  private func token(of name: String, in room: TestRoom) throws -> String {
    try room.credential(.meetingSession, for: name).joinInfoJSON
  }

  private func agent(in room: TestRoom) async throws -> MeetingAgent {
    let credential = try MeetingAgent.Credential(token: try token(of: "Ana", in: room))
    var made: MeetingAgent?
    MeetingAgent().register(credential: credential, setup: nil) { agent, _ in made = agent }
    await room.until { made != nil }
    return try #require(made)
  }

  /// Whether a person's room has a stream of Ana's that is not muted.
  private func sends(_ kind: Track.Kind, _ person: Person) -> Bool {
    person.participant("Ana")?.tracks.contains { $0.kind == kind && !$0.isMuted } == true
  }

  private func call(
    of agent: MeetingAgent, in room: TestRoom, _ setup: MeetingAgent.Setup? = nil
  ) async throws -> MeetingAgent.Call {
    var call: MeetingAgent.Call?
    agent.start(room: room.id, setup: setup) { made, _ in call = made }
    await room.until("Ana is in the call") { call?.state == .connected }
    return try #require(call)
  }

  @Test(.room(as: "Ana")) func callReportsParticipantsWithWhatTheySendAndItsEndInNumbers() async throws {
    let room = TestRoom.current
    let bea = try await room.join("Bea")
    bea.mute()
    let agent = try await agent(in: room)
    var (changes, lines): ([String], [String]) = ([], [])
    agent.callsHandler = { calls, _ in changes.append("+\(calls.added.count) -\(calls.removed.count)") }
    let call = try await call(of: agent, in: room)
    call.agentHandler = { event, _ in
      switch event {
      case .personJoined(let person): lines.append("\(person.name) joined\(person.isMuted ? ", muted" : "")")
      case .personLeft(let person): lines.append("\(person.name) left")
      case .muted(let person): lines.append("\(person.name) is \(person.isMuted ? "" : "not ")muted")
      case .streamAdded(let stream, let person): lines.append("\(stream.kind) \(stream.number) of \(person.name)")
      case .streamRemoved(let stream, let person): lines.append("no \(stream.kind) \(stream.number) of \(person.name)")
      case .stateChanged, .microphoneMuted, .speakerChanged: break
      }
    }
    await room.until("Bea is known") { !lines.isEmpty }
    #expect(lines == ["Bea joined, muted"])
    #expect(call.others.first?.videos.map(\.kind) == [.camera])
    let number = try #require(call.others.first?.videos.first?.number)
    bea.unmute()
    await room.until("Bea speaks") { lines.last == "Bea is not muted" }
    bea.turnCameraOff()
    await room.until("Bea has no camera") { lines.last == "no camera \(number) of Bea" }
    bea.turnCameraOn()
    await room.until("Bea has the camera again") { lines.last == "camera \(number) of Bea" }
    bea.leave()
    await room.until("Bea has left") { lines.last == "Bea left" }
    #expect(call.state == .connected)
    room.remove("Ana")
    await room.until("the call is over") { call.state == .ended }
    #expect(call.end == (0, 5300))
    #expect(changes == ["+1 -0", "+0 -1"])
  }

  @Test(.room(as: "Ana")) func callOfAnotherRoomThanTheTokensEndsWith404() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    var call: MeetingAgent.Call?
    agent.start(room: "another", setup: nil) { made, _ in call = made }
    await room.until { call?.state == .ended }
    #expect(call?.end.code == 404)
  }

  @Test(.room(as: "Ana")) func secondCallWithOneTokenIsAnError() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    let call = try await call(of: agent, in: room)
    var failure: (any Error)?
    agent.start(room: room.id, setup: nil) { failure = $1 }
    await room.until { failure != nil }
    #expect(failure as? MeetingAgent.Failure == .duplicate)
    var isLeft = false
    call.hangUp { isLeft = $0 == nil }
    await room.until { isLeft }
    #expect(call.state == .ended)
    #expect(call.end == (0, 0))
  }

  @Test(.room(as: "Ana")) func calledUserConnectsTheCallAndEndsItByLeaving() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    var (rung, call): ([String], MeetingAgent.Call?) = ([], nil)
    agent.ringer = { callees, _ in rung += callees }
    agent.start(callees: ["bea"], setup: nil) { made, _ in call = made }
    await room.until("Bea is rung") { call?.state == .ringing }
    #expect(rung == ["bea"])
    let bea = try await room.join("Bea")
    await room.until("Bea answers") { call?.state == .connected }
    bea.leave()
    await room.until("the call is over") { call?.state == .ended }
    #expect(call?.end.code == 0)
  }

  @Test(.room(as: "Ana"), arguments: [nil, 603] as [Int32?])
  func callThatIsNotAnsweredEndsWithTheNumberOfTheAppsServer(_ code: Int32?) async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    var (call, failure): (MeetingAgent.Call?, (any Error)?)
    agent.start(callees: ["bea"], setup: nil) { failure = $1 }
    await room.until { failure != nil }
    #expect(failure as? MeetingAgent.Failure == .notRung)
    agent.ringer = { _, _ in }
    agent.start(callees: ["bea"], setup: nil) { made, _ in call = made }
    await room.until { call?.state == .ringing }
    if let code { call?.noAnswer(code: code) } else { call?.hangUp { _ in } }
    await room.until { call?.state == .ended }
    #expect(call?.end.code == code ?? 487)
  }

  @Test(.room(as: "Ana")) func ringOfTheAppsServerIsAcceptedDeclinedOrMissed() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    var (rings, answers, missed): ([MeetingAgent.Ring], [MeetingAgent.Ring.State], Int) = ([], [], 0)
    agent.handler = { ring, _ in rings.append(ring) }
    for _ in 0..<3 {
      let ring = MeetingAgent.Ring(caller: "bea", callerName: "Bea", token: try token(of: "Ana", in: room))
      ring.handler = { state, _ in if state == .missed { missed += 1 } }
      ring.answered = { answers.append($0) }
      agent.receive(ring)
    }
    #expect(rings.map(\.callerName) == ["Bea", "Bea", "Bea"])
    rings[0].decline { _ in }
    rings[1].miss()
    #expect(missed == 1)
    var (call, failure): (MeetingAgent.Call?, (any Error)?)
    rings[1].accept(setup: nil) { failure = $1 }
    rings[2].accept(setup: nil) { made, _ in call = made }
    await room.until { call?.state == .connected && failure != nil }
    #expect(failure as? MeetingAgent.Failure == .ended)
    #expect(answers == [.declined, .accepted])
  }

  @Test(.room(as: "Ana")) func channelCarriesTextsAndBytesUntilItIsClosed() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    let call = try await call(of: agent, in: room)
    let bea = try await room.join("Bea")
    let setup = MeetingAgent.Setup()
    setup.channel = 7
    let channel = call.channel(setup: setup)
    var inbox: MeetingAgent.Inbox?
    call.inboxHandler = { new, _ in inbox = new }
    channel.send(Data("Hello".utf8))
    channel.send(Data([0xFF, 0]))
    await room.until("both messages have come") { bea.messages.count == 2 }
    #expect(bea.messages.map(\.topic) == ["channel-7", "bytes-7"])
    #expect(bea.texts == ["Hello", "/wA="])
    try bea.send("Hi", topic: "channel-7")
    try bea.send("/wA=", topic: "bytes-7")
    var received: [Data] = []
    await room.until("both answers have come") {
      while let data = inbox?.next() { received.append(data) }
      return received.count == 2
    }
    #expect(received == [Data("Hi".utf8), Data([0xFF, 0])])
    #expect(inbox?.channel == 7)
    #expect(inbox?.sender == "bea")
    channel.close()
    try bea.send("Bye", topic: "channel-7")
    await room.run(for: .seconds(1))
    #expect(inbox?.next() == nil)
  }

  @Test(.room(as: "Ana")) func cameraIsShownAndSentAndRestsOnceNoneNeedsIt() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    let bea = try await room.join("Bea")
    let call = try await call(of: agent, in: room)
    var (made, lost): (MeetingAgent.Machine?, [String]) = (nil, [])
    agent.machine { machine, _ in made = machine }
    await room.until { made != nil }
    let machine = try #require(made)
    machine.observe { lost += $0.removed.map(\.name) }
    let device = try #require(machine.cameras.first { $0.type == .videoFrontCamera })
    let video = MeetingAgent.Video(camera: device)
    let renderer = try MeetingAgent.Renderer(video: video)
    var sizes: [Int32] = []
    renderer.frameHandler = { sizes.append($0.size.width) }
    let view = try renderer.makeView()
    await room.until("the preview shows a frame") { !sizes.isEmpty }
    #expect(sizes.count == 1)
    var isSent = false
    call.start(video) { isSent = $0 == nil }
    await room.until("the camera is sent") { isSent && bea.sees("Ana") && sends(.camera, bea) }
    #expect(video.isSent)
    call.stop(video) { _ in }
    await room.until("the camera is not sent any more") { !sends(.camera, bea) }
    let shown = view.framesRendered
    await room.until("the preview goes on") { view.framesRendered > shown }
    renderer.dispose()
    room.machine(of: "Ana").unplug(device.id)
    await room.until("the camera is gone") { lost == [device.name] }
  }

  @Test(.room(as: "Ana")) func videosThatAreStartedBeforeTheCallIsEnteredAreSent() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    let bea = try await room.join("Bea")
    let setup = MeetingAgent.Setup()
    setup.videos = [MeetingAgent.Video(camera: try #require(MeetingAgent.Machine().cameras.first))]
    let screen = MeetingAgent.Video(formats: [MeetingAgent.Format(width: 320, height: 180)])
    var (call, failures): (MeetingAgent.Call?, [(any Error)?]) = (nil, [])
    agent.start(room: room.id, setup: setup) { made, _ in
      call = made
      made?.start(screen) { failures.append($0) }
    }
    await room.until("both are sent") { sends(.camera, bea) && sends(.screen, bea) }
    await room.until("the app is told") { failures.count == 1 }
    #expect(failures.allSatisfy { $0 == nil })
    #expect(screen.isSent)
    call?.hangUp { _ in }
    await room.until("Ana has left") { bea.others.isEmpty }
    #expect(!screen.isSent)
  }

  @Test(.room(as: "Ana")) func deniedDevicesAreErrors() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    let call = try await call(of: agent, in: room)
    room.machine(of: "Ana").setPermission(.denied, .camera)
    let machine = MeetingAgent.Machine()
    let video = MeetingAgent.Video(camera: try #require(machine.cameras.first))
    let renderer = try MeetingAgent.Renderer(video: video)
    var (failures, failed): ([MeetingAgent.Failure?], Int) = ([], 0)
    renderer.handler = { _ in failed += 1 }
    _ = try renderer.makeView()
    call.start(video) { failures.append($0 as? MeetingAgent.Failure) }
    await room.until { !failures.isEmpty && failed > 0 }
    #expect(failures == [.cameraDenied])
    #expect(!video.isSent)
    call.hangUp { _ in }
    await room.until { call.state == .ended }
    room.machine(of: "Ana").setPermission(.denied, .microphone)
    var failure: (any Error)?
    agent.start(room: room.id, setup: nil) { failure = $1 }
    await room.until { failure != nil }
    #expect(failure as? MeetingAgent.Failure == .microphoneDenied)
  }

  @Test(.room(as: "Ana")) func functionsWithAwaitReturnWhatCompletionHandlersGet() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    let bea = try await room.join("Bea")
    let setup = MeetingAgent.Setup()
    setup.isMuted = true
    var (call, failure): (MeetingAgent.Call?, (any Error)?)
    let name = room.id
    Task { call = try await agent.start(room: name, setup: setup) }
    await room.until("Ana is in the call, muted") { call?.state == .connected && !sends(.microphone, bea) }
    Task { try await call?.setMuted(false) }
    await room.until("Ana is not muted") { call?.isMuted == false && sends(.microphone, bea) }
    let video = MeetingAgent.Video(formats: [MeetingAgent.Format()])
    Task { do { try await video.send(MeetingAgent.Frame()) } catch { failure = error } }
    await room.until { failure != nil }
    #expect(failure as? MeetingAgent.Failure == .notSent)
    Task { try await call?.hangUp() }
    await room.until { call?.state == .ended }
  }

  @Test func tokenThatIsNoneIsRefused() {
    #expect(throws: MeetingAgent.Failure.unauthorized) { try MeetingAgent.Credential(token: "none") }
  }

  /// Notifications are the process's: a test beside this one has another machine.
  @Test(.room(as: "Ana")) func cameraOfAnotherMachineIsNotLost() async throws {
    let room = TestRoom.current
    let machine = MeetingAgent.Machine()
    var changes: [String] = []
    machine.observe { changes += $0.added.map { "+" + $0.name } + $0.removed.map { "-" + $0.name } }
    let cameras = machine.cameras
    let other = try await TestRoom()
    other.machine(of: "Bea").unplug("front camera")
    await other.run(for: .seconds(1))
    await room.run(for: .seconds(1))
    #expect(changes == [])
    room.machine(of: "Ana").unplug("front camera")
    await room.until("the own camera is lost") { changes.count == 1 }
    #expect(machine.cameras.count == cameras.count - 1)
  }
}
