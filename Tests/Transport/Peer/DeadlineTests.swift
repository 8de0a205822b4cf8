import KoineBase
import KoineRTP
import Testing

@testable import KoineTransport

/// After `handleTimeout(at: now)` and a complete drain, a peer's deadline is nil or later than `now`. `PeerPair` checks that
/// after every timeout; these tests bring it into many states.
@Suite struct DeadlineTests {
  /// Three layers as a browser names them: by `a=rid`; the SSRCs are known from packets only.
  private func layers(mid: String, ssrc: UInt32?) -> StreamParameters {
    StreamParameters(
      mid: mid, codec: .vp8, payloadType: 96, rtxPayloadType: 97,
      encodings: (0..<3).map { layer in
        .init(
          rid: "l\(layer)", ssrc: ssrc.map { $0 + UInt32(layer) } ?? 0,
          rtxSSRC: ssrc.map { $0 + 10 + UInt32(layer) } ?? 0)
      })
  }

  @Test func keyFrameRequestForUnsentLayerSetsNoDeadline() throws {
    let pair = try PeerPair.connected()
    let id = pair.server.addReceiver(layers(mid: "v", ssrc: nil), mode: .packets)
    pair.run(for: .seconds(1))
    pair.server.requestKeyFrame(of: id, layer: 2, at: pair.now)
    pair.server.handleTimeout(at: pair.now)
    pair.drain()
    let deadline = try #require(pair.server.deadline)
    #expect(deadline > pair.now)
    #expect(pair.server.statistics(at: pair.now).incoming[id]?.keyFramesRequested == 0)
  }

  @Test func keyFrameRequestLeavesWithTheSamePoll() throws {
    let pair = try PeerPair.connected()
    let stream = layers(mid: "v", ssrc: 4_000)
    let sender = pair.client.addSender(stream)
    let id = pair.server.addReceiver(stream, mode: .packets)
    pair.send(10, on: sender)
    pair.run(for: .seconds(1))
    let before = pair.server.statistics(at: pair.now).incoming[id]?.keyFramesRequested ?? 0
    pair.server.requestKeyFrame(of: id, at: pair.now)
    #expect(pair.server.statistics(at: pair.now).incoming[id]?.keyFramesRequested == before + 1)
  }

  @Test(arguments: UInt64(1)...16)
  func randomHistoryKeepsEveryDeadlineAheadOfTheClock(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let pair = try PeerPair.connected(link: .init(loss: Double(seed % 4) * 0.05, jitter: .milliseconds(4)), seed: seed)
    var senders: [(id: SenderID, receiver: ReceiverID)] = []
    var pictures = 0
    for step in 0..<400 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0 where senders.count < 4:
        let ssrc = UInt32(step + 1) * 100
        let isNamed = Bool.random(using: &random)
        let mode = Bool.random(using: &random) ? ReceiveMode.frames : .packets
        let sender = pair.client.addSender(layers(mid: "m\(step)", ssrc: ssrc))
        let receiver = pair.server.addReceiver(layers(mid: "m\(step)", ssrc: isNamed ? ssrc : nil), mode: mode)
        senders.append((sender, receiver))
      case 1:
        if let entry = senders.popLast() {
          pair.client.removeSender(entry.id)
          pair.server.removeReceiver(entry.receiver)
        }
      case 2: pair.link.loss = Double.random(in: 0...0.4, using: &random)
      case 3: pair.link.delay = .milliseconds(Int64.random(in: 0...80, using: &random))
      case 4, 5:
        if let entry = senders.randomElement(using: &random) {
          pair.server.requestKeyFrame(of: entry.receiver, layer: Int.random(in: 0..<3, using: &random), at: pair.now)
        }
      case 6: _ = pair.client.want(Int.random(in: 0...5_000_000, using: &random), at: pair.now)
      case 7: pair.inject((0..<60).map { _ in UInt8.random(in: 0...255, using: &random) }, toServer: step % 2 == 0)
      default:
        if let entry = senders.randomElement(using: &random) {
          pictures += 1
          pair.client.send(
            pair.makeFrame(pictures, size: Int.random(in: 10...9_000, using: &random), isKey: pictures % 20 == 1),
            on: entry.id, at: pair.now)
        }
      }
      pair.run(for: .milliseconds(Int64.random(in: 0...60, using: &random)))
    }
    #expect(pictures > 0)
    pair.client.close()
    pair.run(for: .seconds(40))
    #expect(!pair.server.isConnected)
    #expect(pair.server.deadline == nil, "waits for: \(pair.server.deadlineReason)")
  }
}
