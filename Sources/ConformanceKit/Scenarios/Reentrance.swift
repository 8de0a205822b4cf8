extension Scenario {
  /// Calls from inside callbacks, and from other threads.
  static let reentrance: [Scenario] = [
    Scenario(
      "inside.deeds", "Calls that an app makes inside a callback about a participant take effect.",
      proves: "laws 2 and 6"
    ) { context in
      let ana = try await context.joined("Ana")
      ana.recorder.whenRecorded = { [weak ana] callback in
        guard let ana, callback == .joined else { return }
        ana.setMicrophoneMuted(true)
        ana.setCameraOn(false)
      }
      let ben = try await context.joined("Ben")
      try await context.until("Ben sees what she did") {
        ben.sees(ana)?.isMicrophoneMuted == true && ben.sees(ana)?.hasPicture == false
      }
      try await context.until("Ana sees Ben") { ana.sees(ben)?.isMoving == true }
    },
    Scenario(
      "inside.message", "Who answers from inside the callback that tells of a message is heard, once.",
      proves: "laws 2 and 3", needs: [.messages]
    ) { context in
      let (ana, ben) = try await context.two()
      ana.recorder.whenRecorded = { [weak ana] callback in
        if callback == .message { try? ana?.sendMessage("pong", lifetime: nil) }
      }
      try ben.sendMessage("ping", lifetime: nil)
      try await context.until("Ben hears the answer") { ben.heard == [ObservedMessage(sender: ana.id, text: "pong")] }
      try await context.always("once", for: 300) { ben.heard.count == 1 && ana.heard.count == 1 }
    },
    Scenario(
      "inside.leave", "Who leaves from inside a callback is out, and is told the end once.", proves: "laws 3 and 5"
    ) { context in
      let ana = try await context.joined("Ana")
      ana.recorder.whenRecorded = { [weak ana] callback in if callback == .pictureOn { ana?.leave() } }
      let ben = try await context.joined("Ben")
      try await context.until("Ana is out") { ana.isOver }
      try await context.until("Ben sees it") { ben.others.isEmpty }
      try context.expect("told once", context.count(.ended, to: ana) == 1)
    },
    Scenario(
      "inside.leave-when-connected", "Who leaves from inside the callback that says they are in, is out.",
      proves: "laws 3 and 5"
    ) { context in
      let ana = try await context.joined("Ana")
      let ben = try context.person("Ben")
      ben.recorder.whenRecorded = { [weak ben] callback in if callback == .connected { ben?.leave() } }
      try ben.join()
      try await context.until("Ben is out") { ben.isOver }
      try await context.until("Ana knows no participant") { ana.others.isEmpty }
    },
    Scenario("thread.mute", "It does not matter on what thread an app says something.", proves: "law 6") { context in
      let (ana, ben) = try await context.two()
      await ben.muteFromAnotherThread(true)
      try await context.until("Ana is told of the silence") { ana.sees(ben)?.isMicrophoneMuted == true }
      await ben.muteFromAnotherThread(false)
      try await context.until("and of its end") { ana.sees(ben)?.isMicrophoneMuted == false }
    },
    Scenario(
      "thread.flood", "Two hundred times from other threads and from the main one, and all agree on the last.",
      proves: "laws 6 and 7"
    ) { context in
      let (ana, ben) = try await context.two()
      for turn in 0..<100 {
        ben.setMicrophoneMuted(turn.isMultiple(of: 2))
        await ben.muteFromAnotherThread(!turn.isMultiple(of: 2))
        if turn.isMultiple(of: 10) { await context.run(milliseconds: 20) }
      }
      await ben.muteFromAnotherThread(true)
      await context.run(milliseconds: 2_000)
      try await context.until("Ana sees that Ben is muted") { ana.sees(ben)?.isMicrophoneMuted == true }
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await context.until("and sees him") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
  ]
}
