import AzureCommunicationCalling
import Foundation
import KoineTesting
import Testing

/// Repeated runs with one seed in rooms that share the main queue are equal: the app's values after each step, and each
/// packet with its time.
@Suite struct RepeatTests {
  private struct Run: Hashable {
    var steps: [String]
    var packets: [Packet]
  }

  private struct Packet: Hashable {
    var time: Tick
    var end: String
    var bytes: [UInt8]
  }

  /// Not on the main actor, as most apps' models in Swift 5 mode.
  private final class Model: NSObject, CallDelegate, @unchecked Sendable {
    private let room: TestRoom
    private var agent: CallAgent?
    private(set) var call: Call?
    let lines = Lock<[String]>([])

    init(_ room: TestRoom) { self.room = room }

    func note(_ line: String) { lines.withLock { $0.append("\(room.now.nanoseconds / 1_000) \(line)") } }

    func signIn(_ token: String) async throws {
      agent = try await CallClient().createCallAgent(userCredential: CommunicationTokenCredential(token: token))
    }

    func ring(_ identity: String) async throws {
      call = try await agent?.startCall(participants: [createCommunicationIdentifier(fromRawId: identity)])
      call?.delegate = self
    }

    func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {
      note("\(call.state)")
      guard call.state == .connected else { return }
      // Two things at once, and one after some turns of the main queue.
      call.mute { [self] _ in note("muted") }
      DispatchQueue.main.async { [self] in
        DispatchQueue.main.async { [self] in
          note("two turns later")
          call.unmute { [self] _ in note("unmuted") }
        }
      }
    }

    func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
      note("+\(args.addedParticipants.count)-\(args.removedParticipants.count)")
    }
  }

  private func performRun() async throws -> Run {
    let room = try await TestRoom(
      clock: .virtual(seed: 5), network: "loss=2%,jitter=5ms,seed=3", media: .stamps, recordsTrace: true)
    let bea = try await room.signIn("Bea")
    let model = Model(room)
    let token = try room.credential(.callAgent, for: "Ana").token
    try await room.run { try await room.enter(as: "Ana") { try await model.signIn(token) } }
    model.note("signed in")
    try await room.run { try await model.ring(bea.identity) }
    model.note("rings: \(bea.isRung)")
    await room.until("it rings") { bea.isRung }
    try await bea.answer()
    model.note("answered")
    await room.until { bea.hears("Ana") }
    bea.turnCameraOff()
    bea.mute()
    await room.run(for: .seconds(2))
    try await room.run { try await model.call?.hangUp(options: nil) }
    model.note("hung up")
    await room.until { bea.others.isEmpty }
    // People are named after the room, which has another number each time.
    let packets = room.trace.map { entry in
      Packet(time: entry.time, end: entry.end.replacingOccurrences(of: room.id, with: "room"), bytes: entry.bytes)
    }
    return Run(steps: model.lines.withLock { $0 }, packets: packets)
  }

  @Test func equalSeedsRepeatTheRunAmongManyRooms() async throws {
    let runs = ProcessInfo.processInfo.environment["KOINE_STORIES"].flatMap { Int($0) } ?? 40
    let first = try await performRun()
    #expect(first.packets.count > 100)
    #expect(first.steps.contains { $0.hasSuffix("two turns later") })
    try await withThrowingTaskGroup(of: Run.self) { group in
      var begun = 0
      func begin() {
        guard begun < runs else { return }
        begun += 1
        group.addTask { try await performRun() }
      }
      for _ in 0..<8 { begin() }
      while let told = try await group.next() {
        #expect(told.steps == first.steps)
        let different = zip(told.packets, first.packets).first { $0 != $1 }
        #expect(different == nil && told.packets.count == first.packets.count, "\(different as Any)")
        begin()
      }
    }
  }
}
