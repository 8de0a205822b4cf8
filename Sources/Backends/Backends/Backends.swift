import Foundation
public import Koine
import KoineEmbeddedBackend

#if Server
  import KoineServerBackend
#endif

/// Makes a world from an address, so that adapters reach rooms without a word.
public enum Backends {
  private static let configured = Lock<World?>(nil)
  private static let registered = Lock<[String: @Sendable (String) throws -> any Backend]>([:])
  private static let fromEnvironment = Result { () throws(BackendAddressError) in
    let world = try World(
      backend: backend(at: ProcessInfo.processInfo.environment["KOINE_BACKEND"] ?? "embedded"),
      machine: Machine.ofProcess)
    world.machine.followSystem()
    return world
  }

  /// The world that entry objects made from now on live in, unless they are made inside `World.$current.withValue`.
  public static func configure(_ world: World?) {
    let old = configured.withLock { configured in
      defer { configured = world }
      return configured
    }
    withExtendedLifetime(old) {}  // what apps made may go with it: outside the lock
    Machine.useForProcess(world?.machine)
  }

  /// The world for an entry object that is created now: `World.current`, else the configured world, else the world of `KOINE_BACKEND`,
  /// else an embedded room server shared by the process.
  /// - Throws: if `KOINE_BACKEND` does not name a backend that can be reached.
  public static func world() throws(BackendAddressError) -> World {
    if let world = World.current ?? configured.withLock({ $0 }) { return world }
    World.noteMissingContext()
    return try fromEnvironment.get()
  }

  /// The world for an entry object made for a room: the one that the room's id names, else as `world()`.
  public static func world(
    room: String, participant: Participant.ID? = nil
  ) throws(BackendAddressError) -> World {
    if let world = World.holding(room: room, participant: participant) { return world }
    return try world()
  }

  /// Makes a backend of another module reachable by its address, in `KOINE_BACKEND` and in `backend(at:)`. A later registration of
  /// a scheme replaces the one before. `KOINE_BACKEND` is read once, when the process first enters a room without a world of its own:
  /// register before.
  /// - Parameters:
  ///   - scheme: the address's part before `://`, such as `sfu` of `sfu://host:port`.
  ///   - make: makes the backend from the whole address. Called each time an address of that scheme is asked for; a backend that the
  ///     process shares is the closure's own affair.
  /// - Throws: for `embedded`, `ws` and `wss`, which are Koine's own.
  public static func register(
    _ scheme: String, _ make: @escaping @Sendable (_ address: String) throws -> any Backend
  ) throws(BackendAddressError) {
    let scheme = scheme.lowercased()
    guard !["embedded", "ws", "wss"].contains(scheme) else {
      throw BackendAddressError(address: scheme, reason: "the scheme is Koine's own")
    }
    registered.withLock { $0[scheme] = make }
  }

  /// - Parameter address: `embedded`, `ws://host:port` or `wss://host:port` of a `koine serve`, several of these with commas between
  ///   them for a cluster (only with the package's trait `Server`, which is on by default), or an address of a registered
  ///   scheme.
  public static func backend(at address: String) throws(BackendAddressError) -> any Backend {
    let scheme = address.range(of: "://").map { address[..<$0.lowerBound].lowercased() } ?? ""
    if let make = registered.withLock({ $0[scheme] }) {
      do { return try make(address) } catch { throw BackendAddressError(address: address, reason: "\(error)") }
    }
    if address == "embedded" || address.isEmpty { return EmbeddedBackend.shared }
    let unknown = BackendAddressError(address: address, schemes: registered.withLock { $0.keys.sorted() })
    #if Server
      let servers = try address.split(separator: ",", omittingEmptySubsequences: false).map {
        name throws(BackendAddressError) in
        guard let server = ServerAddress(name.trimmingCharacters(in: .whitespaces)) else { throw unknown }
        return server
      }
      return ServerBackend(servers[0], others: Array(servers[1...]))
    #else
      guard ["ws", "wss"].contains(scheme) else { throw unknown }
      throw BackendAddressError(
        address: address, reason: "Koine was built without its trait Server, which connects to servers")
    #endif
  }
}

public struct BackendAddressError: Error, Hashable, CustomStringConvertible {
  public let address: String
  /// Why the backend that the address names cannot be used; nil where the address names none.
  public let reason: String?
  private let schemes: [String]

  init(address: String, reason: String? = nil, schemes: [String] = []) {
    (self.address, self.reason, self.schemes) = (address, reason, schemes)
  }

  public var description: String {
    if let reason { return "the backend at '\(address)' cannot be used: \(reason)" }
    var known = ["embedded"]
    #if Server
      known += ["ws://host:port", "wss://host:port", "ws://host:port,ws://other:port"]
    #endif
    known += schemes.map { $0 + "://…" }
    return "no backend answers to '\(address)'; there are: \(known.joined(separator: ", "))"
  }
}
