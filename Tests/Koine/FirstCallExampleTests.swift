import Koine
import Testing

/// The call of the tutorial `Docs/docc/Koine.docc/FirstCall.md`.
@Suite(.timeLimit(.minutes(1))) struct FirstCallExampleTests {
  @Test func exampleCallDeliversAFrame() async throws {
    let frame = try #require(try await firstCall())
    #expect(frame.width == 320)
    #expect(frame.height == 180)
  }
}
