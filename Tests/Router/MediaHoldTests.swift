import KoineBase
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

/// The router holds media back from a receiver that does not respond.
@Suite struct MediaHoldTests {
  /// Ben has received a camera at 30 frames and a microphone at 50 packets a second for one second.
  private func call(seconds: Double) throws -> (World, ana: Client, ben: Client) {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[0].publish(.microphone)
    clients[1].subscribe(to: "ana", "camera", "microphone")
    clients[0].sendFrames("camera", seconds: seconds)
    clients[0].sendAudio("microphone", seconds: seconds)
    world.run(.seconds(1))
    return (world, clients[0], clients[1])
  }

  private func new(_ world: World, _ ben: Client, within time: Duration) -> (video: Int, audio: Int) {
    let before = (ben.frames("ana", "camera").count, ben.frames("ana", "microphone").count)
    world.run(time)
    return (ben.frames("ana", "camera").count - before.0, ben.frames("ana", "microphone").count - before.1)
  }

  @Test func silentReceiverIsSentVideoForTwoSecondsAndAudioForSix() throws {
    let (world, ana, ben) = try call(seconds: 20)
    ben.isUnplugged = true
    world.run(.milliseconds(2_300))
    let second = new(world, ben, within: .seconds(3))
    #expect(second.video == 0)
    #expect(second.audio > 140)
    world.run(.seconds(1))
    let third = new(world, ben, within: .seconds(3))
    #expect(third.video == 0)
    #expect(third.audio == 0)
    #expect(ana.messages.contains { if case .participantLeft = $0 { true } else { false } } == false)
  }

  @Test func receiverThatAnswersAgainGetsBothWithItsNextDatagram() throws {
    let (world, ana, ben) = try call(seconds: 20)
    ben.isUnplugged = true
    world.run(.seconds(8))
    ben.isUnplugged = false
    let keyFrames = ana.keyFrameRequests
    let after = new(world, ben, within: .milliseconds(1_500))
    #expect(after.video > 10)
    #expect(after.audio > 20)
    #expect(ana.keyFrameRequests > keyFrames, "video begins again with a key frame")
  }

  /// Nothing is sent for a minute, so nothing has to be answered.
  @Test func silentRoomDoesNotHoldMedia() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.microphone)
    clients[1].subscribe(to: "ana", "microphone")
    world.run(.seconds(60))
    clients[0].sendAudio("microphone", seconds: 1)
    world.run(.seconds(2))
    #expect(clients[1].frames("ana", "microphone").count == 50)
  }

  /// Ben receives audio only and his reports are late. Video that is not sent needs no response.
  @Test func videoThatBeginsUnderAudioIsNotHeldBack() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[0].publish(.microphone)
    clients[1].subscribe(to: "ana", "camera", "microphone")
    clients[0].sendAudio("microphone", seconds: 10)
    world.run(.seconds(1))
    clients[1].isUnplugged = true
    world.run(.milliseconds(3_500))
    clients[0].sendFrames("camera", seconds: 5)
    #expect(new(world, clients[1], within: .seconds(1)).video > 20)
  }

  @Test func unmutedVideoIsNotHeldBack() throws {
    let (world, ana, ben) = try call(seconds: 20)
    ben.isUnplugged = true
    world.run(.milliseconds(2_500))
    ana.send(.mute(trackID: "camera", muted: true))
    world.run(.milliseconds(500))
    #expect(new(world, ben, within: .milliseconds(500)).video == 0)
    ana.send(.mute(trackID: "camera", muted: false))
    #expect(new(world, ben, within: .seconds(1)).video > 20)
  }

  @Test func videoThatResumesIsNotHeldBack() throws {
    let (world, ana, ben) = try call(seconds: 3.5)
    ben.isUnplugged = true
    world.run(.seconds(4))
    ana.sendFrames("camera", seconds: 2)
    #expect(new(world, ben, within: .seconds(1)).video > 20)
  }

  @Test func subscribingReleasesTheHold() throws {
    let (world, ana, ben) = try call(seconds: 20)
    ben.isUnplugged = true
    world.run(.seconds(8))
    ana.publish(.screen)
    ben.subscribe(to: "ana", "screen")
    let after = new(world, ben, within: .milliseconds(500))
    #expect(after.audio > 10)
  }

  @Test func endOfTheHoldSwitchesLayersOnAtOnce() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    let publisher = LayeredPublisher(clients[0], in: world, bitrates: [100_000, 350_000, 1_100_000])
    clients[1].subscribe(to: "ana", "camera")
    publisher.send(seconds: 20)
    world.run(.seconds(3))
    clients[1].isUnplugged = true
    world.run(.milliseconds(5_500))
    #expect(publisher.wanted == [])
    let slot = try #require(clients[1].room?.member("ben")?.slot)
    let requests = world.router.statistics.keyFrameRequests
    clients[1].isUnplugged = false
    for _ in 0..<5_000 where slot.hold != .none { world.run(.milliseconds(1)) }
    #expect(publisher.wanted != [])
    #expect(world.router.statistics.keyFrameRequests == requests, "a layer that is switched on begins with a key frame")
  }

  @Test func heldVideoCausesNoKeyFrameRequests() throws {
    let (world, ana, ben) = try call(seconds: 20)
    ben.isUnplugged = true
    world.run(.seconds(3))
    let before = ana.keyFrameRequests
    world.run(.seconds(10))
    #expect(ana.keyFrameRequests == before)
  }
}
