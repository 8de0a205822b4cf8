import AzureCommunicationCalling
import Koine
import KoineEmbeddedBackend
import Testing

/// Reports of media statistics, on the virtual clock.
struct StatisticsTests {
  private struct Pair {
    let telephone: Telephone
    let agents: [CallAgent]
    let hears: [Recorder]
    let ana, ben: Call
  }

  private func pair(network: String? = nil) async throws -> Pair {
    let telephone = try Telephone(network: network)
    var agents: [CallAgent] = []
    var hears: [Recorder] = []
    for user in ["ana", "ben"] {
      let (agent, recorder) = try await telephone.agent(user)
      agent.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { recorder.take($0, $1) }
      agents.append(agent)
      hears.append(recorder)
    }
    await telephone.run(.milliseconds(800))
    return Pair(
      telephone: telephone, agents: agents, hears: hears, ana: try #require(hears[0].call),
      ben: try #require(hears[1].call))
  }

  @Test func reportsComeAtTheIntervalUntilTheCallEnds() async throws {
    let pair = try await pair()
    let hears = ReportRecorder()
    let statistics = pair.ana.feature(Features.mediaStatistics)
    statistics.delegate = hears
    let closures = Lock(0)
    statistics.events.onReportReceived = { _ in closures.withLock { $0 += 1 } }
    #expect(statistics.reportIntervalInSeconds == 10)
    await pair.telephone.run(.milliseconds(9_900))
    #expect(hears.reports.isEmpty)
    await pair.telephone.run(.milliseconds(200))
    #expect(hears.reports.count == 1)
    try statistics.updateReportInterval(inSeconds: 15)
    #expect(statistics.reportIntervalInSeconds == 15)
    await pair.telephone.run(.milliseconds(14_900))
    #expect(hears.reports.count == 1)
    await pair.telephone.run(.milliseconds(15_200))
    #expect(hears.reports.count == 3)
    #expect(closures.withLock { $0 } == 3)
    pair.ana.hangUp(options: nil) { _ in }
    await pair.telephone.run(.seconds(40))
    #expect(hears.reports.count == 3)
  }

  @Test func intervalBelow10OrAbove3600SecondsIsRefused() async throws {
    let pair = try await pair()
    let statistics = pair.ana.feature(Features.mediaStatistics)
    for interval: Int32 in [9, 3_601] {
      let error = #expect(throws: (any Error).self) { try statistics.updateReportInterval(inSeconds: interval) }
      #expect((error as NSError?)?.code == CallingCommunicationErrors.mediaStatisticsInvalidReportInterval.rawValue)
    }
    #expect(statistics.reportIntervalInSeconds == 10)
  }

  @Test func reportHasTheValuesOfSentAndReceivedMedia() async throws {
    let pair = try await pair()
    let camera = try await pair.telephone.camera()
    pair.ana.startVideo(stream: camera) { _ in }
    await pair.telephone.run(.milliseconds(500))
    let (sender, receiver) = (ReportRecorder(), ReportRecorder())
    pair.ana.feature(Features.mediaStatistics).delegate = sender
    pair.ben.feature(Features.mediaStatistics).delegate = receiver
    let shown = try #require(pair.ben.remoteParticipants.first?.videoStreams.first)
    let renderer = try VideoStreamRenderer(remoteVideoStream: shown)
    let view = try renderer.createView()
    await pair.telephone.run(.milliseconds(10_200))

    let outgoing = try #require(sender.reports.last?.outgoingStatistics)
    let audio = try #require(outgoing.audio.first)
    #expect(audio.codecName == "opus")
    #expect((20_000...60_000).contains(try #require(audio.bitrateInBps)))
    #expect(try #require(audio.packetCount) > 450)
    #expect(audio.jitterInMs != nil)
    let video = try #require(outgoing.video.first)
    #expect(video.codecName == "VP8")
    #expect(video.streamId == camera.id)
    #expect(video.frameWidth == 320)
    #expect(video.frameHeight == 180)
    #expect((14...16).contains(try #require(video.frameRate)))
    #expect(try #require(video.bitrateInBps) > 1_000)
    #expect(try #require(video.packetCount) >= 150, "one a frame at least")
    #expect(outgoing.screenShare.isEmpty)
    #expect(outgoing.dataChannel.isEmpty)

    let incoming = try #require(receiver.reports.last?.incomingStatistics)
    let sound = try #require(incoming.audio.first)
    #expect(sound.codecName == "opus")
    #expect(sound.packetsLostPerSecond == 0)
    #expect(try #require(sound.packetCount) > 450)
    #expect(sound.streamId == 1)
    let picture = try #require(incoming.video.first)
    #expect(picture.streamId == shown.id)
    #expect(picture.participantIdentifier.rawId == "8:acs:ana")
    #expect(picture.codecName == "VP8")
    #expect(picture.frameWidth == 320)
    #expect(picture.frameHeight == 180)
    #expect((0...20).contains(try #require(picture.jitterInMs)))
    #expect((150...(try #require(video.packetCount) + 100)).contains(try #require(picture.packetCount)))
    #expect(picture.packetsLostPerSecond == 0)
    #expect((14...16).contains(try #require(picture.frameRate)))
    #expect(try #require(picture.bitrateInBps) > 1_000)
    #expect(try #require(picture.totalFreezeDurationInMs) < 200)
    #expect(try #require(receiver.reports.last?.outgoingStatistics).video.isEmpty)
    withExtendedLifetime(view) {}
  }

  /// Packets that come again count as received, so only a cut loses some for good.
  @Test func lostPacketsAreReportedPerSecond() async throws {
    let pair = try await pair()
    let hears = ReportRecorder()
    pair.ana.feature(Features.mediaStatistics).delegate = hears
    let backend = try #require(pair.telephone.world.backend as? EmbeddedBackend)
    await pair.telephone.run(.seconds(3))
    backend.setNetwork(try .init("loss=90%"), of: "8:acs:ana")
    await pair.telephone.run(.seconds(3))
    backend.setNetwork(try .init(""), of: "8:acs:ana")
    await pair.telephone.run(.milliseconds(4_300))
    let sound = try #require(hears.reports.last?.incomingStatistics.audio.first)
    #expect((3...15).contains(try #require(sound.packetsLostPerSecond)))
  }

  @Test func outgoingAudioKeepsItsStreamID() async throws {
    let pair = try await pair()
    let hears = ReportRecorder()
    pair.ana.feature(Features.mediaStatistics).delegate = hears
    await pair.telephone.run(.milliseconds(10_200))
    pair.ana.mute { _ in }
    await pair.telephone.run(.seconds(2))
    pair.ana.unmute { _ in }
    await pair.telephone.run(.milliseconds(10_200))
    #expect(hears.reports.count == 2)
    #expect(hears.reports.map { $0.outgoingStatistics.audio.map(\.streamId) } == [[1], [1]])
  }

  @Test(arguments: [("delay=20ms", 0...0), ("delay=80ms,jitter=60ms", 4...60)] as [(String, ClosedRange<Int32>)])
  func jitterOfDataChannelsIsThatOfTheirMessages(network: String, expected: ClosedRange<Int32>) async throws {
    let pair = try await pair(network: network)
    let hears = ReportRecorder()
    pair.ben.feature(Features.mediaStatistics).delegate = hears
    let channel = pair.ana.feature(Features.dataChannel).getDataChannelSender(options: DataChannelSenderOptions())
    _ = pair.ben.feature(Features.dataChannel)
    channel.sendMessage(data: Data([0]))
    await pair.telephone.run(.milliseconds(10_200))
    #expect(hears.reports.last?.incomingStatistics.dataChannel.map(\.jitterInMs) == [nil], "after one message")
    for _ in 0..<100 {
      channel.sendMessage(data: Data([1]))
      await pair.telephone.run(.milliseconds(100))
    }
    let statistics = try #require(hears.reports.last?.incomingStatistics.dataChannel.first)
    #expect(expected.contains(try #require(statistics.jitterInMs)), "\(statistics.jitterInMs ?? -1) ms")
  }

  @Test func screenShareIsReportedApartFromCameras() async throws {
    let pair = try await pair()
    let format = VideoStreamFormat()
    (format.width, format.height, format.framesPerSecond) = (320, 180, 10)
    let options = RawOutgoingVideoStreamOptions()
    options.formats = [format]
    let screen = ScreenShareOutgoingVideoStream(videoStreamOptions: options)
    pair.ana.startVideo(stream: screen) { _ in }
    await pair.telephone.run(.milliseconds(500))
    let shown = try #require(pair.ben.remoteParticipants.first?.videoStreams.first)
    let renderer = try VideoStreamRenderer(remoteVideoStream: shown)
    let view = try renderer.createView()
    let (sender, receiver) = (ReportRecorder(), ReportRecorder())
    pair.ana.feature(Features.mediaStatistics).delegate = sender
    pair.ben.feature(Features.mediaStatistics).delegate = receiver
    for shade in UInt8(0)..<102 {
      screen.send(frame: frame(shade)) { error in #expect(error == nil) }
      await pair.telephone.run(.milliseconds(100))
    }
    #expect(sender.reports.last?.outgoingStatistics.screenShare.map(\.streamId) == [screen.id])
    #expect(sender.reports.last?.outgoingStatistics.video.isEmpty == true)
    let sent = try #require(sender.reports.last?.outgoingStatistics.screenShare.first)
    #expect(sent.codecName == "VP8")
    #expect(sent.frameWidth == 320)
    #expect(sent.frameHeight == 180)
    #expect((9...11).contains(try #require(sent.frameRate)))
    #expect(try #require(sent.bitrateInBps) > 500)
    #expect(try #require(sent.packetCount) >= 95, "one a frame at least")
    let received = try #require(receiver.reports.last?.incomingStatistics.screenShare.first)
    #expect(received.participantIdentifier.rawId == "8:acs:ana")
    #expect(received.streamId == shown.id)
    #expect(received.codecName == "VP8")
    #expect(received.frameWidth == 320)
    #expect(received.frameHeight == 180)
    #expect((9...11).contains(try #require(received.frameRate)))
    #expect(try #require(received.bitrateInBps) > 500)
    #expect((95...(try #require(sent.packetCount) + 100)).contains(try #require(received.packetCount)))
    #expect(received.packetsLostPerSecond == 0)
    #expect((0...20).contains(try #require(received.jitterInMs)))
    #expect(try #require(received.totalFreezeDurationInMs) < 500)
    withExtendedLifetime(view) {}
  }

  /// A frame of 320×180 whose left half has a shade of its own.
  private func frame(_ shade: UInt8) -> RawVideoFrameBuffer {
    let frame = RawVideoFrameBuffer()
    var made: CVPixelBuffer?
    _ = CVPixelBufferCreate(nil, 320, 180, kCVPixelFormatType_32BGRA, nil, &made)
    if let made {
      CVPixelBufferLockBaseAddress(made, [])
      let (base, row) = (CVPixelBufferGetBaseAddress(made), CVPixelBufferGetBytesPerRow(made))
      for y in 0..<180 { base?.advanced(by: y * row).initializeMemory(as: UInt8.self, repeating: shade, count: 640) }
      CVPixelBufferUnlockBaseAddress(made, [])
    }
    frame.buffer = made
    return frame
  }

  @Test func dataChannelMessagesAreCounted() async throws {
    let pair = try await pair()
    let (sender, receiver) = (ReportRecorder(), ReportRecorder())
    pair.ana.feature(Features.mediaStatistics).delegate = sender
    pair.ben.feature(Features.mediaStatistics).delegate = receiver
    let channels = pair.ben.feature(Features.dataChannel)
    let options = DataChannelSenderOptions()
    options.channelId = 7
    let channel = pair.ana.feature(Features.dataChannel).getDataChannelSender(options: options)
    for byte in 1...3 { channel.sendMessage(data: Data([UInt8(byte)])) }
    await pair.telephone.run(.milliseconds(10_200))
    #expect(sender.reports.last?.outgoingStatistics.dataChannel.map(\.packetCount) == [3])
    #expect(receiver.reports.last?.incomingStatistics.dataChannel.map(\.packetCount) == [3])
    #expect(receiver.reports.last?.incomingStatistics.dataChannel.first?.jitterInMs == 0)
    withExtendedLifetime(channels) {}
  }
}

private final class ReportRecorder: NSObject, MediaStatisticsCallFeatureDelegate, @unchecked Sendable {
  private let received = Lock<[MediaStatisticsReport]>([])
  var reports: [MediaStatisticsReport] { received.withLock { $0 } }

  func mediaStatisticsCallFeature(
    _ feature: MediaStatisticsCallFeature, didReceiveReport args: MediaStatisticsReportReceivedEventArgs
  ) { received.withLock { $0.append(args.report) } }
}
