import KoineBase
import KoineRTP
import Testing

@testable import KoineTransport

private let plain = StreamParameters(
  mid: "a", codec: .opus, payloadType: 111, rtxPayloadType: nil, encodings: [.init(ssrc: 2222)])
private let redundant = StreamParameters(
  mid: "a", codec: .opus, payloadType: 111, rtxPayloadType: nil, redPayloadType: 113, encodings: [.init(ssrc: 2222)])

extension PeerPair {
  /// Sends 20 ms of audio `count` times; the first two bytes of each payload are its number.
  fileprivate func sendAudio(_ count: Int, from first: Int = 0, on sender: SenderID) {
    for number in first..<first + count {
      let bytes = [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
      client.send(
        EncodedFrame(
          codec: .opus, data: Bytes(bytes + [UInt8](repeating: 7, count: 78)), captured: now,
          rtpTimestamp: UInt32(truncatingIfNeeded: number * 960), audioLevel: -30), on: sender, at: now)
      run(for: .milliseconds(20))
    }
    run(for: .milliseconds(200))
  }
}

@Suite struct AudioRedundancyTests {
  /// - Returns: the fraction of 1,500 packets that never came, and the frames that did.
  private func missing(_ parameters: StreamParameters, loss: Double, seed: UInt64) throws -> (Double, [EncodedFrame]) {
    let pair = try PeerPair.connected(link: .init(loss: loss, delay: .milliseconds(25)), seed: seed)
    let sender = pair.client.addSender(parameters)
    let receiver = pair.server.addReceiver(parameters, mode: .frames)
    pair.sendAudio(1_500, on: sender)
    let frames = pair.frames(of: receiver)
    return (1 - Double(frames.count) / 1_500, frames)
  }

  @Test(arguments: [1, 2, 3] as [UInt64]) func redundantCopiesRepairFivePercentLoss(seed: UInt64) throws {
    #expect(try missing(plain, loss: 0.05, seed: seed).0 > 0.03)
    let (fraction, frames) = try missing(redundant, loss: 0.05, seed: seed)
    #expect(fraction < 0.006)
    for frame in frames {
      let number = Int(frame.data.array[0]) << 8 | Int(frame.data.array[1])
      #expect(frame.rtpTimestamp == UInt32(number * 960))
      #expect(frame.data.count == 80)
    }
    let sequences = frames.map(\.sequence)
    #expect(Set(sequences).count == sequences.count)
    let offset = try #require(frames.first.map { $0.sequence - Int64($0.rtpTimestamp / 960) })
    #expect(frames.allSatisfy { $0.sequence - Int64($0.rtpTimestamp / 960) == offset })
    // Copies say nothing of when they were captured: the sender's reports do.
    #expect(frames.dropFirst(100).allSatisfy { ($0.arrived - $0.captured).inMilliseconds < 90 })
  }

  @Test func twoRedundantCopiesRepairPairsOfLostPackets() throws {
    #expect(try missing(redundant, loss: 0.15, seed: 4).0 < 0.012)
  }

  @Test func pathWithoutLossCarriesNoCopiesOnceItIsMeasured() throws {
    let pair = try PeerPair.connected()
    let sender = pair.client.addSender(redundant)
    _ = pair.server.addReceiver(redundant, mode: .frames)
    pair.sendAudio(200, on: sender)
    let before = try #require(pair.client.statistics(at: pair.now).outgoing[sender])
    pair.sendAudio(100, from: 200, on: sender)
    let after = try #require(pair.client.statistics(at: pair.now).outgoing[sender])
    #expect(after.bytes - before.bytes == 100 * 80)
  }

  @Test func lossEnablesOneOrTwoCopiesForAWhile() {
    var redundancy = AudioRedundancy()
    func at(_ seconds: Double) -> Tick { Tick(nanoseconds: Int64(seconds * 1e9)) }
    #expect(redundancy.copies(atLoss: 0, at: at(0)) == 1)  // not measured yet
    #expect(redundancy.copies(atLoss: 0, at: at(2.9)) == 1)
    #expect(redundancy.copies(atLoss: 0, at: at(3)) == 0)
    #expect(redundancy.copies(atLoss: 0.005, at: at(4)) == 0)
    #expect(redundancy.copies(atLoss: 0.02, at: at(5)) == 1)
    #expect(redundancy.copies(atLoss: 0.5, at: at(6)) == 1)  // a burst
    for packet in 0..<200 { _ = redundancy.copies(atLoss: 0.06, at: at(6 + Double(packet) / 50)) }
    #expect(redundancy.copies(atLoss: 0.06, at: at(10)) == 1)
    for packet in 0..<200 { _ = redundancy.copies(atLoss: 0.15, at: at(10 + Double(packet) / 50)) }
    #expect(redundancy.copies(atLoss: 0.15, at: at(14)) == 2)
    for packet in 0..<400 { #expect(redundancy.copies(atLoss: 0.02, at: at(14 + Double(packet) / 50)) == 2) }
    #expect(redundancy.copies(atLoss: 0.02, at: at(25)) == 1)
    #expect(redundancy.copies(atLoss: 0, at: at(34.9)) == 1)
    #expect(redundancy.copies(atLoss: 0, at: at(35)) == 0)
  }

  /// Two copies cost much for a burst, however many voices share the path.
  @Test func burstLossAcrossFiveStreamsEnablesNoSecondCopy() throws {
    let pair = try PeerPair.connected(seed: 3)
    let voices = (0..<5).map { voice in
      StreamParameters(
        mid: "a\(voice)", codec: .opus, payloadType: 111, rtxPayloadType: nil, redPayloadType: 113,
        encodings: [.init(ssrc: 3_000 + UInt32(voice))])
    }
    let senders = voices.map { pair.client.addSender($0) }
    for voice in voices { _ = pair.server.addReceiver(voice, mode: .frames) }
    var most = 0
    for number in 0..<400 {
      pair.link.loss = (200..<215).contains(number) ? 0.4 : 0
      for sender in senders {
        pair.client.send(
          EncodedFrame(
            codec: .opus, data: Bytes([UInt8](repeating: 7, count: 80)), captured: pair.now,
            rtpTimestamp: UInt32(number * 960), audioLevel: -30), on: sender, at: pair.now)
      }
      pair.run(for: .milliseconds(20))
      most = max(most, senders.map { pair.client.copies(on: $0) }.max() ?? 0)
    }
    #expect(most == 1)
  }

  /// The position of a copy implies its sequence number: behind an unknown packet no earlier copies can follow.
  @Test func redundantCopiesEndAtAGap() throws {
    var random = SeededRandom(seed: 1)
    var pool = BytesPool(capacity: 1_400, limit: 8)
    let stream = RTPSendStream(parameters: redundant, layer: 0, random: &random)
    let out = Bytes(capacity: 1_600)
    func stored(_ sequence: UInt16, size: Int = 10) -> StoredPacket {
      StoredPacket(
        payload: Bytes([UInt8](repeating: UInt8(sequence), count: size)), range: 0..<size, sequence: sequence,
        timestamp: UInt32(sequence) * 960, marker: false, extensions: StoredExtensions(HeaderExtensions()),
        at: Tick(nanoseconds: 0))
    }
    for sequence: UInt16 in [10, 12, 13] { stream.store(stored(sequence), pool: &pool, at: .zero) }
    #expect(stream.redundantPayload(of: stored(12), copies: 2, into: out.writable) == nil)
    let one = try #require(stream.redundantPayload(of: stored(13), copies: 2, into: out.writable))
    #expect(
      Array(one) == [0xEF, 0x0F, 0x00, 10, 0x6F] + [UInt8](repeating: 12, count: 10) + [UInt8](repeating: 13, count: 10)
    )
    stream.store(stored(14, size: 1_024), pool: &pool, at: .zero)  // longer than a copy can be
    #expect(stream.redundantPayload(of: stored(15), copies: 2, into: out.writable) == nil)
    stream.store(stored(16, size: 600), pool: &pool, at: .zero)  // with the next one longer than a datagram
    #expect(stream.redundantPayload(of: stored(17, size: 600), copies: 1, into: out.writable) == nil)
  }

  @Test func malformedRedundantPacketsAreCountedAndHarmless() throws {
    let pair = try PeerPair.connected()
    // The receiver takes every payload as redundant audio.
    let sender = pair.client.addSender(
      StreamParameters(mid: "a", codec: .opus, payloadType: 113, rtxPayloadType: nil, encodings: [.init(ssrc: 2222)]))
    let receiver = pair.server.addReceiver(redundant, mode: .frames)
    var random = SeededRandom(seed: 5)
    for number in 0..<500 {
      let bytes = (0..<Int.random(in: 1...60, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      pair.client.send(
        EncodedFrame(codec: .opus, data: Bytes(bytes), captured: pair.now, rtpTimestamp: UInt32(number * 960)),
        on: sender, at: pair.now)
      pair.run(for: .milliseconds(20))
    }
    #expect(pair.server.statistics(at: pair.now).dropped > 100)
    #expect(pair.frames(of: receiver).count < 500)
  }
}
