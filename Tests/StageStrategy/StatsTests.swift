import AmazonIVSBroadcast
import Foundation
import Koine
import KoineSimulatedNetwork
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

/// The typed statistics of `requestQualityStats`.
@Suite struct QualityStatsTests {
  /// Used on the delivery queue.
  private final class StatsDelegate: NSObject, IVSStageStreamDelegate, @unchecked Sendable {
    private(set) var localAudio: [IVSLocalAudioStats] = []
    private(set) var localVideo: [[IVSLocalVideoStats]] = []
    private(set) var remoteAudio: [IVSRemoteAudioStats] = []
    private(set) var remoteVideo: [IVSRemoteVideoStats] = []

    func stream(_ stream: IVSStageStream, didGenerate stats: IVSLocalAudioStats) { localAudio.append(stats) }
    func stream(_ stream: IVSStageStream, didGenerate stats: [IVSLocalVideoStats]) { localVideo.append(stats) }
    func stream(_ stream: IVSStageStream, didGenerate stats: IVSRemoteAudioStats) { remoteAudio.append(stats) }
    func stream(_ stream: IVSStageStream, didGenerate stats: IVSRemoteVideoStats) { remoteVideo.append(stats) }
  }

  /// Ana and Ben have been in the stage for five seconds, with 640×360 and 320×180.
  private func stats(_ network: String? = nil) async throws -> Statistics {
    let environment = TestEnvironment(
      camera: "stamp:cam,640x360@30", network: try network.map { try NetworkSpec($0) })
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    for app in [ana, ben] { try app.stage.join() }
    await environment.run(.seconds(5))
    let (delegate, remote) = (StatsDelegate(), try #require(ana.remoteStreams.first))
    for stream in ana.streams + ana.remoteStreams {
      stream.delegate = delegate
      try stream.requestQualityStats()
    }
    await environment.run(.milliseconds(200))
    let session = try #require(ana.stage.session)
    let figures = await environment.world.run { await session.statistics() }
    ben.stage.leave()
    await environment.run(.milliseconds(200))
    #expect(throws: NSError.self) { try remote.requestQualityStats() }
    ana.stage.leave()
    #expect(delegate.localAudio.count == 1)
    #expect(delegate.localVideo.count == 1)
    #expect(delegate.remoteAudio.count == 1)
    #expect(delegate.remoteVideo.count == 1)
    return Statistics(
      localAudio: try #require(delegate.localAudio.first), localVideo: try #require(delegate.localVideo.first),
      remoteAudio: try #require(delegate.remoteAudio.first), remoteVideo: try #require(delegate.remoteVideo.first),
      all: figures)
  }

  private struct Statistics {
    let localAudio: IVSLocalAudioStats
    let localVideo: [IVSLocalVideoStats]
    let remoteAudio: IVSRemoteAudioStats
    let remoteVideo: IVSRemoteVideoStats
    let all: SessionStatistics
  }

  @Test func localStatisticsCountWhatWasSent() async throws {
    let stats = try await stats()
    let audio = stats.localAudio
    #expect(audio.networkQuality == .excellent)
    #expect((230...270).contains(audio.packetsSent))
    #expect(audio.bytesSent > 10_000)
    #expect(audio.headerBytesSent >= audio.packetsSent * 12)
    #expect(audio.retransmittedPacketsSent == 0)
    #expect(audio.retransmittedBytesSent == 0)
    #expect(audio.nackCount == 0)
    #expect(audio.totalPacketSendDelay >= 0)
    #expect(audio.mime == "audio/opus")
    #expect(stats.localVideo.map(\.frameHeight) == [180, 360])
    #expect(stats.localVideo.map(\.frameWidth) == [320, 640])
    #expect(Set(stats.localVideo.map(\.rid)).count == 2)
    #expect(stats.localVideo.allSatisfy { $0.mime == "video/VP8" && $0.networkQuality == .excellent })
    let main = stats.localVideo[1]
    #expect(main.active)
    #expect((13...17).contains(main.framesPerSecond))
    #expect((50...80).contains(main.framesEncoded))
    #expect((main.framesEncoded - 1...main.framesEncoded).contains(main.framesSent))
    #expect((1...10).contains(main.keyFramesEncoded))
    #expect(main.pliCount >= 1, "the receiver has asked for the first frame")
    #expect(main.firCount == 0)
    #expect(main.packetsSent >= main.framesSent)
    #expect(main.headerBytesSent >= main.packetsSent * 12)
    #expect(main.totalEncodedBytesTarget > 100_000)
    #expect(main.totalEncodeTime > 0)
    #expect(main.hugeFramesSent <= main.framesEncoded)
    #expect(main.qualityLimitationResolutionChanges == 0)
    #expect(main.qualityLimitationReason == "none")
    let sum = stats.localVideo.reduce(0) { $0 + $1.bytesSent }
    let sent = stats.all.streams.first { $0.sentVideo != nil }?.outgoing?.bytes ?? 0
    #expect(sum > 0 && sum <= sent)
  }

  @Test func remoteStatisticsCountWhatArrived() async throws {
    let stats = try await stats()
    let audio = stats.remoteAudio
    #expect(audio.networkQuality == .excellent)
    #expect((200...270).contains(audio.packetsReceived))
    #expect(audio.packetsLost == 0)
    #expect(audio.nackCount == 0)
    #expect(audio.bytesReceived > 10_000)
    #expect(audio.headerBytesReceived >= audio.packetsReceived * 12)
    #expect(audio.totalSamplesReceived > 150_000)
    #expect(audio.concealedSamples < 10_000)
    #expect(audio.insertedSamplesForDeceleration >= 0)
    #expect(audio.removedSamplesForAcceleration >= 0)
    // 20 ms and more for each of the samples.
    #expect(audio.jitterBufferDelay > Double(audio.totalSamplesReceived) * 0.01)
    #expect((0.05...1).contains(audio.audioLevel))
    #expect(audio.mime == "audio/opus")
    let video = stats.remoteVideo
    #expect((video.frameWidth, video.frameHeight) == (640, 360))
    #expect((13...17).contains(video.framesPerSecond))
    #expect(video.packetsReceived >= video.framesReceived)
    #expect(video.packetsLost == 0)
    #expect(video.nackCount == 0)
    #expect(video.bytesReceived > 10_000)
    #expect(video.headerBytesReceived >= video.packetsReceived * 12)
    #expect((50...80).contains(video.framesReceived))
    #expect(video.framesDecoded == video.framesReceived)
    #expect(video.keyFramesDecoded >= 1)
    #expect(video.framesDropped == 0)
    #expect(video.firCount == 0)
    #expect(video.pliCount >= 0)
    #expect(video.pauseCount == 0)
    #expect(video.freezeCount == 0)
    #expect(video.totalPausesDuration == 0)
    #expect(video.totalFreezesDuration == 0)
    #expect(video.jitterBufferDelay >= 0)
    #expect(video.mime == "video/VP8")
    #expect(video.networkQuality == .excellent)
  }

  @Test func lossIsSeenInStatisticsAndNetworkQuality() async throws {
    let stats = try await stats("delay=10ms,loss=12%")
    #expect(stats.remoteVideo.nackCount > 0)
    #expect(stats.localVideo.contains { $0.nackCount > 0 })
    #expect(stats.localVideo.contains { $0.retransmittedPacketsSent > 0 && $0.retransmittedBytesSent > 0 })
    #expect(stats.remoteAudio.networkQuality == .poor)
    #expect(stats.localAudio.networkQuality.rawValue >= IVSStageStreamNetworkQuality.normal.rawValue)
  }
}
