import AppCheck
import Foundation
import Testing

/// The names that people write into their manifest.
struct ProductTests {
  @Test func productsAreThoseOfThePackage() throws {
    let manifest = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "../../../Package.swift")
    let text = try String(contentsOf: manifest, encoding: .utf8)
    let library = /\.library\(\s*name: "(\w+)",\s*targets: \[([^\]]*)\]/
    var count = 0
    for match in text.matches(of: library) {
      for module in match.output.2.matches(of: /"(\w+)"/) {
        #expect(KoineProducts.of([String(module.output.1)]) == [String(match.output.1)])
        count += 1
      }
    }
    #expect(count > 30)
  }

  @Test func modulesOfOthersHaveNone() {
    #expect(KoineProducts.of(["Foundation", "Glibc", "KoineBackends", "Koine", "UIKit"]) == ["Koine", "UIKit"])
  }
}
