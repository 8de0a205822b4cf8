extension Scenario {
  static let leaving: [Scenario] = [
    Scenario("leave.seen", "Who leaves is seen to leave, once.", proves: "laws 3, 4 and 7") { story in
      let (ana, ben) = try await story.two()
      ben.leave()
      try await story.until("Ben is out") { ben.isOver }
      try await story.until("Ana sees it") { !ana.knows(ben) }
      await story.run(milliseconds: 300)
      try story.expect("told once", story.count(.left, to: ana, of: ben) == 1)
      try story.expect("Ana is still there", ana.isConnected)
    },
    Scenario("leave.last", "The room goes on without those who came first.", proves: "law 7") { story in
      let (ana, ben) = try await story.two()
      ana.leave()
      try await story.until("Ben sees it") { ben.others.isEmpty }
      let cleo = try await story.joined("Cleo")
      try await story.until("Ben and Cleo see each other") {
        ben.sees(cleo)?.isMoving == true && cleo.sees(ben)?.isMoving == true
      }
    },
    Scenario("leave.at-once", "Everybody leaves at once.", proves: "laws 3 and 5") { story in
      for name in ["Ana", "Ben", "Cleo", "Dan"] { _ = try await story.joined(name) }
      let all = story.people
      for driver in all { driver.leave() }
      for driver in all { try await story.until("\(driver.name) is out") { driver.isOver } }
      await story.run(milliseconds: 300)
      for driver in all { try story.expect("\(driver.name) was told once", story.count(.ended, to: driver) <= 1) }
    },
    Scenario("leave.connecting", "Who leaves while still entering, is out.", proves: "laws 3 and 5") { story in
      let ana = try await story.joined("Ana")
      let ben = try story.person("Ben")
      try ben.join()
      ben.leave()
      try await story.until("Ben is out") { !ben.isConnected && (ben.isOver || story.count(.connected, to: ben) == 0) }
      await story.run(milliseconds: 1_000)
      try story.expect("Ben is not in the room", !ben.isConnected)
      try await story.until("Ana knows nobody") { ana.others.isEmpty }
    },
    Scenario("leave.before", "Leaving without having entered harms nothing.", proves: "law 6") { story in
      let ana = try await story.joined("Ana")
      let ben = try story.person("Ben")
      ben.leave()
      try await story.always("nobody hears of it", for: 500) { ana.others.isEmpty && !ben.isConnected }
    },
    Scenario("leave.twice", "Leaving twice is leaving once.", proves: "laws 3 and 5") { story in
      let (ana, ben) = try await story.two()
      ben.leave()
      ben.leave()
      try await story.until("Ben is out") { ben.isOver }
      ben.leave()
      await story.run(milliseconds: 500)
      try story.expect("Ana was told once", story.count(.left, to: ana, of: ben) == 1)
      try story.expect("Ben was told once", story.count(.ended, to: ben) <= 1)
    },
    Scenario(
      "leave.dropped", "An app that releases everything while connected has left, and is told nothing.", proves: "law 4"
    ) { story in
      let (ana, ben) = try await story.two()
      // Devices that an app still holds may go on measuring sound for a moment.
      @MainActor func told() -> Int { ben.recorder.entries.count { $0.told != .speaking } }
      let before = told()
      story.drop(ben)
      try await story.until("Ana sees it", within: 2_000) { ana.others.isEmpty }
      await story.run(milliseconds: 500)
      try story.expect("Ben was told nothing", told() == before)
    },
    Scenario(
      "leave.released", "An app that leaves and releases everything at once is told of the end.", proves: "laws 3 and 4"
    ) { story in
      let (ana, ben) = try await story.two()
      ben.leave()
      story.drop(ben)
      try await story.until("Ana sees it", within: 2_000) { ana.others.isEmpty }
      await story.run(milliseconds: 500)
      try story.expect("Ben was told of his end once", story.count(.ended, to: ben) == 1)
    },
    Scenario("leave.and-return", "Who has left can come again, as somebody new.", proves: "law 4") { story in
      let (ana, ben) = try await story.two()
      ben.leave()
      try await story.until("Ben is out") { ben.isOver && ana.others.isEmpty }
      let again = try story.person("Ben", style: ben.style)
      try again.join()
      try await story.until("Ben is back") { again.isConnected }
      try await story.until("they see each other") {
        ana.sees(again)?.isMoving == true && again.sees(ana)?.isMoving == true
      }
      try story.expect("announced twice", story.count(.joined, to: ana, of: ben) == 2)
    },
  ]

  static let misuse: [Scenario] = [
    Scenario("misuse.join-twice", "Joining twice is an error or nothing, and harms nothing.", proves: "law 6") {
      story in
      let (ana, ben) = try await story.two()
      try? ben.join()
      await story.run(milliseconds: 500)
      try story.expect("Ben is still there", ben.isConnected)
      try await story.allAgree()
      try story.expect("he was announced once", story.count(.joined, to: ana, of: ben) == 1)
    },
    Scenario("misuse.after-the-end", "Whatever is asked after the end harms nothing.", proves: "laws 5 and 6") {
      story in
      let (ana, ben) = try await story.two()
      ben.leave()
      try await story.until("Ben is out") { ben.isOver && ana.others.isEmpty }
      ben.setMicrophoneMuted(true)
      ben.setMicrophoneMuted(false)
      ben.setCameraOn(false)
      ben.setCameraOn(true)
      if ben.inexpressible[.messages] == nil { try? ben.say("from beyond", lifetime: nil) }
      try await story.always("Ben stays out", for: 800) { ana.others.isEmpty && ana.heard.isEmpty }
    },
    Scenario("misuse.before-the-start", "Whatever is asked before joining harms nothing.", proves: "law 6") { story in
      let ana = try await story.joined("Ana")
      let ben = try story.person("Ben")
      ben.setMicrophoneMuted(true)
      ben.setMicrophoneMuted(false)
      if ben.inexpressible[.messages] == nil { try? ben.say("too early", lifetime: nil) }
      await story.run(milliseconds: 200)
      try ben.join()
      try await story.until("they see each other") {
        ana.sees(ben)?.isMoving == true && ben.sees(ana)?.isMoving == true
      }
      try story.expect("Ana heard nothing", ana.heard.isEmpty)
    },
    Scenario("misuse.thousand-calls", "A thousand calls in a second, and the call goes on.", proves: "law 6") { story in
      let (ana, ben) = try await story.two()
      for turn in 0..<1_000 {
        ben.setMicrophoneMuted(turn.isMultiple(of: 2))
        if turn.isMultiple(of: 20) { await story.run(milliseconds: 20) }
      }
      await story.run(milliseconds: 2_000)
      try await story.until("Ana sees that Ben speaks") { ana.sees(ben)?.isMicrophoneMuted == false }
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await story.until("and sees him") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
    Scenario(
      "misuse.strangers", "Names of people who are not there are no trouble.", proves: "law 6", first: [.interest]
    ) { story in
      let (ana, ben) = try await story.two()
      ana.want(.sound, from: "nobody")
      ana.want(.everything, from: "nobody")
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await story.until("Ana still sees Ben") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
  ]
}
