import KoineTesting
import Testing

/// A team's own test runs with both layers.
@MainActor @Suite struct LayersTraitTests {
  private static let behaviour = NativeLayer.Behaviour(
    startsWithCamera: true, showsLeaving: true, noticesReturn: true, showsDevicesOnceInCall: true, chat: .topic("CHAT"))

  @Test(
    .layers(
      as: "Ana", old: { try ListenerLayer(in: $0) as any CallLayer },
      new: { NativeLayer(in: $0, Self.behaviour) as any CallLayer }))
  func mutedAppIsNotHeard() async throws {
    let room = TestRoom.current
    let call = TestRoom.layer(as: (any CallLayer).self)
    let bea = try await room.join("Bea")
    room.enter(as: "Ana") { call.join() }
    try await room.require("the app is in the call") { call.facts.phase == "inCall" }
    await room.until("Bea hears Ana") { bea.hears("Ana") }
    room.enter(as: "Ana") { call.setMicrophoneOn(false) }
    await room.until("Bea does not hear Ana") { !bea.hears("Ana") }
    #expect(!call.facts.isMicrophoneOn)
  }

  @Test func bodyRunsOnceWithEachLayerInARoomOfItsOwn() async throws {
    let trait: LayersTrait = .layers(
      as: "Ana", old: { try ListenerLayer(in: $0) as any CallLayer },
      new: { NativeLayer(in: $0, Self.behaviour) as any CallLayer })
    let runs = Lock<[(room: String, isOld: Bool, isNative: Bool)]>([])
    try await trait.provideScope(for: #require(Test.current), testCase: Test.Case.current) {
      let isNative = await MainActor.run { TestRoom.layer(as: (any CallLayer).self) is NativeLayer }
      runs.withLock { $0.append((TestRoom.current.id, TestRoom.isOldLayer, isNative)) }
    }
    let made = runs.withLock { $0 }
    #expect(made.map(\.isOld) == [true, false])
    #expect(made.map(\.isNative) == [false, true])
    #expect(Set(made.map(\.room)).count == 2)
  }
}
