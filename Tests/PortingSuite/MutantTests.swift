import Foundation
import KoineTesting
import Testing

/// The statements of a ported layer with switches, as `koine port --switches` writes them.
private struct Switch: Decodable {
  let number, line: Int
  let text: String

  /// `KOINE_MUTANTS`: the folder of these files, one for each app.
  static let folder = ProcessInfo.processInfo.environment["KOINE_MUTANTS"]

  static func all(of app: PortedLayer) throws -> [Switch] {
    let file = URL(fileURLWithPath: try #require(folder)).appendingPathComponent("\(app.folder).json")
    return try JSONDecoder().decode([Switch].self, from: Data(contentsOf: file))
  }

  static let apps = PortedLayer.all.filter { app in
    folder.map { FileManager.default.fileExists(atPath: "\($0)/\(app.folder).json") } ?? false
  }
}

/// A mistake that was seeded by hand in a ported layer (Scripts/port-mistakes.json), behind a switch.
private struct SeededMistake: Decodable {
  let kind, scenario, fact, step: String

  private static func file(of app: PortedLayer) -> String? { Switch.folder.map { "\($0)/mistakes/\(app.folder).json" } }

  /// The number of a mistake's switch is its place in the list.
  static func all(of app: PortedLayer) throws -> [SeededMistake] {
    let path = try #require(file(of: app))
    return try JSONDecoder().decode([SeededMistake].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
  }

  static let apps = PortedLayer.all.filter { file(of: $0).map(FileManager.default.fileExists(atPath:)) ?? false }
}

/// Turns off the statements that `koine port` has written, one at a time: the suite has to find each. Scripts/check-mutants runs it.
@MainActor @Suite(.serialized, .enabled(if: Switch.folder != nil, "Scripts/check-mutants")) struct MutantTests {
  /// So many statements are drawn, by a seed.
  private static let count = environment("KOINE_MUTANT_COUNT", 60)
  private static let seed = environment("KOINE_MUTANT_SEED", 1)
  /// The share of mutants that has to be found.
  private static let share = 0.9

  private static func environment(_ name: String, _ value: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? value
  }

  /// A scenario with the old layer's story, and the statements that the new layer reaches in it.
  private struct Baseline {
    let scenario: PortingScenario
    let story: PortingStory
    let reached: Set<Int>
    let seconds: Double
  }

  @Test(arguments: Switch.apps) func nineOfTenMutantsAreFound(_ app: PortedLayer) async throws {
    let (suite, all, expected) = (try app.suite("mutants"), try Switch.all(of: app), try ExpectedDifferences(app.rows))
    var baselines: [Baseline] = []
    for scenario in app.scenarios {
      let old = await suite.playOld(scenario, seed: 1)
      _ = Mutants.takeReached()
      let start = Date()
      let new = await suite.playNew(scenario, seed: 1)
      let seconds = Date().timeIntervalSince(start)
      let report = PortingReport(pair: suite.pair, old: [old], new: [new], expected: expected)
      #expect(report.differences.isEmpty, "\(report.text())")
      baselines.append(
        Baseline(scenario: scenario, story: old, reached: Mutants.takeReached(), seconds: seconds))
    }
    baselines.sort { $0.seconds < $1.seconds }
    let reached = baselines.reduce(into: Set<Int>()) { $0.formUnion($1.reached) }
    try #require(!reached.isEmpty, "the ported layer has no switches")
    let executed = all.filter { reached.contains($0.number) }
    var lines = ["\(app.folder): \(all.count) written statements, \(executed.count) executed in a run of the suite"]
    lines += all.filter { !reached.contains($0.number) }.map { "not executed: \($0.line): \($0.text)" }
    let drawn = Self.draw(executed)
    var survivors: [Switch] = []
    for mutant in drawn {
      let difference = await difference(of: mutant, baselines, suite, expected)
      if difference == nil { survivors.append(mutant) }
      lines.append("\(difference.map { "found: \($0)" } ?? "SURVIVED"): \(mutant.line): \(mutant.text)")
      print("mutant \(mutant.number): \(lines.last ?? "")")
    }
    let found = drawn.count - survivors.count
    lines.append("\(app.folder): found \(found) of \(drawn.count), \(found * 100 / max(drawn.count, 1)) %")
    print(lines.joined(separator: "\n"))
    #expect(Double(found) >= Self.share * Double(drawn.count), "\(survivors.map(\.text))")
  }

  /// Each mistake is named by the fact and the step of the first difference.
  @Test(arguments: SeededMistake.apps) func seededMistakesAreFound(_ app: PortedLayer) async throws {
    let (suite, mistakes, expected) = (
      try app.suite("mistakes"), try SeededMistake.all(of: app), try ExpectedDifferences(app.rows)
    )
    #expect(mistakes.count == 12)
    var found = 0
    var stories: [String: (old: PortingStory, known: [PortingDifference])] = [:]
    for (number, mistake) in mistakes.enumerated() {
      let scenario = try #require(PortingScenario.all.first { $0.id == mistake.scenario })
      if stories[scenario.id] == nil {
        let old = await suite.playOld(scenario, seed: 1)
        let right = PortingReport(
          pair: suite.pair, old: [old], new: [await suite.playNew(scenario, seed: 1)], expected: expected)
        #expect(right.differences.isEmpty || !app.isEqual, "\(right.text())")
        stories[scenario.id] = (old, right.differences)
      }
      let (old, known) = try #require(stories[scenario.id])
      Mutants.turnOff(number)
      let wrong = PortingReport(
        pair: suite.pair, old: [old], new: [await suite.playNew(scenario, seed: 1)], expected: expected)
      Mutants.turnOff(nil)
      let first = wrong.differences.first { !known.contains($0) }
      found += first == nil ? 0 : 1
      let place = first.map { "\($0.fact) | \($0.step)" } ?? "NOT FOUND"
      print("mistake: \(app.folder) | \(mistake.kind) | \(mistake.scenario) | \(place)")
      #expect(first?.fact == mistake.fact, "\(mistake.kind)")
      #expect(first?.step == mistake.step, "\(mistake.kind)")
    }
    print("\(app.folder): found \(found) of \(mistakes.count) mistakes")
  }

  /// The first difference that a mutant makes, in a scenario that reaches its statement; nil if there is none.
  private func difference(
    of mutant: Switch, _ baselines: [Baseline], _ suite: PortingSuite<any CallLayer>, _ expected: ExpectedDifferences
  ) async -> String? {
    Mutants.turnOff(mutant.number)
    defer { Mutants.turnOff(nil) }
    for baseline in baselines where baseline.reached.contains(mutant.number) {
      let story = await suite.playNew(baseline.scenario, seed: 1)
      let report = PortingReport(pair: suite.pair, old: [baseline.story], new: [story], expected: expected)
      if let first = report.differences.first { return "\(first.fact) at '\(first.step)' of \(baseline.scenario.id)" }
    }
    return nil
  }

  private static func draw(_ statements: [Switch]) -> [Switch] {
    var generator = Generator(state: UInt64(seed))
    return statements.shuffled(using: &generator).prefix(count).sorted { $0.number < $1.number }
  }

  /// SplitMix64: the same numbers for the same seed on every machine.
  private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var value = state
      value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
      value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
      return value ^ (value >> 31)
    }
  }
}
