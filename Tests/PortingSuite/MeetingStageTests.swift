import AmazonChimeSDK
import CoreVideo
import Foundation
import KoineTesting
import Testing

/// The helper of layers from the stage style in a meeting (`MeetingStage.swift` and the files beside it), without an app.
@MainActor @Suite struct MeetingStageTests {
  /// Collects what a stage reports.
  @MainActor private final class Log {
    var lines: [String] = []
    func note(_ report: MeetingStage.Report) {
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

  private func joined(_ room: TestRoom, _ log: Log) async throws -> MeetingStage {
    let token = try room.credential(.meetingSession, for: "Ana").joinInfoJSON
    let stage = try room.enter(as: "Ana") { try MeetingStage(token: token) }
    stage.handler = { report, _ in MainActor.assumeIsolated { log.note(report) } }
    try room.enter(as: "Ana") { try stage.join() }
    try await room.require("the stage is joined") { stage.isConnected }
    return stage
  }

  @Test(.room(as: "Ana", media: .stamps)) func textWithoutAnswersIsRefusedWithTheStagesNumber() {
    let error = #expect(throws: NSError.self) { try MeetingStage(token: "no token") }
    #expect(error?.code == 1000)
    #expect(error?.domain == MeetingStage.Fault.domain)
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
    stage.receive(Set(MeetingStream.Kind.allCases), of: person)
    try await room.require("the camera is received") { log.has("camera of Bea added") }
    bea.turnCameraOff()
    try await room.require("the camera is muted") { log.lines.last == "camera of Bea true" }
    try bea.share()
    try await room.require("the share is received") { log.lines.last == "screen of Bea added" }
    bea.stopSharing()
    try await room.require("the share is over") { log.lines.last == "screen of Bea removed" }
    stage.receive([.microphone], of: person)
    #expect(log.lines.last == "camera of Bea removed")
    bea.leave()
    try await room.require("Bea has left") { log.has("Bea left") }
    #expect(log.lines.suffix(2) == ["microphone of Bea removed", "Bea left"])
  }

  @Test(.room(as: "Ana", media: .stamps)) func videoOfOneParticipantIsLeftOut() async throws {
    let (room, log) = (TestRoom.current, Log())
    let cleo = try await room.join("Cleo")
    _ = try await room.join("Bea")
    let stage = try await joined(room, log)
    try await room.require("both are reported") { log.has("Bea joined") && log.has("Cleo joined") }
    let people = stage.participants
    for person in people { stage.receive(Set(MeetingStream.Kind.allCases), of: person) }
    try await room.require("both videos have tiles") { stage.call.tiles.count == 2 }
    let quiet = try #require(people.first { $0.name == "Bea" })
    stage.receive([.microphone], of: quiet)
    try await room.require("Bea's video is not received") { Set(stage.call.tiles.keys) == [cleo.id] }
    #expect(quiet.attributes == ["name": "Bea", "username": "Bea"])
    stage.receive(Set(MeetingStream.Kind.allCases), of: quiet)
    try await room.require("Bea's video is back") { stage.call.tiles.count == 2 }
    stage.leave()
  }

  @Test(.room(as: "Ana", media: .stamps)) func firstStreamOfEachKindIsSentAndAMuteIsTheStreams() async throws {
    let (room, log) = (TestRoom.current, Log())
    let bea = try await room.join("Bea")
    let stage = try await joined(room, log)
    let devices = room.enter(as: "Ana") { MeetingStage.Device.all }
    #expect(devices.map(\.kind) == [.camera, .microphone])
    let (camera, microphone) = (MeetingStage.Stream(device: devices[0]), MeetingStage.Stream(device: devices[1]))
    room.enter(as: "Ana") { stage.publish { [camera, microphone, MeetingStage.Stream(device: devices[0])] } }
    #expect(log.lines.suffix(5).first == "Ana joined")
    #expect(log.lines.suffix(4).contains("camera of Ana added"))
    await room.until("Bea sees and hears Ana") { bea.sees("Ana") && bea.hears("Ana") }
    microphone.setMuted(true)
    #expect(log.lines.last == "microphone of Ana true")
    await room.until("Bea does not hear Ana") { !bea.hears("Ana") }
    camera.setMuted(true)
    await room.until("Bea does not see Ana") { bea.participant("Ana")?.tracks.contains { $0.kind == .camera } == false }
    stage.publish(nil)
    #expect(log.lines.suffix(3) == ["camera of Ana removed", "microphone of Ana removed", "Ana left"])
    stage.leave()
    try await room.require("Ana has left") { log.lines.last == "ended 0" }
  }

  @Test(.room(as: "Ana", media: .stamps)) func endsHaveTheNumbersOfAStage() async throws {
    let (room, log) = (TestRoom.current, Log())
    let stage = try await joined(room, log)
    room.remove("Ana")
    try await room.require("Ana is removed") { !stage.isConnected }
    #expect(log.lines.last == "ended 1026")
    let codes: [MeetingSessionStatusCode] = [
      .audioCallAtCapacity, .audioAuthenticationRejected, .audioDisconnected, .audioInternalServerError,
    ]
    #expect(codes.map { MeetingCall.fault(of: $0)?.code } == [1024, 1026, 1300, 1203])
    #expect(MeetingCall.fault(of: .audioJoinedFromAnotherDevice) == nil)
  }

  /// A still screen gives one picture, before the meeting listens.
  @Test func pictureThatCameBeforeTheMeetingListensIsSent() throws {
    final class Sink: AmazonChimeSDK.VideoSink {
      var times: [Int64] = []
      func onVideoFrameReceived(frame: AmazonChimeSDK.VideoFrame) { times.append(frame.timestampNs) }
    }
    var picture: CVPixelBuffer?
    CVPixelBufferCreate(nil, 64, 48, kCVPixelFormatType_420YpCbCr8BiPlanarFullRange, nil, &picture)
    let feed = MeetingFeed()
    feed.push(try #require(picture))
    let sink = Sink()
    feed.addVideoSink(sink: sink)
    #expect(sink.times.count == 1)
    feed.push(try #require(picture))
    #expect(sink.times.count == 2)
    feed.removeVideoSink(sink: sink)
    feed.push(try #require(picture))
    #expect(sink.times.count == 2)
  }
}
