import KoineFoundation
import Testing

/// Code that apps write under `import Foundation`.
@Suite struct FoundationTests {
  private final class Model: ObservableObject {
    @Published var name = "Ana"
  }

  @Test func autoreleasepoolReturnsWhatItsClosureReturns() {
    struct Refusal: Error, Equatable {}
    #expect(autoreleasepool { 3 } == 3)
    #expect(throws: Refusal()) { try autoreleasepool { throw Refusal() } }
  }

  @Test func foundationImportProvidesCombineAndNetworking() throws {
    let model = Model()
    var seen: [String] = []
    let following = model.$name.sink { seen.append($0) }
    model.name = "Ben"
    #expect(seen == ["Ana", "Ben"])
    let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1/")))
    #expect(URLSession.shared.dataTask(with: request).state == .suspended)
    following.cancel()
  }
}
