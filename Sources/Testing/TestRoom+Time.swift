import Dispatch
import Foundation
public import Koine

// Time in a room: it moves only while these wait, unless the room lives in real time.

extension TestRoom {
  private var isVirtual: Bool { scheduler.kind == .virtual }

  /// The present time of the room's clock.
  public var now: Tick { scheduler.now }
  /// The room's time for app code that takes a clock. Sleepers are woken on the main queue.
  public var clock: any Clock<Duration> { RoomClock(scheduler, delivery) }

  /// Lets `duration` pass. Virtual time moves from deadline to deadline, after all work of the main queue has run.
  public func run(for duration: Duration) async {
    if isVirtual {
      checkThatTimeCanMove()
      strayCalls.runBegan()
      await timekeeper.run(for: duration, hold: timeHold)
      strayCalls.runEnded()
    } else {
      try? await RoomClock(scheduler, delivery).sleep(for: duration)
    }
    reportPhoneFailures()
  }

  /// Lets `duration` pass, from a synchronous test on the main thread.
  @available(*, noasync)
  public func run(for duration: Duration) {
    if isVirtual {
      checkThatTimeCanMove()
      strayCalls.runBegan()
      timekeeper.run(for: duration, hold: timeHold, serve: MainQueue.serve)
      strayCalls.runEnded()
    } else {
      MainQueue.serve(for: duration)
    }
    reportPhoneFailures()
  }

  /// Waits until `condition` holds. If it does not within `limit`, the test fails here, and the screens that it has checked are saved.
  /// - Parameter what: a description of the condition, for the message.
  /// - Returns: whether the condition holds.
  /// - Throws: the error of `condition`.
  @discardableResult
  public func until(
    _ what: String = "", within limit: Duration = .seconds(30), isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #filePath, line: UInt = #line, fileID: String = #fileID, column: Int = #column,
    _ condition: () throws -> Bool
  ) async rethrows -> Bool {
    let (begin, end) = (now, now + limit)
    var idle = 0
    while try !condition() {
      guard now < end else {
        let place = FailurePlace(file: file, line: line, fileID: fileID, column: column)
        await fail(Self.problem(what, within: limit), at: place)
        return false
      }
      idle = canChange ? 0 : idle + 1
      guard idle < Self.idleLimit else {
        let place = FailurePlace(file: file, line: line, fileID: fileID, column: column)
        await fail(Self.problem(what, within: now - begin) + ", and nothing in the room can change any more", at: place)
        return false
      }
      await run(for: min(.milliseconds(10), end - now))
      if mustPace { await Self.pause() }
    }
    return true
  }

  /// Waits until `condition` holds, and ends the test if it does not within `limit`.
  /// - Throws: ``TestRoomTimeout`` if the condition does not hold in time, after recording the failure; or the error of `condition`.
  public func require(
    _ what: String = "", within limit: Duration = .seconds(30), isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #filePath, line: UInt = #line, fileID: String = #fileID, column: Int = #column,
    _ condition: () throws -> Bool
  ) async throws {
    let holds = try await until(
      what, within: limit, isolation: isolation, file: file, line: line, fileID: fileID, column: column, condition)
    guard holds else { throw TestRoomTimeout(description: Self.problem(what, within: limit)) }
  }

  private static func problem(_ what: String, within limit: Duration) -> String {
    "\(what.isEmpty ? "the condition" : what) has not come about within \(limit)"
  }

  /// So many checks in a row without any pending deadline; the main queue runs between them.
  private static let idleLimit = 50

  /// Virtual time only: there is a pending deadline or callback.
  private var canChange: Bool { !isVirtual || scheduler.nextDeadline != nil || delivery.hasNews || isReachable }

  /// Whether the room has a port, by which an app's request may come at any time.
  private var isReachable: Bool { parts.withLock { $0.values.contains { $0.isReachable } } }

  /// An app's request is on its way in real time. If virtual time moved as fast as it can, a wait for what the request brings about
  /// would be over before the request arrives. So `until` moves it at most 50 times as fast as real time in a room with a port.
  private var mustPace: Bool { isVirtual && isReachable }

  private static func pause() async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(200)) { continuation.resume() }
    }
  }

  /// Waits until `condition` holds, from a synchronous test on the main thread. If it does not within `limit`, the test fails here.
  /// - Throws: the error of `condition`.
  @available(*, noasync)
  @discardableResult
  public func until(
    _ what: String = "", within limit: Duration = .seconds(30), file: StaticString = #filePath, line: UInt = #line,
    fileID: String = #fileID, column: Int = #column, _ condition: () throws -> Bool
  ) rethrows -> Bool {
    let end = now + limit
    while try !condition() {
      guard now < end else {
        let place = FailurePlace(file: file, line: line, fileID: fileID, column: column)
        MainActor.assumeIsolated {
          failNow(Self.problem(what, within: limit), at: place)
        }
        return false
      }
      run(for: min(.milliseconds(10), end - now))
      if mustPace { MainQueue.serve(for: .microseconds(200)) }
    }
    return true
  }

  /// Lets everything go on until `operation`, which waits for something in the room, has come to its end. Code in it that
  /// belongs to no actor runs on the main queue, so that time waits for it; tasks it starts apart do not count.
  /// - Throws: what `operation` throws; `TestRoomTimeout` after ten minutes of the room's time.
  public func run<Value: Sendable>(
    @_inheritActorContext _ operation: sending @escaping @isolated(any) () async throws -> Value
  ) async throws -> Value {
    let result = Lock<Result<Value, any Error>?>(nil)
    let executor = RoomExecutor(delivery)
    let task = Task(executorPreference: executor) {
      let outcome: Result<Value, any Error>
      do { outcome = .success(try await operation()) } catch { outcome = .failure(error) }
      result.withLock { $0 = outcome }
    }
    let end = now + .seconds(600)
    while result.withLock({ $0 == nil }) {
      guard now < end else {
        task.cancel()
        throw TestRoomTimeout(description: "the operation has not ended within ten minutes of the room's time")
      }
      await executor.settle()
      if result.withLock({ $0 == nil }) { await run(for: .milliseconds(1)) }
    }
    await task.value
    guard let outcome = result.withLock({ $0 }) else { preconditionFailure("the loop above ends with an outcome") }
    return try outcome.get()
  }
}

/// Something in a test room has not come about in time.
public struct TestRoomTimeout: Error, Sendable, CustomStringConvertible {
  public let description: String
}

/// Serves the main queue on the main thread while a test that is not async waits.
enum MainQueue {
  static func serve(_ isDone: @escaping @Sendable () -> Bool) {
    let patience = Date(timeIntervalSinceNow: 30)
    while !isDone() {
      precondition(
        Date() < patience,
        "the main queue is not served: a test that is 'async', or on another thread, waits with 'await'")
      RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.001))
    }
  }

  static func serve(for duration: Duration) {
    let end = Date(timeIntervalSinceNow: duration.inSeconds)
    while Date() < end { RunLoop.main.run(until: min(end, Date(timeIntervalSinceNow: 0.01))) }
  }
}
