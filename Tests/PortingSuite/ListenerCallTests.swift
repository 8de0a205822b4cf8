import Foundation
import KoineTesting
import Testing
import UIKit
import VideoSDKRTC

/// `ListenerCall.swift` and the file beside it, which `koine port --to event-listener` writes beside layers, without such a layer.
@MainActor @Suite struct ListenerCallTests {
  private final class Log {
    var lines: [String] = []

    func add(_ report: ListenerReport) {
      switch report {
      case .phaseChanged(let phase): lines.append("\(phase)")
      case .joined: lines.append("joined")
      case .left(let reason): lines.append("left: \(reason)")
      case .connectionLost: lines.append("lost")
      case .failed(let error): lines.append("failed: \(error)")
      case .personJoined(let person): lines.append("\(person.displayName) joined")
      case .personLeft(let person): lines.append("\(person.displayName) left, sending \(person.streams.count)")
      case .streamAdded(let stream, let person): lines.append("\(ListenerKind(stream.kind)) of \(person.displayName)")
      case .streamRemoved(let stream, let person):
        lines.append("no \(ListenerKind(stream.kind)) of \(person.displayName)")
      case .messageReceived(let message): lines.append("\(message.senderName): \(message.message)")
      case .streamsKnown(let person): lines.append("\(person.displayName) is known")
      case .presenterChanged(let id): lines.append("presenter: \(id ?? "–")")
      case .speakerChanged, .levelsChanged, .pathChanged: break
      }
    }
    func has(_ line: String) -> Bool { lines.contains(line) }
  }

  private func call(
    in room: TestRoom, _ log: Log, isMicrophoneOn: Bool = true, isCameraOn: Bool = false
  ) throws -> ListenerCall {
    let credential = try room.credential(.eventListener, for: "Ana")
    let call = room.enter(as: "Ana") {
      ListenerCall(
        room: credential.meetingID, credential: credential.token, participantID: credential.participantID, name: "Ana",
        isMicrophoneOn: isMicrophoneOn, isCameraOn: isCameraOn)
    }
    call.handler = { report, _ in log.add(report) }
    return call
  }

  private func joined(in room: TestRoom, _ log: Log, isCameraOn: Bool = false) async throws -> ListenerCall {
    let call = try call(in: room, log, isCameraOn: isCameraOn)
    call.join()
    await room.until("Ana is in the meeting") { log.has("joined") }
    return call
  }

  @Test func participantsAreReportedWithWhatTheySend() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    #expect(log.lines.prefix(3) == ["CONNECTING", "CONNECTED", "joined"])
    let bea = try await room.join("Bea")
    await room.until("Bea's streams are reported") { log.has("camera of Bea") && log.has("microphone of Bea") }
    #expect(log.lines.suffix(4).prefix(2) == ["Bea joined", "Bea is known"])
    let person = try #require(call.participants["bea"])
    #expect(call.stream(.camera, of: person) != nil)
    bea.mute()
    await room.until("Bea is muted") { log.lines.last == "no microphone of Bea" }
    #expect(call.stream(.microphone, of: person) == nil)
    try bea.share()
    await room.until("Bea shares") { log.lines.last == "screen of Bea" }
    #expect(log.lines.dropLast().last == "presenter: bea")
    bea.stopSharing()
    await room.until("Bea does not share any more") { log.lines.last == "no screen of Bea" }
    bea.leave()
    await room.until("Bea has left") { log.lines.last == "Bea left, sending 0" }
    #expect(call.participants.isEmpty)
  }

  @Test func viewStaysWithAStreamThatIsTurnedOffAndOn() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    let view = RTCMTLVideoView(frame: .zero)
    call.show(view, .camera, of: "bea")
    let bea = try await room.join("Bea")
    await room.until("the view shows Bea") { view.framesRendered > 0 }
    bea.turnCameraOff()
    await room.until("the camera is off") { log.lines.last == "no camera of Bea" }
    await room.run(for: .milliseconds(500))
    let shown = view.framesRendered
    await room.run(for: .seconds(2))
    #expect(view.framesRendered == shown)
    bea.turnCameraOn()
    await room.until("the view shows Bea again") { view.framesRendered > shown }
    let other = RTCMTLVideoView(frame: .zero)
    call.show(other, .camera, of: "bea")
    await room.until("another view shows Bea") { other.framesRendered > 0 }
    let last = view.framesRendered
    await room.run(for: .seconds(2))
    #expect(view.framesRendered == last)
  }

  @Test func streamsThatAreNotWantedArePaused() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    let view = RTCMTLVideoView(frame: .zero)
    call.show(view, .camera, of: "bea")
    call.receive(["bea": [.microphone]])
    try await room.join("Bea")
    await room.until("Bea's camera is reported") { log.has("camera of Bea") }
    await room.run(for: .seconds(1))
    let shown = view.framesRendered
    await room.run(for: .seconds(2))
    #expect(view.framesRendered == shown)
    call.receive(["bea": [.microphone, .camera]])
    await room.until("the view shows Bea") { view.framesRendered > shown }
  }

  @Test func ownStreamsAreTurnedOnAndOff() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    await room.until("the microphone is on") { log.has("microphone of Ana") }
    for kind in ListenerKind.allCases {
      let isOn = kind != .microphone
      room.enter(as: "Ana") { call.setStream(kind: kind, isOn: isOn) }
      await room.until("it is \(isOn): \(kind)") { log.lines.last == (isOn ? "" : "no ") + "\(kind) of Ana" }
      room.enter(as: "Ana") { call.setStream(kind: kind, isOn: !isOn) }
      await room.until("it is \(!isOn): \(kind)") { log.lines.last == (isOn ? "no " : "") + "\(kind) of Ana" }
    }
    #expect(call.localParticipant.streams.count == 1)
  }

  @Test func messagesOfATopicComeOnceAlsoTheOwn() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    call.observe(topic: "CHAT")
    let bea = try await room.join("Bea")
    call.send(text: "Hello", topic: "CHAT", isPersistent: true)
    try bea.send("Hi", topic: "CHAT")
    await room.until("Bea's message has come") { log.lines.last == "Bea: Hi" }
    #expect(log.lines.filter { $0.contains(": H") } == ["Ana: Hello", "Bea: Hi"])
    #expect(call.messages(topic: "CHAT").map(\.message) == ["Hello", "Hi"])
    call.stopObserving(topic: "CHAT")
    try bea.send("Bye", topic: "CHAT")
    await room.run(for: .seconds(1))
    #expect(log.lines.last == "Bea: Hi")
  }

  @Test func errorsOfDevicesAreReportedAtOnceAndOthersWithTheEnd() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    room.machine(of: "Ana").setPermission(.denied, .microphone)
    let log = Log()
    let call = try await joined(in: room, log)
    #expect(log.lines.first == "failed: ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED")
    #expect(VideoSDKError.ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED.kind == .microphone)
    #expect(VideoSDKError.ERROR_GET_VIDEO_MEDIA.kind == .camera)
    #expect(VideoSDKError.UNKNOWN_ERROR.kind == nil)
    room.remove("Ana")
    await room.until("Ana is removed") { log.lines.last == "left: removePeer" }
    #expect(log.lines.dropLast().last == "CLOSED")
    #expect(call.isOver)

    let other = Log()
    room.refuse("Ana", .credential)
    let refused = try self.call(in: room, other)
    refused.join()
    await room.until("Ana is refused") { other.lines.last == "CLOSED" }
    #expect(other.lines.suffix(3) == ["CONNECTING", "failed: INVALID_TOKEN", "CLOSED"])
    #expect(refused.reason == .joinRoomFailed)
  }
}
