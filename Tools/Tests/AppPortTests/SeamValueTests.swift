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

    """

  init() throws {
    compilation = try Compilation()
    try #require(try compilation.compile("KoineUIKit", ["Views.swift": Self.views]))
    try #require(try compilation.compile("UIKit", ["UIKit.swift": "@_exported import KoineUIKit\n"]))
    try #require(try compilation.compile("VideoSDKRTC", ["VideoSDKRTC.swift": Self.vendor]))
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
    for (name, text) in [("ModelProtocol.swift", seam.source), ("Main.swift", main)] {
      try text.write(toFile: compilation.path(name), atomically: true, encoding: .utf8)
    }
    let program = compilation.path("program")
    #expect(
      try run(
        compilation.toolchain.compiler.path,
        [
          "-parse-as-library", "-I", compilation.folder, "-o", program,
        ] + ["Model.swift", "View.swift", "ModelProtocol.swift", "Main.swift"].map(compilation.path)
          + ["Views.o", "VideoSDKRTC.o", "UIKit.o"].map(compilation.path)
      ).isEmpty)
    #expect(try run(program, []) == "old\n")
    #expect(try run(program, ["-ModelLayer", "new"]) == "new\n")
    #expect(try run(program, [], ["ModelLayer": "new"]) == "new\n")
    #expect(try run(program, [], ["ModelLayer": "other"]) == "old\n")
  }

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
