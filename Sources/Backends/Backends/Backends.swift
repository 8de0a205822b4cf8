import Foundation
public import Koine
import KoineEmbeddedBackend
import KoineServerBackend

/// Makes a world from an address, so that adapters reach rooms without a word.
public enum Backends {
  private static let configured = Lock<World?>(nil)
  private static let fromEnvironment = Result { () throws(BackendAddressError) in
    try World(
      backend: backend(at: ProcessInfo.processInfo.environment["KOINE_BACKEND"] ?? "embedded"),
      machine: Machine.ofProcess)
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

  /// The world for an entry object made here and now: `World.current`, else what was configured, else what
  /// `KOINE_BACKEND` says, else an embedded room server shared by the process.
  /// - Throws: when `KOINE_BACKEND` names nothing that can be reached.
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

  /// - Parameter address: `embedded`, or `ws://host:port` or `wss://host:port` of a `koine serve`.
  public static func backend(at address: String) throws(BackendAddressError) -> any Backend {
    switch address {
    case "embedded", "": return EmbeddedBackend.shared
    default:
      guard let server = ServerAddress(address) else { throw BackendAddressError(address: address) }
      return ServerBackend(server)
    }
  }
}

public struct BackendAddressError: Error, Hashable, CustomStringConvertible {
  public let address: String
  public var description: String {
    "no backend answers to '\(address)'; there are: embedded, ws://host:port, wss://host:port"
  }
}
