import Foundation
import KoineTesting
import Testing
import UIKit

/// The helper of layers from the meeting style on a stage (`StageMeeting.swift` and the files beside it), without an app.
@MainActor @Suite struct StageMeetingTests {
  private final class Log {
    var lines: [String] = []
    var tiles: [String: StageMeeting.Tile] = [:]
    var volumes: [String: String] = [:]

    func add(_ event: StageMeeting.Event) {
      switch event {
      case .connecting: lines.append("connecting")
      case .joined(let isAgain): lines.append(isAgain ? "joined again" : "joined")
      case .interrupted: lines.append("interrupted")
      case .ended(let end): lines.append("ended: \(end)")
      case .attendeeJoined(let one): lines.append("joined \(one.id)")
      case .attendeeLeft(let one): lines.append("left \(one.id)")
      case .attendeeDropped(let one): lines.append("dropped \(one.id)")
      case .muted(let one, let isMuted): lines.append("\(isMuted ? "muted" : "unmuted") \(one.id)")
      case .tileAdded(let tile):
        tiles[tile.attendeeID] = tile
        lines.append("tile of \(tile.attendeeID)")
      case .tileRemoved(let tile): lines.append("no tile of \(tile.attendeeID)")
      case .shareStarted: lines.append("share")
      case .shareEnded: lines.append("no share")
      case .captureStarted: lines.append("capture")
      case .captureEnded: lines.append("no capture")
      case .captureFailed(let failure): lines.append("capture failed: \(failure)")
      case .sourceAdded(let source): lines.append("source of \(source.attendeeID)")
      case .sourceRemoved(let source): lines.append("no source of \(source.attendeeID)")
      case .volumesChanged(let new): for one in new { volumes[one.attendee.id] = "\(one.level)" }
      case .speakersChanged, .pathChanged: break
      }
    }
    func has(_ line: String) -> Bool { lines.contains(line) }
  }

  private func meeting(in room: TestRoom, _ log: Log) async throws -> StageMeeting {
    let credential = try room.credential(.stageStrategy, for: "Ana")
    let request = StageMeeting.Request(
      room: room.id, credential: credential.token, participantID: credential.participantID, name: "Ana")
    let meeting = try StageMeeting.$after.withValue(room.waiting(for: "Ana")) {
      room.enter(as: "Ana") { StageMeeting(request) }
    }
    meeting.observer = { log.add($0) }
    try room.enter(as: "Ana") { try meeting.start() }
    await room.until("Ana is in the meeting") { log.has("joined ana") }
    return meeting
  }

  @Test(.room(as: "Ana", media: .stamps)) func attendeeIsMutedAndUnmutedAndShareIsAnAttendee() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    let bea = try await room.join("Bea")
    let cleo = try await room.join("Cleo", camera: nil, microphone: nil)
    await room.until("Bea has a tile") { log.has("tile of bea") }
    bea.mute()
    await room.until("Bea is muted") { log.lines.last == "muted bea" }
    bea.unmute()
    await room.until("Bea is not muted any more") { log.lines.last == "unmuted bea" }
    try bea.share()
    await room.until("the share has a tile") { log.lines.last == "tile of bea#content" }
    #expect(log.lines.suffix(3).prefix(2) == ["joined bea#content", "source of bea#content"])
    #expect(log.tiles["bea#content"]?.isContent == true)
    bea.stopSharing()
    await room.until("the share is over") { log.lines.last == "left bea#content" }
    #expect(log.lines.suffix(3).prefix(2) == ["no tile of bea#content", "no source of bea#content"])
    cleo.leave()
    await room.run(for: .seconds(1))
    #expect(!log.lines.contains { $0.hasSuffix(" cleo") }, "a stage tells of participants that publish")
    meeting.leave()
    await room.until("the meeting is over") { log.lines.last == "ended: left" }
    #expect(log.has("no tile of bea"))
  }

  @Test(.room(as: "Ana", media: .stamps)) func volumeFollowsSpeechAndMute() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    #expect(meeting.setMicrophone(isOn: false))
    let bea = try await room.join("Bea")
    await room.until("Bea is loud") { log.volumes["bea"] == "high" }
    bea.mute()
    await room.until("Bea is muted") { log.volumes["bea"] == "muted" }
    bea.unmute()
    await room.until("Bea is loud again") { log.volumes["bea"] == "high" }
    #expect(log.volumes["ana"] == "muted")
  }

  @Test(.room(as: "Ana", media: .stamps)) func viewShowsItsTileUntilItIsUnbound() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    try await room.join("Bea")
    await room.until("Bea has a tile") { log.tiles["bea"] != nil }
    let tile = try #require(log.tiles["bea"])
    let (first, second) = (StageStreamView(frame: .zero), StageStreamView(frame: .zero))
    meeting.bind(view: first, tile: tile.id)
    #expect(first.subviews.count == 1)
    meeting.bind(view: second, tile: tile.id)
    #expect(first.subviews.isEmpty && second.subviews.count == 1)
    meeting.unbind(tile: tile.id)
    #expect(second.subviews.isEmpty)
  }

  @Test(.room(as: "Ana", media: .stamps)) func deniedCameraIsAnErrorAndMuteNeedsACall() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    room.machine(of: "Ana").setPermission(.denied, .camera)
    let denied = #expect(throws: StageMeeting.Failure.self) {
      try room.enter(as: "Ana") { try meeting.startCamera() }
    }
    #expect(denied == .cameraDenied)
    room.machine(of: "Ana").setPermission(.granted, .camera)
    try room.enter(as: "Ana") { try meeting.startCamera() }
    await room.until("Ana sees herself") { log.tiles["ana"]?.isLocal == true }
    #expect(room.enter(as: "Ana") { meeting.activeCamera?.side } == .front)
    meeting.switchCamera()
    #expect(room.enter(as: "Ana") { meeting.activeCamera?.side } == .back)
    #expect(meeting.setMicrophone(isOn: false))
    await room.until("Ana is muted") { log.lines.last == "muted ana" }
    meeting.leave()
    await room.until("the meeting is over") { log.lines.last == "ended: left" }
    #expect(!meeting.setMicrophone(isOn: true))
  }

  @Test(.room(as: "Ana", media: .stamps)) func messagesAreRefused() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    let refused = #expect(throws: StageMeeting.Failure.self) {
      try meeting.send(text: "mine", topic: "chat", lifetime: 0)
    }
    #expect(refused == .notConnected, "a stage carries none")
  }

  @Test(.room(as: "Ana", media: .stamps)) func removalHasTheNumberOfAMeeting() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    room.remove("Ana")
    await room.until("the meeting is over") { log.lines.last == "ended: removed" }
    #expect(!meeting.setMicrophone(isOn: true))
    #expect(StageMeeting.End.removed.rawValue == 60)
  }
}
