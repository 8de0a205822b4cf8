import AppPort
import CompilerFacts
import Foundation
import KoinePorting
import TestSupport
import Testing

/// Plans of small apps, and ports with answers. The new text is compared; Scripts/check-layers compiles a whole app's.
@Suite struct PlanTests {
  private let compilation: Compilation
  private static let vendor = """
    public enum LeaveReason: Int { case manualLeaveCalled, removePeer, removeAll, switchRoom, unknown }
    public protocol MeetingEventListener: AnyObject {
      func onMeetingLeft(reason: LeaveReason); func onIdle(participant: Participant)
      func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void)
    }
    extension MeetingEventListener {
      public func onIdle(participant: Participant) {}
      public func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {}
    }
    public class Participant { public let id = "", displayName = ""; public func enableMic() {}; public func pin() {} }
    public class Meeting {
      public var participants: [String: Participant] { [:] }
      public func leave() {}; public func muteMic() {}; public func startHLS() {}; public func stopHLS() {}
    }
    public class VideoSDK {}
    \((1...14).map { "public class Extra\($0) { public init() {}; public func run() {} }" }.joined(separator: "\n"))

    """

  init() throws {
    compilation = try Compilation(importing: "VideoSDKRTC", Self.vendor)
  }

  private static let model = """
    final class Model: MeetingEventListener {
      var meeting: Meeting?
      var tiles: [Tile] = []
      func stop() { meeting?.leave(); meeting?.muteMic() }
      func ask(_ id: String) {
        meeting?.participants[id]?.enableMic()
      }
      func stream() {
        meeting?.startHLS()
      }
      func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) { accept() }
      func onMeetingLeft(reason: LeaveReason) {
        switch reason {
        case .manualLeaveCalled: print("left")
        case .removePeer: print("removed")
        case .removeAll: print("all removed")
        case .switchRoom, .unknown: print("elsewhere")
        }
      }
    }
    struct Tile { let person: Participant }

    """
  private static let view = "func show(_ model: Model) { for tile in model.tiles { print(tile.person.displayName) } }\n"

  private func compiled(_ model: String, _ view: String) throws -> (app: CompiledApp, facts: TreeDump) {
    try #require(try compilation.compile("App", ["Model.swift": "import VideoSDKRTC\n" + model, "View.swift": view]))
    let files = ["Model.swift", "View.swift"].map(compilation.path)
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    let command = CompileCommand(
      module: "App", files: files, options: ["-parse-as-library", "-I", compilation.folder],
      toolchain: compilation.toolchain)
    let app = try CompiledApp(store, files: files, modules: ["VideoSDKRTC"])
    return (app, try TreeDump(command, toolchain: compilation.toolchain))
  }

  private func layer(
    _ model: String = PlanTests.model, view: String = PlanTests.view, answers: PortAnswers? = nil
  ) throws -> CallLayer {
    let (app, facts) = try compiled(model, view)
    return try CallLayer(of: "Model", in: app, to: .koine, answers: answers) { _ throws(FactsFailure) in facts }
  }

  private func answers(_ answers: KeyValuePairs<String, String>, of plan: PortPlan) -> PortAnswers {
    var all = plan.answers(PortAnswers(type: "Model", to: .koine))
    for index in all.questions.indices {
      if let answer = answers.first(where: { $0.key == all.questions[index].id })?.value {
        all.questions[index].answer = answer
      }
    }
    return all
  }

  @Test func planHasLeaksPortedRowsQuestionsAndWhatHasNoWord() throws {
    let plan = try layer().plan
    #expect(plan.leaks.map(\.symbol) == ["Participant (event listener)"])
    #expect(plan.leaks.first?.places.map(\.line) == [1])
    #expect(plan.mechanical.contains { $0.topic == "leave" && $0.written == 1 })
    #expect(plan.mechanical.contains { $0.topic == "mute the local microphone" && $0.inHelper == 1 })
    #expect(
      plan.questions.map(\.id) == [
        "names", "lost:ask-unmute", "lost:ended", "unknown:Meeting", "case:onMeetingLeft(reason:):EndReason.removed",
      ])
    #expect(plan.noWord.map(\.symbol).contains("Participant.enableMic()"))
    #expect(plan.noWord.map(\.symbol).contains("MeetingEventListener.onMicRequested(participantId:accept:reject:)"))
    #expect(plan.byHand.map(\.symbol) == ["Meeting.startHLS()"])
    #expect(plan.shares.map(\.count).reduce(0, +) == plan.siteCount)
    #expect(plan.shares.map(\.percent).reduce(0, +) == 100)
    #expect(plan.shares.first { $0.share == "asked" }?.count == 1)
  }

  @Test func protocolThatNamesATypeOfTheClassIsNoSeamAndThePlanSaysWhy() throws {
    let model = """
      protocol ModelProtocol: AnyObject { var phase: Model.Phase { get } }
      extension Model: ModelProtocol { enum Phase { case idle }; var phase: Phase { .idle } }

      """
    let layer = try layer(Self.model + model)
    #expect(layer.plan.seam == nil)
    let line = layer.plan.text.split(separator: "\n").first { $0.contains("ModelProtocol") } ?? ""
    #expect(
      line.hasPrefix(
        "The protocol ModelProtocol stands before Model, but names types that each layer has of its own: Model.Phase (")
    )
    #expect(line.hasSuffix("declarations of the app's get a second form."))
    #expect(!layer.plan.text.contains("No protocol that is free of vendor types"))
  }

  @Test func protocolWithAValueForATypeOfTheClassIsASeam() throws {
    let model = Self.model + "extension Model { enum Phase { case idle }; var phase: Phase { .idle } }\n"
    let view = "func show(_ model: Model) { print(model.phase) }\n"
    let (app, facts) = try compiled(model, view)
    let seam = try Seam(of: "Model", in: app) { _ throws(FactsFailure) in facts }
    let layer = try layer(
      model + seam.source, view: "func show(_ model: any ModelProtocol) { print(model.phaseValue) }\n")
    #expect(layer.plan.text.contains("Both layers are behind the protocol ModelProtocol."))
    #expect(layer.source.contains("extension ModelPhaseValue {\n  init(_ value: KoineModel.Phase) {"))
    #expect(layer.source.contains("var phaseValue: ModelPhaseValue { ModelPhaseValue(phase) }"))
  }

  @Test func eachAnswerToEachQuestionLeadsToAnotherFile() throws {
    let plan = try layer().plan
    for question in plan.questions {
      var sources: Set<String> = []
      for option in question.options {
        let answer = option.answer.replacing("CODE", with: "print(1)").replacing("NAME", with: "Studio")
        sources.insert(try layer(answers: answers([question.id: answer], of: plan)).source)
      }
      #expect(question.options.count > 1, "\(question.id)")
      #expect(sources.count == question.options.count, "\(question.id)")
    }
  }

  @Test func defaultAnswersLeadToTheFileWithoutAnswers() throws {
    let first = try layer()
    let second = try layer(answers: answers([:], of: first.plan))
    #expect(first.source == second.source)
    #expect(first.counts.map(\.count) == second.counts.map(\.count))
    #expect(first.plan.questions.allSatisfy { !$0.isAnswered })
    #expect(second.plan.questions.allSatisfy { $0.isAnswered })
    #expect(second.plan.unansweredText == [])
  }

  @Test func lostStatementIsDroppedWarnedOrReplaced() throws {
    let first = try layer()
    #expect(first.source.contains("    // koine port: the common layer has no Participant.enableMic();"))
    let warned = try layer(answers: answers(["lost:ask-unmute": "warn"], of: first.plan))
    #expect(
      warned.source.contains(
        "    #warning(\"PORT 3: the common layer has no Participant.enableMic(); send a message of the app's own\")\n"
          + "    // meeting?.participants[id]?.enableMic()\n"))
    #expect(
      warned.source.contains(
        "  #warning(\"PORT 3: the common layer does not report it; MeetingEventListener.onMicRequested("))
    #expect(warned.count("warned") == first.count("warned").map { $0 + 2 })
    let written = try layer(answers: answers(["lost:ask-unmute": "write: ask(name: id)\nprint(id)"], of: first.plan))
    #expect(written.source.contains("    ask(name: id)\n    print(id)\n    // koine port: the common layer has no "))
    #expect(written.source.contains("  // koine port: the common layer does not report it; "))
    #expect(written.count("asked") == first.count("asked").map { $0 + 2 })
  }

  @Test func warningOfAnUnknownSymbolIsLeftOutIfTheTeamSaysSo() throws {
    let first = try layer()
    #expect(first.source.contains("#warning(\"PORT 3: not known to the common layer: Meeting.startHLS()\")"))
    #expect(first.warnings.count == 1)
    let dropped = try layer(answers: answers(["unknown:Meeting": "drop"], of: first.plan))
    #expect(!dropped.source.contains("#warning"))
    #expect(dropped.source.contains("    // koine port: left out, as answered: Meeting.startHLS()\n"))
    #expect(dropped.warnings == [])
    #expect(dropped.count("warned") == 0)
  }

  @Test func ofTwoCasesWithOneMeaningTheAnsweredOneStays() throws {
    let first = try layer()
    #expect(first.source.contains("case .removed: print(\"removed\")"))
    let id = "case:onMeetingLeft(reason:):EndReason.removed"
    let second = try layer(answers: answers([id: ".removeAll"], of: first.plan))
    #expect(second.source.contains("case .removed: print(\"all removed\")"))
    #expect(second.source.contains("// case .removePeer: print(\"removed\")"))
    #expect(second.plan.questions.first { $0.id == id }?.isAnswered == true)
  }

  @Test func reasonsInThePlanAreThoseOfTheAppAndNoAnswers() throws {
    let plan = try layer(
      Self.model.replacing(
        "func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) { accept() }",
        with: "func onIdle(participant: Participant) {}"
      )
    ).plan
    #expect(!plan.text.contains("as answered"))
    #expect(!plan.text.contains("without a row in the porting table"))
    #expect(plan.text.contains("that the command cannot write"))
    #expect(plan.noWord.contains { $0.instead == "it does nothing there" })
  }

  @Test func casesWithTheSameStatementsAreNotAsked() throws {
    let plan = try layer(Self.model.replacing("print(\"all removed\")", with: "print(\"removed\")")).plan
    #expect(!plan.questions.contains { $0.id.hasPrefix("case:") })
  }

  @Test func newNamesBeginAsAnswered() throws {
    let first = try layer()
    let second = try layer(answers: answers(["names": "Studio"], of: first.plan))
    #expect(second.typeName == "StudioModel")
    #expect(second.source.contains("var tiles: [StudioTile] = []"))
    #expect(second.source.replacing("Studio", with: "Koine") == first.source)
    let model = Self.model + "class Call { var meeting: Meeting? }\n"
    let taken = #expect(throws: FactsFailure.self) {
      try layer(model, answers: answers(["names": "Room"], of: first.plan))
    }
    #expect(taken?.description.hasPrefix("the helper has a type 'RoomCall'") == true)
  }

  @Test func answersHoldOnTheNextCommit() throws {
    let first = try layer()
    let given = answers(["lost:ask-unmute": "write: print(id)", "names": "Studio"], of: first.plan)
    let next = "// a new line\n" + Self.model.replacing("startHLS", with: "stopHLS")
    let second = try layer(next, answers: given)
    #expect(
      second.source.contains("    print(id)\n    // koine port: the common layer has no Participant.enableMic();"))
    // Another symbol of the same type is a new question; the answer about the first has none any more.
    #expect(
      second.plan.unansweredText == [
        "", "Questions without an answer (1)", "  unknown:Meeting: warn, by default", "",
        "Answers without a question (1)", "  unknown:Meeting",
      ])
  }

  @Test func moreThanTenQuestionsAreJoined() throws {
    let calls = (1...14).map { "  func f\($0)() {\n    Extra\($0)().run()\n  }" }.joined(separator: "\n")
    let model = Self.model.replacing("  func stop()", with: calls + "\n  func stop()")
    let first = try layer(model)
    #expect(first.plan.questions.count == 10)
    let others = try #require(first.plan.questions.first { $0.id == "unknown:others" })
    #expect(others.symbols.count > 2)
    #expect(first.plan.questions.contains { $0.symbols.contains("Participant.enableMic()") })
    #expect(first.plan.questions.contains { $0.id.hasPrefix("case:") })
    // An answer about all of them counts for each.
    let second = try layer(model, answers: answers(["unknown:others": "drop"], of: first.plan))
    for symbol in others.symbols where symbol.hasSuffix(".run()") {
      #expect(second.source.contains("// koine port: left out, as answered: \(symbol)\n"), "\(symbol)")
    }
  }

  @Test func fileOfAnswersIsReadBackAndCheckedForItsApp() throws {
    let all = try layer().plan.answers(PortAnswers(type: "Model", to: .koine))
    let file = compilation.path("answers.json")
    try all.json.write(toFile: file, atomically: true, encoding: .utf8)
    #expect(try PortAnswers(file: file, type: "Model", to: .koine) == all)
    let failure = { (text: String) throws -> String? in
      try text.write(toFile: file, atomically: true, encoding: .utf8)
      return #expect(throws: FactsFailure.self) { try PortAnswers(file: file, type: "Model", to: .koine) }?.description
    }
    let entry = { (id: String, answer: String) in "{\"id\":\"\(id)\",\"answer\":\"\(answer)\",\"symbols\":[\"A.b\"]}" }
    let text = { (entries: String) in "{\"type\":\"Model\",\"to\":\"koine\",\"questions\":[\(entries)]}" }
    #expect(try failure("{}")?.contains("is no file of answers") == true)
    #expect(try failure(text("").replacing("Model", with: "Other"))?.contains("are for Other to koine") == true)
    #expect(try failure(text(entry("a", "keep")))?.contains("'keep' is no answer to 'a'") == true)
    #expect(try failure(text(entry("a", "write: ")))?.contains("is no answer to 'a'") == true)
    #expect(try failure(text(entry("a", "drop") + "," + entry("a", "warn")))?.contains("twice") == true)
    let names = "{\"id\":\"names\",\"answer\":\"two words\"}"
    #expect(try failure(text(names))?.contains("cannot begin the names of types") == true)
  }

  @Test func pageIsOneFileWithoutScriptsAndShowsNamesAsTheyAre() throws {
    let html = try layer(
      Self.model.replacing("func ask(_ id: String)", with: "func convert<T>(_ one: T) {}\n  func ask(_ id: String)")
    ).plan.html
    #expect(html.hasPrefix("<!doctype html>"))
    #expect(!html.contains("<script"))
    #expect(!html.contains("http"))
    #expect(html.contains("<code>lost:ask-unmute</code>"))
    #expect(html.contains("<td><code>Participant.enableMic()</code></td><td>send a message of the app's own</td>"))
    #expect(html.components(separatedBy: "<div").count == html.components(separatedBy: "</div>").count)
    #expect(html.components(separatedBy: "<table").count == html.components(separatedBy: "</table>").count)
  }
}
