import KoineBase
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

/// Which key frames the router asks publishers for.
@Suite struct KeyFrameRequestTests {
  /// A browser offers three layers and sends one.
  @Test func keyFramesAreNotRequestedFromUnsentLayers() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera, layers: 3)
    clients[0].activeLayers = 1
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendFrames("camera", seconds: 40)
    world.run(.seconds(5))
    #expect(clients[1].frames("ana", "camera").last?.data.array[3] == 0)
    let (before, frames) = (world.router.statistics.keyFrameRequests, clients[1].frames("ana", "camera").count)
    world.run(.seconds(30))
    #expect(world.router.statistics.keyFrameRequests == before)
    #expect(clients[1].frames("ana", "camera").count - frames > 850)
  }

  @Test func keyFramesAreNotRequestedFromALostPublisher() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben", "cem")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendFrames("camera", seconds: 2)
    world.run(.seconds(2))
    clients[0].isUnplugged = true
    world.run(.seconds(1))
    clients[2].subscribe(to: "ana", "camera")
    world.run(.seconds(7))
    let before = world.router.statistics.keyFrameRequests
    world.run(.seconds(15))
    #expect(world.router.statistics.keyFrameRequests == before)
  }

  @Test func receiverThatKeepsAskingGetsFewKeyFrames() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendFrames("camera", seconds: 12)
    world.run(.seconds(1))
    let receiver = try #require(clients[1].receivers.first?.key)
    let before = clients[0].keyFrameRequests
    world.every(.milliseconds(72), times: 111) { _ in
      clients[1].peer.requestKeyFrame(of: receiver, at: world.now)
      world.drain()
    }
    world.run(.seconds(8))
    #expect((3...8).contains(clients[0].keyFrameRequests - before))
  }

  /// Networks reorder packets, and a lost one comes again a round trip later.
  @Test(arguments: [2, 20, 100]) func packetsBeforeALateKeyFrameFollowIt(_ milliseconds: Int) throws {
    let world = try World()
    let clients = try world.joined("ana", "ben", "cem")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    var isLate = false
    world.lag = { client, datagram in
      guard isLate, client === clients[0], datagram.count > 500 else { return .zero }
      isLate = false
      return .milliseconds(milliseconds)
    }
    world.every(.nanoseconds(33_333_333), times: 60) { number in
      isLate = number == 30
      clients[0].sendFrame("camera", number: number, isKey: number == 0 || number == 30)
      if number == 20 { clients[2].subscribe(to: "ana", "camera") }
    }
    world.run(.seconds(3))
    #expect(clients[1].numbers("ana", "camera") == Array(0..<60), "once each")
    #expect(clients[2].numbers("ana", "camera") == Array(30..<60))
  }

  @Test func framesBeforeAKeyFrameAreNotForwardedAfterIt() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[0].sendFrame("camera", number: 0, isKey: true)
    world.run(.seconds(1))
    clients[1].subscribe(to: "ana", "camera")
    for number in 1..<4 {
      clients[0].sendFrame("camera", number: number, isKey: false)
      world.run(.milliseconds(33))
    }
    clients[0].sendFrame("camera", number: 4, isKey: true)
    clients[0].sendFrame("camera", number: 5, isKey: false)
    world.run(.seconds(1))
    #expect(clients[1].numbers("ana", "camera") == [4, 5])
  }

  /// Browsers subscribe paused and resume once they can assign the packets to a track.
  @Test func subscriptionThatBeginsPausedCostsOneKeyFrameWhenItResumes() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[0].sendFrames("camera", seconds: 3)
    world.run(.seconds(1))
    let before = clients[0].keyFrameRequests
    let camera = [Track.ID(participant: "ana", track: "camera")]
    clients[1].send(.subscribe(Subscribe(request: 1, tracks: camera, paused: true)))
    world.run(.milliseconds(200))
    #expect(clients[0].keyFrameRequests == before)
    #expect(clients[1].frames("ana", "camera").isEmpty)
    clients[1].send(.resume(camera))
    world.run(.milliseconds(80))
    #expect(clients[0].keyFrameRequests == before + 1)
    #expect(!clients[1].frames("ana", "camera").isEmpty)
    world.run(.seconds(1))
    #expect(clients[0].keyFrameRequests == before + 1)
  }

  @Test func pausingAndResumingCausesFewKeyFrames() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendFrames("camera", seconds: 12)
    world.run(.seconds(1))
    let before = clients[0].keyFrameRequests
    let camera = [Track.ID(participant: "ana", track: "camera")]
    world.every(.milliseconds(200), times: 40) { step in
      clients[1].send(step.isMultiple(of: 2) ? .pause(camera) : .resume(camera))
    }
    world.run(.seconds(8))
    #expect((3...8).contains(clients[0].keyFrameRequests - before))
    let frames = clients[1].frames("ana", "camera").count
    clients[1].send(.resume(camera))
    world.run(.seconds(3))
    #expect(clients[1].frames("ana", "camera").count > frames + 30, "the receiver gets its stream all the same")
  }
}
