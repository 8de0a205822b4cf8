extension Scenario {
  static let muting: [Scenario] = [
    Scenario("mute.seen", "A microphone that is muted is seen to be.", proves: "laws 1 and 7") { context in
      let (ana, ben) = try await context.two()
      try await context.until("he is not, at first") { ana.sees(ben)?.isMicrophoneMuted == false }
      ben.setMicrophoneMuted(true)
      try await context.until("Ana is told") { ana.sees(ben)?.isMicrophoneMuted == true }
      try context.expect("his picture is still there", ana.sees(ben)?.hasPicture == true)
    },
    Scenario("mute.undone", "A microphone that is unmuted is seen to be.", proves: "laws 1 and 7") { context in
      let (ana, ben) = try await context.two()
      ben.setMicrophoneMuted(true)
      try await context.until("Ana is told of the silence") { ana.sees(ben)?.isMicrophoneMuted == true }
      ben.setMicrophoneMuted(false)
      try await context.until("Ana is told of its end") { ana.sees(ben)?.isMicrophoneMuted == false }
    },
    Scenario("mute.late-joiner", "A late joiner sees which participants are muted.", proves: "law 7") { context in
      let ana = try await context.joined("Ana")
      await context.run(milliseconds: 200)
      ana.setMicrophoneMuted(true)
      await context.run(milliseconds: 500)
      let ben = try await context.joined("Ben")
      try await context.until("Ben sees that Ana is muted") { ben.sees(ana)?.isMicrophoneMuted == true }
      ana.setMicrophoneMuted(false)
      try await context.until("and that she no longer is") { ben.sees(ana)?.isMicrophoneMuted == false }
    },
    Scenario("mute.own-only", "Muting one participant does not mute another.", proves: "law 7") { context in
      let (ana, ben) = try await context.two()
      let cleo = try await context.joined("Cleo")
      try await context.until("Cleo knows both") { cleo.knows(ana) && cleo.knows(ben) }
      try await context.until("no participant is muted") {
        cleo.sees(ana)?.isMicrophoneMuted == false && cleo.sees(ben)?.isMicrophoneMuted == false
      }
      ben.setMicrophoneMuted(true)
      try await context.until("Cleo sees Ben's") { cleo.sees(ben)?.isMicrophoneMuted == true }
      try await context.always("and not Ana's", for: 300) { cleo.sees(ana)?.isMicrophoneMuted == false }
    },
    Scenario("mute.flood", "After a hundred changes all agree on the last.", proves: "law 7") { context in
      let (ana, ben) = try await context.two()
      for turn in 0..<101 {
        ben.setMicrophoneMuted(turn.isMultiple(of: 2))
        if turn.isMultiple(of: 10) { await context.run(milliseconds: 20) }
      }
      await context.run(milliseconds: 2_000)  // for all of them to have come, on slow links too
      try await context.always("Ana sees that Ben is muted", for: 300) { ana.sees(ben)?.isMicrophoneMuted == true }
    },
  ]

  static let speaking: [Scenario] = [
    Scenario("speak.heard", "Who alone speaks is told to be speaking.", proves: "DESIGN, levels") { context in
      let (ana, ben) = try await context.two()
      ana.setMicrophoneMuted(true)
      try await context.until("Ana hears Ben") { context.count(.speaking, to: ana, of: ben) > 0 }
    },
    Scenario("speak.silence", "Who is muted is not told to be speaking.", proves: "DESIGN, levels") { context in
      let (ana, ben) = try await context.two()
      ana.setMicrophoneMuted(true)
      try await context.until("Ana hears Ben") { context.count(.speaking, to: ana, of: ben) > 0 }
      ben.setMicrophoneMuted(true)
      await context.run(milliseconds: 1_500)
      let times = context.count(.speaking, to: ana, of: ben)
      await context.run(milliseconds: 1_500)
      try context.expect("nothing more of Ben", context.count(.speaking, to: ana, of: ben) == times)
    },
    Scenario("speak.in-turn", "First one speaks, then the other, and a third hears both.", proves: "DESIGN, levels") {
      context in
      let (ana, ben) = try await context.two()
      let cleo = try await context.joined("Cleo")
      cleo.setMicrophoneMuted(true)
      ben.setMicrophoneMuted(true)
      try await context.until("Cleo hears Ana") { context.count(.speaking, to: cleo, of: ana) > 0 }
      ana.setMicrophoneMuted(true)
      await context.run(milliseconds: 500)
      ben.setMicrophoneMuted(false)
      let times = context.count(.speaking, to: cleo, of: ben)
      try await context.until("Cleo hears Ben") { context.count(.speaking, to: cleo, of: ben) > times }
    },
  ]
}
