import Foundation
import Testing

/// The code in the document is the code that is compiled and run here.
@Suite struct BackEndDocumentTests {
  @Test(arguments: ["FirstBackEndTest", "SampleBackEnds"]) func documentShowsTheCode(file: String) throws {
    let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let code = try String(contentsOf: here.appendingPathComponent("\(file).swift"), encoding: .utf8)
    let page = here.appendingPathComponent("../../Docs/adopt.md")
    #expect(try String(contentsOf: page, encoding: .utf8).contains("```swift\n\(code)```"))
  }
}
