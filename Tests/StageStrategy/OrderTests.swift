import AmazonIVSBroadcast
import Dispatch
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing

/// Section 12.5 of the catalogue: what is asked and told, in which order.
@Suite struct OrderTests {
  private let place = Place()

  @Test func joiningAloneAndPublishing() async throws {
    let ana = try place.app("Ana")
    try ana.stage.join()
    #expect(ana.lines.isEmpty, "nothing from inside a call")
    await place.run()
    #expect(
      ana.lines == [
        "connecting", "connected", "publish me?", "me joined", "streams of me?", "me attemptingPublish",
        "me published", "me +audio+video",
      ])
    #expect(ana.people["me"]?.isLocal == true && ana.people["me"]?.capabilities == .publish)
  }

  @Test func publishedIsWhatTheRoomHasTaken() async throws {
    let place = Place(network: try NetworkSpec("delay=200ms"))
    let ana = try place.app("Ana")
    try ana.stage.join()
    _ = await place.world.run(until: { ana.told.contains("connected") }, limit: .seconds(10))
    await place.run(.milliseconds(300))
    #expect(ana.told.last == "me attemptingPublish", "the room is 200 ms away")
    await place.run(.milliseconds(200))
    #expect(ana.told.suffix(2) == ["me published", "me +audio+video"])
    ana.stage.leave()
  }

  @Test func aRemoteBeginsToPublish() async throws {
    let (ana, ben) = (try place.app("Ana"), try place.app("Ben"))
    ana.publishes = false
    try ana.stage.join()
    await place.run()
    #expect(ana.lines == ["connecting", "connected", "publish me?"])
    ana.forget()
    try ben.stage.join()
    await place.run()
    #expect(
      ana.lines == [
        "Ben joined", "Ben published", "subscribe Ben?", "Ben attemptingSubscribe", "Ben subscribed",
        "Ben +audio+video",
      ])
    #expect(ana.people["Ben"]?.capabilities == .subscribe && ana.people["Ben"]?.isLocal == false)
    #expect(!ben.lines.contains { $0.contains("Ana") }, "whoever publishes nothing is not to be seen")
  }

  @Test func aLateJoinerHearsOfEverybody() async throws {
    let (ana, ben, cleo) = (try place.app("Ana"), try place.app("Ben"), try place.app("Cleo"))
    try ana.stage.join()
    await place.run()
    try ben.stage.join()
    await place.run()
    cleo.publishes = false
    try cleo.stage.join()
    await place.run()
    #expect(
      cleo.lines == [
        "connecting", "connected", "publish me?",
        "Ana joined", "Ana published", "subscribe Ana?", "Ana attemptingSubscribe",
        "Ben joined", "Ben published", "subscribe Ben?", "Ben attemptingSubscribe",
        "Ana subscribed", "Ana +audio+video", "Ben subscribed", "Ben +audio+video",
      ])
  }

  @Test func aRemoteStopsPublishingOrLeaves() async throws {
    let (ana, ben) = (try place.app("Ana"), try place.app("Ben"))
    ana.publishes = false
    for app in [ana, ben] { try app.stage.join() }
    await place.run()
    let end = ["Ben -audio+video", "Ben notSubscribed", "Ben notPublished", "Ben left"]
    ana.forget()
    ben.publishes = false
    ben.forget()
    ben.stage.refreshStrategy()
    await place.run()
    #expect(ana.lines == end)
    #expect(ben.lines == ["publish me?", "me notPublished", "me -audio+video", "me left"])
    ben.publishes = true
    ben.stage.refreshStrategy()
    await place.run()
    let info = ana.people["Ben"]
    ana.forget()
    ben.stage.leave()
    await place.run()
    #expect(ana.lines == end)
    #expect(ana.people["Ben"] === info, "the same object for as long as Ben is there")
  }

  @Test func leavingIsToldBeforeLeaveReturns() async throws {
    let (ana, ben) = (try place.app("Ana"), try place.app("Ben"))
    for app in [ana, ben] { try app.stage.join() }
    await place.run()
    ana.forget()
    let expected = [
      "Ben -audio+video", "Ben notSubscribed", "Ben notPublished", "Ben left", "me notPublished", "me -audio+video",
      "me left", "disconnected",
    ]
    place.world.delivery.queue.sync {
      ana.stage.leave()
      #expect(ana.lines == expected)
      ana.stage.leave()
    }
    await place.run()
    #expect(ana.lines == expected, "and then silence")
    #expect(ben.told.last == "Ana left")
    ben.forget()
    ben.stage.leave()
    await place.run()
    #expect(
      ben.lines == ["me notPublished", "me -audio+video", "me left", "disconnected"],
      "off the delivery queue it follows there")
  }

  @Test func aStageCanBeJoinedAgain() async throws {
    let (ana, ben) = (try place.app("Ana"), try place.app("Ben"))
    for app in [ana, ben] { try app.stage.join() }
    await place.run()
    place.world.delivery.queue.sync { ana.stage.leave() }
    ana.forget()
    try ana.stage.join()
    #expect(throws: NSError.self) { try ana.stage.join() }
    await place.run()
    #expect(
      ana.told.contains("connected") && ana.told.contains("Ben +audio+video") && ana.told.contains("me published"))
    #expect(ben.told.suffix(3) == ["Ana attemptingSubscribe", "Ana subscribed", "Ana +audio+video"])
  }

  @Test func whoLeavesWhileBeingToldLeavesInOrder() async throws {
    let (ana, ben) = (try place.app("Ana"), try place.app("Ben"))
    let second = StageApp("second")
    ana.stage.addRenderer(second)
    ana.publishes = false
    try ana.stage.join()
    ana.hook = { [weak ana] line in if line == "Ben +audio+video" { ana?.stage.leave() } }
    try ben.stage.join()
    await place.run()
    let expected = [
      "connecting", "connected", "Ben joined", "Ben published", "Ben attemptingSubscribe", "Ben subscribed",
      "Ben +audio+video", "Ben -audio+video", "Ben notSubscribed", "Ben notPublished", "Ben left", "disconnected",
    ]
    #expect(ana.told == expected)
    #expect(second.told == expected, "each event to all renderers before the next")
  }

  @Test func whoDropsTheStageHasLeftAndHearsNothing() async throws {
    let (ana, ben) = (try place.app("Ana"), try place.app("Ben"))
    for app in [ana, ben] { try app.stage.join() }
    await place.run()
    ana.forget()
    weak let stage = ana.stage
    ana.stage = nil
    #expect(stage == nil)
    await place.run()
    #expect(ana.lines.isEmpty)
    #expect(ben.told.last == "Ana left")
  }

  @Test func theStageMayBeReleasedInsideItsOwnCallback() async throws {
    let ana = try place.app("Ana")
    try ana.stage.join()
    await place.run()
    ana.hook = { [weak ana] line in if line == "disconnected" { ana?.stage = nil } }
    place.world.delivery.queue.sync { ana.stage.leave() }
    await place.run()
    #expect(ana.stage == nil && ana.told.last == "disconnected")
  }

  @Test func removedRenderersAndGoneStrategiesAreLeftInPeace() async throws {
    let ana = try place.app("Ana")
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
    await place.run()
    #expect(ana.told.isEmpty && ana.lines.contains("publish me?"))
    ana.stage.addRenderer(late)
    ana.stage.addRenderer(late)
    ana.stage.replaceStrategy(late)
    await place.run()
    #expect(late.lines == ["publish me?", "me notPublished", "me -audio+video", "me left"])
  }
}
