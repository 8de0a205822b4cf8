import Testing

@testable import KoineRedisLedger

@Suite struct RedisAddressTests {
  @Test func addressOfAServerIsRead() throws {
    let address = try RedisAddress("redis://koine:s%40cr%2Fet%25@redis.example.com:7000/3")
    #expect(address.target == .server(.init(host: "redis.example.com", port: 7_000)))
    #expect(address.user == "koine")
    #expect(address.password == "s@cr/et%")
    #expect(address.database == 3)
    #expect(!address.isSecure)
    #expect(address.description == "redis://koine:***@redis.example.com:7000/3")
  }

  @Test func partsMayBeMissing() throws {
    let address = try RedisAddress("rediss://:pw@[2001:db8::1]")
    #expect(address.target == .server(.init(host: "2001:db8::1", port: 6_379)))
    #expect(address.user == nil)
    #expect(address.password == "pw")
    #expect(address.database == 0)
    #expect(address.isSecure)
    #expect(address.warning == nil)
    #expect(try RedisAddress("redis://localhost/").database == 0)
    #expect(try RedisAddress("redis://u:a:b@h").password == "a:b")
    #expect(try RedisAddress("redis://u:a@b@h").password == "a@b")
  }

  @Test func sentinelsAreRead() throws {
    let address = try RedisAddress("rediss+sentinel://u:p@s1,s2:7,[::1]:8/main%20one/2?ca=/etc/ca%2Bx.pem")
    #expect(
      address.target
        == .sentinels(
          [.init(host: "s1", port: 26_379), .init(host: "s2", port: 7), .init(host: "::1", port: 8)], master: "main one"
        ))
    #expect(address.database == 2)
    #expect(address.authorities == "/etc/ca+x.pem")
  }

  @Test func missingPasswordIsAWarningOnThisMachineAndAnErrorElsewhere() throws {
    for host in ["localhost", "127.0.0.1", "127.3.0.1", "[::1]"] {
      #expect(try RedisAddress("redis://\(host)").warning?.contains("no password") == true, "\(host)")
    }
    for host in ["10.0.0.1", "redis", "127.0.0.1.example.com", "[::2]"] {
      #expect(throws: RedisAddress.Failure.self, "\(host)") { try RedisAddress("redis://\(host)") }
    }
    #expect(throws: RedisAddress.Failure.self) { try RedisAddress("redis+sentinel://127.0.0.1,s2/m") }
    #expect(try RedisAddress("redis://:p@10.0.0.1").warning?.contains("not encrypted") == true)
    #expect(try RedisAddress("redis://:p@127.0.0.1").warning == nil)
  }

  @Test(arguments: [
    ("", "does not begin"), ("localhost:6379", "does not begin"), ("http://localhost", "scheme"),
    ("redis://", "host is missing"), ("redis://:pw@", "host is missing"), ("redis://h:0", "port"),
    ("redis://h:65536", "port"), ("redis://h:x", "port"), ("redis://[::1", "]"), ("redis://[x]", "IPv6"),
    ("redis://localhost/x", "number"), ("redis://localhost/-1", "number"), ("redis://localhost/1/2", "follow"),
    ("redis://a,b", "sentinels"), ("redis+sentinel://localhost", "NAME"), ("redis+sentinel://localhost/", "NAME"),
    ("redis+sentinel://localhost,/m", "host is missing"), ("redis://user@localhost", "USER:PASSWORD"),
    ("redis://user:@localhost", "empty"), ("redis://u:%zz@localhost", "hexadecimal"),
    ("redis://u:%ff@localhost", "UTF-8"),
    ("redis://u:%+1@localhost", "hexadecimal"), ("redis://local host", "host is a name"),
    ("redis://localhost?ca=/x", "rediss"), ("rediss://localhost?x=y", "ca=FILE"), ("rediss://localhost?ca=", "missing"),
  ])
  func unreadableAddressIsRefusedWithTheReason(_ text: String, _ reason: String) {
    let failure = #expect(throws: RedisAddress.Failure.self) { try RedisAddress(text) }
    #expect(failure?.description.contains(reason) == true, "\(failure?.description ?? "")")
  }

  @Test func failuresAndDescriptionsHoldNoPassword() {
    for text in [
      "redis://u:se/cret@h", "redis://u:secret@h:x", "redis://secret@h", "redis://u:secret@10.0.0.1/x",
      "redis://secret/x@h", "redis://u:sec?ret@h", "x://u:secret@h",
    ] {
      let failure = #expect(throws: RedisAddress.Failure.self) { try RedisAddress(text) }
      #expect(failure?.description.contains("sec") == false, "\(text)")
      #expect(failure?.description.contains("cret") == false, "\(text)")
    }
  }
}
