import AppCheck
import CompilerFacts
import Foundation
import Testing

/// What `koine check` finds in compiled files by the compiler's index, and does not find, or finds wrongly, by their syntax.
@Suite struct CompiledCheckTests {
  private let compilation: Compilation

  init() throws {
    compilation = try Compilation()
    try compilation.compileVideoSDK()
  }

  private func check(_ source: String) throws -> (index: AppCheck, syntax: AppCheck) {
    let compiles = try compilation.compile("App", ["App.swift": source])
    try #require(compiles)
    let checks = try compilation.check(["App.swift"])
    #expect(checks.index.basis.compiledCount == 1)
    return checks
  }

  @Test func memberOfTheAppsOwnSuperclassIsNotAVendorsSymbol() throws {
    let (index, syntax) = try check(
      """
      import VideoSDKRTC
      class Base<Item> { var startWhiteboard: Item?; func getStats(_ at: Item) {} }
      final class Screen: Base<Int> { let meeting = Meeting() }
      func f(_ all: [String: Screen]) {
        let screens = all.sorted { $0.key < $1.key }.map(\\.value)
        screens[0].getStats(1)
        _ = screens.first.flatMap { one in one.startWhiteboard }
      }
      """)
    #expect(index.canWork)
    #expect(!index.symbols.contains { $0.name.hasPrefix("Participant.") })
    #expect(!syntax.symbols.contains { $0.name == "Participant.displayName" })
  }

  @Test func vendorSymbolIsFoundThroughATypealias() throws {
    let (index, syntax) = try check(
      """
      import VideoSDKRTC
      typealias Room = Meeting
      struct Holder { let room: Room }
      func f(_ holder: Holder) { holder.room.muteMic() }
      """)
    #expect(index.summaries.contains("Meeting.muteMic() works 4"))
    #expect(!syntax.has("Meeting.muteMic()"))
  }

  @Test func vendorSymbolIsFoundThroughAnInferredType() throws {
    let (index, syntax) = try check(
      """
      import VideoSDKRTC
      func pick<T>(_ one: T, _ other: T) -> T { one }
      func f(_ meeting: Meeting) {
        let streams = meeting.participants.values.flatMap { $0.streams.map(\\.value) }
        pick(streams, []).filter { if case .state = $0.kind { true } else { false } }[0].pause()
      }
      """)
    #expect(index.summaries.contains("MediaStream.pause() works 5"))
    #expect(index.summaries.contains("MediaType.state works 5"))
    #expect(!syntax.has("MediaStream.pause()"))
    #expect(!syntax.has("MediaType.state"))
  }

  @Test func overloadIsTheOneThatTheCompilerHasChosen() throws {
    let (index, _) = try check(
      """
      import VideoSDKRTC
      extension Meeting { func join(_ name: String) {} }
      func f(_ meeting: Meeting) {
        let join: (Int) -> Void = meeting.join
        meeting.join("Ana")
        meeting.join()
        join(1)
      }
      """)
    #expect(index.summaries.contains("Meeting.join(cameraPosition:) works 4"))
    #expect(index.summaries.contains("Meeting.join() works 6"))
  }

  @Test func extensionOfTheAppWithAVendorsNameIsTheApps() throws {
    let (index, syntax) = try check(
      """
      import VideoSDKRTC
      typealias Room = Meeting
      extension Room { func startWhiteboard() {} }
      func f(_ meeting: Meeting) { meeting.startWhiteboard() }
      """)
    #expect(index.canWork, "\(index.problems.map(\.what))")
    #expect(!index.symbols.contains { $0.name == "Meeting.startWhiteboard()" })
    #expect(syntax.problems.map(\.what) == ["Meeting.startWhiteboard() is not to be had"])
  }

  @Test func vendorTypeThatIsOnlyInferredIsFound() throws {
    let (index, syntax) = try check(
      """
      import VideoSDKRTC
      final class Model: MeetingEventListener {
        func onMeetingJoined() {}
        func see(_ state: MeetingState) { show(state) { $0 == .CLOSED } }
        func show<T>(_ value: T, _ test: (T) -> Bool) {}
      }
      """)
    #expect(index.summaries.contains("MeetingState.CLOSED works 4"))
    #expect(index.summaries.contains("MeetingEventListener.onMeetingJoined() works 3"))
    #expect(!syntax.has("MeetingState.CLOSED"))
  }

  @Test func callbackThatTheCompilerHasMatchedIsNotReported() throws {
    let (index, syntax) = try check(
      """
      import VideoSDKRTC
      typealias Listener = MeetingEventListener
      class Base: Listener { func onMeetingJoined() {} }
      final class Model: Base { func onMeetingLeft() {} }
      class Other: MeetingEventListener { typealias Nothing = Void; func onMeetingJoined() -> Nothing {} }
      """)
    #expect(index.has("MeetingEventListener.onMeetingJoined()"))
    #expect(index.symbols.first { $0.name == "MeetingEventListener.onMeetingJoined()" }?.places.count == 2)
    #expect(syntax.symbols.first { $0.name == "MeetingEventListener.onMeetingJoined()" }?.places.count == 1)
  }

  @Test func reportSaysWhatTheCheckRestsOn() throws {
    let sound = "import VideoSDKRTC\nfunc f(_ m: Meeting) { m.muteMic() }\n"
    try compilation.compile("App", ["One.swift": sound, "Two.swift": "func two() {}\n"])
    Thread.sleep(forTimeInterval: 0.02)
    try "func two() { thing.startWhiteboard() }\n".write(
      toFile: compilation.folder.file("Two.swift"), atomically: true, encoding: .utf8)
    let (index, syntax) = try compilation.check(["One.swift", "Two.swift"])
    #expect(index.basis.compiledCount == 1)
    let two = compilation.folder.file("Two.swift")
    #expect(index.problems.map(\.what) == ["Meeting.startWhiteboard() is not to be had (by its name)"])
    let lines = CheckReport(index).text.split(separator: "\n")
    #expect(lines[1] == "Read by the compiler's index (\(compilation.folder.file("index"))): 1 of 2 files")
    #expect(lines.contains("  \(two): edited after the build"))
    #expect(CheckReport(syntax).text.contains("\nRead by the sources' syntax: no build was given\n"))
    #expect(try CheckReport(index).json.contains(#""compiled":1"#))
  }

  @Test func storeWithoutTheVendorsModuleIsReported() throws {
    try compilation.compile("App", ["App.swift": "import VideoSDKRTC\n"])
    let units = compilation.folder.file("index") + "/v5/units"
    for unit in try FileManager.default.contentsOfDirectory(atPath: units) where unit.hasPrefix("VideoSDKRTC.o") {
      try FileManager.default.removeItem(atPath: "\(units)/\(unit)")
    }
    let error = #expect(throws: FactsFailure.self) { _ = try compilation.check(["App.swift"]) }
    #expect(error?.description.contains("has nothing of the module VideoSDKRTC") == true)
  }

  /// 10,000 lines, which is a large app's call code.
  @Test func tenThousandLinesAreCheckedWithinThreeSeconds() throws {
    let function = { (number: Int) in
      """
      func f\(number)(_ meeting: Meeting) {
        let person = meeting.localParticipant
        if person.displayName.isEmpty { person.remove() }
        for (_, stream) in person.streams {
          stream.pause()
        }
        meeting.muteMic()
        meeting.leave()
      }

      """
    }
    let files = (0..<10).map { file in
      (
        "File\(file).swift",
        "import VideoSDKRTC\n" + (0..<112).map { function(file * 1_000 + $0) }.joined(separator: "\n")
      )
    }
    for (name, source) in files {
      try source.write(toFile: compilation.folder.file(name), atomically: true, encoding: .utf8)
    }
    let lines = files.map { $0.1.split(separator: "\n", omittingEmptySubsequences: false).count }.reduce(0, +)
    #expect(lines > 10_000)
    let names = files.map(\.0)
    try compilation.compileWritten("App", names)
    // The thread's own time: other tests run beside this one.
    let start = threadSeconds()
    let sources = try compilation.sources(names)
    let build = try AppBuild(
      of: sources.paths, index: compilation.folder.file("index"), toolchain: try Toolchain.current())
    let check = AppCheck(sources, path: "app", build: build)
    let seconds = threadSeconds() - start
    #expect(check.basis.compiledCount == 10)
    #expect(seconds < 3, "\(seconds)")
  }

  private func threadSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
