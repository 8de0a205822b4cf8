import AmazonIVSBroadcast
import Koine
import Testing

/// The dictionary of `requestRTCStats`.
@Suite struct StatsTests {
  private let environment = TestEnvironment()

  private func stats(of stream: IVSStageStream, told app: StageApp) async throws -> [String: [String: String]] {
    try stream.requestRTCStats()
    await environment.run(.milliseconds(200))
    return try #require(app.stats.last)
  }

  /// The local stream is VP8; another participant may send VP9.
  @Test func statsNameTheReceivedCodec() async throws {
    let ana = try environment.app("Ana")
    try ana.stage.join()
    let ben = Session(JoinRequest(room: "tea", name: "Ben", externalUserID: "Ben"), in: environment.world)
    try ben.publish(camera: Devices.camera("stamp:Ben,160x90@10"), options: VideoPublishOptions(codec: .vp9))
    try ben.publish(microphone: Devices.microphone("tone"))
    ben.join { _ in }
    await environment.run(.seconds(2))
    let expected = [("video", "video/VP9", "90000", nil), ("audio", "audio/opus", "48000", "2")]
    for (kind, type, rate, channels) in expected {
      let all = try await stats(of: try #require(ana.remote(kind)), told: ana)
      let stream = try #require(all.values.first { $0["type"] == "inbound-rtp" })
      let codec = try #require(all[stream["codecId"] ?? ""])
      #expect(codec["type"] == "codec")
      #expect(codec["mimeType"] == type)
      #expect(codec["clockRate"] == rate)
      #expect(codec["channels"] == channels)
      #expect(codec["transportId"] == "T01")
      #expect(codec["id"] == stream["codecId"])
    }
    let own = try await stats(of: try #require(ana.streams.first { $0.device is any IVSImageDevice }), told: ana)
    let sent = try #require(own.values.first { $0["type"] == "outbound-rtp" })
    #expect(own[sent["codecId"] ?? ""]?["mimeType"] == "video/VP8")
    ben.leave {}
  }

  /// Reads the values as the vendor's sample does.
  @Test func statsContainQualityLimitations() async throws {
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    for app in [ana, ben] { try app.stage.join() }
    await environment.run(.seconds(5))
    let own = try await stats(of: try #require(ana.streams.first { $0.device is any IVSImageDevice }), told: ana)
    let sent = try #require(own.values.first { $0["type"] == "outbound-rtp" })
    #expect(sent["qualityLimitationReason"] == "none")
    #expect(Int(sent["qualityLimitationResolutionChanges"] ?? "") != nil)
    let durations = try #require(sent["qualityLimitationDurations"])
    #expect(durations.hasPrefix("{bandwidth:"))
    #expect(durations.hasSuffix("}"))
    let parts = durations.dropFirst().dropLast().split(separator: ",").map { $0.split(separator: ":") }
    #expect(parts.map { String($0[0]) } == ["bandwidth", "cpu", "none", "other"])
    #expect((4...5.5).contains(parts.reduce(0) { $0 + (Double($1[1]) ?? -9) }), "seconds since publishing began")
    ben.stage.leave()
  }
}
