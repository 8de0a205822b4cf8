extension Scenario {
  static let joining: [Scenario] = [
    Scenario(
      "join.first", "Whoever comes first is told so once, and knows of nobody.", proves: "law 3", isAlone: true
    ) { story in
      let ana = try await story.joined("Ana")
      await story.run(milliseconds: 300)
      try story.expect("told of being connected once", story.count(.connected, to: ana) == 1)
      try story.expect("knows of nobody", ana.others.isEmpty)
    },
    Scenario(
      "join.observed-late", "An app that observes after its joining call has returned is told that it is connected.",
      proves: "law 3"
    ) { story in
      let ben = try await story.joined("Ben")
      let ana = try story.person("Ana")
      try ana.joinObservingLate()
      try await story.until("Ana is connected") { ana.isConnected }
      try await story.until("they see each other") {
        ana.sees(ben)?.isMoving == true && ben.sees(ana)?.isMoving == true
      }
      try story.expect("told of being connected once", story.count(.connected, to: ana) == 1)
      try story.expect("Ben was announced once", story.count(.joined, to: ana, of: ben) == 1)
    },
    Scenario("join.second", "Two know of each other once, by name.", proves: "laws 4 and 7") { story in
      let (ana, ben) = try await story.two()
      try await story.allAgree()
      for (viewer, other) in [(ana, ben), (ben, ana)] {
        try story.expect("\(other.name) was announced once", story.count(.joined, to: viewer, of: other) == 1)
      }
    },
    Scenario(
      "join.late", "Who comes late sees what has long been there.", proves: "law 7"
    ) { story in
      let ana = try await story.joined("Ana")
      await story.run(milliseconds: 2_000)
      let ben = try await story.joined("Ben")
      try await story.until("Ben sees Ana") { ben.sees(ana)?.isMoving == true }
      try await story.allAgree()
    },
    Scenario("join.four", "Four see each other.", proves: "law 7") { story in
      for name in ["Ana", "Ben", "Cleo", "Dan"] { _ = try await story.joined(name) }
      try await story.allAgree()
      for viewer in story.people {
        for other in story.people where other !== viewer {
          try await story.until("\(viewer.name) sees \(other.name)") { viewer.sees(other)?.isMoving == true }
        }
      }
    },
    Scenario("join.at-once", "Four who come at the same moment all find each other.", proves: "law 7") { story in
      for name in ["Ana", "Ben", "Cleo", "Dan"] { try story.person(name).join() }
      for driver in story.people { try await story.until("\(driver.name) is there") { driver.isConnected } }
      try await story.allAgree()
    },
    Scenario("join.other-room", "People in different rooms know nothing of each other.", proves: "law 7") { story in
      let ana = try await story.joined("Ana")
      let ben = try story.person("Ben", room: "coffee")
      try ben.join()
      try await story.until("Ben is in his room") { ben.isConnected }
      try await story.always("nobody is announced", for: 500) { ana.others.isEmpty && ben.others.isEmpty }
    },
    Scenario(
      "join.same-identity", "Who comes a second time takes the place of the first.", proves: "laws 3 and 7",
      first: [.secondDevice]
    ) { story in
      let (ana, ben) = try await story.two()
      let again = try story.person("Ana", style: ana.style)
      try again.join()
      try await story.until("the new Ana is in the room") { again.isConnected }
      try await story.until("the old one is out") { ana.isOver }
      try await story.until("Ben sees the new one") { ben.others.count == 1 && ben.sees(again)?.isMoving == true }
    },
    Scenario(
      "join.full", "A full room refuses, once, and takes somebody again when there is a seat.", proves: "laws 3 and 6",
      troubles: [.limit(people: 2)]
    ) { story in
      story.place.cause(.limit(people: 2))
      let (ana, ben) = try await story.two()
      let cleo = try story.person("Cleo")
      try cleo.join()
      try await story.until("Cleo is refused") { cleo.isOver }
      try story.expect("she never was connected", story.count(.connected, to: cleo) == 0)
      try story.expect("nobody heard of her", story.count(.joined, to: ana) == 1)
      ben.leave()
      try await story.until("Ben is out") { ben.isOver && ana.others.isEmpty }
      let dan = try await story.joined("Dan")
      try await story.until("Ana sees Dan") { ana.sees(dan)?.isMoving == true }
    },
    Scenario(
      "roster.attributes", "What somebody came in with is known to those who are there and to those who come.",
      proves: "law 7", needs: [.attributes]
    ) { story in
      let (ana, ben) = try await story.two()
      for (viewer, other) in [(ana, ben), (ben, ana)] {
        try await story.until("\(viewer.name) reads it of \(other.name)") {
          viewer.sees(other)?.attributes == Roster.attributes(of: other.name)
        }
      }
    },
    Scenario(
      "join.other-rooms-token", "A token for another room is refused, with an error, once.", proves: "laws 3 and 6",
      first: [.tokenRoom], isAlone: true
    ) { story in try await refused(.elsewhere, story) },
    Scenario(
      "join.expired-token", "An expired token is refused, with an error, once.", proves: "laws 3 and 6",
      first: [.tokens], isAlone: true
    ) { story in try await refused(.expired, story) },
    Scenario(
      "join.mangled-token", "What is no token at all is refused, with an error, once.", proves: "laws 3 and 6",
      first: [.tokenForm], isAlone: true
    ) { story in try await refused(.mangled, story) },
  ]

  @MainActor
  private static func refused(_ papers: Papers, _ story: Story) async throws {
    do {
      let ana = try story.person("Ana", papers: papers)
      try ana.join()
      try await story.until("Ana is refused") { ana.isOver }
      try story.expect("she never was connected", story.count(.connected, to: ana) == 0)
    } catch let broken as Story.Broken {
      throw broken
    } catch {
      // Some styles say it at once: making the entry object, or joining, throws.
    }
    let ben = try await story.joined("Ben", style: story.people.first?.style)
    try story.expect("the room knows nothing of her", ben.others.isEmpty)
  }
}
