import Foundation
import AzureCommunicationCalling
import Koine
import KoineConformanceDrivers
import KoineConformanceKit
import KoineEmbeddedBackend
import KoineTokens
import Testing

/// Callbacks whose order the vendors leave open, delivered in shuffled order.
@MainActor
@Suite(.serialized)
struct OrderTests {
  private static func world(_ order: Delivery.Order) -> World {
    World(
      backend: EmbeddedBackend(virtual: 5), delivery: Delivery(queue: .main, order: order),
      devices: DefaultDevices(camera: "pattern:160x90@10"))
  }

  /// Relies on luck: that the handler of `startCall` has come before its call is told of.
  private final class LuckyApp: NSObject, CallAgentDelegate {
    private var agent: CallAgent?
    private var call: AzureCommunicationCalling.Call?
    private(set) var isStranger: Bool?

    func start(in world: World) async throws {
      let token = try AzureUserToken(
        identity: "8:acs:ana", issued: .ofSystemClock(), expires: .ofSystemClock() + 3_600
      ).signed(with: SigningKey(generating: .p256))
      let client = World.$current.withValue(world) { CallClient() }
      client.createCallAgent(userCredential: try CommunicationTokenCredential(token: token)) { [weak self] agent, _ in
        self?.agent = agent
        agent?.delegate = self
        agent?.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { [weak self] call, _ in
          self?.call = call
        }
      }
      await world.run(for: .seconds(1))
    }

    func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) {
      if let added = args.addedCalls.first { isStranger = added !== call }
    }
  }

  @Test func appThatReliesOnUnspecifiedOrderIsDetected() async throws {
    func isDetected(_ order: Delivery.Order) async throws -> Bool {
      let app = LuckyApp()
      try await app.start(in: Self.world(order))
      #expect(app.isStranger != nil)
      return app.isStranger == true
    }
    #expect(try await !isDetected(.usual), "all is well, as always")
    var found: [Bool] = []
    for seed in UInt64(1)...6 { found.append(try await isDetected(.shuffled(seed: seed))) }
    #expect(found.contains(true))
    #expect(found.contains(false))
    #expect(try await isDetected(.shuffled(seed: 3)) == found[2], "the same seed, the same order")
  }

  @Test func shuffledDeliveryPermutesAndUsualDeliveryKeepsOrder() {
    let shuffled = Delivery(queue: .main, order: .shuffled(seed: 2))
    let orders = Set((0..<100).map { _ in shuffled.inAnyOrder([1, 2, 3]) })
    #expect(orders.count == 6, "each comes sooner or later")
    #expect(shuffled.inAnyOrder([1]) == [1])
    #expect(Delivery.main.inAnyOrder([1, 2, 3]) == [1, 2, 3])
  }

  @Test func deliveryOrdersHaveNames() {
    for order in [Order.usual, .shuffled(7)] { #expect(Order(order.description) == order) }
    for text in ["", "shuffled", "shuffled:", "shuffled:x", "usual:1", "other"] { #expect(Order(text) == nil) }
  }

  /// Koine's drivers do not rely on an unspecified order, and all promises hold.
  @Test func scenariosPassInShuffledOrder() async {
    var suite = KoineConformanceKit.Suite(
      styles: ["call-agent", "meeting-session", "stage-strategy"], environments: [.virtual()], order: .shuffled(3))
    let chosen = ["join.at-once", "picture.on-again", "ring.accept", "inside.leave", "network.short-gap"]
    suite.scenarios.removeAll { !chosen.contains($0.id) }
    let report = await suite.run()
    #expect(report.failures.isEmpty, "\(report.failureText())")
    #expect(report.passes == 37)
  }
}
