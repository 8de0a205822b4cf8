import KoineBase
import KoineRTP
import KoineTransport
import Testing

/// A publisher whose encoder follows the estimate, on a path whose rate falls and rises.
private final class RateRun {
  static let start = Tick(nanoseconds: 1_000_000_000)
  let pair: PeerPair
  /// In bit/s, at the start of each tenth of a second.
  private(set) var estimates: [Int] = []
  private var encoder = 300_000.0
  private var target = 300_000.0
  private var seen = 0
  private var random: SeededRandom

  init(_ network: String, back: String = "delay=20ms", seed: UInt64 = 7) throws {
    random = SeededRandom(seed: seed)
    pair = try PeerPair.connected(network: network, back: back, seed: seed)
  }

  /// Sends 30 video frames a second of uneven sizes and 50 audio packets a second; key frames on request.
  func run(until end: Duration, maximum: Double = 3_000_000) {
    let pictures = pair.client.addSender(
      StreamParameters(
        mid: "v", codec: .vp8, payloadType: 96, rtxPayloadType: 97, encodings: [.init(ssrc: 1111, rtxSSRC: 1112)]))
    let sound = pair.client.addSender(
      StreamParameters(mid: "a", codec: .opus, payloadType: 111, rtxPayloadType: nil, encodings: [.init(ssrc: 2222)]))
    for stream in [
      StreamParameters(
        mid: "v", codec: .vp8, payloadType: 96, rtxPayloadType: 97, encodings: [.init(ssrc: 1111, rtxSSRC: 1112)]),
      StreamParameters(mid: "a", codec: .opus, payloadType: 111, rtxPayloadType: nil, encodings: [.init(ssrc: 2222)]),
    ] {
      _ = pair.server.addReceiver(stream, mode: .frames)
    }
    pair.client.want(Int(maximum))
    var nextPicture = pair.now
    var nextSound = pair.now
    var nextFigure = pair.now
    var number = 0
    while pair.now - Self.start < end {
      let wantsKey = takeEvents(maximum)
      if pair.now >= nextPicture {
        encoder += (target - encoder) * 0.3  // no encoder follows at once
        let isKey = number == 0 || wantsKey
        let size = encoder / 30 / 8 * Double.random(in: 0.7...1.3, using: &random) * (isKey ? 4 : 1)
        pair.client.send(pair.makeFrame(number, size: max(Int(size), 100), isKey: isKey), on: pictures, at: pair.now)
        number += 1
        nextPicture += .nanoseconds(33_333_333)
      }
      if pair.now >= nextSound {
        let frame = EncodedFrame(
          codec: .opus, data: Bytes([UInt8](repeating: 7, count: 80)), captured: pair.now,
          rtpTimestamp: UInt32(truncatingIfNeeded: pair.now.nanoseconds / 125_000 * 6))
        pair.client.send(frame, on: sound, at: pair.now)
        nextSound += .milliseconds(20)
      }
      if pair.now >= nextFigure {
        estimates.append(pair.client.capacity)
        nextFigure += .milliseconds(100)
      }
      pair.run(for: min(nextPicture, nextSound, nextFigure) - pair.now)
    }
  }

  private func takeEvents(_ maximum: Double) -> Bool {
    var wantsKey = false
    for event in pair.clientEvents[seen...] {
      switch event {
      case .estimate(let bitrate, _): target = min(max(Double(bitrate) - 40_000, 50_000), maximum)
      case .keyFrameRequested: wantsKey = true
      default: break
      }
    }
    seen = pair.clientEvents.count
    return wantsKey
  }

  /// The delivered bitrate, in bit/s, with all headers.
  func throughput(_ from: Double, _ to: Double) -> Double {
    let bytes = pair.passages.filter { (from..<to).contains(($0.sent + $0.delay - Self.start).inSeconds) }
      .reduce(0) { $0 + $1.size }
    return Double(bytes * 8) / (to - from)
  }

  /// In milliseconds, beyond the delay of the path itself.
  func queueDelay(percentile: Int, after first: Double = 0, pathDelay: Double = 20) -> Double {
    let delays = pair.passages.filter { ($0.sent - Self.start).inSeconds >= first }
      .map { $0.delay.inMilliseconds - pathDelay }.sorted()
    return delays.isEmpty ? 0 : delays[min(delays.count * percentile / 100, delays.count - 1)]
  }

  func estimate(at second: Double) -> Int { estimates[min(Int(second * 10), estimates.count - 1)] }
}

struct RateStepTests {
  /// The third congestion control target: 2 M → 500 k → 2 M bit/s.
  @Test(arguments: [7, 8] as [UInt64]) func publisherFollowsAFallingAndRisingPathRate(seed: UInt64) throws {
    let run = try RateRun("rate=2M,delay=20ms;15s:rate=500k;30s:rate=2M", seed: seed)
    run.run(until: .seconds(45))
    #expect(run.throughput(5, 15) > 0.85 * 2e6)
    #expect(run.estimate(at: 17) <= 500_000, "within two seconds of the fall")
    #expect(run.throughput(18, 30) > 0.85 * 5e5)
    #expect(run.throughput(39, 45) > 0.85 * 2e6, "within ten seconds of the rise")
    #expect(run.queueDelay(percentile: 95) <= 200)
  }

  @Test func initiallySlowPathIsDetected() throws {
    let run = try RateRun("rate=300k,delay=20ms")
    run.run(until: .seconds(20))
    #expect(run.estimate(at: 2) <= 300_000)
    #expect(run.throughput(2, 20) > 0.85 * 3e5)
    #expect(run.queueDelay(percentile: 95, after: 2) <= 200)
  }

  @Test func lossAndJitterAreNotMistakenForCongestion() throws {
    let run = try RateRun("loss=5%,delay=40ms,jitter=20ms,rate=2M")
    run.run(until: .seconds(20))
    #expect(run.throughput(5, 20) > 0.8 * 2e6)
    let lossy = try RateRun("loss=20%,delay=30ms,rate=3M")
    lossy.run(until: .seconds(20))
    #expect(lossy.throughput(8, 20) > 0.7 * 3e6 * 0.8, "of what a path that loses a fifth of everything brings")
  }

  @Test func longerPathIsNotMistakenForCongestion() throws {
    let run = try RateRun("delay=20ms,rate=2M;8s:delay=150ms;16s:delay=20ms")
    run.run(until: .seconds(22))
    #expect(run.throughput(11, 16) > 0.75 * 2e6)
    #expect(run.throughput(17, 22) > 0.85 * 2e6)
  }

  /// The path continues to carry all packets, but no feedback arrives.
  @Test func senderWithoutFeedbackHalvesItsRate() throws {
    let run = try RateRun("rate=2M,delay=20ms", back: "delay=20ms;8s:loss=100%;14s:loss=0%")
    run.run(until: .seconds(20))
    let before = run.estimate(at: 7.9)
    #expect(before > 1_500_000)
    #expect(run.estimate(at: 11) <= before / 2)
    #expect(run.estimate(at: 13.8) <= before / 8)
    #expect(run.estimate(at: 17) >= before * 8 / 10, "and soon as much as before")
  }

  @Test func senderProbesNoMoreThanItWantsToSend() throws {
    let run = try RateRun("delay=20ms")
    run.run(until: .seconds(10), maximum: 600_000)
    #expect(run.throughput(5, 10) < 800_000)
  }
}
