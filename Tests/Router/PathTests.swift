import KoineBase
import KoineRTP
import KoineSignaling
import KoineSimulatedNetwork
import KoineTransport
import Testing

@testable import KoineRouter

/// Layers and estimates behind the router.
struct PathTests {
  private static let bitrates = [150_000, 400_000, 1_600_000]

  /// The third congestion control target: one of three receivers has a path whose rate changes.
  @Test func receiverAdaptsToItsPathWithoutAffectingOthers() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben", "cyd", "dan")
    let start = world.now
    clients[1].wayDown = LinkConditioner(
      spec: try NetworkSpec("rate=2M,delay=20ms;10s:rate=500k;22s:rate=2M"), seed: 3, start: start)
    let publisher = LayeredPublisher(clients[0], in: world, bitrates: Self.bitrates)
    for client in clients[1...] { client.subscribe(to: "ana", "camera") }
    publisher.send(seconds: 35)
    var estimates: [Int] = []
    var layers: [[Int?]] = []
    for _ in 0..<350 {
      world.run(.milliseconds(100))
      estimates.append(clients[1].room?.member("ben")?.slot.peer.capacity ?? 0)
      layers.append(clients[1...].map { $0.layer(of: "ana") })
    }
    let delays = clients[1].passages.map { $0.delay.inMilliseconds - 20 }.sorted()
    #expect(layers[90][0] == 2)
    #expect(estimates[120] <= 500_000, "within two seconds of the fall")
    #expect(layers[120...219].allSatisfy { $0[0] ?? 2 <= 1 })
    #expect(estimates[320] >= 1_700_000 && layers[320][0] == 2, "within ten seconds of the rise")
    #expect(delays[delays.count * 95 / 100] <= 200)
    #expect(publisher.faults(in: clients[1].frames("ana", "camera")) == [])
    for (index, other) in clients[2...].enumerated() {
      #expect(other.frames("ana", "camera").count > 1_030)
      #expect(layers[20...].allSatisfy { $0[index + 1] == 2 })
      #expect(publisher.faults(in: other.frames("ana", "camera")) == [])
    }
  }

  /// The second congestion control target: layer switches under load.
  @Test(arguments: [1, 3]) func layerSwitchesAreQuickAndLoseNoFrames(temporalLayers: Int) throws {
    let world = try World()
    world.delay = .milliseconds(20)
    let seen = Lock<[Bytes]>([])
    let ben = try world.makeClient(trace: { bytes in seen.withLock { $0.append(Bytes(bytes)) } })
    ben.join("room", as: "ben")
    let others = try world.joined("ana", "cyd", "dan", "eva")
    for client in others {
      client.publish(.microphone)
      client.sendAudio("microphone", seconds: 30)
    }
    let publisher = LayeredPublisher(others[0], in: world, bitrates: Self.bitrates, temporalLayers: temporalLayers)
    publisher.send(seconds: 30)
    for client in [ben] + others[1...] { client.subscribe(to: "ana", "camera", "microphone") }
    others[2].send(.prefer([preference(1)]))
    world.run(.seconds(3))
    var waits: [[Double]] = [[], []]
    var keys: [Int] = []
    for round in 0..<24 {
      let goesUp = !round.isMultiple(of: 2)
      let before = ben.frames("ana", "camera").count
      let asked = world.now
      ben.send(.prefer([preference(goesUp ? 2 : 0)]))
      world.run(.milliseconds(900 + 7 * round))
      let frames = ben.frames("ana", "camera")[before...]
      let first = try #require(frames.first { $0.data.array[3] == (goesUp ? 2 : 0) })
      waits[goesUp ? 1 : 0].append((first.arrived - asked).inMilliseconds)
      keys.append(frames.count(where: \.isKey))
    }
    #expect(try #require(waits[0].max()) <= 200)
    #expect(try #require(waits[1].max()) <= 500)
    #expect(keys.allSatisfy { $0 == 1 })
    #expect(publisher.faults(in: ben.frames("ana", "camera")) == [])
    #expect(ben.statistics("ana", "camera")?.lost == 0)
    #expect(packetFaults(seen.withLock { $0 }) == [])
  }

  /// The estimate falls below the layer's bitrate and recovers before the smaller layer has started.
  @Test func revokedLayerSwitchContinuesFromAKeyFrame() throws {
    let world = try World()
    world.delay = .milliseconds(20)
    let clients = try world.joined("ana", "ben")
    let publisher = LayeredPublisher(clients[0], in: world, bitrates: Self.bitrates, temporalLayers: 1)
    clients[1].subscribe(to: "ana", "camera")
    publisher.send(seconds: 9)
    world.run(.seconds(6))
    let (room, ben) = (try #require(clients[1].room), try #require(clients[1].room?.member("ben")))
    let forwarder = try #require(ben.subscriptions.first)
    #expect(forwarder.current == 2)
    forwarder.upgradeBackoff.reset()  // it went up a moment ago
    let estimate = try #require(ben.layerAllocator.estimate)
    room.estimated(100_000, for: ben, at: world.now)
    #expect(forwarder.target == 0)
    world.run(.milliseconds(40))
    #expect(forwarder.current == 2, "the small one has not begun")
    room.estimated(estimate, for: ben, at: world.now)
    #expect(forwarder.target == 2)
    #expect(forwarder.needsKeyFrame)
    let before = clients[1].frames("ana", "camera").count
    world.run(.seconds(1))
    let frames = clients[1].frames("ana", "camera")
    #expect(frames.count - before > 20 && frames[before...].last?.data.array[3] == 2)
    #expect(publisher.faults(in: frames) == [])
  }

  @Test func streamIsNotLoweredToRaiseAnother() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben", "cyd", "dan")
    let rates = ["ana": 1_000_000, "ben": 1_000_000, "cyd": 700_000]
    for (client, name) in zip(clients, ["ana", "ben", "cyd"]) {
      client.publish(.camera, bitrates: [150_000, rates[name] ?? 0])
      clients[3].subscribe(to: name, "camera")
    }
    let (room, dan) = (try #require(clients[3].room), try #require(clients[3].room?.member("dan")))
    func prefer(_ layer: Int?) {
      let others = ["ana", "ben"].map { Track.ID(participant: $0, track: "camera") }
      clients[3].send(.prefer(others.map { TrackPreference(LayerPreference(layer: layer), of: $0) }))
    }
    prefer(0)
    room.estimated(1_800_000, for: dan, at: world.now)
    #expect(dan.subscriptions.map(\.target) == [0, 0, 1])
    prefer(nil)
    #expect(dan.subscriptions.map(\.target) == [0, 0, 1], "there is room for another, but not beside Cyd")
    room.estimated(2_400_000, for: dan, at: world.now)
    #expect(dan.subscriptions.map(\.target) == [1, 0, 1])
    room.estimated(1_400_000, for: dan, at: world.now)
    #expect(dan.subscriptions.map(\.target) == [1, 0, 0], "among equals the first")
  }

  /// Retransmissions, late packets and dropped frames at the same time.
  @Test(arguments: [3, 4, 5] as [UInt64]) func receiverOnLossyPathGetsOnlyDecodableFrames(seed: UInt64) throws {
    let world = try World(seed: seed)
    world.delay = .milliseconds(20)
    let clients = try world.joined("ana", "ben")
    let publisher = LayeredPublisher(clients[0], in: world, bitrates: Self.bitrates)
    clients[1].subscribe(to: "ana", "camera")
    publisher.send(seconds: 30)
    clients[1].wayDown = LinkConditioner(
      spec: try NetworkSpec("rate=250k,delay=20ms,jitter=10ms,loss=2%;8s:rate=3M;22s:rate=100k"), seed: seed,
      start: world.now)
    world.loss = 0.02
    let start = world.now
    world.run(.seconds(31))
    let frames = clients[1].frames("ana", "camera")
    #expect(publisher.faults(in: frames) == [])
    #expect(frames.count > 400)
    #expect(frames.contains { $0.data.array[3] == 2 })
    // From 3 M to 100 k bit/s: the old layer's packets must not stand in the way.
    #expect(
      frames.contains {
        $0.data.array[3] == 0 && $0.arrived > start + .seconds(22) && $0.arrived < start + .seconds(24)
      })
    let late = frames.filter { $0.arrived > world.now - .seconds(6) }
    #expect(late.count > 25, "a quarter of the pictures goes on")
    #expect(!late.contains { $0.data.array[3] == 2 })
  }

  private func preference(_ layer: Int) -> TrackPreference {
    TrackPreference(LayerPreference(layer: layer), of: Track.ID(participant: "ana", track: "camera"))
  }

  /// Finds faults in the frame numbers that a receiver on a path without loss gets.
  private func packetFaults(_ packets: [Bytes]) -> [String] {
    struct Last {
      var sequence: UInt16
      var timestamp: UInt32
      var picture: UInt16
      var tl0: UInt8
    }
    var faults: [String] = []
    var last: [UInt32: Last] = [:]
    for bytes in packets {
      guard !RTPPacket.isRTCP(bytes.readable), let packet = try? RTPPacket(parsing: bytes.readable),
        packet.payloadType == 96, !packet.payloadRange.isEmpty,
        let (descriptor, _) = try? VP8Descriptor.parse(packet.payload(in: bytes.readable)),
        let picture = descriptor.pictureID, let tl0 = descriptor.tl0PictureIndex
      else { continue }
      if let last = last[packet.ssrc] {
        if packet.sequence != last.sequence &+ 1 { faults.append("sequence \(last.sequence) → \(packet.sequence)") }
        let isNew = packet.timestamp != last.timestamp
        if picture != (isNew ? (last.picture &+ 1) & 0x7FFF : last.picture) {
          faults.append("picture \(last.picture) → \(picture)")
        }
        let isBase = isNew && descriptor.temporalLayer ?? 0 == 0
        if tl0 != (isBase ? last.tl0 &+ 1 : last.tl0) { faults.append("TL0PICIDX \(last.tl0) → \(tl0)") }
        if Int32(bitPattern: packet.timestamp &- last.timestamp) < 0 { faults.append("timestamp") }
      }
      last[packet.ssrc] = Last(sequence: packet.sequence, timestamp: packet.timestamp, picture: picture, tl0: tl0)
    }
    return faults
  }
}
