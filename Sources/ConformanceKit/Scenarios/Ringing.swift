extension Scenario {
  /// Ana and Ben, signed in.
  @MainActor
  private static func signedIn(_ story: Story) async throws -> (any Driver, any Driver) {
    let (ana, ben) = (try story.person("Ana"), try story.person("Ben"))
    for driver in [ana, ben] {
      driver.signIn()
      try await story.until("\(driver.name) is signed in") { driver.isReachable }
    }
    return (ana, ben)
  }

  static let ringing: [Scenario] = [
    Scenario("ring.accept", "Ana calls, Ben answers, they see each other.", proves: "call-agent 13", needs: [.ringing])
    {
      story in
      let (ana, ben) = try await signedIn(story)
      ana.ring([ben.id])
      try await story.until("it rings") { ben.isRung }
      ben.answer(true)
      try await story.until("both are in the call") { ana.isConnected && ben.isConnected }
      try await story.until("they see each other") {
        ana.sees(ben)?.isMoving == true && ben.sees(ana)?.isMoving == true
      }
      try story.expect("it no longer rings", !ben.isRung)
    },
    Scenario("ring.decline", "Ana calls, Ben declines.", proves: "call-agent 13", needs: [.ringing]) { story in
      let (ana, ben) = try await signedIn(story)
      ana.ring([ben.id])
      try await story.until("it rings") { ben.isRung }
      ben.answer(false)
      try await story.until("Ana's call is over") { ana.isOver }
      try await story.until("it no longer rings") { !ben.isRung }
      try story.expect("Ben was in no call", story.count(.connected, to: ben) == 0)
    },
    Scenario("ring.cancel", "Ana calls and thinks better of it.", proves: "call-agent 13", needs: [.ringing]) { story in
      let (ana, ben) = try await signedIn(story)
      ana.ring([ben.id])
      try await story.until("it rings") { ben.isRung }
      ana.cancel()
      try await story.until("it no longer rings") { !ben.isRung }
      try await story.until("Ana's call is over") { ana.isOver }
    },
    Scenario("ring.nobody", "Ana calls somebody who is not there.", proves: "call-agent 13", first: [.ringing]) {
      story in
      let ana = try story.person("Ana")
      ana.signIn()
      try await story.until("Ana is signed in") { ana.isReachable }
      ana.ring(["8:acs:nobody"])
      try await story.until("Ana's call is over") { ana.isOver }
    },
    Scenario(
      "ring.unanswered", "Ana calls, and Ben does nothing.", proves: "call-agent 13", needs: [.ringing], isLong: true
    ) { story in
      let (ana, ben) = try await signedIn(story)
      ana.ring([ben.id])
      try await story.until("it rings") { ben.isRung }
      try await story.until("Ana's call is over", within: 120_000) { ana.isOver }
      try await story.until("it no longer rings") { !ben.isRung }
    },
    Scenario(
      "ring.busy", "Who is in a call and takes another one is busy, and their call goes on.", proves: "call-agent 13",
      needs: [.ringing]
    ) { story in
      let (ana, ben) = try await signedIn(story)
      let cleo = try story.person("Cleo")
      cleo.signIn()
      try await story.until("Cleo is signed in") { cleo.isReachable }
      ana.ring([ben.id])
      try await story.until("it rings") { ben.isRung }
      ben.answer(true)
      try await story.until("they see each other") {
        ana.sees(ben)?.isMoving == true && ben.sees(ana)?.isMoving == true
      }
      cleo.ring([ben.id])
      try await story.until("it rings again") { ben.isRung }
      ben.answer(true)
      try await story.until("Cleo's call is over") { cleo.isOver }
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await story.until("theirs goes on") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
      try story.expect("nobody was told of an end", story.count(.ended, to: ben) == 0)
    },
    Scenario(
      "ring.crossed-declined", "Two ring each other at once, and both say no.", proves: "call-agent 13",
      needs: [.ringing]
    ) { story in
      let (ana, ben) = try await signedIn(story)
      ana.ring([ben.id])
      ben.ring([ana.id])
      try await story.until("it rings at both") { ana.isRung && ben.isRung }
      ana.answer(false)
      ben.answer(false)
      try await story.until("both calls are over") { ana.isOver && ben.isOver }
      try story.expect(
        "nobody was in a call", story.count(.connected, to: ana) + story.count(.connected, to: ben) == 0)
    },
    Scenario("ring.hang-up", "Ben hangs up, and Ana sees him go.", proves: "call-agent 13", needs: [.ringing]) {
      story in
      let (ana, ben) = try await signedIn(story)
      ana.ring([ben.id])
      try await story.until("it rings") { ben.isRung }
      ben.answer(true)
      try await story.until("they see each other") {
        ana.sees(ben)?.isMoving == true && ben.sees(ana)?.isMoving == true
      }
      ben.leave()
      try await story.until("Ben is out") { ben.isOver }
      try await story.until("Ana knows nobody, or is out too") { ana.isOver || ana.others.isEmpty }
    },
  ]
}
