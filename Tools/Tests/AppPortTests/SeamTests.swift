import AppPort
import CompilerFacts
import Foundation
import TestSupport
import Testing

/// Seams of small apps against a module under a vendor's name. Each seam is compiled beside its app.
@Suite struct SeamTests {
  private let compilation: Compilation
  private static let vendor = """
    public class Participant { public init() {}; public var displayName: String { "" } }
    public class Meeting { public init() {}; public func leave() {}; public var people: [Participant] { [] } }

    """

  init() throws {
    compilation = try Compilation(importing: "VideoSDKRTC", Self.vendor)
  }

  private func app(_ model: String, _ view: String) throws -> (app: CompiledApp, command: CompileCommand) {
    try #require(try compilation.compile("App", ["Model.swift": model, "View.swift": view]))
    let files = ["Model.swift", "View.swift"].map(compilation.path)
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    let command = CompileCommand(
      module: "App", files: files, options: ["-parse-as-library", "-I", compilation.folder],
      toolchain: compilation.toolchain)
    return (try CompiledApp(store, files: files, modules: ["VideoSDKRTC"]), command)
  }

  private func seam(_ model: String, _ view: String, of type: String = "Model") throws -> Seam {
    let (app, command) = try app(model, view)
    let toolchain = compilation.toolchain
    let seam = try Seam(of: type, in: app) { module throws(FactsFailure) in
      try TreeDump(command, toolchain: toolchain)
    }
    let outcome = try seam.typecheck(beside: command)
    #expect(outcome.succeeded, "\(outcome.errors)\n\(seam.source)")
    return seam
  }

  @Test func onlyMembersThatOtherCodeUsesAreRequired() throws {
    let seam = try seam(
      """
      import VideoSDKRTC
      final class Model {
        var name = "Ana", count = [1: "one"]
        private let meeting = Meeting()
        func leave() { meeting.leave(); finish() }
        func finish() {}
        func load(from url: String) async throws -> [String] { [] }
        func convert<Item: Hashable>(_ item: Item) -> Item where Item: Sendable { item }
      }
      extension Model { var title: String { name } }
      """,
      """
      typealias Shown = Model
      func show(_ model: Shown) async throws {
        model.name = "Bea"
        _ = (model.count, model.title, model.convert(1))
        _ = try await model.load(from: "a")
        model.leave()
      }
      """)
    #expect(
      seam.requirements == [
        "var name: String { get set }", "var count: [Int: String] { get }", "func leave()",
        "func load(from url: String) async throws -> [String]",
        "func convert<Item: Hashable>(_ item: Item) -> Item where Item: Sendable", "var title: String { get }",
      ])
    #expect(seam.inexpressible == [])
    #expect(seam.source.contains("protocol ModelProtocol: AnyObject {"))
    #expect(seam.source.contains("\nextension Model: ModelProtocol {}\n"))
  }

  @Test func overloadsAreRequiredAsTheCompilerHasChosenThem() throws {
    let seam = try seam(
      "final class Model { func send(_ text: String) {}; func send(_ number: Int) {} }",
      "func show(_ model: Model) { model.send(3) }")
    #expect(seam.requirements == ["func send(_ number: Int)"])
  }

  @Test func typesInsideTheClassHaveTheirWholeNamesAndTheMainActorStays() throws {
    let seam = try seam(
      """
      @MainActor final class Model {
        enum Phase { case idle, busy }
        private(set) var phase: Phase = .idle
        var last = Phase.idle
        func set(_ phases: [Phase?], then: @escaping @MainActor (Phase) -> Void) {}
        nonisolated func id() -> Int { 1 }
      }
      """,
      "@MainActor func show(_ m: Model) { m.set([m.phase, m.last]) { _ in }; _ = m.id() }")
    #expect(
      seam.requirements == [
        "var phase: Model.Phase { get }", "var last: Model.Phase { get }",
        "func set(_ phases: [Model.Phase?], then: @escaping @MainActor (Model.Phase) -> Void)",
        "nonisolated func id() -> Int",
      ])
    #expect(seam.source.contains("@MainActor\nprotocol ModelProtocol"))
  }

  @Test func defaultArgumentsStayUsable() throws {
    let seam = try seam(
      "final class Model { func join(_ room: String, muted: Bool = true) throws -> Int { 1 } }",
      "func show(_ model: Model) throws { _ = try model.join(\"a\") }")
    #expect(seam.source.contains("func join(_ room: String) throws -> Int { try join(room, muted: true) }"))
  }

  @Test func projectedValueHasANameOfItsOwn() throws {
    let seam = try seam(
      """
      @propertyWrapper struct Kept<Value> {
        var wrappedValue: Value
        var projectedValue: [Value] { [wrappedValue] }
      }
      final class Model { @Kept var state = "idle" }
      """,
      "func show(_ model: Model) { _ = model.$state }")
    #expect(seam.requirements == ["var stateProjection: [String] { get }"])
    #expect(seam.source.contains("var stateProjection: [String] { $state }"))
    #expect(seam.inexpressible.first?.contains("it is 'stateProjection' there; ") == true)
    #expect(seam.inexpressible.first?.hasSuffix("View.swift:1") == true)
  }

  @Test func memberOfTheAppsOwnSuperclassIsRequired() throws {
    let seam = try seam(
      "class Base { func refresh() {} }\nfinal class Model: Base { func leave() {} }",
      "func show(_ model: Model?, _ other: Base) { model?.refresh(); model?.leave(); other.refresh() }")
    #expect(seam.requirements == ["func refresh()", "func leave()"])
  }

  @Test func usesThatAProtocolCannotExpressHavePlacesAndReasons() throws {
    let seam = try seam(
      """
      final class Model {
        static let topic = "chat"
        init(name: String) {}
        func all() -> some Sequence<Int> { [1] }
        static func == (one: Model, other: Model) -> Bool { true }
        struct Row {}
      }
      """,
      """
      func show() {
        let model = Model(name: Model.topic)
        _ = model.all()
        _ = model == model
        _ = Model.Row()
      }
      """)
    let view = compilation.path("View.swift")
    #expect(
      seam.inexpressible == [
        "topic: other code names it by Model, not by a value; \(view):2",
        "init(name:): it makes an object of the class: choose the layer at this place; \(view):2",
        "all(): its result has an opaque type ('some Sequence<Int>'); \(view):3",
        "==(_:_:): it is an operator, which has parameters of the class itself; \(view):4",
        "Row: it is a type inside the class: other layers name it as Model.Row; \(view):5",
      ])
    #expect(seam.requirements == ["static var topic: String { get }"])
  }

  @Test func vendorTypesThatLeakHaveTheirWayAndPlaces() throws {
    let seam = try seam(
      """
      import VideoSDKRTC
      struct Tile { let person: Participant; let title: String }
      final class Model {
        private let meeting = Meeting()
        var tiles: [Tile] { meeting.people.map { Tile(person: $0, title: "") } }
        var first = Optional<Participant>.none
      }
      """,
      """
      func show(_ model: Model) {
        for tile in model.tiles { print(tile.title, tile.person.displayName) }
        _ = model.first
      }
      """)
    let view = compilation.path("View.swift")
    #expect(
      seam.leaks == [
        "Participant (event listener) by Model.tiles, Tile.person; \(view):2",
        "Participant (event listener) by Model.first; \(view):3",
      ])
    #expect(
      seam.requirements == ["var tilesValue: [TileValue] { get }", "var firstValue: ParticipantValue? { get }"])
    #expect(seam.source.contains("struct TileValue {\n  let person: ParticipantValue\n  let title: String\n}"))
    #expect(seam.source.contains("struct ParticipantValue {\n  let displayName: String\n}"))
    #expect(seam.source.contains("  var tilesValue: [TileValue] { tiles.map { TileValue($0) } }"))
    #expect(
      seam.inexpressible == [
        "tiles: it shows vendor types; it is 'tilesValue' there; \(view):2",
        "first: it shows vendor types; it is 'firstValue' there; \(view):3",
      ])
  }

  @Test func unsuitableTypesAreReported() throws {
    let (app, command) = try app(
      """
      class Model {}
      struct Values {}
      final class Taken { func leave() {} }
      protocol TakenProtocol {}
      """, "func show(_ model: Model, _ taken: Taken) { taken.leave() }\n")
    let toolchain = compilation.toolchain
    for (name, message) in [
      ("Nothing", "there is no type 'Nothing' in the compiled files"),
      ("Values", "'Values' is not a class; a seam is for the class that owns the calls"),
      ("Model", "no other code uses a member of 'Model'"),
      ("Taken", "choose another name with --name"),
    ] {
      let error = #expect(throws: FactsFailure.self) {
        _ = try Seam(of: name, in: app) { _ throws(FactsFailure) in try TreeDump(command, toolchain: toolchain) }
      }
      #expect(error?.description.hasSuffix(message) == true)
    }
  }

  @Test func callSitesAreCountedOnceForEachPlace() throws {
    let (app, _) = try app(
      "import VideoSDKRTC\ntypealias Room = Meeting\nlet room = Room()\nlet other = Meeting()\n",
      "func show() { room.leave(); room.people.forEach { print($0.displayName) } }\n")
    let sites = VendorSites(app)
    #expect(
      sites.sites.map(\.symbol) == [
        "Meeting", "Meeting.init()", "Meeting.init()", "Meeting.leave()", "Meeting.people", "Participant.displayName",
      ])
    let text = sites.text(for: "app").split(separator: "\n")
    #expect(text.first == "app: 6 call sites: 6 of event listener; 2 of 2 files compiled")
    #expect(text.contains("  2  Meeting.init()"))
  }
}
