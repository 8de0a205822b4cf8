import Glibc
import KoineTesting
import Testing

@Suite struct TimeTests {
  @Test func participantsMeetInVirtualTime() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), network: "loss=2%,delay=20ms")
    let ana = try await room.join("Ana")
    let bea = try await room.join("Bea", camera: .stamp, microphone: .tone(440))
    await room.until("they see each other") { ana.sees("Bea") && bea.sees("Ana") }
    await room.until("they hear each other") { ana.hears("Bea") && bea.hears("Ana") }
    #expect(ana.others == ["Bea"])
    #expect(bea.others == ["Ana"])
    #expect(!ana.hears("Ana"))
    bea.mute()
    bea.turnCameraOff()
    try ana.send("hello")
    await room.run(for: .seconds(2))
    #expect(!ana.hears("Bea"))
    #expect(!ana.sees("Bea"))
    #expect(bea.hears("Ana"))
    #expect(bea.texts == ["hello"])
    bea.leave()
    await room.until { bea.isOut && ana.others.isEmpty }
    #expect(bea.endReason == .left)
  }

  /// A minute of two people's call: loss, a gap of 25 s, a return.
  private func runMinute(_ media: TestRoom.Media) async throws -> Duration {
    let begin = Self.cpuTime
    let room = try await TestRoom(clock: .virtual(seed: 7), network: "loss=2%", media: media)
    let ana = try await room.join("Ana")
    let bea = try await room.join("Bea")
    await room.until { ana.sees("Bea") && bea.sees("Ana") && ana.hears("Bea") && bea.hears("Ana") }
    await room.run(for: .seconds(10))
    let dropped = room.now
    bea.drop()
    await room.run(for: .seconds(25))
    #expect(!ana.sees("Bea"))
    #expect(!ana.hears("Bea"))
    #expect(!bea.hears("Ana"))
    try await bea.comeBack()
    await room.until("they see each other again") {
      ana.sees("Bea", newerThan: dropped + .seconds(25)) && bea.sees("Ana") && bea.hears("Ana")
    }
    await room.run(for: .seconds(60) - (room.now - room.start))
    #expect(ana.sees("Bea"))
    #expect(ana.hears("Bea"))
    #expect(ana.others == ["Bea"])
    #expect(bea.others == ["Ana"])
    ana.leave()
    bea.leave()
    await room.until { ana.isOut && bea.isOut }
    return Self.cpuTime - begin
  }

  /// CPU time of this process, without the rest of the machine.
  private static var cpuTime: Duration {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  @Test func callOfOneMinuteRunsWithStamps() async throws {
    print("a minute with stamps: \(try await runMinute(.stamps))")
  }
  @Test func callOfOneMinuteRunsWithRealCodecs() async throws {
    print("a minute with real codecs: \(try await runMinute(.real))")
  }
}
