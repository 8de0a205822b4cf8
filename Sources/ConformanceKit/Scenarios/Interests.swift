extension Scenario {
  static let interests: [Scenario] = [
    Scenario(
      "want.sound-only", "Who wants only sound loses exactly the picture.", proves: "stage 12.2", first: [.interest]
    ) { context in
      let (ana, ben) = try await context.two()
      ana.want(.sound, from: ben.id)
      try await pictureEnds(of: ben, for: ana, in: context)
      try context.expect("she still knows him", ana.knows(ben))
      ana.setMicrophoneMuted(true)
      let times = context.count(.speaking, to: ana, of: ben)
      ben.setMicrophoneMuted(true)
      await context.run(milliseconds: 1_000)
      ben.setMicrophoneMuted(false)
      try await context.until("and hears him") { context.count(.speaking, to: ana, of: ben) > times }
    },
    Scenario("want.nothing", "Who wants nothing gets nothing.", proves: "stage 12.2", first: [.refusal]) { context in
      let (ana, ben) = try await context.two()
      ana.want(.nothing, from: ben.id)
      try await pictureEnds(of: ben, for: ana, in: context)
      try context.expect("she still knows him", ana.knows(ben))
    },
    Scenario("want.again", "Who wants everything again gets it.", proves: "stage 12.2", first: [.interest]) { context in
      let (ana, ben) = try await context.two()
      ana.want(.sound, from: ben.id)
      try await pictureEnds(of: ben, for: ana, in: context)
      let pictures = ana.sees(ben)?.pictures ?? 0
      ana.want(.everything, from: ben.id)
      try await context.until("Ana sees Ben again") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
    Scenario(
      "want.is-private", "What one does not want, another one still gets.", proves: "stage 12.2", first: [.interest]
    ) { context in
      let (ana, ben) = try await context.two()
      let cleo = try await context.joined("Cleo")
      try await context.until("Cleo sees Ben") { cleo.sees(ben)?.isMoving == true }
      ana.want(.sound, from: ben.id)
      try await pictureEnds(of: ben, for: ana, in: context)
      let pictures = cleo.sees(ben)?.pictures ?? 0
      try await context.until("Cleo still sees Ben") { (cleo.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
  ]

  @MainActor
  private static func pictureEnds(of other: any Driver, for viewer: any Driver, in context: ScenarioContext)
    async throws
  {
    await context.run(milliseconds: 800)
    let pictures = viewer.sees(other)?.pictures
    try await context.always("\(viewer.name) gets no picture of \(other.name)", for: 800) {
      viewer.sees(other)?.pictures == pictures
    }
  }
}
