extension Scenario {
  static let pictures: [Scenario] = [
    Scenario("picture.size", "A picture arrives in its own shape.", proves: "law 7") { context in
      let (ana, ben) = try await context.two()
      for (viewer, other) in [(ana, ben), (ben, ana)] {
        try await context.until("\(viewer.name) sees \(other.name) at 16:9") {
          viewer.sees(other).map { $0.width > 0 && $0.width * 9 == $0.height * 16 } ?? false
        }
      }
    },
    Scenario("picture.goes-on", "Pictures keep coming.", proves: "law 7") { context in
      let (ana, ben) = try await context.two()
      await context.passInterruption()
      let before = (ana.sees(ben)?.pictures ?? 0, ben.sees(ana)?.pictures ?? 0)
      await context.run(milliseconds: 2_000)
      try context.expect("Ana saw some 30 more of Ben", (ana.sees(ben)?.pictures ?? 0) - before.0 > 15)
      try context.expect("Ben saw some 30 more of Ana", (ben.sees(ana)?.pictures ?? 0) - before.1 > 15)
    },
    Scenario("picture.off", "A camera that goes off is seen to be off.", proves: "laws 1 and 7") { context in
      let (ana, ben) = try await context.two()
      ben.setCameraOn(false)
      try await context.until("Ana is told") { ana.sees(ben)?.hasPicture == false }
      await context.run(milliseconds: 300)
      let pictures = ana.sees(ben)?.pictures
      try await context.always("no picture comes", for: 500) { ana.sees(ben)?.pictures == pictures }
      try context.expect("Ben is still there", ana.knows(ben))
    },
    Scenario("picture.on-again", "A camera that comes on again is seen again.", proves: "laws 1 and 7") { context in
      let (ana, ben) = try await context.two()
      ben.setCameraOn(false)
      try await context.until("Ana is told of the end") { ana.sees(ben)?.hasPicture == false }
      let pictures = ana.sees(ben)?.pictures ?? 0
      ben.setCameraOn(true)
      try await context.until("Ana sees Ben again") {
        ana.sees(ben)?.hasPicture == true && (ana.sees(ben)?.pictures ?? 0) > pictures + 2
      }
      try context.expect("twice on", context.count(.pictureOn, to: ana, of: ben) == 2)
      try context.expect("once off", context.count(.pictureOff, to: ana, of: ben) == 1)
    },
    Scenario("picture.off-before", "Who comes late sees no camera that has gone off.", proves: "law 7") { context in
      let ana = try await context.joined("Ana")
      await context.run(milliseconds: 200)
      ana.setCameraOn(false)
      await context.run(milliseconds: 500)
      let ben = try await context.joined("Ben")
      try await context.until("Ben knows Ana") { ben.knows(ana) }
      try await context.always("and sees no picture", for: 500) { ben.sees(ana)?.hasPicture == false }
    },
    Scenario("picture.flicker", "After ten changes both agree on the last.", proves: "law 7") { context in
      let (ana, ben) = try await context.two()
      for turn in 0..<10 {
        ben.setCameraOn(!turn.isMultiple(of: 2))
        await context.run(milliseconds: 60)
      }
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await context.until("Ana sees Ben") {
        ana.sees(ben)?.hasPicture == true && (ana.sees(ben)?.pictures ?? 0) > pictures + 5
      }
    },
    Scenario(
      "picture.pause", "A paused picture rests, a resumed one moves.", proves: "DESIGN, tiles", first: [.pausing]
    ) { context in
      let (ana, ben) = try await context.two()
      ana.setPicturePaused(true, of: ben.id)
      await context.run(milliseconds: 800)
      let pictures = ana.sees(ben)?.pictures ?? 0
      try await context.always("it rests", for: 800) { (ana.sees(ben)?.pictures ?? 0) <= pictures + 1 }
      ana.setPicturePaused(false, of: ben.id)
      try await context.until("it moves") { (ana.sees(ben)?.pictures ?? 0) > pictures + 5 }
    },
    Scenario(
      "picture.pause-is-private", "Nobody else notices that a picture is paused.", proves: "DESIGN, tiles",
      first: [.pausing]
    ) { context in
      let (ana, ben) = try await context.two()
      let cleo = try await context.joined("Cleo")
      try await context.until("Cleo sees Ben") { cleo.sees(ben)?.isMoving == true }
      ana.setPicturePaused(true, of: ben.id)
      await context.run(milliseconds: 500)
      let pictures = cleo.sees(ben)?.pictures ?? 0
      try await context.until("Cleo still sees Ben") { (cleo.sees(ben)?.pictures ?? 0) > pictures + 5 }
      try context.expect("no app was notified of an end", context.count(.pictureOff, to: cleo, of: ben) == 0)
    },
  ]
}
