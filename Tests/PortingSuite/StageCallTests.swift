import AmazonIVSBroadcast
import KoineTesting
import ReplayKit
import Testing
import UIKit

/// `StageCall.swift` and the files beside it, which `koine port --to stage-strategy` writes beside layers, without such a layer.
@MainActor @Suite struct StageCallTests {
  private final class Log {
    var lines: [String] = []
    var streams: [String: StageStream] = [:]
    var speakers: [String?] = []

    func add(_ report: StageReport) {
      switch report {
      case .phaseChanged(let phase): lines.append("\(phase)")
      case .joined: lines.append("joined")
      case .left(let end): lines.append("left: \(end)")
      case .connectionLost: lines.append("lost")
      case .failed(let failure): lines.append("failed: \(failure.rawValue)")
      case .personJoined(let person): lines.append("\(person.name) joined")
      case .personLeft(let person): lines.append("\(person.name) left, sending \(person.streams.count)")
      case .streamAdded(let stream, let person):
        streams[stream.id] = stream
        lines.append("\(stream.kind) of \(person.name)")
      case .streamRemoved(let stream, let person): lines.append("no \(stream.kind) of \(person.name)")
      case .presenterChanged(let id): lines.append("presenter: \(id ?? "–")")
      case .speakerChanged(let id): speakers.append(id)
      case .levelsChanged, .streamsKnown: break
      }
    }
  }

  private func call(
    in room: TestRoom, _ log: Log, isMicrophoneOn: Bool = true, isCameraOn: Bool = false, token: String? = nil
  ) throws -> StageCall {
    let credential = try room.credential(.stageStrategy, for: "Ana")
    let call = room.enter(as: "Ana") {
      StageCall(
        credential: token ?? credential.token, participantID: credential.participantID, name: "Ana",
        isMicrophoneOn: isMicrophoneOn, isCameraOn: isCameraOn)
    }
    call.handler = { report, _ in log.add(report) }
    return call
  }

  private func joined(in room: TestRoom, _ log: Log, isCameraOn: Bool = false) async throws -> StageCall {
    let call = try call(in: room, log, isCameraOn: isCameraOn)
    room.enter(as: "Ana") { call.join() }
    await room.until("Ana is on the stage") { log.lines.contains("microphone of Ana") }
    return call
  }

  private func set(_ kind: StageStream.Kind, _ isOn: Bool, _ call: StageCall, in room: TestRoom) {
    room.enter(as: "Ana") { call.setStream(kind: kind, isOn: isOn) }
  }

  @Test func participantsAreReportedOneByOneWithWhatTheySend() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    let bea = try await room.join("Bea")
    await room.until("Bea's camera is known") { log.lines.contains("camera of Bea") }
    #expect(Set(log.lines.suffix(2)) == ["microphone of Bea", "camera of Bea"])
    #expect(log.lines.dropLast(2).last == "Bea joined")
    #expect(call.participants["bea"]?.streams.count == 2)
    bea.mute()
    await room.until("Bea is muted") { log.lines.last == "no microphone of Bea" }
    bea.unmute()
    await room.until("Bea is not muted any more") { log.lines.last == "microphone of Bea" }
    bea.turnCameraOff()
    await room.until("Bea's camera is off") { log.lines.last == "no camera of Bea" }
    try bea.share()
    await room.until("Bea shares") { log.lines.last == "screen of Bea" }
    #expect(log.lines.dropLast().last == "presenter: bea")
    bea.stopSharing()
    await room.until("Bea does not share any more") { log.lines.last == "no screen of Bea" }
    bea.leave()
    await room.until("Bea has left") { log.lines.last == "Bea left, sending 0" }
    #expect(call.participants.isEmpty)
  }

  @Test func participantsThatWereThereBeforeAreReportedWithTheirStreams() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    try await room.join("Bea")
    let log = Log()
    let call = try call(in: room, log)
    var times = [room.now]
    call.handler = { report, _ in
      log.add(report)
      switch report {
      case .personJoined: times = [room.now]
      case .streamAdded(_, let person): if !person.isLocal { times.append(room.now) }
      default: break
      }
    }
    room.enter(as: "Ana") { call.join() }
    await room.until("Ana is on the stage, and Bea is known") {
      log.lines.contains("microphone of Ana") && log.lines.contains("camera of Bea")
    }
    let index = try #require(log.lines.firstIndex(of: "Bea joined"))
    #expect(Set(log.lines[index...].dropFirst().prefix(2)) == ["microphone of Bea", "camera of Bea"])
    #expect(times.count == 3 && Set(times).count == 1)
  }

  @Test func viewShowsAStreamUntilItIsDetached() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    try await room.join("Bea")
    await room.until("Bea's camera is known") { log.streams["bea camera"] != nil }
    let stream = try #require(log.streams["bea camera"])
    let view = StageStreamView(frame: CGRect(x: 0, y: 0, width: 320, height: 180))
    view.contentMode = .scaleAspectFit
    stream.attach(view: view)
    let preview = try #require(view.subviews.first as? IVSImagePreviewView)
    #expect(preview.frame == view.bounds && preview.contentMode == .scaleAspectFit)
    await room.until("the view shows Bea") { preview.lastFrame != nil }
    view.frame.size.width = 640
    #expect(preview.frame == view.bounds)
    stream.detach(view: view)
    #expect(view.subviews.isEmpty && view.device == nil)
    _ = call
  }

  @Test func ownStreamsAreReportedOnceTheyAreSent() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let bea = try await room.join("Bea")
    let call = try await joined(in: room, log, isCameraOn: true)
    #expect(log.lines.contains("camera of Ana"))
    set(.microphone, false, call, in: room)
    await room.until("the microphone is off") { log.lines.last == "no microphone of Ana" }
    set(.microphone, true, call, in: room)
    await room.until("the microphone is on") { log.lines.last == "microphone of Ana" }
    set(.camera, false, call, in: room)
    #expect(log.lines.last == "no camera of Ana")
    await room.until("Bea does not see Ana") { bea.participant("Ana")?.tracks.contains { $0.kind == .camera } == false }
    set(.camera, true, call, in: room)
    await room.until("the camera is on") { log.lines.last == "camera of Ana" }
    call.leave()
    #expect(log.lines.last == "left: left" && call.localParticipant.streams.isEmpty)
  }

  @Test func sharedScreenHasTheCamerasPlace() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let bea = try await room.join("Bea")
    let call = try await joined(in: room, log, isCameraOn: true)
    set(.screen, true, call, in: room)
    await room.until("the screen is shared") { log.lines.last == "screen of Ana" }
    #expect(log.lines.suffix(3) == ["no camera of Ana", "presenter: ana", "screen of Ana"])
    await room.until("Bea sees one video of Ana's") {
      bea.participant("Ana")?.tracks.filter(\.kind.isVideo).map(\.kind) == [.camera]
    }
    set(.screen, false, call, in: room)
    await room.until("the camera is back") { log.lines.last == "camera of Ana" }
    #expect(log.lines.suffix(3) == ["presenter: –", "no screen of Ana", "camera of Ana"])

    room.enter(as: "Ana") { RPScreenRecorder.shared().setAllowed(false) }
    set(.screen, true, call, in: room)
    await room.until("the screen cannot be shared") { log.lines.last == "failed: screen" }
    room.enter(as: "Ana") { RPScreenRecorder.shared().setAllowed(true) }
    set(.screen, true, call, in: room)
    set(.screen, false, call, in: room)
    await room.run(for: .seconds(2))
    #expect(log.lines.last == "failed: screen")
    #expect(room.enter(as: "Ana") { RPScreenRecorder.shared().isRecording } == false)
    #expect(call.localParticipant.streams.keys.sorted() == ["camera", "microphone"])
  }

  @Test func endIsReportedWithItsReason() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    room.remove("Ana")
    await room.until("Ana is removed") { log.lines.last == "left: removed" }
    #expect(log.lines.dropLast().last == "ended")
    #expect(call.isOver)

    let other = Log()
    room.refuse("Ana", .credential)
    let refused = try self.call(in: room, other)
    room.enter(as: "Ana") { refused.join() }
    await room.until("Ana is refused") { other.lines.last == "ended" }
    #expect(other.lines == ["connecting", "failed: rejected", "ended"])

    let none = Log()
    let broken = try self.call(in: room, none, token: "no token")
    room.enter(as: "Ana") { broken.join() }
    #expect(none.lines == ["failed: rejected", "ended"])
  }

  @Test func sameTokenOnAnotherDeviceEndsTheCall() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let call = try await joined(in: room, log)
    let other = try await joined(in: room, Log())
    await room.until("the first call is over") { call.isOver }
    #expect(log.lines.suffix(3) == ["failed: joinedElsewhere", "ended", "left: replaced"])
    #expect(!other.isOver)
  }

  @Test func userIsAskedForDevicesThatAreNotAllowedYet() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let log = Log()
    let machine = room.machine(of: "Ana")
    machine.setPermission(.denied, .microphone)
    machine.setPermission(.undetermined, .camera)
    let call = try self.call(in: room, log, isCameraOn: true)
    room.enter(as: "Ana") { call.join() }
    await room.until("Ana is on the stage") { log.lines.contains("joined") }
    #expect(log.lines.first == "failed: microphoneDenied")
    await room.until("the user has allowed the camera, which is on") { log.lines.last == "camera of Ana" }
    #expect(machine.permission(.camera) == .granted)
    machine.setPermission(.granted, .microphone)
    set(.microphone, true, call, in: room)
    await room.until("the microphone is on") { log.lines.last == "microphone of Ana" }
  }

  @Test func devicesThatAreTurnedOffBeforeJoiningStayOff() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let bea = try await room.join("Bea")
    let log = Log()
    let call = try self.call(in: room, log, isCameraOn: true)
    set(.microphone, false, call, in: room)
    set(.camera, false, call, in: room)
    room.enter(as: "Ana") { call.join() }
    await room.until("Ana is on the stage") { log.lines.contains("joined") }
    await room.run(for: .seconds(3))
    #expect(call.localParticipant.sources.isEmpty)
    #expect(bea.participant("Ana")?.tracks.isEmpty == true)
  }

  @Test func loudestParticipantIsTheActiveSpeakerUntilItIsMuted() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), media: .stamps)
    let bea = try await room.join("Bea")
    let log = Log()
    let call = try call(in: room, log, isMicrophoneOn: false)
    room.enter(as: "Ana") { call.join() }
    await room.until("Bea speaks") { log.speakers.last == "bea" }
    bea.mute()
    await room.until("the stage is quiet") { log.speakers.last == .some(nil) }
    #expect(log.speakers == ["bea", nil])
    call.leave()
  }

  @Test func meterKeepsTheSpeakerUntilAnotherIsClearlyLouder() {
    var meter = StageMeter()
    meter.measure("ana", -60)
    #expect(meter.speaker == nil)
    meter.measure("ana", -30)
    meter.measure("bea", -28)
    #expect(meter.speaker == "ana")
    meter.measure("bea", -26)
    #expect(meter.speaker == "bea")
    meter.measure("bea", nil)
    #expect(meter.speaker == "ana")
  }
}
