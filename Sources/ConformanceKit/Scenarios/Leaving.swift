extension Scenario {
  static let leaving: [Scenario] = [
    Scenario("leave.seen", "Who leaves is seen to leave, once.", proves: "laws 3, 4 and 7") { context in
      let (ana, ben) = try await context.two()
      ben.leave()
      try await context.until("Ben is out") { ben.isOver }
      try await context.until("Ana sees it") { !ana.knows(ben) }
      await context.run(milliseconds: 300)
      try context.expect("told once", context.count(.left, to: ana, of: ben) == 1)
      try context.expect("Ana is still there", ana.isConnected)
    },
    Scenario("leave.last", "The room continues without its first participants.", proves: "law 7") { context in
      let (ana, ben) = try await context.two()
      ana.leave()
      try await context.until("Ben sees it") { ben.others.isEmpty }
      let cleo = try await context.joined("Cleo")
      try await context.until("Ben and Cleo see each other") {
        ben.sees(cleo)?.isMoving == true && cleo.sees(ben)?.isMoving == true
      }
    },
    Scenario("leave.at-once", "Everybody leaves at once.", proves: "laws 3 and 5") { context in
      for name in ["Ana", "Ben", "Cleo", "Dan"] { _ = try await context.joined(name) }
      let all = context.people
      for driver in all { driver.leave() }
      for driver in all { try await context.until("\(driver.name) is out") { driver.isOver } }
      await context.run(milliseconds: 300)
      for driver in all { try context.expect("\(driver.name) was told once", context.count(.ended, to: driver) <= 1) }
    },
    Scenario("leave.connecting", "Who leaves while still entering, is out.", proves: "laws 3 and 5") { context in
      let ana = try await context.joined("Ana")
      let ben = try context.person("Ben")
      try ben.join()
      ben.leave()
      try await context.until("Ben is out") {
        !ben.isConnected && (ben.isOver || context.count(.connected, to: ben) == 0)
      }
      await context.run(milliseconds: 1_000)
      try context.expect("Ben is not in the room", !ben.isConnected)
      try await context.until("Ana knows no participant") { ana.others.isEmpty }
    },
    Scenario("leave.before", "Leaving without having entered harms nothing.", proves: "law 6") { context in
      let ana = try await context.joined("Ana")
      let ben = try context.person("Ben")
      ben.leave()
      try await context.always("no app is notified", for: 500) { ana.others.isEmpty && !ben.isConnected }
    },
    Scenario("leave.twice", "Leaving twice is leaving once.", proves: "laws 3 and 5") { context in
      let (ana, ben) = try await context.two()
      ben.leave()
      ben.leave()
      try await context.until("Ben is out") { ben.isOver }
      ben.leave()
      await context.run(milliseconds: 500)
      try context.expect("Ana was told once", context.count(.left, to: ana, of: ben) == 1)
      try context.expect("Ben was told once", context.count(.ended, to: ben) <= 1)
    },
    Scenario(
      "leave.dropped", "An app that releases everything while connected has left, and is told nothing.", proves: "law 4"
    ) { context in
      let (ana, ben) = try await context.two()
      // Devices that an app still holds may go on measuring sound for a moment.
      @MainActor func told() -> Int { ben.recorder.entries.count { $0.callback != .speaking } }
      let before = told()
      context.drop(ben)
      try await context.until("Ana sees it", within: 2_000) { ana.others.isEmpty }
      await context.run(milliseconds: 500)
      try context.expect("Ben was told nothing", told() == before)
    },
    Scenario(
      "leave.released", "An app that leaves and releases everything at once is told of the end.", proves: "laws 3 and 4"
    ) { context in
      let (ana, ben) = try await context.two()
      ben.leave()
      context.drop(ben)
      try await context.until("Ana sees it", within: 2_000) { ana.others.isEmpty }
      await context.run(milliseconds: 500)
      try context.expect("Ben was told of his end once", context.count(.ended, to: ben) == 1)
    },
    Scenario("leave.and-return", "A participant that has left can join again, as a new participant.", proves: "law 4") {
      context in
      let (ana, ben) = try await context.two()
      ben.leave()
      try await context.until("Ben is out") { ben.isOver && ana.others.isEmpty }
      let again = try context.person("Ben", style: ben.style)
      try again.join()
      try await context.until("Ben is back") { again.isConnected }
      try await context.until("they see each other") {
        ana.sees(again)?.isMoving == true && again.sees(ana)?.isMoving == true
      }
      try context.expect("announced twice", context.count(.joined, to: ana, of: ben) == 2)
    },
  ]

  static let misuse: [Scenario] = [
    Scenario("misuse.join-twice", "Joining twice is an error or nothing, and harms nothing.", proves: "law 6") {
      context in
      let (ana, ben) = try await context.two()
      try? ben.join()
      await context.run(milliseconds: 500)
      await context.passInterruption()
      try context.expect("Ben is still there", ben.isConnected)
      try await context.allAgree()
      try context.expect("he was announced once", context.count(.joined, to: ana, of: ben) == 1)
    },
    Scenario("misuse.after-the-end", "Whatever is asked after the end harms nothing.", proves: "laws 5 and 6") {
      context in
      let (ana, ben) = try await context.two()
      ben.leave()
      try await context.until("Ben is out") { ben.isOver && ana.others.isEmpty }
      ben.setMicrophoneMuted(true)
      ben.setMicrophoneMuted(false)
      ben.setCameraOn(false)
      ben.setCameraOn(true)
      if ben.inexpressible[.messages] == nil { try? ben.sendMessage("from beyond", lifetime: nil) }
      try await context.always("Ben stays out", for: 800) { ana.others.isEmpty && ana.heard.isEmpty }
    },
    Scenario("misuse.before-the-start", "Whatever is asked before joining harms nothing.", proves: "law 6") { context in
      let ana = try await context.joined("Ana")
      let ben = try context.person("Ben")
      ben.setMicrophoneMuted(true)
      ben.setMicrophoneMuted(false)
      if ben.inexpressible[.messages] == nil { try? ben.sendMessage("too early", lifetime: nil) }
      await context.run(milliseconds: 200)
      try ben.join()
      try await context.until("they see each other") {
        ana.sees(ben)?.isMoving == true && ben.sees(ana)?.isMoving == true
      }
      try context.expect("Ana heard nothing", ana.heard.isEmpty)
    },
    Scenario("misuse.thousand-calls", "A thousand calls in a second, and the call goes on.", proves: "law 6") {
      context in
      let (ana, ben) = try await context.two()
      for turn in 0..<1_000 {
        ben.setMicrophoneMuted(turn.isMultiple(of: 2))
        if turn.isMultiple(of: 20) { await context.run(milliseconds: 20) }
      }
      await context.run(milliseconds: 2_000)
      try await context.until("Ana sees that Ben speaks") { ana.sees(ben)?.isMicrophoneMuted == false }
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await context.until("and sees him") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
    Scenario(
      "misuse.strangers", "Ids of unknown participants have no effect.", proves: "law 6", first: [.interest]
    ) { context in
      let (ana, ben) = try await context.two()
      ana.want(.sound, from: "nobody")
      ana.want(.everything, from: "nobody")
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await context.until("Ana still sees Ben") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
  ]
}
