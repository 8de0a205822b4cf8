/// The test environment of one scenario: a backend, a network and a clock.
@MainActor
public protocol TestEnvironment: AnyObject {
  /// Milliseconds since the environment was created.
  var now: Int { get }
  /// Lets this many milliseconds pass: virtual ones, or real ones.
  func run(milliseconds: Int) async
  /// Makes the driver of a participant with an app of the given style. The participant is set up for `room` but has not joined.
  /// - Throws: if there is no driver for the style, or the style's entry object refuses the credential.
  func makeDriver(style: String, name: String, room: String, credential: CredentialState) throws -> any Driver
  /// The reason why the environment cannot inject this fault; nil if it can.
  func obstacle(to fault: Fault) -> String?
  /// Injects a fault. Called only for faults without an `obstacle(to:)`.
  func inject(_ fault: Fault)
  /// Switches the cameras of all later drivers to 640×360.
  /// - Returns: false if the environment has only one camera size.
  func useLargeCameras() -> Bool
  /// Until when an interruption may be felt that the environment makes by itself, such as the death of a room's server, in milliseconds
  /// like `now`. Nil: it makes none.
  var interruptedUntil: Int? { get }
  /// Ends everything that belongs to the environment.
  func close() async
}

extension TestEnvironment {
  /// No interruption.
  public var interruptedUntil: Int? { nil }
}

/// State of the credential that a participant joins with.
public enum CredentialState: String, Codable, Sendable {
  /// The credential is valid for an hour.
  case valid
  /// The credential expired an hour ago.
  case expired
  /// The credential is for another room.
  case otherRoom
  /// The credential is a text that is no token.
  case malformed
}

/// A fault of the network or the router.
public enum Fault: Sendable, Hashable {
  /// No packet from or to the participant with this id gets through for this many milliseconds.
  case gap(of: String, milliseconds: Int)
  /// The participant's packets come from a new address from now on.
  case addressChange(of: String)
  /// The router restarts at the same address and loses its state.
  case routerRestart
  /// Rooms admit at most this many participants.
  case limit(people: Int)
  /// The participant's network path carries this many kbit/s from now on; nil: no limit.
  case narrowPath(of: String, kilobits: Int?)
}

extension TestEnvironment {
  public func useLargeCameras() -> Bool { false }
}

/// The order of callbacks between which the vendor documents no order.
public enum Order: Codable, Sendable, Hashable, CustomStringConvertible {
  /// The order in which Koine normally delivers.
  case usual
  /// A permuted order, which exposes apps and drivers that rely on an undocumented order. Equal seeds give equal orders.
  case shuffled(UInt64)

  /// Parses the form that `description` returns; nil for any other text.
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

/// Creates a test environment for each scenario.
public struct EnvironmentFactory: Sendable {
  /// The name in reports, such as `virtual` or `loopback`.
  public var name: String
  /// Whether time is virtual, so that long scenarios take little real time.
  public var isVirtual: Bool
  /// Creates the environment of one scenario, on the main actor.
  public var makeEnvironment: @MainActor @Sendable (_ seed: UInt64, _ order: Order) throws -> any TestEnvironment

  /// Creates a factory of environments of this name.
  public init(
    name: String, isVirtual: Bool,
    makeEnvironment: @escaping @MainActor @Sendable (_ seed: UInt64, _ order: Order) throws -> any TestEnvironment
  ) {
    self.name = name
    self.isVirtual = isVirtual
    self.makeEnvironment = makeEnvironment
  }
}
