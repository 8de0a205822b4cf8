import Testing

@testable import KoineRoomClient

struct ServerPlacesTests {
  /// The places of the rest of the round.
  private func round(_ places: ServerPlaces) -> [String?] {
    var (places, round) = (places, [String?]())
    while places.hasNext {
      places.advance()
      round.append(places.current)
    }
    return round
  }

  private func connected(to configured: [String], naming named: [String] = []) -> ServerPlaces {
    var places = ServerPlaces(configured)
    places.advance()
    places.connectionMade()
    places.admitted(naming: named)
    return places
  }

  @Test func firstRoundTriesConfiguredAddressesInOrder() {
    #expect(round(ServerPlaces(["ws://a", "ws://b"])) == ["ws://a", "ws://b"])
    #expect(round(ServerPlaces()) == [nil], "one router without an address")
  }

  @Test func roundAfterBreakBeginsWithTheHomeOfNamedPlaces() {
    var places = connected(to: ["ws://lb"], naming: ["ws://n1", "ws://n2", "ws://n3"])
    places.lost(.broken)
    #expect(round(places) == ["ws://n1", "ws://n2", "ws://n3", "ws://lb"])
  }

  /// A server that has just joined its cluster knows no other.
  @Test func serverThatNamesOnlyItselfLeavesTheConfiguredAddresses() {
    var places = connected(to: ["ws://n2", "ws://n3"], naming: ["ws://n3"])
    places.lost(.broken)
    #expect(round(places) == ["ws://n3", "ws://n2"])
  }

  @Test func addressInAnotherFormIsNoFurtherPlace() {
    var places = connected(
      to: ["ws://n1:80/signaling", "ws://n2:8080/signaling", "ws://[::1]:80"], naming: ["ws://n2:8080", "ws://n1"])
    places.lost(.broken)
    #expect(round(places) == ["ws://n2:8080", "ws://n1", "ws://[::1]:80"])
    var secure = connected(
      to: ["wss://n1/signaling", "wss://n1/a/signaling", "wss://n1:80", "wss://signaling"],
      naming: ["wss://n1:443", "wss://signaling/"])
    secure.lost(.broken)
    #expect(round(secure) == ["wss://n1:443", "wss://signaling/", "wss://n1/a/signaling", "wss://n1:80"])
  }

  /// A server compares it with the addresses of the nodes.
  @Test func silentHomeIsNamedInItsOwnForm() {
    var places = connected(to: ["ws://n1:80/signaling"], naming: ["ws://n1:80", "ws://n2:80/signaling"])
    places.lost(.silent)
    places.advance()
    #expect(places.current == "ws://n2:80/signaling")
    #expect(places.unreachableHome == "ws://n1:80")
  }

  @Test func roundAfterBreakBeginsWithTheLastServerWhereNoneIsNamed() {
    var places = ServerPlaces(["ws://a", "ws://b"])
    places.advance()
    places.failed(.notMade)
    places.advance()
    places.connectionMade()
    places.admitted(naming: [])
    places.lost(.broken)
    #expect(round(places) == ["ws://b", "ws://a"])
  }

  @Test func roundAfterSilenceEndsWithTheSilentPlace() {
    var named = connected(to: ["ws://lb"], naming: ["ws://n1", "ws://n2", "ws://n3"])
    named.lost(.silent)
    #expect(round(named) == ["ws://n2", "ws://n3", "ws://lb", "ws://n1"])
    var configured = connected(to: ["ws://a", "ws://b"])
    configured.lost(.silent)
    #expect(round(configured) == ["ws://b", "ws://a"])
  }

  @Test func roundAfterOneThatReachedAServerEndsWithTheUnreachableHome() {
    var places = connected(to: ["ws://lb"], naming: ["ws://n1", "ws://n2", "ws://n3"])
    places.lost(.broken)
    while places.hasNext {
      places.advance()
      if places.current == "ws://n2" { places.connectionMade() }
      places.failed(places.current == "ws://n2" ? .broken : .notMade)
    }
    places.beginRound()
    #expect(round(places) == ["ws://n2", "ws://n3", "ws://lb", "ws://n1"])
  }

  /// More likely, the client's own network is down.
  @Test func roundAfterOneThatReachedNoServerBeginsWithTheHome() {
    var places = connected(to: ["ws://lb"], naming: ["ws://n1", "ws://n2", "ws://n3"])
    places.lost(.silent)
    while places.hasNext {
      places.advance()
      places.failed(.notMade)
    }
    places.beginRound()
    #expect(round(places) == ["ws://n1", "ws://n2", "ws://n3", "ws://lb"])
    #expect(places.unreachableHome == nil)
  }

  @Test func homeIsUnreachableOnceItWasSilentOrDidNotConnect() {
    let start = connected(to: ["ws://lb"], naming: ["ws://n1", "ws://n2"])
    #expect(start.unreachableHome == nil)
    var silent = start
    silent.lost(.silent)
    silent.advance()
    #expect(silent.unreachableHome == "ws://n1")
    var refusing = start
    refusing.lost(.broken)
    refusing.advance()
    #expect(refusing.unreachableHome == nil, "it is tried first")
    refusing.failed(.notMade)
    refusing.advance()
    #expect(refusing.unreachableHome == "ws://n1")
    refusing.redirect(to: ["ws://n1"])
    refusing.advance()
    #expect(refusing.unreachableHome == nil, "a server is not told of itself")
    refusing.connectionMade()
    refusing.failed(.broken)
    refusing.advance()
    #expect(refusing.unreachableHome == nil, "it has answered")
  }

  @Test func serverOutsideOfClusterIsNotSuspected() {
    var places = connected(to: ["ws://a", "ws://b"])
    places.lost(.silent)
    places.advance()
    #expect(places.unreachableHome == nil)
  }

  @Test func redirectPutsItsPlacesFirstAndItsServerLast() {
    var places = connected(to: ["ws://n1"], naming: ["ws://n1", "ws://n2", "ws://n3"])
    let isOfUse = places.redirect(to: ["ws://n4", "ws://n3"])
    #expect(isOfUse)
    #expect(round(places) == ["ws://n4", "ws://n3", "ws://n2", "ws://n1"])
    places.advance()
    #expect(places.isRedirected)
    places.advance()
    places.advance()
    #expect(places.current == "ws://n2")
    #expect(!places.isRedirected, "it was not named")
  }

  @Test func redirectWithoutPlacesTriesTheOthers() {
    var places = connected(to: ["ws://n1"], naming: ["ws://n1", "ws://n2"])
    let isOfUse = places.redirect(to: [])
    #expect(!isOfUse)
    #expect(round(places) == ["ws://n2", "ws://n1"])
  }

  @Test func redirectsKeepABoundedNumberOfPlaces() {
    var places = ServerPlaces(["ws://a"])
    places.advance()
    for number in 0..<100 {
      places.redirect(to: (0..<8).map { "ws://n\(number)-\($0)" })
      places.advance()
    }
    #expect(places.count == 17, "and the configured one")
  }

  @Test func clientConfiguredWithTLSIgnoresPlacesWithoutIt() {
    var places = connected(to: ["wss://a"], naming: ["ws://n1", "wss://n2"])
    places.lost(.broken)
    #expect(round(places) == ["wss://n2", "wss://a"])
    let isOfUse = places.redirect(to: ["ws://n3"])
    #expect(!isOfUse)
    var mixed = connected(to: ["wss://a", "ws://b"], naming: ["ws://n1"])
    mixed.lost(.broken)
    #expect(round(mixed) == ["ws://n1", "wss://a", "ws://b"])
  }
}
