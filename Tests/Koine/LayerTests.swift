import Koine
import KoineEmbeddedBackend
import Testing

/// Two simulcast layers, and the preferences of receivers.
struct LayerTests {
  /// Ana sends 320×180 and 640×360; Ben receives.
  private struct Call {
    let world: World
    let ana, ben: Session
    let seen: Sizes

    func stream() throws -> Track.ID { try #require(ben.participants.first?.tracks.first?.id) }

    func bytes() async -> Int {
      await world.run { await ben.statistics().streams.compactMap(\.incoming).reduce(0) { $0 + $1.bytes } }
    }
  }

  private func call(
    network: String? = nil,
    options: VideoPublishOptions = VideoPublishOptions(
      maximumBitrate: 700_000,
      lowerLayers: [VideoLayer(maximumWidth: 320, maximumHeight: 180, maximumBitrate: 150_000)])
  ) async throws -> Call {
    let world = try virtualWorld(network: network)
    let ana = Session(JoinRequest(room: "tea", participantID: "ana", name: "Ana"), in: world)
    let ben = Session(JoinRequest(room: "tea", participantID: "ben", name: "Ben"), in: world)
    let seen = Sizes()
    ben.observe { [weak ben] event in
      if case .streamAdded(let stream, let owner) = event, !owner.isLocal { ben?.attach(seen, to: stream.id) }
    }
    try ana.publish(camera: Devices.camera("stamp:Ana,640x360@30"), options: options)
    ana.join { _ in }
    ben.join { _ in }
    await world.run(for: .seconds(4))
    return Call(world: world, ana: ana, ben: ben, seen: seen)
  }

  @Test func receiverOnFastPathGetsLargeLayer() async throws {
    let call = try await call()
    #expect(call.seen.last == 360)
  }

  @Test func receiverPinsLayerAndReleasesIt() async throws {
    let call = try await call()
    let stream = try call.stream()
    call.ben.setPreference(LayerPreference(layer: 0), for: stream)
    await call.world.run(for: .seconds(1))
    #expect(call.seen.last == 180)
    #expect(call.ben.tiles.first { $0.stream == stream }?.height == 180)
    call.ben.setPreference(LayerPreference(), for: stream)
    await call.world.run(for: .seconds(2))
    #expect(call.seen.last == 360)
    let numbers = call.seen.numbers
    #expect(numbers == numbers.sorted())
  }

  @Test func receiverWithSmallViewGetsSmallLayer() async throws {
    let call = try await call()
    call.ben.setPreference(LayerPreference(maximumHeight: 120), for: try call.stream())
    await call.world.run(for: .seconds(1))
    #expect(call.seen.last == 180)
  }

  @Test func pausedStreamIsNotReceivedUntilResumed() async throws {
    let call = try await call()
    let stream = try call.stream()
    call.ben.pause(stream)
    await call.world.run(for: .milliseconds(500))
    #expect(call.ben.tiles.first { $0.stream == stream }?.pause == .requested)
    let (frames, bytes) = (call.seen.count, await call.bytes())
    await call.world.run(for: .seconds(2))
    #expect(call.seen.count == frames)
    #expect(await call.bytes() == bytes)
    call.ben.resume(stream)
    await call.world.run(for: .seconds(1))
    #expect(call.ben.tiles.first { $0.stream == stream }?.pause == nil)
    #expect(call.seen.count > frames + 20)
  }

  @Test func lowConnectionQualityIsReportedToRemoteParticipants() async throws {
    let call = try await call(network: "delay=10ms;5s:loss=15%")
    let told = Lock<[ConnectionQuality.Level]>([])
    call.ben.observe { event in
      if case .qualityChanged(let changes) = event, let quality = changes["ana"] {
        told.withLock { $0.append(quality) }
      }
    }
    await call.world.run(for: .seconds(5))
    #expect(told.withLock { $0.contains(.low) })
    #expect(call.ana.state == .connected)
  }

  /// The stamp's large layer takes some 200 kbit/s.
  @Test func receiverOnSlowPathGetsSmallLayer() async throws {
    let call = try await call(network: "delay=10ms;3s:rate=150k")
    await call.world.run(for: .seconds(12))
    #expect(call.seen.last == 180)
    let before = call.seen.count
    await call.world.run(for: .seconds(3))
    #expect(call.seen.count > before + 60)
    #expect(call.ben.state == .connected)
  }

  @Test(arguments: [Codec.vp8, .vp9]) func receiverOnSlowPathGetsReducedFrameRate(codec: Codec) async throws {
    let call = try await call(
      network: "delay=10ms;5s:rate=200k;20s:rate=4M",
      options: VideoPublishOptions(codec: codec, maximumBitrate: 400_000, temporalLayers: 3))
    await call.world.run(for: .seconds(9))
    let before = call.seen.count
    await call.world.run(for: .seconds(5))
    let numbers = call.seen.numbers
    #expect(numbers == numbers.sorted())
    #expect(call.seen.count > before + 30, "\(call.seen.count - before) in 5 s")
    await call.world.run(for: .seconds(12))
    let later = call.seen.count
    await call.world.run(for: .seconds(2))
    #expect(call.seen.count >= later + 56, "all of them again: \(call.seen.count - later) in 2 s")
  }

  @Test func receiverSwitchesAmongThreeSpatialAndTemporalLayers() async throws {
    let layers = [
      VideoLayer(maximumWidth: 160, maximumHeight: 90, maximumBitrate: 80_000),
      VideoLayer(maximumWidth: 320, maximumHeight: 180, maximumBitrate: 200_000),
    ]
    let call = try await call(
      options: VideoPublishOptions(maximumBitrate: 700_000, lowerLayers: layers, temporalLayers: 3))
    #expect(call.seen.last == 360)
    let stream = try call.stream()
    for (layer, height) in [(1, 180), (0, 90), (2, 360), (0, 90), (1, 180)] {
      call.ben.setPreference(LayerPreference(layer: layer), for: stream)
      await call.world.run(for: .milliseconds(700))
      #expect(call.seen.last == height)
    }
    let numbers = call.seen.numbers
    #expect(numbers == numbers.sorted())  // where layers change a picture may come in both
    #expect(numbers.count > 200)
  }

  @Test func layersWithoutReceiversAreNotEncoded() async throws {
    let call = try await call()
    let stream = try call.stream()
    call.ben.setPreference(LayerPreference(layer: 0), for: stream)
    await call.world.run(for: .seconds(4))
    func sent() async -> Int {
      await call.world.run { await call.ana.statistics().streams.compactMap(\.outgoing).reduce(0) { $0 + $1.bytes } }
    }
    let before = await sent()
    await call.world.run(for: .seconds(4))
    #expect(await sent() - before < 150_000 * 5 / 8, "no more than the small layer takes")
    call.ben.setPreference(LayerPreference(), for: stream)
    await call.world.run(for: .milliseconds(500))
    #expect(call.seen.last == 360)
    call.ben.unsubscribe(from: stream)
    await call.world.run(for: .seconds(3))
    let idle = await sent()
    await call.world.run(for: .seconds(3))
    #expect(await sent() == idle)
    let count = call.seen.count
    call.ben.subscribe(to: stream)
    await call.world.run(for: .seconds(1))
    #expect(call.seen.count > count + 20)
  }

  @Test func participantIsRemovedAndRoomIsClosed() async throws {
    let call = try await call()
    let eva = Session(JoinRequest(room: "tea", participantID: "eva", name: "Eva"), in: call.world)
    eva.join { _ in }
    await call.world.run(for: .milliseconds(300))
    call.ana.remove("eva")
    await call.world.run(for: .milliseconds(300))
    #expect(eva.state == .ended(.removed))
    #expect(call.ben.participants.map(\.id) == ["ana"])
    call.ana.closeRoom()
    await call.world.run(for: .milliseconds(300))
    #expect(call.ana.state == .ended(.roomClosed))
    #expect(call.ben.state == .ended(.roomClosed))
  }
}

/// Heights and numbers of the received frames.
final class Sizes: VideoSink, Sendable {
  private let seen = Lock<[(height: Int, number: Int?)]>([])
  var last: Int? { seen.withLock { $0.last?.height } }
  var count: Int { seen.withLock { $0.count } }
  var numbers: [Int] { seen.withLock { $0.compactMap(\.number) } }

  func render(_ frame: VideoFrame) {
    let number = StampReader.read(frame).map { Int($0.number) }
    seen.withLock { $0.append((frame.height, number)) }
  }
}
