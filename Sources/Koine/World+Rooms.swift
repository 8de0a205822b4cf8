// Rooms that are found by their id.

extension World {
  /// Returns the world of a participant in a room. With a nil id it returns a world of the room for no particular participant.
  public typealias Finder = @Sendable (_ participant: Participant.ID?) -> World?

  private static let rooms = Lock<[String: Finder]>([:])

  /// Registers a room, so that its id suffices to find its world. Entry objects made for this room belong to that world,
  /// regardless of `current`. Use it only for ids that no other room has.
  public static func register(room id: String, _ finder: @escaping Finder) { rooms.withLock { $0[id] = finder } }

  /// Removes the registration of a room.
  public static func unregister(room id: String) {
    let finder = rooms.withLock { $0.removeValue(forKey: id) }
    withExtendedLifetime(finder) {}  // let go of outside the lock
  }

  /// Called where an object or a list of devices is asked for while ``current`` is nil and nothing was configured: it
  /// gets the process's world or machine. For test kits, which know whether that can be meant.
  package static let withoutContext = Lock<(@Sendable () -> Void)?>(nil)

  package static func noteMissingContext() { withoutContext.withLock { $0 }?() }

  /// Finds the world of a registered room.
  /// - Returns: nil where the id is no registered room's.
  public static func holding(room id: String, participant: Participant.ID? = nil) -> World? {
    rooms.withLock { $0[id] }?(participant)
  }

  /// Finds the world of an identity that can be rung, `8:acs:<room>_<participant>`.
  public static func holding(identity: String) -> World? {
    let parts = (identity.split(separator: ":").last ?? "").split(separator: "_", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { return nil }
    return holding(room: parts[0], participant: parts[1])
  }
}
