import Foundation
public import Koine
import KoineBackends
import KoineBase
public import KoineConformanceKit
import KoineEmbeddedBackend
public import KoineSimulatedNetwork

/// Where the suite's people meet in Koine.
@MainActor
public final class KoineEnvironment: TestEnvironment {
  private var world: World
  private let start: Tick
  private let isVirtual: Bool
  /// Keeps rooms apart from others' of the same name, at a server that has many.
  private let suffix: String
  /// In a cluster: when the homes of all rooms die, in milliseconds; nil: they do not.
  private var killsHomesAt: Int?
  public let interruptedUntil: Int?
  private var rooms: Set<String> = []

  public init(_ world: World, isVirtual: Bool, suffix: String = "", killsHomesAt: Int? = nil) {
    self.world = world
    self.isVirtual = isVirtual
    self.suffix = suffix
    self.killsHomesAt = killsHomesAt
    // All see and hear all again by then (Docs/cluster.md).
    interruptedUntil = killsHomesAt.map { $0 + 3_000 }
    start = world.backend.scheduler.now
  }

  public var now: Int { (world.backend.scheduler.now - start).inWholeMilliseconds }

  public func run(milliseconds: Int) async {
    if isVirtual {
      var rest = milliseconds
      if let death = killsHomesAt, death <= now + milliseconds {
        killsHomesAt = nil
        let before = max(0, death - now)
        await world.run(for: .milliseconds(before))
        killHomes()
        rest -= before
      }
      await world.run(for: .milliseconds(rest))
    } else {
      try? await Task.sleep(for: .milliseconds(milliseconds))
    }
  }

  private func killHomes() {
    guard let backend = world.backend as? EmbeddedBackend else { return }
    for home in Set(rooms.compactMap(backend.home(of:))) { backend.kill(node: home) }
  }

  public func makeDriver(style: String, name: String, room: String, credential: CredentialState) throws -> any Driver {
    guard let style = Style(named: style) else { throw UnknownStyle(style) }
    rooms.insert(room + suffix)
    return try style.makeDriver(name: name, room: room + suffix, in: world, credential: credential, since: start)
  }

  public func obstacle(to fault: Fault) -> String? {
    world.backend is EmbeddedBackend ? nil : "what lies beneath this backend cannot be disturbed from here"
  }

  public func inject(_ fault: Fault) {
    guard let backend = world.backend as? EmbeddedBackend else { return }
    switch fault {
    case .gap(let id, let milliseconds): backend.cutNetwork(of: id, for: .milliseconds(milliseconds))
    case .addressChange(let id): backend.changeAddress(of: id)
    case .routerRestart: backend.restartRouter()
    case .limit(let people): backend.limitParticipants(to: people)
    case .narrowPath(let id, let kilobits):
      if let spec = try? NetworkSpec(kilobits.map { "rate=\($0)k" } ?? "") { backend.setNetwork(spec, of: id) }
    }
  }

  public func useLargeCameras() -> Bool {
    var devices = world.devices
    devices.camera = "pattern:640x360@15"
    devices.backCamera = devices.camera
    world = World(backend: world.backend, delivery: world.delivery, devices: devices, effort: world.effort)
    return true
  }

  public func close() async {}
}

struct UnknownStyle: Error, CustomStringConvertible {
  let description: String
  init(_ name: String) {
    description = "there is no style '\(name)'; styles are \(Style.catalogue)"
  }
}

extension EnvironmentFactory {
  /// The environment of the backend at an address, in real time.
  public static func at(_ address: String) -> EnvironmentFactory {
    EnvironmentFactory(name: address, isVirtual: false) { _, order in
      let suffix = "-" + UUID().uuidString.lowercased()
      return KoineEnvironment(world(try Backends.backend(at: address), order), isVirtual: false, suffix: suffix)
    }
  }

  /// Uses small video frames and the least encoding effort. The scenarios do not depend on frame size or video quality.
  private static func world(_ backend: any Backend, _ order: Order) -> World {
    World(backend: backend, delivery: delivery(order), devices: devices, effort: .least)
  }

  private static let devices = DefaultDevices(
    camera: "stamp:Somebody,160x90@10", microphone: "tone", screen: "pattern:160x90@10")

  /// Of each place its own: it waits for its own people's news only.
  private static func delivery(_ order: Order) -> Delivery {
    switch order {
    case .usual: Delivery(queue: .main)
    case .shuffled(let seed): Delivery(queue: .main, order: .shuffled(seed: seed))
    }
  }

  /// A router in this process, in virtual time.
  public static func virtual(network: NetworkSpec? = nil) -> EnvironmentFactory {
    EnvironmentFactory(name: network.map { "virtual, \($0)" } ?? "virtual", isVirtual: true) { seed, order in
      let backend = EmbeddedBackend(virtual: seed, network: network)
      return KoineEnvironment(world(backend, order), isVirtual: true)
    }
  }

  /// A cluster of three nodes in this process, in virtual time: people begin at different nodes.
  /// - Parameter killsHomesAt: when the homes of all rooms die, in milliseconds.
  public static func cluster(network: NetworkSpec? = nil, killsHomesAt: Int? = nil) -> EnvironmentFactory {
    let words = ["cluster", network.map { "\($0)" }, killsHomesAt.map { "home dies at \($0) ms" }].compactMap { $0 }
    return EnvironmentFactory(name: words.joined(separator: ", "), isVirtual: true) { seed, order in
      let backend = EmbeddedBackend(virtual: seed, nodes: 3, network: network)
      return KoineEnvironment(world(backend, order), isVirtual: true, killsHomesAt: killsHomesAt)
    }
  }

  /// A router in this process, over loopback UDP.
  public static func loopback(network: NetworkSpec? = nil) -> EnvironmentFactory {
    EnvironmentFactory(name: network.map { "loopback, \($0)" } ?? "loopback", isVirtual: false) { _, order in
      let backend = EmbeddedBackend(network: network)
      return KoineEnvironment(world(backend, order), isVirtual: false)
    }
  }
}
