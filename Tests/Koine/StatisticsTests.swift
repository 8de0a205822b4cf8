import Foundation
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing

/// Statistics under the W3C's names match the media that was actually sent and received.
struct StatisticsTests {
  private func call(_ network: String?, seconds: Int) async throws -> (ana: SessionStatistics, ben: SessionStatistics) {
    let world = try virtualWorld(network: network)
    let (ana, ben) = (
      Session(JoinRequest(room: "tea", name: "Ana"), in: world),
      Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    )
    try ana.publish(camera: Devices.camera("stamp:Ana,320x180@30"))
    try ana.publish(microphone: Devices.microphone("tone"))
    for session in [ana, ben] { session.join { _ in } }
    await world.run(for: .seconds(seconds))
    return await (world.run { await ana.statistics() }, world.run { await ben.statistics() })
  }

  @Test func senderAndReceiverStatisticsAgreeOnCleanLink() async throws {
    let (ana, ben) = try await call("delay=25ms", seconds: 10)
    let sent = try #require(ana.streams.compactMap(\.outboundRTP).first { $0.kind == "video" })
    let received = try #require(ben.streams.compactMap(\.inboundRTP).first { $0.kind == "video" })
    #expect(received.packetsLost == 0)
    #expect(received.nackCount == 0)
    #expect(sent.retransmittedPacketsSent == 0)
    #expect(
      abs(sent.packetsSent - received.packetsReceived) <= 30, "what was sent before the path stood, or is on its way")
    let encoded = try #require(sent.framesEncoded)
    #expect((270...302).contains(encoded))
    #expect((29...31).contains(try #require(sent.framesPerSecond)))
    #expect((270...300).contains(try #require(received.framesDecoded)))
    #expect(received.framesDecoded == received.framesReceived)
    #expect(received.framesDropped == 0)
    #expect(try #require(received.keyFramesDecoded) >= 1 && received.freezeCount == 0)
    let decodeTime = try #require(received.totalDecodeTime)
    let video = try #require(ben.streams.compactMap(\.video).first)
    #expect(decodeTime > 0)
    #expect(decodeTime == video.decodeTime)
    #expect(video.decodeCPU > 0)
    #expect(video.decodeCPU < decodeTime * 1.1 + 0.01, "no other thread decodes")
    #expect(received.totalFreezesDuration == 0)
    #expect(received.frameWidth == 320)
    #expect(received.frameHeight == 180)
    let remote = try #require(ana.streams.compactMap(\.remoteInboundRTP).first { $0.kind == "video" })
    #expect(remote.fractionLost == 0)
    #expect(remote.packetsLost == 0)
    #expect(remote.jitter < 0.01)
    #expect((0.045...0.06).contains(try #require(remote.roundTripTime)))
    #expect((0.045...0.06).contains(try #require(ana.candidatePair.currentRoundTripTime)))
    #expect(ana.candidatePair.bytesSent > sent.bytesSent)
    #expect(ben.candidatePair.bytesReceived > received.bytesReceived)
    let sound = try #require(ben.streams.compactMap(\.inboundRTP).first { $0.kind == "audio" })
    #expect((430_000...480_000).contains(try #require(sound.totalSamplesReceived)))
    #expect(sound.concealmentEvents == 0)
  }

  @Test func packetLossAppearsInAllStatistics() async throws {
    let (ana, ben) = try await call("loss=10%,delay=20ms,jitter=10ms", seconds: 15)
    let sent = try #require(ana.streams.compactMap(\.outboundRTP).first { $0.kind == "video" })
    let received = try #require(ben.streams.compactMap(\.inboundRTP).first { $0.kind == "video" })
    #expect(sent.nackCount > 10)
    #expect(sent.retransmittedPacketsSent > 10)
    #expect(received.nackCount > 10)
    #expect(received.retransmittedPacketsReceived > 10)
    let remote = try #require(ana.streams.compactMap(\.remoteInboundRTP).first { $0.kind == "audio" })
    #expect(remote.fractionLost < 0.4)
    #expect(remote.jitter > 0.001)
    #expect(remote.jitter < 0.02)
    let sound = try #require(ben.streams.compactMap(\.inboundRTP).first { $0.kind == "audio" })
    #expect(try #require(sound.concealmentEvents) <= (try #require(sound.concealedSamples)) / 100 + 1)
  }

  @Test func networkGapIsReportedAsFreezeOfItsLength() async throws {
    let world = try virtualWorld()
    let (ana, ben) = (
      Session(JoinRequest(room: "tea", name: "Ana"), in: world),
      Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    )
    try ana.publish(camera: Devices.camera("stamp:Ana,320x180@30"))
    for session in [ana, ben] { session.join { _ in } }
    await world.run(for: .seconds(4))
    (world.backend as? EmbeddedBackend)?.cutNetwork(of: "Ben", for: .seconds(2))
    await world.run(for: .seconds(6))
    let figures = await world.run { await ben.statistics() }
    let received = try #require(figures.streams.compactMap(\.inboundRTP).first)
    #expect(try #require(received.freezeCount) >= 1)
    #expect((1.8...3.5).contains(try #require(received.totalFreezesDuration)))
  }

  @Test(arguments: [Codec.vp8, .vp9])
  func codecStatisticsNameTheCodecInUse(codec: Codec) async throws {
    let world = try virtualWorld()
    let (ana, ben) = (
      Session(JoinRequest(room: "tea", name: "Ana"), in: world),
      Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    )
    try ana.publish(camera: Devices.camera("stamp:Ana,160x90@10"), options: VideoPublishOptions(codec: codec))
    try ana.publish(microphone: Devices.microphone("tone"))
    for session in [ana, ben] { session.join { _ in } }
    await world.run(for: .seconds(1))
    for session in [ana, ben] {
      let figures = await world.run { await session.statistics() }.streams.compactMap(\.codecStatistics)
      #expect(figures.map(\.mimeType).sorted() == ["audio/opus", "video/\(codec.rawValue)"])
      #expect(figures.map(\.clockRate).sorted() == [48_000, 90_000])
    }
  }

  @Test func qualityLimitationReasonAndDurationAreReported() async throws {
    let world = try virtualWorld()
    let ana = Session(JoinRequest(room: "tea", participantID: "ana", name: "Ana"), in: world)
    let ben = Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    try ana.publish(camera: Devices.camera("pattern:640x360@15"), options: VideoPublishOptions(maximumBitrate: 800_000))
    for session in [ana, ben] { session.join { _ in } }
    func sent() async throws -> OutboundRTPStatistics {
      try #require(await world.run { await ana.statistics() }.streams.compactMap(\.outboundRTP).first)
    }
    await world.run(for: .seconds(10))
    let free = try await sent()
    #expect(free.qualityLimitationReason == "none")
    #expect(free.frameWidth == 640)
    let before = free.qualityLimitationDurations ?? [:]
    #expect(Set(before.keys) == ["none", "cpu", "bandwidth", "other"])
    #expect((8.5...10.1).contains(before.values.reduce(0, +)) && (before["none"] ?? 0) > 6, "\(before)")

    let backend = try #require(world.backend as? EmbeddedBackend)
    backend.setNetwork(try NetworkSpec("rate=90k"), of: "ana")
    await world.run(for: .seconds(20))
    let narrow = try await sent()
    #expect(narrow.qualityLimitationReason == "bandwidth")
    #expect((narrow.frameWidth ?? 640) < 640)
    #expect((narrow.qualityLimitationResolutionChanges ?? 0) > (free.qualityLimitationResolutionChanges ?? 0))
    let durations = narrow.qualityLimitationDurations ?? [:]
    #expect((durations["bandwidth"] ?? 0) > 10 && durations["cpu"] == 0, "\(durations)")
    #expect((28.5...30.1).contains(durations.values.reduce(0, +)), "\(durations)")
  }

  @Test func statisticsKeysMatchTheW3CNames() async throws {
    let (ana, ben) = try await call(nil, seconds: 2)
    func keys(_ value: some Encodable) throws -> Set<String> {
      let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(value))
      return Set((json as? [String: Any] ?? [:]).keys)
    }
    let received = try #require(ben.streams.compactMap(\.inboundRTP).first { $0.kind == "video" })
    #expect(
      try keys(received).isSuperset(of: [
        "kind", "packetsReceived", "bytesReceived", "packetsLost", "jitter", "nackCount", "pliCount", "framesDecoded",
        "keyFramesDecoded", "totalDecodeTime", "freezeCount", "totalFreezesDuration", "frameWidth", "frameHeight",
        "framesPerSecond",
      ]))
    let sent = try #require(ana.streams.compactMap(\.outboundRTP).first { $0.kind == "video" })
    #expect(
      try keys(sent).isSuperset(of: [
        "packetsSent", "bytesSent", "nackCount", "framesEncoded", "keyFramesEncoded", "qualityLimitationReason",
        "qualityLimitationDurations", "qualityLimitationResolutionChanges",
      ]))
    #expect(try keys(ana.candidatePair).contains("availableOutgoingBitrate"))
  }
}
