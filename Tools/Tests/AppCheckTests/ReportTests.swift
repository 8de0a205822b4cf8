import Foundation
import AppCheck
import KoinePorting
import Testing

@Suite struct ReportTests {
  private let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path
  private let source = """
    import VideoSDKRTC
    import Intents
    func f(_ meeting: Meeting) {
      meeting.muteMic()
      meeting.startWhiteboard()
      meeting.startRecording(webhookUrl: "", awsDirPath: nil, config: RecordingConfig(layout: l, theme: .DARK))
    }
    """

  @Test func textReportListsUnsupportedSymbolsFirst() {
    let text = CheckReport(check(source)).text
    #expect(text.hasPrefix("app.swift: event listener; 1 file; "))
    #expect(text.contains("\n\nCannot work (2)\n  app.swift:2:1: import Intents; instead: leave those files out"))
    #expect(
      text.contains(
        "  app.swift:5:11: Meeting.startWhiteboard() is not to be had; whiteboards are pages of the vendor's service"))
    #expect(text.contains("\n  Meeting.muteMic()  app.swift:4"))
  }

  @Test func reportForTargetStyleShowsOnlyRowsThatTheAppUses() {
    let text = CheckReport(check(source), to: .meetingSession).text
    #expect(text.contains("mute the local microphone\n  event listener   Meeting.muteMic()"))
    #expect(text.contains("  meeting session  RealtimeControllerFacade.realtimeLocalMute()"))
    #expect(!text.contains("leave\n"))
    #expect(!text.contains("stage strategy"))
    #expect(check(source).rows.map(\.id) == ["mute", "record"])
  }

  @Test func jsonReportHasProblemsStylesAndRows() throws {
    let json = try CheckReport(check(source), to: .stageStrategy).json
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    #expect(object["canWork"] as? Bool == false && object["styles"] as? [String] == ["event-listener"])
    #expect((object["problems"] as? [[String: Any]])?.compactMap { $0["line"] as? Int } == [2, 5])
    #expect((object["rows"] as? [Any])?.count == 2)
  }

  @Test(arguments: ["/no/such/app", ""]) func missingPathThrowsOneLineError(path: String) {
    let error = #expect(throws: AppSources.Failure.self) { _ = try AppSources(path: path) }
    #expect(error?.description == "there is no file or folder '\(path)'")
  }

  @Test func folderWithoutReadableSourcesThrowsOneLineError() throws {
    let folder = try Folder()
    let empty = #expect(throws: AppSources.Failure.self) { _ = try AppSources(path: folder.path) }
    #expect(empty?.description == "no Swift sources in '\(folder.path)'")
    try Data([0xFF, 0xFE, 0x00]).write(to: URL(fileURLWithPath: folder.file("a.swift")))
    #expect(throws: AppSources.Failure.self) { _ = try AppSources(path: folder.path) }
  }

  /// The tests that name every symbol, and the samples, which are compiled here.
  @Test(arguments: [
    ("Tests/Symbols/Code", 900),
    ("Samples/koine-call-agent", 30), ("Samples/koine-event-listener", 20), ("Samples/koine-meeting-session", 20),
    ("Samples/koine-stage-strategy", 20), ("Tests/Porting/Examples", 80),
  ]) func symbolTestsAndSamplesHaveNoProblems(path: String, count: Int) throws {
    let check = AppCheck(try AppSources(path: root + "/" + path), path: path)
    let problems = check.problems.filter { !$0.what.hasSuffix("has no 'session' here") }  // the samples' own way in
    #expect(problems.map { "\($0.location): \($0.what)" } == [])
    #expect(check.symbols.count >= count, "\(check.symbols.count)")
  }

  @Test func excludedFileIsNeitherReportedNorCopied() throws {
    let check = AppCheck(try AppSources(path: root + "/Tests/Consumer/TeaTime"), path: "TeaTime")
    #expect(!check.changes.isEmpty)
    #expect(check.changes.allSatisfy { $0.location.file.hasSuffix("AppDelegate.swift") }, "\(check.changes)")
    let built = try AppSources(path: root + "/Tests/Consumer/TeaTime/", excluding: ["AppDelegate.swift"])
    #expect(AppCheck(built, path: "TeaTime").changes.isEmpty)
    #expect(LinuxCopy(built).files.count == check.fileCount - 1)
    let error = #expect(throws: AppSources.Failure.self) {
      _ = try AppSources(path: root + "/Tests/Consumer/TeaTime", excluding: ["Nothing.swift"])
    }
    #expect(error?.description.hasPrefix("there is no 'Nothing.swift' in") == true)
  }
}
