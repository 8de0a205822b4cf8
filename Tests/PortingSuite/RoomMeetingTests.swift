import Foundation
import Koine
import KoineTesting
import Testing
import UIKit

/// `RoomMeeting.swift`, which `koine port` writes beside layers of meetings, without such a layer.
@MainActor @Suite struct RoomMeetingTests {
  private final class Log {
    var lines: [String] = []
    var tiles: [String: RoomTile] = [:]
    var volumes: [String: RoomVolume.Level] = [:]

    func add(_ event: MeetingEvent) {
      switch event {
      case .joined(let one): lines.append("joined \(one.id)")
      case .left(let one, let reason): lines.append("left \(one.id) \(reason)")
      case .muted(let one, let isMuted): lines.append("\(isMuted ? "muted" : "unmuted") \(one.id)")
      case .volumesChanged(let new): for one in new { volumes[one.attendee.id] = one.level }
      case .tileAdded(let tile):
        tiles[tile.attendeeID] = tile
        lines.append("tile of \(tile.attendeeID)")
      case .tileRemoved(let tile): lines.append("no tile of \(tile.attendeeID)")
      case .tilePaused(let tile, let isPaused): lines.append("\(isPaused ? "paused" : "resumed") \(tile.attendeeID)")
      case .captureStarted: lines.append("capture")
      case .captureEnded: lines.append("no capture")
      case .captureFailed(let failure): lines.append("capture failed: \(failure.code.rawValue)")
      }
    }
  }

  private func meeting(in room: TestRoom, _ log: Log) async throws -> RoomMeeting {
    let meeting = room.enter(as: "Ana") {
      RoomMeeting(JoinRequest(room: room.id, participantID: "ana", name: "Ana"))
    }
    meeting.meetingObserver = { log.add($0) }
    try meeting.start()
    await room.until("Ana is in the meeting") { log.lines.contains("joined ana") }
    return meeting
  }

  @Test func attendeeWithoutSoundIsMutedAndShareIsAnAttendee() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let meeting = try await meeting(in: room, log)
    let bea = try await room.join("Bea")
    let cleo = try await room.join("Cleo", camera: nil, microphone: nil)
    await room.until("Cleo is muted") { log.lines.contains("muted cleo") }
    await room.until("Bea has a tile") { log.lines.contains("tile of bea") }
    #expect(!log.lines.contains("muted bea"))
    bea.mute()
    await room.until("Bea is muted") { log.lines.last == "muted bea" }
    bea.unmute()
    await room.until("Bea is not muted any more") { log.lines.last == "unmuted bea" }

    try bea.share()
    await room.until("the share has a tile") { log.lines.last == "tile of bea#content" }
    let share = try #require(log.lines.firstIndex(of: "joined bea#content"))
    #expect(share == log.lines.count - 2)
    #expect(log.tiles["bea#content"]?.isContent == true)
    bea.stopSharing()
    await room.until("the share is over") { log.lines.last == "left bea#content left" }
    #expect(log.lines.dropLast().last == "no tile of bea#content")
    cleo.leave()
    await room.until("Cleo has left") { log.lines.last == "left cleo left" }
    meeting.session?.leave {}
    await room.until("the meeting is over") { meeting.session?.state.isEnded == true }
    #expect(log.lines.last == "no tile of bea")
  }

  @Test func volumeFollowsSpeechAndMute() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let meeting = try await meeting(in: room, log)
    let bea = try await room.join("Bea")
    await room.until("Bea is loud") { log.volumes["bea"] == .high }
    bea.mute()
    await room.until("Bea is muted") { log.volumes["bea"] == .muted }
    bea.unmute()
    await room.until("Bea is loud again") { log.volumes["bea"] == .high }
    #expect(meeting.setMicrophone(isOn: false))
    await room.until("Ana is muted") { log.volumes["ana"] == .muted }
    #expect(RoomVolume.Level.allCases.map { "\($0)" } == ["muted", "notSpeaking", "low", "medium", "high"])
  }

  @Test func viewShowsItsTileUntilItIsUnbound() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let meeting = try await meeting(in: room, log)
    try await room.join("Bea")
    await room.until("Bea has a tile") { log.tiles["bea"] != nil }
    let tile = try #require(log.tiles["bea"])
    #expect(tile.width > 0)
    #expect(tile.pause == nil)
    let (first, second) = (VideoView(frame: .zero), VideoView(frame: .zero))
    meeting.bind(view: first, tile: tile.id)
    await room.until("the first view shows Bea") { first.framesRendered > 0 }
    meeting.bind(view: second, tile: tile.id)
    await room.until("the second view shows Bea") { second.framesRendered > 0 }
    let shown = first.framesRendered
    meeting.unbind(tile: tile.id)
    await room.run(for: .milliseconds(500))
    let last = second.framesRendered
    await room.run(for: .seconds(2))
    #expect(first.framesRendered == shown)
    #expect(second.framesRendered == last)
  }

  @Test func deniedDevicesAreErrors() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let meeting = try await meeting(in: room, log)
    room.machine(of: "Ana").setPermission(.denied, .camera)
    let denied = #expect(throws: Failure.self) { try meeting.startCamera() }
    #expect(denied?.code == .cameraDenied)
    room.machine(of: "Ana").setPermission(.granted, .camera)
    try meeting.startCamera()
    await room.until("Ana sees herself") { log.tiles["ana"]?.isLocal == true }
    #expect(meeting.setMicrophone(isOn: false))
    await room.until("Ana is muted") { log.lines.last == "muted ana" }
    meeting.session?.leave {}
    await room.until("the meeting is over") { meeting.session?.state.isEnded == true }
    #expect(!meeting.setMicrophone(isOn: true))
  }

  @Test func sharedScreenIsAnAttendeeWithoutATile() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let meeting = try await meeting(in: room, log)
    let screen = RoomScreen(call: meeting)
    screen.observer = { log.add($0) }
    screen.start()
    screen.start()
    #expect(log.lines.last != "capture", "from inside the call")
    await room.until("the screen is captured") { log.lines.last == "capture" }
    meeting.setStream(kind: .screen, isOn: true)
    await room.until("the share is an attendee") { log.lines.last == "joined ana#content" }
    meeting.setStream(kind: .screen, isOn: false)
    await room.until("the share is over") { log.lines.last == "left ana#content left" }
    #expect(log.tiles["ana#content"] == nil)
    screen.stop()
    await room.until("the screen is not captured") { log.lines.last == "no capture" }
    #expect(log.lines.filter { $0 == "capture" }.count == 1)
  }

  @Test func failuresAreFoundByTheirCodes() {
    let error: any Error = Failure(.cameraDenied, "the user has denied it")
    #expect(Failure.Code.cameraDenied ~= error)
    #expect(!(Failure.Code.microphoneDenied ~= error))
    #expect(!(Failure.Code.cameraDenied ~= CancellationError()))
  }

  private final class FrameCounter: VideoSink, @unchecked Sendable {  // `frames` is guarded by `lock`
    private let lock = NSLock()
    private var frames = 0
    var count: Int { lock.withLock { frames } }
    func render(_ frame: VideoFrame) { lock.withLock { frames += 1 } }
  }

  @Test func tileThatTheAppPausesSaysSoUntilItIsResumed() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log(), meeting = try await meeting(in: room, log)
    _ = try await room.join("Bea")
    await room.until("Bea has a tile") { !meeting.tiles.isEmpty }
    let tile = try #require(meeting.tiles.values.first)
    meeting.setPaused(true, tile: tile.id)
    await room.until("the tile pauses") { log.lines.contains { $0.hasPrefix("paused ") } }
    #expect(tile.pause == .requested)
    meeting.setPaused(false, tile: tile.id)
    await room.until("the tile resumes") { log.lines.contains { $0.hasPrefix("resumed ") } }
    #expect(tile.pause == nil)
  }

  @Test func firstChoiceOfVideosStopsAllOthersAndALaterOneAddsToIt() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let meeting = try await meeting(in: room, Log())
    _ = (try await room.join("Bea"), try await room.join("Cleo"))
    func source(of name: String) -> RoomSource? {
      let one = meeting.session?.participants.first { $0.name == name }
      return one?.tracks.first { $0.kind == .camera }.map { meeting.source($0) }
    }
    await room.until("both send video") { source(of: "Bea") != nil && source(of: "Cleo") != nil }
    let (bea, cleo) = (try #require(source(of: "Bea")), try #require(source(of: "Cleo")))
    let (ofBea, ofCleo) = (FrameCounter(), FrameCounter())
    meeting.session?.attach(ofBea, to: bea.stream)
    meeting.session?.attach(ofCleo, to: cleo.stream)
    await room.until("both videos arrive") { ofBea.count > 0 && ofCleo.count > 0 }
    meeting.choose([bea: LayerPreference()], without: [])
    await room.run(for: .seconds(2))
    let (beaBefore, cleoBefore) = (ofBea.count, ofCleo.count)
    await room.run(for: .seconds(2))
    #expect(ofBea.count > beaBefore)
    #expect(ofCleo.count == cleoBefore)
    meeting.choose([cleo: LayerPreference()], without: [])
    await room.until("Cleo's video arrives again") { ofCleo.count > cleoBefore }
    meeting.choose([:], without: [bea])
    await room.run(for: .seconds(2))
    let beaAfter = ofBea.count
    await room.run(for: .seconds(2))
    #expect(ofBea.count == beaAfter)
    let share = Track(id: Track.ID(participant: "bea", track: "screen"), kind: .screen)
    #expect(RoomSource(share).attendeeID == "bea#content")
  }
}
