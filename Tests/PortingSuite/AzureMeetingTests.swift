import AzureCommunicationCalling
import Foundation
import Koine
import KoineTestSupport
import KoineTesting
import Testing
import UIKit

/// The helper of layers from the meeting style in a call (`AzureMeeting.swift` and the files beside it), without an app.
@MainActor
@Suite(.enabled(if: roomsFollowQueues, "rooms do not follow dispatch queues under the thread sanitizer"))
struct AzureMeetingTests {
  private final class Log {
    var lines: [String] = []
    var tiles: [String: AzureMeeting.Tile] = [:]
    var volumes: [String: String] = [:]
    /// By names in small letters: a call's participants have raw ids.
    var ids: [String: String] = [:]

    private func word(_ id: String) -> String {
      let owner = String(id.prefix { $0 != "#" })
      return (ids.first { $0.value == owner }?.key ?? owner) + id.dropFirst(owner.count)
    }

    func add(_ event: AzureMeeting.Event) {
      switch event {
      case .connecting: lines.append("connecting")
      case .joined(let isAgain): lines.append(isAgain ? "joined again" : "joined")
      case .interrupted: lines.append("interrupted")
      case .ended(let end): lines.append("ended: \(end)")
      case .attendeeJoined(let one):
        if !one.id.contains("#") { ids[one.name.lowercased()] = one.id }
        lines.append("joined \(word(one.id))")
      case .attendeeLeft(let one): lines.append("left \(word(one.id))")
      case .attendeeDropped(let one): lines.append("dropped \(word(one.id))")
      case .muted(let one, let isMuted): lines.append("\(isMuted ? "muted" : "unmuted") \(word(one.id))")
      case .tileAdded(let tile):
        tiles[word(tile.attendeeID)] = tile
        lines.append("tile of \(word(tile.attendeeID))")
      case .tileRemoved(let tile): lines.append("no tile of \(word(tile.attendeeID))")
      case .shareStarted: lines.append("share")
      case .shareEnded: lines.append("no share")
      case .captureStarted: lines.append("capture")
      case .captureEnded: lines.append("no capture")
      case .captureFailed(let failure): lines.append("capture failed: \(failure)")
      case .message(let message): lines.append("\(message.senderName): \(message.text)")
      case .sourceAdded(let source): lines.append("source of \(word(source.attendeeID))")
      case .sourceRemoved(let source): lines.append("no source of \(word(source.attendeeID))")
      case .pathChanged(let isPoor): lines.append(isPoor ? "poor" : "good")
      case .volumesChanged(let new): for one in new { volumes[word(one.attendee.id)] = "\(one.level)" }
      case .speakersChanged: break
      }
    }
    func has(_ line: String) -> Bool { lines.contains(line) }
  }

  private func meeting(in room: TestRoom, _ log: Log) async throws -> AzureMeeting {
    let credential = try room.credential(.callAgent, for: "Ana")
    let request = AzureMeeting.Request(
      room: credential.roomID, credential: credential.token, participantID: credential.identity, name: "Ana")
    let meeting = try AzureMeeting.$after.withValue(room.waiting(for: "Ana")) {
      room.enter(as: "Ana") { AzureMeeting(request) }
    }
    meeting.observer = { log.add($0) }
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
    let (first, second) = (AzureVideoView(frame: .zero), AzureVideoView(frame: .zero))
    meeting.bind(view: first, tile: tile.id)
    await room.until("the first view shows Bea") { first.isRendering }
    meeting.bind(view: second, tile: tile.id)
    #expect(first.subviews.isEmpty)
    await room.until("the second view shows Bea") { second.isRendering }
    meeting.unbind(tile: tile.id)
    #expect(second.subviews.isEmpty)
  }

  @Test(.room(as: "Ana", media: .stamps)) func deniedCameraIsAnErrorAndMuteNeedsACall() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    room.machine(of: "Ana").setPermission(.denied, .camera)
    let denied = #expect(throws: AzureMeeting.Failure.self) {
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
    let screen = AzureMeeting.Screen(call: meeting)
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
    let chat = AzureOfListenerLayer.chat(topic: "chat")
    await room.until("Bea has the message") { bea.messages.contains { chat.decode($0.payload) == "mine" } }
    try bea.session?.send(DataMessage(topic: chat.topic, payload: chat.encode("hers")))
    await room.until("Ana has the message") { log.lines.last == "Bea: hers" }
    #expect(!log.has("Ana: mine"))
    let long = #expect(throws: AzureMeeting.Failure.self) {
      try meeting.send(text: String(repeating: "é", count: 1_025), topic: "chat", lifetime: 0)
    }
    #expect(long == .tooLarge)
    meeting.stopObserving(topic: "chat")
    try bea.session?.send(DataMessage(topic: chat.topic, payload: chat.encode("unheard")))
    await room.run(for: .seconds(1))
    #expect(!log.has("Bea: unheard"))
  }

  @Test(.room(as: "Ana", media: .stamps)) func firstChoiceOfVideosEndsTheOthers() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    for name in ["Bea", "Cleo"] {
      try await room.join(name)
      await room.until("\(name) has a tile") { log.has("tile of \(name.lowercased())") }
    }
    let views = ["bea", "cleo"].map { id in
      let view = AzureVideoView(frame: .zero)
      if let tile = log.tiles[id] { meeting.bind(view: view, tile: tile.id) }
      return view
    }
    await room.until("both are shown") { views.allSatisfy(\.isRendering) }
    meeting.choose([AzureMeeting.Source(owner: try #require(log.ids["bea"]), kind: .camera): .init()], without: [])
    #expect(views.map(\.subviews.count) == [1, 0])
    let ids = try ["bea", "cleo"].map { AzureMeeting.Source(owner: try #require(log.ids[$0]), kind: .camera) }
    meeting.choose([ids[1]: .init()], without: [ids[0]])
    #expect(views.map(\.subviews.count) == [0, 1])
    await room.until("Cleo is shown again") { views[1].isRendering }
  }

  @Test(.room(as: "Ana", media: .stamps)) func removalHasTheNumberOfAMeeting() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    room.remove("Ana")
    await room.until("the meeting is over") { log.lines.last == "ended: removed" }
    #expect(!meeting.setMicrophone(isOn: true))
    #expect(AzureMeeting.End.removed.rawValue == 60)
  }

  @Test(.room(as: "Ana", media: .stamps)) func poorConnectionIsReportedUntilItRecovers() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    try await room.join("Bea")
    await room.until("Bea has a tile") { log.has("tile of bea") }
    try room.setNetwork("loss=40%,delay=200ms", of: "Ana")
    await room.until("the connection is poor", within: .seconds(60)) { log.lines.last == "poor" }
    try room.setNetwork("", of: "Ana")
    await room.until("the connection is good", within: .seconds(60)) { log.lines.last == "good" }
    #expect(log.lines.count { $0 == "poor" } == 1)
    withExtendedLifetime(meeting) {}
  }

  @Test(.room(as: "Ana", media: .stamps)) func attendeeWhoseConnectionIsLostHasDropped() async throws {
    let (room, log) = (TestRoom.current, Log())
    let meeting = try await meeting(in: room, log)
    let (bea, cleo) = (try await room.join("Bea"), try await room.join("Cleo"))
    await room.until("both are there") { log.has("joined bea") && log.has("joined cleo") }
    bea.drop()
    await room.until("Bea has dropped", within: .seconds(300)) { log.lines.last == "dropped bea" }
    cleo.leave()
    await room.until("Cleo has left") { log.lines.last == "left cleo" }
    withExtendedLifetime(meeting) {}
  }
}

extension AzureVideoView {
  fileprivate var isRendering: Bool { (subviews.first as? RendererView)?.isRendering() == true }
}
