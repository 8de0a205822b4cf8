import CrossVendorConventions
import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import KoineTokens
import Testing
import VideoSDKRTC

/// Recordings by the co-located recorder of the process's router, in virtual time.
@Suite(.serialized) struct EmbeddedRecordingTests {
  private let backend: EmbeddedBackend
  private let environment: TestEnvironment
  private let folder: Folder

  init() throws {
    MediaFiles.register()
    folder = try Folder()
    backend = EmbeddedBackend(virtual: 5)
    environment = TestEnvironment(backend)
  }

  private func two() async -> (ana: Meeting, told: Recorder, ben: Meeting, others: Recorder) {
    let (ana, told) = environment.meeting("Ana", id: "ana")
    let (ben, others) = environment.meeting("Ben", id: "ben")
    ana.join()
    ben.join()
    await environment.run()
    return (ana, told, ben, others)
  }

  /// Duration in seconds and number of frames of the recorded file.
  private func film() async throws -> (length: Double, pictures: Int) {
    let film = try #require(folder.names.first { $0.hasSuffix(".webm") }, "\(folder.names)")
    let words = try await Command(
      "ffprobe", "-v", "error", "-select_streams", "v", "-count_frames", "-show_entries",
      "format=duration:stream=nb_read_frames", "-of", "default=noprint_wrappers=1:nokey=1", folder.file(film)
    ).run().split(separator: "\n").map(String.init)
    return (words.last.flatMap(Double.init) ?? 0, words.first.flatMap { Int($0) } ?? 0)
  }

  @Test func meetingNameCannotEscapeTheRecordingFolder() async throws {
    let (ana, _) = environment.meeting("Ana", room: "../../evil room/ü")
    ana.join()
    await environment.run()
    ana.startRecording(webhookUrl: "", awsDirPath: folder.path, transcription: PostTranscriptionConfig(enabled: true))
    await environment.run(.seconds(2))
    ana.stopRecording()
    await environment.run()
    let name = try #require(folder.names.first)
    #expect(folder.names.count == 1)
    #expect(name.hasPrefix("______evil_room_ü-"))
    #expect(name.hasSuffix(".webm"))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path + "/../..").allSatisfy { !$0.contains("evil") })
  }

  @Test func recordingOutlivesItsInitiator() async throws {
    let (ana, told, ben, others) = await two()
    ana.startRecording(webhookUrl: "", awsDirPath: folder.path)
    await environment.run()
    #expect(told.told.contains("recording started"))
    #expect(others.told.contains("recording started"))
    ana.leave()
    await environment.run(.seconds(2))
    #expect(ben.recordingState == .RECORDING_STARTED)
    #expect(ben.participants.isEmpty)
    let (cleo, late) = environment.meeting("Cleo", id: "cleo")
    cleo.join()
    await environment.run()
    #expect(
      cleo.recordingState == .RECORDING_STARTED && late.told.contains("RECORDING_STARTED"), "who comes late knows")
    #expect(late.told.filter { $0.hasSuffix("joined") } == ["Ben joined"])
    cleo.stopRecording()  // every participant may
    await environment.run()
    for recorder in [others, late] { #expect(recorder.told.last == "recording stopped 2.6") }
    #expect(ben.recordingState == .RECORDING_STOPPED)
    #expect(cleo.recordingState == .RECORDING_STOPPED)
    let (dan, last) = environment.meeting("Dan", id: "dan")
    dan.join()
    await environment.run()
    #expect(dan.recordingState == .RECORDING_STOPPED)
    #expect(!last.told.contains { $0.hasPrefix("RECORDING") })
    let (length, pictures) = try await film()
    #expect((3.5...4.5).contains(length) && pictures > 90, "\(length) s, \(pictures) pictures")
  }

  @Test func recordingEndsWithTheLastParticipant() async throws {
    let (ana, _, ben, _) = await two()
    ana.startRecording(webhookUrl: "", awsDirPath: folder.path)
    await environment.run(.seconds(2))
    ana.leave()
    ben.leave()
    await environment.run()
    #expect(folder.names.count == 1 && !folder.names[0].hasSuffix(".part"))
    #expect(try await film().pictures > 30)
    let (cleo, late) = environment.meeting("Cleo", id: "cleo")
    cleo.join()
    await environment.run()
    #expect(cleo.recordingState == .RECORDING_STOPPED)
    #expect(!late.told.contains { $0.hasPrefix("RECORDING") })
    cleo.startRecording(webhookUrl: "", awsDirPath: folder.path)
    await environment.run()
    cleo.end()
    await environment.run()
    #expect(folder.names.count == 2 && !folder.names.contains { $0.hasSuffix(".part") }, "with the room, too")
  }

  @Test func recorderIsInvisibleToParticipants() async throws {
    let (ana, told, ben, _) = await two()
    let guest = Session(JoinRequest(room: "tea", participantID: "eva", name: "Eva"), in: environment.world)
    let heard = Lock<[String]>([])
    guest.observe { event in heard.withLock { $0.append("\(event)") } }
    guest.join { _ in }
    await environment.run()
    backend.limitParticipants(to: 3)
    told.forget()
    heard.withLock { $0 = [] }
    ana.startRecording(webhookUrl: "", awsDirPath: folder.path)
    await environment.run(.seconds(2))
    #expect(ana.recordingState == .RECORDING_STARTED, "it takes nobody's place")
    #expect(guest.participants.map(\.id) == ["ana", "ben"])
    #expect(ana.participants.count == 2)
    #expect(!heard.withLock { $0 }.contains { $0.contains("recorder") || $0.contains("participantJoined") })
    #expect(told.told.filter { !$0.hasPrefix("RECORDING") } == ["recording started"])
    #expect(["ana", "ben", nil].contains(guest.dominantSpeaker))
    for meeting in [ana, ben] { meeting.leave() }
    await environment.world.run { await guest.leave() }
    await environment.run()
    #expect(try await film().pictures > 40)
  }

  @Test func recordingWithoutPermissionIsRefused() async throws {
    let now = NumericDate.ofSystemClock()
    let key = try SigningKey(generating: .p256)
    let pass = KoineToken(rights: [.publish, .subscribe, .send], issued: now, expires: now + 600)
    let (eva, told) = environment.meeting("Eva", id: "eva", token: try pass.signed(with: key))
    let token = VideoSDKToken(apiKey: "key", permissions: [.join], issued: now, expires: now + 600)
    let (ana, hears) = environment.meeting("Ana", id: "ana", token: try token.signed(with: key))
    eva.join()
    ana.join()
    await environment.run()
    eva.startRecording(webhookUrl: "", awsDirPath: folder.path)
    await environment.run()
    #expect(told.told.last == "error INVALID_PERMISSIONS")
    #expect(folder.names.isEmpty)
    ana.startRecording(webhookUrl: "", awsDirPath: folder.path)  // every participant with a token of this style
    await environment.run()
    #expect(hears.told.contains("recording started"))
    #expect(eva.recordingState == .RECORDING_STARTED)
    eva.stopRecording()
    await environment.run()
    #expect(ana.recordingState == .RECORDING_STARTED)
    ana.leave()
    eva.leave()
    await environment.run()
    let (false1, refused) = environment.meeting("False", id: Convention.recording)
    false1.join()
    await environment.run()
    #expect(refused.told.last == "CLOSED" && !refused.told.contains("in"), "nobody is called as the recorder is")
  }
}
