/// A scenario's words: who is there, what is awaited, what must be so.
@MainActor
public final class Story {
  /// What was awaited and did not come, or was not so.
  public struct Broken: Error, CustomStringConvertible {
    public let description: String
  }

  public let place: any Place
  private let styles: (first: String, second: String)
  private(set) var people: [any Driver] = []
  /// Of everybody who ever came, in the order of coming.
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

  /// Ana and whoever comes third, fifth … have an app of the first style; Ben and the others one of the second.
  public func person(
    _ name: String, room: String = "tea", papers: Papers = .valid, style: String? = nil
  ) throws -> any Driver {
    let own = style ?? (people.count.isMultiple(of: 2) ? styles.first : styles.second)
    let driver = meddle(try place.makeDriver(style: own, name: name, room: room, papers: papers))
    people.append(driver)
    everybody.append { driver.recorder }
    return driver
  }

  /// Somebody who is in the room.
  public func joined(_ name: String, style: String? = nil) async throws -> any Driver {
    let driver = try person(name, style: style)
    try driver.join()
    try await until("\(name) is in the room") { driver.isConnected }
    return driver
  }

  /// Ana and Ben in one room, who see each other.
  public func two() async throws -> (any Driver, any Driver) {
    let ana = try await joined("Ana")
    let ben = try await joined("Ben")
    for (viewer, other) in [(ana, ben), (ben, ana)] {
      try await until("\(viewer.name) sees \(other.name)") { viewer.sees(other)?.isMoving == true }
    }
    return (ana, ben)
  }

  /// Without a word the objects go; what they were told stays.
  public func drop(_ driver: any Driver) {
    driver.forget()
    people.removeAll { $0 === driver }
  }

  // MARK: Time and truth

  public func run(milliseconds: Int) async { await place.run(milliseconds: milliseconds) }

  /// Waits for something, at most so long.
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

  /// Holds all the time.
  public func always(_ what: String, for milliseconds: Int, _ condition: () -> Bool) async throws {
    let end = place.now + milliseconds
    while place.now < end {
      try expect(what, condition())
      await place.run(milliseconds: 20)
    }
  }

  /// The same facts for all who are in the room: everybody knows of everybody else, by the right name, once.
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

  /// How often this came to the person.
  public func count(_ told: Told, to driver: any Driver, of other: (any Driver)? = nil) -> Int {
    driver.recorder.entries.count { $0.told == told && (other == nil || $0.whom == other?.id) }
  }

  /// Everybody goes, so that what the end must bring can be asked for.
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
