/// The operations of a scenario: it creates participants, waits for conditions and checks them.
@MainActor
public final class ScenarioContext {
  /// A condition did not become true in time, or a check failed.
  public struct ConditionFailed: Error, CustomStringConvertible {
    public let description: String
  }

  /// The environment in which the scenario runs.
  public let environment: any TestEnvironment
  private let styles: (first: String, second: String)
  private(set) var people: [any Driver] = []
  /// The recorders of all participants that the scenario has created, in order of creation.
  var recorders: [Recorder] { everybody.map { $0() } }
  private var everybody: [@MainActor () -> Recorder] = []
  private let wrapDriver: @MainActor (any Driver) -> any Driver
  /// Factor on all waiting times: 1 in virtual time, more on machines that may be busy.
  private let patience: Int

  init(
    _ first: String, _ second: String, at environment: any TestEnvironment, patience: Int = 1,
    wrapDriver: @escaping @MainActor (any Driver) -> any Driver = { $0 }
  ) {
    self.environment = environment
    styles = (first, second)
    self.wrapDriver = wrapDriver
    self.patience = patience
  }

  // MARK: People

  /// Creates a participant that has not joined yet.
  ///
  /// The first, third, fifth … participant has an app of the first style, the others have one of the second. `style` overrides
  /// that.
  /// - Throws: if the environment cannot make the driver.
  public func person(
    _ name: String, room: String = "tea", credential: CredentialState = .valid, style: String? = nil
  ) throws -> any Driver {
    let own = style ?? (people.count.isMultiple(of: 2) ? styles.first : styles.second)
    let driver = wrapDriver(try environment.makeDriver(style: own, name: name, room: room, credential: credential))
    people.append(driver)
    everybody.append { driver.recorder }
    return driver
  }

  /// Creates a participant and returns once it is in the room.
  /// - Throws: `ConditionFailed` if it does not enter the room in time.
  public func joined(_ name: String, style: String? = nil) async throws -> any Driver {
    let driver = try person(name, style: style)
    try driver.join()
    try await until("\(name) is in the room") { driver.isConnected }
    return driver
  }

  /// Creates Ana and Ben in one room. Returns once each sees the other's video.
  /// - Throws: `ConditionFailed` if that does not happen in time.
  public func two() async throws -> (any Driver, any Driver) {
    let ana = try await joined("Ana")
    let ben = try await joined("Ben")
    for (viewer, other) in [(ana, ben), (ben, ana)] {
      try await until("\(viewer.name) sees \(other.name)") { viewer.sees(other)?.isMoving == true }
    }
    return (ana, ben)
  }

  /// Releases a driver's SDK objects without leaving the call. The driver's recorded trace is kept.
  public func drop(_ driver: any Driver) {
    driver.forget()
    people.removeAll { $0 === driver }
  }

  // MARK: Waiting and checks

  /// Lets an interruption pass that the environment makes by itself: for what is expected to go on without one.
  public func passInterruption() async {
    guard let end = environment.interruptedUntil, end > environment.now else { return }
    await environment.run(milliseconds: end - environment.now)
  }

  /// Lets this many milliseconds pass in the environment.
  public func run(milliseconds: Int) async { await environment.run(milliseconds: milliseconds) }

  /// Waits until `condition` holds, at most `milliseconds` times the patience factor.
  /// - Throws: `ConditionFailed` with the text `what` after that.
  public func until(_ what: String, within milliseconds: Int = 8_000, _ condition: () -> Bool) async throws {
    let end = environment.now + milliseconds * patience
    while !condition() {
      guard environment.now < end else { throw ConditionFailed(description: "not within \(milliseconds) ms: \(what)") }
      await environment.run(milliseconds: 20)
    }
  }

  /// Checks that `condition` holds now.
  /// - Throws: `ConditionFailed` with the text `what` if it does not.
  public func expect(_ what: String, _ condition: Bool) throws {
    if !condition { throw ConditionFailed(description: "not so: \(what)") }
  }

  /// Checks that `condition` holds for all of `milliseconds`.
  /// - Throws: `ConditionFailed` as soon as it does not.
  public func always(_ what: String, for milliseconds: Int, _ condition: () -> Bool) async throws {
    let end = environment.now + milliseconds
    while environment.now < end {
      try expect(what, condition())
      await environment.run(milliseconds: 20)
    }
  }

  /// Checks that each connected participant knows every other one, under the right name, exactly once.
  /// - Throws: `ConditionFailed` if that is not so in time.
  public func allAgree() async throws {
    let present = people.filter(\.isConnected)
    for viewer in present {
      let expected = Set(present.filter { $0 !== viewer }.map(\.id))
      try await until("\(viewer.name) knows exactly \(expected.sorted())") {
        viewer.others.count == expected.count && Set(viewer.others.map(\.id)) == expected
      }
      for other in present where other !== viewer {
        try expect("\(viewer.name) knows \(other.name) by name", viewer.sees(other)?.name == other.name)
      }
    }
  }

  /// Number of callbacks of this kind that the participant's app has received.
  public func count(_ callback: CallbackKind, to driver: any Driver, of other: (any Driver)? = nil) -> Int {
    driver.recorder.entries.count { $0.callback == callback && (other == nil || $0.whom == other?.id) }
  }

  /// Lets every participant leave, so that the suite can check the callbacks of the end.
  func close() async {
    for driver in people where driver.isConnected { driver.leave() }
    let end = environment.now + 2_000 * patience
    while environment.now < end, people.contains(where: { $0.isConnected }) || recorders.contains(where: \.awaitsAnswer)
    {
      await environment.run(milliseconds: 20)
    }
    await environment.run(milliseconds: 100)
  }
}

extension Driver {
  /// The remote participant as this driver's app sees it; nil if the app does not know it.
  public func sees(_ other: any Driver) -> ObservedParticipant? { others.first { $0.id == other.id } }
  /// Whether this driver's app knows the remote participant.
  public func knows(_ other: any Driver) -> Bool { sees(other) != nil }
}

extension ObservedParticipant {
  /// Whether the participant's video is being drawn: more than two frames so far.
  public var isMoving: Bool { hasPicture && pictures > 2 }
}
