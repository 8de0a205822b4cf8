import CompilerFacts
import Foundation
import TestSupport
import Testing

@Suite struct IndexStoreTests {
  private let compilation: Compilation

  init() throws { compilation = try Compilation() }

  private func occurrences(of file: String) throws -> [IndexOccurrence] {
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    let unit = try #require(try store.units().first { $0.file == compilation.path(file) })
    return try store.occurrences(in: unit)
  }

  @Test func unitNamesItsModuleSourceAndObject() throws {
    try compilation.compile("Kit", ["Kit.swift": "public class Call {}\n"])
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    let units = try store.units()
    let unit = try #require(units.first)
    #expect(units.count == 1)
    #expect(unit.module == "Kit")
    #expect(unit.file == compilation.path("Kit.swift"))
    #expect(unit.output == compilation.path("Kit.o"))
    #expect(unit.compiler.hasPrefix("swift"))
    #expect(try #require(unit.written).timeIntervalSinceNow > -60)
  }

  @Test func occurrenceHasPlaceRolesAndRelations() throws {
    try compilation.compile(
      "Kit", ["Kit.swift": "public class Call {\n  public init() {}\n  public func hangUp(now: Bool) {}\n}\n"])
    try compilation.compile(
      "App",
      [
        "App.swift": """
        import Kit
        typealias Line = Call
        final class Phone {
          func end(_ line: Line) { line.hangUp(now: true) }
        }
        final class Own: Call {
          override func hangUp(now: Bool) {}
        }
        """
      ])
    let found = try occurrences(of: "App.swift")
    let call = try #require(found.first { $0.roles.contains(.call) && $0.symbol.name == "hangUp(now:)" })
    #expect(call.location == CodeLocation(file: compilation.path("App.swift"), line: 4, column: 33))
    #expect(call.symbol.kind == .method)
    #expect(call.related(.calledBy).map(\.name) == ["end(_:)"])
    #expect(call.related(.receivedBy).map(\.name) == ["Call"])
    let override = try #require(found.first { $0.roles.contains(.definition) && $0.symbol.name == "hangUp(now:)" })
    #expect(override.related(.overrideOf).map(\.usr) == [call.symbol.usr])
    #expect(override.related(.childOf).map(\.name) == ["Own"])
    let base = try #require(found.first { $0.symbol.name == "Call" && $0.location.line == 6 })
    #expect(base.related(.baseOf).map(\.name) == ["Own"])
  }

  @Test func missingStoreIsReported() {
    let error = #expect(throws: FactsFailure.self) {
      _ = try IndexStore(path: compilation.path("nothing"), toolchain: compilation.toolchain)
    }
    #expect(
      error?.description
        == "there is no index store '\(compilation.path("nothing"))'; build the app first: swift build")
  }

  @Test func folderThatIsNoStoreIsReported() {
    let error = #expect(throws: FactsFailure.self) {
      _ = try IndexStore(path: compilation.folder, toolchain: compilation.toolchain)
    }
    #expect(error?.description.contains("is not an index store: it has no folder 'v") == true)
  }

  @Test func storeOfAnotherFormatIsReported() throws {
    try FileManager.default.createDirectory(atPath: compilation.store + "/v1", withIntermediateDirectories: true)
    let error = #expect(throws: FactsFailure.self) {
      _ = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    }
    #expect(error?.description.contains("has the format v1 of another compiler; this toolchain reads v") == true)
  }

  @Test func damagedUnitIsReported() throws {
    try compilation.compile("Kit", ["Kit.swift": "public class Call {}\n"])
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    let folder = compilation.store + "/v5/units"
    let unit = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
    try Data("no unit".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(unit)"))
    let error = #expect(throws: FactsFailure.self) { _ = try store.units() }
    #expect(
      error?.description.hasPrefix("the unit '\(unit)' of the index store") == true, "\(String(describing: error))")
  }

  @Test func missingToolchainAndLibraryAreReported() throws {
    #expect(throws: FactsFailure("there is no Swift compiler: neither KOINE_TOOLCHAIN nor PATH names one")) {
      _ = try Toolchain.current([:])
    }
    try FileManager.default.createDirectory(atPath: compilation.store + "/v5", withIntermediateDirectories: true)
    let empty = Toolchain(folder: URL(fileURLWithPath: compilation.folder))
    let error = #expect(throws: FactsFailure.self) { _ = try IndexStore(path: compilation.store, toolchain: empty) }
    #expect(error?.description.contains("libIndexStore.so cannot be loaded") == true)
  }
}
