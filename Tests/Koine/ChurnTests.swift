import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

/// Counts what the whole process holds, so it runs alone: `KOINE_ALONE=1 swift test --filter ChurnTests`.
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

  @Test func twoHundredRoundsLeaveNothingBehind() async throws {
    let world = World(backend: EmbeddedBackend(), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    for _ in 0..<30 { try await round(world) }
    let before = (pages(), count("/proc/self/fd"), count("/proc/self/task"))
    for _ in 0..<170 { try await round(world) }
    // The loop ends on its own thread, after the last one has been told that it left.
    for _ in 0..<500 where count("/proc/self/fd") > before.1 { try await Task.sleep(for: .milliseconds(10)) }
    #expect(pages() - before.0 < 8 * 256, "at most 8 MiB more than after the first 30 rounds")
    #expect(count("/proc/self/fd") <= before.1 + 1)
    #expect(count("/proc/self/task") <= before.2 + 2)
  }
}
