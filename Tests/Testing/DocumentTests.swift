import Foundation
import Testing

/// The code in the documents is the code that is compiled and run in this package.
@Suite struct DocumentTests {
  private let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  @Test(arguments: ["README.md", "Docs/adopt.md", "Docs/docc/KoineTesting.docc/FirstTest.md"])
  func documentShowsTheFirstTest(
    document: String
  ) throws {
    let test = try String(contentsOf: root.appendingPathComponent("Tests/Testing/FirstTest.swift"), encoding: .utf8)
    let text = try String(contentsOf: root.appendingPathComponent(document), encoding: .utf8)
    #expect(text.contains("```swift\n\(test)```"))
  }

  @Test func firstCallTutorialShowsTheCompiledExample() throws {
    let example = try String(
      contentsOf: root.appendingPathComponent("Tests/Koine/FirstCallExample.swift"), encoding: .utf8)
    let page = try String(contentsOf: root.appendingPathComponent("Docs/docc/Koine.docc/FirstCall.md"), encoding: .utf8)
    #expect(page.contains("```swift\n\(example)```"))
  }

  /// The first hour's app and its first test are those of the package that Scripts/check-consumer builds.
  @Test func firstHourPageShowsTheConsumerPackage() throws {
    let consumer = root.appendingPathComponent("Tests/Consumer")
    let page = try String(contentsOf: root.appendingPathComponent("Docs/first-hour.md"), encoding: .utf8)
    let app = try String(contentsOf: consumer.appendingPathComponent("TeaTime/StageScreen.swift"), encoding: .utf8)
    #expect(page.contains("```swift\n\(app)```"))
    let tests = try String(
      contentsOf: consumer.appendingPathComponent("TeaTimeTests/StageScreenTests.swift"), encoding: .utf8)
    let end = try #require(tests.range(of: "\n\n  /// "))
    #expect(page.contains("```swift\n\(tests[..<end.lowerBound])\n}\n```"))
  }

  /// All recipes install the packages that `Scripts/setup` installs.
  @Test func recipesInstallTheSamePackages() throws {
    func packages(_ path: String) throws -> Set<String> {
      let text = try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
      let words = text.split { $0.isWhitespace || $0 == "\\" }.map(String.init)
      return Set(words.filter { $0.hasPrefix("lib") && $0.hasSuffix("-dev") || $0 == "pkg-config" })
    }
    let workflow = try packages("Docs/recipes/calls.yml")
    #expect(workflow.count == 10)
    #expect(try packages("Docs/recipes/Dockerfile") == workflow)
    #expect(try packages("Scripts/setup").isSuperset(of: workflow))
  }
}
