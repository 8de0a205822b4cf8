extension Scenario {
  /// Callbacks of the end, and properties between callbacks.
  static let ending: [Scenario] = [
    Scenario(
      "end.left", "Leaving is reported once, in the documented order, also where an observer removes itself meanwhile.",
      proves: "laws 2 and 3", second: [.endObservers]
    ) { context in
      _ = try await context.joined("Ana")
      let ben = try await context.joined("Ben")
      try await endCall(ben, by: .left, in: context) { ben in ben.leave() }
      for name in ben.endCallbacks(of: .left).flatMap({ $0.sorted() }) {
        let again = try await context.joined("Ben", style: ben.style)
        try await endCall(again, by: .left, removingIn: name, in: context) { ben in ben.leave() }
      }
    },
    Scenario(
      "end.replaced",
      "Being replaced is reported once, in the documented order, also to an observer that removes itself.",
      proves: "laws 2 and 3", first: [.endObservers, .secondDevice], isAlone: true
    ) { context in
      var ana = try await context.joined("Ana")
      for name in ana.endCallbacks(of: .replaced).flatMap({ $0.sorted() }) {
        let next = try context.person("Ana", style: ana.style)
        try await endCall(ana, by: .replaced, removingIn: name, in: context) { _ in try next.join() }
        try await context.until("the new Ana is in the room") { next.isConnected }
        ana = next
      }
    },
    Scenario(
      "end.lost", "A lost connection is reported once, in the documented order, also where an observer removes itself.",
      proves: "laws 2 and 3", first: [.endObservers], isAlone: true, isLong: true,
      faults: [.gap(of: "ana", milliseconds: 300_000)]
    ) { context in
      let ana = try await context.joined("Ana")
      let name = ana.endCallbacks(of: .connectionLost).first?.first
      try await endCall(ana, by: .connectionLost, removingIn: name, in: context) { ana in
        context.environment.inject(.gap(of: ana.id, milliseconds: 300_000))
      }
    },
    Scenario(
      "read.between", "A property read inside a callback has the same value until the next callback.", proves: "law 1",
      first: [.readings], faults: [.gap(of: "ana", milliseconds: 1_000)]
    ) { context in
      let (ana, ben) = try await context.two()
      let monitor = ana.recorder.readingMonitor
      monitor.start { [weak ana] in ana?.readings ?? [:] }
      try context.expect("there is something to be read", !ana.readings.isEmpty)
      var others = OtherParticipants([ben])
      for turn in 0..<40 {
        if turn == 20 { context.environment.inject(.gap(of: ana.id, milliseconds: 1_000)) }
        try await others.act(in: context)
        for _ in 0..<8 {
          await context.run(milliseconds: others.milliseconds(below: 50))
          monitor.compareBetweenCallbacks()
        }
      }
      // While the app takes leave, its own calls change what it reads.
      try context.expect("callbacks came, not \(monitor.callbacks)", monitor.callbacks > 20)
      try context.expect(Set(monitor.faults).sorted().prefix(5).joined(separator: "; "), monitor.faults.isEmpty)
    },
  ]

  /// Ends the call of `driver` and compares the callbacks that report it with the documented ones.
  /// - Parameters:
  ///   - name: the callback in which a further observer removes itself; nil: it stays.
  ///   - cause: makes the call end.
  @MainActor private static func endCall(
    _ driver: any Driver, by end: CallEnd, removingIn name: String? = nil, in context: ScenarioContext,
    _ cause: @MainActor (any Driver) throws -> Void
  ) async throws {
    let documented = driver.endCallbacks(of: end)
    try context.expect("the style documents its end", !documented.isEmpty)
    let observer = EndObserver(removesItselfIn: name)
    observer.remove = driver.observeEnd { [weak observer] in observer?.receive($0) }
    try cause(driver)
    try await context.until("\(driver.name) is out", within: 200_000) { driver.isOver }
    await context.run(milliseconds: 500)
    let all = driver.recorder.endCallbacks
    try context.expect("\(all) are the documented \(documented)", matches(all, documented))
    var expected = all
    if let name, !driver.endReachesRemovedObservers, let index = all.firstIndex(of: name) {
      expected = Array(all[...index])
    }
    try context.expect(
      "an observer that is removed in \(name ?? "none") receives \(expected), not \(observer.received)",
      observer.received == expected)
  }

  private static func matches(_ callbacks: [String], _ documented: [Set<String>]) -> Bool {
    var rest = callbacks[...]
    for group in documented {
      guard rest.prefix(group.count).count == group.count, Set(rest.prefix(group.count)) == group else { return false }
      rest = rest.dropFirst(group.count)
    }
    return rest.isEmpty
  }
}

/// Collects the callbacks of an end, and removes itself in one of them.
@MainActor
private final class EndObserver {
  private(set) var received: [String] = []
  var remove: @MainActor () -> Void = {}
  private let name: String?

  init(removesItselfIn name: String?) { self.name = name }

  func receive(_ callback: String) {
    received.append(callback)
    if callback == name { remove() }
  }
}

/// Random actions of the other participants; the same in every run.
@MainActor
private struct OtherParticipants {
  private var people: [any Driver]
  private var state: UInt64 = 1
  private var guests = 0

  init(_ people: [any Driver]) { self.people = people }

  mutating func milliseconds(below limit: Int) -> Int { Int(next() % UInt64(limit)) }

  mutating func act(in context: ScenarioContext) async throws {
    let index = Int(next() % UInt64(people.count))
    let one = people[index]
    switch next() % 8 {
    case 0, 1: one.setMicrophoneMuted(true)
    case 2: one.setMicrophoneMuted(false)
    case 3: one.setCameraOn(false)
    case 4: one.setCameraOn(true)
    case 5: if one.inexpressible[.messages] == nil { try one.sendMessage("hello", lifetime: nil) }
    case 6 where people.count < 3:
      guests += 1
      let guest = try context.person("Guest\(guests)", style: one.style)
      try guest.join()
      people.append(guest)
    default:
      guard people.count > 1 else { return }
      one.leave()
      people.remove(at: index)
    }
  }

  /// SplitMix64.
  private mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}
