/// The operations of a scenario: it creates participants, waits for conditions and checks them.
@MainActor
public final class Story {
  /// A condition did not become true in time, or a check failed.
  public struct Broken: Error, CustomStringConvertible {
    public let description: String
  }

  public let place: any Place
  private let styles: (first: String, second: String)
  private(set) var people: [any Driver] = []
  /// The recorders of all participants that the scenario has created, in order of creation.
  var recorders: [Recorder] { everybody.map { $0() } }
  private var everybody: [@MainActor () -> Recorder] = []
  private let meddle: @MainActor (any Driver) -> any Driver
  /// How many times longer than said things are waited for: machines are busy, virtual time never is.
  private let patience: Int

  init(
    _ first: String, _ second: String, at place: any Place, patience: Int = 1,
    meddle: @escaping @MainActor (any Driver) -> any Driver = { $0 }
  ) {
    self.place = place
    styles = (first, second)
    self.meddle = meddle
    self.patience = patience
  }

  // MARK: People

  /// Creates a participant that has not joined yet.
  ///
  /// The first, third, fifth … participant has an app of the first style, the others have one of the second. `style` overrides
  /// that.
  public func person(
    _ name: String, room: String = "tea", papers: Papers = .valid, style: String? = nil
  ) throws -> any Driver {
    let own = style ?? (people.count.isMultiple(of: 2) ? styles.first : styles.second)
    let driver = meddle(try place.makeDriver(style: own, name: name, room: room, papers: papers))
    people.append(driver)
    everybody.append { driver.recorder }
    return driver
  }

  /// Creates a participant and returns once it is in the room.
  public func joined(_ name: String, style: String? = nil) async throws -> any Driver {
    let driver = try person(name, style: style)
    try driver.join()
    try await until("\(name) is in the room") { driver.isConnected }
    return driver
  }

  /// Ana and Ben in one room. Returns once each sees the other's video.
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

  // MARK: Time and truth

  public func run(milliseconds: Int) async { await place.run(milliseconds: milliseconds) }

  /// Waits until `condition` holds, at most `milliseconds` times the patience factor. Throws `Broken` after that.
  public func until(_ what: String, within milliseconds: Int = 8_000, _ condition: () -> Bool) async throws {
    let end = place.now + milliseconds * patience
    while !condition() {
      guard place.now < end else { throw Broken(description: "not within \(milliseconds) ms: \(what)") }
      await place.run(milliseconds: 20)
    }
  }

  public func expect(_ what: String, _ condition: Bool) throws {
    if !condition { throw Broken(description: "not so: \(what)") }
  }

  /// Checks that `condition` holds for all of `milliseconds`. Throws `Broken` as soon as it does not.
  public func always(_ what: String, for milliseconds: Int, _ condition: () -> Bool) async throws {
    let end = place.now + milliseconds
    while place.now < end {
      try expect(what, condition())
      await place.run(milliseconds: 20)
    }
  }

  /// Checks that each connected participant knows every other one, under the right name, exactly once.
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
  public func count(_ told: Told, to driver: any Driver, of other: (any Driver)? = nil) -> Int {
    driver.recorder.entries.count { $0.told == told && (other == nil || $0.whom == other?.id) }
  }

  /// Lets every participant leave, so that the suite can check the callbacks of the end.
  func close() async {
    for driver in people where driver.isConnected { driver.leave() }
    let end = place.now + 2_000 * patience
    while place.now < end, people.contains(where: { $0.isConnected }) || recorders.contains(where: \.awaitsAnswer) {
      await place.run(milliseconds: 20)
    }
    await place.run(milliseconds: 100)
  }
}

extension Driver {
  public func sees(_ other: any Driver) -> Seen? { others.first { $0.id == other.id } }
  public func knows(_ other: any Driver) -> Bool { sees(other) != nil }
}

extension Seen {
  /// Pictures come.
  public var isMoving: Bool { hasPicture && pictures > 2 }
}
