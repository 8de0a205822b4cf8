import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

/// Counts resources of the whole process, so it runs alone: `KOINE_ALONE=1 swift test --filter ChurnTests`.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["KOINE_ALONE"] != nil))
struct ChurnTests {
  private func count(_ folder: String) -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
  }

  /// Resident memory in pages.
  private func pages() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  }

  private func round(_ world: World) async throws {
    let (ana, ben) = (
      Session(JoinRequest(room: "r", name: "Ana"), in: world), Session(JoinRequest(room: "r", name: "Ben"), in: world)
    )
    try ana.publish(camera: Devices.camera("stamp:Ana,160x90@30"))
    try ana.publish(microphone: Devices.microphone("tone"))
    let events = ben.events()
    try await ana.join()
    try await ben.join()
    for await event in events { if case .tileChanged(let tile) = event, tile.width > 0 { break } }
    await ana.leave()
    await ben.leave()
  }

  /// A witness stays in another room, so that the loop that serves all sockets keeps running. The loop answers the witness's
  /// statistics request after it has closed the sockets of participants that left before.
  @Test func twoHundredCallsLeakNoMemoryFilesOrThreads() async throws {
    let world = World(backend: EmbeddedBackend(), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    let witness = Session(JoinRequest(room: "elsewhere", name: "Witness"), in: world)
    try await witness.join()
    for _ in 0..<30 { try await round(world) }
    _ = await witness.statistics()
    let before = (pages(), count("/proc/self/fd"), count("/proc/self/task"))
    for _ in 0..<170 { try await round(world) }
    _ = await witness.statistics()
    #expect(pages() - before.0 < 8 * 256, "at most 8 MiB more than after the first 30 rounds")
    #expect(count("/proc/self/fd") <= before.1)
    // Threads that were added for a blocked task end while further rounds run; leaked threads do not.
    for _ in 0..<100 where count("/proc/self/task") > before.2 + 2 { try await round(world) }
    #expect(count("/proc/self/task") <= before.2 + 2)
    await witness.leave()
  }
}
