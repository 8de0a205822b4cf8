import AzureCommunicationCalling
import Koine
import KoineTestSupport
import KoineTesting
import ReplayKit
import Testing
import UIKit

/// `AzureCall.swift` and the files beside it, which `koine port --to call-agent` writes beside layers, without such a layer.
@MainActor
@Suite(.enabled(if: roomsFollowQueues, "rooms do not follow dispatch queues under the thread sanitizer"))
struct AzureCallTests {
  @MainActor private final class Log {
    var lines: [String] = []
    var streams: [String: AzureStream] = [:]
    var speakers: [String?] = []

    func add(_ report: AzureReport) {
      switch report {
      case .phaseChanged(let phase): lines.append("\(phase)")
      case .joined: lines.append("joined")
      case .left(let end): lines.append("left: \(end)")
      case .connectionLost: lines.append("lost")
      case .failed(let failure): lines.append("failed: \(failure.rawValue)")
      case .personJoined(let person): lines.append("\(person.name) joined")
      case .personLeft(let person): lines.append("\(person.name) left, sending \(person.streams.count)")
      case .streamAdded(let stream, let person):
        streams["\(person.name) \(stream.kind)"] = stream
        lines.append("\(stream.kind) of \(person.name)")
      case .streamRemoved(let stream, let person): lines.append("no \(stream.kind) of \(person.name)")
      case .messageReceived(let message): lines.append("\(message.senderName): \(message.text)")
      case .presenterChanged(let id): lines.append("presenter: \(id == nil ? "–" : "someone")")
      case .speakerChanged(let id): speakers.append(id)
      case .streamsKnown, .levelsChanged, .pathChanged: break
      }
    }
    func has(_ line: String) -> Bool { lines.contains(line) }
  }

  private func call(
    in room: TestRoom, _ log: Log, isMicrophoneOn: Bool = true, isCameraOn: Bool = false, token: String? = nil
  ) throws -> AzureCall {
    let credential = try room.credential(.callAgent, for: "Ana")
    let call = room.enter(as: "Ana") {
      AzureCall(
        room: credential.roomID, credential: token ?? credential.token, participantID: credential.identity, name: "Ana",
        isMicrophoneOn: isMicrophoneOn, isCameraOn: isCameraOn)
    }
    call.handler = { report, _ in MainActor.assumeIsolated { log.add(report) } }
    return call
  }

  private func joined(in room: TestRoom, _ log: Log, isCameraOn: Bool = false) async throws -> AzureCall {
    let call = try call(in: room, log, isCameraOn: isCameraOn)
    room.enter(as: "Ana") { call.join() }
    await room.until("Ana is in the call") { log.has("microphone of Ana") }
    return call
  }

  private func set(_ kind: AzureStream.Kind, _ isOn: Bool, _ call: AzureCall, in room: TestRoom) {
    room.enter(as: "Ana") { call.setStream(kind: kind, isOn: isOn) }
  }

  @Test func participantsAreReportedOneByOneWithWhatTheySend() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    #expect(log.lines.prefix(3) == ["connecting", "connected", "joined"])
    let bea = try await room.join("Bea")
    await room.until("Bea's streams are reported") { log.has("camera of Bea") && log.has("microphone of Bea") }
    #expect(log.lines.dropLast(2).last == "Bea joined")
    bea.mute()
    await room.until("Bea is muted") { log.lines.last == "no microphone of Bea" }
    try bea.share()
    await room.until("Bea shares") { log.lines.last == "screen of Bea" }
    #expect(log.lines.dropLast().last == "presenter: someone")
    bea.stopSharing()
    await room.until("Bea does not share any more") { log.lines.last == "no screen of Bea" }
    bea.leave()
    await room.until("Bea has left") { log.lines.last == "Bea left, sending 0" }
    #expect(call.participants.isEmpty)
  }

  /// Azure's list of dominant speakers keeps participants after they mute. It has remote participants only.
  @Test func participantsWhoMuteAreNoActiveSpeakers() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 8), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    let bea = try await room.join("Bea")
    set(.microphone, false, call, in: room)
    await room.until("Bea speaks") { call.speaker != nil && call.speaker == call.participants.keys.first }
    bea.mute()
    await room.until("nobody speaks") { call.speaker == nil }
    bea.unmute()
    await room.until("Bea speaks again") { call.speaker == call.participants.keys.first }
    #expect(log.speakers.suffix(2) == [nil, call.speaker])
  }

  @Test func viewStaysWithAStreamThatIsTurnedOffAndOn() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    let bea = try await room.join("Bea")
    await room.until("Bea's camera is known") { log.streams["Bea camera"] != nil }
    let stream = try #require(log.streams["Bea camera"])
    let view = AzureVideoView(frame: CGRect(x: 0, y: 0, width: 320, height: 180))
    view.contentMode = .scaleAspectFit
    stream.attach(view: view)
    let first = try #require(view.subviews.first as? RendererView)
    #expect(first.frame == view.bounds && first.contentMode == .scaleAspectFit)
    view.contentMode = .scaleAspectFill
    #expect(first.contentMode == .scaleAspectFill)
    await room.until("the view shows Bea") { first.isRendering() }
    bea.turnCameraOff()
    await room.until("the camera is off") { log.lines.last == "no camera of Bea" }
    #expect(view.subviews.isEmpty)
    bea.turnCameraOn()
    await room.until("the view shows Bea again") { (view.subviews.first as? RendererView)?.isRendering() == true }
    let other = AzureVideoView(frame: view.frame)
    call.show(other, .camera, of: stream.owner)
    #expect(view.subviews.isEmpty && other.subviews.count == 1)
    try #require(log.streams["Bea camera"]).detach(view: other)
    #expect(other.subviews.isEmpty && call.views.isEmpty)
  }

  @Test func ownStreamsAreTurnedOnAndOff() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let bea = try await room.join("Bea")
    let call = try await joined(in: room, log)
    for kind in AzureStream.Kind.allCases {
      let isOn = kind != .microphone
      set(kind, isOn, call, in: room)
      await room.until("it is \(isOn): \(kind)") { log.lines.last == (isOn ? "" : "no ") + "\(kind) of Ana" }
      if kind == .screen { await room.until("Bea sees the screen") { bea.seesScreen(of: "Ana") } }
      set(kind, !isOn, call, in: room)
      await room.until("it is \(!isOn): \(kind)") { log.lines.last == (isOn ? "no " : "") + "\(kind) of Ana" }
    }
    #expect(call.localParticipant.streams.count == 1)
    #expect(room.enter(as: "Ana") { RPScreenRecorder.shared().isRecording } == false)
    room.enter(as: "Ana") { RPScreenRecorder.shared().setAllowed(false) }
    set(.screen, true, call, in: room)
    await room.until("the screen cannot be shared") { log.lines.last == "failed: screen" }
  }

  @Test func devicesThatAreTurnedOffBeforeJoiningStayOff() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let bea = try await room.join("Bea")
    let log = Log()
    let call = try call(in: room, log, isCameraOn: true)
    set(.microphone, false, call, in: room)
    set(.camera, false, call, in: room)
    room.enter(as: "Ana") { call.join() }
    await room.until("Ana is in the call") { log.has("joined") }
    await room.run(for: .seconds(3))
    #expect(call.localParticipant.streams.isEmpty)
    #expect(!bea.hears("Ana") && !bea.sees("Ana"))
  }

  @Test func otherSideOfTheCameraIsUsed() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let bea = try await room.join("Bea")
    let call = try await joined(in: room, Log(), isCameraOn: true)
    // The front camera's pictures are 180 pixels high, the back camera's 240.
    await room.until("Bea sees the front camera") { bea.size(of: "Ana")?.height == 180 }
    room.enter(as: "Ana") { call.switchCamera() }
    await room.until("Bea sees the back camera") { bea.size(of: "Ana")?.height == 240 }
    #expect(call.side == .back)
  }

  @Test func messagesOfATopicComeOnceAlsoTheOwn() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log(), format = AzureOfListenerLayer.chat(topic: "CHAT")
    func send(_ text: String, from person: Person) throws {
      try person.session?.send(DataMessage(topic: format.topic, payload: format.encode(text)))
    }
    let call = try await joined(in: room, log)
    call.observe(topic: "CHAT")
    let bea = try await room.join("Bea")
    await room.until("Bea is there") { log.has("Bea joined") }
    room.enter(as: "Ana") { call.send(text: "Hello", topic: "CHAT", isPersistent: true) }
    try send("Hi", from: bea)
    await room.until("Bea's message has come") { log.lines.last == "Bea: Hi" }
    #expect(log.lines.filter { $0.contains(": H") } == ["Ana: Hello", "Bea: Hi"])
    #expect(bea.messages.filter { $0.topic == format.topic }.compactMap { format.decode($0.payload) } == ["Hello"])
    call.stopObserving(topic: "CHAT")
    try send("Bye", from: bea)
    await room.run(for: .seconds(1))
    #expect(log.lines.last == "Bea: Hi")
    #expect(call.messages(topic: "CHAT").map(\.text) == ["Hello", "Hi", "Bye"])
    #expect(call.messages(topic: "other").isEmpty)
    #expect(AzureCall.channel(of: "CHAT") != AzureCall.channel(of: "other"))
  }

  @Test func endIsReportedWithItsReason() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    room.remove("Ana")
    await room.until("Ana is removed") { log.lines.last == "left: removed" }
    #expect(log.lines.dropLast().last == "ended")
    #expect(call.isOver)

    let again = Log()
    let second = try await joined(in: room, again)
    room.enter(as: "Ana") { second.leave() }
    await room.until("Ana has left") { again.lines.last == "left: left" }

    let other = Log()
    room.refuse("Ana", .credential)
    let refused = try self.call(in: room, other)
    room.enter(as: "Ana") { refused.join() }
    await room.until("Ana is refused") { other.lines.last == "ended" }
    #expect(other.lines == ["connecting", "failed: rejected", "ended"])

    let none = Log()
    let broken = try self.call(in: room, none, token: "no token")
    room.enter(as: "Ana") { broken.join() }
    #expect(none.lines == ["connecting", "failed: rejected", "ended"])
  }

  @Test func numbersOfAnEndSayWhatHasEndedTheCall() {
    let ends = [(0, 0), (0, 5300), (0, 5000), (490, 0), (401, 0), (500, 0)].map { (code: Int32, subcode: Int32) in
      (
        AzureEnd((code, subcode), isLeaving: false, hasEntered: true),
        AzureEnd((code, subcode), isLeaving: false, hasEntered: false)
      )
    }
    #expect(ends.map(\.0) == [.closed, .removed, .removed, .lost, .failed, .failed])
    #expect(ends.map(\.1) == [.refused, .removed, .removed, .refused, .refused, .refused])
    #expect(AzureEnd((0, 0), isLeaving: true, hasEntered: true) == .left)
    let failures = [(401, 0), (403, 0), (0, 5854), (404, 0), (500, 0)].map { AzureFailure((Int32($0), Int32($1))) }
    #expect(failures == [.rejected, .forbidden, .forbidden, .closed, .failed])
  }

  @Test func callWithoutAMicrophoneThatIsAllowedIsJoinedWithoutSound() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let bea = try await room.join("Bea")
    let log = Log(), machine = room.machine(of: "Ana")
    machine.setPermission(.denied, .microphone)
    machine.setPermission(.undetermined, .camera)
    let call = try call(in: room, log, isCameraOn: true)
    room.enter(as: "Ana") { call.join() }
    await room.until("the user has allowed the camera, which is on") { log.has("camera of Ana") }
    #expect(log.lines.prefix(4) == ["connecting", "failed: microphoneDenied", "connected", "joined"])
    #expect(!bea.hears("Ana"))
    set(.microphone, true, call, in: room)
    #expect(log.lines.last == "failed: microphoneDenied")
  }

  @Test func lostPathIsReportedUntilItIsBack() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    room.cutNetwork(of: "Ana", for: .seconds(25))
    await room.until("the connection is lost", within: .seconds(30)) { log.lines.last == "reconnecting" }
    await room.until("the connection is back", within: .seconds(60)) { log.lines.last == "connected" }
    #expect(!call.isOver)
  }
}
