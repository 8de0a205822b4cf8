import KoineBase
import KoineCodecs
import Testing

@Suite struct OpusTests {
  /// Packets of 20 ms; nil where DTX said that there is nothing to send.
  func encode(_ sound: [Int16], channels: Int = 1, length: Int = 960, _ tune: (inout OpusEncoder) -> Void = { _ in })
    throws -> [[UInt8]?]
  {
    var encoder = try OpusEncoder(channels: channels, application: channels == 1 ? .voice : .audio)
    tune(&encoder)
    let packet = Bytes(capacity: OpusEncoder.maximumPacketSize)
    return try stride(from: 0, to: sound.count - length * channels + 1, by: length * channels).map { start in
      try sound[start..<start + length * channels].withUnsafeBufferPointer {
        try encoder.encode($0, into: packet) ? packet.array : nil
      }
    }
  }

  func decode(_ packets: [[UInt8]?], channels: Int = 1) throws -> [Int16] {
    var decoder = try OpusDecoder(channels: channels)
    return try packets.flatMap { packet in
      try samples(channels) { out in
        if let packet { return try packet.withUnsafeBytes { try decoder.decode($0, into: out) } }
        return try decoder.conceal(samples: 960, into: out)
      }
    }
  }

  func samples(_ channels: Int = 1, _ body: (UnsafeMutableBufferPointer<Int16>) throws -> Int) rethrows -> [Int16] {
    try [Int16](unsafeUninitializedCapacity: OpusDecoder.maximumLength * channels) { out, count in
      count = try body(UnsafeMutableBufferPointer(start: out.baseAddress, count: out.count)) * channels
    }
  }

  @Test(arguments: [1, 2])
  func opusRoundTripPreservesAudio(channels: Int) throws {
    let sound = voice(samples: 48_000, channels: channels)
    let back = try decode(try encode(sound, channels: channels), channels: channels)
    #expect(back.count == sound.count)
    let first = stride(from: 0, to: sound.count, by: channels).map { sound[$0] }
    let received = stride(from: 0, to: back.count, by: channels).map { back[$0] }
    #expect(alignedCorrelation(first, received) > 0.95)
  }

  @Test(arguments: [120, 240, 480, 960, 1920, 2880])
  func everyPacketDurationIsEncodedAndDecoded(length: Int) throws {
    let packets = try encode(voice(samples: 11_520), length: length)
    for packet in packets {
      let packet = try #require(packet)
      #expect(packet.withUnsafeBytes { OpusDecoder.sampleCount(of: $0) } == length)
    }
    #expect(try decode(packets).count == 11_520)
  }

  @Test func encoderFollowsTargetBitrate() throws {
    for rate in [16_000, 32_000, 64_000] {
      let bytes = try encode(voice(samples: 96_000)) { $0.setBitrate(rate) }.reduce(0) { $0 + ($1?.count ?? 0) }
      #expect((0.6...1.25).contains(Double(bytes * 4) / Double(rate)), "\(bytes * 4) bit/s for \(rate)")
    }
  }

  @Test func fecRecoversLostPacketBetterThanConcealment() throws {
    let sound = voice(samples: 96_000)
    let packets = try encode(sound) {
      $0.setFEC(true)
      $0.setExpectedLoss(percent: 20)
      $0.setBitrate(32_000)
    }
    func receive(fec: Bool) throws -> [Int16] {
      var decoder = try OpusDecoder()
      var back: [Int16] = []
      for (index, packet) in packets.enumerated() {
        let isLost = index % 5 == 3
        if isLost && fec, index + 1 < packets.count, let next = packets[index + 1] {
          back += try samples { out in try next.withUnsafeBytes { try decoder.decodeFEC($0, samples: 960, into: out) } }
        } else if isLost {
          back += try samples { try decoder.conceal(samples: 960, into: $0) }
        } else if let packet {
          back += try samples { out in try packet.withUnsafeBytes { try decoder.decode($0, into: out) } }
        }
      }
      return back
    }
    let whole = try decode(packets)
    let recovered = correlation(whole[...], try receive(fec: true), delay: 0)
    let concealed = correlation(whole[...], try receive(fec: false), delay: 0)
    #expect(recovered > concealed + 0.02, "\(recovered) against \(concealed)")
    #expect(recovered > 0.95)
  }

  @Test func silenceIsNotSentWithDTX() throws {
    let packets = try encode([Int16](repeating: 0, count: 96_000)) { $0.setDTX(true) }
    #expect(packets.count { $0 != nil } < 30, "\(packets.count { $0 != nil }) of \(packets.count)")
    #expect(try encode([Int16](repeating: 0, count: 48_000)).allSatisfy { $0 != nil })
    #expect(try encode(voice(samples: 48_000)) { $0.setDTX(true) }.allSatisfy { $0 != nil })
  }

  @Test func concealmentFadesOut() throws {
    let packets: [[UInt8]?] = try encode(voice(samples: 24_000)) + Array(repeating: nil, count: 50)
    let back = try decode(packets)
    #expect(back.suffix(9_600).withUnsafeBufferPointer { audioLevel(of: $0) } < -45)
  }

  @Test func invalidArgumentsThrow() throws {
    #expect(throws: CodecError.self) { _ = try OpusEncoder(channels: 3) }
    #expect(throws: CodecError.self) { _ = try OpusDecoder(channels: 0) }
    #expect(throws: CodecError.self) { try encode(voice(samples: 1_000), length: 500) }
    var decoder = try OpusDecoder()
    #expect(throws: CodecError.self) { try samples { try decoder.conceal(samples: 100, into: $0) } }
    #expect(throws: CodecError.self) {
      try samples { try decoder.decode(UnsafeRawBufferPointer(start: nil, count: 0), into: $0) }
    }
  }

  @Test func damagedPacketsDecodeToErrorsOrAudio() throws {
    let good = try encode(voice(samples: 48_000))
    var random = SeededRandom(seed: 3)
    var decoder = try OpusDecoder()
    for round in 0..<2_000 {
      var packet = good[round % good.count] ?? []
      for _ in 0...Int(random.next() % 4) {
        packet[Int(random.next() % UInt64(packet.count))] = UInt8(truncatingIfNeeded: random.next())
      }
      if round % 3 == 0 { packet.removeLast(Int(random.next() % UInt64(packet.count))) }
      packet.withUnsafeBytes { bytes in
        _ = OpusDecoder.sampleCount(of: bytes)
        do { #expect(try samples { try decoder.decode(bytes, into: $0) }.count <= OpusDecoder.maximumLength) } catch {
          #expect(error is CodecError)
        }
        _ = try? samples { try decoder.decodeFEC(bytes, samples: 960, into: $0) }
      }
    }
    #expect(OpusDecoder.sampleCount(of: UnsafeRawBufferPointer(start: nil, count: 0)) == nil)
  }
}
