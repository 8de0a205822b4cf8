import KoineBase
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

/// Audio on lossy paths: the router repeats payloads to receivers that take RED (RFC 2198), and takes copies of publishers.
@Suite struct AudioProtectionTests {
  private func media(red: UInt8?, ssrc: UInt32) -> StreamParameters {
    StreamParameters(
      mid: "m0", codec: .opus, payloadType: 111, redPayloadType: red,
      encodings: [.init(ssrc: ssrc)])
  }

  /// - Parameters: publishesRED, takesRED: whether the publisher, and the receiver, knows RED.
  /// - Returns: the numbers of the 1,000 packets that Ben got of Ana.
  private func received(publishesRED: Bool, takesRED: Bool, loss: Double) throws -> [Int] {
    let world = try World(seed: 3)
    let ana = try world.makeClient()
    let ben = try world.makeClient()
    ana.join("room", as: "ana")
    ben.join("room", as: "ben", takesRED: takesRED)
    world.run(.milliseconds(300))
    try #require(ana.isConnected && ben.isConnected)
    ana.publish(
      TrackOffer(
        id: "mic", kind: .microphone, media: media(red: publishesRED ? ana.peer.remoteRedPayloadType : nil, ssrc: 77)))
    world.run(.milliseconds(50))
    ben.subscribe(to: "ana", "mic")
    world.run(.milliseconds(50))
    world.loss = loss
    ana.sendAudio("mic", seconds: 20)
    world.run(.seconds(21))
    return ben.numbers("ana", "mic")
  }

  @Test func redundantCopiesProtectBothHops() throws {
    let protected = try received(publishesRED: true, takesRED: true, loss: 0.05)
    #expect(protected.count > 985)
    #expect(Set(protected).count == protected.count)
    let plain = try received(publishesRED: false, takesRED: false, loss: 0.05)
    #expect(plain.count < 940)
  }

  @Test func receiverWithoutREDGetsPlainPayloadsOfAPublisherWithIt() throws {
    let numbers = try received(publishesRED: true, takesRED: false, loss: 0.05)
    #expect((930..<985).contains(numbers.count))
    #expect(Set(numbers).count == numbers.count)
  }

  @Test func receiverWithREDIsProtectedFromAPublisherWithoutIt() throws {
    let numbers = try received(publishesRED: false, takesRED: true, loss: 0.05)
    #expect((930..<985).contains(numbers.count))
    #expect(Set(numbers).count == numbers.count)
  }

  /// 500 kbit/s suffice for the larger layer with one plain audio stream, but not with an audio stream of two redundant
  /// copies.
  @Test func redundantCopiesReduceTheHeadroomForVideo() throws {
    for (loss, layer) in [(0, 1), (0.25, 0)] {
      let world = try World(seed: 3)
      let clients = try world.joined("ana", "ben")
      clients[0].publish(.microphone)
      clients[1].subscribe(to: "ana", "microphone")
      clients[0].sendAudio("microphone", seconds: 12)
      world.loss = loss
      world.run(.seconds(12))
      let (room, ben) = (try #require(clients[1].room), try #require(clients[1].room?.member("ben")))
      #expect(ben.subscriptions.first?.copies == (loss > 0 ? 2 : 0))
      clients[0].publish(.camera, bitrates: [150_000, 400_000])
      clients[1].subscribe(to: "ana", "camera")
      ben.layerAllocator.reset()
      room.estimated(526_000, for: ben, at: world.now)
      #expect(ben.subscriptions.last?.target == layer)
    }
  }

  @Test func payloadTypesOfREDMustDifferFromTheOthers() throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    for (index, type) in [111, 70, 200].enumerated() {
      ana.publish(
        TrackOffer(id: "mic\(index)", kind: .microphone, media: media(red: UInt8(type), ssrc: UInt32(index + 1))))
    }
    world.run(.milliseconds(50))
    #expect(ana.messages.compactMap(\.code) == [.badMedia, .badMedia, .badMedia])
  }
}
