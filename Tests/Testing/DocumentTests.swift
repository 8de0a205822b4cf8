import Foundation
import Testing

/// What the documents show is what is compiled and run here.
@Suite struct DocumentTests {
  private let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  @Test(arguments: ["README.md", "Docs/adopt.md"]) func theFirstTestIsShown(document: String) throws {
    let test = try String(contentsOf: root.appendingPathComponent("Tests/Testing/FirstTest.swift"), encoding: .utf8)
    let text = try String(contentsOf: root.appendingPathComponent(document), encoding: .utf8)
    #expect(text.contains("```swift\n\(test)```"))
  }
}
