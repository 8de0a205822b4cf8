import Foundation
import Koine
import KoineBackends
import KoineConformanceDrivers
import KoineConformanceKit
import Testing

@testable import Relay

@MainActor
@Suite(.serialized) struct RelayTests {
  private static let devices = DefaultDevices(
    camera: "stamp:Somebody,160x90@10", microphone: "tone", screen: "pattern:160x90@10")

  private static func world(_ backend: any Backend, _ order: Order) -> World {
    let delivery =
      switch order {
      case .usual: Delivery(queue: .main)
      case .shuffled(let seed): Delivery(queue: .main, order: .shuffled(seed: seed))
      }
    return World(backend: backend, delivery: delivery, devices: devices, effort: .least)
  }

  private static let virtual = EnvironmentFactory(name: "relay, virtual", isVirtual: true) { seed, order in
    KoineEnvironment(world(RelayBackend(virtual: seed), order), isVirtual: true)
  }

  private static let sockets = EnvironmentFactory(name: "relay", isVirtual: false) { _, order in
    KoineEnvironment(world(RelayBackend(), order), isVirtual: false)
  }

  private static let styles = ["call-agent", "stage-strategy", "meeting-session", "event-listener", "koine"]

  /// The service has no ringing, no active speaker, one layer of each track, and keeps no messages.
  private static func isPlayed(_ scenario: Scenario) -> Bool {
    let beyond = ["ring.", "speak.", "layer.", "message.history", "want.sound-only"]
    return !beyond.contains { scenario.id.hasPrefix($0) }
  }

  /// Each style with itself and with the next one; all pairs where `KOINE_ALL_PAIRS` is set (`Scripts/check-all`).
  private static func isPlayed(_ first: String, _ second: String) -> Bool {
    guard let index = styles.firstIndex(of: first) else { return false }
    return second == first || second == styles[(index + 1) % styles.count]
      || ProcessInfo.processInfo.environment["KOINE_ALL_PAIRS"] != nil
  }

  /// - Parameter withItself: whether each style meets itself, too.
  private func play(_ scenarios: [Scenario], withItself: Bool, on environment: EnvironmentFactory) async -> Report {
    let suite = Suite(scenarios: scenarios.filter(Self.isPlayed), styles: Self.styles, environments: [environment])
    let report = await suite.run(
      suite.cases.filter { Self.isPlayed($0.first, $0.second) && (withItself || $0.first != $0.second) })
    print("over \(environment.name): \(report.summary)")
    return report
  }

  @Test func stylesMeetOverAForeignServiceInVirtualTime() async {
    let report = await play(Scenario.all, withItself: true, on: Self.virtual)
    #expect(report.failures.isEmpty, "\(report.failureText())")
    #expect(report.passes > 400)
  }

  /// In real time, which is long: a style with itself only in virtual time.
  @Test func stylesMeetOverAForeignServiceOverSockets() async {
    let ids: Set = ["join.second", "leave.seen", "message.both-ways", "mute.seen", "picture.goes-on", "share.seen"]
    let report = await play(Scenario.all.filter { ids.contains($0.id) }, withItself: false, on: Self.sockets)
    #expect(report.failures.isEmpty, "\(report.failureText())")
    #expect(report.passes >= 20)
  }

  @Test func anAddressOfARegisteredSchemeLeadsToTheBackend() throws {
    #expect(throws: BackendAddressError.self) { try Backends.backend(at: "relay://here") }
    try Backends.register("Relay") { _ in RelayBackend() }
    #expect(try Backends.backend(at: "relay://here") is RelayBackend)
    #expect(try Backends.backend(at: "RELAY://here") is RelayBackend)
    #expect(throws: BackendAddressError.self) { try Backends.register("WS") { _ in RelayBackend() } }
  }

  @Test func linesKeepEveryCharacter() {
    let text = "κοινή = 茶 % \n \"x\""
    #expect(Line(parsing: Line("say", ["a=b": text]).text)?["a=b"] == text)
  }
}
