import AmazonIVSBroadcast
import Dispatch
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing

/// Section 12.5 of the catalogue: the order of the strategy's questions and the renderer's callbacks.
@Suite struct OrderTests {
  private let environment = TestEnvironment()

  @Test func joiningAndPublishingCallsBackInTheDocumentedOrder() async throws {
    let ana = try environment.app("Ana")
    try ana.stage.join()
    #expect(ana.lines.isEmpty, "nothing from inside a call")
    await environment.run()
    #expect(
      ana.lines == [
        "connecting", "connected", "publish me?", "me joined", "streams of me?", "me attemptingPublish",
        "me published", "me +audio+video",
      ])
    #expect(ana.people["me"]?.isLocal == true)
    #expect(ana.people["me"]?.capabilities == .publish)
  }

  @Test func publishedStateFollowsTheServersAnswer() async throws {
    let environment = TestEnvironment(network: try NetworkSpec("delay=200ms"))
    let ana = try environment.app("Ana")
    try ana.stage.join()
    _ = await environment.world.run(until: { ana.told.contains("connected") }, limit: .seconds(10))
    await environment.run(.milliseconds(300))
    #expect(ana.told.last == "me attemptingPublish", "the room is 200 ms away")
    await environment.run(.milliseconds(200))
    #expect(ana.told.suffix(2) == ["me published", "me +audio+video"])
    ana.stage.leave()
  }

  @Test func newRemotePublisherIsReportedInTheDocumentedOrder() async throws {
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    ana.publishes = false
    try ana.stage.join()
    await environment.run()
    #expect(ana.lines == ["connecting", "connected", "publish me?"])
    ana.forget()
    try ben.stage.join()
    await environment.run()
    #expect(
      ana.lines == [
        "Ben joined", "Ben published", "subscribe Ben?", "Ben attemptingSubscribe", "Ben subscribed",
        "Ben +audio+video",
      ])
    #expect(ana.people["Ben"]?.capabilities == .subscribe)
    #expect(ana.people["Ben"]?.isLocal == false)
    #expect(!ben.lines.contains { $0.contains("Ana") }, "whoever publishes nothing is not to be seen")
  }

  @Test func lateJoinerIsNotifiedOfAllPublishers() async throws {
    let (ana, ben, cleo) = (try environment.app("Ana"), try environment.app("Ben"), try environment.app("Cleo"))
    try ana.stage.join()
    await environment.run()
    try ben.stage.join()
    await environment.run()
    cleo.publishes = false
    try cleo.stage.join()
    await environment.run()
    #expect(
      cleo.lines == [
        "connecting", "connected", "publish me?",
        "Ana joined", "Ana published", "subscribe Ana?", "Ana attemptingSubscribe",
        "Ben joined", "Ben published", "subscribe Ben?", "Ben attemptingSubscribe",
        "Ana subscribed", "Ana +audio+video", "Ben subscribed", "Ben +audio+video",
      ])
  }

  @Test func endOfARemotePublisherIsReportedInTheDocumentedOrder() async throws {
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    ana.publishes = false
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    let end = ["Ben -audio+video", "Ben notSubscribed", "Ben notPublished", "Ben left"]
    ana.forget()
    ben.publishes = false
    ben.forget()
    ben.stage.refreshStrategy()
    await environment.run()
    #expect(ana.lines == end)
    #expect(ben.lines == ["publish me?", "me notPublished", "me -audio+video", "me left"])
    ben.publishes = true
    ben.stage.refreshStrategy()
    await environment.run()
    let info = ana.people["Ben"]
    ana.forget()
    ben.stage.leave()
    await environment.run()
    #expect(ana.lines == end)
    #expect(ana.people["Ben"] === info, "the same object for as long as Ben is there")
  }

  @Test func leavingIsReportedBeforeLeaveReturns() async throws {
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    ana.forget()
    let expected = [
      "Ben -audio+video", "Ben notSubscribed", "Ben notPublished", "Ben left", "me notPublished", "me -audio+video",
      "me left", "disconnected",
    ]
    environment.world.delivery.queue.sync {
      ana.stage.leave()
      #expect(ana.lines == expected)
      ana.stage.leave()
    }
    await environment.run()
    #expect(ana.lines == expected, "and then silence")
    #expect(ben.told.last == "Ana left")
    ben.forget()
    ben.stage.leave()
    await environment.run()
    #expect(
      ben.lines == ["me notPublished", "me -audio+video", "me left", "disconnected"],
      "off the delivery queue it follows there")
  }

  @Test func stageIsJoinedAgainAfterLeaving() async throws {
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    environment.world.delivery.queue.sync { ana.stage.leave() }
    ana.forget()
    try ana.stage.join()
    #expect(throws: NSError.self) { try ana.stage.join() }
    await environment.run()
    #expect(
      ana.told.contains("connected") && ana.told.contains("Ben +audio+video") && ana.told.contains("me published"))
    #expect(ben.told.suffix(3) == ["Ana attemptingSubscribe", "Ana subscribed", "Ana +audio+video"])
  }

  @Test func leavingInsideACallbackKeepsTheOrder() async throws {
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    let second = StageApp("second")
    ana.stage.addRenderer(second)
    ana.publishes = false
    try ana.stage.join()
    ana.hook = { [weak ana] line in if line == "Ben +audio+video" { ana?.stage.leave() } }
    try ben.stage.join()
    await environment.run()
    let expected = [
      "connecting", "connected", "Ben joined", "Ben published", "Ben attemptingSubscribe", "Ben subscribed",
      "Ben +audio+video", "Ben -audio+video", "Ben notSubscribed", "Ben notPublished", "Ben left", "disconnected",
    ]
    #expect(ana.told == expected)
    #expect(second.told == expected, "each event to all renderers before the next")
  }

  @Test func releasedStageHasLeftWithoutCallbacks() async throws {
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    ana.forget()
    weak let stage = ana.stage
    ana.stage = nil
    #expect(stage == nil)
    await environment.run()
    #expect(ana.lines.isEmpty)
    #expect(ben.told.last == "Ana left")
  }

  @Test func stageIsReleasedInsideItsOwnCallback() async throws {
    let ana = try environment.app("Ana")
    try ana.stage.join()
    await environment.run()
    ana.hook = { [weak ana] line in if line == "disconnected" { ana?.stage = nil } }
    environment.world.delivery.queue.sync { ana.stage.leave() }
    await environment.run()
    #expect(ana.stage == nil)
    #expect(ana.told.last == "disconnected")
  }

  @Test func removedRenderersAndReleasedStrategiesGetNoCallbacks() async throws {
    let ana = try environment.app("Ana")
    var other: StageApp? = StageApp("other")
    weak let remains = other
    if let other { ana.stage.addRenderer(other) }
    other = nil
    #expect(remains == nil, "held weakly")
    ana.stage.remove(ana)
    let late = StageApp("late")
    late.subscription = .none
    late.publishes = false
    try ana.stage.join()
    await environment.run()
    #expect(ana.told.isEmpty)
    #expect(ana.lines.contains("publish me?"))
    ana.stage.addRenderer(late)
    ana.stage.addRenderer(late)
    ana.stage.replaceStrategy(late)
    await environment.run()
    #expect(late.lines == ["publish me?", "me notPublished", "me -audio+video", "me left"])
  }
}
