import KoineSignaling
import Testing

@testable import KoineServer

/// What a browser's join says of a cluster.
struct BrowserJoinTests {
  private func join(_ fields: String) throws -> Join {
    let json =
      #"{"type":"join","version":1,"room":"tea","name":"Ana","offer":{"number":1,"sdp":"v=0","send":[],"receive":[]}"#
      + fields + "}"
    guard case .join(let join, _) = try Array(json.utf8).withUnsafeBytes({ try BrowserMessage(json: $0) }) else {
      throw SignalingError.malformed("no join")
    }
    return join
  }

  @Test func joinOfAMovedBrowserKeepsItsFields() throws {
    let moved = try join(#","seen":1795000000000123,"isMoved":true,"unreachable":"wss://n1.example.com""#)
    #expect(moved.seen == 1_795_000_000_000_123)
    #expect(moved.isMoved)
    #expect(moved.unreachable == "wss://n1.example.com")
    let first = try join("")
    #expect(first.seen == 0)
    #expect(!first.isMoved)
    #expect(first.unreachable == nil)
  }

  @Test func unreachableHomeIsBounded() throws {
    #expect(try join(#","unreachable":"https://n1""#).unreachable == nil)
    let long = "ws://" + String(repeating: "n", count: 252)
    #expect(throws: SignalingError.tooLarge(field: "name", limit: 256)) { try join(#","unreachable":"\#(long)""#) }
  }
}
