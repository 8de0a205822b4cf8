import Foundation
import KoineBase
import KoineCodecs
import KoineTransport
import Testing

@testable import KoineMedia
@testable import KoineMediaEngine

/// Something like speech: a gliding voice in syllables, kept as it is sent.
private final class VoiceSource: AudioSource, Sendable {
  let channels = 1
  let sent = Lock<[Int16]>([])
  private let ticks = SteadyTicks()

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    ticks.start(every: AudioBlock.duration, on: lane) { [sent] number, due in
      var block = AudioBlock(captured: due)
      for index in 0..<AudioBlock.length {
        let time = Double(number * AudioBlock.length + index) / 48_000
        // The integral of 140 + 30 sin(2π · 0.7 t) Hz.
        let phase = 140 * time + 30 / (2 * .pi * 0.7) * (1 - cos(2 * .pi * 0.7 * time))
        let value = sin(2 * .pi * phase) + sin(4 * .pi * phase) / 2 + sin(8 * .pi * phase) / 4
        block.samples[index] = Int16(value * (0.15 + 0.85 * pow(sin(.pi * 3.1 * time), 2)) * 7_000)
      }
      sent.withLock { $0 += block.samples }
      deliver(block)
    }
  }

  func stop() { ticks.stop() }
}

private final class AudioWatcher: AudioSink, Sendable {
  let heard = Lock<[Int16]>([])
  func play(_ block: AudioBlock) { heard.withLock { $0 += block.samples } }
}

private final class Frames: FrameOutput, Sendable {
  let queue = Lock<[EncodedFrame]>([])
  func send(_ frame: EncodedFrame) { queue.withLock { $0.append(frame) } }

  func take() -> [EncodedFrame] {
    queue.withLock { queue in
      defer { queue = [] }
      return queue
    }
  }
}

/// A call from microphone to loudspeaker on virtual time: one peer sends, the other plays; the path between them loses
/// datagrams from a seed, and takes 25 ms each way.
private final class LossyCall {
  private let scheduler = Scheduler.virtual()
  private let sender: Peer
  private let receiver: Peer
  private let addresses: [TransportAddress]
  private let loss: Double
  private var random: SeededRandom
  private var flying: [(at: Tick, toReceiver: Bool, datagram: Bytes)] = []
  private var isConnected = false
  private let voice = VoiceSource()
  private let ear = AudioWatcher()
  private let frames = Frames()
  private let talker: AudioReceivePipeline
  private let mixer: PlayoutMixer
  private static let delay = Duration.milliseconds(25)

  init(loss: Double, seed: UInt64) throws {
    (self.loss, random) = (loss, SeededRandom(seed: seed))
    addresses = [.loopback(port: 5_000), .loopback(port: 6_000)]
    let certificate = try Certificate.shared()
    let now = scheduler.now
    sender = try Peer(
      configuration: PeerConfiguration(role: .client, certificate: certificate), random: SeededRandom(seed: 1), now: now
    )
    receiver = try Peer(
      configuration: PeerConfiguration(role: .server, certificate: certificate), random: SeededRandom(seed: 2), now: now
    )
    sender.addLocalAddress(addresses[0])
    receiver.addLocalAddress(addresses[1])
    receiver.setRemote(sender.localDescription, at: now)
    sender.setRemote(receiver.localDescription, at: now)
    talker = AudioReceivePipeline(scheduler: scheduler)
    mixer = PlayoutMixer(scheduler: scheduler, sink: nil)
    talker.addSink(ear)
    mixer.add(talker)
  }

  /// - Parameter isProtected: by copies (RFC 2198), retransmissions and in-band correction; else by nothing.
  func run(isProtected: Bool, seconds: Int) throws -> (figures: AudioReceiveStatistics, correlation: Double) {
    var settings = AudioSendSettings()
    settings.usesFEC = isProtected
    let send = AudioSendPipeline(source: voice, settings: settings, scheduler: scheduler, output: frames)
    let parameters = StreamParameters(
      mid: "a", codec: .opus, payloadType: 111, rtxPayloadType: isProtected ? 112 : nil,
      redPayloadType: isProtected ? sender.remoteRedPayloadType : nil,
      encodings: [.init(ssrc: 1, rtxSSRC: isProtected ? 2 : nil)])
    let id = sender.addSender(parameters)
    _ = receiver.addReceiver(parameters, mode: .frames)
    step(for: 1_000, on: id)
    try #require(isConnected)
    try send.start()
    step(for: seconds * 1_000, on: id)
    send.stop()
    mixer.stop()
    return (talker.statistics, correlation())
  }

  private func step(for milliseconds: Int, on id: SenderID) {
    for _ in 0..<milliseconds {
      scheduler.advance(to: scheduler.now + .milliseconds(1))
      let now = scheduler.now
      let due = flying.filter { $0.at <= now }
      flying.removeAll { $0.at <= now }
      for (_, toReceiver, datagram) in due {
        (toReceiver ? receiver : sender).handle(
          datagram, from: addresses[toReceiver ? 0 : 1], to: addresses[toReceiver ? 1 : 0], at: now)
      }
      for frame in frames.take() { sender.send(frame, on: id, at: now) }
      for peer in [sender, receiver] where peer.deadline.map({ $0 <= now }) ?? false { peer.handleTimeout(at: now) }
      drain(sender, toReceiver: true, at: now)
      drain(receiver, toReceiver: false, at: now)
    }
  }

  private func drain(_ peer: Peer, toReceiver: Bool, at now: Tick) {
    let buffer = Bytes(capacity: 1_600)
    while let transmit = peer.poll(into: buffer.writable, at: now) {
      let isMedia = isConnected  // the handshake is not what is measured
      if isMedia, Double.random(in: 0..<1, using: &random) < loss { continue }
      let datagram = Bytes(capacity: 1_600)
      datagram.append(UnsafeRawBufferPointer(rebasing: buffer.writable[..<transmit.count]))
      flying.append((now + Self.delay, toReceiver, datagram))
    }
    while let event = peer.pollEvent() {
      switch event {
      case .connected: isConnected = sender.isConnected && receiver.isConnected
      case .frame(_, let frame): talker.push(frame)
      default: break
      }
    }
  }

  /// The mean over the windows of 250 ms behind the first two seconds, each at the delay that fits it best.
  private func correlation() -> Double {
    let (sent, heard) = (voice.sent.withLock { $0 }, ear.heard.withLock { $0 })
    let (length, reach) = (12_000, 7_200)
    let starts = Array(stride(from: 96_000, to: min(sent.count, heard.count) - length - 2 * reach, by: length))
    guard !starts.isEmpty else { return 0 }
    var lag = 0
    var sum = 0.0
    for (index, start) in starts.enumerated() {
      // All delays for the first window; then those near the last one.
      let lags = index == 0 ? stride(from: -reach, to: reach, by: 4) : stride(from: lag - 480, to: lag + 480, by: 4)
      var best = -1.0
      for candidate in lags where start + candidate >= 0 {
        let value = product(sent, heard, start, start + candidate, length)
        if value > best { (best, lag) = (value, candidate) }
      }
      sum += best
    }
    return sum / Double(starts.count)
  }

  private func product(_ a: [Int16], _ b: [Int16], _ aStart: Int, _ bStart: Int, _ length: Int) -> Double {
    a.withUnsafeBufferPointer { a in
      b.withUnsafeBufferPointer { b in
        var (ab, aa, bb) = (0.0, 1.0, 1.0)
        for index in stride(from: 0, to: length, by: 32) {
          let (x, y) = (Double(a[aStart + index]), Double(b[bStart + index]))
          ab += x * y
          aa += x * x
          bb += y * y
        }
        return ab / (aa * bb).squareRoot()
      }
    }
  }
}

@Suite struct ProtectedCallTests {
  /// Over several losses: which packets a seed loses depends on each packet that either peer sends.
  @Test func protectedAudioSurvivesFivePercentLoss() throws {
    var plain: [Double] = []
    var protected: [Double] = []
    for seed in UInt64(1)...6 {
      plain.append(try LossyCall(loss: 0.05, seed: seed).run(isProtected: false, seconds: 8).correlation)
      let call = try LossyCall(loss: 0.05, seed: seed).run(isProtected: true, seconds: 8)
      protected.append(call.correlation)
      #expect(call.figures.concealedFraction < 0.01, "seed \(seed)")
    }
    #expect(protected.reduce(0, +) > plain.reduce(0, +), "\(protected), \(plain)")
    #expect(protected.sorted()[2] > 0.97, "\(protected)")
    #expect(protected.count { $0 > 0.97 } >= 5, "\(protected)")
  }

  @Test func protectionDoesNotDegradeAudioOnCleanPath() throws {
    let plain = try LossyCall(loss: 0, seed: 1).run(isProtected: false, seconds: 5)
    let protected = try LossyCall(loss: 0, seed: 1).run(isProtected: true, seconds: 5)
    #expect(plain.figures.concealed == 0)
    #expect(protected.figures.concealed == 0)
    #expect(
      protected.correlation > plain.correlation - 0.01,
      "correlation \(plain.correlation) and \(protected.correlation)")
  }

  /// RFC 6716, 4.2.4: in packets of one 20 ms frame, the in-band FEC flag follows the voice activity flag.
  @Test func packetsCarryFECWithoutObservedLoss() throws {
    let scheduler = Scheduler.virtual()
    let frames = Frames()
    let send = AudioSendPipeline(
      source: VoiceSource(), settings: AudioSendSettings(), scheduler: scheduler, output: frames)
    send.setExpectedLoss(0)
    try send.start()
    scheduler.advance(to: scheduler.now + .seconds(4))
    send.stop()
    let packets = frames.queue.withLock { $0.map(\.data.array) }.filter { $0.count > 1 && $0[0] >> 3 < 16 }
    let corrected = packets.count { $0[1] & 0x40 != 0 }
    #expect(packets.count > 150 && corrected > packets.count / 2, "\(corrected) of \(packets.count)")
  }
}
