import CompilerFacts
import Foundation
import TestSupport
import Testing

/// The facts of the compiler's JSON format on which `TreeDump` relies. A compiler that changes one of them fails the test with its name.
@Suite struct TreeDumpTests {
  private let compilation: Compilation
  private static let source = """
    @propertyWrapper struct Kept<Value> {
      var wrappedValue: Value
      var projectedValue: [Value] { [wrappedValue] }
    }
    @MainActor class Model {
      @Kept private(set) var state = "idle"
      fileprivate var count = [1]
      nonisolated func answer(_ yes: Bool) -> String? { yes ? "yes" : nil }
    }
    func use(_ model: Model) { _ = model.answer(true) }

    """

  init() throws { compilation = try Compilation() }

  private func dump(_ files: KeyValuePairs<String, String>) throws -> TreeDump {
    for (name, source) in files {
      try source.write(toFile: compilation.path(name), atomically: true, encoding: .utf8)
    }
    let command = CompileCommand(
      module: "App", files: files.map { compilation.path($0.key) }, options: ["-parse-as-library"],
      toolchain: compilation.toolchain)
    return try TreeDump(command, toolchain: compilation.toolchain)
  }

  private func declarations(_ names: String...) throws -> [TypedDeclaration] {
    try compilation.compile("App", ["App.swift": Self.source])
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    let app = try CompiledApp(store, files: [compilation.path("App.swift")], modules: [])
    let dump = try dump(["App.swift": Self.source])
    return try names.map { name in
      let symbol = try #require(app.files[0].occurrences.first { $0.symbol.name == name }?.symbol, "\(name)")
      return try #require(dump.declaration(symbol.usr), "\(name)")
    }
  }

  @Test func declarationsHaveTheIndexsIdentifierAndAMangledType() throws {
    let found = try declarations("state", "count", "answer(_:)", "Model")
    #expect(found[0].type.mangled == "$sSSD")
    #expect(
      found.map(\.type.description) == [
        "Swift.String", "[Swift.Int]", "(App.Model) -> (Swift.Bool) -> Swift.String?", "App.Model.Type",
      ])
    #expect(found[2].type.names == ["App.Model", "Swift.Bool", "Swift.String"])
  }

  @Test func declarationsHaveTheirAccessLevel() throws {
    #expect(try declarations("state", "count").map(\.access) == [.internal, .fileprivate])
  }

  @Test func mainActorIsAnAttributeAlsoWhereTheTypesAttributeApplies() throws {
    #expect(
      try declarations("Model", "state", "answer(_:)", "use(_:)").map(\.isOnMainActor) == [true, true, false, false])
  }

  @Test func projectedValueIsAPropertyAtTheSamePlace() throws {
    let found = try declarations("state", "count")
    #expect(found[0].projectedType?.description == "[Swift.String]")
    #expect(found[1].projectedType == nil)
  }

  @Test func expressionsHaveTypesBetweenTheOffsetsOfTheirFirstAndLastToken() throws {
    let dump = try dump(["App.swift": Self.source])
    let call = try #require(Self.source.utf8.firstRange(of: "model.answer(true)".utf8))
    let offset = Self.source.utf8.distance(from: Self.source.startIndex, to: call.lowerBound)
    let file = compilation.path("App.swift")
    #expect(dump.expressionType(in: file, from: offset, to: offset + 17)?.description == "Swift.String?")
    #expect(dump.expressionType(in: file, from: offset, to: offset)?.description == "App.Model")
    #expect(dump.expressionType(in: file, from: offset + 1, to: offset + 2) == nil)
  }

  @Test func eachFileOfAModuleIsInTheOutput() throws {
    let dump = try dump([
      "One.swift": "struct One {}\nlet text = \"{\\\"_kind\\\":\\\"source_file\\\",\"\n",
      "Two.swift": "func two() -> One { One() } // warning: \nfunc three() { let unused = 1 }\n",
    ])
    #expect(dump.expressionType(in: compilation.path("Two.swift"), from: 20, to: 24)?.description == "App.One")
  }

  @Test func fileWithAnErrorIsReported() throws {
    let error = #expect(throws: FactsFailure.self) { _ = try dump(["App.swift": "let a: Int = \"\"\n"]) }
    #expect(error?.description.hasPrefix("the module App does not compile, so it has no types:\n") == true)
    #expect(error?.description.contains("App.swift:1:14: error: cannot convert") == true)
  }
}
