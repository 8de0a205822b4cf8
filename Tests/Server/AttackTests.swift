import Foundation
import Koine
import KoineBase
import KoineServer
import NIOCore
import NIOPosix
import Testing

/// Ten minutes: `KOINE_SECONDS=600 swift test --filter AttackTests`.
private let seconds = ProcessInfo.processInfo.environment["KOINE_SECONDS"].flatMap { Int($0) }

/// Attacks on all ports of a server during a call.
@Suite(.timeLimit(.minutes((seconds ?? 0) / 60 + 15)), .serialized) struct AttackTests {
  private func callInProgress(_ target: Target) async throws -> (sessions: [Session], watcher: MediaWatcher) {
    let sessions = ["Ana", "Ben"].map { Session(JoinRequest(room: "tea", name: $0), in: target.world()) }
    let watcher = MediaWatcher()
    watcher.follow(sessions[1])
    try sessions[0].publish(camera: Devices.camera("stamp:Ana,160x90@30"))
    try sessions[0].publish(microphone: Devices.microphone("tone"))
    for session in sessions { try await session.join() }
    await watcher.waitForMedia()
    return (sessions, watcher)
  }

  /// All attacks at once: random, truncated, changed, late and replayed datagrams, also from the callers' own addresses;
  /// hundreds of connections (a thousand in the long run) that send half a message; and connections that come and go with
  /// nonsense.
  @Test func callContinuesDuringAttacksOnEveryPort() async throws {
    if seconds != nil {
      return try await Target.served(limits: "connections=2000") { try await attack(at: $0) }
    }
    var limits = ServerLimits()
    limits.connections = 2_000
    let rooms = try await ServedRooms(limits: limits, media: .init(announced: Wiretap.announced, bound: .loopback()))
    try await attack(at: Target(rooms))
    await rooms.server.stop()
  }

  private func attack(at target: Target) async throws {
    let wiretap = await Wiretap(before: .loopback(port: target.mediaPort))
    let call = try await callInProgress(target)
    let strangers = try AttackingConnections(to: target.port)
    let held = seconds == nil ? 300 : 1_000
    try await strangers.hold(held)
    #expect(strangers.connected >= held)

    let clock = ContinuousClock()
    if seconds != nil {
      let begun = clock.now
      for session in call.sessions {
        session.observe { [name = session.request.name] event in
          switch event {
          case .stateChanged, .failed, .tileChanged: print("\(name), \(clock.now - begun): \(event)")
          default: break
          }
        }
      }
    }
    wiretap.flood(atLineRate: seconds != nil)
    strangers.sendNonsense(8)
    let start = clock.now
    var (rounds, memory, longest) = (0, [target.residentMegabytes], Duration.zero)
    var heard = call.sessions[1].events().makeAsyncIterator()
    while clock.now - start < .seconds(seconds ?? 2) {
      let begun = clock.now
      try call.sessions[0].send(DataMessage(topic: "chat", payload: Array("\(rounds)".utf8)))
      while let event = await heard.next() {
        guard case .messageReceived(let message) = event else { continue }
        #expect(message.payload == Array("\(rounds)".utf8), "in order, each once")
        break
      }
      call.watcher.forget()
      await call.watcher.waitForMedia()
      longest = max(longest, clock.now - begun)
      rounds += 1
      if rounds % 50 == 0 { memory.append(target.residentMegabytes) }
    }
    let late = Session(JoinRequest(room: "tea", name: "Chris"), in: target.world())
    try await late.join()
    await late.leave()
    let elapsed = (clock.now - start).inSeconds
    let (datagrams, calls) = (wiretap.stop(), try await strangers.stop())
    #expect(rounds > 0)
    #expect(datagrams > 1_000)
    #expect(calls > 10)
    if seconds != nil {
      // What has come to stay since the first tenth.
      let early = memory[memory.count / 10]
      let last = target.residentMegabytes
      print(
        """
        \(Int(elapsed)) s: \(Int(Double(datagrams) / elapsed)) datagrams a second, \
        \(Int(Double(calls) / elapsed)) connections a second, \(rounds) rounds of a message, pictures and sound, \
        the longest \(longest); \(early) MB after a tenth, \(memory.max() ?? 0) MB at most, \(last) MB at the end
        """)
      #expect(memory.count > 5)
      #expect(last < early + 16)
    }
    #expect(call.sessions.allSatisfy { $0.state == .connected })
    for session in call.sessions { await session.leave() }
  }

  private func expectMediaContinues(_ call: (sessions: [Session], watcher: MediaWatcher)) async {
    call.watcher.forget()
    await call.watcher.waitForMedia()
    #expect(call.sessions.allSatisfy { $0.state == .connected })
    for session in call.sessions { await session.leave() }
  }

  @Test func halfOpenConnectionsDoNotBlockJoins() async throws {
    var limits = ServerLimits()
    limits.connectionsPerAddress = 1_200
    let rooms = try await ServedRooms(limits: limits)
    let call = try await callInProgress(Target(rooms))
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    var connections: [any Channel] = []
    for _ in 0..<200 {
      connections.append(
        try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: rooms.server.port).get())
    }
    let late = Session(JoinRequest(room: "tea", name: "Chris"), in: rooms.world())
    try await late.join()
    await late.leave()
    await expectMediaContinues(call)
    for channel in connections { channel.close(promise: nil) }
    try await group.shutdownGracefully()
    await rooms.server.stop()
  }
}
