import Koine
import Testing

/// Requests to a session that has ended.
@Suite struct EndTests {
  @Test func eventSequenceOfEndedSessionEndsImmediately() async throws {
    let world = try virtualWorld()
    let session = Session(JoinRequest(room: "tea", name: "Ana"), in: world)
    session.join { _ in }
    await world.run(for: .seconds(1))
    session.leave {}
    await world.run(for: .seconds(1))
    #expect(session.state.isEnded)
    for await event in session.events() { Issue.record("\(event) after the end") }
  }

  @Test func eventSequenceOfEndedEndpointEndsImmediately() async throws {
    let world = try virtualWorld()
    let endpoint = Endpoint(identity: "ana", in: world)
    endpoint.register { _ in }
    await world.run(for: .seconds(1))
    endpoint.unregister {}
    await world.run(for: .seconds(1))
    for await event in endpoint.events() { Issue.record("\(event) after the end") }
  }

  @Test func tilesDoNotChangeAfterTheSessionHasEnded() async throws {
    let world = try virtualWorld()
    let (ana, ben) = (
      Session(JoinRequest(room: "tea", name: "Ana"), in: world),
      Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    )
    let stream = try ana.publish(camera: Devices.camera("stamp:Ana,320x180@15"))
    for session in [ana, ben] { session.join { _ in } }
    await world.run(for: .seconds(1))
    let id = try #require(ben.tiles.first { !$0.isLocal }?.stream)
    #expect(id.track == stream.id.track)
    ben.leave {}
    await world.run(for: .seconds(1))
    let tiles = ben.tiles
    ben.unsubscribe(from: id)
    ben.subscribe(to: id)
    ben.unsubscribe(from: id)
    ben.pause(id)
    await world.run(for: .seconds(1))
    #expect(ben.tiles == tiles)
  }
}

/// The client refuses requests that are longer than the router accepts.
@Suite struct SizeLimitTests {
  private let long = String(repeating: "κ", count: 129)

  @Test(arguments: ["room", "name", "id", "attribute"]) func joinWithTooLongFieldIsRefused(_ what: String)
    async throws
  {
    let world = try virtualWorld()
    var request = JoinRequest(room: "tea", name: "Ana")
    switch what {
    case "room": request.room = long
    case "name": request.name = long
    case "id": request.participantID = long
    default: request.attributes = ["a": String(repeating: "a", count: 5_000)]
    }
    let session = Session(request, in: world)
    let answer = Lock<Failure.Code?>(nil)
    session.join { if case .failure(let error) = $0 { answer.withLock { $0 = error.code } } }
    await world.run(for: .seconds(1))
    #expect(answer.withLock { $0 } == .tooLarge)
    #expect(session.state.isEnded)
  }

  @Test func messageWithTooLongTopicOrRecipientsIsNotSent() async throws {
    let world = try virtualWorld()
    let (ana, ben) = (
      Session(JoinRequest(room: "tea", name: "Ana"), in: world),
      Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    )
    let heard = Lock<[String]>([])
    ben.observe { event in if case .messageReceived(let message) = event { heard.withLock { $0.append(message.topic) } }
    }
    for session in [ana, ben] { session.join { _ in } }
    await world.run(for: .seconds(1))
    for (topic, recipients) in [
      (long, nil), ("t", [long]), ("t", (0..<257).map { "\($0)" }),
    ] as [(String, [String]?)] {
      let error = #expect(throws: Failure.self) {
        try ana.send(DataMessage(topic: topic, payload: [], to: recipients))
      }
      #expect(error?.code == .tooLarge)
    }
    try ana.send(DataMessage(topic: "t", payload: []))
    await world.run(for: .seconds(1))
    #expect(heard.withLock { $0 } == ["t"])
  }
}

/// Invalid publish options throw, and affect nothing else.
@Suite struct InvalidOptionsTests {
  private func problem(_ change: (inout VideoPublishOptions) -> Void) throws -> Failure? {
    let world = try virtualWorld()
    var options = VideoPublishOptions()
    change(&options)
    let session = Session(JoinRequest(room: "tea", name: "Ana"), in: world)
    do throws(Failure) {
      _ = try session.publish(camera: Devices.silentCamera, options: options)
      return nil
    } catch {
      return error
    }
  }

  @Test func invalidVideoOptionsThrow() throws {
    func layer(_ width: Int = 320, _ bitrate: Int = 100_000, _ rate: Double = 30) -> VideoLayer {
      VideoLayer(maximumWidth: width, maximumHeight: 180, maximumBitrate: bitrate, maximumFramesPerSecond: rate)
    }
    #expect(try problem { _ in } == nil)
    #expect(try problem { $0.lowerLayers = [layer()] } == nil)
    let bad: [(inout VideoPublishOptions) -> Void] = [
      { $0.maximumFramesPerSecond = 0 }, { $0.maximumFramesPerSecond = -.infinity },
      { $0.maximumFramesPerSecond = .nan },
      { $0.maximumBitrate = .max }, { $0.maximumBitrate = 0 }, { $0.minimumBitrate = .min },
      { $0.minimumBitrate = .max },
      { $0.maximumWidth = 0 }, { $0.maximumHeight = .max }, { $0.lowerLayers = [layer(0)] },
      { $0.lowerLayers = [layer(320, .max)] }, { $0.lowerLayers = [layer(320, 100_000, 0)] },
      { $0.lowerLayers = Array(repeating: layer(), count: 4) },
    ]
    for (number, change) in bad.enumerated() {
      #expect(try problem(change)?.code == .invalidOptions, "number \(number)")
    }
  }

  @Test func invalidAudioOptionsAndChannelCountsThrow() throws {
    let session = Session(JoinRequest(room: "tea", name: "Ana"), in: try virtualWorld())
    for bitrate in [Int.min, 0, .max] {
      #expect(throws: Failure.self) {
        try session.publish(microphone: Devices.microphone("silence"), options: AudioPublishOptions(bitrate: bitrate))
      }
    }
    #expect(throws: Failure.self) { try session.publish(microphone: OddMicrophone(channels: 0)) }
    #expect(throws: Failure.self) { try session.publish(microphone: OddMicrophone(channels: 3)) }
  }

  /// Only blocks with too few samples are dropped.
  @Test func audioBlocksOfTheWrongSizeAreNotSent() async throws {
    let world = try virtualWorld()
    let session = Session(JoinRequest(room: "tea", name: "Ana"), in: world)
    try session.publish(microphone: SharedMicrophone(OddMicrophone(channels: 1), in: world).makeSource())
    try session.publish(microphone: OddMicrophone(channels: 2), as: .screenSound)
    session.join { _ in }
    await world.run(for: .seconds(2))
    #expect(session.state == .connected)
    var short = AudioBlock(channels: 2, captured: .zero)
    short.samples.removeLast()
    #expect(!short.isWhole)
    #expect(short.with(channels: 1).samples == Array(repeating: 0, count: AudioBlock.length))
    let figures = await world.run { await session.statistics() }
    for stream in figures.streams { #expect((stream.outboundRTP?.packetsSent ?? 0) == 0) }
  }
}

extension Devices {
  fileprivate static var silentCamera: any VideoSource { BrokenCamera() }
}

/// Delivers blocks that are one sample short.
private final class OddMicrophone: AudioSource, Sendable {
  let channels: Int
  init(channels: Int) { self.channels = channels }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    let channels = channels
    for _ in 0..<20 {
      lane.post {
        var block = AudioBlock(channels: channels, captured: lane.scheduler.now)
        block.samples.removeLast()
        deliver(block)
      }
    }
  }

  func stop() {}
}
