/// Where a scenario is played: a backend, a network and a clock.
@MainActor
public protocol Place: AnyObject {
  /// Milliseconds since the place was made.
  var now: Int { get }
  /// Lets time go by.
  func run(milliseconds: Int) async
  /// Somebody of a style, who has not joined yet, on the way to the room called `room`.
  func makeDriver(style: String, name: String, room: String, papers: Papers) throws -> any Driver
  /// Why this trouble cannot be made here; nil: it can.
  func obstacle(to trouble: Trouble) -> String?
  func cause(_ trouble: Trouble)
  /// From now on cameras give 640×360; false: there is no way to have that here.
  func useLargeCameras() -> Bool
  /// Ends whatever belongs to the place.
  func close() async
}

/// What somebody is let in with.
public enum Papers: String, Codable, Sendable {
  case valid
  case expired
  /// For another room.
  case elsewhere
  /// Not a token at all.
  case mangled
}

/// What may happen to a room's connections.
public enum Trouble: Sendable, Hashable {
  /// Nothing of this person's, known by its id, goes through for so many milliseconds.
  case gap(of: String, milliseconds: Int)
  /// From a new address.
  case addressChange(of: String)
  /// All state lost, at the same address.
  case routerRestart
  /// No room takes more people than so many.
  case limit(people: Int)
  /// This person's path carries so many kbit/s from now on; nil: whatever comes.
  case narrowPath(of: String, kilobits: Int?)
}

extension Place {
  public func useLargeCameras() -> Bool { false }
}

/// In which order apps hear of what their vendors promise no order of.
public enum Order: Codable, Sendable, Hashable, CustomStringConvertible {
  case usual
  /// Permuted: an app, or a driver, that relies on luck is found out. The same seed gives the same order.
  case shuffled(UInt64)

  /// As `description` has it.
  public init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    switch (parts.first, parts.count) {
    case ("usual", 1): self = .usual
    case ("shuffled", 2):
      guard let seed = UInt64(parts[1]) else { return nil }
      self = .shuffled(seed)
    default: return nil
    }
  }

  /// `usual` or `shuffled:SEED`.
  public var description: String {
    switch self {
    case .usual: "usual"
    case .shuffled(let seed): "shuffled:\(seed)"
    }
  }
}

/// A kind of place, made anew for each scenario.
public struct Ground: Sendable {
  /// As it is called in reports, such as `virtual` or `loopback`.
  public var name: String
  /// A scenario that only waits may be long here.
  public var isVirtual: Bool
  public var makePlace: @MainActor @Sendable (_ seed: UInt64, _ order: Order) throws -> any Place

  public init(
    name: String, isVirtual: Bool,
    makePlace: @escaping @MainActor @Sendable (_ seed: UInt64, _ order: Order) throws -> any Place
  ) {
    self.name = name
    self.isVirtual = isVirtual
    self.makePlace = makePlace
  }
}
