import KoineBase
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

/// Layers that are offered but did not start when they were requested.
@Suite struct LayerRetryTests {
  private static let start = Tick(nanoseconds: 1_000_000_000)

  /// Ben gets Ana's camera, of which she can send the two smaller layers at a part of their bitrates.
  private func call(share: Double, seconds: Double) throws -> (World, LayeredPublisher, ben: Client) {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    let publisher = LayeredPublisher(
      clients[0], in: world, bitrates: [100_000, 350_000, 1_100_000], announcesLimits: false)
    publisher.affordable = (2, share)
    clients[1].subscribe(to: "ana", "camera")
    publisher.send(seconds: seconds)
    return (world, publisher, clients[1])
  }

  @Test func layerThatDidNotStartIsTriedAgainWhileOthersFlow() throws {
    let (world, publisher, ben) = try call(share: 1, seconds: 40)
    world.run(.seconds(10))
    #expect(ben.layer(of: "ana") == 1)
    publisher.affordable.layers = 3
    world.run(.seconds(20))
    #expect(ben.layer(of: "ana") == 2)
    #expect(publisher.faults(in: ben.frames("ana", "camera")) == [])
  }

  /// Tries begin 10, 25 and 53 s after the subscription.
  @Test func clearRiseOfThePublishersBitrateEndsThePause() throws {
    let (world, publisher, ben) = try call(share: 0.3, seconds: 50)
    world.run(.seconds(33))
    #expect(ben.layer(of: "ana") == 1)
    publisher.affordable = (3, 1)
    world.run(.seconds(4))
    #expect(ben.layer(of: "ana") == 2)
  }

  /// Each try makes a browser configure its encoders again.
  @Test func layerThatNeverStartsIsTriedAtDoublingIntervals() {
    var layer = PublishedTrack.Layer()
    var tries: [Duration] = []
    for step in 0..<2_400 {  // of 500 ms
      let now = Self.start + .milliseconds(500 * step)
      layer.noteBitrate(ofTrack: 400_000 + step % 2 * 150_000, at: now)
      if layer.isAvailable(at: now, patience: .milliseconds(1_500)) {
        if layer.turnOn(at: now) { tries.append(now - Self.start) }
      } else {
        _ = layer.nobodyWants(at: now)
      }
    }
    let pauses = zip(tries.dropFirst(), tries).map { Int(($0 - $1).inSeconds) }
    #expect(pauses == [15, 27, 51, 99, 195, 303, 303])
  }
}
