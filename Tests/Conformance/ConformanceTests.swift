import KoineConformanceDrivers
import KoineConformanceKit
import KoineServer
import KoineSimulatedNetwork
import Logging
import Testing

/// Every promise, kept by every style with every other one.
@MainActor
@Suite(.serialized)
struct ConformanceTests {
  nonisolated private static let everybody = Style.allCases.map(\.rawValue)

  /// Which touch everything once.
  private static let brief = [
    "join.second", "mute.undone", "picture.on-again", "speak.heard", "message.heard", "share.seen", "ring.accept",
    "leave.seen",
  ]

  private func check(_ report: Report) {
    for failure in report.failures {
      Issue.record("\(Report(outcomes: [failure], seed: report.seed).failureText())")
    }
  }

  @Test(arguments: everybody)
  func inVirtualTime(first: String) async {
    let suite = Suite(styles: Self.everybody, grounds: [.virtual()])
    // The long ones of different styles are left to `koine conformance`: they take minutes.
    let cases = suite.cases.filter { $0.first == first && (!$0.scenario.isLong || $0.second == first) }
    let report = await suite.run(cases)
    check(report)
    #expect(report.passes > 100)
  }

  /// The rest is `koine conformance --ground loopback`.
  @Test(arguments: everybody)
  func overLoopback(first: String) async {
    var suite = Suite(styles: Self.everybody, grounds: [.loopback()])
    let chosen = [
      "join.second", "mute.seen", "picture.on-again", "message.heard", "share.seen", "ring.accept", "leave.seen",
    ]
    suite.scenarios.removeAll { !chosen.contains($0.id) }
    check(await suite.run(suite.cases.filter { $0.first == first }))
  }

  /// Every style once as the first and once as the second, through a server's sockets.
  @Test(arguments: zip(everybody, everybody.dropFirst() + everybody.prefix(1)))
  func throughAServer(first: String, second: String) async throws {
    let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
    let server = try await Server.start(ServerConfiguration(port: 0, access: .open, logger: silent))
    var suite = Suite(styles: [first, second], grounds: [.at("ws://127.0.0.1:\(server.port)")])
    suite.scenarios.removeAll { !Self.brief.contains($0.id) }
    check(await suite.run(suite.cases.filter { $0.first == first && $0.second == second }))
    await server.stop()
  }

  @Test func theSameSeedGivesTheSameTrace() async {
    var suite = Suite(styles: ["call-agent", "meeting"], grounds: [.virtual()], seed: 11)
    suite.scenarios.removeAll { !["join.four", "speak.in-turn", "share.late"].contains($0.id) }
    let (first, second) = (await suite.run(), await suite.run())
    #expect(first == second && first.failures.isEmpty)
  }

  @Test func onALossyLink() async throws {
    var suite = Suite(
      styles: ["native", "stage"], grounds: [.virtual(network: try .init("loss=5%,delay=40ms,jitter=20ms"))])
    suite.scenarios.removeAll { !["join", "mute", "leave"].contains($0.id.prefix { $0 != "." }) }
    check(await suite.run())
  }
}
