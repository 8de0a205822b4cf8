import AmazonChimeSDK
import Foundation
import KoineTesting
import KoineTokens
import Testing
import UIKit

/// `MeetingCall.swift` and the files beside it, which `koine port --to meeting-session` writes beside layers, without such a layer.
@MainActor @Suite struct MeetingCallTests {
  private final class Log {
    var lines: [String] = []
    var streams: [String: MeetingStream] = [:]

    func add(_ report: MeetingReport) {
      switch report {
      case .phaseChanged(let phase): lines.append("\(phase)")
      case .joined: lines.append("joined")
      case .left(let code): lines.append("left: \(code)")
      case .connectionLost: lines.append("lost")
      case .failed(let failure): lines.append("failed: \(failure.rawValue)")
      case .personJoined(let person): lines.append("\(person.name) joined")
      case .personLeft(let person): lines.append("\(person.name) left, sending \(person.streams.count)")
      case .streamAdded(let stream, let person):
        streams[stream.id + "\(stream.kind)"] = stream
        lines.append("\(stream.kind) of \(person.name)")
      case .streamRemoved(let stream, let person): lines.append("no \(stream.kind) of \(person.name)")
      case .messageReceived(let message): lines.append("\(message.senderName): \(message.text)")
      case .presenterChanged(let id): lines.append("presenter: \(id ?? "–")")
      case .speakerChanged, .levelsChanged, .streamsKnown: break
      }
    }
  }

  private func call(
    in room: TestRoom, _ log: Log, isMicrophoneOn: Bool = true, isCameraOn: Bool = false
  ) throws -> MeetingCall {
    let pass = try room.credential(.meetingSession, for: "Ana").pass
    let call = room.enter(as: "Ana") {
      MeetingCall(
        room: pass.meeting.meetingID, credential: pass.attendee.joinToken, participantID: pass.attendee.attendeeID,
        name: "Ana",
        isMicrophoneOn: isMicrophoneOn, isCameraOn: isCameraOn)
    }
    call.handler = { report, _ in log.add(report) }
    return call
  }

  private func joined(in room: TestRoom, _ log: Log, isCameraOn: Bool = false) async throws -> MeetingCall {
    let call = try call(in: room, log, isCameraOn: isCameraOn)
    call.join()
    await room.until("Ana is in the meeting") { log.lines.contains("joined") }
    return call
  }

  @Test func attendeesAreReportedOneByOneWithWhatTheySend() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    let bea = try await room.join("Bea")
    await room.until("Bea's camera is known") { log.lines.contains("camera of Bea") }
    #expect(Array(log.lines.suffix(3)) == ["Bea joined", "microphone of Bea", "camera of Bea"])
    #expect(call.participants["bea"]?.streams.count == 2)
    bea.mute()
    await room.until("Bea is muted") { log.lines.last == "no microphone of Bea" }
    bea.unmute()
    await room.until("Bea is not muted any more") { log.lines.last == "microphone of Bea" }
    try bea.share()
    await room.until("Bea shares") { log.lines.last == "screen of Bea" }
    #expect(log.lines.dropLast().last == "presenter: bea")
    bea.stopSharing()
    await room.until("Bea does not share any more") { log.lines.last == "no screen of Bea" }
    bea.leave()
    await room.until("Bea has left") { log.lines.last == "Bea left, sending 0" }
    #expect(call.participants.isEmpty)
  }

  @Test func viewShowsAStreamFromItsFirstTileOnUntilItIsDetached() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    try await room.join("Bea")
    await room.until("Bea's camera is known") { log.streams["beacamera"] != nil }
    let stream = try #require(log.streams["beacamera"])
    let view = DefaultVideoRenderView(frame: .zero)
    stream.attach(view: view)
    await room.until("the view shows Bea") { view.framesRendered > 0 }
    stream.detach(view: view)
    await room.run(for: .milliseconds(500))
    let shown = view.framesRendered
    await room.run(for: .seconds(2))
    #expect(view.framesRendered == shown)
    #expect(!call.isOver)
  }

  @Test func ownStreamsAreReportedOnceTheyAreSent() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log, isCameraOn: true)
    #expect(log.lines.contains("microphone of Ana"))
    await room.until("the camera is on") { log.lines.contains("camera of Ana") }
    call.setStream(kind: .microphone, isOn: false)
    await room.until("the microphone is off") { log.lines.last == "no microphone of Ana" }
    call.setStream(kind: .camera, isOn: false)
    await room.until("the camera is off") { log.lines.last == "no camera of Ana" }
    room.enter(as: "Ana") { call.setStream(kind: .screen, isOn: true) }
    await room.until("the screen is shared") { log.lines.last == "screen of Ana" }
    call.setStream(kind: .screen, isOn: false)
    await room.until("the screen is not shared any more") { log.lines.last == "no screen of Ana" }
    #expect(call.localParticipant.streams.isEmpty)
  }

  @Test func shareThatIsStoppedBeforeItBeginsDoesNotStay() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let bea = try await room.join("Bea")
    let call = try await joined(in: room, log)
    room.enter(as: "Ana") { call.setStream(kind: .screen, isOn: true) }
    call.setStream(kind: .screen, isOn: false)
    await room.run(for: .seconds(5))
    #expect(!log.lines.contains("screen of Ana"))
    #expect(bea.participant("Ana")?.tracks.contains { $0.kind == .screen } == false)
    room.enter(as: "Ana") { call.setStream(kind: .screen, isOn: true) }
    call.leave()
    await room.until("Ana has left") { log.lines.contains("left: ok") }
    await room.run(for: .seconds(5))
    #expect(bea.others.isEmpty)
  }

  @Test func messagesOfATopicComeOnceAlsoTheOwn() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    call.send(text: "nobody reads it", topic: "CHAT")
    call.observe(topic: "CHAT")
    let bea = try await room.join("Bea")
    call.send(text: "Hello", topic: "CHAT", isPersistent: true)
    try bea.send("Hi", topic: "CHAT")
    await room.until("Bea's message has come") { log.lines.last == "Bea: Hi" }
    #expect(log.lines.filter { $0.contains(": H") } == ["Ana: Hello", "Bea: Hi"])
    #expect(call.messages(topic: "CHAT").map(\.text) == ["nobody reads it", "Hello", "Hi"])
    call.send(text: String(repeating: "x", count: 3_000), topic: "CHAT")
    #expect(log.lines.last == "failed: message")
    call.stopObserving(topic: "CHAT")
    try bea.send("Bye", topic: "CHAT")
    await room.run(for: .seconds(1))
    #expect(log.lines.last == "failed: message")
  }

  @Test func endIsReportedWithItsReason() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    room.remove("Ana")
    await room.until("Ana is removed") { log.lines.last == "left: audioServerHungup" }
    #expect(log.lines.dropLast().last == "ended")
    #expect(call.isOver)

    let other = Log()
    room.refuse("Ana", .credential)
    let refused = try self.call(in: room, other)
    refused.join()
    await room.until("Ana is refused") { other.lines.last == "ended" }
    #expect(other.lines == ["connecting", "failed: rejected", "ended"])
  }

  @Test func meetingStartsWithoutAMicrophoneThatIsDenied() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    room.machine(of: "Ana").setPermission(.denied, .microphone)
    room.machine(of: "Ana").setPermission(.denied, .camera)
    let call = try self.call(in: room, log, isCameraOn: true)
    call.join()
    await room.until("Ana is in the meeting") { log.lines.contains("joined") }
    #expect(log.lines == ["failed: microphoneDenied", "failed: cameraDenied", "connecting", "connected", "joined"])
    #expect(call.localParticipant.streams.isEmpty)
  }
}
