import CompilerFacts
import Foundation
import TestSupport
import Testing

@Suite struct CompiledAppTests {
  private let compilation: Compilation

  init() throws {
    compilation = try Compilation()
    try compilation.compile(
      "Kit",
      [
        "Kit.swift": """
        public protocol CallDelegate { func callDidEnd() }
        open class Call { public init() {}; open func hangUp() {}; public enum State { case on, off } }
        """
      ])
  }

  private func app(_ files: String..., modules: Set<String> = ["Kit"]) throws -> CompiledApp {
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    return try CompiledApp(store, files: files.map(compilation.path), modules: modules)
  }

  @Test func declarationsKnowTheirModuleOwnersBasesAndOverriddenMembers() throws {
    try compilation.compile(
      "App",
      [
        "App.swift": """
        import Kit
        final class Own: Call, CallDelegate {
          override func hangUp() {}
          func callDidEnd() {}
        }
        extension Call { func extra() -> State { .on } }
        """
      ])
    let app = try app("App.swift")
    let own = try #require(app.declarations.types(named: "Own").first)
    #expect(own.module == "App")
    #expect(app.declarations.bases(of: own.symbol.usr).map(\.name).sorted() == ["Call", "CallDelegate"])
    #expect(app.declarations.members(of: own.symbol.usr).map(\.symbol.name).prefix(2) == ["hangUp()", "callDidEnd()"])
    let witness = try #require(app.declarations.members(of: own.symbol.usr).first { $0.symbol.name == "callDidEnd()" })
    let overridden = try #require(witness.overridden.first)
    let requirement = try #require(app.declarations[overridden.usr])
    #expect(requirement.module == "Kit")
    #expect(app.declarations.owners(of: requirement.symbol.usr) == ["CallDelegate"])
    let use = try #require(app.files[0].occurrences.first { $0.symbol.name == "on" })
    #expect(app.declarations.owners(of: use.symbol.usr) == ["Call", "State"])
    let call = try #require(app.declarations.types(named: "Call").first)
    let extra = try #require(app.declarations.members(of: call.symbol.usr).first { $0.symbol.name == "extra()" })
    #expect(extra.module == "App")
  }

  @Test func fileThatDoesNotCompileHasNoFacts() throws {
    try compilation.compile("App", ["One.swift": "func one() { two() }\n", "Two.swift": "func two() {}\n"])
    #expect(try app("One.swift", "Two.swift").files.map(\.state) == [.compiled, .compiled])
    Thread.sleep(forTimeInterval: 0.02)
    let compiles = try compilation.compile(
      "App", ["One.swift": "func one() { two() }\n", "Two.swift": "func three() {}\n"])
    #expect(!compiles)
    let files = try app("One.swift", "Two.swift", "Three.swift").files
    #expect(files.map(\.state) == [.failed, .failed, .notBuilt])
    #expect(files.allSatisfy { $0.occurrences.isEmpty })
  }

  @Test func fileThatWasBuiltAgainWithTheSameCodeIsCompiled() throws {
    for _ in 0..<2 {
      try compilation.compile("App", ["One.swift": "func one() { two() }\n", "Two.swift": "func two() {}\n"])
      #expect(try app("One.swift", "Two.swift").files.map(\.state) == [.compiled, .compiled])
      Thread.sleep(forTimeInterval: 0.02)
    }
  }

  @Test func untouchedFileWithAnErrorAfterAnotherOnesEditHasNoFacts() throws {
    let one = "func one() { two() }\n"
    try compilation.compile("App", ["One.swift": one, "Two.swift": "func two() {}\n"])
    let date = try FileManager.default.attributesOfItem(atPath: compilation.path("One.swift"))[.modificationDate]
    Thread.sleep(forTimeInterval: 0.02)
    #expect(!(try compilation.compile("App", ["One.swift": one, "Two.swift": "func three() {}\n"])))
    // As if it had not been written again.
    try FileManager.default.setAttributes(
      [.modificationDate: try #require(date)], ofItemAtPath: compilation.path("One.swift"))
    #expect(try app("One.swift", "Two.swift").files.map(\.state) == [.failed, .failed])
  }

  @Test func fileThatWasEditedAfterTheBuildHasNoFacts() throws {
    try compilation.compile("App", ["One.swift": "func one() {}\n", "Two.swift": "func two() {}\n"])
    Thread.sleep(forTimeInterval: 0.02)
    try "func three() {}\n".write(toFile: compilation.path("Two.swift"), atomically: true, encoding: .utf8)
    #expect(try app("One.swift", "Two.swift").files.map(\.state) == [.compiled, .changed])
  }

  @Test func copyOfALinuxBuildGivesThePlacesOfItsOriginal() throws {
    let original = "original/App.swift"
    try FileManager.default.createDirectory(atPath: compilation.path("original"), withIntermediateDirectories: true)
    try "func one() {}\n@objc func two() {}\n".write(
      toFile: compilation.path(original), atomically: true, encoding: .utf8)
    try compilation.compile(
      "App",
      ["App.linux.swift": "#sourceLocation(file: \"\(original)\", line: 1)\nfunc one() {}\nfunc two() {}\n"])
    let app = try app(original)
    let file = app.files[0]
    #expect(file.state == .compiled)
    #expect(file.compiledPath == compilation.path("App.linux.swift"))
    let two = try #require(file.occurrences.first { $0.symbol.name == "two()" })
    #expect(two.location == CodeLocation(file: compilation.path(original), line: 2, column: 12))
  }

  @Test func linesOfACopyWithGeneratedCodeAreThoseOfItsOriginal() throws {
    let directive = { (line: Int) in "#sourceLocation(file: \"App.swift\", line: \(line))\n" }
    try "class One {\n  @objc func one() {}\n}\nfunc two() {}\n".write(
      toFile: compilation.path("App.swift"), atomically: true, encoding: .utf8)
    try compilation.compile(
      "App",
      [
        "App.linux.swift": "import Swift\n" + directive(1) + "class One {\n        func one() {}\n#sourceLocation()\n"
          + "  func more() {\n  }\n" + directive(3) + "}\nfunc two() {}\n"
      ])
    let file = try app("App.swift").files[0]
    #expect(file.state == .compiled)
    let lines = file.occurrences.reduce(into: [:]) { $0[$1.symbol.name] = $1.location.line }
    #expect([lines["One"], lines["one()"], lines["two()"]] == [1, 2, 4])
    // It is no line of the app's file.
    #expect(try #require(lines["more()"]) > 1_000)
    let places = (1...4).map { CopyMap.Place(line: $0, column: 1) }
    let compiled = places.map(file.map.compiled)
    // Of the second line the copy has not the attribute.
    #expect(compiled.map { $0?.line } == [3, nil, 9, 10])
    #expect(compiled.map { $0.map(file.map.original) } == [places[0], nil, places[2], places[3]])
    #expect(file.map.compiledOffset(CopyMap.Place(line: 2, column: 9)) == 77)
  }

  @Test func directivesInTheAppsOwnTextAreNoPlaces() throws {
    let text =
      "let text = \"\"\"\n#sourceLocation(file: \"a\", line: 0)\n#sourceLocation(file: \"App.swift\", line: 99)\n\"\"\"\n"
    try (text + "@objc func one() {}\n").write(
      toFile: compilation.path("App.swift"), atomically: true, encoding: .utf8)
    try compilation.compile(
      "App", ["App.linux.swift": "#sourceLocation(file: \"App.swift\", line: 1)\n" + text + "func one() {}\n"])
    let one = try #require(try app("App.swift").files[0].occurrences.first { $0.symbol.name == "one()" })
    #expect(one.location.line == 5 && one.location.column == 12)
  }

  @Test func wordsOfAChangedLineStandForEachOther() throws {
    let first =
      "struct One { init(_ name: String) {} }; func two(_ one: One, three: Int) -> Int { 2 }; func four() -> Int { 4 }\n"
    try (first + "let é = two(#selector(one), three: 3) + four()\n").write(
      toFile: compilation.path("App.swift"), atomically: true, encoding: .utf8)
    let copy = first + "let é = two(One(\"one\"), three: 3) + four()\n"
    try compilation.compile("App", ["App.linux.swift": "#sourceLocation(file: \"App.swift\", line: 1)\n" + copy])
    let map = try app("App.swift").files[0].map
    let place = { (column: Int) in CopyMap.Place(line: 2, column: column) }
    let copied = { (column: Int) in CopyMap.Place(line: 3, column: column) }
    #expect(map.compiled(place(10)) == copied(10))
    #expect([31, 40, 42].map { map.compiled(place($0)) } == [27, 36, 38].map(copied))
    #expect([27, 36, 38].map { map.original(copied($0)) } == [31, 40, 42].map(place))
    // `One` is no word of the app's line.
    #expect(map.original(copied(14)).line > 1_000)
    #expect(map.compiled(place(15)) == nil)
  }
}
