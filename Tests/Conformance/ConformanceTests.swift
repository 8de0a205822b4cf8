import Koine
import KoineConformanceDrivers
import KoineConformanceKit
import KoineServer
import KoineSimulatedNetwork
import Logging
import Testing

/// Checks the drivers and the kit. `Scripts/check-conformance` runs every promise with every pair of styles.
@MainActor
@Suite(.serialized)
struct ConformanceTests {
  nonisolated private static let allStyles = Style.allCases.map(\.rawValue)

  /// Scenarios that use each feature once.
  private static let brief = [
    "join.second", "mute.undone", "picture.on-again", "speak.heard", "message.heard", "share.seen", "ring.accept",
    "leave.seen",
  ]

  private func check(_ report: Report) {
    for failure in report.failures {
      Issue.record("\(Report(outcomes: [failure], seed: report.seed).failureText())")
    }
  }

  /// Every style once as the first and once as the second; `Scripts/check-conformance` plays all pairs.
  @Test(arguments: zip(allStyles, allStyles.dropFirst() + allStyles.prefix(1)))
  func briefScenariosPassInVirtualTime(first: String, second: String) async {
    var suite = Suite(styles: [first, second], environments: [.virtual()])
    suite.scenarios.removeAll { !Self.brief.contains($0.id) }
    let report = await suite.run(suite.cases.filter { $0.first == first && $0.second == second })
    check(report)
    #expect(report.passes >= 5)
  }

  /// Every style once as the first and once as the second, at different nodes; also when the home of the room dies.
  @Test(arguments: allStyles.indices, [nil, 1_000])
  func briefScenariosPassInACluster(first: Int, homeDiesAt: Int?) async {
    let (first, second) = (Self.allStyles[first], Self.allStyles[(first + 1) % Self.allStyles.count])
    var suite = Suite(styles: [first, second], environments: [.cluster(killsHomesAt: homeDiesAt)])
    suite.scenarios.removeAll { !Self.brief.contains($0.id) }
    check(await suite.run(suite.cases.filter { $0.first == first && $0.second == second }))
  }

  /// Every style once as the first and once as the second, through a server's sockets.
  @Test(arguments: zip(allStyles, allStyles.dropFirst() + allStyles.prefix(1)))
  func briefScenariosPassThroughAServer(first: String, second: String) async throws {
    let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
    let server = try await Server.start(ServerConfiguration(port: 0, access: .open, logger: silent))
    var suite = Suite(styles: [first, second], environments: [.at("ws://127.0.0.1:\(server.port)")])
    suite.scenarios.removeAll { !Self.brief.contains($0.id) }
    check(await suite.run(suite.cases.filter { $0.first == first && $0.second == second }))
    await server.stop()
  }

  @Test func sameSeedGivesTheSameTrace() async {
    var suite = Suite(styles: ["call-agent", "meeting-session"], environments: [.virtual()], seed: 11)
    suite.scenarios.removeAll { !["join.four", "speak.in-turn", "share.late"].contains($0.id) }
    let mixed = suite.cases.filter { $0.first != $0.second }
    let first = await suite.run(mixed)
    #expect(first.failures.isEmpty)
    #expect(!first.outcomes.isEmpty)
    // While other tests keep the main queue and the machine busy.
    for run in 2...20 {
      let again = await suite.run(mixed)
      let different = zip(first.outcomes, again.outcomes).lazy
        .flatMap { zip($0.traces.joined(), $1.traces.joined()) }.first { $0 != $1 }
      #expect(different == nil, "run \(run): \(different.map { "\($0.0), then \($0.1)" } ?? "")")
      #expect(first == again)
    }
  }

  @Test func scenariosPassOnALossyLink() async throws {
    var suite = Suite(
      styles: ["koine", "stage-strategy"],
      environments: [.virtual(network: try .init("loss=5%,delay=40ms,jitter=20ms"))])
    suite.scenarios.removeAll { !["join", "mute", "leave"].contains($0.id.prefix { $0 != "." }) }
    // Each style hears the other one, as the first and as the second.
    let report = await suite.run(suite.cases.filter { $0.first != $0.second || $0.scenario.isAlone })
    check(report)
    #expect(report.passes > 0)
  }
}
