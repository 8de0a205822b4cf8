extension Scenario {
  /// Calls from inside callbacks, and from other threads.
  static let reentrance: [Scenario] = [
    Scenario(
      "inside.deeds", "What an app does while it is being told of somebody, is done.", proves: "laws 2 and 6"
    ) { story in
      let ana = try await story.joined("Ana")
      ana.recorder.whenTold = { [weak ana] told in
        guard let ana, told == .joined else { return }
        ana.setMicrophoneMuted(true)
        ana.setCameraOn(false)
      }
      let ben = try await story.joined("Ben")
      try await story.until("Ben sees what she did") {
        ben.sees(ana)?.isMicrophoneMuted == true && ben.sees(ana)?.hasPicture == false
      }
      try await story.until("Ana sees Ben") { ana.sees(ben)?.isMoving == true }
    },
    Scenario(
      "inside.message", "Who answers from inside the callback that tells of a message is heard, once.",
      proves: "laws 2 and 3", needs: [.messages]
    ) { story in
      let (ana, ben) = try await story.two()
      ana.recorder.whenTold = { [weak ana] told in if told == .message { try? ana?.say("pong", lifetime: nil) } }
      try ben.say("ping", lifetime: nil)
      try await story.until("Ben hears the answer") { ben.heard == [Heard(sender: ana.id, text: "pong")] }
      try await story.always("once", for: 300) { ben.heard.count == 1 && ana.heard.count == 1 }
    },
    Scenario(
      "inside.leave", "Who leaves from inside a callback is out, and is told the end once.", proves: "laws 3 and 5"
    ) { story in
      let ana = try await story.joined("Ana")
      ana.recorder.whenTold = { [weak ana] told in if told == .pictureOn { ana?.leave() } }
      let ben = try await story.joined("Ben")
      try await story.until("Ana is out") { ana.isOver }
      try await story.until("Ben sees it") { ben.others.isEmpty }
      try story.expect("told once", story.count(.ended, to: ana) == 1)
    },
    Scenario(
      "inside.leave-when-connected", "Who leaves from inside the callback that says they are in, is out.",
      proves: "laws 3 and 5"
    ) { story in
      let ana = try await story.joined("Ana")
      let ben = try story.person("Ben")
      ben.recorder.whenTold = { [weak ben] told in if told == .connected { ben?.leave() } }
      try ben.join()
      try await story.until("Ben is out") { ben.isOver }
      try await story.until("Ana knows nobody") { ana.others.isEmpty }
    },
    Scenario("thread.mute", "It does not matter on what thread an app says something.", proves: "law 6") { story in
      let (ana, ben) = try await story.two()
      await ben.muteFromAnotherThread(true)
      try await story.until("Ana is told of the silence") { ana.sees(ben)?.isMicrophoneMuted == true }
      await ben.muteFromAnotherThread(false)
      try await story.until("and of its end") { ana.sees(ben)?.isMicrophoneMuted == false }
    },
    Scenario(
      "thread.flood", "Two hundred times from other threads and from the main one, and all agree on the last.",
      proves: "laws 6 and 7"
    ) { story in
      let (ana, ben) = try await story.two()
      for turn in 0..<100 {
        ben.setMicrophoneMuted(turn.isMultiple(of: 2))
        await ben.muteFromAnotherThread(!turn.isMultiple(of: 2))
        if turn.isMultiple(of: 10) { await story.run(milliseconds: 20) }
      }
      await ben.muteFromAnotherThread(true)
      await story.run(milliseconds: 2_000)
      try await story.until("Ana sees that Ben is muted") { ana.sees(ben)?.isMicrophoneMuted == true }
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await story.until("and sees him") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
  ]
}
