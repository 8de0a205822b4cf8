import KoineBase
import KoineMedia
import Testing

@testable import KoineVendorAPIs

/// The queue of events for back ends, on a virtual clock.
@Suite struct EventQueueTests {
  /// A queue with receivers that answer as a test says.
  private final class Driver {
    var queue: EventQueue
    var now = Tick.zero
    var attempts: [(name: String, at: Duration, id: UInt64)] = []

    init(_ change: (inout EventQueue.Limits) -> Void = { _ in }) {
      var limits = EventQueue.Limits()
      change(&limits)
      queue = EventQueue(limits: limits)
    }

    func add(
      _ name: String, room: String = "tea", to url: String = "http://one.example/", bytes: Int = 2
    ) throws {
      let body = [UInt8](repeating: UInt8(ascii: " "), count: bytes)
      queue.add(BackEndEvent(.aws, room: room, name: name, body: body), to: try #require(EventURL(url)), at: now)
    }

    func next() -> EventQueue.Attempt? {
      guard let attempt = queue.next(at: now) else { return nil }
      attempts.append((attempt.event.name, now - .zero, attempt.id))
      return attempt
    }

    /// Takes attempts and answers each at once, until `end` or until nothing is left.
    func run(until end: Duration = .seconds(86_400), _ answer: (String) -> EventQueue.Outcome) {
      while true {
        while let attempt = next() { queue.finish(attempt.id, answer(attempt.event.name), at: now) }
        guard let deadline = queue.deadline, deadline <= .zero + end else { return }
        now = max(now, deadline)
      }
    }

    var names: [String] { attempts.map(\.name) }
    var dropped: [EventQueue.DropReason: Int] { queue.statistics.dropped }
  }

  private static let ok = EventQueue.Outcome.answered(status: 200)

  @Test func eventsOfARoomAreSentOneAfterTheOther() throws {
    let driver = Driver()
    for name in ["a", "b", "c"] { try driver.add(name) }
    let first = try #require(driver.next())
    #expect(driver.next() == nil)
    driver.queue.finish(first.id, Self.ok, at: driver.now)
    driver.run { _ in Self.ok }
    #expect(driver.names == ["a", "b", "c"])
    #expect(driver.queue.statistics == EventQueue.Statistics(delivered: 3))
    #expect(driver.queue.isEmpty && driver.queue.deadline == nil)
  }

  @Test func roomsAndReceiversDoNotWaitForEachOther() throws {
    let driver = Driver()
    try driver.add("a")
    try driver.add("b")
    try driver.add("c", room: "tee")
    try driver.add("d", to: "http://two.example/")
    while driver.next() != nil {}
    // Hosts take turns.
    #expect(driver.names == ["a", "d", "c"])
  }

  @Test func failedEventIsTriedAgainWithGrowingPausesBeforeTheNext() throws {
    let driver = Driver()
    try driver.add("a")
    try driver.add("b")
    var left = 9
    driver.run { name in
      guard name == "a", left > 0 else { return Self.ok }
      left -= 1
      return left % 2 == 0 ? .failed("no answer") : .answered(status: 503)
    }
    #expect(driver.names == [String](repeating: "a", count: 10) + ["b"])
    #expect(driver.attempts.map { $0.at.components.seconds } == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 243])
    #expect(driver.queue.statistics == EventQueue.Statistics(delivered: 2, failedAttempts: 9))
    #expect(driver.queue.takeNotices().count == 1)
  }

  @Test func eventIsTriedForAnHourAtMost() throws {
    let driver = Driver()
    try driver.add("a")
    driver.run(until: .seconds(1_800)) { _ in .failed("no answer") }
    try driver.add("b")
    driver.run { _ in .failed("no answer") }
    let last = try #require(driver.attempts.last { $0.name == "a" })
    #expect(last.at > .seconds(3_500))
    #expect(last.at <= .seconds(3_600))
    // The second event is half an hour younger.
    let younger = try #require(driver.attempts.last { $0.name == "b" })
    #expect(younger.at > .seconds(5_300))
    #expect(younger.at <= .seconds(5_400))
    #expect(driver.dropped == [.expired: 2])
    #expect(driver.queue.isEmpty && driver.queue.deadline == nil)
  }

  /// The events behind an event that is tried for an hour are given up when they are an hour old, without waiting for their turn.
  @Test func eventsBehindAFailingOneExpireToo() throws {
    let driver = Driver()
    for name in 0..<100 { try driver.add("\(name)") }
    driver.run { _ in .failed("no answer") }
    #expect(driver.dropped == [.expired: 100])
    #expect(driver.now <= .zero + .seconds(3_700))
    #expect(driver.attempts.count < 200)
  }

  @Test(arguments: [
    (200, true, true), (204, true, true), (301, false, false), (302, false, false), (307, false, false),
    (400, false, false),
    (401, true, false), (404, false, false), (408, true, false), (409, true, false), (410, false, false),
    (425, true, false), (429, true, false), (500, true, false), (503, true, false),
  ])
  func statusDecidesWhetherAnEventIsTriedAgain(_ status: Int, _ isLater: Bool, _ isDelivered: Bool) throws {
    let driver = Driver()
    try driver.add("a")
    try driver.add("b")
    var isFirst = true
    driver.run { _ in
      defer { isFirst = false }
      return .answered(status: isFirst ? status : 200)
    }
    #expect(driver.names == (isDelivered || !isLater ? ["a", "b"] : ["a", "a", "b"]))
    #expect(driver.dropped == (isLater ? [:] : [.rejected: 1]))
  }

  @Test func fullQueueDropsTheOldestThatIsNotBeingSent() throws {
    let driver = Driver { $0.events = 3 }
    try driver.add("a")
    let sent = try #require(driver.next())
    for name in ["b", "c", "d", "e"] { try driver.add(name, room: name) }
    #expect(driver.dropped == [.full: 2])
    #expect(driver.queue.statistics.waiting == 3)
    driver.queue.finish(sent.id, Self.ok, at: driver.now)
    driver.run { _ in Self.ok }
    #expect(driver.names == ["a", "d", "e"])
  }

  @Test func queueBoundsBytesAndEventsOfOneRoom() throws {
    let driver = Driver { ($0.bytes, $0.eventsPerLane) = (1_000, 5) }
    for name in 0..<20 { try driver.add("\(name)") }
    try driver.add("other", room: "tee")
    #expect(driver.queue.statistics.waiting == 6)
    try driver.add("large", room: "large", bytes: 990)
    #expect(driver.queue.statistics.waiting == 6, "one of the others has gone for its bytes")
    driver.run { _ in Self.ok }
    #expect(driver.names.contains("other") && driver.names.contains("large"))
    #expect(driver.queue.isEmpty)
  }

  @Test func largeEventIsDropped() throws {
    let driver = Driver()
    try driver.add("a", bytes: 65_536)
    try driver.add("b", bytes: 65_537)
    #expect(driver.dropped == [.tooLarge: 1])
    driver.run { _ in Self.ok }
    #expect(driver.names == ["a"])
  }

  @Test func attemptsAreLimitedForEachHostAndInAll() throws {
    let driver = Driver { $0.attempts = 6 }
    for room in 0..<10 {
      try driver.add("one", room: "\(room)")
      try driver.add("two", room: "\(room)", to: "https://two.example/\(room)")
    }
    while driver.next() != nil {}
    #expect(driver.names.count == 6)
    let other = Driver()
    for room in 0..<10 { try other.add("one", room: "\(room)") }
    try other.add("two", to: "https://two.example/")
    while other.next() != nil {}
    #expect(other.names.sorted() == ["one", "one", "one", "one", "two"])
    other.queue.finish(other.attempts[0].id, Self.ok, at: other.now)
    #expect(other.next()?.event.name == "one")
    #expect(other.next() == nil)
  }

  @Test func refusedReceiverAndTheEndDropEvents() throws {
    let driver = Driver()
    try driver.add("a")
    let sent = try #require(driver.next())
    driver.queue.finish(sent.id, .refused("none of its addresses is allowed"), at: driver.now)
    for name in ["b", "c"] { try driver.add(name) }
    let late = try #require(driver.next())
    driver.queue.stop(at: driver.now)
    driver.queue.finish(late.id, Self.ok, at: driver.now)
    #expect(driver.dropped == [.refused: 1, .stopped: 2])
    #expect(driver.queue.isEmpty && driver.queue.deadline == nil && driver.next() == nil)
  }

  @Test func droppedEventsAreLoggedWithoutPathsAndNotOneByOne() throws {
    let driver = Driver()
    for name in 0..<1_000 {
      try driver.add("event \(name)", room: "tea\n", to: "https://one.example:8443/hook?token=secret", bytes: 65_537)
    }
    let notices = driver.queue.takeNotices()
    #expect(notices.count == 4)
    #expect(
      notices.first
        == #"the event event 0 of the room "tea\u{a}" for https://one.example:8443 is dropped: it is too large"#)
    #expect(notices.last?.hasSuffix(" (1000 within a minute)") == true)
    #expect(!notices.joined().contains("secret") && !notices.joined().contains("hook"))
    #expect(driver.queue.takeNotices().isEmpty)
  }

  /// Random additions and answers: nothing is lost, nothing comes twice, and each room's events stay in order.
  @Test(arguments: 0..<20) func everyEventEndsOnce(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let driver = Driver { ($0.events, $0.eventsPerLane, $0.attempts) = (50, 20, 5) }
    var added = 0
    var open: [EventQueue.Attempt] = []
    var delivered: [String: [Int]] = [:]
    for _ in 0..<3_000 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1, 2:
        let (room, host) = (Int.random(in: 0..<4, using: &random), Int.random(in: 0..<3, using: &random))
        try driver.add("\(added)", room: "\(room)", to: "http://\(host).example/")
        added += 1
      case 3: if let attempt = driver.next() { open.append(attempt) }
      case 4:
        guard let index = open.indices.randomElement(using: &random) else { continue }
        let attempt = open.remove(at: index)
        let status = [200, 200, 200, 500, 404].randomElement(using: &random) ?? 200
        driver.queue.finish(attempt.id, .answered(status: status), at: driver.now)
        guard status == 200 else { continue }
        delivered[attempt.url.host + attempt.event.room, default: []].append(try #require(Int(attempt.event.name)))
      default: driver.now += .seconds(Int64.random(in: 0..<30, using: &random))
      }
    }
    for attempt in open { driver.queue.finish(attempt.id, Self.ok, at: driver.now) }
    driver.run(until: .seconds(86_400 * 30)) { _ in Self.ok }
    let statistics = driver.queue.statistics
    #expect(statistics.waiting == 0)
    #expect(statistics.delivered + statistics.dropped.values.reduce(0, +) == added)
    for numbers in delivered.values { #expect(numbers == numbers.sorted()) }
    #expect(Set(delivered.values.joined()).count == delivered.values.joined().count)
  }
}

/// Where events may be sent.
@Suite struct EventAddressTests {
  @Test(arguments: [
    ("http://one.example", "one.example", 80, "/"),
    ("HTTPS://One.Example./hook?a=b/c", "one.example", 443, "/hook?a=b/c"),
    ("http://one.example:8080?x", "one.example", 8080, "/?x"), ("https://[::1]:9000/", "::1", 9000, "/"),
    ("http://[0:0::1]/", "::1", 80, "/"), ("http://127.0.0.1:1/%20", "127.0.0.1", 1, "/%20"),
  ])
  func addressIsRead(_ text: String, _ host: String, _ port: Int, _ target: String) throws {
    let url = try #require(EventURL(text))
    #expect((url.host, url.port, url.target) == (host, port, target))
    #expect(!url.origin.contains("?") && !url.origin.hasSuffix("/"))
  }

  @Test(arguments: [
    "", "http://", "http:///", "ftp://one.example", "one.example", "http://me@one.example/",
    "http://me:you@one.example/",
    "http://one.example:0/", "http://one.example:65536/", "http://one.example:/", "http://one.example:+80/",
    "http://one.example/a b", "http://one.example/\r\nX: y", "http://one.example/#x",
    "http://one.example\\@two.example/",
    "http://é.example/", "http://[::1", "http://[::1]x/", "http://::1/", "http://.example/", "http://a%41/",
    "http://one.example/" + String(repeating: "a", count: 2_048),
  ])
  func otherAddressesAreRefused(_ text: String) { #expect(EventURL(text) == nil) }

  @Test func subscriptionNamesTheFormsThatItWants() throws {
    #expect(try #require(EventSubscription("aws=http://one.example/a=b")).forms == [.aws])
    #expect(try #require(EventSubscription("videosdk=http://one.example/")).forms == [.videosdk])
    #expect(try #require(EventSubscription("http://one.example/")).forms == [.aws, .videosdk])
    #expect(EventSubscription("azure=http://one.example/") == nil)
  }

  private func allows(_ hosts: EventHosts, _ url: String, at address: String? = nil) throws -> Bool {
    let url = try #require(EventURL(url))
    guard let address else { return hosts.allows(url) }
    return hosts.allows(try #require(SocketAddress(address, port: 80)), of: url)
  }

  @Test func onlyNamedHostsAreAllowed() throws {
    let none = try EventHosts([])
    for host in ["one.example", "127.0.0.1", "localhost", "[::1]"] { #expect(try !allows(none, "http://\(host)/")) }
    let hosts = try EventHosts(["One.Example", "10.0.0.7"])
    #expect(try allows(hosts, "https://one.example:8443/hook"))
    #expect(try allows(hosts, "http://10.0.0.7/"))
    for host in ["two.example", "sub.one.example", "one.example.two", "10.0.0.8", "127.0.0.1", "169.254.169.254"] {
      #expect(try !allows(hosts, "http://\(host)/"), "\(host)")
    }
    for name in ["", "*", "a b", "one.example:80", "http://one.example", "[::1]"] {
      #expect(throws: EventHosts.InvalidHost(name: name)) { try EventHosts([name]) }
    }
  }

  @Test func addressOfANamedHostIsChecked() throws {
    let hosts = try EventHosts(["one.example", "169.254.1.1"])
    for address in ["192.0.2.1", "10.1.2.3", "127.0.0.1", "2001:db8::1", "fd00::1"] {
      #expect(try allows(hosts, "http://one.example/", at: address), "\(address)")
    }
    for address in [
      "169.254.169.254", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "fe80::1", "ff02::1", "fd00:ec2::254",
      "::ffff:169.254.169.254",
    ] { #expect(try !allows(hosts, "http://one.example/", at: address), "\(address)") }
    #expect(try allows(hosts, "http://169.254.1.1/", at: "169.254.1.1"))
    #expect(try !allows(hosts, "http://169.254.1.1/", at: "169.254.1.2"))
    #expect(try !allows(hosts, "http://two.example/", at: "192.0.2.1"))
  }

  @Test func openServerAllowsLoopbackOnly() throws {
    let hosts = try EventHosts([], allowsLoopback: true)
    for host in ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"] { #expect(try allows(hosts, "http://\(host):9/")) }
    #expect(try !allows(hosts, "http://one.example/"))
    #expect(try allows(hosts, "http://localhost/", at: "127.0.0.1"))
    #expect(try allows(hosts, "http://localhost/", at: "::1"))
    #expect(try !allows(hosts, "http://localhost/", at: "192.0.2.1"))
    #expect(try !allows(hosts, "http://one.example/", at: "127.0.0.1"))
  }
}
