import KoineBase
import KoineRTP
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

/// After every timeout and a complete drain, a router's deadline is later than its time. `World` checks this after every
/// timeout.
@Suite struct RouterDeadlineTests {
  /// Publishes three layers as a browser offers them: named by `a=rid`; the SSRCs are unknown until packets arrive.
  private func publishLayers(_ client: Client, in world: World) {
    world.router.setCapabilities(
      MediaCapabilities(extensions: .koine, payloadTypes: [:], namesSourcesInPackets: true), of: client.id)
    var media = client.makeMedia(.camera, layers: 3)
    for layer in media.encodings.indices {
      media.encodings[layer].ssrc = 0
      media.encodings[layer].rtxSSRC = 0
      media.encodings[layer].maximumBitrate = nil
    }
    client.send(
      .publish(Publish(request: 99, tracks: [TrackOffer(id: "camera", kind: .camera, isMuted: false, media: media)])))
  }

  @Test func layersThatAreNeverSentDoNotWakeTheRouter() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    publishLayers(clients[0], in: world)
    clients[1].subscribe(to: "ana", "camera")
    world.run(.seconds(5))  // records an issue at the first deadline that is not later than its own time
    #expect(world.router.deadline.map { $0 > world.now } ?? true)
  }

  @Test(arguments: UInt64(1)...8)
  func randomHistoryKeepsEveryDeadlineAheadOfTheClock(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let world = try World(seed: seed)
    let clients = try world.joined("ana", "ben", "cem", "dan")
    world.loss = Double(seed % 3) * 0.05
    publishLayers(clients[0], in: world)
    for client in clients[1...] { client.publish(.camera, layers: 2) }
    let names = ["ana", "ben", "cem", "dan"]
    for _ in 0..<200 {
      let client = clients[Int.random(in: 0..<4, using: &random)]
      let reference = Track.ID(participant: names[Int.random(in: 0..<4, using: &random)], track: "camera")
      switch Int.random(in: 0..<12, using: &random) {
      case 0, 1: client.subscribe(to: reference.participant, "camera")
      case 2: client.send(.unsubscribe([reference]))
      case 3: client.send(.pause([reference]))
      case 4: client.send(.resume([reference]))
      case 5:
        client.send(
          .prefer([
            TrackPreference(LayerPreference(maximumHeight: Int.random(in: 90...720, using: &random)), of: reference)
          ]))
      case 6: client.send(.mute(trackID: "camera", muted: Bool.random(using: &random)))
      case 7: client.isUnplugged.toggle()
      case 8: client.send(.data(SendData(DataMessage(topic: "t", payload: [1]), id: "d")))
      default: client.sendFrame("camera", number: 1, isKey: Bool.random(using: &random))
      }
      world.run(.milliseconds(Int64.random(in: 0...200, using: &random)))
    }
    #expect(world.router.statistics.messages > 0)
    world.run(.seconds(60))
  }
}
