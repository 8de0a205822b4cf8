import Koine
import KoineEmbeddedBackend

/// A call of two on a virtual clock, with ready-made frames instead of codecs: everything between the encoders and the
/// decoders, the router included, against the time that the call lasts.
struct VirtualCallBenchmark {
  let callSeconds: Int

  func run() throws -> Report {
    let backend = EmbeddedBackend(virtual: 7)
    let scheduler = backend.scheduler
    let people = ["Ana", "Ben"].map { BarePerson(name: $0, room: "r", backend: backend) }
    let clock = ContinuousClock()
    let start = clock.now
    for person in people { person.begin() }
    scheduler.advance(to: scheduler.now + .seconds(callSeconds))
    let elapsed = (clock.now - start).inSeconds
    let frames = people.reduce(0) { $0 + $1.figures.frames }
    return Report(
      benchmark: "virtual-call: \(callSeconds) s of two people, without codecs",
      rows: [
        Row("frames received", Double(frames), "of about \(callSeconds * 160)"),
        Row("time taken", elapsed, "s"),
        Row("time taken per time of the call", elapsed / Double(callSeconds), "x", aim: 1.0 / 20),
      ])
  }
}
