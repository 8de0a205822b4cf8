extension Scenario {
  static let network: [Scenario] = [
    Scenario(
      "network.short-gap", "After an outage of three seconds all participants are still there.",
      proves: "DESIGN, reconnection",
      faults: [.gap(of: "ana", milliseconds: 3_000)]
    ) { context in
      let (ana, ben) = try await context.two()
      context.environment.inject(.gap(of: ana.id, milliseconds: 3_000))
      await context.run(milliseconds: 3_500)
      try await goesOn(ana, ben, in: context)
      try context.expect("no app was notified of a leave", context.count(.left, to: ben) == 0)
    },
    Scenario(
      "network.facts-in-a-gap", "What happened meanwhile is told afterwards, once.", proves: "law 7",
      faults: [.gap(of: "ana", milliseconds: 3_000)]
    ) { context in
      let (ana, ben) = try await context.two()
      context.environment.inject(.gap(of: ana.id, milliseconds: 3_000))
      await context.run(milliseconds: 500)
      ben.setMicrophoneMuted(true)
      let cleo = try await context.joined("Cleo")
      await context.run(milliseconds: 3_000)
      try await context.until("Ana knows of it all", within: 15_000) {
        ana.sees(ben)?.isMicrophoneMuted == true && ana.knows(cleo)
      }
      try context.expect("once", context.count(.joined, to: ana, of: cleo) == 1)
    },
    Scenario(
      "network.long-gap", "Twenty-five seconds of nothing, and the call goes on.", proves: "DESIGN, reconnection",
      isLong: true, faults: [.gap(of: "ana", milliseconds: 25_000)]
    ) { context in
      let (ana, ben) = try await context.two()
      context.environment.inject(.gap(of: ana.id, milliseconds: 25_000))
      await context.run(milliseconds: 26_000)
      try await goesOn(ana, ben, in: context)
      try context.expect("no app was notified of a leave", context.count(.left, to: ben) == 0)
    },
    Scenario(
      "network.new-address", "Somebody goes from one network to another, and the call goes on.",
      proves: "DESIGN, reconnection", faults: [.addressChange(of: "ana")]
    ) { context in
      let (ana, ben) = try await context.two()
      context.environment.inject(.addressChange(of: ana.id))
      await context.run(milliseconds: 500)
      try await goesOn(ana, ben, in: context)
      try context.expect("no app was notified of a leave", context.count(.left, to: ben) == 0)
    },
    Scenario(
      "network.restart", "The room's server forgets everything, and all find each other again.",
      proves: "DESIGN, reconnection", isLong: true, faults: [.routerRestart]
    ) { context in
      let (ana, ben) = try await context.two()
      ben.setMicrophoneMuted(true)
      try await context.until("Ana sees that Ben is muted") { ana.sees(ben)?.isMicrophoneMuted == true }
      context.environment.inject(.routerRestart)
      await context.run(milliseconds: 1_000)
      try await goesOn(ana, ben, in: context)
      try await context.allAgree()
      try await context.until("Ben still is muted") { ana.sees(ben)?.isMicrophoneMuted == true }
    },
    Scenario(
      "network.message-in-a-gap", "What was said meanwhile is heard afterwards, once.", proves: "law 3",
      needs: [.messages], faults: [.gap(of: "ana", milliseconds: 3_000)]
    ) { context in
      let (ana, ben) = try await context.two()
      context.environment.inject(.gap(of: ana.id, milliseconds: 3_000))
      await context.run(milliseconds: 500)
      for number in 0..<5 {
        try ben.sendMessage("\(number)", lifetime: nil)
        await context.run(milliseconds: 100)
      }
      try await context.until("Ana has heard all", within: 20_000) { ana.heard.count >= 5 }
      try context.expect("in order, once", ana.heard.map(\.text) == (0..<5).map(String.init))
    },
    Scenario(
      "network.gone", "Who is away for good has left for the others, and is told the end.",
      proves: "DESIGN, reconnection", isLong: true, faults: [.gap(of: "ana", milliseconds: 240_000)]
    ) { context in
      let (ana, ben) = try await context.two()
      context.environment.inject(.gap(of: ana.id, milliseconds: 240_000))
      for person in [ana, ben] {  // minutes of pictures would prove nothing more
        person.setCameraOn(false)
        person.setMicrophoneMuted(true)
      }
      try await context.until("Ben sees that she is gone", within: 60_000) { ben.others.isEmpty }
      // Chime tries for 180 s by default, longer than the other vendors.
      try await context.until("Ana is told the end", within: 200_000) { ana.isOver }
    },
  ]

  @MainActor
  private static func goesOn(_ ana: any Driver, _ ben: any Driver, in context: ScenarioContext) async throws {
    let pictures = (ana.sees(ben)?.pictures ?? 0, ben.sees(ana)?.pictures ?? 0)
    try await context.until("they see each other again", within: 20_000) {
      (ana.sees(ben)?.pictures ?? 0) > pictures.0 + 5 && (ben.sees(ana)?.pictures ?? 0) > pictures.1 + 5
    }
  }
}
