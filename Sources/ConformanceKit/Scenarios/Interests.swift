extension Scenario {
  static let interests: [Scenario] = [
    Scenario(
      "want.sound-only", "Who wants only sound loses exactly the picture.", proves: "stage 12.2", first: [.interest]
    ) { story in
      let (ana, ben) = try await story.two()
      ana.want(.sound, from: ben.id)
      try await pictureEnds(of: ben, for: ana, in: story)
      try story.expect("she still knows him", ana.knows(ben))
      ana.setMicrophoneMuted(true)
      let times = story.count(.speaking, to: ana, of: ben)
      ben.setMicrophoneMuted(true)
      await story.run(milliseconds: 1_000)
      ben.setMicrophoneMuted(false)
      try await story.until("and hears him") { story.count(.speaking, to: ana, of: ben) > times }
    },
    Scenario("want.nothing", "Who wants nothing gets nothing.", proves: "stage 12.2", first: [.refusal]) { story in
      let (ana, ben) = try await story.two()
      ana.want(.nothing, from: ben.id)
      try await pictureEnds(of: ben, for: ana, in: story)
      try story.expect("she still knows him", ana.knows(ben))
    },
    Scenario("want.again", "Who wants everything again gets it.", proves: "stage 12.2", first: [.interest]) { story in
      let (ana, ben) = try await story.two()
      ana.want(.sound, from: ben.id)
      try await pictureEnds(of: ben, for: ana, in: story)
      let pictures = ana.sees(ben)?.pictures ?? 0
      ana.want(.everything, from: ben.id)
      try await story.until("Ana sees Ben again") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
    Scenario(
      "want.is-private", "What one does not want, another one still gets.", proves: "stage 12.2", first: [.interest]
    ) { story in
      let (ana, ben) = try await story.two()
      let cleo = try await story.joined("Cleo")
      try await story.until("Cleo sees Ben") { cleo.sees(ben)?.isMoving == true }
      ana.want(.sound, from: ben.id)
      try await pictureEnds(of: ben, for: ana, in: story)
      let pictures = cleo.sees(ben)?.pictures ?? 0
      try await story.until("Cleo still sees Ben") { (cleo.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
  ]

  @MainActor
  private static func pictureEnds(of other: any Driver, for viewer: any Driver, in story: Story) async throws {
    await story.run(milliseconds: 800)
    let pictures = viewer.sees(other)?.pictures
    try await story.always("\(viewer.name) gets no picture of \(other.name)", for: 800) {
      viewer.sees(other)?.pictures == pictures
    }
  }
}
