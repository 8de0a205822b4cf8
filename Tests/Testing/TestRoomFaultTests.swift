import KoineTesting
import Testing

/// Faults injected by a test room, as Koine sessions meet them.
@Suite struct TestRoomFaultTests {
  private func room(_ network: String? = nil) async throws -> TestRoom {
    try await TestRoom(clock: .virtual(seed: 7), network: network, media: .stamps)
  }

  @Test func refusedJoinHasAReason() async throws {
    let room = try await room()
    room.refuse("Bea", .credential)
    let refusal = await #expect(throws: Failure.self) { _ = try await room.join("Bea") }
    #expect(refusal?.code == .unauthorized)
    room.refuse("Bea", nil)
    let bea = try await room.join("Bea")
    #expect(bea.isInRoom)
  }

  @Test func addedTorchIsOnTheBackCamera() async throws {
    let room = try await room()
    let machine = room.machine(of: "Ana")
    #expect(!machine.devices(.camera).contains { $0.hasTorch })
    room.addTorch(to: "Ana")
    #expect(machine.devices(.camera).filter(\.hasTorch).map(\.attachment) == [.back])
    #expect(machine.setTorch(true, of: "back camera"))
    #expect(machine.isTorchOn("back camera"))
    #expect(machine.current(.camera)?.attachment == .front, "the camera in use stays the same")
  }

  @Test func joinIntoAFullRoomIsRefused() async throws {
    let room = try await room()
    room.limitParticipants(to: 1)
    let ana = try await room.join("Ana")
    let refusal = await #expect(throws: Failure.self) { _ = try await room.join("Bea") }
    #expect(refusal?.code == .roomFull)
    #expect(ana.isInRoom)
  }

  @Test func participantIsRemovedAndTheRoomIsClosed() async throws {
    let room = try await room()
    let (ana, bea) = (try await room.join("Ana"), try await room.join("Bea"))
    await room.until { ana.others == ["Bea"] }
    room.remove("Bea")
    await room.until { bea.isOut && ana.others.isEmpty }
    #expect(bea.endReason == .removed)
    room.close()
    await room.until { ana.isOut }
    #expect(ana.endReason == .roomClosed)
  }

  @Test func participantsRecoverAfterAServerRestart() async throws {
    let room = try await room()
    let (ana, bea) = (try await room.join("Ana"), try await room.join("Bea"))
    await room.until { ana.sees("Bea") && bea.sees("Ana") && ana.hears("Bea") && bea.hears("Ana") }
    room.restartServer()
    let restarted = room.now
    await room.run(for: .milliseconds(1_500))
    await room.until("they see and hear each other again", within: .milliseconds(500)) {
      ana.sees("Bea", newerThan: restarted + .seconds(1)) && bea.sees("Ana", newerThan: restarted + .seconds(1))
        && ana.hears("Bea") && bea.hears("Ana")
    }
    #expect(ana.others == ["Bea"])
    #expect(bea.others == ["Ana"])
  }

  @Test func participantsRecoverAfterANetworkChange() async throws {
    let room = try await room()
    let (ana, bea) = (try await room.join("Ana"), try await room.join("Bea"))
    await room.until { ana.sees("Bea") && bea.sees("Ana") }
    try room.setNetwork("loss=100%", of: "Bea")
    let lost = room.now
    await room.run(for: .seconds(3))
    #expect(!ana.sees("Bea", newerThan: lost + .seconds(1)))
    try room.setNetwork("delay=20ms,rate=300k", of: "Bea")
    await room.until { ana.sees("Bea", newerThan: lost + .seconds(3)) && bea.sees("Ana") }
    room.changeNetwork(of: "Bea")
    let moved = room.now
    await room.until { ana.sees("Bea", newerThan: moved) && bea.sees("Ana", newerThan: moved) }
    #expect(!bea.isOut)
  }

  @Test func invalidNetworkSpecThrows() async throws {
    await #expect(throws: (any Error).self) { try await TestRoom(network: "lots=5%") }
    let room = try await room()
    #expect(throws: (any Error).self) { try room.setNetwork("loss=much") }
  }
}
