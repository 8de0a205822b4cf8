import Foundation
import KoineSampleSupport
import KoineTestSupport
import Testing

@Suite struct SecretTests {
  @Test func secretIsReadFromOptionThenFileThenEnvironment() throws {
    let folder = try Folder()
    let file = folder.file("token")
    try " abc\n".write(toFile: file, atomically: true, encoding: .utf8)
    let environment = ["KOINE_TOKEN": "env"]
    func text(_ option: String?, _ file: String?, _ environment: [String: String]) throws -> String? {
      try Secret.text(option: option, file: file, variable: "KOINE_TOKEN", environment: environment)
    }
    #expect(try text("word", file, environment) == "word")
    #expect(try text(nil, file, environment) == "abc")
    #expect(try text(nil, nil, environment) == "env")
    #expect(try text(nil, nil, ["KOINE_TOKEN": ""]) == nil)
    try "\n".write(toFile: file, atomically: true, encoding: .utf8)
    for wrong in [file, "/no/file", folder.path] {
      let error = #expect(throws: SampleExit.self) { _ = try text(nil, wrong, environment) }
      #expect(error?.code == 66)
    }
  }
}
