import AmazonIVSBroadcast
import Koine
import Testing

/// The dictionary of `requestRTCStats`.
@Suite struct StatsTests {
  private let place = Place()

  private func stats(of stream: IVSStageStream, told app: StageApp) async throws -> [String: [String: String]] {
    try stream.requestRTCStats()
    await place.run(.milliseconds(200))
    return try #require(app.stats.last)
  }

  /// One's own is VP8; somebody else may send VP9.
  @Test func theCodecIsTheOneThatComes() async throws {
    let ana = try place.app("Ana")
    try ana.stage.join()
    let ben = Session(JoinRequest(room: "tea", name: "Ben", externalUserID: "Ben"), in: place.world)
    try ben.publish(camera: Devices.camera("stamp:Ben,160x90@10"), options: VideoPublishOptions(codec: .vp9))
    try ben.publish(microphone: Devices.microphone("tone"))
    ben.join { _ in }
    await place.run(.seconds(2))
    let expected = [("video", "video/VP9", "90000", nil), ("audio", "audio/opus", "48000", "2")]
    for (kind, type, rate, channels) in expected {
      let all = try await stats(of: try #require(ana.remote(kind)), told: ana)
      let stream = try #require(all.values.first { $0["type"] == "inbound-rtp" })
      let codec = try #require(all[stream["codecId"] ?? ""])
      #expect(codec["type"] == "codec" && codec["mimeType"] == type && codec["clockRate"] == rate)
      #expect(codec["channels"] == channels && codec["transportId"] == "T01" && codec["id"] == stream["codecId"])
    }
    let own = try await stats(of: try #require(ana.streams.first { $0.device is any IVSImageDevice }), told: ana)
    let sent = try #require(own.values.first { $0["type"] == "outbound-rtp" })
    #expect(own[sent["codecId"] ?? ""]?["mimeType"] == "video/VP8")
    ben.leave {}
  }

  /// As the vendor's sample reads them.
  @Test func whatLimitsOnesPicturesIsThere() async throws {
    let (ana, ben) = (try place.app("Ana"), try place.app("Ben"))
    for app in [ana, ben] { try app.stage.join() }
    await place.run(.seconds(5))
    let own = try await stats(of: try #require(ana.streams.first { $0.device is any IVSImageDevice }), told: ana)
    let sent = try #require(own.values.first { $0["type"] == "outbound-rtp" })
    #expect(sent["qualityLimitationReason"] == "none")
    #expect(Int(sent["qualityLimitationResolutionChanges"] ?? "") != nil)
    let durations = try #require(sent["qualityLimitationDurations"])
    #expect(durations.hasPrefix("{bandwidth:") && durations.hasSuffix("}"))
    let parts = durations.dropFirst().dropLast().split(separator: ",").map { $0.split(separator: ":") }
    #expect(parts.map { String($0[0]) } == ["bandwidth", "cpu", "none", "other"])
    #expect((4...5.5).contains(parts.reduce(0) { $0 + (Double($1[1]) ?? -9) }), "seconds since publishing began")
    ben.stage.leave()
  }
}
