import AppPort
import CompilerFacts
import Foundation
import TestSupport
import Testing

/// Values in place of vendor types, and two layers of two vendors behind one seam. Each text is compiled.
@Suite struct SeamValueTests {
  private let compilation: Compilation
  private static let views = "open class UIView { public init() {}; public var isHidden = false }\n"
  private static let vendor = """
    public import KoineUIKit
    public enum CallState { case ringing, connected, ended }
    public class Participant { public init() {}; public var displayName: String { "" }; public func mute() {} }
    public class RTCVideoTrack { public init() {}; public func add(_ view: RTCMTLVideoView) {} }
    public class RTCMTLVideoView: UIView { public init(frame: Int?) {} }
    extension Optional where Wrapped == Int { public static var zero: Int? { 0 } }
    public class RendererView: UIView {}
    public protocol VideoRenderView: AnyObject {}
    public final class PlainRenderView: UIView, VideoRenderView { public init(frame: Int?) {} }
    public class Descriptor { public var urn: String { "" } }
    public class Device { public func descriptor() -> Descriptor { Descriptor() } }
    public class StageStream { public var device: Device { Device() }; public var isMuted: Bool { true } }

    """
  /// As much of Combine as the seams use.
  private static let combine = """
    public struct AnyPublisher<Output, Failure: Error> {
      public let value: Output
      public func eraseToAnyPublisher() -> Self { self }
    }
    @propertyWrapper public struct Published<Value> {
      public struct Publisher {
        let value: Value
        public func map<Other>(_ change: (Value) -> Other) -> AnyPublisher<Other, Never> { .init(value: change(value)) }
      }
      public var wrappedValue: Value
      public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
      public var projectedValue: Publisher { Publisher(value: wrappedValue) }
    }

    """

  init() throws {
    compilation = try Compilation()
    try #require(try compilation.compile("KoineUIKit", ["Views.swift": Self.views]))
    try #require(try compilation.compile("UIKit", ["UIKit.swift": "@_exported import KoineUIKit\n"]))
    try #require(try compilation.compile("VideoSDKRTC", ["VideoSDKRTC.swift": Self.vendor]))
    try #require(try compilation.compile("Combine", ["Combine.swift": Self.combine]))
    // A second vendor; some of its types have the names of the first one's.
    let other = "public class Participant { public init() {}; public var userId: String { \"\" } }\n"
    try #require(
      try compilation.compile(
        "AmazonIVSBroadcast",
        ["IVS.swift": other + "public class IVSStage { public init() {}; public func leave() {} }\n"]))
  }

  private func command(_ files: [String]) -> CompileCommand {
    CompileCommand(
      module: "App", files: files.map(compilation.path), options: ["-parse-as-library", "-I", compilation.folder],
      toolchain: compilation.toolchain)
  }

  private func seam(_ model: String, _ view: String, of type: String = "Model") throws -> Seam {
    try #require(
      try compilation.compile(
        "App",
        [
          "Model.swift": "import UIKit\nimport VideoSDKRTC\n" + model,
          "View.swift": "import UIKit\nimport VideoSDKRTC\n" + view,
        ]))
    let files = ["Model.swift", "View.swift"]
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    let app = try CompiledApp(store, files: files.map(compilation.path), modules: ["VideoSDKRTC"])
    let (command, toolchain) = (command(files), compilation.toolchain)
    let seam = try Seam(of: type, in: app) { _ throws(FactsFailure) in try TreeDump(command, toolchain: toolchain) }
    let outcome = try seam.typecheck(beside: command)
    #expect(outcome.succeeded, "\(outcome.errors)\n\(seam.source)")
    return seam
  }

  @Test func videoBecomesWhatMakesAViewAndAViewStaysOne() throws {
    let seam = try seam(
      """
      struct Tile: Equatable {
        let name: String
        let track: RTCVideoTrack?
        var isEmpty: Bool { track == nil }
        static func == (one: Tile, other: Tile) -> Bool { one.name == other.name }
      }
      final class Model {
        private(set) var tiles: [String: Tile] = [:]
        var preview: RendererView?
      }
      """,
      """
      func show(_ model: Model) {
        for tile in model.tiles.values where !tile.isEmpty { tile.track?.add(RTCMTLVideoView(frame: 0)) }
        model.preview.map { $0.isHidden = false }
      }
      """)
    #expect(
      seam.requirements == ["var tilesValue: [String: TileValue] { get }", "var previewValue: UIView? { get }"])
    #expect(
      seam.source.contains(
        "struct TileValue: Equatable {\n  let name: String\n  let track: VideoValue?\n  let isEmpty: Bool\n}"))
    #expect(seam.source.contains("import UIKit\n"))
    #expect(seam.source.contains("{ tiles.mapValues { TileValue($0) } }"))
  }

  @Test func casesWithVendorValuesBecomeCasesOfTheAppsOwn() throws {
    let seam = try seam(
      """
      final class Model {
        enum Phase: Equatable { case idle, inCall(CallState), failed(code: Int, [Int]) }
        var phase: Phase { .inCall(.ringing) }
      }
      """, "func show(_ model: Model) { if case .inCall(.ended) = model.phase { print(1) } }\n")
    #expect(seam.requirements == ["var phaseValue: ModelPhaseValue { get }"])
    #expect(seam.source.contains("enum CallStateValue {\n  case ringing\n  case connected\n  case ended\n}"))
    #expect(
      seam.source.contains(
        "enum ModelPhaseValue: Equatable {\n  case idle\n  case inCall(CallStateValue)\n  case failed(code: Int, [Int])\n}"
      ))
  }

  @Test func typeInsideTheClassIsCopiedWithItsCode() throws {
    let seam = try seam(
      """
      import Combine
      final class Model {
        enum Status: String, CaseIterable {
          case idle, live
          /// What a label shows.
          var title: String {
            self == Status.idle ? "Idle" : rawValue
          }
        }
        indirect enum Ending: Equatable { case left, failed(code: Int, [String]) }
        struct Settings { var isLoud = true; let name: String }
        @Published var status: Status = .idle
        var mode = Status.live
        var ending: Ending { .left }
        let meeting = Participant()
        func change(_ settings: Settings, _ status: Status?) -> Settings { settings }
      }
      extension Model.Status { var next: Model.Status { .live } }
      """,
      """
      import Combine
      func show(_ model: Model) {
        _ = model.$status
        model.mode = .idle
        if model.ending != .left { print(model.status.title, model.status.next, Model.Status.allCases.count) }
        var settings = model.change(Model.Settings(name: "a"), model.status)
        settings.isLoud = false
      }
      """)
    #expect(
      seam.requirements == [
        "var statusValue: ModelStatusValue { get }",
        "var statusValuePublisher: AnyPublisher<ModelStatusValue, Never> { get }",
        "var modeValue: ModelStatusValue { get set }", "var endingValue: ModelEndingValue { get }",
        "func change(_ settings: ModelSettingsValue, _ status: ModelStatusValue?) -> ModelSettingsValue",
      ])
    #expect(
      seam.source.contains(
        """
        enum ModelStatusValue: String, CaseIterable {
          case idle, live
          /// What a label shows.
          var title: String {
            self == ModelStatusValue.idle ? "Idle" : rawValue
          }
        }

        extension ModelStatusValue { var next: ModelStatusValue { .live } }
        """))
    #expect(
      seam.source.contains("indirect enum ModelEndingValue: Equatable { case left, failed(code: Int, [String]) }"))
    #expect(seam.source.contains("case .failed(let value0, let value1): self = .failed(code: value0, value1)"))
    #expect(seam.source.contains("struct ModelSettingsValue { var isLoud = true; let name: String }"))
    let protocolText = try #require(
      seam.source.components(separatedBy: "\nprotocol ").last?.components(separatedBy: "\n}").first)
    #expect(!protocolText.contains("Model."))
    let places = seam.inexpressible.map { $0.components(separatedBy: "; ")[..<2].joined(separator: "; ") }
    #expect(places.contains("status: its type is inside Model; it is 'statusValue' and 'statusValuePublisher' there"))
    #expect(places.contains("Status: it is a type inside the class; it is 'ModelStatusValue' there"))
  }

  @Test func defaultArgumentsOfReplacedMethodsStayUsable() throws {
    let seam = try seam(
      """
      final class Model {
        enum Mode { case loud, quiet; static let usual = Mode.loud }
        let meeting = Participant()
        @discardableResult func join(_ room: String, as mode: Mode = .quiet, again: Bool = false) throws -> Mode { mode }
        func set(_ mode: Mode = Mode.usual) {}
      }
      """,
      "func show(_ model: Model) throws { try model.join(\"a\"); try model.join(\"a\", as: .loud, again: true); model.set() }\n"
    )
    #expect(
      seam.source.contains(
        "@discardableResult func join(_ room: String) throws -> ModelModeValue { try join(room, as: .quiet, again: false) }"
      ))
    #expect(
      seam.requirements == [
        "@discardableResult func join(_ room: String, as mode: ModelModeValue, again: Bool) throws -> ModelModeValue",
        "func set(_ mode: ModelModeValue)",
      ])
    #expect(
      seam.inexpressible.last
        == "set(_:): a default argument names what each layer has for itself: write the argument there; "
        + "\(compilation.path("View.swift")):3")
    let main = """
      @main enum Start {
        static func main() throws {
          let model: any ModelProtocol = Model()
          try model.join("a")
          print(try model.join("a"))
        }
      }

      """
    #expect(try run(main, with: seam) == "quiet\n")
  }

  @Test func copiedTypeThatOtherCodeMakesComesBack() throws {
    let seam = try seam(
      "final class Model { enum Mode { case loud, quiet }; var mode: Mode = .loud; let own = Participant() }",
      "func show(_ model: Model) { model.mode = .quiet }\n")
    let main = """
      @main enum Start {
        static func main() {
          let model: any ModelProtocol = Model()
          model.modeValue = .quiet
          print(model.modeValue, (model as! Model).mode)
        }
      }

      """
    #expect(try run(main, with: seam) == "quiet quiet\n")
  }

  @Test func typeInsideTheClassThatShowsTheVendorKeepsItsCasesAndNamesWhatItLacks() throws {
    let seam = try seam(
      """
      final class Model {
        enum Phase { case idle, inCall(CallState); var title: String { "" }; static let first = Phase.idle }
        var phase: Phase { .idle }
      }
      """, "func show(_ model: Model) { print(model.phase.title, Model.Phase.first) }\n")
    #expect(seam.source.contains("enum ModelPhaseValue {\n  case idle\n  case inCall(CallStateValue)\n}"))
    let view = compilation.path("View.swift")
    #expect(seam.inexpressible.contains("Model.Phase.title: an enum has no place for what it returns; \(view):3"))
    #expect(seam.inexpressible.contains("Model.Phase.first: it is static; \(view):3"))
  }

  @Test func resultOfTheAppsOwnCodeNeedsNoValueForTheObjectsInIt() throws {
    let seam = try seam(
      """
      struct Viewer {
        var streams: [StageStream] = []
        var video: StageStream? { streams.first }
        var videoID: String? { video?.device.descriptor().urn }
      }
      final class Model { var viewers: [Viewer] { [Viewer()] } }
      """, "func show(_ model: Model) { for viewer in model.viewers { print(viewer.videoID ?? \"\") } }\n")
    #expect(seam.requirements == ["var viewersValue: [ViewerValue] { get }"])
    #expect(seam.source.contains("struct ViewerValue {\n  let videoID: String?\n}"))
    #expect(!seam.source.contains("StageStreamValue"))
    #expect(!seam.source.contains("DeviceValue"))
    #expect(seam.leaks == [])
  }

  @Test func valueHasOnlyWhatOtherCodeReads() throws {
    let seam = try seam(
      """
      struct Viewer: Identifiable {
        let id: String
        let name: String
        var isLocal = false
        var streams: [StageStream] = []
        let first: StageStream?
      }
      struct Row: Hashable {
        let name: String
        let number: Int
        let stream: Set<String>
        var video: Track?
        struct Track: Hashable {
          let track: RTCVideoTrack
          static func == (one: Track, other: Track) -> Bool { one.track === other.track }
          func hash(into hasher: inout Hasher) {}
        }
      }
      final class Model {
        var viewers: [Viewer] { [] }
        var rows: Set<Int> { Set(row.map(\\.number)) }
        var row: [Row] { [] }
        func log() { print(viewers.map { ($0.isLocal, $0.streams) }) }
      }
      """,
      """
      func show(_ model: Model) {
        print(model.viewers.map { ($0.name, $0.first?.isMuted ?? true) }, model.rows, model.row.map(\\.name))
      }
      """)
    #expect(
      seam.source.contains(
        "struct ViewerValue: Identifiable {\n  let id: String\n  let name: String\n  let first: StageStreamValue?\n}"))
    #expect(seam.source.contains("struct StageStreamValue {\n  let isMuted: Bool\n}"))
    // Comparisons read the stored properties, except for those with the vendor's objects.
    #expect(
      seam.source.contains(
        "struct RowValue: Hashable {\n  let name: String\n  let number: Int\n  let stream: Set<String>\n}"))
  }

  @Test func objectIdentifierOfAValueIsThatOfTheLayersObject() throws {
    let seam = try seam(
      """
      struct Viewer { let name: String; let video: StageStream? }
      final class Model { var viewers: [Viewer] { [] } }
      """,
      """
      func show(_ model: Model) -> [ObjectIdentifier?] {
        model.viewers.map { viewer in viewer.video.map { ObjectIdentifier($0) } }
      }
      """)
    #expect(
      seam.source.contains("struct StageStreamValue {\n  /// The layer's own object.\n  let original: Any\n}"))
    #expect(seam.source.contains("  init(_ value: StageStreamValue) { self.init(value.original as AnyObject) }"))
  }

  @Test func valuesCompareWhatCanBeCompared() throws {
    let seam = try seam(
      """
      struct Tile: Hashable {
        let name: String
        let person: Participant?
        let track: RTCVideoTrack?
        static func == (one: Tile, other: Tile) -> Bool { one.name == other.name }
        func hash(into hasher: inout Hasher) { hasher.combine(name) }
      }
      final class Model { var tiles: [Tile] { [Tile(name: "Ana", person: nil, track: nil)] } }
      """,
      "func show(_ model: Model) { for tile in model.tiles { print(tile.person?.displayName ?? tile.name, tile.track as Any) } }\n"
    )
    #expect(
      seam.source.contains(
        """
          static func == (one: Self, other: Self) -> Bool {
            if one.name != other.name { return false }
            if one.track != other.track { return false }
            return true
          }

          func hash(into hasher: inout Hasher) {
            hasher.combine(name)
          }
        }
        """))
  }

  @Test func methodsOfAValueCallTheLayersOwn() throws {
    let seam = try seam(
      """
      struct Viewer: Equatable {
        let name: String
        let stream: Participant?
        static func == (one: Viewer, other: Viewer) -> Bool { one.name == other.name }
        func makePreview() -> UIView? { stream == nil ? nil : RendererView() }
        func title(of number: Int, _ isShort: Bool = true) throws -> String { isShort ? name : "\\(name) \\(number)" }
        @discardableResult func load(_ done: @escaping (Int) -> Void) async -> Bool { done(1); return true }
        func track() -> Participant? { stream }
        func add(_ number: inout Int) { number += 1 }
        func unused() {}
        mutating func rename() {}
        func convert<Item>(_ item: Item) -> Item { item }
      }
      final class Model { var viewers: [Viewer] { [Viewer(name: "Ana", stream: nil)] } }
      """,
      """
      func show(_ model: Model) async throws {
        for var viewer in model.viewers {
          _ = (viewer.makePreview(), try viewer.title(of: 1), viewer.track()?.displayName)
          await viewer.load { print($0) }
          var number = 1
          viewer.add(&number)
          viewer.rename()
          print(viewer.convert(number))
        }
      }
      """)
    #expect(
      seam.source.contains(
        """
        struct ViewerValue: Equatable {
          let name: String
          let makePreview: () -> UIView?
          /// What `title(of:_:)` calls.
          let titleOf: (Int, Bool) throws -> String
          /// What `load(_:)` calls.
          let loadCall: (@escaping (Int) -> Void) async -> Bool
          let track: () -> ParticipantValue?
          /// What `add(_:)` calls.
          let addCall: (inout Int) -> Void

          func title(of number: Int, _ isShort: Bool = true) throws -> String { try titleOf(number, isShort) }

        """))
    #expect(!seam.source.contains("unused"))
    let view = compilation.path("View.swift")
    #expect(seam.inexpressible.contains("Viewer.rename(): it changes the value; \(view):9"))
    #expect(seam.inexpressible.contains("Viewer.convert(_:): it is generic; \(view):10"))
    let main = """
      @main enum Start {
        static func main() async throws {
          let model: any ModelProtocol = Model()
          let viewer = model.viewersValue[0]
          var number = 1
          viewer.add(&number)
          let done = await viewer.load { print($0) }
          print(try viewer.title(of: 7), try viewer.title(of: 7, false), viewer.makePreview() == nil, number, done)
          print(viewer == model.viewersValue[0])
        }
      }

      """
    #expect(try run(main, with: seam) == "1\nAna Ana 7 true 2 true\ntrue\n")
  }

  @Test func argumentsComeBackAsTheLayersOwn() throws {
    let seam = try seam(
      """
      struct Tile { let number: Int; let person: Participant }
      final class Model {
        var tiles: [Tile] { [] }
        func title(of tile: Tile, short: Bool) throws -> String { "" }
        func bind(_ view: VideoRenderView, to tile: Tile?) {}
      }
      """,
      """
      func show(_ model: Model) throws {
        for tile in model.tiles {
          model.bind(PlainRenderView(frame: 0), to: tile)
          print(tile.number, tile.person.displayName, try model.title(of: tile, short: true))
        }
      }
      """)
    #expect(
      seam.requirements == [
        "var tilesValue: [TileValue] { get }", "func title(of tile: TileValue, short: Bool) throws -> String",
        "func bind(_ view: UIView, to tile: TileValue?)", "@MainActor func makeVideoView() -> UIView",
      ])
    #expect(seam.source.contains("{ try title(of: (tile.original as! Tile), short: short) }"))
    #expect(seam.source.contains("func makeVideoView() -> UIView { PlainRenderView(frame: .zero) }"))
  }

  @Test func membersThatCannotBeReplacedStayWithTheReason() throws {
    let seam = try seam(
      """
      final class Board { var people: [Participant] = [] }
      final class Model {
        let board = Board()
        var chosen: Participant?
        var all: [Participant] { [] }
      }
      """,
      """
      func show(_ model: Model) {
        print(model.board.people)
        model.chosen = nil
        model.all.first?.mute()
      }
      """)
    #expect(
      seam.requirements == [
        "var board: Board { get }", "var chosen: Participant? { get set }", "var all: [Participant] { get }",
      ])
    #expect(seam.report.contains("Members that still show vendor types (3)"))
    #expect(seam.report.contains("board: Board is an object of its own"))
    #expect(seam.report.contains("chosen: other code sets it"))
    #expect(seam.report.contains("all: other code calls Participant.mute()"))
  }

  @Test func objectWithASeamOfItsOwnIsSeenThroughIt() throws {
    let seam = try seam(
      """
      protocol BoardProtocol: AnyObject { var count: Int { get } }
      final class Board: BoardProtocol { var count = 0; var people: [Participant] = [] }
      final class Model { let board = Board() }
      """, "func show(_ model: Model) { print(model.board.people) }\n")
    #expect(seam.requirements == ["var boardValue: (any BoardProtocol) { get }"])
  }

  @Test func namesThatTheAppHasAreReported() throws {
    let error = #expect(throws: FactsFailure.self) {
      try seam(
        "struct ParticipantValue {}\nfinal class Model { var all: [Participant] { [] } }",
        "func show(_ model: Model) { _ = model.all.first?.displayName }\n")
    }
    #expect(error?.description == "the app has a type 'ParticipantValue', which the seam needs")
  }

  @Test func layersOfTwoVendorsStandBehindOneSeamInOneModule() throws {
    let seam = try seam(
      """
      final class Model {
        private let people = [Participant()]
        var all: [Participant] { people }
        func leave() {}
      }
      """, "func show(_ model: Model) { print(model.all.map(\\.displayName)); model.leave() }\n")
    // A file with both vendors; equal names are qualified.
    let second = """
      import AmazonIVSBroadcast
      import VideoSDKRTC
      final class StageModel: ModelProtocol {
        private let stage = IVSStage(), own = AmazonIVSBroadcast.Participant()
        var allValue: [ParticipantValue] { [ParticipantValue(displayName: own.userId)] }
        func leave() { stage.leave() }
      }
      func convert(_ old: VideoSDKRTC.Participant) -> ParticipantValue { ParticipantValue(old) }
      func start() -> any ModelProtocol { ModelLayer.make(old: Model(), new: StageModel()) }

      """
    for (name, text) in [("ModelProtocol.swift", seam.source), ("StageModel.swift", second)] {
      try text.write(toFile: compilation.path(name), atomically: true, encoding: .utf8)
    }
    let outcome = try command(["Model.swift", "View.swift", "ModelProtocol.swift", "StageModel.swift"]).typecheck()
    #expect(outcome.succeeded, "\(outcome.errors)")
    // The protocol and its values name no vendor's type: the conversions do.
    let front = try #require(seam.source.components(separatedBy: "\nextension Model").first)
    #expect(!front.contains("Participant]"))
  }

  @Test func flagChoosesTheLayerAtTheStart() throws {
    let seam = try seam(
      "final class Model { func name() -> String { \"old\" } }", "func show(_ model: Model) { print(model.name()) }\n")
    let main = """
      final class Second: ModelProtocol { func name() -> String { "new" } }
      @main enum Start { static func main() { print(ModelLayer.make(old: Model(), new: Second()).name()) } }

      """
    let program = try build(main, with: seam)
    #expect(try run(program, []) == "old\n")
    #expect(try run(program, ["-ModelLayer", "new"]) == "new\n")
    #expect(try run(program, [], ["ModelLayer": "new"]) == "new\n")
    #expect(try run(program, [], ["ModelLayer": "other"]) == "old\n")
  }

  /// A program of the app, its seam and a main file.
  private func build(_ main: String, with seam: Seam) throws -> String {
    for (name, text) in [("ModelProtocol.swift", seam.source), ("Main.swift", main)] {
      try text.write(toFile: compilation.path(name), atomically: true, encoding: .utf8)
    }
    let program = compilation.path("program")
    let sources = ["Model.swift", "View.swift", "ModelProtocol.swift", "Main.swift"]
    let objects = ["Views.o", "VideoSDKRTC.o", "UIKit.o", "Combine.o"]
    let errors = try run(
      compilation.toolchain.compiler.path,
      ["-parse-as-library", "-I", compilation.folder, "-o", program] + (sources + objects).map(compilation.path))
    #expect(errors.isEmpty, "\(errors)")
    return program
  }

  private func run(_ main: String, with seam: Seam) throws -> String { try run(try build(main, with: seam), []) }

  private func run(_ program: String, _ arguments: [String], _ environment: [String: String] = [:]) throws -> String {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: output, as: UTF8.self)
  }
}
