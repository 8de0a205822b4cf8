import KoineBase
import KoineRTP
import KoineSignaling
import KoineSimulatedNetwork
import KoineTransport
import Testing

@testable import KoineRouter

/// Layers offered by name only, as in SDP: the router learns their bitrates and sizes from their packets.
@Suite struct UnannouncedLayerTests {
  private static let bitrates = [100_000, 350_000, 1_100_000]

  /// The path of `Scripts/check-browsers` between two Chromiums: 2 Mbit/s, then 0.5, then 2 again.
  @Test(arguments: [1, 2, 3] as [UInt64]) func receiverOnNarrowPathGetsFewSwitchesAndRecoversFullSize(seed: UInt64)
    throws
  {
    let world = try World(seed: seed)
    world.delay = .milliseconds(10)
    let clients = try world.joined("ana", "ben")
    let publisher = LayeredPublisher(
      clients[0], in: world, bitrates: Self.bitrates, temporalLayers: 1, announcesLimits: false)
    clients[1].subscribe(to: "ana", "camera")
    publisher.send(seconds: 60)
    clients[1].wayDown = LinkConditioner(
      spec: try NetworkSpec("rate=2M,delay=10ms;15s:rate=500k;40s:rate=2M"), seed: seed, start: world.now)
    let start = world.now
    world.run(.seconds(55))
    let frames = clients[1].frames("ana", "camera")
    func layers(_ from: Duration, _ to: Duration) -> [Int] {
      frames.filter { $0.arrived >= start + from && $0.arrived < start + to }.map { Int($0.data.array[3]) }
    }
    #expect(layers(.seconds(10), .seconds(15)).allSatisfy { $0 == 2 })
    let narrow = layers(.seconds(15), .seconds(40))
    let changes = zip(narrow, narrow.dropFirst()).count { $0 != $1 }
    #expect(changes <= 4, "\(changes) changes")
    #expect(narrow.count > 400)
    let keys = frames.count { $0.isKey && $0.arrived >= start + .seconds(15) && $0.arrived < start + .seconds(40) }
    #expect(keys <= 6, "\(keys) key frames")
    #expect(layers(.seconds(43), .seconds(55)).contains(2), "full size within 3 s")
    #expect(layers(.seconds(43), .seconds(44)).contains(2))
    #expect(publisher.faults(in: frames) == [])
  }

  @Test func layerKeepsTheRateItHadWhenItWasLastSent() {
    var meter = LayerMeter()
    for second in 1...5 {
      meter.bytes += 50_000
      meter.measure(at: Tick.zero + .milliseconds(500 * second))
    }
    #expect(meter.bitrate == 800_000)
    for second in 6...20 { meter.measure(at: Tick.zero + .milliseconds(500 * second)) }
    #expect(meter.bitrate == nil)
    #expect(meter.lastBitrate == 800_000)
  }

  /// Sends VP8 frames. The header of a key frame contains the frame size (RFC 6386, 9.1), so its fourth byte cannot be the layer.
  /// - Parameter heights: the frame height of each layer, in pixels; nil: the layer is not sent.
  private func send(_ client: Client, in world: World, heights: [Int?], seconds: Double) {
    world.every(.milliseconds(50), times: Int(seconds * 20)) { step in
      guard let sender = client.sender("camera") else { return }
      for case (let layer, let height?) in heights.enumerated() {
        let isKey = step == 0 || client.keyFramesWanted.remove(layer) != nil
        let width = height * 16 / 9
        var bytes = [UInt8](repeating: UInt8(layer), count: 200 << layer)
        bytes[0] = isKey ? 0x10 : 0x11
        if isKey {
          bytes.replaceSubrange(
            3..<10,
            with: [0x9D, 0x01, 0x2A, UInt8(width & 255), UInt8(width >> 8), UInt8(height & 255), UInt8(height >> 8)])
        }
        client.peer.send(
          EncodedFrame(
            codec: .vp8, data: Bytes(bytes), captured: world.now,
            rtpTimestamp: UInt32(truncatingIfNeeded: world.now.nanoseconds / 100_000 * 9), isKey: isKey,
            layer: UInt8(layer)), on: sender, at: world.now)
      }
      world.drain()
    }
  }

  /// Ana changes to a camera of half the height while only the largest layer is sent.
  @Test func frameHeightsOfANewCameraReplaceTheKnownOnes() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera, bitrates: Self.bitrates, announcesLimits: false)
    clients[1].subscribe(to: "ana", "camera")
    send(clients[0], in: world, heights: [180, 360, 720], seconds: 3)
    world.run(.seconds(3))
    send(clients[0], in: world, heights: [nil, nil, 360], seconds: 5)
    world.run(.seconds(3))
    let camera = Track.ID(participant: "ana", track: "camera")
    let track = try #require(clients[1].room?.track(camera))
    #expect(track.layers.indices.map { track.height(of: $0) } == [90, 180, 360])
    clients[1].send(.prefer([TrackPreference(LayerPreference(maximumHeight: 360), of: camera)]))
    world.run(.seconds(1))
    #expect(clients[1].room?.member("ben")?.subscriptions.first?.target == 2)
  }

  @Test(arguments: [(90, 0), (180, 0), (181, 1), (360, 1), (400, 2), (2_000, 2)])
  func tileGetsTheSmallestLayerThatFillsIt(rows: Int, layer: Int) throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera, bitrates: Self.bitrates, announcesLimits: false)
    clients[1].subscribe(to: "ana", "camera")
    send(clients[0], in: world, heights: [180, 360, 720], seconds: 10)
    world.run(.seconds(3))
    clients[1].send(
      .prefer([TrackPreference(LayerPreference(maximumHeight: rows), of: .init(participant: "ana", track: "camera"))]))
    world.run(.seconds(5))
    let room = try #require(clients[1].room)
    #expect(room.track(.init(participant: "ana", track: "camera"))?.layers.map(\.height) == [180, 360, 720])
    let forwarder = try #require(room.member("ben")?.subscriptions.first)
    #expect(forwarder.current == layer)
  }
}
