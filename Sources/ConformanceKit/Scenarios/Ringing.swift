extension Scenario {
  /// Ana and Ben, signed in.
  @MainActor
  private static func signedIn(_ context: ScenarioContext) async throws -> (any Driver, any Driver) {
    let (ana, ben) = (try context.person("Ana"), try context.person("Ben"))
    for driver in [ana, ben] {
      driver.signIn()
      try await context.until("\(driver.name) is signed in") { driver.isReachable }
    }
    return (ana, ben)
  }

  static let ringing: [Scenario] = [
    Scenario("ring.accept", "Ana calls, Ben answers, they see each other.", proves: "call-agent 13", needs: [.ringing])
    {
      context in
      let (ana, ben) = try await signedIn(context)
      ana.ring([ben.id])
      try await context.until("it rings") { ben.isRung }
      ben.answer(true)
      try await context.until("both are in the call") { ana.isConnected && ben.isConnected }
      try await context.until("they see each other") {
        ana.sees(ben)?.isMoving == true && ben.sees(ana)?.isMoving == true
      }
      try context.expect("it no longer rings", !ben.isRung)
    },
    Scenario("ring.decline", "Ana calls, Ben declines.", proves: "call-agent 13", needs: [.ringing]) { context in
      let (ana, ben) = try await signedIn(context)
      ana.ring([ben.id])
      try await context.until("it rings") { ben.isRung }
      ben.answer(false)
      try await context.until("Ana's call is over") { ana.isOver }
      try await context.until("it no longer rings") { !ben.isRung }
      try context.expect("Ben was in no call", context.count(.connected, to: ben) == 0)
    },
    Scenario("ring.cancel", "Ana calls and thinks better of it.", proves: "call-agent 13", needs: [.ringing]) {
      context in
      let (ana, ben) = try await signedIn(context)
      ana.ring([ben.id])
      try await context.until("it rings") { ben.isRung }
      ana.cancel()
      try await context.until("it no longer rings") { !ben.isRung }
      try await context.until("Ana's call is over") { ana.isOver }
    },
    Scenario("ring.nobody", "Ana calls an identity that is not registered.", proves: "call-agent 13", first: [.ringing])
    {
      context in
      let ana = try context.person("Ana")
      ana.signIn()
      try await context.until("Ana is signed in") { ana.isReachable }
      ana.ring(["8:acs:nobody"])
      try await context.until("Ana's call is over") { ana.isOver }
    },
    Scenario(
      "ring.unanswered", "Ana calls, and Ben does nothing.", proves: "call-agent 13", needs: [.ringing], isLong: true
    ) { context in
      let (ana, ben) = try await signedIn(context)
      ana.ring([ben.id])
      try await context.until("it rings") { ben.isRung }
      try await context.until("Ana's call is over", within: 120_000) { ana.isOver }
      try await context.until("it no longer rings") { !ben.isRung }
    },
    Scenario(
      "ring.busy", "Who is in a call and takes another one is busy, and their call goes on.", proves: "call-agent 13",
      needs: [.ringing]
    ) { context in
      let (ana, ben) = try await signedIn(context)
      let cleo = try context.person("Cleo")
      cleo.signIn()
      try await context.until("Cleo is signed in") { cleo.isReachable }
      ana.ring([ben.id])
      try await context.until("it rings") { ben.isRung }
      ben.answer(true)
      try await context.until("they see each other") {
        ana.sees(ben)?.isMoving == true && ben.sees(ana)?.isMoving == true
      }
      cleo.ring([ben.id])
      try await context.until("it rings again") { ben.isRung }
      ben.answer(true)
      try await context.until("Cleo's call is over") { cleo.isOver }
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await context.until("theirs goes on") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
      try context.expect("no app was notified of an end", context.count(.ended, to: ben) == 0)
    },
    Scenario(
      "ring.crossed-declined", "Two ring each other at once, and both say no.", proves: "call-agent 13",
      needs: [.ringing]
    ) { context in
      let (ana, ben) = try await signedIn(context)
      ana.ring([ben.id])
      ben.ring([ana.id])
      try await context.until("it rings at both") { ana.isRung && ben.isRung }
      ana.answer(false)
      ben.answer(false)
      try await context.until("both calls are over") { ana.isOver && ben.isOver }
      try context.expect(
        "no participant was in a call", context.count(.connected, to: ana) + context.count(.connected, to: ben) == 0)
    },
    Scenario("ring.hang-up", "Ben hangs up, and Ana sees him go.", proves: "call-agent 13", needs: [.ringing]) {
      context in
      let (ana, ben) = try await signedIn(context)
      ana.ring([ben.id])
      try await context.until("it rings") { ben.isRung }
      ben.answer(true)
      try await context.until("they see each other") {
        ana.sees(ben)?.isMoving == true && ben.sees(ana)?.isMoving == true
      }
      ben.leave()
      try await context.until("Ben is out") { ben.isOver }
      try await context.until("Ana knows no participant, or is out too") { ana.isOver || ana.others.isEmpty }
    },
  ]
}
