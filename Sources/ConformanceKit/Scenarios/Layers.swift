extension Scenario {
  /// Every style publishes a smaller picture beside a large one.
  static let layers: [Scenario] = [
    Scenario(
      "layer.pinned", "Who asks for a small picture gets a small one, and nobody else does.", proves: "DESIGN, layers",
      first: [.layers], hasLargeCameras: true
    ) { story in
      let (ana, ben) = try await story.two()
      let cleo = try await story.joined("Cleo")
      for viewer in [ana, cleo] {
        try await story.until("\(viewer.name) sees all of Ben") { viewer.sees(ben).map { $0.height == 360 } ?? false }
      }
      ana.want(rows: 180, of: ben.id)
      try await story.until("Ana's is small") { ana.sees(ben).map { $0.height <= 180 } ?? false }
      let pictures = cleo.sees(ben)?.pictures ?? 0
      try await story.always("it stays small", for: 1_000) { ana.sees(ben).map { $0.height <= 180 } ?? false }
      try await story.until("Cleo still gets pictures, and large ones") {
        cleo.sees(ben).map { $0.pictures > pictures + 5 && $0.height == 360 } ?? false
      }
      try story.expect("Ben's picture never ended", story.count(.pictureOff, to: ana, of: ben) == 0)
    },
    Scenario(
      "layer.let-go", "Who no longer asks for a small picture gets the large one.", proves: "DESIGN, layers",
      first: [.layers], hasLargeCameras: true
    ) { story in
      let (ana, ben) = try await story.two()
      ana.want(rows: 180, of: ben.id)
      try await story.until("it is small") { ana.sees(ben).map { $0.height > 0 && $0.height <= 180 } ?? false }
      ana.want(rows: nil, of: ben.id)
      try await story.until("it is large") { ana.sees(ben).map { $0.height == 360 } ?? false }
    },
    Scenario(
      "layer.adapted", "On a narrow path the picture gets small and goes on, on a wide one it is large again.",
      proves: "DESIGN, layers", isLong: true, hasLargeCameras: true,
      troubles: [.narrowPath(of: "ana", kilobits: 300)]
    ) { story in
      let (ana, ben) = try await story.two()
      try await story.until("Ana sees all of Ben") { ana.sees(ben).map { $0.height == 360 } ?? false }
      story.place.cause(.narrowPath(of: ana.id, kilobits: 300))
      try await story.until("it gets small", within: 20_000) { ana.sees(ben).map { $0.height < 360 } ?? false }
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await story.until("and goes on") { (ana.sees(ben)?.pictures ?? 0) > pictures + 10 }
      story.place.cause(.narrowPath(of: ana.id, kilobits: nil))
      try await story.until("it is large again", within: 60_000) { ana.sees(ben).map { $0.height == 360 } ?? false }
      try story.expect("nobody was told of an end", story.count(.pictureOff, to: ana, of: ben) == 0)
    },
  ]
}
