extension Scenario {
  static let muting: [Scenario] = [
    Scenario("mute.seen", "A microphone that is muted is seen to be.", proves: "laws 1 and 7") { story in
      let (ana, ben) = try await story.two()
      try await story.until("he is not, at first") { ana.sees(ben)?.isMicrophoneMuted == false }
      ben.setMicrophoneMuted(true)
      try await story.until("Ana is told") { ana.sees(ben)?.isMicrophoneMuted == true }
      try story.expect("his picture is still there", ana.sees(ben)?.hasPicture == true)
    },
    Scenario("mute.undone", "A microphone that is unmuted is seen to be.", proves: "laws 1 and 7") { story in
      let (ana, ben) = try await story.two()
      ben.setMicrophoneMuted(true)
      try await story.until("Ana is told of the silence") { ana.sees(ben)?.isMicrophoneMuted == true }
      ben.setMicrophoneMuted(false)
      try await story.until("Ana is told of its end") { ana.sees(ben)?.isMicrophoneMuted == false }
    },
    Scenario("mute.late-joiner", "Who comes late sees who is muted.", proves: "law 7") { story in
      let ana = try await story.joined("Ana")
      await story.run(milliseconds: 200)
      ana.setMicrophoneMuted(true)
      await story.run(milliseconds: 500)
      let ben = try await story.joined("Ben")
      try await story.until("Ben sees that Ana is muted") { ben.sees(ana)?.isMicrophoneMuted == true }
      ana.setMicrophoneMuted(false)
      try await story.until("and that she no longer is") { ben.sees(ana)?.isMicrophoneMuted == false }
    },
    Scenario("mute.own-only", "One person's silence is nobody else's.", proves: "law 7") { story in
      let (ana, ben) = try await story.two()
      let cleo = try await story.joined("Cleo")
      try await story.until("Cleo knows both") { cleo.knows(ana) && cleo.knows(ben) }
      try await story.until("nobody is muted") {
        cleo.sees(ana)?.isMicrophoneMuted == false && cleo.sees(ben)?.isMicrophoneMuted == false
      }
      ben.setMicrophoneMuted(true)
      try await story.until("Cleo sees Ben's") { cleo.sees(ben)?.isMicrophoneMuted == true }
      try await story.always("and not Ana's", for: 300) { cleo.sees(ana)?.isMicrophoneMuted == false }
    },
    Scenario("mute.flood", "After a hundred changes all agree on the last.", proves: "law 7") { story in
      let (ana, ben) = try await story.two()
      for turn in 0..<101 {
        ben.setMicrophoneMuted(turn.isMultiple(of: 2))
        if turn.isMultiple(of: 10) { await story.run(milliseconds: 20) }
      }
      await story.run(milliseconds: 2_000)  // for all of them to have come, on slow links too
      try await story.always("Ana sees that Ben is muted", for: 300) { ana.sees(ben)?.isMicrophoneMuted == true }
    },
  ]

  static let speaking: [Scenario] = [
    Scenario("speak.heard", "Who alone speaks is told to be speaking.", proves: "DESIGN, levels") { story in
      let (ana, ben) = try await story.two()
      ana.setMicrophoneMuted(true)
      try await story.until("Ana hears Ben") { story.count(.speaking, to: ana, of: ben) > 0 }
    },
    Scenario("speak.silence", "Who is muted is not told to be speaking.", proves: "DESIGN, levels") { story in
      let (ana, ben) = try await story.two()
      ana.setMicrophoneMuted(true)
      try await story.until("Ana hears Ben") { story.count(.speaking, to: ana, of: ben) > 0 }
      ben.setMicrophoneMuted(true)
      await story.run(milliseconds: 1_500)
      let times = story.count(.speaking, to: ana, of: ben)
      await story.run(milliseconds: 1_500)
      try story.expect("nothing more of Ben", story.count(.speaking, to: ana, of: ben) == times)
    },
    Scenario("speak.in-turn", "First one speaks, then the other, and a third hears both.", proves: "DESIGN, levels") {
      story in
      let (ana, ben) = try await story.two()
      let cleo = try await story.joined("Cleo")
      cleo.setMicrophoneMuted(true)
      ben.setMicrophoneMuted(true)
      try await story.until("Cleo hears Ana") { story.count(.speaking, to: cleo, of: ana) > 0 }
      ana.setMicrophoneMuted(true)
      await story.run(milliseconds: 500)
      ben.setMicrophoneMuted(false)
      let times = story.count(.speaking, to: cleo, of: ben)
      try await story.until("Cleo hears Ben") { story.count(.speaking, to: cleo, of: ben) > times }
    },
  ]
}
