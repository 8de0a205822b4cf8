import Foundation
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing
import VideoSDKRTC

/// Values that the participants of a meeting share.
@Suite struct RealtimeStoreTests {
  private let environment = TestEnvironment()

  private final class Observer: RealtimeStoreEventListener, Sendable {
    private let lines = Lock<[String]>([])
    var told: [String] { lines.withLock { $0 } }
    func onValueChanged(key: String, value: String?, updatedBy: String) {
      lines.withLock { $0.append("\(key)=\(value ?? "nil") by \(updatedBy)") }
    }
  }

  /// - Returns: the error, if any.
  private func set(_ meeting: Meeting, _ key: String, _ value: String?) async -> RealtimeStoreError? {
    await environment.world.run {
      do {
        try await meeting.realtimeStore.set(key: key, value: value)
        return nil
      } catch { return error as? RealtimeStoreError }
    }
  }

  private func get(_ meeting: Meeting, _ key: String) async -> Result<String?, RealtimeStoreError> {
    await environment.world.run {
      do { return .success(try await meeting.realtimeStore.get(key: key)) } catch {
        return .failure(error as? RealtimeStoreError ?? .keyNotFound)
      }
    }
  }

  private func observe(_ meeting: Meeting, _ key: String, _ observer: Observer) async {
    await environment.world.run { try? await meeting.realtimeStore.observe(key: key, forListener: observer) }
  }

  private func two() async -> (ana: Meeting, ben: Meeting) {
    let (ana, told) = environment.meeting("Ana", id: "ana", mic: false, camera: false)
    let (ben, others) = environment.meeting("Ben", id: "ben", mic: false, camera: false)
    ana.join()
    ben.join()
    await environment.run()
    withExtendedLifetime((told, others)) {}
    return (ana, ben)
  }

  @Test func valueIsReadByAllAndByLateJoiners() async {
    let (ana, ben) = await two()
    #expect(await get(ben, "poll") == .success(nil))
    #expect(await set(ana, "poll", "open 7") == nil)
    #expect(await get(ana, "poll") == .success("open 7"))
    #expect(await get(ben, "poll") == .success("open 7"))
    #expect(await set(ben, "poll", "") == nil)
    #expect(await set(ben, "flag", "🏁") == nil)
    let (cleo, _) = environment.meeting("Cleo", id: "cleo", mic: false, camera: false)
    cleo.join()
    await environment.run()
    #expect(await get(cleo, "poll") == .success(""))
    #expect(await get(cleo, "flag") == .success("🏁"))
    #expect(await set(cleo, "flag", nil) == nil)
    #expect(await get(ana, "flag") == .success(nil))
    let (dan, _) = environment.meeting("Dan", id: "dan", mic: false, camera: false)
    dan.join()
    await environment.run()
    #expect(await get(dan, "flag") == .success(nil))
  }

  @Test func observerReceivesChangesOfItsKeyUntilItStops() async {
    let (ana, ben) = await two()
    let (own, other) = (Observer(), Observer())
    #expect(await set(ana, "poll", "0") == nil)
    await observe(ana, "poll", own)
    await observe(ben, "poll", other)
    await observe(ben, "poll", other)
    #expect(await set(ana, "poll", "1") == nil)
    #expect(await set(ana, "flag", "1") == nil)
    #expect(await set(ben, "poll", nil) == nil)
    await environment.run()
    #expect(own.told == ["poll=1 by ana", "poll=nil by ben"])
    #expect(other.told == own.told)
    await environment.world.run { try? await ben.realtimeStore.stopObserving(key: "poll", forListener: other) }
    #expect(await set(ana, "poll", "2") == nil)
    await environment.run()
    #expect(other.told.count == 2)
    #expect(own.told.last == "poll=2 by ana")
  }

  @Test func concurrentChangesEndInTheSameValueForAll() async {
    let (ana, ben) = await two()
    let (own, other) = (Observer(), Observer())
    await observe(ana, "x", own)
    await observe(ben, "x", other)
    await environment.world.run {
      async let first: Void? = try? ana.realtimeStore.set(key: "x", value: "a")
      async let second: Void? = try? ben.realtimeStore.set(key: "x", value: "b")
      _ = await (first, second)
    }
    await environment.run()
    #expect(own.told.count == 2)
    #expect(own.told == other.told)
    #expect(await get(ana, "x") == get(ben, "x"))
  }

  @Test func limitsOfTheStoreAreErrors() async {
    let (ana, _) = await two()
    #expect(await set(ana, "", "1") == .invalidKey)
    #expect(await set(ana, String(repeating: "k", count: 245), "1") == .invalidKey)
    #expect(await set(ana, "k", String(repeating: "v", count: 1_025)) == .valueTooLarge)
    #expect(await set(ana, "k", String(repeating: "v", count: 1_024)) == nil)
    for number in 0..<99 { #expect(await set(ana, "key \(number)", "1") == nil) }
    #expect(await set(ana, "one more", "1") == .operationFailed("a meeting stores at most 100 keys"))
    #expect(await set(ana, "key 7", "2") == nil)
    #expect(await set(ana, "key 7", nil) == nil)
    #expect(await set(ana, "one more", "1") == nil)
    #expect(RealtimeStoreError.valueTooLarge.localizedDescription == "a value has at most 1024 bytes")
  }

  @Test func storeNeedsAJoinedMeeting() async throws {
    let (ana, told) = environment.meeting("Ana", id: "ana", mic: false, camera: false)
    let apart = RealtimeStoreError.operationFailed("the meeting is not joined")
    #expect(await set(ana, "k", "1") == apart)
    #expect(await get(ana, "k") == .failure(apart))
    ana.join()
    await environment.run()
    let backend = try #require(environment.world.backend as? EmbeddedBackend)
    backend.setNetwork(try NetworkSpec("loss=100%"), of: "ana")
    let outcome = await set(ana, "k", "1")
    #expect(outcome == .operationFailed("the room has not answered"))
    ana.leave()
    await environment.run(.seconds(5))
    #expect(await set(ana, "k", "1") == apart)
    withExtendedLifetime(told) {}
  }

  @Test func leavingFailsOpenRequestsOfTheStore() async throws {
    let (ana, ben) = await two()
    let backend = try #require(environment.world.backend as? EmbeddedBackend)
    backend.setNetwork(try NetworkSpec("loss=100%"), of: "ana")
    let outcome = Lock<RealtimeStoreError?>(nil)
    let hasBegun = Lock(false)
    let request = Task {
      hasBegun.withLock { $0 = true }
      do { try await ana.realtimeStore.set(key: "k", value: "1") } catch {
        outcome.withLock { $0 = error as? RealtimeStoreError }
      }
    }
    while !hasBegun.withLock({ $0 }) { await Task.yield() }
    await environment.run(.milliseconds(100))
    ana.leave()
    await environment.world.run { await request.value }
    #expect(outcome.withLock { $0 } == .operationFailed("the meeting has been left"))
    withExtendedLifetime(ben) {}
  }
}
