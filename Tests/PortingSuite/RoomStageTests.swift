import Foundation
import Koine
import KoineTesting
import Testing

/// The helper of layers from the stage style (Samples/porting/stage-strategy/RoomStage.swift) without an app.
@MainActor @Suite struct RoomStageTests {
  /// Collects what a stage reports.
  @MainActor private final class Log {
    var lines: [String] = []
    func note(_ event: SessionEvent) {
      switch event {
      case .stateChanged(let state): lines.append("\(state)")
      case .participantJoined(let one): lines.append("\(one.name) joined")
      case .participantLeft(let one, _): lines.append("\(one.name) left")
      case .streamAdded(let track, let owner): lines.append("\(track.kind) of \(owner.name) added")
      case .streamRemoved(let track, let owner): lines.append("\(track.kind) of \(owner.name) removed")
      case .streamMuted(let track, let owner): lines.append("\(track.kind) of \(owner.name) \(track.isMuted)")
      default: break
      }
    }
    func has(_ line: String) -> Bool { lines.contains(line) }
  }

  private func joined(_ room: TestRoom, _ log: Log) async throws -> RoomStage {
    let token = try room.credential(.stageStrategy, for: "Ana").token
    let stage = try room.enter(as: "Ana") { try RoomStage(token: token) }
    stage.handler = { event, _ in MainActor.assumeIsolated { log.note(event) } }
    try room.enter(as: "Ana") { try stage.join() }
    try await room.require("the stage is joined") { stage.session.state == .connected }
    return stage
  }

  @Test(.room(as: "Ana", media: .stamps)) func tokenThatNamesNoRoomIsRefusedWithTheStagesNumber() {
    let error = #expect(throws: NSError.self) { try RoomStage(token: "no token") }
    #expect(error?.code == 1000)
    #expect(error?.domain == RoomFault.domain)
  }

  @Test(.room(as: "Ana", media: .stamps)) func expiredTokenIsRefusedBeforeTheRoomIsAsked() throws {
    let room = TestRoom.current
    let token = try room.credential(.stageStrategy(lasting: -10), for: "Ana").token
    let stage = try room.enter(as: "Ana") { try RoomStage(token: token) }
    let error = #expect(throws: NSError.self) { try stage.join() }
    #expect(error?.code == 1001)
  }

  @Test(.room(as: "Ana", media: .stamps)) func participantIsReportedWhilePublishingAndItsTracksOnceTheyAreWanted()
    async throws
  {
    let (room, log) = (TestRoom.current, Log())
    let bea = try await room.join("Bea")
    let stage = try await joined(room, log)
    try await room.require("Bea is reported") { log.has("Bea joined") }
    #expect(!log.has("camera of Bea added"))
    stage.receive([.microphone], of: try #require(stage.participants.first))
    try await room.require("the microphone is received") { log.has("microphone of Bea added") }
    #expect(!log.has("camera of Bea added"))
    stage.receive(Set(Track.Kind.allCases), of: try #require(stage.participants.first))
    #expect(log.has("camera of Bea added"))
    stage.receive([.microphone], of: try #require(stage.participants.first))
    #expect(log.lines.last == "camera of Bea removed")
    bea.leave()
    try await room.require("Bea has left") { log.has("Bea left") }
    #expect(log.lines.suffix(2) == ["microphone of Bea removed", "Bea left"])
  }

  @Test(.room(as: "Ana", media: .stamps)) func firstStreamOfEachKindIsPublishedAndLeavingTellsTheEndAtOnce()
    async throws
  {
    let (room, log) = (TestRoom.current, Log())
    let bea = try await room.join("Bea")
    let stage = try await joined(room, log)
    let devices = room.enter(as: "Ana") { Machine.Device.all }
    #expect(devices.map(\.kind) == [.camera, .microphone])
    let streams = (devices + devices).map { RoomStream(device: $0) }
    stage.publish { streams }
    await room.until("Bea sees and hears Ana") { bea.sees("Ana") && bea.hears("Ana") }
    #expect(log.lines.filter { $0.hasSuffix("Ana added") }.count == 2)
    streams[1].setMuted(true)
    await room.until("Bea does not hear Ana") { !bea.hears("Ana") }
    #expect(streams[1].isMuted)
    #expect(log.has("microphone of Ana true"))
    stage.publish(nil)
    #expect(log.lines.suffix(3).sorted() == ["Ana left", "camera of Ana removed", "microphone of Ana removed"])
    stage.leave()
    #expect(log.lines.last == "ended(left)")
  }

  @Test func failuresHaveTheNumbersOfAStage() {
    #expect(RoomFault.error(of: Failure(.roomFull, "")).code == 1024)
    #expect(RoomFault.error(of: Failure(.forbidden, "")).code == 1026)
    #expect(RoomFault.error(of: Failure(.internal, "")).code == 1203)
    #expect(RoomFault.error(of: .ended(.lost))?.code == 1300)
    #expect(RoomFault.error(of: .ended(.roomClosed))?.code == 1027)
    #expect(RoomFault.error(of: .ended(.left)) == nil)
    #expect(RoomFault.error(of: .connected) == nil)
  }
}
