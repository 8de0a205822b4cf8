import AzureCommunicationCalling
import CoreMedia
import CoreVideo
import Foundation
import KoineAppServers
import KoineTestSupport
import KoineTesting
import Testing

/// The helper of layers from the stage style in a call (`AzureStage.swift` and the files beside it), without an app.
@MainActor
@Suite(.enabled(if: roomsFollowQueues, "rooms do not follow dispatch queues under the thread sanitizer"))
struct AzureStageTests {
  /// Collects what a stage reports.
  @MainActor private final class Log {
    var lines: [String] = []
    func note(_ report: AzureStage.Report) {
      switch report {
      case .phaseChanged(let phase, let error): lines.append("\(phase) \((error as NSError?)?.code ?? 0)")
      case .personJoined(let person): lines.append("\(person.name) joined")
      case .personLeft(let person): lines.append("\(person.name) left")
      case .publishingChanged(let person): lines.append("\(person.name) publishes")
      case .streamAdded(let stream, let person):
        lines.append("\(stream.kind) of \(person.name) added\(stream.isMuted ? ", muted" : "")")
      case .streamRemoved(let stream, let person): lines.append("\(stream.kind) of \(person.name) removed")
      case .streamMuted(let stream, let person): lines.append("\(stream.kind) of \(person.name) \(stream.isMuted)")
      case .failed(let kind, let error):
        lines.append("\(kind.map { "\($0)" } ?? "stage") failed \((error as NSError).code)")
      }
    }
    func has(_ line: String) -> Bool { lines.contains(line) }
  }

  private func joined(_ room: TestRoom, _ log: Log) async throws -> AzureStage {
    let token = try ServerAnswer(.callAgent, in: room, for: "Ana").text(forAppOf: .stageStrategy)
    let stage = try room.enter(as: "Ana") { try AzureStage(token: token) }
    stage.handler = { report, _ in MainActor.assumeIsolated { log.note(report) } }
    try room.enter(as: "Ana") { try stage.join() }
    try await room.require("the stage is joined") { stage.isConnected }
    return stage
  }

  @Test(.room(as: "Ana", media: .stamps)) func textWithoutAnAnswerIsRefusedWithTheStagesNumber() {
    let error = #expect(throws: NSError.self) { try AzureStage(token: "no token") }
    #expect(error?.code == 1000)
    #expect(error?.domain == AzureStage.Fault.domain)
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
    stage.receive([.camera], of: person)
    #expect(log.has("camera of Bea added"))
    await room.until("Ana hears nobody") { !room.speaker(of: "Ana").hears("Bea") }
    stage.receive(Set(AzureStream.Kind.allCases), of: person)
    #expect(log.has("microphone of Bea added"))
    await room.until("Ana hears Bea") { room.speaker(of: "Ana").hears("Bea") }
    bea.turnCameraOff()
    try await room.require("the camera is muted") { log.lines.last == "camera of Bea true" }
    try bea.share()
    try await room.require("the share is received") { log.lines.last == "screen of Bea added" }
    bea.stopSharing()
    try await room.require("the share is over") { log.lines.last == "screen of Bea removed" }
    bea.leave()
    try await room.require("Bea has left") { log.lines.last == "Bea left" }
  }

  @Test(.room(as: "Ana", media: .stamps)) func firstStreamOfEachKindIsSentAndAMuteIsTheStreams() async throws {
    let (room, log) = (TestRoom.current, Log())
    let bea = try await room.join("Bea")
    let stage = try await joined(room, log)
    let devices = room.enter(as: "Ana") { AzureStage.Device.all }
    #expect(devices.map(\.kind) == [.camera, .microphone])
    let (camera, microphone) = (AzureStage.Stream(device: devices[0]), AzureStage.Stream(device: devices[1]))
    room.enter(as: "Ana") { stage.publish { [camera, microphone, AzureStage.Stream(device: devices[0])] } }
    #expect(log.has("Ana joined") && log.has("camera of Ana added"))
    await room.until("Bea sees and hears Ana") { bea.sees("Ana") && bea.hears("Ana") }
    microphone.setMuted(true)
    #expect(log.lines.last == "microphone of Ana true")
    await room.until("Bea does not hear Ana") { !bea.hears("Ana") }
    room.enter(as: "Ana") { stage.publish(nil) }
    #expect(log.lines.suffix(3) == ["camera of Ana removed", "microphone of Ana removed", "Ana left"])
    await room.until("Bea does not see Ana") { !bea.sees("Ana") }
    stage.leave()
    try await room.require("Ana has left") { log.lines.last == "ended 0" }
  }

  @Test(.room(as: "Ana", media: .stamps)) func otherSideOfTheCameraIsChosenWhileItIsOn() async throws {
    let (room, log) = (TestRoom.current, Log())
    let stage = try await joined(room, log)
    let bea = try await room.join("Bea")
    let camera = try #require(room.enter(as: "Ana") { AzureStage.Device.all.first })
    let back = try #require(room.enter(as: "Ana") { camera.sources }.first { $0.facing == .back })
    let stream = AzureStage.Stream(device: camera)
    room.enter(as: "Ana") { stage.publish { [stream] } }
    // The front camera's pictures are 180 pixels high, the back camera's 240.
    await room.until("Bea sees the front camera") { bea.size(of: "Ana")?.height == 180 }
    room.enter(as: "Ana") { camera.choose(back) }
    await room.until("Bea sees the back camera") { bea.size(of: "Ana")?.height == 240 }
  }

  @Test(.room(as: "Ana", media: .stamps)) func picturesOfTheAppAreSentInThePlaceOfTheCameras() async throws {
    let (room, log) = (TestRoom.current, Log())
    let bea = try await room.join("Bea")
    let stage = try await joined(room, log)
    let camera = AzureStage.Stream(device: try #require(room.enter(as: "Ana") { AzureStage.Device.all.first }))
    room.enter(as: "Ana") { stage.publish { [camera] } }
    await room.until("Bea sees Ana") { bea.sees("Ana") }
    let feed = AzureStage.Feed()
    let share = AzureStage.Stream(device: feed, config: AzureStage.Video())
    room.enter(as: "Ana") { stage.publish { [share] } }
    var pixels: CVPixelBuffer?
    _ = CVPixelBufferCreate(nil, 64, 36, kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange, nil, &pixels)
    let picture = CMSampleBuffer(imageBuffer: try #require(pixels), presentationTimeStamp: .zero)
    room.enter(as: "Ana") { feed.push(picture) }
    await room.until("Bea does not see Ana") { !bea.sees("Ana") }
    await room.until("the app's pictures are sent") { feed.stream?.state == .started }
    #expect(bea.participant("Ana")?.tracks.contains { $0.kind == .camera } == true)
    room.enter(as: "Ana") { stage.publish { [camera] } }
    await room.until("Bea sees Ana again") { bea.sees("Ana") }
  }

  @Test(.room(as: "Ana", media: .stamps)) func deniedCameraIsAnErrorOfTheCameraAndOfTheStage() async throws {
    let (room, log) = (TestRoom.current, Log())
    room.machine(of: "Ana").setPermission(.denied, .camera)
    let stage = try await joined(room, log)
    let camera = AzureStage.Stream(device: try #require(room.enter(as: "Ana") { AzureStage.Device.all.first }))
    room.enter(as: "Ana") { stage.publish { [camera] } }
    try await room.require("the stage has failed") { log.has("stage failed 1020") }
    #expect(log.lines.suffix(2) == ["camera failed 1020", "stage failed 1020"])
  }

  @Test(.room(as: "Ana", media: .stamps)) func endsHaveTheNumbersOfAStage() async throws {
    let (room, log) = (TestRoom.current, Log())
    let stage = try await joined(room, log)
    room.remove("Ana")
    try await room.require("Ana is removed") { !stage.isConnected }
    #expect(log.lines.last == "ended 1026")
    let ends: [AzureEnd] = [.closed, .lost, .failed, .left]
    #expect(ends.map { AzureCall.fault(of: $0)?.code } == [1027, 1300, 1203, nil])
    let failures: [AzureFailure] = [.rejected, .forbidden, .closed, .failed, .joinedElsewhere]
    #expect(failures.map { AzureCall.fault(of: .refused, $0)?.code } == [1026, 1026, 1027, 1203, nil])
  }
}
