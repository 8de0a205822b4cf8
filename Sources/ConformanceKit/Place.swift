/// Where a scenario is played: a backend, a network and a clock.
@MainActor
public protocol Place: AnyObject {
  /// Milliseconds since the place was made.
  var now: Int { get }
  /// Lets time go by.
  func run(milliseconds: Int) async
  /// Makes the driver of a participant with an app of the given style. The participant is set up for `room` but has not joined.
  func makeDriver(style: String, name: String, room: String, papers: Papers) throws -> any Driver
  /// Why this trouble cannot be made here; nil: it can.
  func obstacle(to trouble: Trouble) -> String?
  func cause(_ trouble: Trouble)
  /// From now on cameras give 640×360; false: there is no way to have that here.
  func useLargeCameras() -> Bool
  /// Ends everything that belongs to the environment.
  func close() async
}

/// State of the credential that a participant joins with.
public enum Papers: String, Codable, Sendable {
  case valid
  case expired
  /// The credential is for another room.
  case elsewhere
  /// Not a token at all.
  case mangled
}

/// What may happen to a room's connections.
public enum Trouble: Sendable, Hashable {
  /// No packet from or to the participant with this id gets through for this many milliseconds.
  case gap(of: String, milliseconds: Int)
  /// From a new address.
  case addressChange(of: String)
  /// All state lost, at the same address.
  case routerRestart
  /// No room takes more people than so many.
  case limit(people: Int)
  /// The participant's network path carries this many kbit/s from now on; nil: no limit.
  case narrowPath(of: String, kilobits: Int?)
}

extension Place {
  public func useLargeCameras() -> Bool { false }
}

/// The order of callbacks between which the vendor documents no order.
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
