import KoineBase
import KoineCluster
import KoineLedger
import Testing

/// Schedules of faults in virtual time. `Scripts/check-cluster` runs more of them.
@Suite struct ScheduleTests {
  private static let seeds = environmentNumber("KOINE_CLUSTER_SEEDS") ?? 40
  private static let first = environmentNumber("KOINE_CLUSTER_FIRST") ?? 1

  private static func environmentNumber(_ name: String) -> UInt64? { environment(name).flatMap { UInt64($0) } }

  @Test func nothingAcknowledgedIsLostDoubledOrOutOfOrder() {
    var figures = Simulation.Figures()
    for seed in Self.first..<(Self.first + Self.seeds) {
      let world = Simulation(seed: seed)
      if environment("KOINE_CLUSTER_TRACE") != nil { world.trace = { print($0) } }
      world.run()
      #expect(world.violations == [], "seed \(seed)")
      figures.acknowledged += world.figures.acknowledged
      figures.repeatedReceipts += world.figures.repeatedReceipts
      figures.opened += world.figures.opened
      figures.deposed += world.figures.deposed
      figures.late += world.figures.late
      figures.moved += world.figures.moved
      figures.messages += world.figures.messages
    }
    print("\(Self.seeds) schedules: \(figures)")
    #expect(figures.acknowledged > Int(Self.seeds) * 50)
    #expect(figures.deposed > Int(Self.seeds))
  }

  @Test func everySeedRepeats() {
    for seed in Self.first..<(Self.first + min(Self.seeds, 10)) {
      let worlds = (0..<2).map { _ in Simulation(seed: seed) }
      for world in worlds { world.run() }
      #expect(worlds[0].hash == worlds[1].hash, "seed \(seed)")
    }
    let other = Simulation(seed: Self.first + 1)
    other.run()
    let world = Simulation(seed: Self.first)
    world.run()
    #expect(world.hash != other.hash)
  }

  // MARK: The checks find what follows when a rule is taken out

  private static let without: [String: @Sendable (inout Simulation.Rules) -> Void] = [
    "the fence": { $0.ledger.comparesTerms = false },
    "the order gap": { $0.ledger.beginsAtClock = false },
    "the duplicate check": { $0.checksDuplicates = false },
    "the eviction": { $0.cluster.heedsEviction = false },
    "the number before an entry": { $0.ledger.comparesPrevious = false },
  ]

  @Test(arguments: without.keys.sorted())
  func schedulesFindWhatFollowsWithout(_ rule: String) throws {
    var options = Simulation.Options()
    let takeOut = try #require(Self.without[rule])
    takeOut(&options.rules)
    var seeds: [UInt64] = [], violation: String?
    for seed in 1...Self.seeds {
      let world = Simulation(seed: seed, options: options)
      world.run()
      guard let first = world.violations.first else { continue }
      seeds.append(seed)
      violation = violation ?? first
      if environment("KOINE_CLUSTER_TRACE") == nil { break }
    }
    print("without \(rule): seeds \(seeds): \(violation ?? "-")")
    #expect(!seeds.isEmpty)
  }
}
