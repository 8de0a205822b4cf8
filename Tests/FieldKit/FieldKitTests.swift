import AmazonChimeSDK
import Foundation
import KoineConformanceKit
import KoineTesting
import Testing

/// Runs the classes of the phone apps here, and reads the traces that they write.
@Suite @MainActor struct FieldKitTests {
  private func trace(_ field: FieldTrace) throws -> Trace {
    try JSONDecoder().decode(Trace.self, from: try field.json())
  }

  /// Bea joins, mutes and leaves; then the app leaves.
  private func play(
    _ room: TestRoom, _ join: () async throws -> Void, _ field: FieldTrace, leave: () -> Void
  ) async throws -> [KoineConformanceKit.TraceEntry] {
    let bea = try await room.join("Bea")
    try await join()
    await room.run(for: .seconds(2))
    bea.mute()
    await room.run(for: .seconds(1))
    bea.leave()
    await room.run(for: .seconds(1))
    leave()
    await room.run(for: .seconds(1))
    let trace = try trace(field)
    #expect(trace.version == Trace.version)
    #expect(trace.scenario == "leave.seen")
    #expect(trace.styles.count == 1)
    return trace.entries
  }

  private static func configuration(_ pass: MeetingCredential) throws -> MeetingSessionConfiguration {
    let decoder = JSONDecoder()
    return MeetingSessionConfiguration(
      createMeetingResponse: try decoder.decode(CreateMeetingResponse.self, from: Data(pass.createMeetingJSON.utf8)),
      createAttendeeResponse: try decoder.decode(CreateAttendeeResponse.self, from: Data(pass.createAttendeeJSON.utf8)))
  }

  private func words(_ entries: [KoineConformanceKit.TraceEntry]) -> [String] { entries.map(\.callback.rawValue) }

  @Test func stageAppWritesTheExpectedTrace() async throws {
    let room = try await TestRoom()
    let field = StageField("Ana")
    let entries = try await play(
      room, { try room.enter(as: "Ana") { try field.join(token: room.credential(.stageStrategy, for: "Ana").token) } },
      field.trace
    ) {
      field.leave(releasing: true)
    }
    #expect(entries.first?.detail == "input sources: 1 default, 2 default")
    let told = words(entries)
    for word in ["connected", "joined", "pictureOn", "muted", "pictureOff", "left", "ended"] {
      #expect(told.contains(word), "\(word): \(told)")
    }
    #expect(told.last == "answered")
    #expect(entries.first { $0.callback == .ended }?.isInsideCall == true)
  }

  @Test func callAgentAppWritesTheExpectedTrace() async throws {
    let room = try await TestRoom()
    let field = room.enter(as: "Ana") { CallAgentField("Ana") }
    let group = try #require(UUID(uuidString: room.id))
    let token = try room.credential(.callAgent, for: "Ana").token
    let entries = try await play(
      room,
      { try await room.run { try await room.enter(as: "Ana") { try await field.join(token: token, group: group) } } },
      field.trace
    ) { field.leave(releasing: true) }
    let told = words(entries)
    for word in ["asked", "connected", "joined", "pictureOn", "muted", "pictureOff", "left", "ended", "answered"] {
      #expect(told.contains(word), "\(word): \(told)")
    }
    #expect(entries.filter { $0.callback == .ended }.map(\.detail) == ["disconnecting, 0/0", "disconnected, 0/0"])
  }

  @Test func meetingAppWritesTheExpectedTrace() async throws {
    let room = try await TestRoom()
    let field = MeetingField("Ana")
    let configuration = try Self.configuration(room.credential(.meetingSession, for: "Ana"))
    let entries = try await play(room, { try room.enter(as: "Ana") { try field.join(configuration) } }, field.trace) {
      field.leave(releasing: true)
    }
    #expect(entries.first?.detail == "cameras: back, front")
    let told = words(entries)
    for word in ["connected", "joined", "pictureOn", "muted", "pictureOff", "left", "ended"] {
      #expect(told.contains(word), "\(word): \(told)")
    }
  }

  @Test func listenerAppWritesTheExpectedTrace() async throws {
    let room = try await TestRoom()
    let field = ListenerField("Ana")
    let entries = try await play(
      room, { room.enter(as: "Ana") { field.join(token: nil, meetingId: room.id, name: "Ana") } }, field.trace
    ) { field.leave(releasing: true) }
    let told = words(entries)
    for word in ["connected", "joined", "unmuted", "pictureOn", "muted", "pictureOff", "left"] {
      #expect(told.contains(word), "\(word): \(told)")
    }
    #expect(entries.filter { $0.callback == .ended }.map(\.detail) == ["CLOSING", "CLOSED", "onMeetingLeft"])
  }
}
