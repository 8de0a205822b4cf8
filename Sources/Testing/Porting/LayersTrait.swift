import Koine
public import Testing

/// Runs a test twice, each time in a room of its own: with the old call layer of an app, then with the new one.
///
///     @Test(.layers(as: "Ana", old: { try AzureCall(in: $0) as any CallLayer }, new: { try ChimeCall(in: $0) }))
///     @MainActor func anaSeesBea() async throws {
///       let (room, call) = (TestRoom.current, TestRoom.layer(as: (any CallLayer).self))
///
/// Each issue says which layer the test ran with. On a suite, the trait holds for every test of the suite.
public struct LayersTrait: TestTrait, SuiteTrait, TestScoping {
  /// A call layer of the present test.
  struct Current: Sendable {
    let name: String
    let layer: MadeLayer
  }

  /// Made on the main actor and used there only.
  @MainActor final class MadeLayer {
    let value: Any
    init(_ value: Any) { self.value = value }
  }

  let room: RoomTrait
  let user: String
  let makers: [(name: String, make: @MainActor @Sendable (PortingContext) throws -> MadeLayer)]
  public var isRecursive: Bool { true }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    for (name, make) in makers {
      let marking = IssueHandlingTrait.compactMapIssues { issue in
        var issue = issue
        issue.comments.append("with the \(name) layer")
        return issue
      }
      try await marking.provideScope(for: test, testCase: testCase) {
        try await room.provideScope(for: test, testCase: testCase) {
          let layer = try await Self.makeLayer(make, for: user)
          try await TestRoom.$layer.withValue(Current(name: name, layer: layer)) { try await function() }
        }
      }
    }
  }

  @MainActor
  private static func makeLayer(
    _ make: @MainActor @Sendable (PortingContext) throws -> MadeLayer, for user: String
  ) throws -> MadeLayer {
    let room = TestRoom.current
    return try room.enter(as: user) { try make(PortingContext(room: room, name: user)) }
  }
}

extension Trait where Self == LayersTrait {
  /// Runs the test with both call layers of an app, each in a test room of its own.
  /// - Parameters:
  ///   - name: the name of the app's user.
  ///   - clock: the clock of both rooms.
  ///   - network: see `TestRoom`.
  ///   - old: makes the old layer, on the main actor.
  ///   - new: makes the new layer, on the main actor.
  public static func layers<Layer>(
    as name: String, clock: TestRoom.Time = .virtual(seed: 1), network: String? = nil,
    old: @escaping @MainActor @Sendable (PortingContext) throws -> Layer,
    new: @escaping @MainActor @Sendable (PortingContext) throws -> Layer
  ) -> LayersTrait {
    LayersTrait(
      room: .room(as: name, clock: clock, network: network), user: name,
      makers: [
        ("old", { LayersTrait.MadeLayer(try old($0)) }), ("new", { LayersTrait.MadeLayer(try new($0)) }),
      ])
  }
}

extension TestRoom {
  @TaskLocal fileprivate static var layer: LayersTrait.Current?

  /// The call layer of a test with the trait `.layers`.
  /// - Parameter type: the type that the trait's closures return, such as `(any CallLayer).self`.
  @MainActor
  public static func layer<Layer>(as type: Layer.Type) -> Layer {
    guard let made = layer?.layer.value as? Layer else {
      preconditionFailure("only a test with the trait '.layers' of this type has a call layer")
    }
    return made
  }

  /// Whether the present run of a test with the trait `.layers` uses the old layer.
  public static var isOldLayer: Bool { layer?.name == "old" }
}
