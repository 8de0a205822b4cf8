import KoineBase
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

struct CallTests {
  @Test func audioAndVideoFlowInBothDirections() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    for client in clients {
      client.publish(.camera)
      client.publish(.microphone)
    }
    clients[0].subscribe(to: "ben", "camera", "microphone")
    clients[1].subscribe(to: "ana", "camera", "microphone")
    for client in clients {
      client.sendFrames("camera", seconds: 3)
      client.sendAudio("microphone", seconds: 3)
    }
    world.run(.seconds(4))
    #expect(clients[0].numbers("ben", "camera") == Array(0..<90))
    #expect(clients[1].numbers("ana", "camera") == Array(0..<90))
    #expect(clients[1].numbers("ana", "microphone") == Array(0..<150))
    #expect(clients[1].frames("ana", "microphone").allSatisfy { $0.audioLevel == -30 })
  }

  @Test func captureTimesArriveUnchanged() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendFrames("camera", seconds: 2)
    world.run(.seconds(3))
    for frame in clients[1].frames("ana", "camera") {
      let latency = frame.arrived - frame.captured
      #expect(latency >= .milliseconds(9))
      #expect(latency < .milliseconds(30))
    }
  }

  @Test func lateJoinerGetsAKeyFrameQuickly() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendFrames("camera", seconds: 5)
    world.run(.seconds(2))
    let cyd = try world.joined("cyd")[0]
    let asked = world.now
    cyd.subscribe(to: "ana", "camera")
    world.run(.seconds(1))
    let first = try #require(cyd.frames("ana", "camera").first)
    #expect(first.isKey)
    #expect(first.arrived - asked < .milliseconds(100))
    #expect(clients[1].frames("ana", "camera").count > 80)
  }

  @Test func mutedTracksAreNotForwarded() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[0].publish(.microphone)
    clients[1].subscribe(to: "ana", "camera", "microphone")
    clients[0].sendFrames("camera", seconds: 6)
    clients[0].sendAudio("microphone", seconds: 6)
    world.run(.seconds(2))
    for track in ["camera", "microphone"] { clients[0].send(.mute(trackID: track, muted: true)) }
    world.run(.milliseconds(50))
    let before = ["camera", "microphone"].map { clients[1].frames("ana", $0).count }
    world.run(.seconds(1))
    #expect(["camera", "microphone"].map { clients[1].frames("ana", $0).count } == before)
    for track in ["camera", "microphone"] { clients[0].send(.mute(trackID: track, muted: false)) }
    world.run(.seconds(1))
    #expect(clients[1].frames("ana", "microphone").count > before[1] + 40)
    #expect(clients[1].frames("ana", "camera").count > before[0] + 25)
    let resumed = clients[1].frames("ana", "camera")[before[0]]
    #expect(resumed.isKey)
    for track in ["camera", "microphone"] {
      #expect(clients[1].statistics("ana", track)?.lost == 0)
      #expect(clients[1].messages.contains(.muted(participant: "ana", trackID: track, muted: true)))
      #expect(clients[1].messages.contains(.muted(participant: "ana", trackID: track, muted: false)))
    }
  }

  @Test func unsubscribedTrackIsNotForwarded() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben", "cyd")
    clients[0].publish(.camera)
    for client in clients[1...] { client.subscribe(to: "ana", "camera") }
    clients[0].sendFrames("camera", seconds: 5)
    world.run(.seconds(2))
    let reference = Track.ID(participant: "ana", track: "camera")
    clients[1].send(.unsubscribe([reference]))
    #expect(clients[1].messages.last == .unsubscribed([reference]))
    world.run(.milliseconds(50))
    let (ben, cyd) = (clients[1].received, clients[2].frames("ana", "camera").count)
    world.run(.seconds(1))
    #expect(clients[1].received - ben < 15)  // reports, feedback, consent
    #expect(clients[2].frames("ana", "camera").count > cyd + 25)
  }

  @Test func pausedSubscriptionResumes() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendFrames("camera", seconds: 6)
    world.run(.seconds(2))
    let reference = Track.ID(participant: "ana", track: "camera")
    clients[1].send(.pause([reference]))
    world.run(.milliseconds(50))
    let paused = clients[1].frames("ana", "camera").count
    world.run(.seconds(1))
    #expect(clients[1].frames("ana", "camera").count == paused)
    clients[1].send(.resume([reference]))
    world.run(.seconds(1))
    #expect(clients[1].frames("ana", "camera").count > paused + 25)
    #expect(clients[1].frames("ana", "camera")[paused].isKey)
  }

  @Test func lostPacketsAreRetransmittedByTheRouter() throws {
    let world = try World(seed: 3)
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendFrames("camera", seconds: 10)
    world.run(.milliseconds(500))
    world.loss = 0.05
    world.run(.milliseconds(9000))
    world.loss = 0
    world.run(.seconds(2))
    #expect(world.lost > 50)
    let numbers = clients[1].numbers("ana", "camera")
    #expect(numbers == numbers.sorted())
    #expect(Set(numbers).count >= 285)
    #expect(try #require(clients[1].statistics("ana", "camera")).recovered > 20)
  }

  @Test func withdrawnTrackEndsItsSubscriptions() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].send(.unpublish(trackIDs: ["camera", "nothing"]))
    #expect(clients[1].messages.last == .withdrawn(participant: "ana", trackIDs: ["camera"]))
    guard case .failed(nil, let failure) = clients[0].messages.last else {
      Issue.record("\(String(describing: clients[0].messages.last))")
      return
    }
    #expect(failure.code == .unknownTrack)
    clients[1].subscribe(to: "ana", "camera")
    let missing = Track.ID(participant: "ana", track: "camera")
    guard case .subscribed(let answer) = clients[1].messages.last else {
      Issue.record("no answer")
      return
    }
    #expect(answer.missing == [missing])
    #expect(answer.tracks.isEmpty)
  }
}

struct KeyFrameTests {
  @Test func manySubscribersCauseOneKeyFrameRequest() throws {
    let world = try World()
    let clients = try world.joined("ana", "b", "c", "d", "e", "f")
    clients[0].publish(.camera)
    clients[0].sendFrames("camera", seconds: 4)
    world.run(.seconds(1))
    let before = clients[0].keyFrameRequests
    for client in clients[1...] { client.subscribe(to: "ana", "camera") }
    world.run(.milliseconds(400))
    #expect(clients[0].keyFrameRequests == before + 1)
    for client in clients[1...] { #expect(client.frames("ana", "camera").first?.isKey == true) }
  }

  @Test func keyFrameRequestsKeepTheirMinimumInterval() throws {
    let world = try World()
    let clients = try world.joined("ana", "b", "c", "d", "e", "f")
    clients[0].publish(.camera)
    clients[0].sendFrames("camera", seconds: 4)
    world.run(.seconds(1))
    let before = clients[0].keyFrameRequests
    for (index, client) in clients[1...].enumerated() {
      world.after(.milliseconds(100 * index + 50)) { client.subscribe(to: "ana", "camera") }
    }
    world.run(.milliseconds(1400))
    let asked = clients[0].keyFrameRequests - before
    #expect((1...3).contains(asked))
    for client in clients[1...] { #expect(!client.frames("ana", "camera").isEmpty) }
  }

  @Test func unansweredKeyFrameRequestIsRepeated() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    world.run(.milliseconds(1000))
    #expect(clients[0].keyFrameRequests == 3, "after 0, 300 and 600 ms; the next pause is longer")
  }
}
