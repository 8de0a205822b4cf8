import AVFoundation
import CoreMedia
import CoreVideo
import Foundation
import KoineAppServers
import KoineTesting
import Testing
import VideoSDKRTC

/// The helper of layers from the stage style in a VideoSDK meeting (`ListenerStage.swift` and the files beside it), without an app.
@MainActor @Suite struct ListenerStageTests {
  /// Collects what a stage reports.
  @MainActor private final class Log {
    var lines: [String] = []
    func note(_ report: ListenerStage.Report) {
      switch report {
      case .phaseChanged(let phase, let error): lines.append("\(phase) \((error as NSError?)?.code ?? 0)")
      case .personJoined(let person): lines.append("\(person.displayName) joined")
      case .personLeft(let person): lines.append("\(person.displayName) left")
      case .publishingChanged(let person): lines.append("\(person.displayName) publishes")
      case .streamAdded(let stream, let person):
        lines.append("\(stream.kind) of \(person.displayName) added\(stream.isMuted ? ", muted" : "")")
      case .streamRemoved(let stream, let person): lines.append("\(stream.kind) of \(person.displayName) removed")
      case .streamMuted(let stream, let person):
        lines.append("\(stream.kind) of \(person.displayName) \(stream.isMuted)")
      case .failed(let kind, let error):
        lines.append("\(kind.map { "\($0)" } ?? "stage") failed \((error as NSError).code)")
      }
    }
    func has(_ line: String) -> Bool { lines.contains(line) }
  }

  private func joined(_ room: TestRoom, _ log: Log) async throws -> ListenerStage {
    let token = try ServerAnswer(.eventListener, in: room, for: "Ana").text(forAppOf: .stageStrategy)
    let stage = try room.enter(as: "Ana") { try ListenerStage(token: token) }
    stage.handler = { report, _ in MainActor.assumeIsolated { log.note(report) } }
    try room.enter(as: "Ana") { try stage.join() }
    try await room.require("the stage is joined") { stage.isConnected }
    return stage
  }

  @Test(.room(as: "Ana", media: .stamps)) func textWithoutAnAnswerIsRefusedWithTheStagesNumber() {
    let error = #expect(throws: NSError.self) { try ListenerStage(token: "no token") }
    #expect(error?.code == 1000)
    #expect(error?.domain == ListenerStage.Fault.domain)
  }

  @Test(.room(as: "Ana", media: .stamps)) func streamsAreReportedOnceTheyAreWantedAndStayWhileTheyAreMuted()
    async throws
  {
    let (room, log) = (TestRoom.current, Log())
    let bea = try await room.join("Bea")
    let stage = try await joined(room, log)
    try await room.require("Bea is reported") { log.has("Bea joined") }
    let person = try #require(stage.participants.first)
    await room.run(for: .seconds(1))
    #expect(!log.has("microphone of Bea added"))
    stage.receive([.microphone], of: person)
    #expect(log.has("microphone of Bea added"))
    #expect(!log.has("camera of Bea added"))
    stage.receive(Set(ListenerKind.allCases), of: person)
    #expect(log.has("camera of Bea added"))
    bea.turnCameraOff()
    try await room.require("the camera is muted") { log.lines.last == "camera of Bea true" }
    try bea.share()
    try await room.require("the share is received") { log.lines.last == "screen of Bea added" }
    bea.stopSharing()
    try await room.require("the share is over") { log.lines.last == "screen of Bea removed" }
    stage.receive([.microphone], of: person)
    #expect(log.lines.last == "camera of Bea removed")
    bea.leave()
    try await room.require("Bea has left") { log.lines.last == "Bea left" }
    #expect(log.lines.dropLast().last == "microphone of Bea removed")
  }

  @Test(.room(as: "Ana", media: .stamps)) func firstStreamOfEachKindIsSentAndAMuteIsTheStreams() async throws {
    let (room, log) = (TestRoom.current, Log())
    let bea = try await room.join("Bea")
    let stage = try await joined(room, log)
    let devices = room.enter(as: "Ana") { ListenerStage.Device.all }
    #expect(devices.map(\.kind) == [.camera, .microphone])
    let (camera, microphone) = (ListenerStage.Stream(device: devices[0]), ListenerStage.Stream(device: devices[1]))
    room.enter(as: "Ana") { stage.publish { [camera, microphone, ListenerStage.Stream(device: devices[0])] } }
    #expect(log.lines.suffix(5).first == "Ana joined")
    #expect(log.lines.suffix(4).contains("camera of Ana added"))
    await room.until("Bea sees and hears Ana") { bea.sees("Ana") && bea.hears("Ana") }
    microphone.setMuted(true)
    #expect(log.lines.last == "microphone of Ana true")
    await room.until("Bea does not hear Ana") { !bea.hears("Ana") }
    camera.setMuted(true)
    await room.until("Bea does not see Ana") { bea.participant("Ana")?.tracks.contains { $0.kind == .camera } == false }
    camera.setMuted(false)
    await room.until("Bea sees Ana again") { bea.sees("Ana") }
    stage.publish(nil)
    #expect(log.lines.suffix(3) == ["camera of Ana removed", "microphone of Ana removed", "Ana left"])
    stage.leave()
    try await room.require("Ana has left") { log.lines.last == "CLOSED 0" }
  }

  @Test(.room(as: "Ana", media: .stamps)) func otherSideOfTheCameraIsChosenWhileItIsOnAndWhileItIsOff() async throws {
    let (room, log) = (TestRoom.current, Log())
    let stage = try await joined(room, log)
    let bea = try await room.join("Bea")
    let camera = try #require(room.enter(as: "Ana") { ListenerStage.Device.all.first })
    #expect(camera.position == .front)
    let sources = room.enter(as: "Ana") { camera.sources }
    let back = try #require(sources.first { $0.position == .back })
    let front = try #require(sources.first { $0.position == .front })
    let stream = ListenerStage.Stream(device: camera)
    room.enter(as: "Ana") { stage.publish { [stream] } }
    // The front camera's pictures are 180 pixels high, the back camera's 240.
    await room.until("Bea sees the front camera") { bea.size(of: "Ana")?.height == 180 }
    camera.choose(back)
    await room.until("Bea sees the back camera") { bea.size(of: "Ana")?.height == 240 }
    stream.setMuted(true)
    await room.until("Bea does not see Ana") { !bea.sees("Ana") }
    camera.choose(front)
    await room.run(for: .seconds(1))
    #expect(!bea.sees("Ana"))
    stream.setMuted(false)
    await room.until("Bea sees the front camera again") { bea.sees("Ana") && bea.size(of: "Ana")?.height == 180 }
  }

  @Test(.room(as: "Ana", media: .stamps)) func picturesOfTheAppAreSentInThePlaceOfTheCameras() async throws {
    let (room, log) = (TestRoom.current, Log())
    let bea = try await room.join("Bea")
    let stage = try await joined(room, log)
    let camera = ListenerStage.Stream(device: try #require(room.enter(as: "Ana") { ListenerStage.Device.all.first }))
    room.enter(as: "Ana") { stage.publish { [camera] } }
    await room.until("Bea sees Ana") { bea.sees("Ana") }
    let feed = ListenerStage.Feed()
    var pixels: CVPixelBuffer?
    _ = CVPixelBufferCreate(nil, 64, 36, kCVPixelFormatType_32BGRA, nil, &pixels)
    feed.push(CMSampleBuffer(imageBuffer: try #require(pixels), presentationTimeStamp: .zero))
    let share = ListenerStage.Stream(device: feed, config: ListenerStage.Video())
    room.enter(as: "Ana") { stage.publish { [share] } }
    let view = share.makeView()
    await room.until("the app's pictures are shown") { view.lastFrame?.width == 64 }
    await room.until("Bea does not see Ana") { !bea.sees("Ana") }
    #expect(bea.participant("Ana")?.tracks.contains { $0.kind == .camera } == true)
    room.enter(as: "Ana") { stage.publish { [camera] } }
    await room.until("Bea sees Ana again") { bea.sees("Ana") }
  }

  @Test(.room(as: "Ana", media: .stamps)) func deniedCameraIsAnErrorOfTheCameraAndOfTheStage() async throws {
    let (room, log) = (TestRoom.current, Log())
    room.machine(of: "Ana").setPermission(.denied, .camera)
    let stage = try await joined(room, log)
    let camera = ListenerStage.Stream(device: try #require(room.enter(as: "Ana") { ListenerStage.Device.all.first }))
    room.enter(as: "Ana") { stage.publish { [camera] } }
    try await room.require("the stage has failed") { log.has("stage failed 1020") }
    #expect(log.lines.suffix(2) == ["camera failed 1020", "stage failed 1020"])
  }

  @Test(.room(as: "Ana", media: .stamps)) func endsHaveTheNumbersOfAStage() async throws {
    let (room, log) = (TestRoom.current, Log())
    let stage = try await joined(room, log)
    room.remove("Ana")
    try await room.require("Ana is removed") { !stage.isConnected }
    #expect(log.lines.last == "CLOSED 1026")
    let reasons: [LeaveReason] = [.roomClose, .websocketConnectionAttemptsExhausted, .joinRoomFailed]
    #expect(reasons.map { ListenerCall.fault(of: $0)?.code } == [1027, 1300, 1203])
    let errors: [VideoSDKError] = [.INVALID_TOKEN, .INVALID_PERMISSIONS, .MAX_PARTCIPANT_REACHED, .INVALID_MEETING_ID]
    #expect(errors.map { ListenerCall.fault(of: .joinRoomFailed, $0)?.code } == [1026, 1026, 1024, 1000])
    #expect(ListenerCall.fault(of: .duplicateParticipant, .DUPLICATE_PARTICIPANT) == nil)
  }

  @Test func smallestSizeIsChosenThatHasTheWantedOne() {
    var video = ListenerStage.Video()
    #expect(video.encoderConfig == .h360p_w640p)
    (video.maximumWidth, video.maximumHeight) = (960, 500)
    #expect(video.encoderConfig == .h540p_w960p)
    (video.maximumWidth, video.maximumHeight) = (4_000, 3_000)
    #expect(video.encoderConfig == .h720p_w1280p)
  }
}
