import KoineBase
import KoineSignaling
import Testing

@testable import KoineRouter

private func ms(_ count: Int) -> Tick { Tick(nanoseconds: Int64(count) * 1_000_000) }

struct ActiveSpeakerDetectorTests {
  /// 20 ms packets of the sources at their levels, reports as they fall due.
  private func run(
    _ detector: inout ActiveSpeakerDetector, _ levels: [ActiveSpeakerDetector.AudioSource: Int8], from start: Int,
    milliseconds: Int
  ) -> [ActiveSpeakerDetector.Report] {
    var reports: [ActiveSpeakerDetector.Report] = []
    for time in stride(from: start, to: start + milliseconds, by: 20) {
      for (source, level) in levels.sorted(by: { $0.key < $1.key }) {
        _ = detector.receivePacket(source, level: level, at: ms(time))
      }
      if let deadline = detector.deadline, deadline <= ms(time) {
        let report = detector.report(at: ms(time))
        if !report.isEmpty { reports.append(report) }
      }
    }
    return reports
  }

  @Test func sourcesWithinTheLimitAreAllForwarded() {
    var detector = ActiveSpeakerDetector(limit: 5)
    let sources = (0..<5).map { _ in detector.add("p") }
    for source in sources { #expect(detector.receivePacket(source, level: -127, at: ms(0)) == true) }
  }

  @Test func louderSourceReplacesTheWeakest() {
    var detector = ActiveSpeakerDetector(limit: 2)
    let sources = (0..<3).map { _ in detector.add("p") }
    _ = run(&detector, [sources[0]: -20, sources[1]: -60, sources[2]: -58], from: 0, milliseconds: 2000)
    #expect(Set(detector.forwarded) == [sources[0], sources[1]])  // 2 dB more is not enough
    _ = run(&detector, [sources[0]: -20, sources[1]: -60, sources[2]: -30], from: 2000, milliseconds: 200)
    #expect(Set(detector.forwarded) == [sources[0], sources[2]])
  }

  @Test func forwardedSourceOutlastsAShortPause() {
    var detector = ActiveSpeakerDetector(limit: 1)
    let (talker, other) = (detector.add("p"), detector.add("p"))
    _ = run(&detector, [talker: -20, other: -50], from: 0, milliseconds: 2000)
    _ = run(&detector, [talker: -100, other: -50], from: 2000, milliseconds: 200)
    #expect(detector.isForwarded(talker))
    _ = run(&detector, [talker: -100, other: -50], from: 2200, milliseconds: 3000)
    #expect(detector.isForwarded(other))
  }

  @Test func mutedSourceYieldsItsPlaceToAnother() {
    var detector = ActiveSpeakerDetector(limit: 1)
    let (first, second) = (detector.add("p"), detector.add("p"))
    _ = run(&detector, [first: -20, second: -60], from: 0, milliseconds: 500)
    detector.mute(first, at: ms(500))
    #expect(detector.receivePacket(second, level: -60, at: ms(520)) == true)
  }

  @Test func levelsAreReportedOnlyWhenTheyChangeAndNotTooOften() {
    var detector = ActiveSpeakerDetector(limit: 5)
    let source = detector.add("p")
    let steady = run(&detector, [source: -30], from: 0, milliseconds: 2000)
    #expect(steady.flatMap(\.levels).map(\.level) == [-30])
    let quiet = run(&detector, [source: -127], from: 2000, milliseconds: 2000)
    #expect(quiet.flatMap(\.levels).map(\.level) == [-127])
    var random = SeededRandom(seed: 5)
    var reports = 0
    for second in 0..<5 {
      for step in 0..<50 {
        let level = Int8.random(in: -90 ... -10, using: &random)
        reports += run(&detector, [source: level], from: 4000 + second * 1000 + step * 20, milliseconds: 20).count
      }
    }
    #expect(reports > 10)
    #expect(reports <= 26)
  }

  @Test func activeSpeakerFollowsTheConversation() {
    var detector = ActiveSpeakerDetector(limit: 5)
    let (ana, ben) = (detector.add("p"), detector.add("p"))
    _ = run(&detector, [ana: -20, ben: -90], from: 0, milliseconds: 2000)
    #expect(detector.dominant == ana)
    _ = run(&detector, [ana: -90, ben: -20], from: 2000, milliseconds: 100)
    #expect(detector.dominant == ana)  // as with a cough
    _ = run(&detector, [ana: -90, ben: -20], from: 2100, milliseconds: 2000)
    #expect(detector.dominant == ben)
    detector.remove(ben, at: ms(4200))
    #expect(detector.dominant == nil)
    #expect(detector.report(at: ms(4500)).dominantChanged == true)
  }

  @Test func activeSpeakerOutlastsAShortPause() {
    var detector = ActiveSpeakerDetector(limit: 5)
    let (ana, ben) = (detector.add("p"), detector.add("p"))
    _ = run(&detector, [ana: -20, ben: -90], from: 0, milliseconds: 2000)
    _ = run(&detector, [ana: -90, ben: -90], from: 2000, milliseconds: 2500)
    #expect(detector.dominant == ana)
    _ = run(&detector, [ana: -90, ben: -90], from: 4500, milliseconds: 1000)
    #expect(detector.dominant == nil, "three seconds without speech")
  }

  // MARK: By participant

  @Test func loudestMicrophoneDeterminesAParticipantsLevel() {
    var detector = ActiveSpeakerDetector(limit: 5)
    let (first, second, ben) = (detector.add("ana"), detector.add("ana"), detector.add("ben"))
    let reports = run(&detector, [first: -60, second: -20, ben: -80], from: 0, milliseconds: 220)
    #expect(reports.first.map { detector.speakers($0).levels } == ["ana": -20, "ben": -80])
    _ = run(&detector, [first: -60, second: -20, ben: -80], from: 220, milliseconds: 1_000)
    #expect(detector.status == Speakers(levels: ["ana": -20, "ben": -80], dominant: "ana"))
  }

  @Test func statusForgetsARemovedSource() {
    var detector = ActiveSpeakerDetector(limit: 5)
    let (ana, ben) = (detector.add("ana"), detector.add("ben"))
    _ = run(&detector, [ana: -20, ben: -80], from: 0, milliseconds: 1_000)
    detector.remove(ana, at: ms(1_000))
    #expect(detector.status == Speakers(levels: ["ben": -80], dominant: nil))
    #expect(detector.receivePacket(ana, level: -20, at: ms(1_020)) == false)
    #expect(detector.add("cem") == ana, "its index is free again")
    #expect(detector.status == Speakers(levels: ["ben": -80], dominant: nil))
  }

  @Test func silentDetectorHasNoDeadline() {
    var detector = ActiveSpeakerDetector(limit: 5)
    let source = detector.add("ana")
    #expect(detector.deadline == nil)
    _ = detector.receivePacket(source, level: -127, at: ms(0))
    #expect(detector.deadline == nil)
    _ = detector.receivePacket(source, level: nil, at: ms(10))
    #expect(detector.deadline == nil, "a packet without a level")
    _ = detector.receivePacket(source, level: -30, at: ms(20))
    #expect(detector.deadline == ms(80))
  }

  @Test(arguments: 1...10) func randomSourcesKeepTheLimitAndTheDeadline(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var detector = ActiveSpeakerDetector(limit: 3)
    var sources: [ActiveSpeakerDetector.AudioSource] = []
    for step in 0..<3_000 {
      let now = ms(step * 7)
      switch Int.random(in: 0..<40, using: &random) {
      case 0 where sources.count < 8: sources.append(detector.add("p\(step)"))
      case 1 where !sources.isEmpty:
        detector.remove(sources.remove(at: .random(in: sources.indices, using: &random)), at: now)
      case 2 where !sources.isEmpty: detector.mute(sources[.random(in: sources.indices, using: &random)], at: now)
      default:
        if let source = sources.randomElement(using: &random) {
          let isForwarded = detector.receivePacket(source, level: .random(in: -127...0, using: &random), at: now)
          #expect(isForwarded == detector.isForwarded(source))
        }
      }
      if let due = detector.deadline, due <= now {
        let report = detector.report(at: now)
        #expect(report.levels.allSatisfy { sources.contains($0.source) })
        #expect(detector.deadline.map { $0 > now } ?? true)
      }
      #expect(detector.forwarded.count <= 3)
      #expect(detector.dominant.map { sources.contains($0) } ?? true)
    }
  }
}
