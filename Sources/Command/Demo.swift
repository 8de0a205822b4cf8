public import ArgumentParser
import Foundation
import Koine
public import KoineBase
import KoineConformanceDrivers
import KoineConformanceKit
import KoineSampleSupport
import KoineUIKit

extension Style: ExpressibleByArgument {
  public init?(argument: String) { self.init(named: argument) }
}

/// People in one room, each with an app of another style.
struct Demo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Four people in one room, each with an app of another style, see and hear each other.",
    discussion: """
      Sound and pictures go through the embedded router, as SRTP over loopback UDP. Figures per receiver and sender: \
      packets, lost for good, come again, frames rendered/received, size, frames per second, freezes, longest gap, \
      concealed sound, latency from capture to rendering, time from joining to the first picture.
      """)

  private static let names = ["Ana", "Ben", "Cleo", "Dan", "Eva"]

  @Option(parsing: .unconditional, help: "How long the call lasts.")
  var seconds = 10.0

  @Option(
    parsing: .upToNextOption,
    help: "The styles of the apps that meet, one participant each: \(Style.catalogue).")
  var styles: [Style] = [.callAgent, .eventListener, .stageStrategy, .meetingSession]

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp(
      "Instead of the call, show what else the engine can do, or all of it: "
        + (["all"] + Act.allCases.map(\.rawValue)).joined(separator: ", ")
        + ". People of the common layer show it, on a virtual clock; --network and --record hold for them, too."))
  var show: [String] = []

  @OptionGroup var media: MediaOptions

  func validate() throws {
    guard seconds >= 1, seconds <= 86_400 else { throw ValidationError("--seconds takes 1 to 86400") }
    for word in show where word != "all" && Act(rawValue: word) == nil {
      throw ValidationError("--show knows no '\(word)'")
    }
    guard (2...Self.names.count).contains(styles.count) else {
      throw ValidationError("--styles takes 2 to \(Self.names.count) styles")
    }
  }

  @MainActor
  func run() async throws {
    do {
      guard show.isEmpty else {
        try media.prepareOutputs()
        let acts = show.contains("all") ? Act.allCases : show.compactMap { Act(rawValue: $0) }
        return try await Act.play(acts, network: media.network, recordingTo: media.record)
      }
      let world = try media.makeWorld()
      try media.prepareOutputs()
      try await call(in: world)
    } catch let error as SampleExit {
      error.leave(command: "koine demo")
    } catch let error as ValidationError {
      throw error
    } catch {
      SampleExit(code: 73, "\(error)").leave(command: "koine demo")
    }
  }

  @MainActor
  private func call(in world: World) async throws {
    let enough = Enough()
    let people = try zip(styles, Self.names).map { style, name in
      try style.makeDriver(name: name, room: "demo", in: ownWorld(of: name, beside: world))
    }
    var witnesses: [Witness] = []
    for person in people {
      printLine("\(person.name) comes, with an app in the \(person.style) style")
      let start = world.backend.scheduler.now
      try person.join()
      while !person.isConnected, !enough.isSaid {
        if person.isOver { throw SampleExit(code: 69, "\(person.name) could not join") }
        try await Task.sleep(for: .milliseconds(2))
      }
      if enough.isSaid { break }
      guard let session = person.session else { throw SampleExit(code: 69, "\(person.name) has no session") }
      witnesses.append(Witness(session, receiver: person.name, since: start, recordingTo: media.record))
    }
    let start = world.backend.scheduler.now
    for second in 1...Int(seconds.rounded(.up)) {
      let end = ContinuousClock.now + .seconds(min(1, seconds - Double(second - 1)))
      while ContinuousClock.now < end, !enough.isSaid { try await Task.sleep(for: .milliseconds(50)) }
      if enough.isSaid { break }
      let seen = people.map { "\($0.name) \($0.others.reduce(0) { $0 + $1.pictures })" }
      printLine("\(second) s: pictures on the screens of \(seen.joined(separator: ", "))")
    }

    let lasted = enough.isSaid ? (world.backend.scheduler.now - start).inSeconds : seconds
    var directions: [DirectionReport] = []
    for witness in witnesses { directions += await witness.report() }
    var problem: SampleExit?
    if let snapshot = media.snapshot {
      do { try picture(of: people).writePNG(to: snapshot) } catch {
        problem = SampleExit(code: 73, "cannot write '\(snapshot)': \(error)")
      }
    }
    for person in people { person.leave() }
    for person in people {
      for _ in 0..<1_000 where !person.isOver { try await Task.sleep(for: .milliseconds(5)) }
    }
    for witness in witnesses {
      do { try witness.close() } catch { problem = problem ?? SampleExit(code: 73, "\(error)") }
    }
    CallReport(seconds: lasted, directions: directions).write(asJSON: media.json)
    if let problem { throw problem }
    if enough.isSaid { return }
    let expected = people.count * (people.count - 1)
    if directions.count(where: { $0.framesRendered > 0 }) < expected {
      throw SampleExit(code: 69, "a participant received no video of another one")
    }
  }

  /// Each participant has a face of their own, unless a camera is given.
  private func ownWorld(of name: String, beside world: World) -> World {
    guard media.camera == nil, DefaultDevices.environment.camera == DefaultDevices().camera else { return world }
    var devices = world.devices
    (devices.camera, devices.backCamera) = ("portrait:\(name)", "portrait:\(name)")
    return World(backend: world.backend, delivery: Delivery(queue: .main), devices: devices)
  }

  /// The second person's screen, with the tiles of all participants.
  @MainActor
  private func picture(of people: [any KoineDriver]) -> TileGrid {
    let viewer = people[1]
    return TileGrid(
      people.map { person in
        let view = person === viewer ? viewer.mirror : viewer.view(of: person.id)
        return ("\(person.name) (\(person.style))", view?.lastFrame)
      })
  }

  private func printLine(_ line: String) { KoineSampleSupport.print(line, to: .standardError) }
}

/// Whether the process has received SIGINT, SIGTERM or SIGHUP. A second signal exits at once.
private final class Enough: Sendable {
  private let said = Lock(false)
  private let watch: Task<Void, Never>

  var isSaid: Bool { said.withLock { $0 } }

  init() {
    let signals = Signals.stream(of: [SIGINT, SIGTERM, SIGHUP])
    watch = Task.detached { [said] in
      for await number in signals {
        let isSecond = said.withLock { said in
          defer { said = true }
          return said
        }
        if isSecond { exit(128 + number) }
      }
    }
  }

  deinit { watch.cancel() }
}
