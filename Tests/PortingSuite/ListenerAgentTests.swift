import CoreVideo
import Foundation
import Koine
import KoineAppServers
import KoineTesting
import Testing
import UIKit

/// The files that layers ported from the call agent style to the event listener style need, without an app: calls, rings of the app's own
/// server, videos, views, and data channels.
@MainActor @Suite struct ListenerAgentTests {
  private func token(of name: String, in room: TestRoom) throws -> String {
    try ServerAnswer(.eventListener, in: room, for: name).text(forAppOf: .callAgent)
  }

  private func agent(in room: TestRoom) async throws -> ListenerAgent {
    let credential = try ListenerAgent.Credential(token: try token(of: "Ana", in: room))
    var made: ListenerAgent?
    ListenerAgent().register(credential: credential, setup: nil) { agent, _ in made = agent }
    await room.until { made != nil }
    return try #require(made)
  }

  /// Whether a person's room has a stream of Ana's that is not muted.
  private func sends(_ kind: Track.Kind, _ person: Person) -> Bool {
    person.participant("Ana")?.tracks.contains { $0.kind == kind && !$0.isMuted } == true
  }

  private func call(
    of agent: ListenerAgent, in room: TestRoom, _ setup: ListenerAgent.Setup? = nil
  ) async throws -> ListenerAgent.Call {
    var call: ListenerAgent.Call?
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
    var made: ListenerAgent.Call?
    agent.start(room: room.id, setup: nil) { call, _ in
      made = call
      call?.agentHandler = { event, _ in
        switch event {
        case .personJoined(let person): lines.append("\(person.displayName) joined\(person.isMuted ? ", muted" : "")")
        case .personLeft(let person): lines.append("\(person.displayName) left")
        case .muted(let person): lines.append("\(person.displayName) is \(person.isMuted ? "" : "not ")muted")
        case .streamAdded(let stream, let person):
          lines.append("\(stream.streamKind) \(stream.number) of \(person.displayName)")
        case .streamRemoved(let stream, let person):
          lines.append("no \(stream.streamKind) \(stream.number) of \(person.displayName)")
        case .stateChanged, .microphoneMuted, .speakerChanged: break
        }
      }
    }
    await room.until("Bea is known") { !lines.isEmpty }
    let call = try #require(made)
    await room.until("Bea's camera is known") { call.others.first?.videos.isEmpty == false }
    #expect(lines.first == "Bea joined, muted")
    let number = try #require(call.others.first?.videos.first?.number)
    #expect(lines.last == "camera \(number) of Bea")
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
    var call: ListenerAgent.Call?
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
    #expect(failure as? ListenerAgent.Failure == .duplicate)
    var isLeft = false
    call.hangUp { isLeft = $0 == nil }
    await room.until { isLeft }
    #expect(call.state == .ended)
    #expect(call.end == (0, 0))
  }

  @Test(.room(as: "Ana")) func calledUserConnectsTheCallAndEndsItByLeaving() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    var (rung, call): ([String], ListenerAgent.Call?) = ([], nil)
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
    var (call, failure): (ListenerAgent.Call?, (any Error)?)
    agent.start(callees: ["bea"], setup: nil) { failure = $1 }
    await room.until { failure != nil }
    #expect(failure as? ListenerAgent.Failure == .notRung)
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
    var (rings, answers, missed): ([ListenerAgent.Ring], [ListenerAgent.Ring.State], Int) = ([], [], 0)
    agent.handler = { ring, _ in rings.append(ring) }
    for _ in 0..<3 {
      let ring = ListenerAgent.Ring(caller: "bea", callerName: "Bea", token: try token(of: "Ana", in: room))
      ring.handler = { state, _ in if state == .missed { missed += 1 } }
      ring.answered = { answers.append($0) }
      agent.receive(ring)
    }
    #expect(rings.map(\.callerName) == ["Bea", "Bea", "Bea"])
    rings[0].decline { _ in }
    rings[1].miss()
    #expect(missed == 1)
    var (call, failure): (ListenerAgent.Call?, (any Error)?)
    rings[1].accept(setup: nil) { failure = $1 }
    rings[2].accept(setup: nil) { made, _ in call = made }
    await room.until { call?.state == .connected && failure != nil }
    #expect(failure as? ListenerAgent.Failure == .ended)
    #expect(answers == [.declined, .accepted])
  }

  @Test(.room(as: "Ana")) func channelCarriesTextsAndBytesUntilItIsClosed() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    let call = try await call(of: agent, in: room)
    let bea = try await room.join("Bea")
    let setup = ListenerAgent.Setup()
    setup.channel = 7
    let channel = call.channel(setup: setup)
    var inbox: ListenerAgent.Inbox?
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

  @Test(.room(as: "Ana")) func cameraIsShownWhileTheMeetingSendsIt() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    let bea = try await room.join("Bea")
    let call = try await call(of: agent, in: room)
    var (made, lost): (ListenerAgent.Machine?, [String]) = (nil, [])
    agent.machine { machine, _ in made = machine }
    await room.until { made != nil }
    let machine = try #require(made)
    machine.observe { lost += $0.removed.map(\.name) }
    let device = try #require(machine.cameras.first { $0.position == .front })
    let video = ListenerAgent.Video(camera: device)
    let renderer = try ListenerAgent.Renderer(video: video)
    var sizes: [Int32] = []
    renderer.frameHandler = { sizes.append($0.size.width) }
    let view = try renderer.makeView()
    await room.run(for: .seconds(1))
    #expect(sizes.isEmpty)
    var isSent = false
    call.start(video) { isSent = $0 == nil }
    await room.until("the camera is sent and shown") {
      isSent && bea.sees("Ana") && sends(.camera, bea) && view.framesRendered > 0
    }
    #expect(video.isSent)
    #expect(sizes.count == 1)
    call.stop(video) { _ in }
    await room.until("the camera is not sent any more") { !sends(.camera, bea) }
    call.start(video) { _ in }
    let shown = view.framesRendered
    await room.until("the camera is shown again") { view.framesRendered > shown }
    renderer.dispose()
    await room.run(for: .milliseconds(200))
    let last = view.framesRendered
    await room.run(for: .seconds(1))
    #expect(view.framesRendered == last)
    room.machine(of: "Ana").unplug(device.id)
    await room.until("the camera is gone") { lost == [device.name] }
  }

  @Test(.room(as: "Ana")) func videosThatAreStartedBeforeTheCallIsEnteredAreSent() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    let bea = try await room.join("Bea")
    let setup = ListenerAgent.Setup()
    setup.videos = [ListenerAgent.Video(camera: try #require(ListenerAgent.Machine().cameras.first))]
    let screen = ListenerAgent.Video(formats: [ListenerAgent.Format(width: 320, height: 180)])
    var (call, failures): (ListenerAgent.Call?, [(any Error)?]) = (nil, [])
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
    let machine = ListenerAgent.Machine()
    let video = ListenerAgent.Video(camera: try #require(machine.cameras.first))
    var failures: [ListenerAgent.Failure?] = []
    call.start(video) { failures.append($0 as? ListenerAgent.Failure) }
    await room.until { !failures.isEmpty }
    #expect(failures == [.cameraDenied])
    #expect(!video.isSent)
    call.hangUp { _ in }
    await room.until { call.state == .ended }
    room.machine(of: "Ana").setPermission(.denied, .microphone)
    var failure: (any Error)?
    agent.start(room: room.id, setup: nil) { failure = $1 }
    await room.until { failure != nil }
    #expect(failure as? ListenerAgent.Failure == .microphoneDenied)
  }

  @Test(.room(as: "Ana")) func functionsWithAwaitReturnWhatCompletionHandlersGet() async throws {
    let room = TestRoom.current
    let agent = try await agent(in: room)
    let bea = try await room.join("Bea")
    let setup = ListenerAgent.Setup()
    setup.isMuted = true
    var (call, failure): (ListenerAgent.Call?, (any Error)?)
    let name = room.id
    Task { call = try await agent.start(room: name, setup: setup) }
    await room.until("Ana is in the call, muted") { call?.state == .connected && !sends(.microphone, bea) }
    Task { try await call?.setMuted(false) }
    await room.until("Ana is not muted") { call?.isMuted == false && sends(.microphone, bea) }
    let video = ListenerAgent.Video(formats: [ListenerAgent.Format()])
    Task { do { try await video.send(ListenerAgent.Frame()) } catch { failure = error } }
    await room.until { failure != nil }
    #expect(failure as? ListenerAgent.Failure == .notSent)
    Task { try await call?.hangUp() }
    await room.until { call?.state == .ended }
  }

  @Test func tokenThatIsNoneIsRefused() {
    #expect(throws: ListenerAgent.Failure.unauthorized) { try ListenerAgent.Credential(token: "none") }
  }

  @Test(.room(as: "Ana")) func tokenThatTheAppFetchesIsReadOnce() async throws {
    let room = TestRoom.current
    let token = try token(of: "Ana", in: room)
    var agents: [ListenerAgent?] = [], errors: [(any Error)?] = []
    let twice = ListenerAgent.Credential { completion in
      completion(token, nil)
      completion(token, nil)
    }
    ListenerAgent().register(credential: twice, setup: nil) { agent, _ in agents.append(agent) }
    let bad = ListenerAgent.Credential(initialToken: "none") { $0(token, nil) }
    ListenerAgent().register(credential: bad, setup: nil) { errors.append($0 == nil ? $1 : nil) }
    await room.until { !agents.isEmpty && !errors.isEmpty }
    await room.run(for: .seconds(1))
    #expect(agents.count == 1)
    #expect(agents.first.map { $0 != nil } == true)
    #expect(errors.first as? ListenerAgent.Failure == .unauthorized)
  }

  /// A meeting cannot change to a camera that is at neither side.
  @Test(.room(as: "Ana")) func otherCamerasAreListedOnlyWithoutThoseOfTheSides() async throws {
    let room = TestRoom.current
    let machine = ListenerAgent.Machine()
    var changes: [String] = []
    machine.observe { changes += $0.added.map { "+" + $0.name } + $0.removed.map { "-" + $0.name } }
    let sides = machine.cameras.map(\.id)
    #expect(sides.count == 2)
    room.machine(of: "Ana").plugIn(
      Koine.Machine.Device(id: "desk", kind: .camera, name: "Desk camera", source: "stamp:Desk,320x180@5"))
    await room.run(for: .seconds(1))
    #expect(machine.cameras.map(\.id) == sides && changes == [])
    for id in sides { room.machine(of: "Ana").unplug(id) }
    await room.until("the desk's camera is the only one") { machine.cameras.map(\.name) == ["Desk camera"] }
    await room.until("the app is told of it") { changes.contains("+Desk camera") }
    #expect(changes.count == 3, "\(changes)")
  }
}
