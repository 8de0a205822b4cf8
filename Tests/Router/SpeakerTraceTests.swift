import Glibc
import KoineBase
import KoineSignaling
import KoineSimulatedNetwork
import Testing

@testable import KoineRouter

/// The dominant speaker in scripted traces of audio levels: one list per voice, one level in dBov per 20 ms frame.
struct SpeakerTraceTests {
  /// The published method, straight from its formulas, over whole traces.
  private struct Reference {
    var leader: Int?

    /// For each trace and frame: the number of sub-bands above the noise.
    let bands: [[Int]]

    init(_ traces: [[Int8]]) {
      bands = traces.map { trace in
        trace.indices.map { frame in
          let loudness = 127 + Int(trace[frame])
          let noise = trace[max(frame / 250 * 250 - 250, 0)..<frame].min().map { 127 + Int($0) } ?? .max
          return noise <= 92 && loudness < noise + 12 ? 0 : loudness / 10
        }
      }
    }

    private func score(_ active: Int, _ total: Int, _ lambda: Double) -> Double {
      func factorial(_ n: Int) -> Double { (1...max(n, 1)).reduce(1.0) { $0 * Double($1) } }
      let choose = factorial(total) / factorial(active) / factorial(total - active)
      return log(
        max(log(choose) + Double(total) * log(0.5) - log(lambda) + lambda * Double(active), 1e-10))
    }

    private func scores(_ trace: [Int], at frame: Int) -> (i: Double, m: Double, l: Double, frames: Int) {
      let bands = (0..<50).map { age in frame - age < 0 ? 0 : trace[frame - age] }
      let mediums = (0..<10).map { stretch in bands[stretch * 5..<stretch * 5 + 5].count { $0 > 7 } }
      return (
        score(bands[0], 13, 0.78), score(mediums[0], 5, 24), score(mediums.count { $0 > 4 }, 10, 47), mediums[0]
      )
    }

    mutating func decide(at frame: Int) {
      let all = bands.map { scores($0, at: frame) }
      var best: (voice: Int, margin: Double)?
      for (voice, its) in all.enumerated() where voice != leader && its.frames >= 3 {
        var margin = its.m
        if let leader {
          guard its.i - all[leader].i > 3, its.m - all[leader].m > 2, its.l > all[leader].l else { continue }
          margin -= all[leader].m
        }
        if best.map({ margin > $0.margin }) ?? true { best = (voice, margin) }
      }
      if let best { leader = best.voice }
    }
  }

  private func ms(_ value: Int) -> Tick { Tick(nanoseconds: Int64(value) * 1_000_000) }

  /// - Returns: the index of the dominant voice after each frame; nil where there is none.
  private func run(_ traces: [[Int8]]) -> [Int?] {
    var detector = ActiveSpeakerDetector(limit: 5)
    let voices = traces.map { _ in detector.add("p") }
    return traces[0].indices.map { frame in
      for (index, voice) in voices.enumerated() {
        _ = detector.receivePacket(voice, level: traces[index][frame], at: ms(frame * 20))
      }
      if let due = detector.deadline, due <= ms(frame * 20) { _ = detector.report(at: ms(frame * 20)) }
      return detector.dominant
    }
  }

  /// Syllables of 120 to 300 ms with short dips between them; breath and room noise otherwise.
  private func conversation(
    of people: Int, turns: [(voice: Int, from: Int, to: Int)], frames: Int, _ random: inout SeededRandom
  ) -> [[Int8]] {
    var traces = (0..<people).map { _ in (0..<frames).map { _ in Int8.random(in: -70 ... -62, using: &random) } }
    for turn in turns {
      let loudness = Int8.random(in: -30 ... -18, using: &random)
      var frame = turn.from
      while frame < min(turn.to, frames) {
        for _ in 0..<Int.random(in: 6...15, using: &random) where frame < min(turn.to, frames) {
          traces[turn.voice][frame] = loudness + Int8.random(in: -6...3, using: &random)
          frame += 1
        }
        frame += Int.random(in: 0...2, using: &random)
      }
    }
    return traces
  }

  @Test(arguments: 1...8) func dominantSpeakerIsThatOfThePublishedMethod(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var turns: [(voice: Int, from: Int, to: Int)] = []
    var start = 10
    while start < 1_400 {
      let length = Int.random(in: 5...150, using: &random)
      turns.append((Int.random(in: 0..<4, using: &random), start, start + length))
      start += max(length + Int.random(in: -20...30, using: &random), 1)
    }
    let traces = conversation(of: 4, turns: turns, frames: 1_500, &random)
    var reference = Reference(traces)
    let leaders = run(traces)
    // The detector looks every 60 ms from its first sound on.
    for frame in stride(from: 3, to: 1_500, by: 3) {
      reference.decide(at: frame)
      #expect(leaders[frame] == reference.leader, "frame \(frame)")
    }
  }

  @Test func dominantSpeakerChangesWithin600Milliseconds() {
    var random = SeededRandom(seed: 11)
    var waits: [Int] = []
    for _ in 0..<200 {
      let end = Int.random(in: 100...250, using: &random)
      let begin = end + Int.random(in: -10...20, using: &random)
      let traces = conversation(
        of: 5, turns: [(0, 10, end), (1, begin, begin + 200)], frames: begin + 200, &random)
      let leaders = run(traces)
      #expect(leaders[min(begin, end) - 1] == 0)
      let alone = max(begin, end)
      let wait = leaders[alone...].firstIndex(of: 1).map { ($0 - alone) * 20 }
      waits.append(wait ?? .max)
    }
    waits.sort()
    #expect(waits[189] <= 600, "p50 \(waits[100]) ms, p95 \(waits[189]) ms, longest \(waits[199]) ms")
  }

  @Test func shortSoundsDoNotBecomeDominant() {
    var random = SeededRandom(seed: 3)
    for _ in 0..<50 {
      let cough = Int.random(in: 60...180, using: &random)
      let traces = conversation(
        of: 3, turns: [(0, 10, 250), (1, cough, cough + Int.random(in: 3...15, using: &random))], frames: 250, &random)
      #expect(run(traces)[40...].allSatisfy { $0 == 0 })
    }
  }

  @Test func steadyNoiseDoesNotBecomeDominant() {
    var random = SeededRandom(seed: 4)
    var traces = conversation(of: 3, turns: [(0, 500, 700)], frames: 900, &random)
    for frame in traces[2].indices { traces[2][frame] = Int8.random(in: -44 ... -38, using: &random) }
    let leaders = run(traces)
    #expect(leaders[560..<845].allSatisfy { $0 == 0 })
    #expect(leaders[860...].allSatisfy { $0 == nil }, "three seconds after the last word")
  }

  @Test func fiveMicrophonesAreForwardedIncludingTheSpeakers() {
    var random = SeededRandom(seed: 5)
    let traces = conversation(of: 30, turns: [(7, 100, 300), (21, 320, 500)], frames: 500, &random)
    var detector = ActiveSpeakerDetector(limit: 5)
    let voices = traces.map { _ in detector.add("p") }
    var changes = 0
    var heard: [Int: Int] = [:]
    for frame in 0..<500 {
      let before = detector.forwarded
      for (index, voice) in voices.enumerated() {
        if detector.receivePacket(voice, level: traces[index][frame], at: ms(frame * 20)) {
          heard[index, default: 0] += 1
        }
      }
      if detector.forwarded != before { changes += 1 }
      #expect(detector.forwarded.count == 5)
    }
    #expect(heard[7, default: 0] >= 195)
    #expect(heard[21, default: 0] >= 175)
    #expect(changes < 60, "room noise alone does not move places much: \(changes) changes")
  }
}

struct ConnectionQualityTests {
  @Test func lossDelayAndJitterEachLowerTheQuality() {
    typealias Level = ConnectionQuality.Level
    #expect(Level(loss: 0.02, roundTrip: 80, jitter: 10) == .high)
    #expect(Level(loss: 0.06, roundTrip: nil) == .low)
    #expect(Level(loss: 0.21, roundTrip: nil) == .none)
    #expect(Level(loss: 0, roundTrip: 401) == .low)
    #expect(Level(loss: 0, roundTrip: 1_001) == .none)
    #expect(Level(loss: 0, roundTrip: nil, jitter: 61) == .low)
    #expect(Level(loss: 0, roundTrip: nil, jitter: 201) == .none)
  }

  @Test func receiversOfVideoLearnWhatTheirPathCarries() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben", "cleo")
    clients[0].publish(.camera)
    clients[0].publish(.microphone)
    clients[1].subscribe(to: "ana", "camera")
    clients[2].subscribe(to: "ana", "microphone")
    clients[0].sendFrames("camera", seconds: 30)
    clients[0].sendAudio("microphone", seconds: 30)
    world.run(.seconds(30))
    func reports(_ client: Client) -> [Int] {
      client.messages.compactMap { if case .bandwidth(let bitrate) = $0 { bitrate } else { nil } }
    }
    let bitrates = reports(clients[1])
    #expect(!bitrates.isEmpty)
    #expect(bitrates.count <= 30, "at most one a second")
    #expect(zip(bitrates, bitrates.dropFirst()).allSatisfy { abs($1 - $0) > $0 / 10 }, "each a tenth from the last")
    #expect(reports(clients[0]) == [], "receives nothing")
    #expect(reports(clients[2]) == [], "receives audio only")
  }

  @Test func eachDirectionHasItsOwnQuality() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    for client in clients { client.publish(.microphone) }
    clients[0].subscribe(to: "ben", "microphone")
    clients[1].subscribe(to: "ana", "microphone")
    for client in clients { client.sendAudio("microphone", seconds: 20) }
    clients[1].wayDown = LinkConditioner(spec: try NetworkSpec("loss=15%,delay=20ms"), seed: 3, start: world.now)
    world.run(.seconds(10))
    let reports = clients[0].messages.compactMap { if case .quality(let reports) = $0 { reports } else { nil } }
    #expect(reports.contains { $0["ben"] == ConnectionQuality(sending: .high, receiving: .low) })
    #expect(!reports.contains { $0["ana"] != nil || ($0["ben"]?.sending ?? .high) < .high })
  }
}
