import Dispatch
import Koine
import KoineBackends
import KoineConformanceDrivers
import KoineEmbeddedBackend
import KoineServer
import KoineUIKit
import Logging
import Testing

/// Every style with every other one, in both orders of coming.
struct Pair: Sendable, CustomTestStringConvertible {
  let first, second: Style
  var testDescription: String { "\(first.rawValue) and \(second.rawValue)" }

  static let all = Style.allCases.flatMap { first in
    Style.allCases.filter { $0 != first }.map { Pair(first: first, second: $0) }
  }
}

@MainActor
@Suite(.serialized)
struct PairTests {
  /// The camera of each says whose it is.
  private func makePair(_ pair: Pair, in world: World) throws -> (any Driver, any Driver) {
    (
      try pair.first.makeDriver(name: "Ana", room: "tea", in: world),
      try pair.second.makeDriver(name: "Ben", room: "tea", in: world)
    )
  }

  @Test(arguments: Pair.all)
  func twoMeetInVirtualTime(_ pair: Pair) async throws {
    let world = World(
      backend: EmbeddedBackend(virtual: 23),
      devices: DefaultDevices(camera: "stamp:Somebody,160x90@15", microphone: "tone"))
    let (ana, ben) = try makePair(pair, in: world)
    try await story(ana, ben, run: { await world.run(for: $0) })
  }

  @Test(arguments: Pair.all)
  func twoMeetOverLoopback(_ pair: Pair) async throws {
    let world = World(
      backend: EmbeddedBackend(), devices: DefaultDevices(camera: "stamp:Somebody,160x90@15", microphone: "tone"))
    let (ana, ben) = try makePair(pair, in: world)
    try await story(ana, ben, run: { try? await Task.sleep(for: $0) })
  }

  /// Every style once as the first and once as the second, through a server's sockets.
  @Test(arguments: zip(Style.allCases, Style.allCases.dropFirst() + Style.allCases.prefix(1)))
  func twoMeetThroughAServer(_ first: Style, _ second: Style) async throws {
    let server = try await Server.start(
      ServerConfiguration(port: 0, access: .open, logger: Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }))
    let world = World(
      backend: try Backends.backend(at: "ws://127.0.0.1:\(server.port)"),
      devices: DefaultDevices(camera: "stamp:Somebody,160x90@15", microphone: "tone"))
    let (ana, ben) = try makePair(Pair(first: first, second: second), in: world)
    try await story(ana, ben, run: { try? await Task.sleep(for: $0) })
    await server.stop()
  }

  /// Join, see, hear, mute seen, camera off seen, data where both have it, leave seen.
  private func story(_ ana: any Driver, _ ben: any Driver, run: (Duration) async -> Void) async throws {
    func until(_ what: String, _ condition: () -> Bool) async {
      for _ in 0..<1_200 where !condition() { await run(.milliseconds(25)) }
      #expect(condition(), "\(what)")
    }
    func sees(_ viewer: any Driver, _ other: any Driver) -> Seen? { viewer.others.first { $0.id == other.id } }
    let both = [(ana, ben), (ben, ana)]

    try ana.join()
    await until("\(ana.name) is in the room") { ana.isConnected }
    try ben.join()
    await until("\(ben.name) is in the room") { ben.isConnected }
    for (viewer, other) in both {
      await until("\(viewer.name) knows \(other.name)") { sees(viewer, other)?.name == other.name }
      await until("\(viewer.name) sees \(other.name)") {
        sees(viewer, other).map { $0.hasPicture && ($0.view?.framesRendered ?? 0) > 5 } ?? false
      }
      await until("\(other.name)'s microphone is on") { sees(viewer, other)?.isMicrophoneMuted == false }
    }
    for (viewer, other) in both {
      viewer.setMicrophoneMuted(true)  // some styles tell of nobody but the one who speaks most
      await until("\(viewer.name) hears \(other.name)") { sees(viewer, other)?.hasSpoken == true }
      viewer.setMicrophoneMuted(false)
      other.setMicrophoneMuted(true)
      await until("\(viewer.name) is told that \(other.name) is muted") {
        sees(viewer, other)?.isMicrophoneMuted == true
      }
      other.setMicrophoneMuted(false)
      await until("… and no longer") { sees(viewer, other)?.isMicrophoneMuted == false }
      other.setCameraOn(false)
      await until("\(viewer.name) is told that \(other.name)'s camera is off") {
        sees(viewer, other)?.hasPicture == false
      }
      other.setCameraOn(true)
      let frames = sees(viewer, other)?.view?.framesRendered ?? 0
      await until("… and on again") {
        sees(viewer, other).map { $0.hasPicture && ($0.view.map { $0.framesRendered } ?? 0) != frames } ?? false
      }
    }
    for (viewer, other) in both where other.say("hello from \(other.name)") {
      guard viewer.say("ping") else { continue }
      await until("\(viewer.name) gets the message") { viewer.heard.contains("hello from \(other.name)") }
    }
    ana.leave()
    await until("\(ana.name) has left") { ana.isOver }
    await until("\(ben.name) sees it") { sees(ben, ana) == nil }
    ben.leave()
    await until("\(ben.name) has left") { ben.isOver }
  }
}
