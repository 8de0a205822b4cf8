extension Scenario {
  /// Every style publishes a smaller picture beside a large one.
  static let layers: [Scenario] = [
    Scenario(
      "layer.pinned", "A receiver that requests small video gets it, and other receivers do not.",
      proves: "DESIGN, layers",
      first: [.layers], hasLargeCameras: true
    ) { context in
      let (ana, ben) = try await context.two()
      let cleo = try await context.joined("Cleo")
      for viewer in [ana, cleo] {
        try await context.until("\(viewer.name) sees all of Ben") { viewer.sees(ben).map { $0.height == 360 } ?? false }
      }
      ana.want(rows: 180, of: ben.id)
      try await context.until("Ana's is small") { ana.sees(ben).map { $0.height <= 180 } ?? false }
      let pictures = cleo.sees(ben)?.pictures ?? 0
      try await context.always("it stays small", for: 1_000) { ana.sees(ben).map { $0.height <= 180 } ?? false }
      try await context.until("Cleo still gets pictures, and large ones") {
        cleo.sees(ben).map { $0.pictures > pictures + 5 && $0.height == 360 } ?? false
      }
      try context.expect("Ben's picture never ended", context.count(.pictureOff, to: ana, of: ben) == 0)
    },
    Scenario(
      "layer.let-go", "Who no longer asks for a small picture gets the large one.", proves: "DESIGN, layers",
      first: [.layers], hasLargeCameras: true
    ) { context in
      let (ana, ben) = try await context.two()
      ana.want(rows: 180, of: ben.id)
      try await context.until("it is small") { ana.sees(ben).map { $0.height > 0 && $0.height <= 180 } ?? false }
      ana.want(rows: nil, of: ben.id)
      try await context.until("it is large") { ana.sees(ben).map { $0.height == 360 } ?? false }
    },
    Scenario(
      "layer.adapted", "On a narrow path the picture gets small and goes on, on a wide one it is large again.",
      proves: "DESIGN, layers", isLong: true, hasLargeCameras: true,
      faults: [.narrowPath(of: "ana", kilobits: 300)]
    ) { context in
      let (ana, ben) = try await context.two()
      try await context.until("Ana sees all of Ben") { ana.sees(ben).map { $0.height == 360 } ?? false }
      context.environment.inject(.narrowPath(of: ana.id, kilobits: 300))
      try await context.until("it gets small", within: 20_000) { ana.sees(ben).map { $0.height < 360 } ?? false }
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await context.until("and goes on") { (ana.sees(ben)?.pictures ?? 0) > pictures + 10 }
      context.environment.inject(.narrowPath(of: ana.id, kilobits: nil))
      try await context.until("it is large again", within: 60_000) { ana.sees(ben).map { $0.height == 360 } ?? false }
      try context.expect("no app was notified of an end", context.count(.pictureOff, to: ana, of: ben) == 0)
    },
  ]
}
