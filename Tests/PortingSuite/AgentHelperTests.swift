import Koine
import KoineTesting
import Testing

/// The files that layers ported from the call agent style need, without an app: calls that ring, their ends, and data channels.
@MainActor @Suite struct AgentHelperTests {
  private func agent(_ name: String, in room: TestRoom) async throws -> RoomAgent {
    let credential = try room.credential(.callAgent, for: name)
    let setup = CallSetup()
    setup.name = name
    let parsed = try RoomCredential(token: credential.token)
    var made: RoomAgent?
    RoomAgent().register(credential: parsed, setup: setup) { agent, _ in made = agent }
    await room.until { made != nil }
    return try #require(made)
  }

  /// Ana rings Ben.
  private func ring(in room: TestRoom) async throws -> (
    ana: RoomAgent, ben: RoomAgent, ring: IncomingRing, call: AgentCall
  ) {
    let (ana, ben) = (try await agent("Ana", in: room), try await agent("Ben", in: room))
    var incoming: IncomingRing?
    ben.handler = { ring, _ in incoming = ring }
    var call: AgentCall?
    ana.start(callees: [ben.endpoint.identity], setup: nil) { made, _ in call = made }
    await room.until { incoming != nil && call?.state == .ringing }
    return (ana, ben, try #require(incoming), try #require(call))
  }

  @Test(.room(as: "Ana")) func acceptedRingConnectsBothAndEndsWithTheOtherParticipant() async throws {
    let room = TestRoom.current
    let (ana, ben, incoming, call) = try await ring(in: room)
    #expect(incoming.callerName == "Ana")
    var answer: AgentCall?
    incoming.accept(setup: nil) { made, _ in answer = made }
    await room.until { call.state == .connected && answer?.state == .connected }
    #expect(call.others.map(\.name) == ["Ben"])
    answer?.hangUp { _ in }
    await room.until { call.state == .ended && answer?.state == .ended }
    #expect(call.end == (0, 0))
    withExtendedLifetime((ana, ben)) {}
  }

  @Test(.room(as: "Ana")) func declinedRingEndsTheCallWith603() async throws {
    let room = TestRoom.current
    let (ana, ben, incoming, call) = try await ring(in: room)
    incoming.decline { _ in }
    await room.until { call.state == .ended }
    #expect(call.end == (603, 0))
    withExtendedLifetime((ana, ben)) {}
  }

  @Test(.room(as: "Ana")) func cancelledRingIsToldToTheCalleeAndEndsWith487() async throws {
    let room = TestRoom.current
    let (ana, ben, incoming, call) = try await ring(in: room)
    var ended: Ring.State?
    incoming.handler = { state, _ in ended = state }
    call.hangUp { _ in }
    await room.until { call.state == .ended && ended != nil }
    #expect(ended == .cancelled)
    #expect(call.end == (487, 0))
    withExtendedLifetime((ana, ben)) {}
  }

  @Test(.room(as: "Ana")) func channelCarriesBytesUnderItsNumber() async throws {
    let room = TestRoom.current
    let (ana, ben, incoming, call) = try await ring(in: room)
    var (answer, inbox): (AgentCall?, RoomInbox?)
    incoming.accept(setup: nil) { made, _ in
      made?.inboxHandler = { new, _ in inbox = new }
      answer = made
    }
    await room.until { call.state == .connected && answer?.state == .connected }
    let setup = CallSetup()
    setup.channel = 20
    let channel = call.channel(setup: setup)
    channel.send(.init("one".utf8))
    channel.send(.init("two".utf8))
    var texts: [String] = []
    await room.until {
      while let data = inbox?.next() { texts.append(String(decoding: data, as: UTF8.self)) }
      return texts.count == 2
    }
    #expect(texts == ["one", "two"])
    #expect(inbox?.channel == 20)
    #expect(inbox?.sender == call.session?.localParticipant.id)
    withExtendedLifetime((ana, ben)) {}
  }

  @Test(.room(as: "Ana")) func functionsWithAwaitReturnWhatCompletionHandlersGet() async throws {
    let room = TestRoom.current
    let (ana, ben) = (try await agent("Ana", in: room), try await agent("Ben", in: room))
    var (incoming, call, answer): (IncomingRing?, AgentCall?, AgentCall?)
    ben.handler = { ring, _ in incoming = ring }
    let callee = ben.endpoint.identity
    Task { call = try await ana.start(callees: [callee], setup: nil) }
    await room.until { incoming != nil && call?.state == .ringing }
    Task { answer = try await incoming?.accept(setup: nil) }
    await room.until { call?.state == .connected && answer?.state == .connected }
    Task { try await call?.setMuted(true) }
    await room.until { answer?.others.first?.isMuted == true }
    Task { try await answer?.hangUp() }
    await room.until { call?.state == .ended && answer?.state == .ended }
    withExtendedLifetime((ana, ben)) {}
  }

  @Test(.room(as: "Ana")) func videoWithAwaitThrowsWhatItsCompletionHandlerGets() async throws {
    let room = TestRoom.current
    let ana = try await agent("Ana", in: room)
    var failure: (any Error)?
    let video = RoomVideo(formats: [VideoFormat()])
    Task { do { try await video.send(RoomFrame()) } catch { failure = error } }
    await room.until { failure != nil }
    #expect((failure as? Failure)?.code == .wrongState)
    withExtendedLifetime(ana) {}
  }

  @Test(.room(as: "Ana")) func agentReportsCallsThatBeginAndEnd() async throws {
    let room = TestRoom.current
    let ana = try await agent("Ana", in: room)
    var (changes, call): ([String], AgentCall?) = ([], nil)
    ana.callsHandler = { calls, _ in changes.append("+\(calls.added.count) -\(calls.removed.count)") }
    ana.start(room: "any", setup: nil) { made, _ in call = made }
    await room.until { call?.state == .connected }
    #expect(changes == ["+1 -0"])
    call?.hangUp { _ in }
    await room.until { call?.state == .ended }
    #expect(changes == ["+1 -0", "+0 -1"])
  }

  @Test(.room(as: "Ana")) func rendererReportsItsFirstFrameWithTheSize() async throws {
    let room = TestRoom.current
    let ana = try await agent("Ana", in: room)
    let device = try #require(ana.endpoint.world.machine.current(.camera))
    let video = RoomVideo(camera: device)
    let renderer = try RoomRenderer(video: video)
    var sizes: [Int32] = []
    renderer.frameHandler = { sizes.append($0.size.width) }
    #expect(renderer.size == (0, 0))
    let view = try renderer.makeView()
    await room.until { !sizes.isEmpty }
    #expect(sizes.count == 1)
    #expect(sizes.allSatisfy { $0 > 0 })
    renderer.dispose()
    withExtendedLifetime(view) {}
  }

  @Test func tokenThatIsNoneIsRefused() { #expect(throws: (any Error).self) { try RoomCredential(token: "none") } }

  @Test(.room(as: "Ana")) func tokenThatTheAppFetchesIsReadOnce() async throws {
    let room = TestRoom.current
    let token = try room.credential(.callAgent, for: "Ana").token
    var agents: [RoomAgent?] = [], errors: [(any Error)?] = []
    let twice = RoomCredential(initialToken: nil) { completion in
      completion(token, nil)
      completion(token, nil)
    }
    RoomAgent().register(credential: try RoomCredential(of: twice), setup: nil) { agent, _ in agents.append(agent) }
    RoomAgent().register(credential: RoomCredential { $0(nil, CancellationError()) }, setup: nil) {
      errors.append($0 == nil ? $1 : nil)
    }
    RoomAgent().register(credential: RoomCredential { $0(nil, nil) }, setup: nil) {
      errors.append($0 == nil ? $1 : nil)
    }
    await room.until { !agents.isEmpty && errors.count == 2 }
    await room.run(for: .seconds(1))
    #expect(agents.count == 1)
    #expect(agents.first??.endpoint != nil)
    #expect(errors.first as? CancellationError != nil)
    #expect(errors.last ?? nil != nil)
  }
}
