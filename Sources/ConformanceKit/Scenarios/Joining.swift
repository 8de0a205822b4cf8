extension Scenario {
  static let joining: [Scenario] = [
    Scenario(
      "join.first", "The first participant is notified once that it is connected, and knows no other participant.",
      proves: "law 3", isAlone: true
    ) { context in
      let ana = try await context.joined("Ana")
      await context.run(milliseconds: 300)
      try context.expect("told of being connected once", context.count(.connected, to: ana) == 1)
      try context.expect("knows no other participant", ana.others.isEmpty)
    },
    Scenario(
      "join.observed-late", "An app that observes after its joining call has returned is told that it is connected.",
      proves: "law 3"
    ) { context in
      let ben = try await context.joined("Ben")
      let ana = try context.person("Ana")
      try ana.joinObservingLate()
      try await context.until("Ana is connected") { ana.isConnected }
      try await context.until("they see each other") {
        ana.sees(ben)?.isMoving == true && ben.sees(ana)?.isMoving == true
      }
      try context.expect("told of being connected once", context.count(.connected, to: ana) == 1)
      try context.expect("Ben was announced once", context.count(.joined, to: ana, of: ben) == 1)
    },
    Scenario("join.second", "Two know of each other once, by name.", proves: "laws 4 and 7") { context in
      let (ana, ben) = try await context.two()
      try await context.allAgree()
      for (viewer, other) in [(ana, ben), (ben, ana)] {
        try context.expect("\(other.name) was announced once", context.count(.joined, to: viewer, of: other) == 1)
      }
    },
    Scenario(
      "join.late", "A late joiner sees the streams of earlier participants.", proves: "law 7"
    ) { context in
      let ana = try await context.joined("Ana")
      await context.run(milliseconds: 2_000)
      let ben = try await context.joined("Ben")
      try await context.until("Ben sees Ana") { ben.sees(ana)?.isMoving == true }
      try await context.allAgree()
    },
    Scenario("join.four", "Four see each other.", proves: "law 7") { context in
      for name in ["Ana", "Ben", "Cleo", "Dan"] { _ = try await context.joined(name) }
      try await context.allAgree()
      for viewer in context.people {
        for other in context.people where other !== viewer {
          try await context.until("\(viewer.name) sees \(other.name)") { viewer.sees(other)?.isMoving == true }
        }
      }
    },
    Scenario("join.at-once", "Four participants that join at the same moment all find each other.", proves: "law 7") {
      context in
      for name in ["Ana", "Ben", "Cleo", "Dan"] { try context.person(name).join() }
      for driver in context.people { try await context.until("\(driver.name) is there") { driver.isConnected } }
      try await context.allAgree()
    },
    Scenario("join.other-room", "People in different rooms know nothing of each other.", proves: "law 7") { context in
      let ana = try await context.joined("Ana")
      let ben = try context.person("Ben", room: "coffee")
      try ben.join()
      try await context.until("Ben is in his room") { ben.isConnected }
      try await context.always("no participant is announced", for: 500) { ana.others.isEmpty && ben.others.isEmpty }
    },
    Scenario(
      "join.same-identity", "Who comes a second time takes the place of the first.", proves: "laws 3 and 7",
      first: [.secondDevice]
    ) { context in
      let (ana, ben) = try await context.two()
      let again = try context.person("Ana", style: ana.style)
      try again.join()
      try await context.until("the new Ana is in the room") { again.isConnected }
      try await context.until("the old one is out") { ana.isOver }
      try await context.until("Ben sees the new one") { ben.others.count == 1 && ben.sees(again)?.isMoving == true }
    },
    Scenario(
      "join.full", "A full room refuses a join once, and admits a participant again when another one has left.",
      proves: "laws 3 and 6",
      faults: [.limit(people: 2)]
    ) { context in
      context.environment.inject(.limit(people: 2))
      let (ana, ben) = try await context.two()
      let cleo = try context.person("Cleo")
      try cleo.join()
      try await context.until("Cleo is refused") { cleo.isOver }
      try context.expect("she never was connected", context.count(.connected, to: cleo) == 0)
      try context.expect("no participant was notified of her", context.count(.joined, to: ana) == 1)
      ben.leave()
      try await context.until("Ben is out") { ben.isOver && ana.others.isEmpty }
      let dan = try await context.joined("Dan")
      try await context.until("Ana sees Dan") { ana.sees(dan)?.isMoving == true }
    },
    Scenario(
      "roster.attributes", "A participant's attributes are known to earlier and to later participants.",
      proves: "law 7", needs: [.attributes]
    ) { context in
      let (ana, ben) = try await context.two()
      for (viewer, other) in [(ana, ben), (ben, ana)] {
        try await context.until("\(viewer.name) reads it of \(other.name)") {
          viewer.sees(other)?.attributes == Roster.attributes(of: other.name)
        }
      }
    },
    Scenario(
      "join.other-rooms-token", "A token for another room is refused, with an error, once.", proves: "laws 3 and 6",
      first: [.tokenRoom], isAlone: true
    ) { context in try await refused(.otherRoom, context) },
    Scenario(
      "join.expired-token", "An expired token is refused, with an error, once.", proves: "laws 3 and 6",
      first: [.tokens], isAlone: true
    ) { context in try await refused(.expired, context) },
    Scenario(
      "join.mangled-token", "What is no token at all is refused, with an error, once.", proves: "laws 3 and 6",
      first: [.tokenForm], isAlone: true
    ) { context in try await refused(.malformed, context) },
  ]

  @MainActor
  private static func refused(_ credential: CredentialState, _ context: ScenarioContext) async throws {
    do {
      let ana = try context.person("Ana", credential: credential)
      try ana.join()
      try await context.until("Ana is refused") { ana.isOver }
      try context.expect("she never was connected", context.count(.connected, to: ana) == 0)
    } catch let broken as ScenarioContext.ConditionFailed {
      throw broken
    } catch {
      // Some styles say it at once: making the entry object, or joining, throws.
    }
    let ben = try await context.joined("Ben", style: context.people.first?.style)
    try context.expect("the room knows nothing of her", ben.others.isEmpty)
  }
}
