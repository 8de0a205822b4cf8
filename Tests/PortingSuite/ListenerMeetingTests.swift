import Foundation
import KoineTesting
import Testing
import UIKit
import VideoSDKRTC
import WebRTC

/// The helper of layers from the meeting style in a VideoSDK meeting (`ListenerMeeting.swift` and the files beside it), without an app.
@MainActor @Suite struct ListenerMeetingTests {
  private final class Log {
    var lines: [String] = []
    var tiles: [String: ListenerMeeting.Tile] = [:]
    var volumes: [String: String] = [:]

    func add(_ event: ListenerMeeting.Event) {
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
      case .message(let message): lines.append("\(message.senderName): \(message.message)")
      case .sourceAdded(let source): lines.append("source of \(source.attendeeID)")
      case .sourceRemoved(let source): lines.append("no source of \(source.attendeeID)")
      case .volumesChanged(let new): for one in new { volumes[one.attendee.id] = "\(one.level)" }
      case .speakersChanged, .pathChanged: break
      }
    }
    func has(_ line: String) -> Bool { lines.contains(line) }
  }

  private func meeting(
    in room: TestRoom, _ log: Log, topics: [String] = [], also: @escaping (ListenerMeeting.Event) -> Void = { _ in }
  ) async throws -> ListenerMeeting {
    let credential = try room.credential(.eventListener, for: "Ana")
    let request = ListenerMeeting.Request(
      room: credential.meetingID, credential: credential.token, participantID: credential.participantID, name: "Ana")
    let meeting = try ListenerMeeting.$after.withValue(room.waiting(for: "Ana")) {
      room.enter(as: "Ana") { ListenerMeeting(request) }
    }
    meeting.observer = {
      log.add($0)
      also($0)
    }
    topics.forEach(meeting.observe)
    try room.enter(as: "Ana") { try meeting.start() }
    await room.until("Ana is in the meeting") { log.has("joined ana") }
    return meeting
  }

  @Test(.room(as: "Ana", media: .stamps)) func attendeeWithoutSoundIsMutedAndShareIsAnAttendee() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    let bea = try await room.join("Bea")
    let cleo = try await room.join("Cleo", camera: nil, microphone: nil)
    await room.until("Cleo is muted") { log.has("muted cleo") }
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
    await room.until("Cleo has left") { log.lines.last == "left cleo" }
    meeting.leave()
    await room.until("the meeting is over") { log.lines.last == "ended: left" }
    #expect(log.lines.dropLast().last == "no tile of bea")
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
    let (first, second) = (RTCMTLVideoView(frame: .zero), RTCMTLVideoView(frame: .zero))
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

  @Test(.room(as: "Ana", media: .stamps)) func deniedCameraIsAnErrorAndMuteNeedsACall() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    room.machine(of: "Ana").setPermission(.denied, .camera)
    let denied = #expect(throws: ListenerMeeting.Failure.self) {
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

  @Test(.room(as: "Ana", media: .stamps)) func sharedScreenIsAnAttendeeWithoutATile() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    let screen = ListenerMeeting.Screen(call: meeting)
    screen.observer = { log.add($0) }
    screen.start()
    screen.start()
    #expect(log.lines.last != "capture", "from inside the call")
    await room.until("the screen is captured") { log.lines.last == "capture" }
    meeting.setStream(kind: .screen, isOn: true)
    await room.until("the screen is shared") { log.lines.last == "share" }
    #expect(log.lines.dropLast().last == "joined ana#content")
    #expect(log.lines.count { $0 == "capture" } == 1)
    meeting.setStream(kind: .screen, isOn: false)
    await room.until("the share is over") { log.lines.last == "no share" }
    #expect(log.tiles["ana#content"] == nil)
  }

  @Test(.room(as: "Ana", media: .stamps)) func messagesOfOthersAreReportedAndLongOnesRefused() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    let bea = try await room.join("Bea")
    meeting.observe(topic: "chat")
    try meeting.send(text: "mine", topic: "chat", lifetime: 0)
    await room.until("Bea has the message") { bea.texts.contains("mine") }
    try bea.send("hers", topic: "chat")
    await room.until("Ana has the message") { log.lines.last == "Bea: hers" }
    #expect(!log.has("Ana: mine"))
    let long = #expect(throws: ListenerMeeting.Failure.self) {
      try meeting.send(text: String(repeating: "é", count: 1_025), topic: "chat", lifetime: 0)
    }
    #expect(long == .tooLarge)
    meeting.stopObserving(topic: "chat")
    try bea.send("unheard", topic: "chat")
    await room.run(for: .seconds(1))
    #expect(!log.has("Bea: unheard"))
  }

  @Test(.room(as: "Ana", media: .stamps)) func keptMessagesAreReportedOnceAndBeforeLaterOnes() async throws {
    let (room, log) = (TestRoom.current, Log())
    let bea = try await room.join("Bea")
    for text in ["kept", "kept", "also kept"] { try bea.send(text, topic: "chat", lifetime: .seconds(60)) }
    await room.run(for: .seconds(1))
    var times: [Int64] = []
    let meeting = try await meeting(in: room, log, topics: ["chat"]) { event in
      if case .message(let message) = event { times.append(message.timestampMs) }
    }
    try bea.send("later", topic: "chat")
    await room.until("Ana has the last message") { log.has("Bea: later") }
    await room.run(for: .seconds(6))
    #expect(log.lines.filter { $0.hasPrefix("Bea: ") } == ["kept", "kept", "also kept", "later"].map { "Bea: \($0)" })
    #expect(Set(times).count == 4, "equal texts are two messages")
    meeting.leave()
  }

  @Test(.room(as: "Ana", media: .stamps)) func firstChoiceOfVideosEndsTheOthers() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    for name in ["Bea", "Cleo"] {
      try await room.join(name)
      await room.until("\(name) has a tile") { log.has("tile of \(name.lowercased())") }
    }
    let views = ["bea", "cleo"].map { id in
      let view = RTCMTLVideoView(frame: .zero)
      if let tile = log.tiles[id] { meeting.bind(view: view, tile: tile.id) }
      return view
    }
    await room.until("both are shown") { views.allSatisfy { $0.framesRendered > 0 } }
    meeting.choose([ListenerMeeting.Source(owner: "bea", kind: .camera): .init()], without: [])
    await room.run(for: .seconds(1))
    let before = views.map(\.framesRendered)
    await room.run(for: .seconds(2))
    #expect(views[0].framesRendered > before[0])
    #expect(views[1].framesRendered == before[1])
  }

  @Test(.room(as: "Ana", media: .stamps)) func removalHasTheNumberOfAMeeting() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    room.remove("Ana")
    await room.until("the meeting is over") { log.lines.last == "ended: removed" }
    #expect(!meeting.setMicrophone(isOn: true))
    #expect(ListenerMeeting.End.removed.rawValue == 60)
  }
}
