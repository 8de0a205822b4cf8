import Koine
public import Testing

/// Gives each test a room of its own. SDK objects that the test makes belong to that room:
///
///     @Test(.room(as: "Ana", network: "loss=2%")) @MainActor func anaSeesBea() async throws {
///       let room = TestRoom.current
///
/// When an issue is recorded, the screens that the test has looked at are saved.
public struct RoomTrait: TestTrait, SuiteTrait, TestScoping {
  let name: String
  let clock: TestRoom.Time
  let network: String?
  let media: TestRoom.Media
  public var isRecursive: Bool { true }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let room = try await TestRoom(clock: clock, network: network, media: media)
    // A back end's closure that holds the room would keep it for good.
    defer { room.endParts() }
    let saving = Lock<[Task<Void, Never>]>([])
    let watch = IssueHandlingTrait.compactMapIssues { issue in
      if room.delivery.isCurrent {
        MainActor.assumeIsolated { _ = room.savePictures() }
      } else {
        let task = Task { @MainActor in _ = room.savePictures() }
        saving.withLock { $0.append(task) }
      }
      return issue
    }
    try await watch.provideScope(for: test, testCase: testCase) {
      try await TestRoom.$given.withValue(room) {
        try await World.$current.withValue(room.entered(as: name)) { try await function() }
      }
    }
    for task in saving.withLock({ $0 }) { await task.value }
  }
}

extension Trait where Self == RoomTrait {
  /// Gives each test a test room of its own, and runs it as the app of the named person.
  /// - Parameters:
  ///   - name: the name of the person with the tested app. The camera's frames carry that person's stamp.
  ///   - network: see `TestRoom`.
  public static func room(
    as name: String, clock: TestRoom.Time = .virtual(seed: 1), network: String? = nil, media: TestRoom.Media = .stamps
  ) -> RoomTrait {
    RoomTrait(name: name, clock: clock, network: network, media: media)
  }
}

extension TestRoom {
  @TaskLocal fileprivate static var given: TestRoom?

  /// The room of a test with the trait `.room`.
  public static var current: TestRoom {
    guard let given else { preconditionFailure("only a test with the trait '.room' has a room of its own") }
    return given
  }
}
