import NIOHTTP1
import Testing

@testable import KoineServer

struct PagePolicyTests {
  private func sources(_ servers: [String]) throws -> String {
    let answer = try #require(Page.answer("/room.js", HTTPHeaders(), servers: servers))
    let policy = try #require(answer.headers.first { $0.0 == "Content-Security-Policy" }).1
    let directive = try #require(policy.split(separator: ";").first { $0.hasPrefix(" connect-src") })
    return String(directive.dropFirst(" connect-src ".count))
  }

  @Test func pageOfALonelyServerConnectsToItOnly() throws {
    #expect(try sources([]) == "'self'")
    let old = try #require(Page.answer("/", HTTPHeaders()))
    #expect(
      old.headers.contains { $0.0 == "Content-Security-Policy" && $0.1.contains("; connect-src 'self'; base-uri") })
  }

  @Test func pageOfAClusterConnectsToItsServers() throws {
    #expect(
      try sources(["wss://n1.example.com/signaling", "ws://127.0.0.1:8080", "ws://[::1]:80/"])
        == "'self' wss://n1.example.com ws://127.0.0.1:8080 ws://[::1]:80")
  }

  @Test func textThatIsNoAddressDoesNotReachThePolicy() throws {
    #expect(
      try sources(["https://n1", "ws://", "ws://a; script-src *", "ws://a *", "ws://*", "ws://a\r\nX: y"]) == "'self'")
  }
}
