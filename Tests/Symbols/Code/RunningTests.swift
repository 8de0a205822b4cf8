import AmazonChimeSDK
import AmazonIVSBroadcast
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineTokens
import Testing

/// The screens beside this are not only compiled in this mode: they meet, on the main queue, in virtual time.
@MainActor
@Suite(.serialized) struct RunningTests {
  private func world(_ name: String) -> World {
    World(
      backend: EmbeddedBackend(virtual: 9),
      devices: DefaultDevices(camera: "stamp:\(name),160x90@10", microphone: "tone"))
  }

  private func token(of name: String) throws -> String {
    let now = NumericDate.ofSystemClock()
    return try IVSStageToken(
      participantID: name, stage: "tea", userID: name, attributes: ["role": "guest"],
      capabilities: .init(canPublish: true, canSubscribe: true), issued: now, expires: now + 3_600
    ).signed(with: SigningKey(generating: .p384, id: "arn:aws:ivs:us-west-2:123456789012:public-key/test"))
  }

  @Test func twoStageScreensShowEachOther() async throws {
    let world = world("stage")
    let (ana, ben) = World.$current.withValue(world) { (StageScreen(), StageScreen()) }
    try World.$current.withValue(world) {
      try ana.join(try token(of: "ana"))
      try ben.join(try token(of: "ben"))
    }
    await world.run(for: .seconds(2))
    for screen in [ana, ben] {
      #expect(screen.streamCount == 4, "two of one's own, two of the other")
      #expect(screen.shownFrames.count == 2 && screen.shownFrames.allSatisfy { $0 > 8 }, "\(screen.shownFrames)")
    }
    ben.leave()
    await world.run(for: .milliseconds(500))
    #expect(ana.streamCount == 2)
    ana.leave()
  }

  @Test func twoMeetingModelsHearOfEachOther() async throws {
    let world = world("meeting")
    let (ana, ben) = World.$current.withValue(world) {
      (
        MeetingModel(host: "host", id: "tea", token: "opaque", name: "Ana"),
        MeetingModel(host: "host", id: "tea", token: "opaque", name: "Ben")
      )
    }
    try World.$current.withValue(world) {
      try ana.start()
      try ben.start()
    }
    await world.run(for: .seconds(2))
    #expect(ana.names == ["Ana", "Ben"])
    #expect(ben.names == ["Ana", "Ben"])
    #expect(ana.remoteVideos == 1)
    #expect(ben.remoteVideos == 1)
    try ana.send("hello")
    await world.run(for: .milliseconds(500))
    #expect(ben.lastLine == "Ana: hello")
    ben.stop()
    await world.run(for: .milliseconds(500))
    #expect(ana.names == ["Ana"])
    #expect(ana.remoteVideos == 0)
    ana.stop()
    await world.run(for: .milliseconds(100))
  }
}
