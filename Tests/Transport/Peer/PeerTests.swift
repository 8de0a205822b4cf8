import KoineBase
import KoineRTP
import Testing

@testable import KoineTransport

private let video = StreamParameters(
  mid: "v", codec: .vp8, payloadType: 96, rtxPayloadType: 97, encodings: [.init(ssrc: 1111, rtxSSRC: 1112)])
private let sound = StreamParameters(
  mid: "a", codec: .opus, payloadType: 111, rtxPayloadType: 112, encodings: [.init(ssrc: 2222, rtxSSRC: 2223)])

extension PeerPair {
  /// A frame of `size` bytes with the first byte of a VP8 frame.
  func makeFrame(_ number: Int, size: Int, isKey: Bool) -> EncodedFrame {
    var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
    bytes[0] = isKey ? 0x10 : 0x11
    return EncodedFrame(
      codec: .vp8, data: Bytes(bytes), captured: now, rtpTimestamp: UInt32(truncatingIfNeeded: number * 3_000),
      isKey: isKey)
  }

  func frames(of id: ReceiverID) -> [EncodedFrame] {
    serverEvents.compactMap { if case .frame(id, let frame) = $0 { frame } else { nil } }
  }

  /// Sends 30 frames a second, with a key frame whenever one is requested.
  func send(_ count: Int, from first: Int = 0, on sender: SenderID, size: Int = 4_000) {
    var seen = clientEvents.count
    for number in first..<first + count {
      let wanted = clientEvents[seen...].contains { if case .keyFrameRequested = $0 { true } else { false } }
      seen = clientEvents.count
      client.send(
        makeFrame(number, size: number == 0 || wanted ? size * 4 : size, isKey: number == 0 || wanted), on: sender,
        at: now)
      run(for: .microseconds(33_333))
    }
    run(for: .seconds(1))
  }
}

@Suite struct PeerTests {
  @Test func peersConnectInLittleMoreThanThreeRoundTrips() throws {
    let pair = try PeerPair.connected(link: .init(delay: .milliseconds(10)))
    #expect(pair.client.isConnected)
    #expect(pair.server.isConnected)
    #expect(pair.now - Tick(nanoseconds: 1_000_000_000) < .milliseconds(100))
  }

  @Test func peersConnectOverIPv6() throws {
    let pair = try PeerPair(host: "fd00::")
    pair.run(for: .seconds(2)) { pair.client.isConnected && pair.server.isConnected }
    #expect(pair.client.isConnected)
    #expect(pair.server.isConnected)
  }

  @Test func peersConnectDespiteHeavyLoss() throws {
    let pair = try PeerPair(link: .init(loss: 0.3, delay: .milliseconds(40), jitter: .milliseconds(30)))
    pair.run(for: .seconds(15)) { pair.client.isConnected && pair.server.isConnected }
    #expect(pair.client.isConnected)
    #expect(pair.server.isConnected)
  }

  @Test func framesArriveWholeAndInOrder() throws {
    let pair = try PeerPair.connected()
    let sender = pair.client.addSender(video)
    let receiver = pair.server.addReceiver(video, mode: .frames)
    pair.send(90, on: sender)
    let frames = pair.frames(of: receiver)
    #expect(frames.map { $0.data.array[1] } == (0..<90).map { UInt8($0) })
    #expect(frames.map(\.data.count) == [16_000] + Array(repeating: 4_000, count: 89))
    #expect(frames[0].isKey && !frames[1].isKey)
  }

  /// The first packet that comes is of the second frame: the ones before it are asked for, and no other key frame is needed.
  @Test func lostFirstPacketIsAskedFor() throws {
    let pair = try PeerPair.connected(link: .init(delay: .milliseconds(10)))
    let sender = pair.client.addSender(video)
    let receiver = pair.server.addReceiver(video, mode: .frames)
    pair.link.loss = 1
    pair.client.send(pair.makeFrame(0, size: 900, isKey: true), on: sender, at: pair.now)
    pair.drain()
    pair.link.loss = 0
    pair.run(for: .milliseconds(20))
    pair.client.send(pair.makeFrame(1, size: 900, isKey: false), on: sender, at: pair.now)
    pair.run(for: .milliseconds(100))
    #expect(pair.frames(of: receiver).map { $0.data.array[1] } == [0, 1])
    #expect(pair.server.statistics(at: pair.now).incoming[receiver]?.keyFramesRequested == 0)
  }

  @Test func keyFrameRequestOnAPathOfUnknownLossIsSentTwiceAndCountsOnce() throws {
    let pair = try PeerPair.connected(link: .init(delay: .milliseconds(10)))
    let sender = pair.client.addSender(video)
    let receiver = pair.server.addReceiver(video, mode: .packets)
    pair.send(30, on: sender, size: 900)
    func askedInTheNextSecond() -> (sent: Int, heard: Int) {
      let (before, heard) = (
        pair.server.statistics(at: pair.now).incoming[receiver]?.keyFramesRequested ?? 0, pair.clientEvents.count
      )
      pair.server.requestKeyFrame(of: receiver, at: pair.now)
      pair.run(for: .seconds(1))
      let sent = (pair.server.statistics(at: pair.now).incoming[receiver]?.keyFramesRequested ?? 0) - before
      return (sent, pair.clientEvents[heard...].count { if case .keyFrameRequested = $0 { true } else { false } })
    }
    #expect(askedInTheNextSecond() == (2, 1))
    pair.send(120, from: 30, on: sender, size: 900)
    #expect(askedInTheNextSecond() == (1, 1), "nothing was lost")
  }

  @Test func reportedLossIsTheSumOverLayers() throws {
    let pair = try PeerPair.connected(link: .init(loss: 0.1, delay: .milliseconds(10)))
    let layers = StreamParameters(
      mid: "v", codec: .vp8, payloadType: 96, rtxPayloadType: nil,
      encodings: [.init(rid: "q", ssrc: 11), .init(rid: "h", ssrc: 12)])
    let sender = pair.client.addSender(layers)
    let receiver = pair.server.addReceiver(layers, mode: .packets)
    for number in 0..<300 {
      for layer in 0..<2 {
        var picture = pair.makeFrame(number, size: layer == 0 ? 1_000 : 4_000, isKey: number == 0)
        picture.layer = UInt8(layer)
        pair.client.send(picture, on: sender, at: pair.now)
      }
      pair.run(for: .microseconds(33_333))
    }
    pair.link.loss = 0
    pair.run(for: .seconds(10))
    let sent = try #require(pair.client.statistics(at: pair.now).outgoing[sender])
    let received = try #require(pair.server.statistics(at: pair.now).incoming[receiver])
    #expect(sent.packets > 1_300)
    #expect(received.lost > 90)
    // Except for packets lost at the very end, which the receiver cannot know of.
    #expect(sent.reportedLost == received.lost)
    #expect(sent.packets - received.packets - received.lost <= 5)
  }

  @Test func frameArrivesWithItsExactCaptureTime() throws {
    let pair = try PeerPair.connected()
    let sender = pair.client.addSender(video)
    let receiver = pair.server.addReceiver(video, mode: .frames)
    let sent = pair.makeFrame(0, size: 3_000, isKey: true)
    pair.client.send(sent, on: sender, at: pair.now)
    pair.run(for: .milliseconds(50))
    let frame = try #require(pair.frames(of: receiver).first)
    #expect(abs((frame.captured - sent.captured).nanoseconds) < 1_000)
    #expect((frame.arrived - sent.captured) >= .milliseconds(5))
  }

  @Test(arguments: [0.05, 0.20], [7, 30, 42, 60] as [UInt64]) func retransmissionRecoversFramesDespiteLoss(
    loss: Double, seed: UInt64
  ) throws {
    let pair = try PeerPair.connected(
      link: .init(loss: loss, delay: .milliseconds(40), jitter: .milliseconds(20)), seed: seed)
    let sender = pair.client.addSender(video)
    let receiver = pair.server.addReceiver(video, mode: .frames)
    pair.send(300, on: sender)
    let frames = pair.frames(of: receiver)
    #expect(frames.count >= (loss < 0.1 ? 297 : 270))
    #expect(pair.server.statistics(at: pair.now).incoming[receiver]?.recovered ?? 0 > 10)
  }

  @Test func receiverThatKnowsTheExtensionIsToldToWaitForRetransmissions() throws {
    for (loss, map, isTold) in [
      (0.05, HeaderExtensionMap([.playoutDelay: 9, .transportSequence: 1]), true),
      (0, HeaderExtensionMap([.playoutDelay: 9, .transportSequence: 1]), false), (0.05, .koine, false),
    ] {
      let pair = try PeerPair.connected(link: .init(loss: loss, delay: .milliseconds(40)))
      (pair.client.extensions, pair.server.extensions) = (map, map)
      let sender = pair.client.addSender(video)
      _ = pair.server.addReceiver(video, mode: .packets)
      pair.send(150, on: sender)
      let delays = pair.serverEvents.compactMap { event in
        if case .packet(_, let packet) = event { packet.extensions.minimumPlayoutDelay } else { nil }
      }
      #expect(delays.isEmpty == !isTold)
      #expect(delays.allSatisfy { (18...25).contains($0) }, "two round trips and a frame")
    }
  }

  @Test func audioArrivesWithItsLevel() throws {
    let pair = try PeerPair.connected()
    let sender = pair.client.addSender(sound)
    let receiver = pair.server.addReceiver(sound, mode: .frames)
    for number in 0..<50 {
      pair.client.send(
        EncodedFrame(
          codec: .opus, data: Bytes([UInt8](repeating: 7, count: 80)), captured: pair.now,
          rtpTimestamp: UInt32(number * 960), audioLevel: -30, voiceActivity: true), on: sender, at: pair.now)
      pair.run(for: .milliseconds(20))
    }
    let frames = pair.frames(of: receiver)
    #expect(frames.count == 50)
    #expect(frames.allSatisfy { $0.audioLevel == -30 && $0.voiceActivity })
  }

  @Test func lostKeyFrameIsRequestedAgain() throws {
    let pair = try PeerPair.connected()
    let sender = pair.client.addSender(video)
    for number in 0..<6 {
      pair.client.send(pair.makeFrame(number, size: 900, isKey: number == 0), on: sender, at: pair.now)
    }
    pair.run(for: .milliseconds(100))  // no receiver yet
    let receiver = pair.server.addReceiver(video, mode: .frames)
    pair.send(60, from: 6, on: sender)
    #expect(pair.clientEvents.contains { if case .keyFrameRequested(sender, _) = $0 { true } else { false } })
    #expect(pair.frames(of: receiver).first?.isKey == true)
  }

  @Test func estimateIsStableUnderRandomLoss() throws {
    let pair = try PeerPair.connected(link: .init(loss: 0.05, delay: .milliseconds(20), jitter: .milliseconds(20)))
    let sender = pair.client.addSender(video)
    _ = pair.server.addReceiver(video, mode: .frames)
    pair.send(300, on: sender)
    #expect(pair.client.statistics(at: pair.now).availableBitrate > 900_000)
  }

  @Test func malformedDatagramsAreCountedAndHarmless() throws {
    let pair = try PeerPair.connected()
    let sender = pair.client.addSender(video)
    let receiver = pair.server.addReceiver(video, mode: .frames)
    var random = SeededRandom(seed: 9)
    for _ in 0..<2_000 {
      let length = Int.random(in: 0...200, using: &random)
      var bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
      if !bytes.isEmpty { bytes[0] = [0, 1, 22, 128, 144, 200].randomElement(using: &random) ?? 0 }
      pair.inject(bytes, toServer: Bool.random(using: &random))
    }
    pair.send(30, on: sender)
    #expect(pair.frames(of: receiver).count == 30)
  }

  @Test func closingPeerSendsAGoodbye() throws {
    let pair = try PeerPair.connected()
    let sender = pair.client.addSender(video)
    _ = pair.server.addReceiver(video, mode: .frames)
    pair.send(10, on: sender)
    pair.client.close()
    pair.run(for: .milliseconds(20))
    #expect(
      pair.serverEvents.contains { if case .closed = $0 { true } else { false } })
    #expect(pair.client.deadline == nil)
    #expect(!pair.clientEvents.contains { if case .failed = $0 { true } else { false } })
  }

  @Test func lostConsentEndsThePeer() throws {
    let pair = try PeerPair.connected()
    pair.link.loss = 1
    pair.run(for: .seconds(40))
    #expect(pair.serverEvents.contains { if case .failed = $0 { true } else { false } })
    #expect(pair.clientEvents.contains { if case .failed = $0 { true } else { false } })
  }
}
